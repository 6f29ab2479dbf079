"""Random play on the PettingZoo environment: python examples/random_play.py [DEALS]"""

import sys

from pitch_env import pitch_v0

deals = int(sys.argv[1]) if len(sys.argv) > 1 else 100

env = pitch_v0.env(rules="auction_pairs", episode=deals, target=None, reward="score", render_mode="ansi")
env.reset(seed=7)
totals = dict.fromkeys(env.possible_agents, 0.0)
for agent in env.agent_iter():
    observation, reward, terminated, truncated, info = env.last()
    totals[agent] += reward  # all that the agent has won since its last action, by whomever's
    over = terminated or truncated
    env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))
print(env.render())
print(f"points in {deals} deals:", ", ".join(f"{agent} {total:+.0f}" for agent, total in totals.items()))
