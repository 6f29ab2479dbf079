"""One person at a table with agents: who sits where, what happened, hints, undo, and the table as JSON.

No input and no output: play_terminal.py and play_web.py are its two faces. All that happened is the list of actions, so
undo and loading are playing it again, and whatever is shown comes from the game.
"""

import copy
import dataclasses
import json
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from agents.agent import Agent, load
from agents.evaluation import fingerprint
from agents.opinions import Opinion, opinion, think
from pitch_env import DealResult, Game, IllegalAction, Rules
from pitch_env.actions import action_text, parse_action
from pitch_env.files import replace_atomically
from pitch_env.money import Ledger, Payment
from pitch_env.record import Record, Seat, record_of
from pitch_env.result import Trick
from pitch_env.rules import MAX_PLAYERS

FORMAT = "pitch-table 1"
YOU = "you"
_VERBS = {"does": "do", "is": "are", "wins": "win", "pays": "pay"}
DEALS = 12  # of a game whose rules have no target, unless it is said otherwise


@dataclass(frozen=True)
class Move:
    """An action at the table, and what it brought to an end."""

    seat: int
    phase: str  # in which it was taken
    action: str
    trick: Trick | None  # the trick that it completed
    deal: DealResult | None  # the deal that it completed

    @property
    def hidden(self) -> bool:
        """Whether the others do not see which card it was."""
        return self.phase in ("exchange", "discard") and self.action != "done"


