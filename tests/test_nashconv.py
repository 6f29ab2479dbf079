"""NashConv: known values, and those of OpenSpiel where that is installed."""

import json
import math
import zlib

import numpy as np
import pytest
import torch

from agents import checkpoint, cli, load
from agents.nashconv import nash_conv, number_of_deals, policy_of
from agents.networks import PolicyValueNetwork
from pitch_env import Game, Rules, VectorGame
from pitch_env.actions import PASS
from pitch_env.observation import highs

SHORT = Rules.preset("auction", players=2, ranks="TJ", suits="CD", hand_size=1)
UNUSED = Rules.preset(
    "auction", players=2, ranks="TJ", suits="CD", hand_size=2, keep=1, trump="named", widow="unused", max_bid=2
)
EXCHANGE = Rules.preset(
    "auction", players=2, ranks="TJQ", suits="C", hand_size=1, keep=1, trump="named", widow="exchange", max_bid=2
)
TAKES = Rules.preset(
    "auction", players=2, ranks="TJ", suits="CD", hand_size=1, keep=1, trump="named", widow="pitcher", max_bid=2
)
THREE = Rules.preset("auction", players=3, ranks="TJ", suits="CD", hand_size=1, max_bid=2)
PAIRS = Rules.preset("auction_pairs", ranks="TJ", suits="CD", hand_size=1, max_bid=2, steal=False)
SMALL = [SHORT, UNUSED, EXCHANGE, TAKES, THREE, PAIRS]
WIDER = Rules.preset("auction", players=2, ranks="TJA", suits="CD", hand_size=2)
each_small = pytest.mark.parametrize("rules", SMALL, ids=["short", "unused", "exchange", "takes", "three", "pairs"])


def network_agent(rules: Rules) -> checkpoint.NetworkAgent:
    torch.manual_seed(3)
    network = PolicyValueNetwork(highs(rules), width=16, depth=1)
    torch.nn.init.normal_(network.policy.weight, 0, 0.3)  # far from uniform, unlike a fresh one
    return checkpoint.NetworkAgent(rules, network.eval(), "tiny")


def write_checkpoint(path, rules: Rules) -> None:
    agent = network_agent(rules)
    tensors = {f"network.{name}": tensor for name, tensor in agent.network.state_dict().items()}
    checkpoint.write(path, tensors, checkpoint.header_for(rules, {"width": 16, "depth": 1}, {}))


# Against OpenSpiel.


@each_small
def test_random_play_is_as_far_as_open_spiel_says(rules):
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
    from open_spiel.python import policy
    from open_spiel.python.algorithms import exploitability

    from pitch_env import open_spiel_game

    dealer = None if rules == SHORT else 0
    game = open_spiel_game.load(rules, dealer=-1 if dealer is None else dealer)
    theirs = exploitability.nash_conv(game, policy.UniformRandomPolicy(game), return_only_nash_conv=False)
    ours = nash_conv(rules, policy_of(load("random")), dealer)
    assert ours.nash_conv == pytest.approx(theirs.nash_conv, abs=1e-9)
    np.testing.assert_allclose(ours.gains, theirs.player_improvements, atol=1e-9)


class Mixed:
    """Any probabilities, but always the same for the same observation."""

    name = "mixed"

    def probabilities(self, observation, mask):
        seeds = [zlib.crc32(row.astype(np.uint8).tobytes()) for row in observation]
        weight = mask * np.stack([np.random.default_rng(seed).random(mask.shape[1]) ** 3 for seed in seeds])
        return weight / weight.sum(1, keepdims=True)


@pytest.mark.parametrize(
    ("rules", "kind"), [(SHORT, "mixed"), (EXCHANGE, "mixed"), (SHORT, "network"), (UNUSED, "deterministic")]
)
def test_an_agent_is_as_far_as_open_spiel_says(rules, kind):
    pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
    from open_spiel.python.algorithms import exploitability

    from agents.open_spiel_policy import AgentPolicy
    from pitch_env import open_spiel_game

    agent = Mixed() if kind == "mixed" else network_agent(rules)
    game = open_spiel_game.load(rules, dealer=1)
    theirs = exploitability.nash_conv(game, AgentPolicy(game, agent, kind == "deterministic"))
    ours = nash_conv(rules, policy_of(agent, kind == "deterministic"), dealer=1)
    assert ours.nash_conv > 0.1
    # In single precision a network computes one row a little differently than many.
    assert ours.nash_conv == pytest.approx(theirs, abs=1e-5 if kind == "network" else 1e-9)


