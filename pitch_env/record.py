"""Game records: a line of JSON for each deal, which replays to the same result, always.

==========  ============================================================================================================
field       value
==========  ============================================================================================================
format      ``"pitch-record 1"``
rules       every field of ``Rules``
game        a name that the deals of one game share, or null
seats       for each seat ``{"agent": name, "hash": what decides its play, or null}``
deal        ``number`` in its game, from 1; ``limit``, after how many deals the game ends, or null; ``dealer``;
            ``scores`` before it, by team; ``hands`` as dealt; ``widow`` from its top, which is the order of drawing
actions     all of them in order, as text (rules.md, 10)
result      null for a deal that is not over, else what ``Result`` holds
==========  ============================================================================================================

Other fields at the top are kept as they are, in ``Record.extra``; a change of anything else changes the number of the
format. What is read is played before it is believed: a record that the rules contradict is refused with the place.
"""

import dataclasses
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pitch_env.actions import action_text, parse_action
from pitch_env.cards import card_text
from pitch_env.files import replace_atomically
from pitch_env.game import _DEAL_OVER, _REFUSED, Game, _apply, _next_deal
from pitch_env.kernel import records
from pitch_env.record_fields import (
    FIELDS,
    FORMAT,
    Deal,
    RecordError,
    Result,
    Seat,
    check_names,
    check_type,
    checked_deal,
    checked_fields,
    checked_seats,
    is_json,
    is_texts,
)
from pitch_env.rules import Rules
from pitch_env.state import PUBLIC

__all__ = [
    "Deal",
    "Record",
    "RecordError",
    "Result",
    "Seat",
    "append",
    "read",
    "read_lines",
    "record_of",
    "replay",
    "write",
]


@dataclass(frozen=True)
class Record:
    """One deal: what it began with, what was done, what came of it. ``record_of`` and ``from_json`` make one."""

    rules: Rules
    seats: tuple[Seat, ...]
    deal: Deal
    actions: tuple[str, ...]
    result: Result | None = None  # None: the deal is not over
    game: str | None = None  # a name that the deals of one game share
    extra: Mapping[str, Any] = field(default_factory=dict)  # further fields, as JSON has them

    @classmethod
    def from_json(cls, text: str | bytes) -> "Record":
        """The record that a line holds.

        Raises:
            RecordError: the line is none, or of another format, or the rules contradict it; the message says where.
        """
        return _from_json(text)[0]

    def to_json(self) -> str:
        """The record as a line, without its end."""
        fields = {
            "format": FORMAT,
            **self.extra,
            "rules": self.rules.to_dict(),
            "game": self.game,
            "seats": [dataclasses.asdict(seat) for seat in self.seats],
            "deal": dataclasses.asdict(self.deal),
            "actions": list(self.actions),
            "result": None if self.result is None else dataclasses.asdict(self.result),
        }
        return json.dumps(fields, separators=(",", ":"), allow_nan=False)

    def begin(self) -> Game:
        """The game before the first action of this deal.

        Raises:
            ValueError: the cards, the dealer, the scores or the number of the deal cannot be.
        """
        deal, rules = self.deal, self.rules
        game = Game.from_deal(rules, deal.hands, deal.widow, deal.dealer, None, deal.limit)
        _check_numbers(rules, deal)
        game._public["deals"] = deal.number - 1
        game._public["scores"][: rules.teams] = deal.scores
        return game

    def check(self) -> Game:
        """Play the deal; gives the table after its last action.

        Raises:
            ValueError: the deal cannot be, an action is illegal (a ``RecordError``), or the result is another.
        """
        game = _played(self)
        _compare_results(game, None if self.result is None else dataclasses.asdict(self.result))
        return game


def record_of(
    game: Game,
    actions: Iterable[str | int],
    seats: Sequence[Seat] | None = None,
    name: str | None = None,
) -> Record:
    """The record of a deal that is being played, or of the last one of a game that is over.

    A game deals itself on when a deal is over and no longer knows its cards; for the deals before the last, give a
    clone of the game from some time before the end of the deal.

    Args:
        game: anywhere in the deal. Only what the deal began with is taken from it.
        actions: all that were taken in this deal, as text or ids.
        seats: who sits where; ``player_0`` and so on if None.
        name: of the game, which its deals share.

    Raises:
        RecordError: an action is not legal, or there are seats too few or too many.
    """
    return _record_and_end(game, actions, seats, name)[0]


