"""``Rules``: every option of the Pitch family, the presets, and the record of integers that kernels read.

The sources in the field comments are the rule pages of rules.md: MG the Money Game, AP Auction Pitch or Setback,
OK Oklahoma Ten Point Pitch.
"""

import dataclasses
import difflib
import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal, get_args

import numpy as np

from pitch_env.actions import NUM_ACTIONS
from pitch_env.cards import HIGH_JOKER, JACK, LOW_JOKER, RANKS, SUITS
from pitch_env.kernel import records

MAX_PLAYERS = 8
MAX_TRICKS = 27  # two players who share all 54 cards
MAX_BID = 10


@dataclass(frozen=True)
class Rules:
    """What is played. Immutable; equal when every field is equal; refuses what cannot be played with a ValueError.

    ``Rules.preset("oklahoma", players=6, three=True)`` is the usual way to make one.
    """

    players: int = 4
    """How many play, 2 to 8 (MG 2-8, AP 2-7, OK 4 or 6)."""
    pairs: bool = False
    """Partners who sit opposite share a score: team = seat % (players // 2). Else every player is a team (AP, OK)."""
    ranks: str = RANKS
    """The ranks in the deck, low to high; fewer make games small enough for exact analysis."""
    suits: str = SUITS
    """The suits in the deck, a selection of ``CDHS`` in this order."""
    jokers: int = 0
    """0 or 2, the high and the low joker; always trumps, one point each (OK)."""
    hand_size: int = 6
    """Cards dealt to each player (MG, AP 6; OK 9 with four players, 8 with six)."""
    packet: int = 1
    """Cards dealt at a time (AP 3)."""
    auction: Literal["once", "until_passed"] = "once"
    """One turn each (AP), or until all but one have passed (MG, OK); the highest possible bid ends either."""
    min_bid: int = 1
    """The lowest bid (AP 1; MG, OK 2)."""
    max_bid: int = 4
    """The highest bid in points (MG, AP 4; OK 7, or 10 with the three)."""
    moon: bool = False
    """Whether one may bid the moon, above every number: all four points and all tricks, of pairs together (MG)."""
    moon_value: int = 4
    """Points subtracted for a moon that failed (MG, decision)."""
    steal: bool = True
    """The dealer may bid the same as the highest bid (MG, AP)."""
    forced_bid_value: int = 2
    """What the dealer must bid when all others passed and nobody bid (MG, AP, OK 2)."""
    forced_bid: Literal["exact", "at_least", "throw_in"] = "at_least"
    """The forced bid is exactly that (MG, OK), or at least that (AP); or there is none and the deal is thrown in."""
    trump: Literal["pitch", "named"] = "pitch"
    """Trump is the suit of the first lead (MG, AP), or named by the pitcher before the play (OK)."""
    widow: Literal["none", "unused", "pitcher", "exchange"] = "none"
    """Cards beside the hands: none; a widow that nobody sees, while hands are discarded down to ``keep`` all the
    same ("unused"); the pitcher takes it (OK with six); each player exchanges with it (OK with four)."""
    exchange: int = 3
    """How many cards a player may exchange at most where ``widow="exchange"`` (OK)."""
    keep: int = 6
    """Cards that a player keeps for the play, which is the number of tricks."""
    first_lead: Literal["any", "trump"] = "any"
    """What the pitcher may lead to the first trick: any card, or a trump if he has one (an option of OK)."""
    follow: Literal["may_trump", "must_follow", "must_trump"] = "may_trump"
    """How a plain suit is followed: with the suit or any trump; with the suit only; or who lacks it must trump."""
    off_jack: bool = False
    """The jack of the trump's colour is a trump below the jack and worth a point (OK)."""
    three: bool = False
    """The three of trumps is worth three points (an option of OK)."""
    game: Literal["count", "ten"] = "count"
    """The game point goes to most card points in tricks, or to who wins the ten of trumps (an option of OK)."""
    low_to: Literal["winner", "holder"] = "winner"
    """The low point goes to who wins the lowest trump in a trick (MG, AP), or to who played it (OK)."""
    target: int | None = 7
    """Points that end the game (AP 7, also 11, 15, 21; OK 21); None: played by deals (MG)."""
    winner: Literal["pitcher", "maker", "any"] = "pitcher"
    """Who can go out: the pitcher of the deal (AP), a pitcher who made his bid in it, or any team (OK)."""
    both_out: Literal["pitcher", "highest"] = "pitcher"
    """Where any team can and several do: the pitcher's team first, else the highest score (OK); or the score alone."""
    stake_cents: int = 10
    """Cents for each point above or below the average of the players (MG)."""
    moon_cents: int = 100
    """Cents from or to every other player for a moon made or failed (MG)."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, _checked_type(field, getattr(self, field.name)))
        for name, allowed, holds in _RANGES:
            if not holds(self):
                raise ValueError(f"{name}={getattr(self, name)!r} is not allowed; {allowed(self)}")

    @classmethod
    def presets(cls) -> tuple[str, ...]:
        """The names of the presets."""
        return tuple(_PRESETS)

    @classmethod
    def preset(cls, name: str, **overrides: Any) -> "Rules":
        """The rules of a preset, any field overridden. Fields that follow from an overridden one go with it.

        Raises:
            ValueError: names the field, its value and what is allowed; for an unknown name the nearest right one.
        """
        if not isinstance(name, str) or name not in _PRESETS:
            raise ValueError(f"no preset {name!r}; {_nearest(name, _PRESETS)}the presets are {', '.join(_PRESETS)}")
        _refuse_unknown_fields(overrides)
        types = {field.name: field for field in dataclasses.fields(cls)}
        overrides = {field: _checked_type(types[field], value) for field, value in overrides.items()}
        values = {**_PRESETS[name], **overrides}
        players = values.get("players", 4)
        if players not in _PRESET_PLAYERS[name]:
            allowed = ", ".join(map(str, _PRESET_PLAYERS[name]))
            raise ValueError(f"players={players!r} is not allowed; preset {name!r} is played by {allowed}")
        return cls(**_with_followers(name, values, overrides))

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Rules":
        """Rules from ``to_dict()``, or from some fields and a ``"preset"`` that gives the others."""
        if not isinstance(fields, Mapping):
            raise ValueError(f"rules={fields!r} is not allowed; they are a mapping of fields to values")
        fields = dict(fields)
        if "preset" in fields:
            return cls.preset(fields.pop("preset"), **fields)
        _refuse_unknown_fields(fields)
        return cls(**fields)

    def to_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        return dataclasses.asdict(self)

    def allowed(self, name: str) -> str:
        """What a field may be where all others are as they are here, in words. Raises ValueError for no field."""
        _refuse_unknown_fields({name: None})
        (kind,) = (field.type for field in dataclasses.fields(self) if field.name == name)
        if kind is bool:
            return "true or false"
        choices = get_args(kind)
        if choices and type(None) not in choices:
            return f"{', '.join(choices[:-1])} or {choices[-1]}"
        return "; ".join(allowed(self) for field, allowed, _ in _RANGES if field == name)

    @property
    def num_actions(self) -> int:
        """71, for every variant."""
        return NUM_ACTIONS

    @property
    def teams(self) -> int:
        return self.players // 2 if self.pairs else self.players

    def team_of(self, seat: int) -> int:
        """The team of a seat. Raises ValueError for a seat that is not there."""
        if isinstance(seat, bool) or not isinstance(seat, int | np.integer) or not 0 <= seat < self.players:
            raise ValueError(f"seat={seat!r} is not allowed; seats are 0 to {self.players - 1}")
        return int(seat) % self.teams

    @property
    def deck(self) -> tuple[int, ...]:
        """The card ids in the deck."""
        plain = (SUITS.index(suit) * 13 + RANKS.index(rank) for suit in self.suits for rank in self.ranks)
        return (*plain, *(HIGH_JOKER, LOW_JOKER)[: self.jokers])

    @property
    def widow_size(self) -> int:
        """Cards that are not dealt: the widow, or out of play."""
        return len(self.deck) - self.players * self.hand_size

    @property
    def max_points(self) -> int:
        """The most points that a deal can hold (rules.md, 6)."""
        return _max_points(self.to_dict())


_PRESETS: dict[str, dict[str, Any]] = {
    "money": dict(
        auction="until_passed", min_bid=2, moon=True, forced_bid="exact", target=None, winner="any"
    ),
    "auction": dict(packet=3),
    "auction_pairs": dict(packet=3, pairs=True),
    "oklahoma": dict(
        pairs=True, jokers=2, auction="until_passed", min_bid=2, steal=False, forced_bid="exact", trump="named",
        off_jack=True, low_to="holder", target=21, winner="any",
    ),
}  # fmt: skip

_PRESET_PLAYERS = {"money": range(2, 9), "auction": range(2, 8), "auction_pairs": (4,), "oklahoma": (4, 6)}


def _with_followers(preset: str, values: dict[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Set the fields that follow from others and are not named themselves."""
    defaults = {field.name: field.default for field in dataclasses.fields(Rules)}
    full = {**defaults, **values}
    if preset == "oklahoma":
        full["hand_size"] = named.get("hand_size", 8 if full["players"] == 6 else 9)
        full["widow"] = named.get("widow", "pitcher" if full["players"] == 6 else "exchange")
    if "hand_size" not in named and full["widow"] == "none":
        full["hand_size"] = full["keep"]
    if "keep" not in named:
        full["keep"] = full["hand_size"] if full["widow"] == "none" else min(full["keep"], full["hand_size"])
    for name in ("packet", "exchange"):
        if name not in named:
            full[name] = max(1, min(full[name], full["hand_size"]))
    if "max_bid" not in named:
        full["max_bid"] = min(MAX_BID, _max_points(full))
    if "forced_bid_value" not in named:
        full["forced_bid_value"] = min(max(full["forced_bid_value"], full["min_bid"]), full["max_bid"])
    return full


