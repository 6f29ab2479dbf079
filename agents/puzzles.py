"""Puzzles: positions in which a strong player cannot dispute what is right, and how many of them an agent gets right.

A puzzle file is a YAML list, each entry a mapping of these fields; those with a default may be left out:

===========  ==========================================================================================================
name         one of its own among all puzzles
why          a sentence: why that is right
theme        what it is about, a word or two
rules        ``{preset: auction, players: 3, ...}``
hands        the cards dealt to each seat, a string a seat
widow        the cards of the widow from its top, a string; default: those left, in any order
dealer       a seat; default 0
scores       one for each team; default zeros
goal         what is right serves it: ``points`` of the deal relative to the others (the default), winning the ``game``,
             or ``money``
actions      all that happened in the deal, a list of texts; default: nothing
right        the actions that are right, a list of texts
proof        ``every deal``: in every deal that the player cannot tell from the true one, what is right is at least as
             good as anything else when all hands are open and all play their best, and in some it is better;
             ``most deals``: the same with few exceptions, and ``average`` besides;
             ``average``: it is better on average over these deals with the expert in all seats from there on
===========  ==========================================================================================================
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import yaml

from agents.agent import Agent
from pitch_env import Game, Rules
from pitch_env.actions import action_text, parse_action

PUZZLES = Path(__file__).parent.parent / "tests" / "puzzles"  # in a copy of the repository
GOALS = ("points", "game", "money")
PROOFS = ("every deal", "most deals", "average")


@dataclass(frozen=True)
class Puzzle:
    """A position and what is right in it."""

    name: str
    why: str
    theme: str
    goal: str
    proof: str
    game: Game  # as it stands; nobody acts in it
    right: tuple[int, ...]  # ids, ascending

    @property
    def phase(self) -> str:
        return self.game.phase

    @property
    def rules(self) -> Rules:
        return self.game.rules

    @property
    def wrong(self) -> tuple[int, ...]:
        """The legal actions that are not right."""
        return tuple(action for action in self.game.legal_ids() if action not in self.right)


@dataclass(frozen=True)
class Attempt:
    """What an agent made of a puzzle."""

    puzzle: Puzzle
    share: float | None  # of its tries that were right; None where the agent does not play these rules
    wrong: tuple[str, ...]  # the actions that it took and that are not right


def load_puzzles(folder: Path = PUZZLES) -> list[Puzzle]:
    """All puzzles of the YAML files in a folder, by file name and in their order.

    Raises:
        OSError: there is no such folder.
        ValueError: there is no puzzle, or one is no good; names the file, the puzzle, and what is wrong.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}; puzzles come with the repository, in tests/puzzles")
    puzzles: list[Puzzle] = []
    for file in sorted(folder.glob("*.yaml")):
        for place, entry in enumerate(_entries(file), 1):
            name = entry.get("name", f"number {place}") if isinstance(entry, Mapping) else f"number {place}"
            try:
                puzzle = parse_puzzle(entry)
                if any(puzzle.name == other.name for other in puzzles):
                    raise ValueError("there is another puzzle of this name")
            except ValueError as error:
                raise ValueError(f"{file.name}, puzzle {name!r}: {error}") from None
            puzzles.append(puzzle)
    if not puzzles:
        raise ValueError(f"there is no puzzle in {folder}; puzzles are in files *.yaml")
    return puzzles


def _entries(file: Path) -> list[Any]:
    try:
        entries = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{file.name} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(entries, list):
        raise ValueError(f"{file.name} is not a list of puzzles")
    return entries


@dataclass(frozen=True)
class _Entry:
    """The fields of a puzzle as they stand in a file."""

    name: str
    why: str
    theme: str
    rules: dict
    hands: list
    right: list
    proof: str
    widow: str = ""
    dealer: int = 0
    scores: list | None = None
    goal: str = "points"
    actions: list = field(default_factory=list)


def parse_puzzle(entry: Any) -> Puzzle:
    """A puzzle from its fields, the module's docstring describes them.

    Raises:
        ValueError: a field that is missing, unknown or of the wrong type; a position that cannot be; an action that is
            not legal; right actions that are none, all, or not legal.
    """
    fields = _checked_fields(entry)
    game = Game.from_deal(
        Rules.from_dict(fields.rules),
        [_text(hand).split() for hand in fields.hands],
        fields.widow.split(),
        dealer=fields.dealer,
        scores=fields.scores,
        deals=None if fields.goal == "game" else 1,
    )
    for action in map(_text, fields.actions):
        game.apply(action)
        if game.deals_played:
            raise ValueError(f"the deal is over after {action!r}")
    right = sorted({parse_action(text) for text in map(_text, fields.right)})
    legal = game.legal_ids()
    if illegal := [action_text(action) for action in right if action not in legal]:
        raise ValueError(f"right is {', '.join(illegal)}, which is not legal; legal are {', '.join(game.legal())}")
    if not right or len(right) == len(legal):
        raise ValueError(f"{len(right)} right actions of {len(legal)} are no puzzle; some are right and some are not")
    return Puzzle(fields.name, fields.why, fields.theme, fields.goal, fields.proof, game, tuple(right))


_KINDS = {str: "text", int: "whole number", list: "list", dict: "mapping"}


def _checked_fields(entry: Any) -> _Entry:
    types = get_type_hints(_Entry)
    if not isinstance(entry, Mapping):
        raise ValueError(f"it is not a mapping of {', '.join(types)}")
    for name, value in entry.items():
        if name not in types:
            raise ValueError(f"there is no field {name!r}; the fields are {', '.join(types)}")
        kinds = get_args(types[name]) or (types[name],)
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise ValueError(f"{name}={value!r} is not allowed; it is a {_KINDS[kinds[0]]}")
    needed = [each.name for each in dataclasses.fields(_Entry) if each.default is each.default_factory is MISSING]
    if missing := [name for name in needed if name not in entry]:
        raise ValueError(f"there is no {', no '.join(missing)}")
    for name, allowed in (("goal", GOALS), ("proof", PROOFS)):
        if entry.get(name, allowed[0]) not in allowed:
            raise ValueError(f"{name}={entry[name]!r} is not allowed; it is one of {', '.join(allowed)}")
    return _Entry(**entry)


def _text(value: Any) -> str:
    """A text in a list; YAML makes a number of a bid."""
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise ValueError(f"{value!r} is not the text of cards or of an action")


def attempt(agent: Agent, puzzles: Iterable[Puzzle], tries: int = 10, seed: int = 1) -> list[Attempt]:
    """Let an agent act in each puzzle from what the seat to act sees, several times with different chance."""
    attempts = []
    for number, puzzle in enumerate(puzzles):
        game = puzzle.game
        assert game.actor is not None
        observation = np.repeat(game.observation(game.actor)[None], tries, axis=0)
        mask = np.repeat(game.legal_mask()[None], tries, axis=0)
        try:
            actions = agent.act(observation, mask, np.random.default_rng([seed, number]))
        except ValueError:  # an agent refuses observations of rules that it does not play
            attempts.append(Attempt(puzzle, None, ()))
            continue
        good = np.isin(actions, puzzle.right)
        wrong = tuple(action_text(int(action)) for action in np.unique(actions[~good]))
        attempts.append(Attempt(puzzle, float(good.mean()), wrong))
    return attempts


def score(attempts: Sequence[Attempt]) -> float | None:
    """The mean share right of the puzzles that the agent plays; None where it plays none."""
    shares = [each.share for each in attempts if each.share is not None]
    return sum(shares) / len(shares) if shares else None
