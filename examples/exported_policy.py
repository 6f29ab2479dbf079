"""An exported policy without torch: python examples/exported_policy.py [FILE]

The file is written by: pitch export checkpoints/auction --out exported/auction
"""

import sys

import numpy as np

from agents import exported, load
from agents.evaluation import duplicate_match
from pitch_env import Game, Rules
from pitch_env.actions import action_text

policy = exported.load(sys.argv[1] if len(sys.argv) > 1 else "exported/auction/model.onnx")
rules = Rules.from_dict(policy.metadata["rules"])
game = Game(rules, seed=7, deals=1)
print("seat", game.actor, "holds", *game.hand(game.actor))
probability, best, value = policy.answer(game.observation(game.actor)[None], game.legal_mask()[None])
for action in np.argsort(-probability[0])[:3]:
    print(f"{action_text(int(action)):>5} {probability[0, action]:.0%}")
print(f"it expects {value[0]:+.2f} points, relative to the others")

match = duplicate_match(rules, policy, load("greedy"), deals=100)
print(f"against greedy: {match.mean:+.2f} ({match.low:+.2f} to {match.high:+.2f}) points per deal")
assert "torch" not in sys.modules
