"""What lets other libraries play: agents from their networks, and RLlib's environment."""

import numpy as np
import pytest
import torch

from agents import Agent, load
from agents.evaluation import duplicate_match
from agents.logits_agent import LogitsAgent
from pitch_env import Rules, VectorGame, pitch_v0


def test_an_agent_from_logits_takes_the_best_legal_action():
    batch = VectorGame(Rules.preset("auction"), num_games=50, seed=1)
    wishes = torch.randn(len(batch), 71, generator=torch.Generator().manual_seed(1))
    shapes = []

    def logits(observation: torch.Tensor) -> torch.Tensor:
        shapes.append((observation.dtype, tuple(observation.shape)))
        return wishes

    agent = LogitsAgent("wishes", logits)
    assert isinstance(agent, Agent)
    for mask in (batch.mask, batch.mask.astype(np.int8)):
        chosen = agent.act(batch.observation, mask, np.random.default_rng(1))
        assert chosen.tolist() == [max(np.flatnonzero(mask[i]), key=lambda j: wishes[i, j]) for i in range(len(batch))]
    assert shapes == [(torch.float32, batch.observation.shape)] * 2


def test_a_network_that_wants_gradients_plays():
    rules = Rules.preset("auction")
    network = torch.nn.Linear(VectorGame(rules, 1).observation_size, 71)
    match = duplicate_match(rules, LogitsAgent("linear", network), load("random"), deals=4)
    assert str(match) == (
        f"linear against random: {match.mean:+.2f} ({match.low:+.2f} to {match.high:+.2f}) points per deal"
    )


def test_rllib_gets_observations_under_its_name_and_all_rewards():
    pytest.importorskip("ray.rllib")
    from agents.rllib_env import PitchMultiAgentEnv

    env = PitchMultiAgentEnv({"rules": "auction_pairs", "reward": "relative"})
    plain = pitch_v0.env("auction_pairs", reward="relative")
    seen, _ = env.reset(seed=5)
    plain.reset(seed=5)
    over, won = False, dict.fromkeys(plain.possible_agents, 0.0)
    while not over:
        ((agent, observation),) = seen.items()
        assert agent == plain.agent_selection
        assert set(observation) == {"observations", "action_mask"}
        assert env.get_observation_space(agent).contains(observation)
        assert (observation["observations"] == plain.observe(agent)["observation"]).all()
        action = int(observation["action_mask"].argmax())
        plain.step(action)
        seen, rewards, terminated, truncated, _ = env.step({agent: action})
        for player, reward in rewards.items():
            won[player] += reward
        over = terminated["__all__"] or truncated["__all__"]
    assert won == plain.rewards  # of the one deal
    assert any(won.values())
    with pytest.raises(ValueError, match="preset"):
        PitchMultiAgentEnv({"rules": "bridge"})