def _max_points(fields: Mapping[str, Any]) -> int:
    ranks, suits = fields["ranks"], fields["suits"]
    jack = "J" in ranks
    game = "T" in ranks if fields["game"] == "ten" else any(rank in ranks for rank in "TJQKA")
    off_jack = jack and fields["off_jack"] and any(pair <= set(suits) for pair in ({"C", "S"}, {"D", "H"}))
    return 2 + jack + game + off_jack + fields["jokers"] + 3 * ("3" in ranks and fields["three"])


def _nearest(name: Any, known: Any) -> str:
    close = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}? " if close else ""


def _refuse_unknown_fields(fields: Mapping[str, Any]) -> None:
    known = [field.name for field in dataclasses.fields(Rules)]
    for name in fields:
        if name not in known:
            raise ValueError(f"no rule {name!r}; {_nearest(name, known)}the rules are {', '.join(known)}")


def _checked_type(field: dataclasses.Field, value: Any) -> Any:
    """The value as the field's plain Python type. Raises ValueError that names field, value and what is allowed."""
    refused = f"{field.name}={value!r} is not allowed; "
    if field.type is bool:
        if isinstance(value, bool | np.bool_):
            return bool(value)
        raise ValueError(f"{refused}it is True or False")
    if field.type is str:
        if isinstance(value, str):
            return value
        raise ValueError(f"{refused}it is a string such as {field.default!r}")
    if choices := get_args(field.type):
        if type(None) not in choices:
            if isinstance(value, str) and value in choices:
                return value
            raise ValueError(f"{refused}{_nearest(value, choices)}it is one of {', '.join(map(repr, choices))}")
        if value is None:
            return None
    if field.name == "jokers" and isinstance(value, bool):
        return 2 * value
    if not isinstance(value, bool):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise ValueError(f"{refused}it is a whole number{' or None' if choices else ''}")


