"""The engine against the plain rules of ``plain.py``, step by step, under rules of every kind."""

import random
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lockstep import play_in_lockstep
from plain import CARD_POINTS, WORTH, deck
from strategies import RANKS, VARIANTS, any_rules, chi_square, examples, positions, random_step, seeds, walk

from pitch_env import Game, IllegalAction, Rules, VectorGame, engine
from pitch_env.actions import NUM_ACTIONS
from pitch_env.cards import card_text, mask_of, parse_card
from pitch_env.rules import pack

each_variant = pytest.mark.parametrize("rules", VARIANTS.values(), ids=VARIANTS)


@examples(3)
@given(any_rules(), seeds, seeds)
def test_plays_as_the_pages_say(rules: Rules, seed: int, chance: int) -> None:
    play_in_lockstep(rules, seed, chance)


@given(any_rules(), seeds, seeds)
def test_results_add_up(rules: Rules, seed: int, chance: int) -> None:
    game = Game(rules, seed, deals=1)
    for _ in walk(game, random.Random(chance)):
        pass
    result = game.last_deal
    assert result is not None
    assert sum(result.points) == sum(WORTH.get(item, 1) for item in result.items)
    assert 0 <= sum(result.points) <= rules.max_points
    assert all(0 <= team < rules.teams for team in result.items.values())
    if result.pitcher is None:
        return
    assert len(result.tricks) == rules.keep
    assert all(len(cards) == rules.players for _, cards in result.tricks)
    played = [card for _, cards in result.tricks for _, card in cards]
    assert sum(result.card_points) == sum(CARD_POINTS.get(card[0], 0) for card in played)
    team = rules.team_of(result.pitcher)
    for each in range(rules.teams):
        if each != team or result.made:
            assert result.score_change[each] == result.points[each]
    if not result.made and result.bid is not None:
        assert result.score_change[team] == -(rules.moon_value if result.bid == "moon" else int(result.bid))


@given(positions())
def test_a_refused_action_changes_nothing(game: Game) -> None:
    before, legal = game.to_bytes(), set(game.legal_ids())
    for action in range(NUM_ACTIONS):
        if action not in legal:
            with pytest.raises(IllegalAction):
                game.apply(action)
            assert game.to_bytes() == before
    for nonsense in (-1, NUM_ACTIONS, "", "1S", "AS AS", None, 1.5, True, "trump"):
        with pytest.raises(IllegalAction):
            game.apply(nonsense)  # type: ignore[arg-type]
    assert game.to_bytes() == before


@given(any_rules(), seeds)
def test_nothing_is_legal_when_the_game_is_over(rules: Rules, seed: int) -> None:
    game = Game(rules, seed, deals=1)
    for _ in walk(game, random.Random(seed)):
        pass
    assert game.legal() == game.legal_ids() == []
    before = game.to_bytes()
    for action in range(NUM_ACTIONS):
        with pytest.raises(IllegalAction, match="the game is over"):
            game.apply(action)
    assert game.to_bytes() == before


# The rows of the table in rules.md, 5, typed out: trump hearts, clubs or hearts led, and three hands.
FOLLOW_TABLE = [
    ("may_trump", "5C", "9C 2H 8D", "9C 2H"),
    ("may_trump", "5C", "2H 8D 9S", "2H 8D 9S"),
    ("may_trump", "5H", "9C 2H 8D", "2H"),
    ("may_trump", "5H", "9C 8D 9S", "9C 8D 9S"),
    ("must_follow", "5C", "9C 2H 8D", "9C"),
    ("must_follow", "5C", "2H 8D 9S", "2H 8D 9S"),
    ("must_follow", "5H", "9C 2H 8D", "2H"),
    ("must_trump", "5C", "9C 2H 8D", "9C 2H"),
    ("must_trump", "5C", "2H 8D 9S", "2H"),
    ("must_trump", "5C", "8D 9S 8S", "8D 9S 8S"),
    ("must_trump", "5H", "9C 2H 8D", "2H"),
    # The jack of diamonds and the jokers are trumps, led and held.
    ("may_trump", "JD", "9C 2H 8D", "2H"),
    ("may_trump", "JD", "9C -J 8D", "-J"),
    ("may_trump", "5D", "9C JD 8D", "JD 8D"),
    ("may_trump", "5D", "9C JD 8S", "9C JD 8S"),
    ("must_follow", "5D", "9C JD 8D", "8D"),
    ("must_follow", "5D", "9C JD 8S", "9C JD 8S"),
    ("must_follow", "+J", "9C JD 8S", "JD"),
    ("must_trump", "5D", "9C JD 8S", "JD"),
    ("must_trump", "5D", "9C +J 8S", "+J"),
]


