"""The OpenSpiel game: its own tests and algorithms run on it, and it says and knows what it should."""

import pickle
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict
from math import comb
from pathlib import Path

import numpy as np
import pytest

pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")

from open_spiel.python import policy, rl_environment  # noqa: E402
from open_spiel.python.algorithms import (  # noqa: E402
    exploitability,
    external_sampling_mccfr,
    generate_playthrough,
    get_all_states,
    ismcts,
    mcts,
)

from pitch_env import Rules  # noqa: E402
from pitch_env.open_spiel_game import load  # noqa: E402

SHORT = dict(players=2, ranks="TJ", suits="CD", hand_size=1)
WIDOW = dict(players=2, ranks="TJ", suits="CD", hand_size=1, keep=1, exchange=1, trump="named", widow="exchange")
DISCARDS = dict(
    players=2, ranks="234567", suits="C", hand_size=3, keep=1, trump="named", widow="unused", min_bid=2, max_bid=2
)


def random_state(game, rng: random.Random, actions: int | None = None):
    """A state after so many actions of players, or the end."""
    state = game.new_initial_state()
    while not state.is_terminal() and (actions is None or actions > 0 or state.is_chance_node()):
        if state.is_chance_node():
            outcomes, chances = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(rng.choices(outcomes, chances)[0])
        else:
            state.apply_action(rng.choice(state.legal_actions()))
            actions = None if actions is None else actions - 1
    return state


def every_state(game):
    return get_all_states.get_all_states(game, include_chance_states=True, include_terminals=True)


# OpenSpiel's own tests.


@pytest.mark.parametrize(
    "name",
    [
        "pitch",
        "pitch(rules=money,players=5,utility=score)",
        "pitch(rules=oklahoma)",
        "pitch(rules=oklahoma,players=6,dealer=3)",
        "pitch(rules=oklahoma,widow=unused)",
        "pitch(rules=auction_pairs,deals=2,utility=win,forced_bid=throw_in)",
        "pitch(players=2,ranks=TJ,suits=CD,hand_size=1)",
    ],
)
def test_its_own_tests_pass(name):
    pyspiel.random_sim_test(pyspiel.load_game(name), num_sims=2, serialize=True, verbose=False)


@pytest.mark.parametrize("name", ["pitch(chance=sampled,rng_seed=1)", "pitch(rules=money,chance=sampled,deals=2)"])
def test_its_own_tests_pass_with_sampled_chance(name):
    # It does not serialise games in Python with sampled chance; states serialise alone, see below.
    pyspiel.random_sim_test(pyspiel.load_game(name), num_sims=2, serialize=False, verbose=False)


@pytest.mark.parametrize("name", ["pitch(players=3)", "pitch(rules=oklahoma,deals=2)"])
def test_playthrough(name):
    lines = generate_playthrough.playthrough(name, None, seed=1)
    assert "IsTerminal() = True" in lines
    assert 'StringLegalActions() = ["deal' in lines
    assert '"pass"' in lines
    assert lines == generate_playthrough.playthrough(name, None, seed=1)


# What it says of itself.


@pytest.mark.parametrize(
    ("parameters", "zero_sum"),
    [
        (dict(utility="relative"), True),
        (dict(rules="auction_pairs", utility="win"), True),
        (dict(utility="win"), False),
        (dict(utility="score"), False),
    ],
)
def test_utility_is_declared_honestly(parameters, zero_sum):
    game, rng, sums = load(**parameters, deals=12), random.Random(5), set()
    for _ in range(4):
        returns = random_state(game, rng).returns()
        sums.add(round(sum(returns), 9))
        assert all(game.min_utility() <= each <= game.max_utility() for each in returns)
    assert (game.get_type().utility == pyspiel.GameType.Utility.ZERO_SUM) == zero_sum
    assert (sums == {0}) == zero_sum


def test_chance_is_declared():
    assert load().get_type().chance_mode == pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC
    assert load(chance="sampled").get_type().chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC


@pytest.mark.parametrize("preset", Rules.presets())
def test_parameters_are_the_rules(preset):
    rules = Rules.preset(preset, ranks="2345", game="count", moon=False, max_bid=2, min_bid=1, target=None, hand_size=3)
    game = load(rules)
    assert game.rules == rules
    assert pyspiel.load_game(str(game)).rules == rules
    assert load(preset, steal=False).rules == Rules.preset(preset, steal=False)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("pitch(rules=whist)", "no preset 'whist'"),
        ("pitch(players=9)", "players=9 is not allowed"),
        ("pitch(chance=some)", "chance='some' is not allowed; explicit or sampled"),
        ("pitch(dealer=4)", "dealer=4 is not allowed; seats are 0 to 3"),
        ("pitch(deals=0)", "deals=0 is not allowed"),
        ("pitch(utility=money)", "utility='money' is not allowed"),
    ],
)
def test_bad_parameters_are_refused(name, says):
    with pytest.raises(ValueError, match=says.replace("(", r"\(")):
        pyspiel.load_game(name)


