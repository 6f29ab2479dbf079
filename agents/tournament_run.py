"""Running a tournament: work shared out over processes or a cluster, kept in a journal, until it is clear enough."""

import contextlib
import functools
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from agents.intervals import interval
from agents.tournament import Outcome, Tournament, Unit, margins_of, play_unit
from pitch_env.files import replace_atomically

FORMAT = 1  # of journals
JOURNAL = "journal.jsonl"
FIRST_LOOK = 200  # deals before the intervals are looked at for the first time
UNEVEN = 20  # deals, for who plays nearly alike seems to play quite alike in the first few hundred
LOSSES = 3  # workers that die, one after the other with nothing finished between, before it is given up
BACKENDS = ("loky", "ray")
SLICE = 8  # units a worker that are handed to a backend at once which gives nothing back until all are done


class Journal:
    """What has been played, in a file: a line that says which tournament it is, then a line for each unit.

    A line that was cut off by the end of the process is not there when the journal is read again.

    Args:
        folder: where it lies.
        tournament: what is played.
        resume: goes on with the journal that is there; otherwise there must be none.

    Raises:
        ValueError: there is one, or none, or it is not of this tournament; says what differs.
        OSError: it cannot be read or written.
    """

    def __init__(self, folder: Path, tournament: Tournament, resume: bool = False) -> None:
        self.path = folder / JOURNAL
        self.outcomes: dict[Unit, Outcome] = {}
        if resume:
            self._read(tournament)
        elif self.path.exists():
            raise ValueError(f"{folder} holds a tournament already; go on with it by --resume, or take another folder")
        else:
            replace_atomically(self.path, _line({"format": FORMAT} | tournament.identity()))

    def _read(self, tournament: Tournament) -> None:
        if not self.path.exists():
            raise ValueError(f"{self.path.parent} holds no tournament to resume; it would be in {JOURNAL}")
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        try:
            header, *outcomes = [json.loads(line) for line in whole.splitlines()]
            if header.pop("format") != FORMAT:
                raise ValueError
            for each in map(Outcome.from_json, outcomes):
                self.outcomes[each.unit] = each
            differing = list(_differences(header, tournament.identity()))
        except (ValueError, TypeError, KeyError, AttributeError):
            raise ValueError(f"{self.path} is not the journal of a tournament, or a damaged one") from None
        if differing:
            raise ValueError(f"{self.path} is of another tournament: {'; '.join(differing)}")
        if len(whole) < len(content):
            replace_atomically(self.path, whole)

    def add(self, outcome: Outcome) -> None:
        """Keep an outcome, on the disk before this returns."""
        with self.path.open("ab") as file:
            file.write(_line(outcome.to_json()))
            file.flush()
            os.fsync(file.fileno())
        self.outcomes[outcome.unit] = outcome


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _differences(there: dict[str, Any], here: dict[str, Any]) -> Iterator[str]:
    """What differs between two identities, in words."""
    old, new = (", ".join(map(_title, each["players"])) for each in (there, here))
    if old != new:
        yield f"it is between {old}, this one between {new}"
    old_values, new_values = map(_flat, (there, here))
    for name in [*new_values, *(old_values.keys() - new_values.keys())]:
        if old_values.get(name) != new_values.get(name):
            yield f"its {name} is {old_values.get(name)!r}, here it is {new_values.get(name)!r}"


def _flat(identity: dict[str, Any]) -> dict[str, Any]:
    """All of an identity but the players, on one level."""
    rules = {f"rules.{name}": value for name, value in identity["rules"].items()}
    return rules | {name: value for name, value in identity.items() if name not in ("players", "rules")}


def _title(player: dict[str, str]) -> str:
    """What a player is; a file may lie elsewhere now."""
    known = player["name"] if Path(player["source"]).is_absolute() else player["source"]
    return f"{known} ({player['fingerprint']})"


# Sharing out the work.


class WorkersLost(OSError):
    """Workers died again and again; what was finished is kept in the journal if there is one."""


def run_units(
    tournament: Tournament, units: Iterable[Unit], workers: int = -1, backend: str = "loky", record: bool = False
) -> Iterator[Outcome]:
    """Play units, in any order.

    Args:
        tournament: what is played.
        units: which.
        workers: processes that play at the same time; -1: as many as there are cores, or as the cluster has. One plays
            in this process.
        backend: ``loky``, this machine; or ``ray``, the cluster that Ray is connected to (``RAY_ADDRESS``), else this
            machine. There, agents that are files must lie at the same path on every machine.
        record: whether outcomes have the records of their deals.

    Raises:
        WorkersLost: three workers died one after the other, killed or out of memory. The work of one that dies is
            done by another.
        ValueError: a backend that is not there.
    """
    left = dict.fromkeys(units)
    work = functools.partial(play_unit, tournament, record=record)
    losses = 0
    with _backend(backend) as (keywords, lost):
        while left:
            try:
                for outcome in _parallel(work, list(left), workers, keywords):
                    del left[outcome.unit]
                    losses = 0
                    yield outcome
            except lost as error:
                losses += 1
                if losses == LOSSES:
                    raise WorkersLost(
                        f"{LOSSES} times in a row a worker process died, killed or out of memory, with {len(left)} "
                        "units of work to do; fewer --workers take less memory"
                    ) from error