def replay(record: Record) -> Iterator[Game]:
    """The game before each action and after the last, each a copy of its own.

    After the last action of the deal nothing more is dealt: ``phase`` is ``"over"`` and ``actor`` None, also where the
    game went on.

    Raises:
        RecordError: when it comes to an action that is not legal.
    """
    game = record.begin()
    yield game.clone()
    for number, action in enumerate(record.actions, 1):
        take(game, number, action)
        yield game.clone()


# Playing a record.


def _record_and_end(
    game: Game, actions: Iterable[str | int], seats: Sequence[Seat] | None, name: str | None
) -> tuple[Record, Game]:
    """See ``record_of``; and the table after the last action."""
    rules, over = game.rules, game.actor is None
    if seats is None:
        seats = [Seat(f"player_{seat}") for seat in range(rules.players)]
    if len(seats) != rules.players:
        raise RecordError(f"{len(seats)} seats are not allowed; {rules.players} players need one each")
    before = game._public["scores"] - game._public["change"]  # until the deal is over, there is no change
    widow = game._state["deck"][: rules.widow_size] if rules.widow != "none" else ()
    deal = Deal(
        number=game.deals_played + (not over),
        limit=game.deals_limit,
        dealer=game.dealer,
        scores=before[: rules.teams].tolist(),
        hands=[game.dealt(seat) for seat in range(rules.players)],
        widow=[card_text(card) for card in widow],
    )
    texts = (action_text(_parsed(number, action)) for number, action in enumerate(actions, 1))
    record = Record(rules, tuple(seats), deal, tuple(texts), None, name)
    end = _played(record)
    return dataclasses.replace(record, result=_result(end)), end


def _played(record: Record) -> Game:
    game = record.begin()
    for number, action in enumerate(record.actions, 1):
        take(game, number, action)
    return game


def take(game: Game, number: int, action: str | int) -> None:
    """Take an action; when that ends the deal, the table stays as it is and no other deal follows."""
    if game.actor is None:
        raise RecordError(f"action {number}: {action!r} comes after the end of the deal", number)
    action_id = _parsed(number, action)
    outcome = _apply(game._rules_record, game._states, action_id)
    if outcome == _REFUSED:
        raise RecordError(f"action {number}: {game._why_not(action_id)}", number)
    if outcome == _DEAL_OVER:
        game._last = records(1, PUBLIC)
        game._last[0] = game._public


def _parsed(number: int, action: str | int) -> int:
    try:
        return parse_action(action)
    except ValueError as error:
        raise RecordError(f"action {number}: {error}", number) from None


def _check_numbers(rules: Rules, deal: Deal) -> None:
    """Refuse what ``Game.from_deal`` does not look at: the number of the deal and the scores, of any size that fits."""
    if not 1 <= deal.number <= (deal.limit or 2**31 - 1):
        raise ValueError(f"deal number {deal.number} is not allowed; it is 1 to {deal.limit or 2**31 - 1}")
    span = np.iinfo(PUBLIC["scores"].base)
    if len(deal.scores) != rules.teams or not all(span.min <= score <= span.max for score in deal.scores):
        raise ValueError(f"scores {deal.scores} are not allowed; they are {rules.teams} numbers, one for each team")


def _result(game: Game) -> Result | None:
    """What came of the deal, None where it is not over."""
    deal = game.last_deal
    if game.actor is not None or deal is None:
        return None
    return Result(
        pitcher=deal.pitcher,
        bid=deal.bid,
        trump=deal.trump,
        made=deal.made,
        moon=deal.moon,
        items=deal.items,
        points=deal.points,
        score_change=deal.score_change,
        scores=game.scores,
        game_over=bool(game._public["game_over"]),
        winner=game.winner,
    )


def _compare_results(game: Game, given: Mapping[str, Any] | None) -> None:
    """Refuse a result that is not that of the game."""
    true = _result(game)
    if true is None:
        if given is not None:
            raise RecordError(f"there is a result, but after all actions seat {game.actor} is still to act")
        return
    if given is None:
        raise RecordError("there is no result, though the deal is over")
    known = dataclasses.asdict(true)
    check_names("the result", given, known)
    for name, value in known.items():
        if given[name] != value:
            raise RecordError(f"the result's {name} is {given[name]!r}; by the rules it is {value!r}")


# Reading a line.


