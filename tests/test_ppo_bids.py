"""Bids keep exploring for longer than cards, and a run that passes always says so."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from trainers import SMALL, iterate, weights

from agents import checkpoint, ppo
from agents.ppo import Config, Run
from agents.rollout import DealCounts
from pitch_env.actions import NUM_ACTIONS, PASS
from pitch_env.state import Phase


def pass_always(run: Run) -> None:
    with torch.no_grad():
        run.network.policy.bias[PASS] = 50


def test_the_pass_rate_counts_calls_where_passing_was_a_choice():
    counts = DealCounts()
    assert counts.pass_rate == 0
    mask = np.zeros((4, NUM_ACTIONS), bool)
    mask[:3, PASS] = mask[:, PASS + 1 : PASS + 3] = True
    counts.add_calls(mask, np.array([PASS, PASS + 1, PASS, PASS + 1]))
    assert counts.pass_rate == pytest.approx(2 / 3)
    run = Run(SMALL)
    assert 0.1 < iterate(run, 1)[0]["pass_rate"] < 0.9
    pass_always(run)
    assert iterate(run, 1)[0]["pass_rate"] == 1


def test_a_run_that_passes_always_stops_and_says_so(tmp_path, monkeypatch):
    class Passing(Run):
        def __init__(self, *arguments) -> None:
            super().__init__(*arguments)
            pass_always(self)

    monkeypatch.setattr(ppo, "Run", Passing)
    config = replace(SMALL, total_decisions=100_000, num_games=32, steps=8, minibatch=256, out=str(tmp_path))
    with pytest.raises(FloatingPointError, match=r"collapsed: 100.00% of the calls were passes in the last 20 updates"):
        ppo.train(config)
    assert checkpoint.read(tmp_path / checkpoint.FAILED).header["passing"] == 20
    short = replace(config, out=str(tmp_path / "off"), pass_limit=1, total_decisions=25 * 256, final_deals=2)
    assert ppo.train(short)


def test_entropy_is_paid_for_by_kind_and_fades(monkeypatch):
    """With a bonus for bids alone, the bids' entropy rises and the cards' does not have to."""

    def spread_after(**changed) -> tuple[float, float]:
        run = Run(replace(SMALL, learning_rate=3e-3, **changed))
        with torch.no_grad():
            run.network.policy.weight.normal_(std=1.0)
        iterate(run, 8)
        rows = torch.from_numpy(run.batch.observation), torch.from_numpy(run.batch.mask)
        with torch.no_grad():
            spread = ppo.entropy(ppo.log_policy(run.network(rows[0])[0], rows[1]))
        is_bid = torch.from_numpy(run.batch.phase) == Phase.BID
        return spread[is_bid].mean().item(), spread[~is_bid].mean().item()

    bids, cards = spread_after(entropy_bids=3.0, entropy_cards=0.0), spread_after(entropy_bids=0.0, entropy_cards=3.0)
    assert bids[0] > cards[0] + 0.1
    assert cards[1] > bids[1] + 0.1


def test_the_schedule_ends_where_it_is_told():
    """At the end of a run whose bonus falls to nothing, an update is one without a bonus."""

    def at_the_end(**changed) -> dict[str, torch.Tensor]:
        run = Run(replace(SMALL, total_decisions=1, **changed))
        run.decisions = 1
        iterate(run, 1)
        return weights(run)

    none, gone = at_the_end(entropy_bids=0, entropy_cards=0), at_the_end(entropy_final=0)
    tenth, fallen = at_the_end(entropy_bids=0.003, entropy_cards=0.001, entropy_final=1), at_the_end()
    for name, value in none.items():
        torch.testing.assert_close(gone[name], value, rtol=0, atol=0)
        torch.testing.assert_close(fallen[name], tenth[name], rtol=1e-5, atol=1e-6)


def test_wrong_weights_are_refused():
    for wrong in (dict(entropy_bids=-1), dict(entropy_cards=-1), dict(entropy_final=-1), dict(pass_limit=2)):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Config(**wrong)