def _parallel(
    play_one: Callable[[Unit], Outcome], units: list[Unit], workers: int, keywords: dict[str, Any]
) -> Iterator[Outcome]:
    """Play units with joblib, and give each outcome as soon as the backend does."""
    work = [joblib.delayed(play_one)(unit) for unit in units]
    if keywords["return_as"] != "list":
        yield from joblib.Parallel(n_jobs=workers, **keywords)(work)
        return
    with joblib.Parallel(n_jobs=workers, **keywords) as parallel:
        size = SLICE * joblib.effective_n_jobs(workers)
        for start in range(0, len(work), size):
            yield from parallel(work[start : start + size])


@contextlib.contextmanager
def _backend(name: str) -> Iterator[tuple[dict[str, Any], tuple[type[BaseException], ...]]]:
    """Within it joblib uses a backend. Gives keywords of ``Parallel``, and what it raises when a worker dies."""
    if name not in BACKENDS:
        raise ValueError(f"backend={name!r} is not allowed; it is one of {', '.join(BACKENDS)}")
    if name == "loky":
        with _one_thread_each(), joblib.parallel_config("loky", inner_max_num_threads=1):
            yield {"return_as": "generator_unordered"}, (BrokenProcessPool,)
        return
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError:
        raise ValueError("--backend ray takes Ray, which is not installed; say pip install 'pitch-env[ray]'") from None
    register_ray()
    variables = {"PITCH_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with joblib.parallel_config("ray", ray_remote_args={"runtime_env": {"env_vars": variables}}):
        yield {"return_as": "list"}, (ray.exceptions.ActorDiedError, ray.exceptions.WorkerCrashedError)


@contextlib.contextmanager
def _one_thread_each() -> Iterator[None]:
    """Within it, processes that are started play with one thread, for there are as many of them as cores."""
    before = os.environ.get("PITCH_THREADS")
    os.environ["PITCH_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PITCH_THREADS"]
        else:
            os.environ["PITCH_THREADS"] = before


# Playing to the end.


def play(
    tournament: Tournament,
    deals: int,
    *,
    until: float | None = None,
    workers: int = -1,
    backend: str = "loky",
    journal: Journal | None = None,
    watch: Callable[[list[Outcome], int, bool], None] | None = None,
    record: bool = False,
) -> list[Outcome]:
    """Play a tournament.

    With ``until`` it is played in rounds. After each, the widest interval of a pairing tells how many deals it will
    take; the next round plays so many, but at most four times those that there are, and it is over when none is wider.
    Only widths decide, never who is ahead, and every pairing plays the same deals; so what is reported is as good as
    unbiased, and its interval holds (at 200 deals, the earliest end, and for edges that lie near zero). Rounds do not
    depend on who finished first: the same seed gives the same end.

    Args:
        deals: for every pairing; with ``until`` at most.
        until: stop when half the width of the 95 % interval is at most this for every pairing, in points per deal.
        workers, backend: see ``run_units``.
        journal: keeps what is finished, and knows what need not be played again.
        watch: ``watch(outcomes, units, begins)`` is told all that is finished of a round of so many units when it
            begins, and then what comes new.
        record: whether outcomes have the records of their deals.

    Returns:
        The outcomes, in order.

    Raises:
        ValueError: numbers that are out of range; records are wanted, and the journal has none of what is finished.
        WorkersLost: see ``run_units``.
    """
    if deals < 2:
        raise ValueError(f"deals={deals} is not allowed; an interval takes at least 2")
    if until is not None and not until > 0:
        raise ValueError(f"until={until} is not allowed; it is a number of points per deal above zero")
    done = {} if journal is None else dict(journal.outcomes)
    if record and any(outcome.records is None for outcome in done.values()):
        raise ValueError(
            "the journal has no records of the deals that are finished; go on without records, or begin anew"
        )
    goal = deals if until is None else min(deals, _whole_chunks(tournament, FIRST_LOOK))
    while True:
        units = tournament.units(goal)
        missing = [unit for unit in units if unit not in done]
        if watch is not None:
            watch([done[unit] for unit in units if unit in done], len(units), True)
        for outcome in run_units(tournament, missing, workers, backend, record):
            done[outcome.unit] = outcome
            if journal is not None:
                journal.add(outcome)
            if watch is not None:
                watch([outcome], len(units), False)
        outcomes = [done[unit] for unit in units]
        half = widest_half(tournament, outcomes)
        if until is None or goal == deals or half <= until:
            return outcomes
        needed = goal * (half / until) ** 2
        goal = min(deals, _whole_chunks(tournament, min(4 * goal, max(needed * 1.02, goal + 1))))


def _whole_chunks(tournament: Tournament, deals: float) -> int:
    """So many deals or a few more, such that every unit is whole."""
    return tournament.chunk * math.ceil(deals / tournament.chunk)


def widest_half(tournament: Tournament, outcomes: Iterable[Outcome]) -> float:
    """Half the widest 95 % interval of a pairing; infinite if one has fewer than 20 deals that were not even."""
    widest = 0.0
    for margins in margins_of(tournament, outcomes).values():
        met = margins[~np.isnan(margins)]
        widest = max(widest, interval(met).half if np.count_nonzero(met) >= UNEVEN else math.inf)
    return widest