@pytest.mark.parametrize(("follow", "led", "hand", "legal"), FOLLOW_TABLE)
def test_the_table_of_following(follow: str, led: str, hand: str, legal: str) -> None:
    rules = Rules.preset("oklahoma", widow="none", hand_size=3, players=4, follow=follow)
    cards = set(deck(rules)) - {led, *hand.split()}
    spare = sorted(cards)
    hands = [[led, *spare[:2]], hand.split(), spare[2:5], spare[5:8]]
    game = Game.from_deal(rules, hands, dealer=3)
    for action in ("2", "pass", "pass", "pass", "trump H", led):
        game.apply(action)
    assert game.actor == 1
    assert set(game.legal()) == set(legal.split())


def test_thrown_in_deals_pass_on() -> None:
    rules = Rules.preset("oklahoma", forced_bid="throw_in")
    game = Game(rules, seed=1, deals=3)
    for deal in range(3):
        dealer, hands = game.dealer, [game.hand(seat) for seat in range(4)]
        for _ in range(4):
            assert "pass" in game.legal()
            game.apply("pass")
        assert game.deals_played == deal + 1
        assert game.last_deal is not None
        assert game.last_deal.dealer == dealer
        if deal < 2:
            assert game.dealer == (dealer + 1) % 4
            assert [game.hand(seat) for seat in range(4)] != hands
    assert game.phase == "over"
    assert game.scores == [0, 0]
    assert game.winner is None


# Dealing.


def dealt(batch: VectorGame) -> np.ndarray:
    """[N, players, 54] whether the seat was dealt the card."""
    masks = batch.states["dealt"][:, : batch.players]
    return (masks[:, :, None] >> np.arange(54)) & 1 == 1


@pytest.mark.parametrize("name", ["money-4", "auction-7", "oklahoma", "oklahoma-6", "short"])
def test_dealers_and_deals_are_uniform(name: str) -> None:
    rules, games = VARIANTS[name], 20_000
    batch = VectorGame(rules, games, seed=20)
    dealers = Counter(batch.states["public"]["dealer"].tolist())
    assert abs(chi_square(dealers, dict.fromkeys(range(rules.players), 1))) < 4
    owned = dealt(batch)
    assert (owned.sum(2) == rules.hand_size).all()
    for seat in range(rules.players):
        cards = Counter(np.nonzero(owned[:, seat])[1].tolist())
        # The cards of a hand exclude each other, so the counts vary less than independent ones.
        assert chi_square(cards, dict.fromkeys(rules.deck, 1)) < 4
    # Two cards: who of the seats (or the rest) has the one, who the other.
    holder = np.where(owned.any(1), owned.argmax(1), rules.players)
    first, second = rules.deck[0], rules.deck[-1]
    sizes = [rules.hand_size] * rules.players + ([rules.widow_size] if rules.widow_size else [])
    total, statistic = len(rules.deck), 0.0
    for one in range(len(sizes)):
        for other in range(len(sizes)):
            expected = games * sizes[one] * (sizes[other] - (one == other)) / (total * (total - 1))
            seen = ((holder[:, first] == one) & (holder[:, second] == other)).sum()
            statistic += (seen - expected) ** 2 / expected if expected else float(seen)
    cells = len(sizes) ** 2 - 1
    assert abs(statistic - cells) < 5 * (2 * cells) ** 0.5


def tiny_deals() -> list[tuple[int, int]]:
    """The 90 deals of two hands of two from six cards, as masks."""
    pairs = [mask_of(pair) for pair in combinations(VARIANTS["tiny"].deck, 2)]
    return [(one, other) for one in pairs for other in pairs if not one & other]


