"""``replay``: a step at a time through game records, with what agents would have done."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agents import options as common
from agents.agent import Agent, load_all
from agents.opinions import action_symbol, opinion
from pitch_env import Game, render
from pitch_env.record import Record, RecordError, read_lines, replay

DESCRIPTION = (
    "Step through the deals of a file of game records. In a terminal, Enter shows the next step, b the one before, n "
    "the next deal, p the deal before, and q leaves; in a pipe all steps are written one after the other."
)
EXAMPLE = "replay games.jsonl --deal 3 --agents expert,auction"
TOP = 4  # actions of an agent that are shown
_VERBS = {"exchange": "exchanges", "discard": "puts away", "play": "plays"}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="game records, one JSON line a deal")
    parser.add_argument("--deal", type=common.at_least(1), metavar="K", help="show the K-th record only (default: all)")
    parser.add_argument(
        "--agents", type=common.names, default=[], metavar="AGENT,...",
        help="show what these would do at each decision, with their probabilities where they know them",
    )  # fmt: skip
    parser.add_argument("--seat", type=common.at_least(0), help="show what this seat saw (default: all hands)")
    parser.add_argument("--check", action="store_true", help="show nothing, check every record, name all that is wrong")


def run(options: argparse.Namespace) -> int:
    """Show the records, or check them. Returns the exit status."""
    if options.check:
        return check(options.file)
    shown = Viewer(load_all(options.agents) if options.agents else [], options.seat)
    deals = (Deal(place, record, list(replay(record))) for place, record in _records(options.file, options.deal))
    if sys.stdin.isatty() and sys.stdout.isatty():
        browse(deals, shown)
    else:
        for deal in deals:
            for step in range(len(deal.games)):
                print(_writable(shown.text(deal, step)), end="\n\n")
    return 0


def check(path: Path) -> int:
    """Name every line that is no record, or that the rules contradict. Returns the exit status, 1 if there is any."""
    from rich.console import Console
    from rich.progress import track

    good, wrong = 0, 0
    console = Console(stderr=True)
    lines = track(read_lines(path), "Checking", console=console, transient=True, disable=not console.is_terminal)
    for _, found in lines:
        if isinstance(found, RecordError):
            wrong += 1
            print(found)
        else:
            good += 1
    print(f"{good:,} records replay to their results; {wrong:,} wrong lines")
    return 1 if wrong else 0


def _records(path: Path, deal: int | None) -> Iterator[tuple[str, Record]]:
    """The records that are to be shown, each with where it stands.

    Raises:
        ValueError: a line that is wrong, or there is no such record.
    """
    number = deal or 1
    for line, found in read_lines(path, number):
        if isinstance(found, RecordError):
            raise found
        yield f"record {number}, line {line}", found
        number += 1
        if deal is not None:
            return
    if number == (deal or 1):
        holds = sum(1 for _ in read_lines(path))
        what = f"{holds} records; --deal {deal} is not allowed" if deal and holds else "no records"
        raise ValueError(f"{path} holds {what}")


@dataclass
class Deal:
    """A record that is shown."""

    place: str  # where it comes from
    record: Record
    games: list[Game]  # before each action and after the last


@dataclass
class Viewer:
    """What is shown of a deal: with which agents' opinions, and from which seat."""

    agents: Sequence[Agent]
    seat: int | None  # None: all hands lie open

    def text(self, deal: Deal, step: int) -> str:
        """The table after so many actions of a deal. Raises ValueError for a seat that is not there."""
        record, game = deal.record, deal.games[step]
        if step == 0:
            name = "" if record.game is None else f" of game {record.game}"
            seats = (f"{render.player(seat)} is {who.agent}" for seat, who in enumerate(record.seats))
            head = f"{deal.place}: deal {record.deal.number}{name}\n{', '.join(seats)}"
        else:
            head = f"[{step} of {len(record.actions)}] {self._done(record, step - 1, deal.games[step - 1])}"
        return "\n".join([head, "", render.text(game, self.seat, _in_color()), *self._opinions(game, record, step)])

    def _done(self, record: Record, number: int, game: Game) -> str:
        """What an action was, in words; ``game`` is before it."""
        action, seat = record.actions[number], game.actor
        assert seat is not None
        who = f"{render.player(seat)} ({record.seats[seat].agent})"
        if game.phase == "bid":
            return f"{who} {'passes' if action == 'pass' else f'bids {action}'}"
        if game.phase == "trump":
            return f"{who} names {action_symbol(action)}"
        if action == "done":
            return f"{who} exchanges no more"
        hidden = self.seat not in (None, seat) and game.phase != "play"
        return f"{who} {_VERBS[game.phase]} {'a card' if hidden else action_symbol(action)}"

    def _opinions(self, game: Game, record: Record, number: int) -> list[str]:
        """What the agents would do now, and what was done, for the seat to act, where its hand is open."""
        if game.actor is None or not self.agents or self.seat not in (None, game.actor):
            return []
        lines = ["", f"{render.player(game.actor)} {self._next(record, number)}"]
        width = max(len(agent.name) for agent in self.agents)
        return lines + [f"  {agent.name:{width}}  {_opinion(agent, game, number)}" for agent in self.agents]

    def _next(self, record: Record, number: int) -> str:
        if number == len(record.actions):
            return "is to act; here the record ends"
        return f"goes on with {action_symbol(record.actions[number])}"


def _opinion(agent: Agent, game: Game, number: int) -> str:
    """An agent's choice, its likeliest actions, and what it expects; or why it has none, as under other rules."""
    try:
        found = opinion(agent, game, np.random.default_rng([game.deals_played, number]))
    except ValueError as error:
        return f"cannot say: {error}"
    likely = [f"{action_symbol(action)} {share:.1%}" for action, share in found.probabilities[:TOP]]
    expects = [f"expects {found.expects}"] if found.expects else []
    return "; ".join(
        [f"would choose {action_symbol(found.choice)}", *([", ".join(likely)] if likely else []), *expects]
    )


# The terminal.


def browse(deals: Iterator[Deal], shown: Viewer) -> None:
    """Show the steps as the keys say, until the person leaves or the last step was shown."""
    seen: list[Deal] = []
    place, step = 0, 0
    while True:
        if place == len(seen):
            deal = next(deals, None)
            if deal is None:
                return
            seen.append(deal)
        print(f"\n{_writable(shown.text(seen[place], step))}\n")
        try:
            key = input("Enter next, b back, n next deal, p deal before, q quit> ").strip().lower()
        except EOFError:
            print()
            return
        if key.startswith("q"):
            return
        place, step = _moved(seen, place, step, key)


def _moved(seen: list[Deal], place: int, step: int, key: str) -> tuple[int, int]:
    """The deal and the step that a key leads to; the same for a key that is none."""
    if key == "":
        return (place, step + 1) if step + 1 < len(seen[place].games) else (place + 1, 0)
    if key == "n":
        return place + 1, 0
    if key == "p":
        return max(place - (step == 0), 0), 0  # first to the beginning of this one
    if key == "b" and step > 0:
        return place, step - 1
    if key == "b" and place > 0:
        return place - 1, len(seen[place - 1].games) - 1
    return place, step


def _in_color() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _writable(text: str) -> str:
    """The text with letters for suits where their symbols cannot be written."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        letters = {ord(symbol): suit for suit, symbol in render.SYMBOLS.items()}
        return text.translate({**letters, ord("·"): "-"})
    return text
