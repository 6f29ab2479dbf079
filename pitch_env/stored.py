"""A game as bytes: a head, the rules as JSON, the records as they are, a checksum over all.

Kernels trust their input, so whatever comes from outside is looked at here before they see it.
"""

import json
import struct
import zlib

import numpy as np

from pitch_env.cards import cards_in, mask_of
from pitch_env.kernel import records
from pitch_env.rules import MAX_BID, Rules
from pitch_env.state import MAX_CALLS, NOBODY, PUBLIC, STATE, Phase

_NAME, _FORMAT = b"PITCH", b"\x01"
_HEAD = len(_NAME + _FORMAT) + 4


def to_bytes(rules: Rules, states: np.ndarray, last: np.ndarray | None) -> bytes:
    """The rules, a ``STATE`` record and the ``PUBLIC`` record of the deal that ended last, if there is one."""
    text = json.dumps(rules.to_dict()).encode()
    body = struct.pack("<I", len(text)) + text + states.tobytes() + (b"" if last is None else last.tobytes())
    return _NAME + _FORMAT + struct.pack("<I", zlib.crc32(body)) + body


def from_bytes(data: bytes) -> tuple[Rules, np.ndarray, np.ndarray | None]:
    """What ``to_bytes`` was given.

    Raises:
        ValueError: these bytes are no game, of another format, or damaged; the message says which.
    """
    body = _checked_body(data)
    rules_end = 4 + struct.unpack("<I", body[:4])[0]
    rest = body[rules_end:]
    if len(rest) not in (STATE.itemsize, STATE.itemsize + PUBLIC.itemsize):
        raise ValueError(f"these bytes are a damaged game: {len(rest)} of them is a wrong number for the table")
    fields = json.loads(body[4:rules_end])
    if not isinstance(fields, dict):
        raise ValueError("these bytes are a damaged game: they hold no rules")
    rules = Rules.from_dict(fields)
    states, last = records(1, STATE), None
    states[:] = np.frombuffer(rest[: STATE.itemsize], STATE)
    _check_state(rules, states[0])
    if len(rest) > STATE.itemsize:
        last = records(1, PUBLIC)
        last[:] = np.frombuffer(rest[STATE.itemsize :], PUBLIC)
        _check_public(rules, last[0])
    return rules, states, last


def _checked_body(data: bytes) -> bytes:
    if not isinstance(data, bytes | bytearray | memoryview):
        raise ValueError(f"a game is read from bytes, not from {type(data).__name__}")
    data = bytes(data)
    name, form, body = data[: len(_NAME)], data[len(_NAME) : len(_NAME) + 1], data[_HEAD:]
    if name != _NAME:
        raise ValueError(f"these bytes are not a game: they begin with {data[:6]!r}, a game with {_NAME!r}")
    if form != _FORMAT:
        raise ValueError(f"this game was written in format {form!r}; this version reads {_FORMAT!r}")
    if len(body) < 4 or data[_HEAD - 4 : _HEAD] != struct.pack("<I", zlib.crc32(body)):
        raise ValueError("these bytes are a damaged game: the checksum does not fit")
    return body


def _check_state(rules: Rules, state: np.ndarray) -> None:
    """Refuse a record in which the cards are not those of the deck, each in one place."""
    public = state["public"]
    _check_public(rules, public)
    left = int(public["widow_left"])
    places = [int(state[name][seat]) for name in ("hands", "discards") for seat in range(rules.players)]
    cards = [card for mask in [*places, int(public["played"])] for card in cards_in(mask & (2**64 - 1))]
    cards += state["deck"][rules.widow_size - left : rules.widow_size].tolist()
    if sorted(cards) != sorted(rules.deck):
        raise ValueError("these bytes are a damaged game: the cards are not those of the deck, each in one place")
    hands = [int(state["hands"][seat]).bit_count() for seat in range(rules.players)]
    if hands != public["cards"][: rules.players].tolist():
        raise ValueError("these bytes are a damaged game: the hands have other numbers of cards than the table says")


def _check_public(rules: Rules, public: np.ndarray) -> None:
    """Refuse a record whose numbers are beyond what they count or name."""
    over = public["phase"] == Phase.OVER
    auction = public["phase"] == Phase.BID
    played, trick = int(public["num_played"]), int(public["trick"])
    history = [card for card in public["history"][: max(played, 0)].tolist() if card in rules.deck]
    leaders = public["leaders"].tolist()
    seats = range(rules.players)
    holds = {
        "phase": 0 <= public["phase"] <= Phase.OVER,
        "actor": public["actor"] == NOBODY if over else public["actor"] in seats,
        "dealer": public["dealer"] in seats,
        "pitcher": public["pitcher"] in seats or (public["pitcher"] == NOBODY and (auction or over)),
        "winner": NOBODY <= public["winner"] < rules.teams,
        "trump": NOBODY <= public["trump"] <= 3,
        "calls": 0 <= public["num_calls"] <= MAX_CALLS and 0 <= public["bid"] <= MAX_BID + 1,
        "widow": 0 <= public["widow_left"] <= rules.widow_size,
        "tricks": 0 <= trick <= rules.keep and trick * rules.players <= played <= rules.keep * rules.players,
        "plays": played - trick * rules.players < rules.players and mask_of(history) == public["played"],
        "leaders": all(leader in seats for leader in leaders[: trick + 1]) or public["phase"] != Phase.PLAY,
        "items": ((public["items"] >= NOBODY) & (public["items"] < rules.teams)).all(),
    }  # fmt: skip
    for name, fine in holds.items():
        if not fine:
            raise ValueError(f"these bytes are a damaged game: what they say of the {name} cannot be")