def _subsequence(part: str, whole: str) -> bool:
    rest = iter(whole)
    return bool(part) and all(letter in rest for letter in part)


# What must hold beyond the types: field, what is allowed, the test. Read in order, so later lines can trust earlier.
_RANGES: list[tuple[str, Callable[[Rules], str], Callable[[Rules], bool]]] = [
    ("players", lambda r: f"2 to {MAX_PLAYERS} can play", lambda r: 2 <= r.players <= MAX_PLAYERS),
    ("players", lambda r: "partners (pairs=True) need an even number of players, 4, 6 or 8",
     lambda r: not r.pairs or (r.players % 2 == 0 and r.players >= 4)),
    ("ranks", lambda r: f"it is a selection of {RANKS!r} in this order", lambda r: _subsequence(r.ranks, RANKS)),
    ("suits", lambda r: f"it is a selection of {SUITS!r} in this order", lambda r: _subsequence(r.suits, SUITS)),
    ("jokers", lambda r: "a deck has 0 or 2", lambda r: r.jokers in (0, 2)),
    ("hand_size", lambda r: f"{r.players} players can get 1 to {len(r.deck) // r.players} of {len(r.deck)} cards each",
     lambda r: 1 <= r.hand_size <= len(r.deck) // r.players),
    ("packet", lambda r: f"it is 1 to the hand_size, {r.hand_size}", lambda r: 1 <= r.packet <= r.hand_size),
    ("keep", lambda r: f"without a widow it is the hand_size, {r.hand_size}",
     lambda r: r.widow != "none" or r.keep == r.hand_size),
    ("keep", lambda r: f"it is 1 to the hand_size, {r.hand_size}", lambda r: 1 <= r.keep <= r.hand_size),
    ("keep", lambda r: "with jokers and trump='pitch' it is at least 3, for no hand may be nothing but jokers",
     lambda r: not (r.jokers and r.trump == "pitch") or r.keep > 2),
    ("exchange", lambda r: f"it is 1 to the hand_size, {r.hand_size}, where widow='exchange', else 0 or more",
     lambda r: 1 <= r.exchange <= r.hand_size if r.widow == "exchange" else 0 <= r.exchange <= len(r.deck)),
    ("max_bid", lambda r: f"a deal of these rules has {r.max_points} points, so the highest bid is 1 to "
     f"{min(MAX_BID, r.max_points)}", lambda r: 1 <= r.max_bid <= min(MAX_BID, r.max_points)),
    ("min_bid", lambda r: f"it is 1 to the max_bid, {r.max_bid}", lambda r: 1 <= r.min_bid <= r.max_bid),
    ("forced_bid_value", lambda r: f"it is min_bid to max_bid, {r.min_bid} to {r.max_bid}",
     lambda r: r.min_bid <= r.forced_bid_value <= r.max_bid),
    ("moon", lambda r: "it takes a jack and a game point, which these ranks do not give",
     lambda r: not r.moon or ("J" in r.ranks and (r.game == "count" or "T" in r.ranks))),
    ("moon_value", lambda r: "it is 0 to 100", lambda r: 0 <= r.moon_value <= 100),
    ("target", lambda r: "it is None or 1 to 200", lambda r: r.target is None or 1 <= r.target <= 200),
    ("stake_cents", lambda r: "it is 0 to 1,000,000", lambda r: 0 <= r.stake_cents <= 1_000_000),
    ("moon_cents", lambda r: "it is 0 to 1,000,000", lambda r: 0 <= r.moon_cents <= 1_000_000),
]  # fmt: skip


# What kernels read: the same rules as one record of integers. An option of words is its place in the list of choices.


class Auction(IntEnum):
    ONCE, UNTIL_PASSED = range(2)


class ForcedBid(IntEnum):
    EXACT, AT_LEAST, THROW_IN = range(3)


class Trump(IntEnum):
    PITCH, NAMED = range(2)


class Widow(IntEnum):
    NONE, UNUSED, PITCHER, EXCHANGE = range(4)


class FirstLead(IntEnum):
    ANY, TRUMP = range(2)


class Follow(IntEnum):
    MAY_TRUMP, MUST_FOLLOW, MUST_TRUMP = range(3)


class GamePoint(IntEnum):
    COUNT, TEN = range(2)


class LowTo(IntEnum):
    WINNER, HOLDER = range(2)


class Winner(IntEnum):
    PITCHER, MAKER, ANY = range(3)


class BothOut(IntEnum):
    PITCHER, HIGHEST = range(2)


_WORDS: dict[str, type[IntEnum]] = {
    "auction": Auction, "forced_bid": ForcedBid, "trump": Trump, "widow": Widow, "first_lead": FirstLead,
    "follow": Follow, "game": GamePoint, "low_to": LowTo, "winner": Winner, "both_out": BothOut,
}  # fmt: skip

_FLAGS = {field.name for field in dataclasses.fields(Rules) if field.type is bool}
NO_TARGET = 0

# Fields that change nothing about how a deal is played or scored in points stay out of the record.
PACKED_FIELDS = tuple(
    field.name for field in dataclasses.fields(Rules)
    if field.name not in ("ranks", "suits", "stake_cents", "moon_cents")
)  # fmt: skip

RULES = np.dtype(
    [
        *((name, "<i8") for name in PACKED_FIELDS),
        ("teams", "<i8"),
        ("suit_set", "<i8"),  # bit s: suit s is in the deck
        ("rank_set", "<i8"),  # bit r: rank r is in the deck
        ("widow_size", "<i8"),  # cards that are not dealt
        ("highest_call", "<i8"),  # the call that ends the auction at once: 11, the moon, or the highest bid
        ("deck_size", "<i8"),
        ("deck", "i1", (54,)),  # card ids, the first deck_size of them
        ("trumps", "<i8", (4,)),  # the cards that are trumps when suit s is
    ],
    align=True,
)


def encode_field(name: str, value: Any) -> int:
    """A field's value as the integer that the record holds."""
    if name in _WORDS:
        return int(_WORDS[name][value.upper()])
    return NO_TARGET if value is None else int(value)


def decode_field(name: str, code: int) -> Any:
    """The inverse of ``encode_field``. Raises ValueError for a code that stands for nothing."""
    if name in _WORDS:
        return _WORDS[name](code).name.lower()
    if name == "target" and code == NO_TARGET:
        return None
    if name in _FLAGS and code > 1:
        raise ValueError(f"{name}={code} is not allowed; it is 0 or 1")
    return bool(code) if name in _FLAGS else int(code)


@functools.cache
def pack(rules: Rules) -> np.ndarray:
    """The rules as one ``RULES`` record (an array of length 1), shared and not to be written to."""
    array = records(1, RULES)
    record = array[0]
    for name in PACKED_FIELDS:
        record[name] = encode_field(name, getattr(rules, name))
    record["teams"] = rules.teams
    record["suit_set"] = sum(1 << SUITS.index(suit) for suit in rules.suits)
    record["rank_set"] = sum(1 << RANKS.index(rank) for rank in rules.ranks)
    record["widow_size"] = rules.widow_size
    record["highest_call"] = MAX_BID + 1 if rules.moon else rules.max_bid
    record["deck_size"] = len(rules.deck)
    record["deck"][: len(rules.deck)] = rules.deck
    for suit in range(4):
        cards = {card for card in rules.deck if card // 13 == suit or card in (HIGH_JOKER, LOW_JOKER)}
        if rules.off_jack and (suit ^ 3) * 13 + JACK in rules.deck:
            cards.add((suit ^ 3) * 13 + JACK)
        record["trumps"][suit] = sum(1 << card for card in cards)
    array.flags.writeable = False
    return array