# Chance.


@pytest.mark.parametrize(("parameters", "deals"), [(SHORT, 12), (DISCARDS, 20), (WIDOW, 24)])
def test_every_deal_has_one_path_and_the_same_chance(parameters, deals):
    game, chances = load(**parameters), {}

    def walk(state, chance):
        if state.is_chance_node():
            for outcome, probability in state.chance_outcomes():
                walk(state.child(outcome), chance * probability)
        else:
            assert str(state) not in chances
            chances[str(state)] = chance

    walk(game.new_initial_state(), 1.0)
    assert len(chances) == 2 * deals
    np.testing.assert_allclose(list(chances.values()), 1 / (2 * deals))


def test_a_full_deck_is_dealt_evenly():
    """The first card of a hand is its lowest, so its chances are those of the lowest of six cards."""
    state = load(dealer=2).new_initial_state()
    chances = dict(state.chance_outcomes())
    assert len(chances) == 47
    for place, (_, chance) in enumerate(sorted(chances.items())):
        assert chance == pytest.approx(comb(51 - place, 5) / comb(52, 6))


def test_sampled_chance_deals_evenly_and_by_its_seed():
    def deals(seed, number):
        game = load(**SHORT, chance="sampled", rng_seed=seed)
        return [str(game.new_initial_state().child(0)) for _ in range(number)]

    numbers = Counter(deals(1, 960))
    assert len(numbers) == 24
    assert max(numbers.values()) < 70
    assert deals(1, 20) == deals(1, 20)
    assert deals(1, 20) != deals(2, 20)


# States.


@pytest.mark.parametrize("preset", Rules.presets())
def test_play_is_the_engine(preset):
    rng, game = random.Random(3), load(preset)
    state = random_state(game, rng)
    actions = [(item.player, item.action) for item in state.full_history()]
    dealt = [[state.game.dealt(seat) for seat in range(4)], state.game.dealer]
    twin = random_state(game, random.Random(3), 0).game.clone()
    assert [[twin.dealt(seat) for seat in range(4)], twin.dealer] == dealt
    for player, action in actions:
        if player >= 0:
            assert player == twin.actor
            twin.apply(action)
    assert twin.scores == state.game.scores
    change = twin.last_deal.score_change
    expected = [
        own - (sum(change) - own) / (len(change) - 1) for own in (change[game.rules.team_of(i)] for i in range(4))
    ]
    assert state.returns() == pytest.approx(expected)


@pytest.mark.parametrize("chance", ["explicit", "sampled"])
def test_copies_and_bytes(chance):
    game, rng = load("oklahoma", chance=chance, deals=2, rng_seed=4), random.Random(1)
    for actions in (0, 7, 30, 90):
        state = random_state(game, rng, actions)
        twin, read = state.clone(), game.deserialize_state(state.serialize())
        assert str(twin) == str(read) == str(state)
        assert read.history() == state.history()
        text = state.information_state_string(1)
        for copy in (twin, read):
            if not copy.is_terminal() and not copy.is_chance_node():
                copy.apply_action(copy.legal_actions()[0])
        assert state.information_state_string(1) == text
        assert str(twin) == str(read)
        if chance == "explicit":
            assert str(pickle.loads(pickle.dumps(state))) == str(state)


def test_a_game_of_several_deals():
    game = load("auction", deals=30, utility="win")
    rng = random.Random(2)
    state = random_state(game, rng)
    assert sorted(state.returns()) == [-1, -1, -1, 1]
    assert max(state.game.scores) >= 7
    assert not game.get_type().provides_information_state_tensor
    assert len(state.observation_tensor(0)) == game.observation_tensor_size()


def test_earlier_deals_are_remembered_and_the_deal_passes_on():
    game, rng = load("money", players=3, deals=2), random.Random(4)
    state = random_state(game, rng, 0)
    first = state.game.clone()
    while state.game is None or state.game.deals_limit == 2:
        actions = state.legal_actions()
        state.apply_action(rng.choice(actions))
    while state.is_chance_node():
        state.apply_action(rng.choice(state.legal_actions()))
    assert state.game.dealer == (first.dealer + 1) % 3
    past, now = state.information_state_string(1).split("\n")
    assert f"dealt={','.join(first.dealt(1))}" in past
    assert all(card in past for card in first.hand(0))  # all were played
    assert "plays= " in now
    assert "\n" not in state.observation_string(1)


# Information states.