def _from_json(text: str | bytes) -> tuple[Record, Game]:
    """A record and the table after its last action."""
    fields = checked_fields(text)
    try:
        rules = Rules.from_dict(fields["rules"])
        draft = Record(rules, checked_seats(fields["seats"]), checked_deal(fields["deal"]), ())
        game = draft.begin()
    except RecordError:
        raise
    except ValueError as error:
        raise RecordError(str(error)) from None
    actions, result, name = fields["actions"], fields["result"], fields["game"]
    check_type("actions", actions, is_texts, "a list of texts")
    check_type("game", name, lambda value: value is None or isinstance(value, str), "a text or null")
    check_type("result", result, lambda value: value is None or isinstance(value, dict), "an object or null")
    record, end = _record_and_end(game, actions, draft.seats, name)
    _compare_results(end, result)
    extra = {key: value for key, value in fields.items() if key not in FIELDS}
    return dataclasses.replace(record, extra=extra), end


# Files.


def read(path: str | Path) -> Iterator[Record]:
    """The records of a file, one after the other, each checked.

    Deals of one game, which have its name, must follow from each other where their numbers do: the dealer, the scores
    and the rules.

    Raises:
        RecordError: names the line, and in it the action or the result, that is wrong.
        OSError: the file cannot be read.
    """
    for _, found in read_lines(path):
        if isinstance(found, RecordError):
            raise found
        yield found


def read_lines(path: str | Path, first: int = 1) -> Iterator[tuple[int, "Record | RecordError"]]:
    """For each line of a file that is not empty its number and the record, or what is wrong with it.

    Args:
        path: the file.
        first: the first of these lines to be read, from 1; nobody looks at those before it.

    Raises:
        OSError: the file cannot be read.
    """
    games: dict[str, _Next] = {}  # by name: how the game goes on after the last deal that was read
    with open(path, "rb") as file:
        lines = ((number, line) for number, line in enumerate(file, 1) if line.strip())
        for number, line in itertools.islice(lines, first - 1, None):
            found: Record | RecordError
            try:
                found = _checked_line(line, games)
            except RecordError as error:
                found = RecordError(f"{path}, line {number}: {error}", error.action, number)
            yield number, found


def _checked_line(line: bytes, games: dict[str, "_Next"]) -> Record:
    if not line.endswith(b"\n") and not is_json(line):
        raise RecordError("the file is cut off in this line")
    record, end = _from_json(line)
    if record.game is not None:
        if record.game in games:
            _check_follows(record, games[record.game])
        games[record.game] = _next(record, end)
    return record


class _Next(NamedTuple):
    """How a game goes on after a deal; ``dealer`` and ``scores`` are None where nothing can follow."""

    number: int
    rules: Rules
    limit: int | None
    dealer: int | None
    scores: list[int] | None


def _next(record: Record, end: Game) -> _Next:
    number, limit = record.deal.number + 1, record.deal.limit
    if record.result is None or record.result.game_over:
        return _Next(number, record.rules, limit, None, None)
    _next_deal(end._rules_record, end._states)
    return _Next(number, record.rules, limit, end.dealer, end.scores)


def _check_follows(record: Record, known: _Next) -> None:
    """Refuse a deal that another one of its game does not lead to, where that was the one before."""
    if record.deal.number != known.number:
        return
    what = f"deal {known.number} of game {record.game!r}"
    if known.dealer is None:
        raise RecordError(f"{what} cannot follow: the deal before is not over, or ended the game")
    if record.rules != known.rules:
        raise RecordError(f"{what} has other rules than the deal before")
    for name, value in (("limit", known.limit), ("dealer", known.dealer), ("scores", known.scores)):
        given = getattr(record.deal, name)
        if given != value:
            raise RecordError(f"{what}: its {name} is {given!r}; after the deal before it is {value!r}")


def write(path: str | Path, records: Iterable[Record]) -> None:
    """Write a file of records, whole or not at all. Raises OSError."""
    replace_atomically(Path(path), _lines(records))


def append(path: str | Path, records: Iterable[Record]) -> None:
    """Add records at the end of a file, all of them or none; the file is made if it is not there.

    Raises:
        ValueError: the file does not end with a whole line, as after a crash; nothing is added.
        OSError: it could not be written; what was there is left.
    """
    content = _lines(records)
    with open(path, "ab+") as file:
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
            if file.read(1) != b"\n":
                raise ValueError(f"{path} ends in the middle of a line; remove its last line, or choose another file")
        try:
            file.write(content)
            file.flush()
        except OSError:
            os.truncate(path, size)
            raise


def _lines(records: Iterable[Record]) -> bytes:
    return b"".join(record.to_json().encode() + b"\n" for record in records)
