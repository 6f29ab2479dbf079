"""Sampled deals: nothing hidden leaks into them, they fit all that was seen, and each that fits is equally likely."""

import random
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, islice, permutations
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from lockstep import assert_consistent
from plain import Table, deck
from strategies import VARIANTS, chi_square, examples, play_to, positions, seeds, walk

from pitch_env import Game, Rules

# Consistency.


@examples(2)
@given(positions())
def test_games_are_consistent(game: Game) -> None:
    """The check itself holds for games that were played."""
    assert_consistent(game)


@examples(2)
@given(positions(), seeds)
def test_nothing_leaks(game: Game, chance: int) -> None:
    rules, before = game.rules, game.to_bytes()
    for viewer in range(rules.players):
        drawn = game.determinize(viewer, chance % 2**32)
        assert game.to_bytes() == before
        assert_consistent(drawn)
        assert drawn.observation(viewer).tobytes() == game.observation(viewer).tobytes()
        assert drawn.infoset(viewer) == game.infoset(viewer)
        assert drawn._public.tobytes() == game._public.tobytes()
        assert drawn.hand(viewer) == game.hand(viewer)
        assert drawn.dealt(viewer) == game.dealt(viewer)
        assert drawn.discards(viewer) == game.discards(viewer)
        assert [len(drawn.hand(seat)) for seat in range(rules.players)] == game._public["cards"][
            : rules.players
        ].tolist()
        if game.actor == viewer or game.phase in ("bid", "trump"):
            assert drawn.legal_ids() == game.legal_ids()
        cards = Counter(card for name in ("hand", "discards") for seat in range(rules.players)
                        for card in getattr(drawn, name)(seat))  # fmt: skip
        cards.update(drawn.widow + [card for _, trick in [*drawn.tricks, (0, drawn.trick)] for _, card in trick])
        assert cards == Counter(deck(rules))
        # What is drawn depends on nothing that the viewer does not know: from another deal that looks the same to him,
        # the same chance draws the same deal.
        other = game.determinize(viewer, 1)
        assert other.determinize(viewer, chance % 2**32) == drawn


@given(positions(), seeds)
def test_a_sampled_game_can_be_played_to_its_end(game: Game, chance: int) -> None:
    rng, before = random.Random(chance), game.to_bytes()
    drawn = game.determinize(rng.randrange(game.rules.players), chance % 2**32)
    for each in walk(drawn, rng):
        assert each.legal()
    assert drawn.phase == "over"
    assert game.to_bytes() == before


def test_following_deals_are_drawn_anew() -> None:
    game = Game(VARIANTS["auction-4"], seed=3)
    futures = set()
    for chance in (None, *range(20)):
        drawn = game.clone() if chance is None else game.determinize(0, chance)
        for _ in range(3):
            drawn.apply("pass")
        drawn.apply("2")
        while drawn.deals_played == 0:
            drawn.apply(drawn.legal()[0])
        futures.add(tuple(drawn.hand(0)))
    assert len(futures) == 21


def test_the_chance_of_a_sample() -> None:
    game = Game(VARIANTS["oklahoma"], seed=3)
    assert game.determinize(1, 5) == game.determinize(1, np.random.default_rng(5))
    assert game.determinize(1, 5) != game.determinize(1, 6)
    assert game.determinize(1) != game.determinize(1)
    rng = np.random.default_rng(5)
    assert game.determinize(1, rng) != game.determinize(1, rng)


# Uniformity, against all deals that fit, found one by one with the plain rules.


def unseen_cards(game: Game, viewer: int) -> list[str]:
    own = set(game.hand(viewer)) | set(game.discards(viewer))
    played = {card for _, cards in [*game.tricks, (0, game.trick)] for _, card in cards}
    return sorted(set(deck(game.rules)) - own - played)


def plays_are_legal(game: Game, seat: int, hand: tuple[str, ...]) -> bool:
    """Whether a seat that holds ``hand`` now may have played all that it did."""
    tricks = [cards for _, cards in game.tricks] + ([game.trick] if game.trick else [])
    hands = [[card for cards in tricks for who, card in cards if who == each] for each in range(game.rules.players)]
    hands[seat] = [*hands[seat], *hand]
    table = Table(game.rules, hands, [], game.dealer, game.scores)
    table.phase, table.pitcher, table.bid = "play", game.pitcher, str(game.bid)
    table.actor = game.pitcher
    table.trump = game.trump if game.rules.trump == "named" else None
    for cards in tricks:
        for who, card in cards:
            if who == seat and card not in table.legal_cards():
                return False
            table.take_card(card)
    return True


