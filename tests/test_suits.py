"""Renaming suits changes nothing for a network."""

import itertools

import numpy as np
import pytest
import torch

from agents.checkpoint import NetworkAgent
from agents.networks import PolicyValueNetwork
from agents.suits import ORDERS, SuitSorter
from pitch_env import Game, Rules, VectorGame
from pitch_env.actions import ACTION_TEXT, parse_action
from pitch_env.observation import highs

RULES = {
    "auction": Rules.preset("auction"),
    "money": Rules.preset("money", players=6),
    "oklahoma": Rules.preset("oklahoma"),
    "oklahoma-6": Rules.preset("oklahoma", players=6, three=True),
    "jokers, no off-jack": Rules.preset("oklahoma", off_jack=False),
}


def renamings(rules: Rules) -> list[dict[str, str]]:
    """All that keep the rules: within colours and among them where the off-jack exists."""
    every = [dict(zip("CDHS", names, strict=True)) for names in itertools.permutations("CDHS")]
    colour = {"C": "black", "S": "black", "D": "red", "H": "red"}
    if not rules.off_jack:
        return every
    return [each for each in every if (colour[each["C"]] == colour[each["S"]])]


def renamed(text: str, names: dict[str, str]) -> str:
    return text[:-1] + names[text[-1]] if text[-1] in names and text not in ("+J", "-J") else text


def played(rules: Rules, seed: int, names: dict[str, str]) -> list[Game]:
    """The positions of a random deal, with its suits renamed."""
    begin = Game(rules, seed=seed, deals=1)
    original = begin.clone()
    twin = Game.from_deal(
        rules,
        [[renamed(card, names) for card in begin.hand(seat)] for seat in range(rules.players)],
        [renamed(card, names) for card in begin.widow] if rules.widow != "none" else [],
        begin.dealer,
    )
    rng, positions = np.random.default_rng(seed), []
    while original.actor is not None:
        positions.append(twin.clone())
        action = original.legal()[rng.integers(len(original.legal()))]
        original.apply(action)
        twin.apply(renamed(action, names))
    return positions


def views(games: list[Game]) -> tuple[np.ndarray, np.ndarray]:
    seats = [game.actor for game in games]
    observations = [game.observation(seat).astype(np.uint8) for game, seat in zip(games, seats, strict=True)]
    return np.array(observations), np.array([game.legal_mask() for game in games])


@pytest.mark.parametrize("name", RULES)
def test_sorted_observations_do_not_know_the_names(name):
    rules = RULES[name]
    sorter = SuitSorter(rules)
    for seed in range(3):
        expected = sorter.sort(*views(played(rules, seed, dict(zip("CDHS", "CDHS", strict=True)))))
        for names in renamings(rules):
            observation, mask, _ = sorter.sort(*views(played(rules, seed, names)))
            np.testing.assert_array_equal(observation, expected[0])
            np.testing.assert_array_equal(mask, expected[1])


@pytest.mark.parametrize("name", RULES)
def test_a_policy_gives_renamed_actions_the_same_probabilities(name):
    rules = RULES[name]
    torch.manual_seed(0)
    network = PolicyValueNetwork(highs(rules), 32)
    torch.nn.init.normal_(network.policy.weight)
    agent = NetworkAgent(rules, network, "test")
    plain = np.exp(agent.log_policy(*views(played(rules, 5, dict(zip("CDHS", "CDHS", strict=True))))))
    for names in renamings(rules):
        games = played(rules, 5, names)
        other = np.exp(agent.log_policy(*views(games)))
        moved = [parse_action(renamed(text, names)) for text in ACTION_TEXT]
        for row in range(len(games)):
            np.testing.assert_allclose(other[row, moved], plain[row], atol=1e-5)


@pytest.mark.parametrize("name", RULES)
def test_sorting_moves_and_loses_nothing(name):
    rules = RULES[name]
    batch, sorter, rng = VectorGame(rules, 200, seed=1), SuitSorter(rules), np.random.default_rng(0)
    for _ in range(30):
        observation, mask, order = sorter.sort(batch.observation, batch.mask)
        np.testing.assert_array_equal(observation.sum(1, dtype=int), batch.observation.sum(1, dtype=int))
        np.testing.assert_array_equal(sorter.unsort(mask, order), batch.mask)
        chosen = np.array([rng.choice(np.flatnonzero(row)) for row in mask])
        batch.step(sorter.actions(chosen, order))  # legal, or it would be refused
    assert len(np.unique(order)) == (8 if rules.off_jack else 24)
    assert len(ORDERS) == 24


def test_suits_alike_share_a_policy_and_others_do_not():
    hands = [["5D", "5H", "9C", "9S", "KC", "2S"], ["3C", "4C", "6C", "7C", "8C", "TC"]]
    rules = Rules.preset("auction", players=2)
    game = Game.from_deal(rules, hands, [], dealer=1)
    for text in ("2", "pass"):
        game.apply(text)
    observation, mask = views([game])
    policy = np.log(np.random.default_rng(0).dirichlet(np.ones(71), 1)).astype(np.float32)
    for colours in (False, True):
        sorter, evened = SuitSorter(rules), policy.copy()
        sorter.colours = colours
        sorter.even(observation, evened)
        fives = [parse_action("5D"), parse_action("5H")]
        np.testing.assert_allclose(evened[0, fives], np.logaddexp(*policy[0, fives]) - np.log(2), rtol=1e-5)
        for card in ("9C", "9S", "KC", "2S"):  # a nine is not a nine where a king or a deuce is beside it
            assert evened[0, parse_action(card)] == policy[0, parse_action(card)]
        assert np.exp(evened).sum() == pytest.approx(1, abs=1e-5)
    assert mask[0, fives].all()
