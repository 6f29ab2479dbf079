"""The rule-based players: legal everywhere, alike alone and in any batch, and in the right order of strength."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import VARIANTS, any_rules

from agents import load
from agents.baselines import BASELINES, rows_by_rules
from agents.evaluation import duplicate_match
from pitch_env import Game, Rules, VectorGame
from pitch_env.actions import action_text
from pitch_env.cards import RANKS, SUITS, mask_of, parse_card
from pitch_env.rules import pack
from pitch_env.state import Phase

ALL_TEXTS = [rank + suit for suit in SUITS for rank in RANKS]

PRESETS = {
    "money": Rules.preset("money"),
    "money-2": Rules.preset("money", players=2),
    "money-6": Rules.preset("money", players=6),
    "auction": Rules.preset("auction"),
    "auction-2": Rules.preset("auction", players=2),
    "auction-7": Rules.preset("auction", players=7),
    "pairs": Rules.preset("auction_pairs"),
    "oklahoma": Rules.preset("oklahoma"),
    "oklahoma-6": Rules.preset("oklahoma", players=6),
    "oklahoma-three": Rules.preset("oklahoma", three=True),
}


def choice(game, name="expert", as_type=np.float32):
    """The action, as text, that a baseline takes in a game."""
    observation = game.observation(game.actor)[None].astype(as_type)
    action = load(name).act(observation, game.legal_mask()[None], np.random.default_rng(0))
    return action_text(int(action[0]))


def position(rules, hands, actions, dealer=0, widow=()):
    """A game after some actions, written as one string."""
    game = Game.from_deal(rules, [hand.split() for hand in hands], widow, dealer=dealer)
    for action in actions.split():
        game.apply(action)
    return game


# Legality.


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_action_is_legal_in_states_of_random_play(variant):
    batch = VectorGame(VARIANTS[variant], 60, seed=1)
    rng = np.random.default_rng(2)
    for _ in range(90):
        for name in BASELINES:
            actions = load(name).act(batch.observation, batch.mask, rng)
            assert actions.dtype == np.int64
            assert batch.mask[np.arange(60), actions].all(), name
        batch.step(batch.random_actions(rng))


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_action_is_legal_in_its_own_play(variant):
    for name in ("greedy", "expert", "memoryless"):
        batch = VectorGame(VARIANTS[variant], 40, seed=3, deals=2)
        rng = np.random.default_rng(4)
        for _ in range(120):
            batch.step(load(name).act(batch.observation, batch.mask, rng))  # refuses what is not legal


@given(any_rules(), st.integers(0, 2**32))
@settings(max_examples=60)
def test_every_action_is_legal_under_any_rules(rules, seed):
    game = Game(rules, seed=seed, deals=1)
    rng = np.random.default_rng(seed)
    while game.actor is not None:
        for name in BASELINES:
            assert choice(game, name) in game.legal()
        game.apply(choice(game, "expert") if rng.random() < 0.5 else int(rng.choice(game.legal_ids())))


# Batches.


@pytest.fixture(scope="module")
def mixed():
    """A batch of all variants, padded to the widest, in the middle of deals."""
    batch = VectorGame(list(VARIANTS.values()), 10 * len(VARIANTS), seed=5)
    rng = np.random.default_rng(6)
    batches = []
    for step in range(24):
        batch.step(batch.random_actions(rng))
        if step % 6 == 5:
            batches.append((batch.observation.copy(), batch.mask.copy()))
    return np.concatenate([each[0] for each in batches]), np.concatenate([each[1] for each in batches])


@pytest.mark.parametrize("name", ["greedy", "expert", "memoryless", "bold"])
def test_a_mixed_batch_is_row_by_row(name, mixed):
    observation, mask = mixed
    agent, rng = load(name), np.random.default_rng(0)
    together = agent.act(observation, mask, rng)
    alone = [agent.act(observation[i : i + 1], mask[i : i + 1], rng)[0] for i in range(len(mask))]
    assert (together == alone).all()


@pytest.mark.parametrize("name", ["greedy", "expert"])
def test_neither_the_type_nor_chance_nor_another_time_changes_a_choice(name, mixed):
    observation, mask = mixed
    first = load(name).act(observation, mask, np.random.default_rng(0))
    assert (
        load(name).act(observation.astype(np.float32), mask.astype(np.int8), np.random.default_rng(1)) == first
    ).all()


def test_the_rows_of_a_mixed_batch_are_found(mixed):
    observation, _ = mixed
    found = list(rows_by_rules(observation))
    assert len(found) == len({*VARIANTS.values()})
    assert sorted(np.concatenate([rows for _, rows in found])) == list(range(len(observation)))
    variants = list(VARIANTS.values())
    for rules, rows in found:
        assert all(variants[row % len(variants)] == rules for row in rows)


def test_an_empty_batch_is_no_actions():
    for name in BASELINES:
        actions = load(name).act(np.zeros((0, 500), np.uint8), np.zeros((0, 71), bool), np.random.default_rng(0))
        assert actions.shape == (0,)


@pytest.mark.parametrize("name", BASELINES)
def test_what_is_not_a_batch_is_refused(name):
    batch = VectorGame(Rules.preset("auction"), 4)
    rng = np.random.default_rng(0)
    mask = batch.mask.copy()
    mask[2] = False
    with pytest.raises(ValueError, match="row 2 has no legal action"):
        load(name).act(batch.observation, mask, rng)
    with pytest.raises(ValueError, match=r"\(4, 70\)"):
        load(name).act(batch.observation, batch.mask[:, :70], rng)


def test_random_is_uniform_over_the_legal_actions():
    batch = VectorGame(Rules.preset("oklahoma"), 1, seed=3)
    mask = np.repeat(batch.mask, 20000, axis=0)
    actions = load("random").act(np.repeat(batch.observation, 20000, axis=0), mask, np.random.default_rng(1))
    counts = np.bincount(actions, minlength=71)
    legal = np.flatnonzero(batch.mask[0])
    expected = 20000 / len(legal)
    assert counts.sum() == counts[legal].sum()
    assert ((counts[legal] - expected) ** 2 / expected).sum() < len(legal) + 5 * np.sqrt(2 * len(legal))


@pytest.mark.parametrize("variant", ["money-4", "pairs", "oklahoma", "oklahoma-6"])
def test_hidden_cards_do_not_change_a_choice(variant):
    game = Game(VARIANTS[variant], seed=11, deals=1)
    rng = np.random.default_rng(12)
    while game.actor is not None:
        action = choice(game)
        assert all(choice(game.determinize(game.actor, rng)) == action for _ in range(3))
        game.apply(action)


# Strength.


@pytest.mark.parametrize("name", PRESETS)
def test_greedy_beats_random(name):
    assert duplicate_match(PRESETS[name], load("greedy"), load("random"), 250, seed=1).clear


@pytest.mark.parametrize("name", PRESETS)
def test_expert_beats_greedy(name):
    match = duplicate_match(PRESETS[name], load("expert"), load("greedy"), 500, seed=2)
    assert match.clear
    assert 0.6 < match.made < 0.97  # bids what the hand makes, and not so timidly that it makes it always


# Styles.


@pytest.mark.parametrize("name", PRESETS)
def test_the_bold_bid_more_than_the_expert_and_the_cautious_less_and_neither_is_as_weak_as_greedy(name):
    rules, expert = PRESETS[name], load("expert")
    bold, cautious, greedy = (
        duplicate_match(rules, load(style), expert, 300, seed=3) for style in ("bold", "cautious", "greedy")
    )
    usual = 1 / rules.teams  # in duplicate deals the expert against itself is the pitcher exactly so often
    assert bold.pitched > 1.1 * usual
    assert cautious.pitched < 0.9 * usual
    assert bold.made < cautious.made
    assert greedy.high < min(bold.low, cautious.low)
    assert max(bold.low, cautious.low) < 0  # not clearly better than the expert


@pytest.mark.parametrize("name", ["money-2", "oklahoma"])
def test_memory_is_worth_something(name):
    assert duplicate_match(PRESETS[name], load("expert"), load("memoryless"), 1000, seed=4).clear


def test_styles_differ_from_the_expert_in_what_they_are_named_for_only():
    batch = VectorGame(Rules.preset("auction"), 400, seed=6)
    rng, differ = np.random.default_rng(7), dict.fromkeys(("bold", "cautious", "memoryless"), 0)
    for _ in range(40):
        actions = {name: load(name).act(batch.observation, batch.mask, rng) for name in ("expert", *differ)}
        bidding = batch.phase == Phase.BID
        for name in differ:
            other = actions[name] != actions["expert"]
            assert not other[bidding if name == "memoryless" else ~bidding].any()
            differ[name] += other.sum()
        batch.step(actions["expert"])
    assert min(differ.values()) > 50


def with_other_tricks(hands, actions, hidden, rng):
    """The same deal with a card of a finished trick and one that ``hidden`` does not name in each other's place."""
    gone = [card for card in actions if card in ALL_TEXTS and card not in hidden]
    if not gone:
        return None
    first, second = rng.choice(gone), rng.choice([card for card in ALL_TEXTS if card not in hidden])
    swap = {first: second, second: first}
    return [[swap.get(card, card) for card in hand] for hand in hands], [swap.get(card, card) for card in actions]