def possible_deals(game: Game, viewer: int) -> Iterator[tuple]:
    """All (hands of the others, their discards) that fit what the viewer has seen."""
    others = [seat for seat in range(game.rules.players) if seat != viewer]
    sizes = [(len(game.hand(seat)), len(game.discards(seat))) for seat in others]
    legal: dict[tuple, bool] = {}

    def fits(seat: int, hand: tuple[str, ...]) -> bool:
        if (seat, hand) not in legal:
            legal[seat, hand] = plays_are_legal(game, seat, hand)
        return legal[seat, hand]

    def deal(i: int, cards: list[str]) -> Iterator[tuple]:
        if i == len(others):
            yield ()
            return
        for hand in combinations(cards, sizes[i][0]):
            if not fits(others[i], hand):
                continue
            left = [card for card in cards if card not in hand]
            for discards in combinations(left, sizes[i][1]):
                for rest in deal(i + 1, [card for card in left if card not in discards]):
                    yield ((hand, discards), *rest)

    return deal(0, unseen_cards(game, viewer))


def key_of(game: Game, viewer: int) -> tuple:
    """A deal as ``possible_deals`` gives it."""
    others = [seat for seat in range(game.rules.players) if seat != viewer]
    return tuple((tuple(sorted(game.hand(seat))), tuple(sorted(game.discards(seat)))) for seat in others)


def bound_seats(game: Game, viewer: int) -> int:
    """How many hands of others are bound by what their players did."""
    voids, cards = game._public["voids"], game._public["cards"]
    return sum(bool(voids[seat] and cards[seat]) for seat in range(game.rules.players) if seat != viewer)


def find_position(rules: Rules, wanted: Any, most: int = 3000) -> tuple[Game, int, list[tuple]]:
    """A game, a viewer and all deals that fit, not too many; ``wanted(game, viewer)`` says what it must be like."""
    for seed in range(3000):
        rng = random.Random(seed)
        game = Game(rules, seed, deals=1)
        game = play_to(game, rng, rng.randrange(1, 8 * rules.players + 2 * rules.players * rules.hand_size))
        for viewer in range(rules.players):
            if wanted(game, viewer):
                deals = list(islice(possible_deals(game, viewer), most + 1))
                if 12 <= len(deals) <= most:
                    return game, viewer, deals
    raise AssertionError("no such position")


SHORT: dict[str, Any] = dict(
    ranks="9TJQ", hand_size=3, keep=3, min_bid=1, max_bid=2, forced_bid_value=1, target=None, winner="any"
)
SIX: dict[str, Any] = {**SHORT, "players": 6, "ranks": "9TJQK"}

# What is played, how many bound hands at least, and how many cards the longest of them still holds at least.
BOUND: dict[str, tuple[dict[str, Any], int, int]] = {
    "3 players": (dict(players=3), 1, 2),
    "3 players, 2 bound": (dict(players=3), 2, 1),
    "4 players, must follow": (dict(players=4, follow="must_follow"), 2, 2),
    "4 players, must trump": (dict(players=4, follow="must_trump"), 2, 1),
    "4 players, jokers": (dict(players=4, jokers=2, off_jack=True, trump="named"), 2, 1),
    "4 players, trump led": (dict(players=4, trump="named", first_lead="trump", off_jack=True), 2, 2),
    "4 players, all bound": (dict(players=4, ranks="9TJQK", hand_size=4, keep=4, follow="must_follow"), 3, 2),
    "5 players": (dict(players=5, follow="must_follow"), 3, 2),
    "5 players, must trump": (dict(players=5, follow="must_trump", jokers=2, off_jack=True), 3, 1),
    "6 players": (dict(SIX, off_jack=True, follow="must_follow"), 4, 2),
    "6 players, 5 bound": (dict(SIX, jokers=2, follow="must_follow", trump="named", first_lead="trump"), 5, 1),
}


@pytest.mark.parametrize("name", BOUND)
def test_bound_hands_are_uniform(name: str) -> None:
    fields, number, held = BOUND[name]
    rules = Rules(**{**SHORT, **fields})

    def wanted(game: Game, viewer: int) -> bool:
        return bound_seats(game, viewer) >= number and game._public["cards"][: rules.players].max() >= held

    check_uniform(*find_position(rules, wanted))


def check_uniform(game: Game, viewer: int, deals: list[tuple]) -> None:
    rng = np.random.default_rng(1)
    counts: Counter = Counter()
    for _ in range(max(2000, 8 * len(deals))):
        counts[key_of(game.determinize(viewer, rng), viewer)] += 1
    assert abs(chi_square(counts, dict.fromkeys(deals, 1))) < 4, (game, viewer)


LATE: dict[str, Any] = dict(
    players=3, ranks="TJQ", hand_size=3, keep=2
)  # tricks enough to be bound, discards too many to count all
EARLY: dict[str, Any] = dict(players=3, ranks="TJ", hand_size=2, keep=1)  # few enough cards to count all discards
WIDOW: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "unused": (dict(EARLY, widow="unused"), ("bid", "discard")),
    "unused, late": (dict(LATE, widow="unused", follow="must_follow"), ("play", "bound")),
    "unused, jokers": (dict(EARLY, widow="unused", jokers=2, trump="named"), ("bid", "trump", "discard")),
    "pitcher": (dict(EARLY, widow="pitcher", jokers=2, trump="named"), ("bid", "trump", "discard")),
    "pitcher, late": (dict(LATE, widow="pitcher", trump="named"), ("play", "bound")),
    "exchange": (dict(EARLY, widow="exchange", exchange=1), ("bid", "exchange", "discard")),
    "exchange, jokers": (dict(EARLY, widow="exchange", exchange=2, jokers=2, trump="named"), ("exchange", "discard")),
    "exchange, late": (dict(LATE, widow="exchange", exchange=2, off_jack=True), ("play", "bound")),
    "exchange, 2 players": (
        dict(LATE, players=2, widow="exchange", follow="must_trump"),
        ("exchange", "discard", "bound"),
    ),
}


