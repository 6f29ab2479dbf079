"""What a tournament is, down to every card and every chance, and how one part of it is played.

Two agents meet on duplicate deals. At each table some of the teams are played by the one and the others by the other;
what a table says is the mean of the points of the first one's teams less that of the second one's. A deal's margin is
the mean over its tables, which are, by ``tables``:

======  ================================================================================================================
swap    two: each agent has half of the teams (of an odd number one more at the second table), and then they change
        places. From deal to deal the halves go through all the ways to seat them.
all     every mixed way to give the teams to two agents, 2 ** teams - 2; of more than four teams, each agent alone
        against the other, in the place of every team
mixed   the whole field at once, as many tables as agents: drawn in an order for each deal, the agents move on by one
        team from table to table, so each has every team once. Two of them meet at those tables at which both sit.
======  ================================================================================================================

The first two play every pairing on the same deals. In all three a margin changes its sign when the two change their
names, so that between equal agents its expectation is zero.

The second table of ``swap`` is worth it the more alike two agents are, for then their cards cancel out. Against one
table a deal it narrows the interval, with as many deals and with as many games: by 1.5 and 1.07 for expert against
greedy in ``auction`` (1.4 to 1.7 and 1.0 to 1.2 in the other presets and against random), by 2.1 and 1.5 for expert
against the shipped network. ``all`` repeats itself: four solo players like these take it three times the games that
``swap`` takes to the same interval, though fewer deals.
"""

import contextlib
import functools
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from agents.agent import Agent, is_name_of_player, load, load_all, shipped
from agents.evaluation import fingerprint, play_tables
from pitch_env import Rules
from pitch_env.actions import MOON_CALL
from pitch_env.record import Record
from pitch_env.state import NOBODY

Tables = Literal["swap", "all", "mixed"]
CHUNK = 128  # deals that a unit of work has, unless one of the agents wants fewer


@dataclass(frozen=True)
class Player:
    """Somebody who takes part: what it is called, what ``load`` knows it by on any machine, and its hash."""

    name: str
    source: str
    fingerprint: str


class Unit(NamedTuple):
    """A piece of work: the deals from ``start`` to ``stop`` of a group of players who meet."""

    group: int
    start: int
    stop: int


@dataclass(frozen=True)
class Tournament:
    """Who plays what. Equal ones give equal results, to the bit, in whatever order and wherever they are played."""

    rules: Rules
    players: tuple[Player, ...]
    seed: int = 1
    tables: Tables = "swap"
    chunk: int = CHUNK

    def __post_init__(self) -> None:
        if self.tables not in get_args(Tables):
            raise ValueError(f"tables={self.tables!r} is not allowed; they are {', '.join(get_args(Tables))}")
        if len(self.players) < 2:
            raise ValueError("one agent is not enough; name two or more, the same one twice if you like")
        if self.tables == "mixed" and min(len(self.players), self.rules.teams) < 3:
            raise ValueError(
                f"tables='mixed' is not allowed with {len(self.players)} agents and {self.rules.teams} teams; "
                "it takes at least 3 of each"
            )
        if self.chunk < 1:
            raise ValueError(f"chunk={self.chunk} is not allowed; it is at least 1")

    @classmethod
    def between(
        cls, names: Sequence[str], rules: Rules, *, seed: int = 1, tables: Tables = "swap", chunk: int | None = None
    ) -> "Tournament":
        """A tournament of agents by name.

        Args:
            names: of baselines or shipped checkpoints, or paths; what is named twice plays twice.
            rules: what is played; each deal on its own, scores from zero.
            seed: of the deals and of the agents' own chance.
            tables: how they are seated.
            chunk: deals a unit of work; None: what the agents wish, which they may say as ``deals_a_chunk`` (slow ones
                say few, so that work can be shared out), at most 128. It decides which chance an agent has.

        Raises:
            ValueError: an agent that is not there, or what cannot be played; says what is allowed.
        """
        agents = load_all(list(names))
        players = tuple(
            Player(agent.name, _anywhere(name), fingerprint(agent)) for agent, name in zip(agents, names, strict=True)
        )
        wishes = [getattr(agent, "deals_a_chunk", CHUNK) for agent in agents]
        return cls(rules, players, seed, tables, min([CHUNK, *wishes]) if chunk is None else chunk)

    @property
    def groups(self) -> list[tuple[int, ...]]:
        """The numbers of the players who meet: the pairings, or with mixed tables all at once."""
        numbers = range(len(self.players))
        return [tuple(numbers)] if self.tables == "mixed" else list(itertools.combinations(numbers, 2))

    def pairs(self, group: int) -> list[tuple[int, int]]:
        """The numbers of each two players in a group, in the order of an outcome's margins."""
        return list(itertools.combinations(self.groups[group], 2))

    def units(self, deals: int) -> list[Unit]:
        """The work of so many deals; all pairings go forward together."""
        return [
            Unit(group, start, min(start + self.chunk, deals))
            for start in range(0, deals, self.chunk)
            for group in range(len(self.groups))
        ]

    def identity(self) -> dict[str, Any]:
        """All that decides the results, ready for JSON."""
        return asdict(self) | {"rules": self.rules.to_dict(), "players": [asdict(player) for player in self.players]}


