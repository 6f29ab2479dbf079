"""How strong an agent is: duplicate deals, points per deal relative to the opponents, a 95 % interval.

In a duplicate match the same deal, with the same dealer, is played once for each team: in play r the agent has the
seats of team r and the opponent has all the others. The mean over these plays is one number for the deal, in which the
luck of the cards has cancelled out for the most part; deals are independent, so the interval is taken over deals.
"""

import inspect
import json
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from agents.agent import Agent
from agents.intervals import interval
from agents.returns import relative
from pitch_env import Rules, VectorGame
from pitch_env.actions import MOON_CALL, PASS, action_text
from pitch_env.files import replace_atomically
from pitch_env.kernel import source_hash
from pitch_env.record import Record, Seat
from pitch_env.recorder import Recorder
from pitch_env.state import NOBODY

EVALUATION = "evaluation.json"  # beside a checkpoint: the matches at its end
CHUNK = 512  # deals that are played side by side


@dataclass
class BidCount:
    """The deals in which an agent was the pitcher at a bid."""

    bid: str
    deals: int
    made: int


@dataclass
class Match:
    """The outcome of a duplicate match."""

    agent: str
    opponent: str
    deals: int
    mean: float  # points per deal relative to the opponents
    low: float  # the 95 % interval
    high: float
    pitched: float  # the share of deals in which the agent (or its partner) was the pitcher
    made: float | None  # the share of those in which the bid was made; None where there are none
    bids: list[BidCount] = field(default_factory=list)

    @property
    def clear(self) -> bool:
        """Whether the agent is better, with the interval clear of zero."""
        return self.low > 0

    def __str__(self) -> str:
        interval = f"{self.low:+.2f} to {self.high:+.2f}"
        return f"{self.agent} against {self.opponent}: {self.mean:+.2f} ({interval}) points per deal"


def duplicate_match(
    rules: Rules, agent: Agent, opponent: Agent, deals: int, seed: int = 0, records: list[Record] | None = None
) -> Match:
    """Play an agent against an opponent.

    Args:
        rules: what is played; each deal on its own, scores from zero.
        agent, opponent: the players. The agent plays each deal once for every team, against the opponent in all other
            seats.
        deals: how many different deals.
        seed: of the deals and of the agents' own chance.
        records: a list to which the records of all deals are added, if they are wanted.

    Raises:
        ValueError: fewer than two deals, for which there is no interval.
    """
    if deals < 2:
        raise ValueError(f"deals={deals} is not allowed; an interval takes at least 2")
    samples = np.empty(deals)
    calls, made = np.zeros(MOON_CALL + 1, np.int64), np.zeros(MOON_CALL + 1, np.int64)
    for start in range(0, deals, CHUNK):
        stop = min(start + CHUNK, deals)
        seeds = np.random.SeedSequence([seed, start]).generate_state(stop - start, np.uint64)
        rng, name = np.random.default_rng([seed, start, 1]), f"{agent.name}-{opponent.name}-{seed}-{start}-"
        points, last = play_duplicates(rules, agent, opponent, seeds, rng, records=records, name=name)
        samples[start:stop] = points.reshape(-1, rules.teams).mean(1)
        mine = (last["pitcher"] != NOBODY) & (last["pitcher"] % rules.teams == np.arange(len(last)) % rules.teams)
        calls += np.bincount(last["bid"][mine], minlength=MOON_CALL + 1)
        made += np.bincount(last["bid"][mine & (last["made"] == 1)], minlength=MOON_CALL + 1)
    points_per_deal = interval(samples)
    pitched = int(calls.sum())
    return Match(
        agent=agent.name,
        opponent=opponent.name,
        deals=deals,
        mean=points_per_deal.mean,
        low=points_per_deal.low,
        high=points_per_deal.high,
        pitched=pitched / (deals * rules.teams),
        made=int(made.sum()) / pitched if pitched else None,
        bids=bid_counts(calls, made),
    )


def bid_counts(calls: np.ndarray, made: np.ndarray) -> list[BidCount]:
    """The bids that were made at all, from the numbers of deals by call [12]."""
    return [
        BidCount(action_text(PASS + int(call)), int(calls[call]), int(made[call])) for call in np.flatnonzero(calls)
    ]