@pytest.mark.parametrize(("name", "phase"), [(name, phase) for name in WIDOW for phase in WIDOW[name][1]])
def test_discards_are_uniform(name: str, phase: str) -> None:
    rules = Rules(**{**SHORT, **WIDOW[name][0]})

    def wanted(game: Game, viewer: int) -> bool:
        if phase == "bound":
            return bound_seats(game, viewer) > 0
        if phase == "play":
            return len(game.tricks) > 0
        return game.phase == phase and (phase != "discard" or game._public["discarded"].any())

    check_uniform(*find_position(rules, wanted))


@pytest.mark.parametrize("phase", ["exchange", "discard", "play"])
def test_what_was_dealt_is_drawn_by_its_histories(phase: str) -> None:
    """The cards that another was dealt, drawn as often as there are ways to come from them to what can be seen."""
    rules = Rules(
        players=2, ranks="TJ", hand_size=3, keep=2, widow="exchange", exchange=2, trump="named", max_bid=2, target=None
    )

    def wanted(game: Game, viewer: int) -> bool:
        return game.phase == phase and game.exchanged[1 - viewer] > 0 and game.deals_played == 0

    game, viewer, _ = find_position(rules, wanted)
    other = 1 - viewer
    drawing = (game.phase, game.actor) == ("exchange", other)
    number, put_away = game.exchanged[other], len(game.discards(other))
    played = {card for _, cards in [*game.tricks, (0, game.trick)] for seat, card in cards if seat == other}
    unseen = [*unseen_cards(game, viewer), *played]
    weights: Counter = Counter()
    for dealt in combinations(unseen, rules.hand_size):
        for exchanged in combinations(dealt, number):
            rest = [card for card in unseen if card not in dealt]
            for drawn in combinations(rest, 0 if drawing else number):
                has = [card for card in (*dealt, *drawn) if card not in exchanged]
                for discards in combinations(has, put_away - number):
                    hand = set(has) - set(discards) - played
                    if played <= set(has) - set(discards) and plays_are_legal(game, other, tuple(hand)):
                        weights[frozenset(hand), frozenset(discards + exchanged), frozenset(dealt)] += 1
    counts: Counter = Counter()
    for chance in range(6 * len(weights)):
        game_drawn = game.determinize(viewer, chance)
        counts[tuple(frozenset(getattr(game_drawn, pile)(other)) for pile in ("hand", "discards", "dealt"))] += 1
    assert abs(chi_square(counts, weights)) < 4


def test_the_widow_lies_in_any_order() -> None:
    rules = Rules(
        players=2, ranks="TJ", hand_size=2, keep=2, widow="exchange", exchange=2, trump="named", max_bid=2, target=None
    )
    game = Game(rules, seed=1, deals=1)
    while game.phase == "bid":
        game.apply(game.legal()[-1])
    game.apply("trump C")
    assert len(game.widow) == 4
    viewer = int(game.actor or 0)
    counts = Counter(tuple(game.determinize(viewer, chance).widow) for chance in range(6000))
    assert abs(chi_square(counts, dict.fromkeys(permutations(unseen_cards(game, viewer), 4), 1))) < 4


def test_full_deck() -> None:
    """With 52 cards and three bound hands: how many cards of a suit a hand gets, against counting."""
    rules = VARIANTS["money-5"]
    hands = ["AS KS 2C 3C 4C 5C", "QS 6C 7C 8C 9C TC", "2D 3D 4D 5D 6D 7D", "2H 3H 4H 5H 6H 7H", "8D 9D TD JD QD KD"]
    game = Game.from_deal(rules, [hand.split() for hand in hands], dealer=4)
    for action in ("moon", "AS", "QS", "2D", "2H", "8D"):
        game.apply(action)
    # Of 42 unseen cards 10 are spades. Seats 2, 3 and 4 have none, and 5 cards each; seat 1 has 5 of anything.
    unseen = unseen_cards(game, 0)
    assert len(unseen) == 42
    assert sum(card[1] == "S" for card in unseen) == 10
    spades = Counter(sum(card[1] == "S" for card in game.determinize(0, chance).hand(1)) for chance in range(4000))
    weights = {number: comb(10, number) * ways_of_the_rest(32, 5 - number) for number in range(6)}
    assert abs(chi_square(spades, weights)) < 4


def ways_of_the_rest(plain: int, taken: int) -> int:
    """Ways to deal ``taken`` cards to one hand and then 5 each to three others, of so many plain cards."""
    return comb(plain, taken) * comb(plain - taken, 5) * comb(plain - taken - 5, 5) * comb(plain - taken - 10, 5)
