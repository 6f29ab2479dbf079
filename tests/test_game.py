"""``Game``: copies and bytes that go on as the game does, and messages that say what is wrong."""

import copy
import json
import pickle
import random
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain import deck
from strategies import VARIANTS, play_to, positions, random_step, seeds, walk

from pitch_env import DealResult, Game, IllegalAction, Rules

COPIES: dict[str, Callable[[Game], Game]] = {
    "clone": Game.clone,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda game: pickle.loads(pickle.dumps(game)),
    "bytes": lambda game: Game.from_bytes(game.to_bytes()),
}


# Copies.


def assert_twins(game: Game, twin: Game) -> None:
    assert twin is not game
    assert twin == game
    assert twin.rules == game.rules
    assert twin.to_bytes() == game.to_bytes()
    assert twin.last_deal == game.last_deal
    assert twin.legal() == game.legal()
    assert repr(twin) == repr(game)


@given(positions(), seeds)
def test_copies_go_on_alike_and_on_their_own(game: Game, chance: int) -> None:
    before = game.to_bytes()
    twins = {name: make(game) for name, make in COPIES.items()}
    ends = []
    for name, twin in twins.items():
        assert_twins(game, twin)
        for _ in walk(twin, random.Random(chance)):  # through the deals that follow, which come from the record
            pass
        ends.append(twin)
        assert game.to_bytes() == before, name
    for end in ends[1:]:
        assert_twins(ends[0], end)
    for _ in walk(game, random.Random(chance)):
        pass
    assert_twins(game, ends[0])


@pytest.mark.parametrize("name", ["money-3", "auction-4", "oklahoma", "oklahoma-6", "pitch-jokers"])
def test_copies_at_every_decision(name: str) -> None:
    """Through three deals; each copy takes another action than the game, which shows in neither."""
    game, rng = Game(VARIANTS[name], seed=11, deals=3), random.Random(2)
    while game.actor is not None:
        for make in COPIES.values():
            twin = make(game)
            assert_twins(game, twin)
            before = game.to_bytes()
            twin.apply(random_step(twin, rng))
            assert game.to_bytes() == before
            assert twin != game
        game.apply(random_step(game, rng))
    assert game.deals_played == 3 or game.winner is not None
    for make in COPIES.values():
        assert_twins(game, make(game))


def test_a_result_is_kept_and_its_own() -> None:
    game = Game(VARIANTS["auction-2"], seed=1, deals=2)
    assert game.last_deal is None
    for each in walk(game, random.Random(1)):
        if each.deals_played == 1:
            break
    first = game.last_deal
    assert isinstance(first, DealResult)
    first.points[0] += 7
    assert game.last_deal != first
    kept = game.last_deal
    game.apply("pass")
    assert game.last_deal == kept
    for _ in walk(game, random.Random(1)):
        pass
    assert game.last_deal != kept
    assert game.last_deal is not None
    assert game.scores == [a + b for a, b in zip(kept.score_change, game.last_deal.score_change, strict=True)]


def test_equality() -> None:
    rules = VARIANTS["auction-4"]
    assert Game(rules, 1) == Game(rules, 1)
    assert Game(rules, 1) != Game(rules, 2)
    assert Game(rules, 1) != Game(VARIANTS["auction-3"], 1)
    assert Game(rules, 1) != Game(rules, 1, deals=1)
    assert Game(rules, 1) != "game"
    with pytest.raises(TypeError, match="unhashable"):
        hash(Game(rules, 1))


# Bytes.

SOME = play_to(Game(VARIANTS["oklahoma"], seed=3, deals=3), random.Random(3), 100)
DATA = SOME.to_bytes()
DAMAGED = r"^(these bytes are|this game was written)"


def sealed(body: bytes) -> bytes:
    """A body with a right head and checksum."""
    return DATA[:6] + struct.pack("<I", zlib.crc32(body)) + body


def test_bytes_of_any_kind() -> None:
    assert SOME.last_deal is not None
    assert Game.from_bytes(DATA) == SOME
    for kind in (bytes, bytearray, memoryview):
        assert Game.from_bytes(kind(DATA)) == SOME  # type: ignore[arg-type]


@given(st.dictionaries(st.integers(0, len(DATA) - 1), st.integers(1, 255), min_size=1, max_size=8))
def test_damaged_bytes_are_refused(changes: dict[int, int]) -> None:
    damaged = bytearray(DATA)
    for place, change in changes.items():
        damaged[place] ^= change
    with pytest.raises(ValueError, match=DAMAGED):
        Game.from_bytes(bytes(damaged))