def _anywhere(name: str) -> str:
    """A name that means the same in any current folder."""
    path = Path(name)
    if is_name_of_player(name) or name in shipped() or not path.exists():
        return name
    return str(path.resolve())


# Who sits where.


def half_splits(teams: int) -> np.ndarray:
    """The ways to give half of the teams, rounded down, to player 0 and the others to player 1: int [ways, teams].

    Of an even number, a split and the same with the players exchanged count as one.
    """
    ways = [way for way in itertools.product((0, 1), repeat=teams) if way.count(0) == teams // 2]
    return np.array([way for way in ways if teams % 2 or way[0] == 0])


def all_splits(teams: int) -> np.ndarray:
    """Every mixed way, int [ways, teams]; of more than four teams, one against the others from both sides."""
    if teams <= 4:
        return np.array([way for way in itertools.product((0, 1), repeat=teams) if 0 < sum(way) < teams])
    alone = np.eye(teams, dtype=np.int64)
    return np.concatenate([1 - alone, alone])


def seatings(tournament: Tournament, unit: Unit) -> np.ndarray:
    """The places in the unit's group that have the teams at each table of each deal: int [deals, tables, teams]."""
    teams, deals = tournament.rules.teams, np.arange(unit.start, unit.stop)
    if tournament.tables == "all":
        return np.broadcast_to(all_splits(teams), (len(deals), *all_splits(teams).shape))
    if tournament.tables == "swap":
        splits = half_splits(teams)
        half = splits[deals % len(splits)]
        return np.stack([half, 1 - half], axis=1)
    size = len(tournament.groups[unit.group])
    rng = np.random.default_rng([tournament.seed, unit.start, 0])
    order = rng.permuted(np.tile(np.arange(size), (len(deals), 1)), axis=1)
    return order[:, (np.arange(size)[:, None] + np.arange(teams)) % size]


# Playing.


@dataclass
class Outcome:
    """What came of a unit. Its group has G players; numbers of deals count once for each team of a player's.

    Margins that are not there, where two did not meet, are NaN.
    """

    unit: Unit
    margins: np.ndarray  # float64 [pairs of the group, deals]: the first one's mean less the second one's
    tables: np.ndarray  # int64 [G], at which the player sat
    dealt: np.ndarray  # int64 [G], deals
    calls: np.ndarray  # int64 [G, 12], by call: the deals in which the player (or its partner) was the pitcher at it
    made: np.ndarray  # int64 [G, 12], those in which it was made
    taken: np.ndarray  # int64 [G, 8], by ``Item``: how often the player's teams got it
    awarded: np.ndarray  # int64 [G, 8], how often it was given to anybody at the player's tables
    records: list[Record] | None = None  # of all its deals, if they are wanted

    def counts(self) -> dict[str, np.ndarray]:
        """What is counted, by name."""
        return {name: getattr(self, name) for name in _COUNTS}

    def to_json(self) -> dict[str, Any]:
        """As plain lists, from which ``from_json`` makes the same again, to the bit."""
        counts = {name: counts.tolist() for name, counts in self.counts().items()}
        margins = [[None if np.isnan(margin) else margin for margin in pair] for pair in self.margins.tolist()]
        content = {"unit": list(self.unit), "margins": margins} | counts
        if self.records is not None:
            content["records"] = [record.to_json() for record in self.records]
        return content

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "Outcome":
        """The inverse of ``to_json``. Raises KeyError, TypeError or ValueError for what it never writes."""
        margins = np.array(content["margins"], np.float64)
        counts = {name: np.array(content[name], np.int64) for name in _COUNTS}
        records = [Record.from_json(line) for line in content["records"]] if "records" in content else None
        return cls(Unit(*content["unit"]), margins, **counts, records=records)


_COUNTS = ("tables", "dealt", "calls", "made", "taken", "awarded")


@functools.lru_cache(maxsize=4)
def _load(players: tuple[Player, ...]) -> list[Agent]:
    """The agents of a group, loaded once a process. Raises ValueError where this machine has others by these names."""
    agents = [load(player.source) for player in players]
    for agent, player in zip(agents, players, strict=True):
        if fingerprint(agent) != player.fingerprint:
            raise ValueError(
                f"{player.source} is not what it was when the tournament began: its hash is {fingerprint(agent)}, "
                f"not {player.fingerprint}"
            )
    return agents


def play_unit(tournament: Tournament, unit: Unit, record: bool = False) -> Outcome:
    """Play a unit, with records of its deals if they are wanted.

    The same one has the same outcome wherever it is played, for all its chance is seeded by it.
    """
    agents = _load(tournament.players)
    group = [agents[player] for player in tournament.groups[unit.group]]
    seating = seatings(tournament, unit)
    deals, tables, teams = seating.shape
    # The same cards for every group, and for a chunk that is cut short the same as for a whole one.
    seeds = np.random.SeedSequence([tournament.seed, unit.start]).generate_state(deals, np.uint64)
    rng = np.random.default_rng([tournament.seed, unit.start, 1, unit.group])
    flat = np.ascontiguousarray(seating.reshape(-1, teams))
    records: list[Record] | None = [] if record else None
    name = f"{tournament.seed}-{unit.group}-{unit.start}-"
    with _one_torch_thread():
        last = play_tables(tournament.rules, group, flat, np.repeat(seeds, tables), rng, records=records, name=name)
    own = flat[:, :, None] == np.arange(len(group))  # bool [all tables, teams, G]
    return Outcome(unit, deal_margins(last["change"][:, :teams], own, deals), **_counts(last, own), records=records)


@contextlib.contextmanager
def _one_torch_thread() -> Iterator[None]:
    """Within it torch, where an agent uses it, has one thread: their number may decide the last bits of a sum."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def deal_margins(change: np.ndarray, own: np.ndarray, deals: int) -> np.ndarray:
    """What each pair's tables say, in the mean over each deal.

    Args:
        change: [tables, teams], what the deal added to the score of each team; those of one deal follow each other.
        own: bool [tables, teams, G], which teams are a player's.
        deals: how many deals.

    Returns:
        float64 [pairs, deals], NaN where the two did not meet.
    """
    numbers = own.sum(1)  # [tables, G]
    points = np.einsum("bt,btg->bg", change.astype(float), own) / np.maximum(numbers, 1)
    margins = []
    for first, second in itertools.combinations(range(own.shape[2]), 2):
        met = (numbers[:, first] > 0) & (numbers[:, second] > 0)
        total = np.where(met, points[:, first] - points[:, second], 0.0).reshape(deals, -1).sum(1)
        count = met.reshape(deals, -1).sum(1)
        margins.append(np.where(count > 0, total / np.maximum(count, 1), np.nan))
    return np.array(margins)


def _counts(last: np.ndarray, own: np.ndarray) -> dict[str, np.ndarray]:
    """The counts of an ``Outcome``, from the tables at the end of the deals."""
    teams, size = own.shape[1:]
    pitched = np.flatnonzero(last["pitcher"] != NOBODY)
    pitchers = own[pitched, last["pitcher"][pitched] % teams]  # bool [pitched deals, G]
    bids, made = last["bid"][pitched], last["made"][pitched] == 1
    calls_of = [np.bincount(bids[pitchers[:, player]], minlength=MOON_CALL + 1) for player in range(size)]
    made_of = [np.bincount(bids[pitchers[:, player] & made], minlength=MOON_CALL + 1) for player in range(size)]
    to_team = last["items"][:, :, None] == np.arange(teams)  # bool [tables, items, teams]
    sat = own.any(1)
    return {
        "tables": sat.sum(0),
        "dealt": own.sum((0, 1)),
        "calls": np.array(calls_of),
        "made": np.array(made_of),
        "taken": np.einsum("bit,btg->gi", to_team.astype(np.int64), own.astype(np.int64)),
        "awarded": np.einsum("bi,bg->gi", to_team.any(2).astype(np.int64), sat.astype(np.int64)),
    }


def margins_of(tournament: Tournament, outcomes: Iterable[Outcome]) -> dict[tuple[int, int], np.ndarray]:
    """The margin of every deal for each pair of players, from outcomes in order: float64 [deals], NaN if not met."""
    parts: dict[tuple[int, int], list[np.ndarray]] = {}
    for outcome in outcomes:
        for pair, margins in zip(tournament.pairs(outcome.unit.group), outcome.margins, strict=True):
            parts.setdefault(pair, []).append(margins)
    return {pair: np.concatenate(margins) for pair, margins in parts.items()}