# By itself.


@each_small
def test_values_and_gains_are_as_they_must_be(rules):
    found = nash_conv(rules, policy_of(load("random")))
    assert math.fsum(found.values) == pytest.approx(0, abs=1e-9)
    assert all(gain >= -1e-12 for gain in found.gains)
    assert found.nash_conv == pytest.approx(sum(found.best_responses) - sum(found.values))
    assert found.deals == number_of_deals(rules) * rules.players
    if not rules.pairs:  # the dealer is drawn, so that all seats are alike
        np.testing.assert_allclose(found.gains, found.gains[0], atol=1e-9)


@pytest.mark.parametrize(("rules", "deals"), [(SHORT, 12), (UNUSED, 6), (EXCHANGE, 6), (TAKES, 12), (WIDER, 90)])
def test_the_number_of_deals(rules, deals):
    assert number_of_deals(rules) == deals


def test_the_mean_over_dealers_is_that_of_a_drawn_one():
    policy = policy_of(load("greedy"))
    first, second = (nash_conv(SHORT, policy, dealer) for dealer in (0, 1))
    drawn = nash_conv(SHORT, policy)
    assert first.gains == pytest.approx(second.gains[::-1])  # the game is the same from the other side
    np.testing.assert_allclose(drawn.gains, np.mean([first.gains, second.gains], 0))
    assert (drawn.nodes, drawn.infosets) == (first.nodes + second.nodes, first.infosets + second.infosets)


def test_a_game_that_is_solved_by_hand():
    """Two cards and one bid. Seat 1 bids it or passes, then the dealer must bid; the play is forced."""
    rules = Rules.preset("auction", players=2, ranks="TJ", suits="C", hand_size=1, min_bid=2, max_bid=2, steal=False)

    def result(hands: list[list[str]], *actions: str) -> int:
        game = Game.from_deal(rules, hands, dealer=0)
        for action in actions:
            game.apply(action)
        return game.last_deal.score_change[0] - game.last_deal.score_change[1]

    def always_bid(observation, mask):
        chosen = mask.copy()
        chosen[mask.sum(1) > 1] = np.arange(mask.shape[1]) == PASS + 2
        return chosen.astype(float)

    deals = [[["JC"], ["TC"]], [["TC"], ["JC"]]]
    passed = [result(hands, "pass", "2", *hands[0], *hands[1]) for hands in deals]
    bid = [result(hands, "2", *hands[1], *hands[0]) for hands in deals]
    assert bid[0] > passed[0]  # with the ten, seat 1 had better pass
    found = nash_conv(rules, always_bid, dealer=0)
    assert found.values == pytest.approx([np.mean(bid), -np.mean(bid)])
    assert found.gains == pytest.approx([0, np.mean(np.maximum(0, np.subtract(bid, passed)))])
    assert found.gains[1] > 0


@pytest.mark.parametrize("width", [1, 7, 100])
def test_it_does_not_matter_how_many_are_looked_at_together(width, monkeypatch):
    whole = nash_conv(WIDER, policy_of(load("greedy")))
    monkeypatch.setattr("agents.nashconv.WIDTH", width * 100)
    parts = nash_conv(WIDER, policy_of(load("greedy")))
    assert parts.nash_conv == pytest.approx(whole.nash_conv, abs=1e-9)
    assert (parts.nodes, parts.infosets) == (whole.nodes, whole.infosets)