def test_every_flipped_bit_is_noticed() -> None:
    for bit in range(8 * len(DATA)):
        damaged = bytearray(DATA)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError, match=DAMAGED):
            Game.from_bytes(bytes(damaged))


def test_truncated_bytes_are_refused() -> None:
    for end in range(len(DATA)):
        with pytest.raises(ValueError, match=DAMAGED):
            Game.from_bytes(DATA[:end])
    for more in (b"\0", DATA):
        with pytest.raises(ValueError, match="damaged"):
            Game.from_bytes(DATA + more)


@given(st.binary(max_size=2000))
def test_foreign_bytes_are_refused(data: bytes) -> None:
    for whole in (data, DATA[:5] + data, DATA[:6] + data):
        with pytest.raises(ValueError, match=DAMAGED):
            Game.from_bytes(whole)


def test_what_is_wrong_with_the_bytes_is_said() -> None:
    with pytest.raises(ValueError, match="these bytes are not a game: they begin with b'hello '"):
        Game.from_bytes(b"hello world")
    with pytest.raises(ValueError, match=r"this game was written in format b'\\x02'; this version reads b'\\x01'"):
        Game.from_bytes(DATA[:5] + b"\2" + DATA[6:])
    with pytest.raises(ValueError, match="damaged game: the checksum does not fit"):
        Game.from_bytes(DATA[:-1] + bytes([DATA[-1] ^ 1]))
    with pytest.raises(ValueError, match="a game is read from bytes, not from str"):
        Game.from_bytes("PITCH")  # type: ignore[arg-type]


@given(st.binary(max_size=200), st.integers(0, 2**32 - 1))
def test_sealed_nonsense_is_refused(data: bytes, size: int) -> None:
    """Even with a right checksum: a game comes out, or a ValueError."""
    rules_end = 4 + struct.unpack("<I", DATA[10:14])[0] + 10
    for body in (
        data,
        struct.pack("<I", size) + data,
        struct.pack("<I", len(data)) + data + DATA[rules_end:],
        DATA[10:rules_end] + data,
        struct.pack("<I", 2) + b"[]" + DATA[rules_end:],
        struct.pack("<I", 1) + b"5" + DATA[rules_end:],
        struct.pack("<I", 13) + b'{"players":9}' + DATA[rules_end:],
    ):
        with pytest.raises(ValueError):  # noqa: PT011, any will do
            Game.from_bytes(sealed(body))


def test_sealed_states_that_cannot_be() -> None:
    """What no game could have written, with a right checksum: kernels trust their input, so the door must not."""
    rules_end = 4 + struct.unpack("<I", DATA[10:14])[0] + 10
    for filling in (b"\xff", b"\x7f", b"\x01", b"\x40"):
        state = filling * (len(DATA) - rules_end)
        with pytest.raises(ValueError, match="damaged"):
            Game.from_bytes(sealed(DATA[10:rules_end] + state))


def test_a_sealed_change_is_refused_or_does_no_harm() -> None:
    """One bit of the state flipped and the checksum made right: a ValueError, or a game that can be played on."""
    rng = random.Random(0)
    for rules in (VARIANTS["auction-4"], VARIANTS["oklahoma"], VARIANTS["oklahoma-6"], VARIANTS["money-4"]):
        for seed in range(6):
            game = Game(rules, seed=seed, deals=2)
            for _ in range(rng.randrange(60)):
                if game.actor is not None:
                    game.apply(rng.choice(game.legal()))
            body = game.to_bytes()[10:]
            start = 4 + struct.unpack("<I", body[:4])[0]
            for _ in range(40):
                changed = bytearray(body)
                changed[rng.randrange(start, len(body))] ^= 1 << rng.randrange(8)
                try:
                    other = Game.from_bytes(sealed(bytes(changed)))
                except ValueError:
                    continue
                assert [other.infoset(seat) for seat in range(rules.players)]
                for _ in range(200):
                    if other.actor is not None:
                        other.observation(other.actor)
                        other.apply(rng.choice(other.legal_ids()))


