"""Playing to the score: rewards of whole games, a policy that sees the scores, games won."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from trainers import SMALL, iterate

from agents import checkpoint, load, ppo
from agents.games_won import games_won
from agents.ppo import Config, Run
from agents.returns import rewards
from agents.rollout import DealCounts, collect, wins
from pitch_env import Rules, VectorGame

WIN = replace(SMALL, deals=None, reward="win")


@pytest.mark.parametrize("name", ["auction", "auction_pairs"])
def test_who_wins_a_game_gets_one_and_the_others_share_the_loss(name):
    rules = Rules.preset(name)
    batch, rng = VectorGame(rules, 64, deals=None, skip_forced=True), np.random.default_rng(0)
    games = 0
    for _ in range(300):
        batch.step(batch.random_actions(rng))
        won = wins(batch)
        reward = rewards(won[None], (rules,), win=True)[0]
        assert (won[~batch.done] == 0).all()
        assert (reward[~batch.done] == 0).all()
        for game in np.flatnonzero(batch.done):
            winner = batch.last[game]["winner"]
            assert batch.last[game]["scores"][winner] >= rules.target
            expected = [1 if rules.team_of(seat) == winner else -1 / (rules.teams - 1) for seat in range(4)]
            np.testing.assert_allclose(reward[game], expected, rtol=1e-6)
            games += 1
    assert games > 20


def test_games_begin_at_zero_and_go_on_over_deals():
    run = Run(WIN)
    rollout, counts = run.rollout(), DealCounts()
    for _ in range(6):
        collect(run.batch, run.sorter, run.network, rollout, run.generator, counts, win=True)
    assert counts.bids.sum() > 3 * 64
    assert (run.batch.states["public"]["deals"] > 1).any()
    assert (run.batch.states["public"]["scores"] != 0).any()


def test_the_policy_sees_the_scores_and_they_are_not_small():
    run = Run(WIN)
    rows = torch.from_numpy(run.batch.observation.copy())
    at = run.sorter.at
    start, stop = at[22], at[25]  # the parts SCORE_ABOVE, SCORE_BELOW, TO_GO
    assert (run.network.scale[start:stop] == 1 / torch.tensor(7.0)).all()
    torch.nn.init.normal_(run.network.policy.weight)
    with torch.no_grad():
        before = run.network(rows)[0]
        rows[:, start] = 6
        assert ((run.network(rows)[0] - before).abs() > 1e-3).float().mean() > 0.9


@pytest.mark.parametrize(("before", "after"), [(SMALL, WIN), (WIN, SMALL)])
def test_a_run_that_goes_on_with_other_deals_begins_by_playing_the_same(before, after, tmp_path):
    """Though scores, and what is to go, are then inputs of another scale."""
    first = Run(replace(before, out=str(tmp_path)))
    iterate(first, 2)
    first.save(checkpoint.MODEL)
    run = Run(replace(after, reference_weight=0.1, start=str(tmp_path)))
    run.begin_with(str(tmp_path))
    batch = VectorGame(run.variants[0], 64, deals=None)
    batch.step(batch.random_actions(np.random.default_rng(0)))
    rows, mask = torch.from_numpy(batch.observation.copy()), torch.from_numpy(batch.mask)
    rows[:, run.sorter.at[22] : run.sorter.at[25]] = 5  # of scores
    expected = first.network.decide(rows, mask)
    for network in (run.network, run.reference):
        for one, other in zip(network.decide(rows, mask), expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_an_agent_of_whole_games_plays_as_it_was_saved_and_says_its_chance(tmp_path):
    run = Run(replace(WIN, out=str(tmp_path)))
    iterate(run, 3)
    run.save(checkpoint.MODEL)
    agent, batch = load(tmp_path), run.batch
    np.testing.assert_array_equal(
        agent.log_policy(batch.observation, batch.mask), run.agent().log_policy(batch.observation, batch.mask)
    )
    with torch.no_grad():
        rows = torch.from_numpy(run.sorter.sort(batch.observation, batch.mask)[0])
        np.testing.assert_allclose(agent.values(batch.observation, batch.mask), run.network(rows)[1].numpy(), rtol=1e-6)


def test_games_won_of_equal_players_is_an_even_share_and_of_unequal_ones_is_not():
    rules = Rules.preset("auction", players=3)
    even = games_won(rules, load("expert"), load("expert"), 100)
    assert even.mean == pytest.approx(1 / 3)  # each wins from one seat what it loses from another
    assert games_won(rules, load("greedy"), load("random"), 60).low > 0.4


def test_training_for_wins_runs_and_reports_them(tmp_path, capsys):
    ppo.train(replace(WIN, out=str(tmp_path), total_decisions=2000, final_deals=20))
    assert "games won, of which an even share is 25%" in capsys.readouterr().out
    assert '"games_won"' in (tmp_path / "evaluation.json").read_text()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (dict(reward="win"), "deals=1 is not allowed; it is null where reward is win"),
        (dict(rules="money", deals=None), "no target, as money"),
        (dict(deals=0), "deals=0"),
        (dict(reward="money"), "points or win"),
    ],
)
def test_what_does_not_fit_is_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        Config(**wrong)