@pytest.mark.parametrize(
    "rules",
    [
        Rules.preset("money"),
        Rules.preset("auction", players=2),
        Rules.preset("auction_pairs"),
        Rules.preset("oklahoma", jokers=0, widow="none", hand_size=6),
    ],
    ids=["money", "auction-2", "pairs", "oklahoma"],
)
def test_what_was_played_before_this_trick_does_not_change_what_the_memoryless_does(rules):
    rng, compared, remembered = np.random.default_rng(8), 0, 0
    for seed in range(60):
        game = Game(rules, seed=seed, deals=1)
        hands, dealer, actions = [game.hand(seat) for seat in range(rules.players)], game.dealer, []
        for _ in range(int(rng.integers(rules.players * 6 + 4))):
            if len(game.legal()) == 1 and game.phase == "play" and len(game.hand(game.actor)) == 1:
                break
            actions.append(choice(game))
            game.apply(actions[-1])
        for _ in range(20):
            kept = [*game.hand(game.actor), *(card for _, card in game.trick)]
            other = with_other_tricks(hands, actions, kept, rng)
            if other is None:
                break
            twin = replayed(rules, other, dealer)
            if twin is None or (twin.actor, twin.trick, twin.trump) != (game.actor, game.trick, game.trump):
                continue
            assert twin.hand(twin.actor) == game.hand(game.actor)
            assert choice(twin, "memoryless") == choice(game, "memoryless")
            compared += 1
            remembered += choice(twin) != choice(game)
    assert compared > 100
    assert remembered > 0  # the expert does remember


