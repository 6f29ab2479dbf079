"""The critic that sees all hands: it does, it learns, and the policy does not."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from trainers import SMALL, iterate

from agents import checkpoint, load
from agents.ppo import Run
from agents.rollout import all_hands
from agents.suits import SuitSorter
from pitch_env import Rules, VectorGame
from pitch_env.cards import NUM_CARDS, cards_in

OPEN = replace(SMALL, critic="all")


@pytest.mark.parametrize("name", ["auction", "oklahoma"])
def test_hands_are_those_of_all_seats_counted_from_the_viewer_with_sorted_suits(name):
    rules = Rules.preset(name)
    batch, sorter, rng = VectorGame(rules, 60, seed=2), SuitSorter(rules), np.random.default_rng(0)
    for _ in range(20):
        batch.step(batch.random_actions(rng))
    seats = rng.integers(rules.players, size=60)
    observation, _, order = sorter.sort(batch.observe(seats), batch.mask)
    hands = all_hands(batch, seats, order).reshape(60, rules.players, NUM_CARDS).numpy()
    own = observation[:, sorter.at[9] : sorter.at[10]]  # the part HAND
    np.testing.assert_array_equal(hands[:, 0], own)
    for game, seat in enumerate(seats):
        for place in range(rules.players):
            held = np.zeros(NUM_CARDS, int)
            held[cards_in(batch.states[game]["hands"][(seat + place) % rules.players])] = 1
            sources = sorter.action_sources[order[game], :NUM_CARDS]
            np.testing.assert_array_equal(hands[game, place], held[sources])


def test_the_policy_does_not_depend_on_hidden_hands_and_the_critic_does(tmp_path):
    run = Run(replace(OPEN, out=str(tmp_path)))
    iterate(run, 3)
    run.save(checkpoint.MODEL)
    agent = load(tmp_path)
    assert not any("critic" in name for name in checkpoint.read(tmp_path / checkpoint.MODEL).tensors)
    other = run.batch.determinize(run.batch.actor, 5)  # other hands that the actor cannot tell from these
    np.testing.assert_array_equal(other.observation, run.batch.observation)
    assert (other.states["hands"] != run.batch.states["hands"]).any(1).mean() > 0.5
    np.testing.assert_array_equal(
        agent.log_policy(other.observation, other.mask), agent.log_policy(run.batch.observation, run.batch.mask)
    )
    observation, _, order = run.sorter.sort(run.batch.observation, run.batch.mask)
    with torch.no_grad():
        here, there = (
            run.critic(torch.from_numpy(observation), all_hands(batch, batch.actor, order))
            for batch in (run.batch, other)
        )
    assert (here != there).float().mean() > 0.5


def test_what_is_learned_from_reaches_the_policy_through_advantages_only():
    run = Run(OPEN)
    rows = torch.from_numpy(run.batch.observation)
    assert run.network.first.in_features == rows.shape[1]
    assert run.critic.first.in_features == rows.shape[1] + 4 * NUM_CARDS
    shared = {id(parameter) for parameter in run.network.parameters()}
    assert not shared & {id(parameter) for parameter in run.critic.parameters()}


def test_the_critic_learns_what_lies_in_hidden_hands():
    """The number of court cards and aces in the next seat's hand: an open book to it, half a riddle to the network."""
    run = Run(replace(OPEN, num_games=512, width=64))
    step = torch.optim.Adam(run.parameters(), 3e-3)
    for seed in range(80):
        run.batch.reset(seed)
        observation, _, order = run.sorter.sort(run.batch.observation, run.batch.mask)
        rows, hands = torch.from_numpy(observation), all_hands(run.batch, run.batch.actor, order)
        target = hands.reshape(512, 4, NUM_CARDS)[:, 1, :52].reshape(512, 4, 13)[..., 9:].sum((1, 2)).float()
        errors = [(run.critic(rows, hands) - target).square().mean(), (run.network(rows)[1] - target).square().mean()]
        step.zero_grad()
        sum(errors).backward()
        step.step()
    assert errors[0] < 0.4 * errors[1]


def test_a_run_does_not_go_on_with_another_critic(tmp_path):
    run = Run(replace(OPEN, out=str(tmp_path)))
    run.save(checkpoint.RESUME)
    with pytest.raises(ValueError, match="another critic; it is all"):
        Run(SMALL).restore(tmp_path / checkpoint.RESUME)
