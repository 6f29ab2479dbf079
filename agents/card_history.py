"""The training of an agent that went on from a shipped one, told as that of one run.

A run that begins with ``--start`` counts the decisions before it, but knows neither their curve nor their options.
Where its agent is shipped in the place of the one that it began with, the card there tells them.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents import card_curve, checkpoint
from agents.training_config import changed_options


@dataclass
class History:
    """What is known of a training: the header of its checkpoint, and the curve as on a card."""

    header: dict[str, Any]
    curve: dict[str, Any] | None

    @property
    def untold(self) -> int:
        """Decisions of which there are neither a curve nor options."""
        decisions: int = self.header.get("before", {}).get("decisions", 0)
        return decisions


def read(run: Path, header: dict[str, Any]) -> History:
    """What the run's own files tell. Raises ValueError for event files without matches."""
    curve = card_curve.read(run)
    if curve is not None:
        curve["deals"] = header["config"]["evaluate_deals"]
    return History(header, curve)


def with_shipped(last: History, mine: str, folder: Path, card: dict[str, Any]) -> History:
    """The same with what a shipped folder tells besides, where it is of the weights ``mine`` or of their beginning.

    Raises ValueError for a damaged model in such a folder.
    """
    if card["fingerprint"] not in (mine, last.header.get("start_fingerprint")):
        return last
    shipped = History(checkpoint.read(folder / checkpoint.MODEL).header, card["curve"])
    if card["fingerprint"] == mine:
        if shipped.untold < last.untold:  # it is of this run and of those before it
            return shipped
        return History(last.header, last.curve or shipped.curve)
    if last.untold != checkpoint.total_spent(shipped.header)["decisions"]:
        return last
    return _joined(shipped, last)


def _joined(first: History, last: History) -> History:
    """The two as one run, whose options are the last one's, and ``former`` those of the first.

    The last alone where there are no curves of both, or their points are of other numbers of deals.
    """
    if first.curve is None or last.curve is None or first.curve["deals"] != last.curve["deals"]:
        return last
    before = first.header["decisions"]
    options = changed_options(first.header["config"], last.header["config"])
    former = [
        *first.header.get("former", []),
        *([{"decisions": before, "options": options}] if options else []),
        *(each | {"decisions": before + each["decisions"]} for each in last.header.get("former", [])),
    ]
    header = {name: value for name, value in last.header.items() if name != "start_fingerprint"}
    header |= {name: first.header[name] for name in ("start_fingerprint", "before") if name in first.header}
    header |= {name: first.header[name] + last.header[name] for name in ("decisions", "seconds")}
    return History(header | {"former": former}, card_curve.joined(first.curve, last.curve, before))
