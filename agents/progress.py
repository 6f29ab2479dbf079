"""How a run tells what it does: TensorBoard's scalars, a line now and then; and how it is told to stop."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agents.agent import Agent
from agents.evaluation import Match, versions
from agents.games_won import describe, games_won
from agents.rollout import DealCounts
from agents.training_run import TrainingRun
from pitch_env.actions import PASS, action_text


@contextlib.contextmanager
def curves(out: Path, decisions: int) -> Iterator[Any]:
    """TensorBoard's writer into a run's folder, for what comes after so many decisions.

    Raises:
        OSError: it cannot be written.
    """
    from torch.utils.tensorboard import SummaryWriter

    shown = threading.excepthook  # it writes in a thread, which shows a traceback of what the writer raises anyway
    threading.excepthook = lambda failed: None if isinstance(failed.exc_value, OSError) else shown(failed)
    try:
        with SummaryWriter(str(out), purge_step=decisions + 1) as board:
            yield board
    except OSError as error:
        if error.strerror is None or error.filename:  # it says already which file it is
            raise
        raise OSError(
            f"the curves in {out} could not be written: {error.strerror}; the last checkpoint stays"
        ) from None
    finally:
        threading.excepthook = shown


def write_description(board: Any, run: TrainingRun, opponents: list[Agent]) -> None:
    """TensorBoard's texts, and its charts of intervals: what does not change while the run goes on."""
    config = "\n".join(f"| `{name}` | {value} |" for name, value in asdict(run.config).items())
    board.add_text("config", f"| option | value |\n| --- | --- |\n{config}", run.decisions)
    made = "\n".join(f"| {name} | {version} |" for name, version in (versions() | {"torch": torch.__version__}).items())
    board.add_text("versions", f"| package | version |\n| --- | --- |\n{made}", run.decisions)
    weights = sum(each.numel() for each in run.network.parameters())
    shape = ", ".join(f"{name} {value}" for name, value in run.shape.items())
    board.add_text("network", f"{shape}, {weights:,} weights", run.decisions)
    names = [_name(variant, each.name, run) for variant in run.config.variants() for each in opponents]
    tags = {name: f"points_per_deal/{name}" for name in names}
    charts = {name: ["Margin", [tag, f"{tag}/low", f"{tag}/high"]] for name, tag in tags.items()}
    board.add_custom_scalars({"points per deal, 95 % interval": charts})


def _name(variant: str, opponent: str, run: TrainingRun) -> str:
    """What the matches of a variant against an opponent are called: without the variant where there is one only."""
    return opponent if len(run.variants) == 1 else f"{variant}/{opponent}"


def write_scalars(board: Any, run: TrainingRun, measured: dict[str, float], counts: DealCounts) -> None:
    """TensorBoard's scalars of one update."""
    for name, value in measured.items():
        board.add_scalar(f"train/{name}", value, run.decisions)
    deals = max(1, counts.bids.sum())
    for call in np.flatnonzero(counts.bids):
        name = action_text(int(PASS + call)) if call else "thrown_in"
        board.add_scalar(f"bids/{name}", counts.bids[call] / deals, run.decisions)
        if call:
            board.add_scalar(f"made/{name}", counts.made[call] / counts.bids[call], run.decisions)


def write_matches(board: Any, run: TrainingRun, matches: dict[str, list[Match]]) -> None:
    """TensorBoard's scalars of duplicate matches: means with 95 % intervals, by variant where there are several."""
    for variant, played in matches.items():
        for match in played:
            name = _name(variant, match.opponent, run)
            for part, value in (("", match.mean), ("/low", match.low), ("/high", match.high)):
                board.add_scalar(f"points_per_deal/{name}{part}", value, run.decisions)


def report_games(
    run: TrainingRun, agent: Agent, opponents: list[Agent], games: int, board: Any = None
) -> dict[str, dict[str, Any]]:
    """Where whole games are learned, play some: print the shares that are won, and write them to TensorBoard.

    Returns:
        By variant and opponent, ready for JSON; empty where single deals are learned.
    """
    shares: dict[str, dict[str, Any]] = {}
    for variant, rules in run.config.variants().items() if run.config.deals is None else ():
        won = [(each.name, games_won(rules, agent, each, games, run.config.seed)) for each in opponents]
        print(describe(variant, won, rules.teams), flush=True)
        shares[variant] = {name: asdict(share) for name, share in won}
        for name, share in won if board else ():
            for part, value in (("", share.mean), ("/low", share.low), ("/high", share.high)):
                board.add_scalar(f"games_won/{variant}/{name}{part}", value, run.decisions)
    return shares


def progress_line(run: TrainingRun, measured: dict[str, float], matches: dict[str, list[Match]]) -> str:
    """How the run is going, in one line."""
    rate = measured["decisions_per_second"]
    exploring = "  ".join(f"{name} {measured[name]:.2f}" for name in ("entropy", "explored") if name in measured)
    left = int(run.seconds * (1 / (run.progress or 1) - 1))  # of a run that has learned nothing yet it is not known
    scores = "  ".join(
        ("" if len(matches) == 1 else f"{variant}: ")
        + "  ".join(f"{match.opponent} {match.mean:+.2f}" for match in played)
        for variant, played in matches.items()
    )
    return (
        f"{run.progress:4.0%}  {run.decisions / 1e6:.1f}M decisions  {rate:,.0f}/s  {left // 60}:{left % 60:02d} left  "
        f"loss {measured['loss']:+.3f}  {exploring}  points per deal: {scores}"
    )


class stop_on_signal:
    """Within it, Ctrl-C and SIGTERM do not interrupt but are remembered: ``with stop_on_signal() as stopped``."""

    def __enter__(self) -> Callable[[], bool]:
        self._seen = False
        here = threading.current_thread() is threading.main_thread()  # signals come to no other
        numbers = (signal.SIGINT, signal.SIGTERM) if here else ()
        self._before = {number: signal.signal(number, self._see) for number in numbers}
        return lambda: self._seen

    def _see(self, number: int, frame: Any) -> None:
        self._seen = True
        signal.signal(number, self._before[signal.Signals(number)])  # a second one does interrupt

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