@pytest.mark.parametrize(("parameters", "most"), [(SHORT, 6), (WIDOW, 2), (DISCARDS, 1)])
def test_information_states_recall_all_and_tell_no_more(parameters, most):
    """Equal information states have equal pasts, legal actions and tensors; different ones have different tensors."""
    game = load(**parameters, dealer=0)
    pasts, legal, tensors = defaultdict(set), defaultdict(set), defaultdict(set)

    def walk(state, own):
        if state.is_terminal():
            return
        for action in state.legal_actions()[: most if state.is_chance_node() else None]:
            after = own
            if not state.is_chance_node():
                player, text = state.current_player(), state.information_state_string()
                pasts[text].add(own[player])
                legal[text].add(tuple(state.legal_actions()))
                tensors[text].add(tuple(state.information_state_tensor()))
                after = tuple((*each, (text, action)) if seat == player else each for seat, each in enumerate(own))
            walk(state.child(action), after)

    walk(game.new_initial_state(), ((), ()))
    assert all(len(found) == 1 for table in (pasts, legal, tensors) for found in table.values())
    assert len({tensor for (tensor,) in tensors.values()}) == len(tensors)


def test_resampling_draws_evenly_from_all_that_fit():
    game = load(**WIDOW, dealer=0)
    states = [state for state in every_state(game).values() if not state.is_chance_node() and not state.is_terminal()]
    by_infoset = defaultdict(set)
    for state in states:
        by_infoset[state.information_state_string(0)].add(str(state))
    rng = random.Random(0)
    for state in rng.sample(states, 3):
        fitting = by_infoset[state.information_state_string(0)]
        drawn = Counter()
        for _ in range(15 * len(fitting)):
            other = state.resample_from_infostate(0, rng.random)
            drawn[str(other)] += 1
            assert other.information_state_string(0) == state.information_state_string(0)
        assert set(drawn) == fitting
        assert max(drawn.values()) < 38


@pytest.mark.parametrize("chance", ["explicit", "sampled"])
def test_the_history_of_a_resampled_state_leads_to_it(chance):
    game, rng = load("oklahoma", deals=2, chance=chance), random.Random(1)
    for actions in (3, 20, 40, 60, 75):
        state = random_state(game, rng, actions)
        player = rng.randrange(4)
        other = state.resample_from_infostate(player, rng.random)
        assert other.information_state_string(player) == state.information_state_string(player)
        assert other.current_player() == state.current_player()
        assert any(other.game.hand(seat) != state.game.hand(seat) for seat in range(4))
        if chance == "explicit":
            twin = game.new_initial_state()
            for action in other.history():
                twin.apply_action(action)
            assert str(twin) == str(other)
    with pytest.raises(ValueError, match="still being dealt"):
        game.new_initial_state().resample_from_infostate(0, rng.random)


# Algorithms.


def test_its_two_ways_to_exploitability_agree():
    game = load(**SHORT, dealer=1)
    uniform = policy.UniformRandomPolicy(game)
    in_python = exploitability.nash_conv(game, uniform)
    assert in_python == pytest.approx(pyspiel.nash_conv(game, pyspiel.UniformRandomPolicy(game)))


def test_sampling_cfr_and_the_learning_environment_take_the_whole_deck():
    external_sampling_mccfr.ExternalSamplingSolver(load(**SHORT)).iteration()
    environment = rl_environment.Environment(load(), include_full_state=False)
    step = environment.reset()
    while not step.last():
        player = step.observations["current_player"]
        assert len(step.observations["info_state"][player]) == environment.observation_spec()["info_state"][0]
        step = environment.step([step.observations["legal_actions"][player][0]])
    assert sum(step.rewards) == pytest.approx(0)


@pytest.mark.parametrize("chance", ["explicit", "sampled"])
def test_the_search_bots_in_python_play(chance):
    chances = np.random.RandomState(1)
    game = load("oklahoma", chance=chance)
    evaluator = mcts.RandomRolloutEvaluator(1, chances)
    bots = [
        ismcts.ISMCTSBot(game, evaluator, 2.0, 4, random_state=chances),
        mcts.MCTSBot(game, 2.0, 4, evaluator, random_state=chances),
    ]
    for actions in (0, 12, 45):
        state = random_state(game, random.Random(actions), actions)
        for bot in bots:
            assert bot.step(state) in state.legal_actions()


def test_its_cfr_comes_near_an_equilibrium_in_the_example():
    example = Path(__file__).parent.parent / "examples" / "open_spiel_cfr.py"
    done = subprocess.run(
        [sys.executable, example, "--iterations", "5"], capture_output=True, text=True, cwd=example.parent.parent
    )
    assert done.returncode == 0, done.stderr
    (distance,) = re.findall(r"iteration   5: NashConv ([\d.]+) points per deal", done.stdout)
    assert float(distance) < 0.3  # of the 2.8 of random play
