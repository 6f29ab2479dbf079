"""What came of a tournament: margins, standings, bids and points; as data, as JSON, and as tables for a terminal."""

import itertools
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from agents.evaluation import BidCount, bid_counts, versions
from agents.intervals import Interval, around, interval
from agents.ratings import outcomes as wins_draws_losses
from agents.ratings import rate
from agents.tournament import Outcome, Tournament, margins_of
from pitch_env.state import Item

if TYPE_CHECKING:
    from rich.table import Table

ITEMS = tuple(item.name.lower() for item in Item)


@dataclass
class Pairing:
    """How two met."""

    first: str
    second: str
    deals: int  # in which they did
    margin: Interval  # points per deal: the first one's teams less the second one's at the same table
    wins: int  # deals with a margin above zero
    draws: int
    losses: int


@dataclass
class Share:
    """One of the points: how often a player's teams got it, of the times that it was given to anybody at its tables."""

    item: str
    taken: int
    awarded: int


@dataclass
class Standing:
    """How one player did against the field."""

    name: str
    points: Interval  # the mean of its margins against all others
    rating: Interval  # on Elo's scale, relative to the mean of the field
    pitched: float  # the share of its teams' deals in which they were the pitcher
    made: float | None  # the share of those in which the bid was made; None where there are none
    bids: list[BidCount]
    even: float  # the share of each point that is due to the number of its teams at its tables
    shares: list[Share]


@dataclass
class Result:
    """All that came of a tournament; standings and pairings from the best down."""

    tournament: Tournament
    deals: int
    pairings: list[Pairing]
    standings: list[Standing]

    def margin(self, first: str, second: str) -> Interval | None:
        """The cross table: points per deal of one player against another; None for itself."""
        for pairing in self.pairings:
            margin = pairing.margin
            if (pairing.first, pairing.second) == (first, second):
                return margin
            if (pairing.first, pairing.second) == (second, first):
                return Interval(-margin.mean, -margin.high, -margin.low)
        return None


def result_of(tournament: Tournament, outcomes: list[Outcome]) -> Result:
    """Sum up. Raises ValueError where two players met in fewer than two deals."""
    margins = margins_of(tournament, outcomes)
    names = [player.name for player in tournament.players]
    ratings = rate(margins, len(names))
    standings = [
        _standing(
            names[player], _against_field(margins, player), ratings[player], _totals(tournament, outcomes, player)
        )
        for player in range(len(names))
    ]
    order = sorted(range(len(names)), key=lambda player: -standings[player].points.mean)
    pairings = [
        _pairing(names[first], names[second], margins[first, second] if first < second else -margins[second, first])
        for first, second in itertools.combinations(order, 2)
    ]
    return Result(tournament, len(margins[0, 1]), pairings, [standings[player] for player in order])


def _pairing(first: str, second: str, margins: np.ndarray) -> Pairing:
    met = margins[~np.isnan(margins)]
    wins, draws, losses = wins_draws_losses(met).sum(0).tolist()
    return Pairing(first, second, len(met), interval(met), wins, draws, losses)


def _against_field(margins: dict[tuple[int, int], np.ndarray], player: int) -> Interval:
    """The mean of a player's mean margins against all others, with the interval over deals that they share.

    A deal's part in it is the sum of what it adds to each of the means.
    """
    means, parts = [], 0.0
    for pair, values in margins.items():
        if player in pair:
            signed = values if pair[0] == player else -values
            there = ~np.isnan(signed)
            mean = signed[there].mean()
            means.append(mean)
            parts = parts + np.where(there, signed - mean, 0.0) / there.sum()
    deals = len(next(iter(margins.values())))
    error = float(np.sqrt(np.square(parts / len(means)).sum() * deals / (deals - 1)))
    return around(float(np.mean(means)), error, deals)


def _totals(tournament: Tournament, outcomes: Iterable[Outcome], player: int) -> dict[str, np.ndarray]:
    """The counts of all outcomes of a player."""
    totals: dict[str, np.ndarray] = {}
    for outcome in outcomes:
        group = tournament.groups[outcome.unit.group]
        if player in group:
            for name, counts in outcome.counts().items():
                totals[name] = totals.get(name, 0) + counts[group.index(player)]
    return totals | {"due": totals["dealt"] / (totals["tables"] * tournament.rules.teams)}


