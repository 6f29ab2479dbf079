"""``Rules``: presets, fields that follow from others, refusals that say what is allowed, and the packed record."""

import dataclasses
import itertools
import json
import pickle
import random
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from strategies import RANKS, SUITS, VARIANTS, any_rules, random_rules

from pitch_env import Game, Rules
from pitch_env.cards import cards_in
from pitch_env.rules import PACKED_FIELDS, decode_field, encode_field, pack

FIELDS = [field.name for field in dataclasses.fields(Rules)]


# Presets (rules.md, 9).


def test_presets() -> None:
    assert Rules.presets() == ("money", "auction", "auction_pairs", "oklahoma")
    for name in Rules.presets():
        assert Rules.preset(name).players == 4
        assert Rules.preset(name).num_actions == 71


def test_money() -> None:
    rules = Rules.preset("money")
    assert (rules.pairs, len(rules.deck), rules.hand_size, rules.keep, rules.jokers) == (False, 52, 6, 6, 0)
    assert (rules.auction, rules.min_bid, rules.max_bid, rules.moon, rules.moon_value) == (
        "until_passed",
        2,
        4,
        True,
        4,
    )
    assert (rules.steal, rules.forced_bid, rules.forced_bid_value) == (True, "exact", 2)
    assert (rules.trump, rules.widow, rules.follow, rules.first_lead) == ("pitch", "none", "may_trump", "any")
    assert (rules.low_to, rules.game, rules.target) == ("winner", "count", None)
    assert (rules.stake_cents, rules.moon_cents) == (10, 100)
    assert [Rules.preset("money", players=players).teams for players in range(2, 9)] == list(range(2, 9))
    assert Rules.preset("money", players=8).widow_size == 4


@pytest.mark.parametrize(("name", "teams"), [("auction", 4), ("auction_pairs", 2)])
def test_auction(name: str, teams: int) -> None:
    rules = Rules.preset(name)
    assert (rules.teams, len(rules.deck), rules.hand_size, rules.keep, rules.packet) == (teams, 52, 6, 6, 3)
    assert (rules.auction, rules.min_bid, rules.max_bid, rules.moon) == ("once", 1, 4, False)
    assert (rules.steal, rules.forced_bid, rules.forced_bid_value) == (True, "at_least", 2)
    assert (rules.trump, rules.widow, rules.follow, rules.low_to) == ("pitch", "none", "may_trump", "winner")
    assert (rules.target, rules.winner) == (7, "pitcher")