class Table:
    """A person and agents who play one game after the other.

    Args:
        rules: what is played.
        against: names or paths of the agents in the other seats, from the person's left; the last one is repeated.
        seat: the person's.
        seed: of the first game; each game after it takes the next number. None draws one.
        deals: how many deals a game has at most; None plays to the target, or ``DEALS`` where there is none.
        hint: who gives hints; None takes the first of the agents that knows probabilities, or else the first.
        restless: ``next_deal`` lets agents come and go now and then, where the rules have no target.
        names: what the others are called, from the person's left; None calls them by the names of the agents.
        ledger: with all players present, where the rules have no target; None begins a new one.

    Attributes:
        game: the game as it is now.
        names: what each seat is called.
        results: what came of the deals of this game that are over; ``records`` tells all of them.
        between: whether a deal is over and the next one has not been begun; ``next_deal`` begins it.
        ledger: who has won how much, None where the rules have a target.

    Raises:
        ValueError: no such seat or agent, too many agents, or one that does not play these rules.
    """

    def __init__(
        self,
        rules: Rules,
        against: Sequence[str],
        *,
        seat: int = 0,
        seed: int | None = None,
        deals: int | None = None,
        hint: str | None = None,
        restless: bool = False,
        names: Sequence[str] | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        rules.team_of(seat)  # refuses what is no seat
        if not 1 <= len(against) <= rules.players - 1:
            raise ValueError(f"{len(against)} agents are not allowed; there are {rules.players - 1} other seats")
        if deals is None and rules.target is None:
            deals = DEALS
        self.rules, self.seat, self.deals, self.restless = rules, seat, deals, restless
        self.against = [*against, *[against[-1]] * (rules.players - 1 - len(against))]
        self.seed = int(np.random.default_rng().integers(2**32)) if seed is None else seed
        self._agents = {name: load(name) for name in dict.fromkeys([*against, *([hint] if hint else [])])}
        self.hint = hint or next((name for name in against if hasattr(self._agents[name], "probabilities")), against[0])
        called = self._called() if names is None else list(names)
        self.players = self._around(None, self.against)
        self.names = self._around(YOU, called)
        if rules.target is None and ledger is None:
            ledger = Ledger(rules.stake_cents, rules.moon_cents)
            for name in self.names:
                ledger.join(name)
        self.ledger = ledger
        self._begin()
        for agent in self._agents.values():
            try:
                think(agent, self.game, np.random.default_rng(0))
            except ValueError as error:
                raise ValueError(f"{agent.name} cannot sit at this table: {error}") from None

    def _around(self, person: Any, others: Sequence[Any]) -> list[Any]:
        """By seat: what is the person's, and what is the others', who are counted from his left."""
        clockwise = [person, *others]
        return [clockwise[(seat - self.seat) % self.rules.players] for seat in range(self.rules.players)]

    @property
    def others(self) -> list[str]:
        """What the others are called, from the person's left."""
        return [self.names[(self.seat + i) % self.rules.players] for i in range(1, self.rules.players)]

    def _called(self) -> list[str]:
        called: list[str] = []
        for name in self.against:
            called.append(_free_name(self._agents[name].name, [YOU, *called]))
        return called

    def _begin(self) -> None:
        """Deal the first deal of the game of this seed."""
        self.game_name = uuid.uuid4().hex
        self._ledger_before = copy.deepcopy(self.ledger)
        self._clear()

    def _clear(self) -> None:
        """Go back to the beginning of the game."""
        self.game = Game(self.rules, self.seed, self.deals)
        self.ledger = copy.deepcopy(self._ledger_before)
        self.actions: list[int] = []
        self.results: list[DealResult] = []
        self.records: list[Record] = []
        self.between = False
        self._own: list[int] = []  # where in the actions the person's are
        self._deal_begins = 0  # where in the actions those of this deal begin

    # Playing.

    @property
    def yours(self) -> bool:
        """Whether the person is to act."""
        return self.game.actor == self.seat and not self.between

    @property
    def over(self) -> bool:
        """Whether the game is over."""
        return self.game.actor is None

    def act(self, action: str | int) -> Move:
        """The person's action.

        Raises:
            IllegalAction: it is not legal, or it is not the person's turn; the message says why and what is legal.
        """
        if self.between:
            raise IllegalAction("the deal is over; the next one has not begun")
        if not self.yours and not self.over:
            raise IllegalAction(f"it is the turn of {self.name_of(self.game.actor)}")
        return self._take(action)

    def agents_moves(self) -> Iterator[Move]:
        """Let the agents act, move by move, until the person is to act or the deal is over."""
        while not (self.between or self.over or self.yours):
            name = self.players[self.game.actor or 0]
            assert name is not None
            # A generator for each action: what is played again after an undo is the same.
            rng = np.random.default_rng([self.seed, len(self.actions)])
            yield self._take(think(self._agents[name], self.game, rng))

    def _take(self, action: str | int) -> Move:
        game = self.game
        seat, phase, deals, tricks = game.actor, game.phase, game.deals_played, len(game.tricks)
        before = game.clone()
        game.apply(action)
        assert seat is not None
        if seat == self.seat:
            self._own.append(len(self.actions))
        self.actions.append(parse_action(action))
        deal = game.last_deal if game.deals_played > deals else None
        if deal is not None:
            self._end_deal(before, deal)
        done = game.tricks if deal is None else deal.tricks
        return Move(seat, phase, action_text(self.actions[-1]), done[-1] if len(done) > tricks else None, deal)

    def _end_deal(self, before: Game, deal: DealResult) -> None:
        """Write down a deal that is over, of which ``before`` is the last moment."""
        self.results.append(deal)
        self.between = not self.over
        self.records.append(record_of(before, self.actions[self._deal_begins :], self._seats(), self.game_name))
        self._deal_begins = len(self.actions)
        if self.ledger is not None:
            change = [deal.score_change[self.rules.team_of(seat)] for seat in range(self.rules.players)]
            self.ledger.deal(self.names, change, deal.pitcher, deal.moon)

    def _seats(self) -> list[Seat]:
        agents = [None if name is None else self._agents[name] for name in self.players]
        return [Seat(YOU) if agent is None else Seat(agent.name, fingerprint(agent)) for agent in agents]

    def next_deal(self) -> None:
        """Begin the deal that was dealt after the last one."""
        self.between = False

    def undo(self) -> bool:
        """Go back to where the person acted last. False where there is nothing to take back."""
        if not self._own:
            return False
        self._play_again(self.actions[: self._own[-1]])
        self.next_deal()  # he acted in it, so it had begun
        return True

    def _play_again(self, actions: Sequence[str | int]) -> None:
        self._clear()
        for number, action in enumerate(actions, 1):
            self.next_deal()
            try:
                self._take(action)
            except IllegalAction as error:
                raise ValueError(f"action {number}: {error}") from None

    def new_game(self) -> None:
        """Begin another game, of the next seed."""
        self.seed += 1
        self._begin()

    # Coming and going.

    def joined(self, agent: str) -> "Table":
        """A table with one more player, an agent by name or path, at the person's right; a new game begins.

        Raises:
            ValueError: no such agent, or it does not play this; or nobody may come or go now.
        """
        called = _free_name(load(agent).name, self.names)
        ledger = self._ledger_between_deals()
        ledger.join(called)
        return self._reseated([*self.against, agent], [*self.others, called], ledger)

    def left(self, name: str) -> tuple["Table", list[Payment]]:
        """A table without the player of a name, and what is paid at his leaving; a new game begins.

        Raises:
            ValueError: nobody is called that, he is the last other one, or nobody may come or go now.
        """
        if name not in self.others:
            raise ValueError(f"nobody else is called {name!r}; there is {', '.join(self.others)}")
        ledger, place = self._ledger_between_deals(), self.others.index(name)
        payments = ledger.leave(name)
        others = [(agent, called) for agent, called in zip(self.against, self.others, strict=True) if called != name]
        if not others:
            raise ValueError(f"{self.others[place]} is the last other player")
        return self._reseated([agent for agent, _ in others], [called for _, called in others], ledger), payments

    def _ledger_between_deals(self) -> Ledger:
        """A copy of the ledger. Raises ValueError where or while nobody may come or go."""
        if self.ledger is None:
            raise ValueError("players come and go only where the rules have no target, as in the money game")
        if not (self.between or self.over or not self.actions):
            raise ValueError("players come and go between deals only")
        return copy.deepcopy(self.ledger)

    def _reseated(self, against: Sequence[str], others: Sequence[str], ledger: Ledger) -> "Table":
        rules = dataclasses.replace(self.rules, players=len(against) + 1)
        left = (self.deals or DEALS) - len(self.results)
        return Table(
            rules, against, seat=min(self.seat, rules.players - 1), seed=self.seed + 1, deals=left or self.deals,
            hint=self.hint, restless=self.restless, names=others, ledger=ledger,
        )  # fmt: skip

    def wander(self) -> tuple["Table", str]:
        """At a restless table, one time in three an agent comes or goes: the table after it, and who it was."""
        rng = np.random.default_rng([self.seed, len(self.results), 1])
        if self.ledger is None or not self.restless or rng.random() > 1 / 3:
            return self, ""
        if self.rules.players > 2 and (self.rules.players == MAX_PLAYERS or rng.random() < 0.5):
            name = str(rng.choice(self.others))
            return self.left(name)[0], f"{name} leaves"
        table = self.joined(str(rng.choice(self.against)))
        return table, f"{table.others[-1]} joins"

    # Looking.

    def name_of(self, seat: int | None) -> str:
        return "nobody" if seat is None else self.names[seat]

    def named(self, words: str) -> str:
        """Words of render.py and of errors with the names of this table for ``player_0``, ``seat 0`` and ``team 0``."""
        words = re.sub(r"(?:player_|\bseat )(\d+)", lambda found: self.names[int(found[1])], words)
        if self.rules.pairs:
            words = re.sub(r"team (\d+)", lambda found: self.team_name(int(found[1])), words)
        words = re.sub(rf"\b{YOU} ({'|'.join(_VERBS)})\b", lambda found: f"{YOU} {_VERBS[found[1]]}", words)
        return re.sub(rf"^({YOU} bid .* and) was set", r"\1 were set", words)

    def team_name(self, team: int) -> str:
        """What a team is called: by its players."""
        return " & ".join(self.names[team :: self.rules.teams])

    @property
    def last_trick(self) -> Trick | None:
        """The trick that was completed last, in this deal or the one before."""
        tricks = self.game.tricks or (self.results[-1].tricks if self.results else [])
        return tricks[-1] if tricks else None

    @property
    def agents(self) -> list[Agent]:
        """The agents at this table, and who gives hints; each once."""
        return list(self._agents.values())

    def advice(self) -> Opinion:
        """What the agent that gives hints would do in the person's place. Raises ValueError when nobody is to act."""
        return self.opinion(self.hint)

    def opinions(self) -> list[Opinion]:
        """What each agent of this table would do in the place of the seat to act."""
        return [self.opinion(name) for name in self._agents]

    def opinion(self, name: str) -> Opinion:
        """What an agent of this table would do in the place of the seat to act, from what that seat knows."""
        if self.over or self.between:
            raise ValueError("nobody is to act now")
        return opinion(self._agents[name], self.game, np.random.default_rng([self.seed, len(self.actions)]))

    def imagined(self, number: int) -> list[Game]:
        """Deals as they may be for all that the person knows, drawn at random."""
        return [self.game.determinize(self.seat, np.random.default_rng([self.seed, i])) for i in range(number)]

    # The table in a file.

    def to_dict(self) -> dict[str, Any]:
        """The whole table, ready for JSON."""
        return {
            "format": FORMAT,
            "rules": self.rules.to_dict(),
            "seat": self.seat,
            "against": self.against,
            "hint": self.hint,
            "seed": self.seed,
            "deals": self.deals,
            "restless": self.restless,
            "names": self.others,
            "game": self.game_name,
            "ledger": None if self._ledger_before is None else self._ledger_before.to_dict(),
            "actions": [action_text(action) for action in self.actions],
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "Table":
        """The table that ``to_dict`` describes; its actions are played again. Raises ValueError for what is none."""
        if not isinstance(fields, dict) or fields.get("format") != FORMAT:
            raise ValueError(f"this is not a saved table of the format {FORMAT!r}")
        try:
            table = cls(
                Rules.from_dict(fields["rules"]), fields["against"], seat=fields["seat"], seed=fields["seed"],
                deals=fields["deals"], hint=fields["hint"], restless=fields["restless"], names=fields["names"],
                ledger=None if fields["ledger"] is None else Ledger.from_dict(fields["ledger"]),
            )  # fmt: skip
            table.game_name = str(fields["game"])
            table._play_again(fields["actions"])
        except KeyError as error:
            raise ValueError(f"the saved table has no {error}") from None
        except TypeError as error:
            raise ValueError(f"the saved table is damaged: {error}") from None
        return table

    def save(self, path: Path) -> None:
        """Write the table, whole or not at all. Raises OSError."""
        replace_atomically(path, json.dumps(self.to_dict(), indent=1).encode() + b"\n")

    @classmethod
    def load(cls, path: Path) -> "Table":
        """Read a table. Raises ValueError that says what is wrong with the file, or OSError."""
        try:
            return cls.from_dict(json.loads(path.read_text(encoding="utf-8")))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


def _free_name(name: str, taken: Sequence[str]) -> str:
    """A name, or where it is taken the first free one of ``name#2``, ``name#3`` and so on."""
    names = (name if number == 1 else f"{name}#{number}" for number in range(1, len(taken) + 2))
    return next(free for free in names if free not in taken)