def _standing(name: str, points: Interval, rating: Interval, totals: dict[str, np.ndarray]) -> Standing:
    pitched = int(totals["calls"].sum())
    return Standing(
        name=name,
        points=points,
        rating=rating,
        pitched=pitched / int(totals["dealt"]),
        made=int(totals["made"].sum()) / pitched if pitched else None,
        bids=bid_counts(totals["calls"], totals["made"]),
        even=float(totals["due"]),
        shares=[
            Share(item, int(taken), int(awarded))
            for item, taken, awarded in zip(ITEMS, totals["taken"], totals["awarded"], strict=True)
            if awarded
        ],
    )


def report(result: Result, command: str | None = None, until: float | None = None) -> dict[str, Any]:
    """All that is needed to understand and to repeat a tournament, ready for JSON."""
    content = {
        "what": "points per deal of the first one's teams less the second one's at the same tables of duplicate deals, "
        "95 % intervals over deals; ratings on Elo's scale relative to the field",
        "command": command,
        "git": git_commit(),
        "versions": versions(),
        "deals": result.deals,
        "until": until,
    }
    return content | result.tournament.identity() | {
        "pairings": [asdict(pairing) for pairing in result.pairings],
        "standings": [asdict(standing) for standing in result.standings],
    }  # fmt: skip


def git_commit() -> str | None:
    """The commit of the repository that the current folder is in, with "+" if files differ from it; None if in none."""
    try:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        command = ["git", "status", "--porcelain", "--untracked-files=no"]
        return commit + ("+" if subprocess.run(command, capture_output=True, check=True).stdout else "")
    except (OSError, subprocess.CalledProcessError):
        return None


# Tables for the terminal.


def print_result(result: Result, title: str) -> None:
    """Print the standings, the cross table, and the shares of the points."""
    from rich.console import Console

    console = Console()
    wide = console if console.is_terminal else Console(width=max(120, 30 + 18 * len(result.standings)))
    for heading, table in (
        (title, _standings_table(result)),
        ("points per deal of the row against the column, with half the 95 % interval", _cross_table(result)),
        ("share of each point, of those given at its tables", _shares_table(result)),
    ):
        wide.print(heading, table, sep="\n", highlight=False)


def _table(columns: list[str]) -> "Table":
    from rich.table import Table

    table = Table()
    table.add_column("agent")
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _standings_table(result: Result) -> "Table":
    table = _table(["points per deal", "95 % interval", "rating", "95 % interval", "pitched", "made"])
    table.add_column("bids (made of tried)")
    for each in result.standings:
        table.add_row(
            each.name, f"{each.points.mean:+.3f}", f"{each.points.low:+.3f} .. {each.points.high:+.3f}",
            f"{each.rating.mean:+.0f}", f"{each.rating.low:+.0f} .. {each.rating.high:+.0f}", f"{each.pitched:.0%}",
            "-" if each.made is None else f"{each.made:.0%}",
            "  ".join(f"{count.bid}: {count.made / count.deals:.0%} of {count.deals:,}" for count in each.bids),
        )  # fmt: skip
    return table


def _cross_table(result: Result) -> "Table":
    names = [standing.name for standing in result.standings]
    table = _table(names)
    for first in names:
        cells = []
        for second in names:
            margin = result.margin(first, second)
            colour = "" if margin is None else "green" if margin.low > 0 else "red" if margin.high < 0 else ""
            text = "-" if margin is None else f"{margin.mean:+.3f} ±{margin.half:.3f}"
            cells.append(f"[{colour}]{text}[/]" if colour else text)
        table.add_row(first, *cells)
    return table


def _shares_table(result: Result) -> "Table":
    items = [item for item in ITEMS if any(share.item == item for each in result.standings for share in each.shares)]
    table = _table(["even", *(words(item) for item in items)])
    for each in result.standings:
        shares = {share.item: f"{share.taken / share.awarded:.1%}" for share in each.shares}
        table.add_row(each.name, f"{each.even:.1%}", *(shares.get(item, "-") for item in items))
    return table


def words(item: str) -> str:
    """The name of a point for people."""
    return item.replace("_", " ")
