"""A game as bytes: a head, the rules as JSON, the records as they are, a checksum over all.

Kernels trust their input, so whatever comes from outside is looked at here before they see it.
"""

import json
import struct
import zlib

import numpy as np

from pitch_env import engine
from pitch_env.actions import MOON_CALL
from pitch_env.cards import NUM_CARDS, bit, cards_in
from pitch_env.kernel import kernel, records
from pitch_env.rules import Rules, Trump, pack
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
    """Refuse a record that no game could have come to: other cards than those of the deck, or another table."""
    public = state["public"]
    _check_public(rules, public)
    masks = {name: [int(state[name][seat]) for seat in range(rules.players)] for name in ("hands", "dealt", "discards")}
    left = int(public["widow_left"])
    cards = [card for mask in (*masks["hands"], *masks["discards"], int(public["played"])) for card in cards_in(mask)]
    cards += state["deck"][rules.widow_size - left : rules.widow_size].tolist()
    if (
        sorted(cards) != sorted(rules.deck)
        or sum(map(int.bit_count, masks["dealt"])) != rules.players * rules.hand_size
    ):
        raise ValueError("these bytes are a damaged game: the cards are not those of the deck, each in one place")
    for name, pile in (("cards", "hands"), ("discarded", "discards")):
        if [mask.bit_count() for mask in masks[pile]] != public[name][: rules.players].tolist():
            raise ValueError(f"these bytes are a damaged game: the {pile} have other numbers than the table says")


def _check_public(rules: Rules, public: np.ndarray) -> None:
    """Refuse a record of the table that does not come of its own calls and plays."""
    if not 0 <= public["dealer"] < rules.players or not 0 <= public["num_calls"] <= MAX_CALLS:
        raise ValueError("these bytes are a damaged game: what they say of the dealer or the calls cannot be")
    for name in ("exchanged", "discarded"):
        limit = rules.exchange if name == "exchanged" else len(rules.deck)
        if not all(0 <= number <= limit for number in public[name].tolist()):
            raise ValueError(f"these bytes are a damaged game: what they say of cards {name} cannot be")
    if not 0 <= public["widow_left"] <= rules.widow_size:
        raise ValueError("these bytes are a damaged game: what they say of the widow cannot be")
    twin, publics = records(1, STATE), records(1, PUBLIC)
    publics[0] = public
    same = _replay(pack(rules), publics, twin)
    free = ("deals", "deals_limit", "cards", "discarded", "exchanged", "widow_left", "scores", "game_over", "winner")
    for name in PUBLIC.names or ():
        if name not in free and not np.array_equal(public[name], twin[0]["public"][name]):
            same = False
    if not same:
        raise ValueError("these bytes are a damaged game: the table does not come of the calls and plays")


@kernel(inline=False)
def _replay(rules, publics, twins):
    """Play the calls and plays of a table anew; whether all of them were legal. Hands are not known, so a player may
    have held what he played and nothing else."""
    rule, public, state = rules[0], publics[0], twins[0]
    table = state.public
    table.dealer = public.dealer
    engine.clear_deal(rule, state)
    for i in range(public.num_calls):
        call = np.int64(public.calls[i])
        if (
            table.phase != Phase.BID
            or call < 0
            or call > MOON_CALL
            or not (engine.legal_calls(rule, table) >> call) & 1
        ):
            return False
        engine.apply_call(rule, state, call)
    if public.phase == Phase.BID or table.phase == Phase.OVER:
        return True
    if table.phase == Phase.BID or public.phase <= table.phase - 1:
        return False
    if public.phase <= Phase.DISCARD:
        # Trump, exchange and discards change nothing else of the table but whose turn it is.
        table.phase, table.actor = public.phase, public.actor
        named = rule.trump == Trump.NAMED and public.phase != Phase.TRUMP
        table.trump = min(max(np.int64(public.trump), 0), 3) if named else NOBODY
        return 0 <= public.actor < rule.players and public.phase >= Phase.TRUMP
    if rule.trump == Trump.NAMED:
        table.trump = min(max(np.int64(public.trump), 0), 3)
    table.phase, table.actor, table.leaders[0] = Phase.PLAY, table.pitcher, table.pitcher
    for i in range(min(max(np.int64(public.num_played), 0), rule.keep * rule.players)):
        card = np.int64(public.history[i])
        if card < 0 or card >= NUM_CARDS or table.phase != Phase.PLAY or table.played & bit(card):
            return False
        if not engine.legal_plays(rule, table, bit(card)):
            return False
        engine.apply_play(rule, state, card)
    return True