def test_bytes_of_every_variant_hold_their_rules() -> None:
    for rules in VARIANTS.values():
        game = Game(rules, seed=1, deals=1)
        assert Game.from_bytes(game.to_bytes()).rules == rules
        size = struct.unpack("<I", game.to_bytes()[10:14])[0]
        assert json.loads(game.to_bytes()[14 : 14 + size]) == rules.to_dict()


# Refusals at the doors.


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "7", True, [1], float("nan")])
def test_bad_seeds(seed: Any) -> None:
    with pytest.raises(
        ValueError, match=r"seed=.* is not allowed; it is a whole number from 0 to 2\*\*64 - 1, or None"
    ):
        Game(VARIANTS["auction-4"], seed)


@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1, np.int64(5), np.uint64(2**64 - 1)])
def test_good_seeds(seed: Any) -> None:
    assert Game(VARIANTS["auction-4"], seed) == Game(VARIANTS["auction-4"], int(seed))


def test_no_seed_is_a_new_one() -> None:
    assert Game(VARIANTS["auction-4"]) != Game(VARIANTS["auction-4"])


@pytest.mark.parametrize("deals", [0, -1, 1.5, "1", True, 2**31])
def test_bad_numbers_of_deals(deals: Any) -> None:
    with pytest.raises(ValueError, match=r"deals=.* is not allowed; it is a whole number from 1, or None"):
        Game(VARIANTS["auction-4"], 1, deals)
    with pytest.raises(ValueError, match=r"deals=.* is not allowed; it is a whole number from 1, or None"):
        Game.from_deal(VARIANTS["tiny"], [["TC", "JC"], ["QC", "TS"]], deals=deals)


def test_bad_rules() -> None:
    with pytest.raises(ValueError, match="rules='auction' is not allowed; it is a Rules object such as"):
        Game("auction")  # type: ignore[arg-type]


@pytest.mark.parametrize("seat", [-1, 4, 100])
@pytest.mark.parametrize("method", ["hand", "dealt", "discards", "observation", "infoset", "determinize"])
def test_bad_seats(method: str, seat: int) -> None:
    game = Game(VARIANTS["auction-4"], 1)
    before = game.to_bytes()
    with pytest.raises(ValueError, match=f"seat={seat} is not allowed; seats are 0 to 3"):
        getattr(game, method)(seat)
    assert game.to_bytes() == before


@pytest.mark.parametrize("seat", [None, "0", 1.0, 1.5])
@pytest.mark.parametrize("method", ["hand", "dealt", "discards", "observation", "infoset", "determinize"])
def test_seats_of_a_wrong_kind(method: str, seat: Any) -> None:
    game = Game(VARIANTS["auction-4"], 1)
    with pytest.raises(ValueError, match=r"seat=.* is not allowed; seats are 0 to 3"):
        getattr(game, method)(seat)


AUCTION = [["AS", "KS", "QS", "JS", "TS", "9S"], ["AH", "KH", "QH", "JH", "TH", "9H"],
           ["AD", "KD", "QD", "JD", "TD", "9D"], ["AC", "KC", "QC", "JC", "TC", "9C"]]  # fmt: skip


