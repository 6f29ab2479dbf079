"""Rewards and advantages of seats against a slow and plain restatement."""

from itertools import product

import numpy as np
import pytest

from agents.returns import expected_sarsa, gae, relative
from pitch_env import Rules


def plain_traces(reward, value, estimate, actor, done, bootstrap, gamma, lam):
    """Collect each seat's own transitions between ends of games, then the textbook recursion on each list."""
    steps, games, players = reward.shape
    traces = np.zeros((steps, games))
    for game in range(games):
        for seat in range(players):
            ends = [*np.flatnonzero(done[:, game]), None]
            begin = 0
            for end in ends:
                stop = steps if end is None else end + 1
                mine = [t for t in range(begin, stop) if actor[t, game] == seat]
                after = bootstrap[game, seat] if end is None else 0.0
                for place, t in enumerate(mine):
                    total, weight = 0.0, 1.0
                    for later in range(place, len(mine)):
                        here = mine[later]
                        last = later + 1 == len(mine)
                        upto = stop if last else mine[later + 1]
                        gained = reward[here:upto, game, seat].sum()
                        following = after if last else value[mine[later + 1], game]
                        total += weight * (gained + gamma * following - estimate[here, game])
                        weight *= gamma * lam
                    traces[t, game] = total
                begin = stop
    return traces


def braided():
    """What four seats did in seven games, at random: reward, value, action value, actor, done, bootstrap."""
    rng = np.random.default_rng(3)
    steps, games, players = 23, 7, 4
    reward = rng.normal(size=(steps, games, players)).astype(np.float32)
    value, action_value = rng.normal(size=(2, steps, games)).astype(np.float32)
    actor = rng.integers(players, size=(steps, games)).astype(np.int8)
    done = rng.random((steps, games)) < 0.2
    return reward, value, action_value, actor, done, rng.normal(size=(games, players)).astype(np.float32)


def computed(estimator, *arguments):
    """What an estimator writes."""
    written = np.full(arguments[1].shape, np.nan, np.float32)
    estimator(*arguments, written)
    return written


@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 0.95), (0.9, 1.0), (1.0, 0.0)])
def test_gae_is_the_textbook_recursion_on_each_seats_own_decisions(gamma, lam):
    reward, value, _, actor, done, bootstrap = braided()
    advantage = computed(gae, reward, value, actor, done, bootstrap, gamma, lam)
    expected = plain_traces(reward, value, value, actor, done, bootstrap, gamma, lam)
    np.testing.assert_allclose(advantage, expected, atol=1e-5)


@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 0.95), (0.9, 1.0), (1.0, 0.0)])
def test_expected_sarsa_is_the_recursion_with_the_policys_mean_on_each_seats_own_decisions(gamma, lam):
    reward, value, action_value, actor, done, bootstrap = braided()
    target = computed(expected_sarsa, reward, value, action_value, actor, done, bootstrap, gamma, lam)
    expected = action_value + plain_traces(reward, value, action_value, actor, done, bootstrap, gamma, lam)
    np.testing.assert_allclose(target, expected, atol=1e-5)


@pytest.mark.parametrize("lam", [0.0, 0.7, 1.0])
def test_expected_sarsa_is_gae_where_the_action_does_not_matter(lam):
    reward, value, _, actor, done, bootstrap = braided()
    target = computed(expected_sarsa, reward, value, value, actor, done, bootstrap, 0.9, lam)
    np.testing.assert_allclose(
        target - value, computed(gae, reward, value, actor, done, bootstrap, 0.9, lam), atol=1e-5
    )


CHOICES = 3  # decisions on end between two actions, which is a tree of 7 states
TRAJECTORIES = np.array(list(product((0, 1), repeat=CHOICES)))


def tree(seed):
    """A policy and rewards at random in the tree: for each trajectory and state on it its number, chance, reward."""
    rng = np.random.default_rng(seed)
    policy, gain = rng.dirichlet((1, 1), 2**CHOICES - 1), rng.normal(size=(2**CHOICES - 1, 2))
    states = np.array([[2**d - 1 + int("0" + "".join(map(str, way[:d])), 2) for d in range(CHOICES)]
                       for way in TRAJECTORIES])  # fmt: skip
    return policy, gain, states