def play_duplicates(
    rules: Rules, agent: Agent, opponent: Agent, seeds: np.ndarray, rng: np.random.Generator, **recording: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Play each deal once for every team: table i is deal i // teams with the agent in team i % teams.

    ``recording`` is for ``play_tables``.

    Returns:
        The agent's relative points [tables], and the tables at the end (PUBLIC records [tables]).
    """
    seating = np.tile(1 - np.eye(rules.teams, dtype=np.int64), (len(seeds), 1))
    last = play_tables(rules, [agent, opponent], seating, np.repeat(seeds, rules.teams), rng, **recording)
    change = last["change"][:, : rules.teams].astype(float)
    tables = np.arange(len(last))
    return relative(change, rules)[tables, tables % rules.teams], last


def play_tables(
    rules: Rules,
    agents: Sequence[Agent],
    seating: np.ndarray,
    seeds: np.ndarray,
    rng: np.random.Generator,
    *,
    records: list[Record] | None = None,
    name: str = "",
) -> np.ndarray:
    """Play one deal at each of many tables, side by side.

    Args:
        rules: what is played.
        agents: who plays.
        seating: int [tables, teams], the number of the agent that has the seats of each team.
        seeds: uint64 [tables], of the deals; the same seed deals the same cards with the same dealer.
        rng: the chance of agents that need some.
        records: a list to which the records of all deals are added, if they are wanted.
        name: what the names of the records' games begin with.

    Returns:
        The tables at the end of the deal, PUBLIC records [tables].
    """
    batch = VectorGame(rules, len(seeds), seeds, deals=1)
    recorder = None
    if records is not None:
        seats = [Seat(agent.name, fingerprint(agent)) for agent in agents]
        recorder = Recorder(
            batch, lambda table: [seats[seating[table, seat % rules.teams]] for seat in range(rules.players)], name=name
        )
    tables = np.arange(len(batch))
    last = batch.last.copy()
    playing = np.ones(len(batch), bool)
    while playing.any():
        # A game that is over has dealt itself anew; it takes any legal action, and nobody looks.
        actions = batch.mask.argmax(1)
        acting = seating[tables, batch.actor % rules.teams]
        for number, agent in enumerate(agents):
            rows = np.flatnonzero(playing & (acting == number))
            if len(rows):
                actions[rows] = agent.act(batch.observation[rows], batch.mask[rows], rng)
        if recorder is None or records is None:
            batch.step(actions)
        else:
            records += recorder.step(actions)
            recorder.stop(np.flatnonzero(batch.done))
        over = playing & batch.done
        last[over] = batch.last[over]
        playing &= ~over
    return last


def round_robin(
    rules: Rules, agents: list[Agent], deals: int, seed: int = 0, records: list[Record] | None = None
) -> Iterator[Match]:
    """Every agent against every other one, in both roles, on the same deals; see ``duplicate_match``."""
    for agent in agents:
        for opponent in agents:
            if agent is not opponent:
                yield duplicate_match(rules, agent, opponent, deals, seed, records)


def report(rules: Rules, matches: list[Match], seed: int, agents: list[Agent]) -> dict[str, Any]:
    """All that is needed to understand and to repeat some matches, ready for JSON."""
    return {
        "what": "points per deal relative to the opponents, duplicate deals, 95 % interval over deals",
        "seed": seed,
        "rules": rules.to_dict(),
        "agents": {agent.name: fingerprint(agent) for agent in agents},
        "versions": versions(),
        "matches": [asdict(match) for match in matches],
    }


def fingerprint(agent: Agent) -> str:
    """A hash of what decides an agent's play: its weights, or the source of its class and all that this imports."""
    own = getattr(agent, "fingerprint", None)
    return source_hash(Path(inspect.getfile(type(agent)))) if own is None else str(own)


def trained_for(agent: Agent) -> Rules | None:
    """The rules that an agent was trained for, a checkpoint or an exported one, if there are such and no others."""
    exported = getattr(agent, "metadata", {}).get("rules")
    rules = getattr(agent, "rules", None) if exported is None else Rules.from_dict(exported)
    return rules if isinstance(rules, Rules) else None


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that a result depends on."""
    return {"python": platform.python_version()} | {name: version(name) for name in ("pitch-env", "numpy", "numba")}


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write JSON, whole or not at all."""
    replace_atomically(path, json.dumps(content, indent=1, allow_nan=False).encode() + b"\n")


def print_table(matches: list[Match], title: str = "") -> None:
    """Print matches as a table."""
    from rich.console import Console
    from rich.table import Table

    grid = Table(title=title, title_justify="left")
    for name in ("agent", "against"):
        grid.add_column(name)
    for name in ("points per deal", "95 % interval", "deals", "pitched", "made"):
        grid.add_column(name, justify="right")
    grid.add_column("bids (made of tried)")
    for match in matches:
        style = "green" if match.low > 0 else "red" if match.high < 0 else ""
        grid.add_row(
            match.agent, match.opponent, f"{match.mean:+.3f}", f"{match.low:+.3f} .. {match.high:+.3f}",
            f"{match.deals:,}", f"{match.pitched:.0%}", "-" if match.made is None else f"{match.made:.0%}",
            "  ".join(f"{count.bid}: {count.made}/{count.deals}" for count in match.bids), style=style,
        )  # fmt: skip
    console = Console()
    Console(width=console.width if console.is_terminal else 120).print(grid)
