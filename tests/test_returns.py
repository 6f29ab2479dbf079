"""Rewards and advantages of seats against a slow and plain restatement."""

import numpy as np
import pytest

from agents.returns import gae, relative
from pitch_env import Rules


def plain_gae(reward, value, actor, done, bootstrap, gamma, lam):
    """Collect each seat's own transitions between ends of games, then the textbook recursion on each list."""
    steps, games, players = reward.shape
    advantage = np.zeros((steps, games))
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
                        total += weight * (gained + gamma * following - value[here, game])
                        weight *= gamma * lam
                    advantage[t, game] = total
                begin = stop
    return advantage


@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 0.95), (0.9, 1.0), (1.0, 0.0)])
def test_gae_is_the_textbook_recursion_on_each_seats_own_decisions(gamma, lam):
    rng = np.random.default_rng(3)
    steps, games, players = 23, 7, 4
    reward = rng.normal(size=(steps, games, players)).astype(np.float32)
    value = rng.normal(size=(steps, games)).astype(np.float32)
    actor = rng.integers(players, size=(steps, games)).astype(np.int8)
    done = rng.random((steps, games)) < 0.2
    bootstrap = rng.normal(size=(games, players)).astype(np.float32)
    advantage = np.full((steps, games), np.nan, np.float32)
    gae(reward, value, actor, done, bootstrap, gamma, lam, advantage)
    expected = plain_gae(reward, value, actor, done, bootstrap, gamma, lam)
    np.testing.assert_allclose(advantage, expected, atol=1e-5)


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