def test_every_decision_is_counted():
    def decisions(game: Game) -> int:
        if game.actor is None:
            return 0
        total = 1
        for action in game.legal_ids():
            after = game.clone()
            after.apply(action)
            total += decisions(after)
        return total

    cards = ["TC", "JC", "TD", "JD"]
    games = [
        Game.from_deal(SHORT, [[one], [two]], dealer=dealer)
        for dealer in (0, 1) for one in cards for two in cards if one != two
    ]  # fmt: skip
    assert nash_conv(SHORT, policy_of(load("random"))).nodes == sum(map(decisions, games))


# Policies.


def test_probabilities_are_exact_in_double_precision():
    agent = network_agent(WIDER)
    batch = VectorGame(WIDER, 32)
    probability = policy_of(agent)(batch.observation, batch.mask)
    np.testing.assert_allclose(probability.sum(1), 1, atol=1e-15)
    assert not probability[~batch.mask].any()
    chosen = policy_of(agent, deterministic=True)(batch.observation, batch.mask)
    assert (chosen.argmax(1) == probability.argmax(1)).all()
    assert set(np.unique(chosen)) == {0, 1}


class Dice:
    name = "dice"

    def act(self, observation, mask, rng):
        return (mask * rng.random(mask.shape)).argmax(1)


def test_an_agent_that_draws_without_probabilities_is_refused():
    with pytest.raises(ValueError, match="dice draws its actions"):
        nash_conv(SHORT, policy_of(Dice()))


# What is too large.


@pytest.mark.parametrize(
    ("rules", "limit", "says"),
    [
        (Rules.preset("auction"), 10**6, "deals, and 1,000,000 decisions"),
        (WIDER, 15_000, "180 deals with about 2.,... decisions in all, and 15,000 are allowed"),
        (WIDER, 200, "more than 200 decisions"),
    ],
)
def test_what_is_too_large_is_refused(rules, limit, says):
    with pytest.raises(ValueError, match=says):
        nash_conv(rules, policy_of(load("random")), limit=limit)


def test_there_is_no_such_dealer():
    with pytest.raises(ValueError, match="seat=2 is not allowed"):
        nash_conv(SHORT, policy_of(load("random")), dealer=2)


# The command.


def test_the_command_measures_checkpoints_by_their_own_rules(tmp_path, capsys):
    write_checkpoint(tmp_path / "model.safetensors", SHORT)
    assert cli.main(["nashconv", str(tmp_path), "random", "--json", str(tmp_path / "out.json")]) == 0
    assert "NashConv" in capsys.readouterr().out
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["rules"] == SHORT.to_dict()
    assert found["agents"]["random"]["nash_conv"] == pytest.approx(
        nash_conv(SHORT, policy_of(load("random"))).nash_conv
    )
    expected = nash_conv(SHORT, policy_of(network_agent(SHORT))).nash_conv
    assert found["agents"][tmp_path.name]["nash_conv"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        "{preset: auction, players: 2, ranks: TJ, suits: CD, hand_size: 1}",
        "{rules: auction, rule_options: {players: 2, ranks: TJ, suits: CD, hand_size: 1}, total_decisions: 7}",
        json.dumps(SHORT.to_dict()),
    ],
)
def test_the_command_reads_rules(text, tmp_path, capsys):
    (tmp_path / "tiny.yaml").write_text(text)
    out = str(tmp_path / "out.json")
    assert cli.main(["nashconv", "greedy", "--rules", str(tmp_path / "tiny.yaml"), "--json", out]) == 0
    assert json.loads((tmp_path / "out.json").read_text())["rules"] == SHORT.to_dict()


@pytest.mark.parametrize(
    ("text", "says"),
    [("[1, 2]", "tiny.yaml"), ("{playrs: 2}", "tiny.yaml: no rule 'playrs'"), ("{", "no rules in YAML")],
)
def test_the_command_refuses_what_is_no_rules(text, says, tmp_path, capsys):
    (tmp_path / "tiny.yaml").write_text(text)
    assert cli.main(["nashconv", "greedy", "--rules", str(tmp_path / "tiny.yaml")]) == 1
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


def test_the_command_needs_rules(capsys):
    assert cli.main(["nashconv", "greedy"]) == 1
    assert "--rules" in capsys.readouterr().err
