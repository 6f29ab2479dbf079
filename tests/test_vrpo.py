"""The critic of actions and the advantages that come from it, as in VRPO; the targets are in test_returns.py."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from trainers import SMALL, UPDATE, assert_same, iterate, weights, whole_and_resumed

from agents import checkpoint, load
from agents.evaluation import duplicate_match
from agents.learners import read_config
from agents.losses import explained_variance, log_policy, of_actions
from agents.networks import ActionCritic, Critic
from agents.ppo import Config, Run, advantages, prepare
from agents.rollout import DealCounts, collect
from pitch_env import Rules
from pitch_env.actions import NUM_ACTIONS
from pitch_env.cards import NUM_CARDS

OWN = replace(SMALL, advantage="sarsa")
ALL = replace(OWN, critic="all")


pytestmark = pytest.mark.usefixtures("one_torch_thread")


def some_decisions(rows: int, width: int) -> tuple[torch.Tensor, ...]:
    """Observations, all hands, log-probabilities under masks, and legal actions, at random."""
    chance = torch.Generator().manual_seed(4)
    observation = torch.randint(2, (rows, width), generator=chance, dtype=torch.uint8)
    hands = torch.randint(2, (rows, 4 * NUM_CARDS), generator=chance, dtype=torch.uint8)
    mask = torch.rand(rows, NUM_ACTIONS, generator=chance) < 0.1
    mask[:, 58] = True
    log_probability = log_policy(3 * torch.randn(rows, NUM_ACTIONS, generator=chance), mask)
    return observation, hands, log_probability, torch.multinomial(log_probability.exp(), 1, generator=chance).squeeze(1)


@torch.no_grad()
def test_the_value_of_a_state_is_the_policys_mean_of_the_values_of_its_actions():
    critic = ActionCritic(np.ones(30, np.uint8), 4, width=32)
    torch.nn.init.normal_(critic.beyond.weight)
    observation, hands, log_probability, _ = some_decisions(200, 30)
    values = torch.stack(
        [
            critic.assess(observation, hands, log_probability, torch.full((200,), action))[1]
            for action in range(NUM_ACTIONS)
        ],
        dim=1,
    )
    value, _ = critic.assess(observation, hands, log_probability, torch.zeros(200, dtype=torch.int64))
    assert values.std(1).min() > 0.1
    torch.testing.assert_close((log_probability.exp() * values).sum(1), value, rtol=0, atol=1e-5)
    torch.testing.assert_close(critic(observation, hands), value)  # also where nobody is to act


def test_a_critic_of_actions_learns_what_depends_on_them_and_one_of_states_cannot():
    """A card of four is taken, and won where the second hand has it too; a state is worth a quarter of these four."""
    log_probability = torch.full((512, NUM_ACTIONS), -1e9)
    log_probability[:, :4] = -np.log(4)
    observation, rng = torch.zeros(512, 30, dtype=torch.uint8), torch.Generator().manual_seed(5)
    explained = []
    for kind in (Critic, ActionCritic):
        torch.manual_seed(0)
        critic = kind(np.ones(30, np.uint8), 4, width=32)
        step = torch.optim.Adam(critic.parameters(), 3e-3)
        for _ in range(120):
            hands = torch.randint(2, (512, 4 * NUM_CARDS), generator=rng, dtype=torch.uint8)
            action = torch.randint(4, (512,), generator=rng)
            won = of_actions(hands[:, NUM_CARDS : NUM_CARDS + 4], action).float()
            estimate = critic.assess(observation, hands, log_probability, action)[1]
            step.zero_grad()
            (estimate - won).square().mean().backward()
            step.step()
        explained.append(explained_variance(estimate.detach(), won))
    assert explained[0] < 0.4
    assert explained[1] > 0.8


@pytest.mark.parametrize("config", [OWN, ALL], ids=["own", "all"])
def test_rollouts_keep_what_the_critic_made_of_the_actions_taken(config):
    run = Run(config)
    torch.nn.init.normal_(run.critic.beyond.weight)
    rollout = run.rollout()
    collect(run.batch, run.sorter, run.network, rollout, run.generator, DealCounts(), critic=run.critic)
    assert rollout.hands.shape[-1] == (4 * NUM_CARDS if config.critic == "all" else 0)
    rows, hands, mask = (getattr(rollout, name).flatten(0, 1) for name in ("observation", "hands", "mask"))
    with torch.no_grad():
        log_probability = log_policy(run.network(rows)[0], mask)
        value, action_value = run.critic.assess(rows, hands, log_probability, rollout.action.flatten())
    torch.testing.assert_close(rollout.value.flatten(), value, rtol=0, atol=1e-4)
    torch.testing.assert_close(rollout.action_value.flatten(), action_value, rtol=0, atol=1e-4)
    advantage, target, estimate = advantages(run, rollout)
    torch.testing.assert_close(advantage, target - rollout.value)
    assert (estimate == rollout.action_value).all()
    assert (target - advantage - estimate).abs().max() > 0.1  # V is another thing than Q


def test_every_update_changes_all_weights_of_the_critic():
    run = Run(ALL)
    before = {name: value.clone() for name, value in run.critic.state_dict().items()}
    measured = iterate(run, 2)
    assert {id(each) for each in run.critic.parameters()} <= {id(each) for each in run.parameters()}
    assert not any((value == before[name]).all() for name, value in run.critic.state_dict().items())
    assert all(np.isfinite(each["critic_loss"]) and each["explained_variance"] < 1 for each in measured)


def test_it_learns_to_beat_random_and_its_critic_to_explain_what_is_won():
    run = Run(replace(ALL, num_games=256, minibatch=2048))
    measured = iterate(run, 20)
    assert abs(measured[0]["explained_variance"]) < 0.1
    assert measured[-1]["explained_variance"] > 0.2
    assert duplicate_match(Rules.preset("auction"), run.agent(), load("random"), 100).low > 0.3


@pytest.mark.parametrize(
    "config", [OWN, replace(ALL, rules="oklahoma", pool_share=0.5, pool_every=1)], ids=["own", "all with a pool"]
)
def test_a_stopped_run_goes_on_as_if_it_had_not_been_stopped(config, tmp_path):
    whole, resumed = whole_and_resumed(replace(config, out=str(tmp_path)), 2, 2)
    assert_same(weights(whole), weights(resumed))
    assert_same(whole.critic.state_dict(), resumed.critic.state_dict())


def test_what_opponents_did_is_not_learned_from():
    run = Run(replace(ALL, pool_share=0.9, pool_every=1))
    iterate(run, 3)
    rollout = run.rollout()
    collect(
        run.batch, run.sorter, run.network, rollout, run.generator, DealCounts(),
        opponents=run.opponents, critic=run.critic,
    )  # fmt: skip
    assert 0.1 < rollout.own.float().mean() < 0.9
    before = prepare(run, rollout)
    assert len(before.action) == rollout.own.sum()
    others = ~rollout.own
    rollout.value[others], rollout.action_value[others] = 1000.0, -1000.0
    after = prepare(run, rollout)
    assert (before.advantage == after.advantage).all()
    assert (before.target == after.target).all()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (dict(advantage="td"), "advantage='td' is not allowed; it is gae or sarsa"),
        (
            dict(advantage="sarsa", value_weight=0.0),
            "value_weight=0.0 is not allowed; it is above 0 with critic all or",
        ),
        (dict(critic="all", value_weight=0.0), "value_weight=0.0 is not allowed; it is above 0 with critic all or"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, says):
    with pytest.raises(ValueError, match=says):
        Config(**options)


def test_a_run_goes_on_with_its_own_kind_of_advantage_only_and_older_ones_have_gae(tmp_path):
    Run(replace(OWN, out=str(tmp_path))).save(checkpoint.RESUME)
    with pytest.raises(ValueError, match="another advantage; it is sarsa"):
        Run(SMALL).restore(tmp_path / checkpoint.RESUME)
    run = Run(replace(SMALL, out=str(tmp_path)))
    iterate(run, 1)
    run.save(checkpoint.RESUME)
    saved = checkpoint.read(tmp_path / checkpoint.RESUME)
    del saved.header["config"]["advantage"]
    checkpoint.write(tmp_path / checkpoint.RESUME, saved.tensors, saved.header)
    again = Run(Config(**read_config(tmp_path)))
    again.restore(tmp_path / checkpoint.RESUME)
    assert again.decisions == UPDATE
    assert_same(weights(run), weights(again))