def replayed(rules, deal, dealer):
    """The game after some actions, or None where one of them is not legal."""
    hands, actions = deal
    game = Game.from_deal(rules, hands, dealer=dealer)
    for action in actions:
        if action not in game.legal():
            return None
        game.apply(action)
    return game


# Situations.


def test_the_dealer_steals_with_a_strong_hand_and_passes_with_a_weak_one():
    others = ["9C TC 4D 6D 3H TH", "3C 4C 8D 9D 6H 7H", "KC QC TD JD 8H QH"]
    strong = position(Rules.preset("auction"), ["AS KS JS 2S 5D 7C", *others], "2 pass pass")
    assert strong.actor == strong.dealer
    assert choice(strong) == "2"
    weak = position(Rules.preset("auction"), ["4S 6S 7D 9H 3D 8C", *others], "2 pass pass")
    assert choice(weak) == "pass"


def test_a_hand_without_the_ace_is_not_bid_on_the_hope_that_it_is_out():
    hands = ["QS 9S 5H 7D 8C 3C", "9C TC 4D 6D 3H TH", "4C 6C 8D 9D 6H 7H", "KC QC TD JD 8H QH"]
    assert choice(position(Rules.preset("money"), hands, "", dealer=3)) == "pass"


def test_the_moon_is_bid_when_it_is_sure():
    hands = ["AS KS QS JS TS 2S", "9C TC 4D 6D 3H TH", "3C 4C 8D 9D 6H 7H", "KC QC TD JD 8H QH"]
    assert choice(position(Rules.preset("money"), hands, "", dealer=3)) == "moon"