def changed(hands: list[list[str]], seat: int, card: int, text: str) -> list[list[str]]:
    hands = [list(hand) for hand in hands]
    hands[seat][card] = text
    return hands


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(hands=AUCTION[:3]), "3 hands are not allowed; 4 players need one each"),
        (dict(hands=[*AUCTION, []]), "5 hands are not allowed; 4 players need one each"),
        (dict(hands=[*AUCTION[:3], AUCTION[3][:5]]), "the hand of seat 3 has 5 cards; it must have 6"),
        (dict(hands=changed(AUCTION, 2, 0, "1D")), "in the hand of seat 2: '1D' is not a card; a card is a rank of"),
        (dict(hands=changed(AUCTION, 2, 0, "+J")), r"in the hand of seat 2: the card \+J is not in the deck"),
        (dict(hands=changed(AUCTION, 2, 0, "AS")), "the card AS is there twice"),
        (dict(hands=changed(AUCTION, 2, 0, "KD")), "the card KD is there twice"),
        (dict(hands=changed(AUCTION, 1, 0, None)), "in the hand of seat 1: None is not a card"),  # type: ignore[arg-type]
        (dict(hands=AUCTION, widow=["AS"]), "the card AS is there twice"),
        (dict(hands=AUCTION, widow=["xx"]), "in the widow: 'xx' is not a card"),
        (dict(hands=AUCTION, dealer=4), "dealer=4 is not allowed; seats are 0 to 3"),
        (dict(hands=AUCTION, dealer=-1), "dealer=-1 is not allowed; seats are 0 to 3"),
        (dict(hands=None), "hands=None is not allowed; it is a list"),
        (dict(hands=[1, 2, 3, 4]), "the hand of seat 0=1 is not allowed; it is a list"),
        (dict(hands=["AS", *AUCTION[1:]]), "the hand of seat 0='AS' is not allowed; it is a list"),
        (dict(hands=AUCTION, widow="AS"), "the widow='AS' is not allowed; it is a list"),
        (dict(hands=AUCTION, scores=5), "scores=5 is not allowed; it is a list"),
        (dict(hands=AUCTION, scores={0: 1, 1: 2, 2: 3, 3: 4}), r"scores=\{.* is not allowed; it is a list"),
        (dict(hands=AUCTION, dealer=True), "dealer=True is not allowed; seats are 0 to 3"),
        (dict(hands=AUCTION, dealer=None), "dealer=None is not allowed; seats are 0 to 3"),
        (
            dict(hands=AUCTION, scores=[1, 2]),
            r"scores=\[1, 2\] is not allowed; it is 4 whole numbers, one for each team",
        ),
        (dict(hands=AUCTION, scores=[1, 2, 3, 4.5]), r"scores=.* is not allowed; it is 4 whole numbers"),
        (dict(hands=AUCTION, scores=[1, 2, 3, 10**6]), r"scores=.* is not allowed; it is 4 whole numbers"),
        (dict(hands=AUCTION, seed=-1), "seed=-1 is not allowed"),
    ],
)
def test_refused_deals(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Game.from_deal(VARIANTS["auction-4"], **arguments)


def test_a_deal_may_come_from_any_kind_of_list() -> None:
    rules = VARIANTS["auction-4"]
    listed = Game.from_deal(rules, AUCTION, [], scores=[1, 2, 3, 4])
    drawn = Game.from_deal(rules, (iter(hand) for hand in AUCTION), None, scores=iter([1, 2, 3, 4]))
    assert drawn == listed


@pytest.mark.parametrize("name", ["oklahoma", "oklahoma-6"])
def test_refused_widows(name: str) -> None:
    game = Game(VARIANTS[name], 1)
    hands = [game.hand(seat) for seat in range(game.rules.players)]
    size = len(game.widow)
    for widow in ([], game.widow[1:]):
        with pytest.raises(ValueError, match=f"the widow has {len(widow)} cards; it must have {size}"):
            Game.from_deal(game.rules, hands, widow)
    with pytest.raises(ValueError, match=r"the card .* is there twice"):
        Game.from_deal(game.rules, hands, [game.widow[0], *game.widow[:-1]])


@given(positions())
def test_a_deal_can_be_dealt_again(game: Game) -> None:
    """``from_deal`` with the cards of a fresh deal is that deal."""
    rules = game.rules
    fresh = Game(rules, seed=9, deals=5)
    hands = [fresh.hand(seat) for seat in range(rules.players)]
    again = Game.from_deal(rules, hands, fresh.widow, fresh.dealer, deals=5)
    assert [again.hand(seat) for seat in range(rules.players)] == hands
    assert again.widow == fresh.widow
    assert again._public.tobytes() == fresh._public.tobytes()
    if rules.widow in ("none", "unused"):
        assert set(Game.from_deal(rules, hands, dealer=fresh.dealer).widow) == set(fresh.widow)
    assert set(fresh.widow).union(*map(set, hands)) == set(deck(rules))


def test_scores_and_later_deals_of_a_given_deal() -> None:
    rules = VARIANTS["auction-4"]
    game = Game.from_deal(rules, AUCTION, dealer=3, scores=[5, -2, 0, 1], deals=None, seed=4)
    assert (game.scores, game.dealer, game.actor, game.deals_limit) == ([5, -2, 0, 1], 3, 0, None)
    same = Game.from_deal(rules, AUCTION, dealer=3, scores=[5, -2, 0, 1], deals=None, seed=4)
    other = Game.from_deal(rules, AUCTION, dealer=3, scores=[5, -2, 0, 1], deals=None, seed=5)
    for each in (game, same, other):
        for action in ("1", "pass", "pass", "1", "9C", "9S", "9H", "9D"):
            each.apply(action)
        while each.deals_played == 0:
            each.apply(each.legal()[-1])
    assert game == same
    assert game.dealer == 0
    assert game.hand(0) != other.hand(0)
    texts = [text.lower() for text in AUCTION[0]]
    assert Game.from_deal(rules, [texts, *AUCTION[1:]]) == Game.from_deal(rules, AUCTION)


# What is said about illegal actions.


def opened(calls: str = "", **options: Any) -> Game:
    rules = Rules.preset("auction", **options)
    game = Game.from_deal(rules, AUCTION, dealer=3)
    for call in calls.split():
        game.apply(call)
    return game


@pytest.mark.parametrize(
    ("calls", "action", "message"),
    [
        ("", "5", "'5' is not legal: seat 0 is to bid; legal are pass, 1, 2, 3, 4"),
        ("2", "2", "'2' is not legal: seat 1 is to bid; legal are pass, 3, 4"),
        ("pass pass pass", "pass", "'pass' is not legal: seat 3 is to bid; legal are 2, 3, 4"),
        ("", "AS", "'AS' is not legal: seat 0 is to bid; legal are"),
        ("", "moon", "'moon' is not legal: seat 0 is to bid; legal are"),
        ("4", "pass", "'pass' is not legal: seat 0 is to play; legal are"),
        ("4", "AH", "'AH' is not legal: seat 0 does not hold it; legal are 9S, TS, JS, QS, KS, AS"),
        ("4", "trump S", "'trump S' is not legal: seat 0 is to play; legal are"),
        ("4", "done", "'done' is not legal: seat 0 is to play; legal are"),
        ("4", "zz", "'zz' is not an action; actions are the ids 0 to 70 or their texts"),
        ("4", 71, "71 is not an action; actions are the ids 0 to 70 or their texts"),
        ("4", -1, "-1 is not an action"),
        ("4", 3.0, "3.0 is not an action"),
        ("4", None, "None is not an action"),
        ("4", True, "True is not an action"),
    ],
)
def test_illegal_actions_say_why(calls: str, action: Any, message: str) -> None:
    game = opened(calls)
    before = game.to_bytes()
    with pytest.raises(IllegalAction) as error:
        game.apply(action)
    assert str(error.value).startswith(message)
    assert isinstance(error.value, ValueError)
    assert game.to_bytes() == before


def test_illegal_cards_say_why() -> None:
    hands = changed(changed(AUCTION, 1, 0, "2S"), 0, 5, "9H")
    hands[1][5] = "9S"
    game = Game.from_deal(VARIANTS["auction-4"], hands, dealer=3)
    for action in ("4", "AS"):
        game.apply(action)
    with pytest.raises(
        IllegalAction, match="'KH' is not legal: seat 1 must follow the AS that was led, trump is S; legal"
    ):
        game.apply("KH")
    rules = Rules.preset("oklahoma", first_lead="trump", widow="none")
    game = Game.from_deal(rules, hands, dealer=3)
    for action in ("2", "pass", "pass", "pass", "trump S"):
        game.apply(action)
    with pytest.raises(IllegalAction, match="'9H' is not legal: seat 0 may not lead it; legal are TS, JS, QS, KS, AS"):
        game.apply("9H")


@given(positions())
def test_messages_name_the_actor_and_what_is_legal(game: Game) -> None:
    for action in set(range(71)) - set(game.legal_ids()):
        with pytest.raises(IllegalAction) as error:
            game.apply(action)
        assert f"seat {game.actor}" in str(error.value)
        assert str(error.value).endswith(f"legal are {', '.join(game.legal())}")


def test_actions_in_other_spellings() -> None:
    game, same = opened(), opened()
    for plain, other in (("pass", "PASS"), ("2", " 2 "), ("pass", 58), ("2", np.int64(60)), ("9C", "9c")):
        game.apply(plain)
        same.apply(other)  # type: ignore[arg-type]
        assert game == same
    game, same = (Game(VARIANTS["oklahoma"], 1) for _ in range(2))
    for each in (game, same):
        while each.phase == "bid":
            each.apply(each.legal()[-1])
    game.apply("trump H")
    same.apply("Trump  h")
    assert game == same


def test_repr_says_who_is_to_do_what() -> None:
    game = opened()
    assert repr(game) == "<Game of 4 players, deal 1, seat 0 to bid, scores [0, 0, 0, 0]>"
    game.apply("4")
    assert "seat 0 to play" in repr(game)