def test_every_tiny_deal_is_equally_likely() -> None:
    batch = VectorGame(VARIANTS["tiny"], 90_000, seed=5)
    columns = (batch.states["dealt"][:, 0], batch.states["dealt"][:, 1], batch.states["public"]["dealer"])
    counts = Counter(zip(*(column.tolist() for column in columns), strict=True))
    assert abs(chi_square(counts, {(*deal, dealer): 1 for deal in tiny_deals() for dealer in range(2)})) < 4


def test_following_deals_are_uniform_too() -> None:
    batch, rng = VectorGame(VARIANTS["tiny"], 20_000, seed=6, deals=4), np.random.default_rng(1)
    counts: Counter = Counter()
    while batch.states["public"]["deals"].max() < 2:
        batch.step(batch.random_actions(rng))
        fresh = batch.ended & ~batch.done
        counts.update(zip(*(batch.states["dealt"][fresh, seat].tolist() for seat in range(2)), strict=True))
    assert abs(chi_square(counts, dict.fromkeys(tiny_deals(), 1))) < 4


@pytest.mark.parametrize("packet", [1, 2, 3, 4, 9])
def test_packets(packet: int) -> None:
    """Packets go round from the dealer's left, and the rest of the deck is the widow from its top."""
    rules = Rules.preset("oklahoma", packet=packet)
    batch, record = VectorGame(rules, 20, seed=3), pack(rules)[0]
    for state in batch.states:
        before = np.array([state])
        shuffled, dealt_out = before.copy(), before.copy()
        engine.shuffle(record, shuffled[0])
        engine.next_deal(record, dealt_out[0])
        order = [card_text(card) for card in shuffled[0]["deck"]]
        hands: list[list[str]] = [[], [], [], []]
        seat = (int(state["public"]["dealer"]) + 2) % 4
        while len(hands[seat]) < 9:
            size = min(packet, 9 - len(hands[seat]))
            hands[seat] += order[:size]
            order = order[size:]
            seat = (seat + 1) % 4
        assert [mask_of(map(parse_card, hand)) for hand in hands] == dealt_out[0]["hands"][:4].tolist()
        assert order == [card_text(card) for card in dealt_out[0]["deck"][:18]]


@each_variant
@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1])
def test_same_seed_same_game(rules: Rules, seed: int) -> None:
    first, second, batch = Game(rules, seed, deals=2), Game(rules, seed, deals=2), VectorGame(rules, 1, seed, deals=2)
    assert first.to_bytes() != Game(rules, seed ^ 1, deals=2).to_bytes()
    rng = random.Random(seed)
    while first.actor is not None:
        assert first == second
        assert batch.states.tobytes() == first._states.tobytes()
        action = random_step(first, rng)
        first.apply(action)
        second.apply(action)
        batch.step(np.array([action]))
    assert first == second
    assert batch.done[0]


def test_seeds_keep_their_games() -> None:
    """The same seed gives the same deal in every version and on every machine."""
    game = Game(Rules.preset("auction"), seed=7)
    assert game.dealer == 3
    assert " ".join(game.hand(0)) == "2C 7C 9D 8S 9S JS"
    assert " ".join(game.hand(3)) == "AC QD 6H 7H 3S 4S"
    game = Game(Rules.preset("oklahoma"), seed=7)
    assert " ".join(game.hand(0)) == "4C AC 3H 4H 6H 9H KH 9S TS"
    assert " ".join(game.widow[:6]) == "7D 4S QD AD AS 9D"


# The end of a game (rules.md, 7): scores before, and who wins after a deal in which seat 0 is the pitcher.

SPADES, HEARTS = "AS KS QS JS TS 9H", "AH KH QH JH TH 9S"
OTHERS = ["2C 3C 4C 5C 6C 7C", "2D 3D 4D 5D 6D 7D"]
MADE, SET = "4 AS", "2 pass pass pass 9H"  # seat 0 wins all four points; or seat 1 does, and seat 0 loses 2

