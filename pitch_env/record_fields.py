"""What the line of a game record holds, and whether a line holds it: names and types. What the rules say of it, and the
table of its fields, see record.py.
"""

import dataclasses
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

FORMAT = "pitch-record 1"
FIELDS = ("format", "rules", "game", "seats", "deal", "actions", "result")


class RecordError(ValueError):
    """What is no record, or one that the rules contradict. The message names the place.

    Attributes:
        line: of the file, from 1; None where there is no file.
        action: the number of the action that is wrong, from 1, or None.
    """

    def __init__(self, message: str, action: int | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.action, self.line = action, line


@dataclass(frozen=True)
class Seat:
    """Who sits there: an agent's name, and a hash of what decides its play where that is known."""

    agent: str
    hash: str | None = None


@dataclass(frozen=True)
class Deal:
    """What a deal begins with."""

    number: int  # in its game, from 1
    limit: int | None  # deals after which the game ends, or None
    dealer: int
    scores: list[int]  # before the deal, by team
    hands: list[list[str]]  # as dealt, by seat
    widow: list[str]  # from its top; empty where the rules have none


@dataclass(frozen=True)
class Result:
    """What came of a deal, and of the game if it ended."""

    pitcher: int | None  # None: the deal was thrown in
    bid: int | str | None  # a number, "moon" or None
    trump: str | None
    made: bool | None  # None: the deal was thrown in
    moon: bool | None  # whether the moon was made; None where none was bid
    items: dict[str, int]  # who took what: high low jack game off_jack high_joker low_joker three -> team
    points: list[int]  # by team
    score_change: list[int]  # by team
    scores: list[int]  # after the deal, by team
    game_over: bool
    winner: int | None  # the team that won the game; None where it goes on or nobody did


# Each of these gives what a field holds, or raises RecordError.


def checked_fields(text: str | bytes) -> dict[str, Any]:
    """All fields of a line."""
    try:
        fields = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"this is not JSON: {error}") from None
    if not isinstance(fields, dict) or "format" not in fields:
        raise RecordError("this is not a record, which is an object with a format")
    if fields["format"] != FORMAT:
        raise RecordError(f"a record of format {fields['format']!r}; this version reads {FORMAT!r}")
    missing = [name for name in FIELDS if name not in fields]
    if missing:
        raise RecordError(f"the record has no {missing[0]!r}")
    return fields


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def is_json(text: bytes) -> bool:
    """Whether this is a whole line."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def checked_seats(value: Any) -> tuple[Seat, ...]:
    check_type("seats", value, lambda seats: isinstance(seats, list), "a list")
    for seat, agent in enumerate(value):
        check_names(f"seat {seat}", agent, {"agent", "hash"})
        check_type(f"seat {seat}'s agent", agent["agent"], lambda name: isinstance(name, str), "a text")
        check_type(f"seat {seat}'s hash", agent["hash"], lambda text: text is None or isinstance(text, str), "a text")
    return tuple(Seat(**agent) for agent in value)


def checked_deal(value: Any) -> Deal:
    check_names("the deal", value, {each.name for each in dataclasses.fields(Deal)})
    for name in ("number", "dealer"):
        check_type(f"the deal's {name}", value[name], is_whole, "a whole number")
    check_type("the deal's limit", value["limit"], lambda n: n is None or is_whole(n), "a whole number or null")
    scores, hands = value["scores"], value["hands"]
    check_type("scores", scores, lambda s: isinstance(s, list) and all(map(is_whole, s)), "a list of whole numbers")
    check_type("hands", hands, lambda h: isinstance(h, list) and all(map(is_texts, h)), "a list of lists of cards")
    check_type("the widow", value["widow"], is_texts, "a list of cards")
    return Deal(**value)


def check_names(what: str, value: Any, names: Iterable[str]) -> None:
    """Refuse what is not an object with exactly these fields."""
    if not isinstance(value, dict):
        raise RecordError(f"{what} is {_shortened(value)}; it is an object")
    names = set(names)
    if value.keys() != names:
        wrong = sorted(value.keys() ^ names)[0]
        raise RecordError(f"{what} {'has no' if wrong in names else 'knows no'} {wrong!r}")


def check_type(what: str, value: Any, fits: Callable[[Any], bool], allowed: str) -> None:
    """Refuse a value that does not fit; ``allowed`` says what does."""
    if not fits(value):
        raise RecordError(f"{what}: {_shortened(value)} is not allowed; it is {allowed}")


def _shortened(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)
