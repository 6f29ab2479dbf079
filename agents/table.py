"""One person at a table with agents: who sits where, what happened, hints, undo, and the table as JSON.

No input and no output: play_terminal.py and play_web.py are its two faces. All that happened is the list of actions, so
undo and loading are playing it again, and whatever is shown comes from the game.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from agents.agent import Agent, load
from agents.files import replace_atomically
from pitch_env import DealResult, Game, IllegalAction, Rules
from pitch_env.actions import action_text, parse_action
from pitch_env.cards import CARD_ID
from pitch_env.render import SYMBOLS, card_symbol
from pitch_env.result import Trick

FORMAT = "pitch-table 1"
YOU = "you"
_VERBS = {"does": "do", "is": "are", "wins": "win"}
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


@dataclass(frozen=True)
class Opinion:
    """What an agent thinks that a seat should do."""

    agent: str
    choice: str
    probabilities: list[tuple[str, float]]  # of the legal actions, the likeliest first; empty where it has none
    value: float | None  # the points it expects of the deal, relative to the others; None where it has no idea


class Table:
    """A person and agents who play one game after the other.

    Args:
        rules: what is played.
        against: names or paths of the agents in the other seats, from the person's left; the last one is repeated.
        seat: the person's.
        seed: of the first game; each game after it takes the next number. None draws one.
        deals: how many deals a game has at most; None plays to the target, or ``DEALS`` where there is none.
        hint: who gives hints; None takes the first of the agents that knows probabilities, or else the first.

    Attributes:
        game: the game as it is now.
        names: what each seat is called.
        results: what came of the deals of this game that are over.
        between: whether a deal is over and the next one has not been begun; ``next_deal`` begins it.

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
    ) -> None:
        rules.team_of(seat)  # refuses what is no seat
        if not 1 <= len(against) <= rules.players - 1:
            raise ValueError(f"{len(against)} agents are not allowed; there are {rules.players - 1} other seats")
        if deals is None and rules.target is None:
            deals = DEALS
        self.rules, self.seat, self.deals = rules, seat, deals
        self.against = [*against, *[against[-1]] * (rules.players - 1 - len(against))]
        self.seed = int(np.random.default_rng().integers(2**32)) if seed is None else seed
        self._agents = {name: load(name) for name in dict.fromkeys([*against, *([hint] if hint else [])])}
        self.hint = hint or next((name for name in against if hasattr(self._agents[name], "probabilities")), against[0])
        self._sit()
        self._begin()
        for agent in self._agents.values():
            try:
                think(agent, self.game, np.random.default_rng(0))
            except ValueError as error:
                raise ValueError(f"{agent.name} cannot sit at this table: {error}") from None

    def _sit(self) -> None:
        """Give every seat an agent and a name of its own; ``expert#2`` for the second of a name."""
        self.players: list[str | None] = [None] * self.rules.players
        self.names = [YOU] * self.rules.players
        for place, name in enumerate(self.against, 1):
            seat = (self.seat + place) % self.rules.players
            called = self._agents[name].name
            number = 1 + sum(other.split("#")[0] == called for other in self.names)
            self.players[seat] = name
            self.names[seat] = called if number == 1 else f"{called}#{number}"

    def _begin(self) -> None:
        """Deal the first deal of the game of this seed."""
        self.game = Game(self.rules, self.seed, self.deals)
        self.actions: list[int] = []
        self.results: list[DealResult] = []
        self.between = False
        self._own: list[int] = []  # where in the actions the person's are

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
        game.apply(action)
        assert seat is not None
        if seat == self.seat:
            self._own.append(len(self.actions))
        self.actions.append(parse_action(action))
        deal = game.last_deal if game.deals_played > deals else None
        if deal is not None:
            self.results.append(deal)
            self.between = not self.over
        done = game.tricks if deal is None else deal.tricks
        return Move(seat, phase, action_text(self.actions[-1]), done[-1] if len(done) > tricks else None, deal)

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
        self._begin()
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

    # Looking.

    def name_of(self, seat: int | None) -> str:
        return "nobody" if seat is None else self.names[seat]

    def named(self, words: str) -> str:
        """Words of render.py and of errors with the names of this table for ``player_0``, ``seat 0`` and ``team 0``."""
        words = re.sub(r"(?:player_|\bseat )(\d+)", lambda found: self.names[int(found[1])], words)
        if self.rules.pairs:
            words = re.sub(r"team (\d+)", lambda found: self.team_name(int(found[1])), words)
        words = re.sub(rf"\b{YOU} (does|is|wins)\b", lambda found: f"{YOU} {_VERBS[found[1]]}", words)
        return re.sub(rf"^({YOU} bid .* and) was set", r"\1 were set", words)

    def team_name(self, team: int) -> str:
        """What a team is called: by its players."""
        return " & ".join(self.names[team :: self.rules.teams])

    @property
    def last_trick(self) -> Trick | None:
        """The trick that was completed last, in this deal or the one before."""
        tricks = self.game.tricks or (self.results[-1].tricks if self.results else [])
        return tricks[-1] if tricks else None

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
                deals=fields["deals"], hint=fields["hint"],
            )  # fmt: skip
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


def action_symbol(action: str) -> str:
    """An action's text with the suit's symbol: ``"A♠"``, ``"trump ♠"``."""
    if action in CARD_ID:
        return card_symbol(action)
    return f"trump {SYMBOLS[action[-1]]}" if action.startswith("trump") else action


def think(agent: Agent, game: Game, rng: np.random.Generator) -> int:
    """The action that an agent takes for the seat to act, from what that seat sees."""
    return int(agent.act(*_seen(game), rng)[0])


def opinion(agent: Agent, game: Game, rng: np.random.Generator) -> Opinion:
    """What an agent would do in the place of the seat to act, and what it makes of it."""
    choice, shares, value = think(agent, game, rng), [], None
    observation, mask = _seen(game)
    if hasattr(agent, "probabilities"):
        chances = agent.probabilities(observation, mask)[0]
        legal = sorted(game.legal_ids(), key=lambda action: -chances[action])
        shares = [(action_text(action), float(chances[action])) for action in legal]
    if hasattr(agent, "values"):
        value = float(agent.values(observation)[0])
    return Opinion(agent.name, action_text(choice), shares, value)


def _seen(game: Game) -> tuple[np.ndarray, np.ndarray]:
    """Observation and mask of the seat to act, as a batch of one."""
    assert game.actor is not None
    return game.observation(game.actor)[None], game.legal_mask()[None]