def test_no_ace_is_wasted_on_an_empty_trick():
    hands = ["AS 9S 5C 6D 8D 9H", "QS 2S 6C 7H 8H 4D", "3S 7C 2D 3D 5H 6H", "4S 8C 9D 2H 3H 7D"]
    game = position(Rules.preset("auction"), hands, "2 pass pass pass QS 3S 4S 9S 6C 7C 8C")
    assert game.actor == 0
    assert choice(game) == "5C"


def test_the_ten_goes_to_the_partners_sure_trick():
    hands = ["TS 6S 4D 9D 3H 5H", "9C KC 7D 8D 6H 7H", "AS JS 2C 3C QD KD", "3S 4S 8C QC TD TH"]
    game = position(Rules.preset("auction_pairs"), hands, "pass 3 pass pass AS 3S", dealer=0)
    assert game.actor == 0
    assert choice(game) == "TS"


def test_the_jack_is_kept_from_a_higher_trump():
    hands = ["JS 5S 4D 9D 3H 5H", "QS KS 7D 8D 6H 7H", "AS 7S 2C 3C QD KD", "3S 4S 8C QC TD TH"]
    game = position(Rules.preset("auction"), hands, "pass 2 pass pass AS 3S")
    assert choice(game) == "5S"


def test_the_two_goes_home_in_a_trick_that_it_wins():
    hands = ["8S 2S 5C 4D 3H 5H", "QS KS 4C 8D 6H 7H", "JH 7S KC 3C QD KD", "3S 4S 8C QC TD TC"]
    game = position(Rules.preset("auction"), hands, "2 pass pass pass QS 7S 3S 8S 4C KC TC")
    assert game.actor == 0
    assert choice(game) == "2S"


def test_the_highest_trump_out_is_led_while_there_is_something_to_catch():
    hands = ["AS KS QS 3S 4D 9D", "9S 2C 4C 8D 6H 7H", "JS 8S TC 3C QD KD", "5S 4S 8C QC TD JC"]
    game = position(Rules.preset("auction"), hands, "pass pass pass 3 AS 9S 8S 4S")
    assert game.actor == 0
    assert choice(game) in ("KS", "QS")  # equals, while he holds both


def test_trumps_are_kept_when_discarding():
    for seed in range(6):
        rules = Rules.preset("oklahoma")
        game = Game(rules, seed=seed, deals=1)
        while game.phase != "play":
            game.apply(choice(game))
        trumps = int(pack(rules)[0]["trumps"]["CDHS".index(game.trump)])
        for seat in range(4):
            kept, thrown = (mask_of(map(parse_card, cards)) for cards in (game.hand(seat), game.discards(seat)))
            assert not thrown & trumps or not kept & ~trumps


def test_the_score_matters_when_a_bid_would_win_the_game():
    hands = ["QS TS 4H 5D 3H 7C", "9C TC 4D 6D 2H TH", "3C 4C 8D 9D 6H 7H", "KC QC TD JD 8H QH"]
    deal = [hand.split() for hand in hands]
    calls = {}
    for scores in ([0, 0, 0, 0], [0, 0, 0, 5], [5, 0, 0, 0]):
        game = Game.from_deal(Rules.preset("auction"), deal, dealer=0, scores=scores)
        for action in ("pass", "pass", "2"):
            game.apply(action)
        calls[tuple(scores)] = choice(game)
    assert calls == {(0, 0, 0, 0): "pass", (0, 0, 0, 5): "2", (5, 0, 0, 0): "2"}


@pytest.mark.parametrize("agent", [None, 5, "", b"greedy", ["greedy"]])
def test_what_is_no_name_of_an_agent_is_refused_with_the_names_there_are(agent):
    with pytest.raises(ValueError, match=re.escape(f"no agent {agent!r}; it is the path of") + ".* random, greedy"):
        load(agent)