@pytest.mark.parametrize(("players", "hand", "widow", "size"), [(4, 9, "exchange", 18), (6, 8, "pitcher", 6)])
def test_oklahoma(players: int, hand: int, widow: str, size: int) -> None:
    rules = Rules.preset("oklahoma", players=players)
    assert (rules.teams, len(rules.deck), rules.jokers, rules.off_jack) == (players // 2, 54, 2, True)
    assert (rules.hand_size, rules.keep, rules.widow, rules.widow_size, rules.exchange) == (hand, 6, widow, size, 3)
    assert (rules.auction, rules.min_bid, rules.max_bid, rules.moon) == ("until_passed", 2, 7, False)
    assert (rules.steal, rules.forced_bid, rules.forced_bid_value) == (False, "exact", 2)
    assert (rules.trump, rules.follow, rules.low_to) == ("named", "may_trump", "holder")
    assert (rules.target, rules.winner, rules.both_out) == (21, "any", "pitcher")
    assert Rules.preset("oklahoma", players=players, three=True).max_bid == 10


def test_teams_sit_opposite() -> None:
    assert [Rules.preset("auction_pairs").team_of(seat) for seat in range(4)] == [0, 1, 0, 1]
    assert [Rules.preset("oklahoma", players=6).team_of(seat) for seat in range(6)] == [0, 1, 2, 0, 1, 2]
    assert [Rules.preset("auction").team_of(seat) for seat in range(4)] == [0, 1, 2, 3]
    for seat in (-1, 4):
        with pytest.raises(ValueError, match=f"seat={seat} is not allowed; seats are 0 to 3"):
            Rules.preset("auction").team_of(seat)


# Fields that follow.


@pytest.mark.parametrize(
    ("preset", "named", "follows"),
    [
        ("oklahoma", dict(players=6), dict(hand_size=8, widow="pitcher", keep=6)),
        ("oklahoma", dict(players=6, hand_size=7), dict(hand_size=7, widow="pitcher", keep=6)),
        ("oklahoma", dict(players=6, widow="exchange"), dict(hand_size=8, widow="exchange")),
        ("oklahoma", dict(players=6, widow="unused"), dict(hand_size=8, widow="unused")),
        ("oklahoma", dict(three=True), dict(max_bid=10)),
        ("oklahoma", dict(three=True, max_bid=8), dict(max_bid=8)),
        ("oklahoma", dict(off_jack=False), dict(max_bid=6)),
        ("oklahoma", dict(jokers=0), dict(max_bid=5)),
        ("oklahoma", dict(jokers=False), dict(max_bid=5, jokers=0)),
        ("oklahoma", dict(jokers=True), dict(max_bid=7, jokers=2)),
        ("oklahoma", dict(widow="none"), dict(hand_size=6, keep=6)),
        ("oklahoma", dict(hand_size=5), dict(keep=5, exchange=3)),
        ("oklahoma", dict(hand_size=2, trump="named", keep=2), dict(exchange=2)),
        ("auction", dict(hand_size=5), dict(keep=5, packet=3)),
        ("auction", dict(keep=4), dict(hand_size=4)),
        ("auction", dict(hand_size=2), dict(keep=2, packet=2)),
        ("auction", dict(ranks="234567"), dict(max_bid=2)),
        ("auction", dict(jokers=2), dict(max_bid=6)),
        ("auction", dict(min_bid=3), dict(forced_bid_value=3)),
        ("auction", dict(max_bid=1), dict(forced_bid_value=1)),
        ("money", dict(ranks="9TJQKA"), dict(max_bid=4)),
    ],
)
@pytest.mark.parametrize("numbers", [int, np.int64, np.int8])
def test_fields_follow_others(preset: str, named: dict[str, Any], follows: dict[str, Any], numbers: type) -> None:
    named = {name: numbers(value) if type(value) is int else value for name, value in named.items()}
    fields = Rules.preset(preset, **named).to_dict()
    assert {name: fields[name] for name in follows} == follows


def test_naming_all_fields_changes_none() -> None:
    for rules in [*VARIANTS.values(), *(random_rules(random.Random(seed)) for seed in range(100))]:
        for preset in Rules.presets():
            if rules.players == 4 or (preset == "money" and rules.players != 8):
                assert Rules.preset(preset, **rules.to_dict()) == rules


# Refusals: each names the field, its value, and what is allowed.

REFUSED = [
    (dict(players=1), "players=1 is not allowed; 2 to 8 can play"),
    (dict(players=9), "players=9 is not allowed; 2 to 8 can play"),
    (dict(players=5, pairs=True), "players=5 is not allowed; partners (pairs=True) need an even number"),
    (dict(players=2, pairs=True), "players=2 is not allowed; partners"),
    (dict(players=4.0), "players=4.0 is not allowed; it is a whole number"),
    (dict(players="4"), "players='4' is not allowed; it is a whole number"),
    (dict(players=True), "players=True is not allowed; it is a whole number"),
    (dict(players=None), "players=None is not allowed; it is a whole number"),
    (dict(players=float("nan")), "players=nan is not allowed"),
    (dict(players=10**30), "is not allowed; 2 to 8 can play"),
    (dict(pairs=1), "pairs=1 is not allowed; it is True or False"),
    (dict(pairs="yes"), "pairs='yes' is not allowed; it is True or False"),
    (dict(ranks=""), "ranks='' is not allowed; it is a selection of '23456789TJQKA'"),
    (dict(ranks="AKQ"), "ranks='AKQ' is not allowed; it is a selection"),
    (dict(ranks="TJJ"), "ranks='TJJ' is not allowed; it is a selection"),
    (dict(ranks=None), "ranks=None is not allowed; it is a string such as"),
    (dict(suits="SH"), "suits='SH' is not allowed; it is a selection of 'CDHS'"),
    (dict(suits=""), "suits='' is not allowed; it is a selection of 'CDHS'"),
    (dict(jokers=1), "jokers=1 is not allowed; a deck has 0 or 2"),
    (dict(jokers=-2), "jokers=-2 is not allowed; a deck has 0 or 2"),
    (dict(hand_size=0, keep=0), "hand_size=0 is not allowed; 4 players can get 1 to 13 of 52 cards each"),
    (dict(hand_size=14, keep=14), "hand_size=14 is not allowed; 4 players can get 1 to 13 of 52 cards each"),
    (dict(players=8, hand_size=7, keep=7), "hand_size=7 is not allowed; 8 players can get 1 to 6 of 52 cards each"),
    (dict(packet=0), "packet=0 is not allowed; it is 1 to the hand_size, 6"),
    (dict(packet=7), "packet=7 is not allowed; it is 1 to the hand_size, 6"),
    (dict(keep=5), "keep=5 is not allowed; without a widow it is the hand_size, 6"),
    (dict(keep=7, widow="unused"), "keep=7 is not allowed; it is 1 to the hand_size, 6"),
    (dict(keep=0, widow="unused"), "keep=0 is not allowed; it is 1 to the hand_size, 6"),
    (dict(jokers=2, keep=2, widow="unused"), "keep=2 is not allowed; with jokers and trump='pitch' it is at least 3"),
    (dict(widow="exchange", exchange=0), "exchange=0 is not allowed; it is 1 to the hand_size, 6, where"),
    (dict(widow="exchange", exchange=7), "exchange=7 is not allowed; it is 1 to the hand_size, 6, where"),
    (dict(exchange=-1), "exchange=-1 is not allowed"),
    (dict(max_bid=5), "max_bid=5 is not allowed; a deal of these rules has 4 points, so the highest bid is 1 to 4"),
    (dict(max_bid=0), "max_bid=0 is not allowed; a deal of these rules has 4 points"),
    (dict(ranks="234567"), "max_bid=4 is not allowed; a deal of these rules has 2 points"),
    (dict(min_bid=0), "min_bid=0 is not allowed; it is 1 to the max_bid, 4"),
    (dict(min_bid=5), "min_bid=5 is not allowed; it is 1 to the max_bid, 4"),
    (dict(min_bid=3), "forced_bid_value=2 is not allowed; it is min_bid to max_bid, 3 to 4"),
    (dict(forced_bid_value=5), "forced_bid_value=5 is not allowed; it is min_bid to max_bid, 1 to 4"),
    (dict(moon=True, ranks="89TQKA", max_bid=3), "moon=True is not allowed; it takes a jack and a game point"),
    (dict(moon=True, ranks="89JQKA", max_bid=3, game="ten"), "moon=True is not allowed; it takes a jack"),
    (dict(moon_value=-1), "moon_value=-1 is not allowed; it is 0 to 100"),
    (dict(moon_value=101), "moon_value=101 is not allowed; it is 0 to 100"),
    (dict(target=0), "target=0 is not allowed; it is None or 1 to 200"),
    (dict(target=201), "target=201 is not allowed; it is None or 1 to 200"),
    (dict(target="7"), "target='7' is not allowed; it is a whole number or None"),
    (dict(target=True), "target=True is not allowed; it is a whole number or None"),
    (dict(stake_cents=-1), "stake_cents=-1 is not allowed; it is 0 to 1,000,000"),
    (dict(moon_cents=1_000_001), "moon_cents=1000001 is not allowed; it is 0 to 1,000,000"),
    (dict(follow="may-trump"), "follow='may-trump' is not allowed; did you mean 'may_trump'? it is one of 'may_trump'"),
    (dict(auction=1), "auction=1 is not allowed; it is one of 'once', 'until_passed'"),
    (
        dict(widow=None),
        "widow=None is not allowed; did you mean 'none'? it is one of 'none', 'unused', 'pitcher', 'exchange'",
    ),
    (dict(player=4), "no rule 'player'; did you mean 'players'? the rules are players, pairs, ranks"),
    (dict(zzz=4), "no rule 'zzz'; the rules are players, pairs, ranks"),
]


@pytest.mark.parametrize(("fields", "message"), REFUSED, ids=[str(fields) for fields, _ in REFUSED])
def test_refusals(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011, the message is compared below
        Rules.from_dict(fields)
    assert str(error.value).startswith(message) or message in str(error.value)


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("preset", Rules.presets())
def test_a_value_of_a_wrong_kind_is_refused_by_name(preset: str, name: str) -> None:
    """A preset's followers are computed from values that have not been checked yet: the message names the right one."""
    for value in ("nonsense", 3.5, [2], b"2", object()):
        with pytest.raises(ValueError, match=f"^{name}=.* is not allowed; "):
            Rules.preset(preset, **{name: value})


@pytest.mark.parametrize(
    ("name", "players", "allowed"),
    [
        ("auction", 8, "2, 3, 4, 5, 6, 7"),
        ("auction_pairs", 6, "4"),
        ("oklahoma", 5, "4, 6"),
        ("money", 9, "2, 3, 4, 5"),
    ],
)
def test_presets_have_their_numbers_of_players(name: str, players: int, allowed: str) -> None:
    with pytest.raises(ValueError, match=f"players={players} is not allowed; preset '{name}' is played by {allowed}"):
        Rules.preset(name, players=players)


def test_unknown_preset() -> None:
    with pytest.raises(
        ValueError, match=r"no preset 'aucton'; did you mean 'auction'\? the presets are money, auction"
    ):
        Rules.preset("aucton")
    with pytest.raises(ValueError, match="no preset 5"):
        Rules.preset(5)  # type: ignore[arg-type]


def test_a_game_without_a_target_needs_a_number_of_deals() -> None:
    with pytest.raises(ValueError, match="deals=None is not allowed; rules without a target need a number of deals"):
        Game(Rules.preset("money"))


# There and back.


@given(any_rules())
def test_dicts_and_json(rules: Rules) -> None:
    assert list(rules.to_dict()) == FIELDS
    assert Rules.from_dict(rules.to_dict()) == rules
    assert Rules.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules
    assert pickle.loads(pickle.dumps(rules)) == rules
    assert hash(Rules.from_dict(rules.to_dict())) == hash(rules)
    assert eval(repr(rules)) == rules
    assert dataclasses.replace(rules) == rules


def test_dict_with_a_preset() -> None:
    fields = {"preset": "oklahoma", "players": 6, "three": True}
    assert Rules.from_dict(fields) == Rules.preset("oklahoma", players=6, three=True)
    assert fields["preset"] == "oklahoma"
    with pytest.raises(ValueError, match="no rule 'presets'; "):
        Rules.from_dict({"presets": "oklahoma"})


def test_immutable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Rules().players = 5  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        pack(Rules())["players"] = 5


@given(any_rules())
def test_numpy_values_become_plain_ones(rules: Rules) -> None:
    kinds: dict[type, Any] = {int: np.int64, bool: np.bool_, str: str, type(None): lambda value: value}
    fields = {name: kinds[type(value)](value) for name, value in rules.to_dict().items()}
    same = Rules(**fields)
    assert same == rules
    assert [type(value) for value in same.to_dict().values()] == [type(value) for value in rules.to_dict().values()]
    json.dumps(same.to_dict())


@given(any_rules())
def test_codes_of_fields(rules: Rules) -> None:
    record = pack(rules)[0]
    for name in PACKED_FIELDS:
        value = getattr(rules, name)
        code = encode_field(name, value)
        assert type(code) is int
        assert 0 <= code <= 255
        assert record[name] == code
        decoded = decode_field(name, code)
        assert decoded == value
        assert type(decoded) is type(value)


def test_codes_of_words_are_their_places() -> None:
    for field in dataclasses.fields(Rules):
        choices = [choice for choice in get_args(field.type) if isinstance(choice, str)]
        assert [encode_field(field.name, choice) for choice in choices] == list(range(len(choices)))
        if choices:
            with pytest.raises(ValueError, match="is not a valid"):
                decode_field(field.name, len(choices))


@given(any_rules())
def test_the_packed_record(rules: Rules) -> None:
    record = pack(rules)[0]
    assert pack(rules) is pack(Rules.from_dict(rules.to_dict()))
    assert record["teams"] == rules.teams == len({rules.team_of(seat) for seat in range(rules.players)})
    assert record["deck"][: record["deck_size"]].tolist() == list(rules.deck)
    assert len(set(rules.deck)) == len(rules.deck) == len(rules.ranks) * len(rules.suits) + rules.jokers
    assert record["widow_size"] == rules.widow_size == len(rules.deck) - rules.players * rules.hand_size
    assert cards_in(record["suit_set"]) == [SUITS.index(suit) for suit in rules.suits]
    assert cards_in(record["rank_set"]) == [RANKS.index(rank) for rank in rules.ranks]


def test_max_points_by_counting() -> None:
    """Against the items that exist, each option with and without."""
    for ranks, suits, jokers, off_jack, three, game in itertools.product(
        (RANKS, "2345", "TQ", "3J"), (SUITS, "CD", "CS"), (0, 2), (False, True), (False, True), ("count", "ten")
    ):
        fields: dict[str, Any] = dict(
            ranks=ranks, suits=suits, jokers=jokers, off_jack=off_jack, three=three, game=game
        )
        rules = Rules(players=2, hand_size=2, packet=1, keep=2, trump="named", max_bid=1, forced_bid_value=1, **fields)
        points = 2 + jokers + ("J" in ranks) + 3 * ("3" in ranks and three)  # high, low, jokers, jack, three
        points += "T" in ranks if game == "ten" else bool(set(ranks) & set("TJQKA"))
        points += off_jack and "J" in ranks and suits != "CD"  # clubs and diamonds: no pair of a colour
        assert rules.max_points == points
