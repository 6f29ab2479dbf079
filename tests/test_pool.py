"""Opponents in training: who sits where, for how long, and that they stay as they are."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from trainers import SMALL, iterate

from agents import ppo, training
from agents.checkpoint import weights_hash
from agents.ppo import Config, Run
from agents.rollout import DealCounts, Rollout, collect
from pitch_env.actions import PASS
from pitch_env.state import NOBODY

POOL = replace(SMALL, pool_share=0.6, pool_every=1, pool_size=3)


def test_snapshots_are_copies_that_do_not_change():
    run = Run(POOL)
    iterate(run, 2)
    seen = {number: player.fingerprint for number, player in run.opponents.players.items()}
    assert len(set(seen.values())) == 2
    assert seen[2] == weights_hash(run.network.state_dict())
    iterate(run, 1)
    for number, fingerprint in seen.items():
        assert weights_hash(run.opponents.players[number].network.state_dict()) == fingerprint
    assert weights_hash(run.network.state_dict()) not in seen.values()


def test_an_opponent_stays_for_its_deal_and_the_learner_has_one_team():
    run = Run(replace(POOL, num_games=256))
    iterate(run, 3)
    rng, pool = np.random.default_rng(0), run.opponents
    changed = 0
    for _ in range(60):
        before = pool.opponent.copy(), pool.team.copy()
        own = pool.own(run.batch.actor)
        np.testing.assert_array_equal(own, (before[0] == NOBODY) | (run.batch.actor % 4 == before[1]))
        actions = run.batch.random_actions(rng)
        pool.act(run.batch, actions, rng)
        run.batch.step(actions)
        pool.seat(np.flatnonzero(run.batch.done), rng)
        for old, new in zip(before, (pool.opponent, pool.team), strict=True):
            np.testing.assert_array_equal(old[~run.batch.done], new[~run.batch.done])
        changed += (before[0] != pool.opponent).sum()
    assert changed > 100
    assert np.mean(pool.opponent != NOBODY) == pytest.approx(0.6, abs=0.1)
    assert set(pool.team[pool.opponent != NOBODY]) == {0, 1, 2, 3}


def test_opponents_play_their_own_policy():
    """A snapshot that passes whenever it may: its seats do, the learner's do not."""
    run = Run(replace(POOL, num_games=512, pool_share=1.0))
    iterate(run, 1)
    (snapshot,) = run.opponents.players.values()
    with torch.no_grad():
        snapshot.network.policy.bias[PASS] = 50
    rollout = Rollout.like(run.batch, 40)
    counts = DealCounts()
    collect(run.batch, run.sorter, run.network, rollout, run.generator, counts, opponents=run.opponents)
    assert 0.1 < counts.pass_rate < 0.9  # the learner's calls
    rng, seated = np.random.default_rng(0), run.opponents.opponent != NOBODY
    actions = np.full(512, -7)
    run.opponents.act(run.batch, actions, rng)
    others = ~run.opponents.own(run.batch.actor)
    assert seated.all()
    np.testing.assert_array_equal(actions != -7, others)
    could = others & run.batch.mask[:, PASS]
    assert could.sum() > 20
    assert (actions[could] == PASS).all()


def test_what_opponents_did_is_not_learned_from():
    run = Run(replace(POOL, pool_share=1.0))
    rollout = run.rollout()
    iterate(run, 5)  # until every game has an opponent
    collect(run.batch, run.sorter, run.network, rollout, run.generator, DealCounts(), opponents=run.opponents)
    assert 0.2 < rollout.own.float().mean() < 0.35  # one team of four
    decisions = ppo.prepare(run, rollout)
    assert len(decisions.action) == rollout.own.sum()
    before = run.decisions
    rollout.observation[~rollout.own] = 99  # whatever stands in the other rows changes nothing
    rollout.mask[~rollout.own] = True
    rollout.value[~rollout.own] = 1e9
    rollout.log_probability[~rollout.own] = -1e9
    again = ppo.prepare(run, rollout)
    for name in ("observation", "hands", "mask", "action", "log_probability", "advantage", "target", "bonus"):
        torch.testing.assert_close(getattr(again, name), getattr(decisions, name), rtol=0, atol=0)
    training.iterate(run, rollout, DealCounts())
    assert run.decisions == before + rollout.own.sum()


def test_the_oldest_gives_way_but_for_the_games_it_is_in():
    run = Run(replace(POOL, pool_size=2))
    for _ in range(6):
        iterate(run, 1)
        pool = run.opponents
        assert set(pool.kept) <= set(pool.players)
        assert set(np.unique(pool.opponent)) - {NOBODY} <= set(pool.players)
    assert pool.kept == [5, 6]


def test_recent_ones_are_picked_more_often():
    run = Run(replace(POOL, pool_pick="recent", num_games=4000, steps=1, pool_share=1.0))
    iterate(run, 3)
    run.opponents.seat(np.arange(4000), np.random.default_rng(0))
    shares = np.bincount(run.opponents.opponent)[1:] / 4000
    np.testing.assert_allclose(shares, [1 / 7, 2 / 7, 4 / 7], atol=0.03)


def test_wrong_options_of_the_pool_are_refused():
    for wrong in (dict(pool_share=1.5), dict(pool_pick="old"), dict(pool_every=0), dict(pool_size=0)):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Config(**wrong)