def exact_action_values(policy, gain):
    """Q [states, 2] of the tree, from its leaves up."""
    exact = gain.copy()
    for state in reversed(range(2 ** (CHOICES - 1) - 1)):
        for action in (0, 1):
            child = 2 * state + 1 + action
            exact[state, action] += policy[child] @ exact[child]
    return exact


def estimated(estimator, policy, gain, states, guess, lam):
    """What an estimator makes of every trajectory, one a game, with a critic's guess of Q: [trajectories, CHOICES]."""
    value = (policy * guess).sum(1)[states].T.astype(np.float32)
    taken = guess[states, TRAJECTORIES].T.astype(np.float32)
    reward = gain[states, TRAJECTORIES].T[..., None].astype(np.float32)
    done = np.zeros(value.shape, bool)
    done[-1] = True
    rest = np.zeros(value.shape, np.int8), done, np.zeros((len(states), 1), np.float32), 1.0, lam
    if estimator is gae:
        return (computed(gae, reward, value, *rest) + value).T
    return computed(expected_sarsa, reward, value, taken, *rest).T


@pytest.mark.parametrize("lam", [0.0, 0.8, 1.0])
def test_an_exact_critic_of_actions_leaves_no_noise_of_later_actions_and_one_of_states_does(lam):
    policy, gain, states = tree(1)
    exact = exact_action_values(policy, gain)
    target = estimated(expected_sarsa, policy, gain, states, exact, lam)
    np.testing.assert_allclose(target, exact[states, TRAJECTORIES], atol=1e-5)
    noise = np.abs(estimated(gae, policy, gain, states, exact, lam) - exact[states, TRAJECTORIES])
    assert (noise[:, :-1].max() > 0.1) == (lam > 0)


def test_full_traces_are_right_in_the_mean_whatever_the_critic_believes():
    policy, gain, states = tree(2)
    exact = exact_action_values(policy, gain)
    wrong = np.random.default_rng(9).normal(size=exact.shape)
    chance = policy[states, TRAJECTORIES].prod(1)
    target = estimated(expected_sarsa, policy, gain, states, wrong, 1.0)
    for depth in range(CHOICES):
        for state, action in set(zip(states[:, depth], TRAJECTORIES[:, depth], strict=True)):
            same = (states[:, depth] == state) & (TRAJECTORIES[:, depth] == action)
            mean = np.average(target[same, depth], weights=chance[same])
            assert mean == pytest.approx(exact[state, action], abs=1e-5)


def test_full_traces_of_a_critic_of_states_are_what_was_won():
    reward, value, _, actor, done, bootstrap = braided()
    done[-1] = True
    won = computed(expected_sarsa, reward, value, value, actor, done, bootstrap, 1.0, 1.0)
    for t, game in np.ndindex(won.shape):
        end = t + np.argmax(done[t:, game])
        assert won[t, game] == pytest.approx(reward[t : end + 1, game, actor[t, game]].sum(), abs=1e-4)


def test_the_end_of_a_deal_reaches_the_last_decision_of_every_seat():
    reward = np.zeros((4, 1, 3), np.float32)
    reward[3, 0] = [1, -2, 5]
    actor = np.array([[0], [1], [0], [1]], np.int8)  # seat 2 never acts
    done = np.array([[False], [False], [False], [True]])
    advantage = np.zeros((4, 1), np.float32)
    gae(reward, np.zeros((4, 1), np.float32), actor, done, np.full((1, 3), 9, np.float32), 1.0, 1.0, advantage)
    assert advantage[:, 0].tolist() == [1, -2, 1, -2]


@pytest.mark.parametrize("name", Rules.presets())
def test_relative_points_sum_to_zero_over_the_teams(name):
    rules = Rules.preset(name)
    change = np.random.default_rng(0).integers(-7, 8, size=(50, rules.teams))
    points = relative(np.tile(change, rules.players // rules.teams).astype(float), rules)
    np.testing.assert_allclose(points[:, : rules.teams].sum(1), 0, atol=1e-9)
    others = np.delete(change, 0, axis=1).mean(1)
    np.testing.assert_allclose(points[:, 0], change[:, 0] - others)