ENDINGS = [
    ("pitcher", "pitcher", MADE, [3, 0, 0, 0], 0),
    ("pitcher", "pitcher", MADE, [2, 0, 0, 0], None),
    ("pitcher", "pitcher", MADE, [2, 9, 0, 0], None),  # seat 1 has enough, and was not the pitcher
    ("pitcher", "pitcher", MADE, [3, 9, 0, 0], 0),  # the winner has less than a loser
    ("pitcher", "pitcher", SET, [9, 3, 0, 0], 0),
    ("maker", "pitcher", SET, [9, 3, 0, 0], None),
    ("maker", "pitcher", MADE, [3, 9, 0, 0], 0),
    ("any", "pitcher", MADE, [3, 12, 0, 0], 0),
    ("any", "pitcher", MADE, [3, 7, 0, 0], 0),
    ("any", "pitcher", MADE, [0, 8, 9, 0], 2),
    ("any", "pitcher", MADE, [0, 9, 9, 8], None),
    ("any", "pitcher", SET, [1, 3, 0, 0], 1),
    ("any", "pitcher", SET, [9, 6, 0, 0], 0),
    ("any", "highest", MADE, [3, 12, 0, 0], 1),
    ("any", "highest", MADE, [3, 7, 0, 0], None),
    ("any", "highest", MADE, [4, 7, 0, 0], 0),
    ("any", "highest", SET, [9, 6, 0, 0], 1),
]


@pytest.mark.parametrize(("winner", "both_out", "actions", "scores", "expected"), ENDINGS)
def test_who_wins_the_game(winner: str, both_out: str, actions: str, scores: list[int], expected: int | None) -> None:
    rules = Rules.preset("auction", winner=winner, both_out=both_out)
    hands = [hand.split() for hand in (SPADES, HEARTS, *OTHERS)]
    game = Game.from_deal(rules, hands, dealer=3, scores=scores, deals=2)
    for action in actions.split():
        game.apply(action)
    while game.deals_played == 0:
        game.apply(game.legal()[-1])
    result = game.last_deal
    assert result is not None
    assert result.score_change == ([4, 0, 0, 0] if result.made else [-2, 4, 0, 0])
    assert game.scores == [before + change for before, change in zip(scores, result.score_change, strict=True)]
    assert game.winner == expected
    assert (game.phase == "over") == (expected is not None)


def test_a_moon() -> None:
    """Made with all four points and all tricks; not without the jack, or with one trick lost."""
    rules = Rules.preset("money")
    for swap, made in ((None, True), (("JS", "8S"), False), (("9S", "9H"), False)):
        own = ["AS", "KS", "QS", "JS", "TS", "9S"]
        others = ["AH", "KH", "QH", "JH", "TH", "9H"]
        if swap:
            own[own.index(swap[0])] = swap[1]
            if swap[1] in others:
                others[others.index(swap[1])] = swap[0]
        game = Game.from_deal(rules, [own, others, *(hand.split() for hand in OTHERS)], dealer=3)
        game.apply("moon")
        while game.actor is not None:
            game.apply(next(card for card in ("AS", "KS", "AH", "9H", game.legal()[-1]) if card in game.legal()))
        assert game.last_deal is not None
        assert (game.last_deal.bid, game.last_deal.made, game.last_deal.moon) == ("moon", made, made)
        assert game.last_deal.score_change[0] == (4 if made else -4)


def test_max_points_of_the_presets() -> None:
    points = {name: Rules.preset(name).max_points for name in Rules.presets()}
    assert points == {"money": 4, "auction": 4, "auction_pairs": 4, "oklahoma": 7}
    assert Rules.preset("oklahoma", three=True).max_points == 10
    assert Rules.preset("auction", ranks=RANKS[:6]).max_points == 2


@pytest.mark.parametrize("target", [1, 7])
@given(chance=st.integers(0, 2**32))
def test_games_end_by_the_target_or_the_deals(target: int, chance: int) -> None:
    rules = Rules.preset("auction", target=target, players=2)
    game = Game(rules, chance, deals=4)
    for _ in walk(game, random.Random(chance)):
        assert game.deals_played < 4
        assert game.winner is None
    assert game.deals_played <= 4
    assert game.winner is not None or game.deals_played == 4
    if game.winner is not None:
        assert game.last_deal is not None
        assert game.last_deal.pitcher == game.winner
        assert game.scores[game.winner] >= target
