"""A search over an information set, with determinize: python examples/information_set_search.py [SAMPLES]

Each action is played out by a quick player on the same deals, each of which the seat to act holds possible.
"""

import sys

import numpy as np

from agents import load
from agents.returns import relative
from pitch_env import Game, Rules

samples = int(sys.argv[1]) if len(sys.argv) > 1 else 500
game = Game(Rules.preset("auction"), seed=3, deals=1)
while game.phase == "bid":
    game.apply(game.legal()[0])  # pass, or what must be bid
me, legal, quick, rng = game.actor, game.legal(), load("greedy"), np.random.default_rng(1)
print(f"seat {me} holds {' '.join(game.hand(me))}, has bid {game.bid} and leads")

imagined = [game.determinize(me, rng) for _ in range(samples)]  # the others' cards anew; those I see as they are
assert all(each.infoset(me) == game.infoset(me) for each in imagined)
tables = [table.clone() for table in imagined for _ in legal]
for table, action in zip(tables, legal * samples, strict=True):
    table.apply(action)
while any(table.actor is not None for table in tables):
    open_tables = [table for table in tables if table.actor is not None]
    seen = np.array([table.observation(table.actor) for table in open_tables])
    masks = np.array([table.legal_mask() for table in open_tables])
    for table, action in zip(open_tables, quick.act(seen, masks, rng).tolist(), strict=True):
        table.apply(action)
change = np.array([table.last_deal.score_change for table in tables], float)  # [tables, seats]
values = relative(change, game.rules)[:, me].reshape(samples, len(legal))
error = values.std(0) / samples**0.5
for i in np.argsort(-values.mean(0)):
    print(f"{legal[i]}: {values[:, i].mean():+.2f} points, plus or minus {error[i]:.2f}")
