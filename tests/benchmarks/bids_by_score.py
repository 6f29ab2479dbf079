"""Whether an agent bids by the score: what it calls when a game begins, and when it is about to be won or lost.

    python tests/benchmarks/bids_by_score.py runs/win

The same deals are bid again at other scores, all seats by the agent, and the calls of one team are counted. An agent
that learned single deals has only seen a score of zero, so what it does at others is chance and no plan.
"""

import argparse
import itertools

import numpy as np

from agents import load, options
from agents.agent import Agent
from agents.evaluation import trained_for
from agents.intervals import Interval, interval
from pitch_env import Rules, VectorGame
from pitch_env.actions import PASS
from pitch_env.state import Phase


def passes(rules: Rules, agent: Agent, own: int, others: int, deals: int, seed: int) -> Interval:
    """How often one team passes where it could bid, on deals that begin at some scores.

    Args:
        rules: of games to a target.
        agent: who has all seats.
        own, others: the score of the team whose calls are counted, and that of each other team.
        deals, seed: the deals.

    Returns:
        The share of its calls that are passes, where passing was a choice, with a 95 % interval over deals.
    """
    batch, rng = VectorGame(rules, deals, seed=seed, deals=None), np.random.default_rng([seed, 2])
    scores = batch.states["public"]["scores"]
    scores[:, : rules.teams] = others
    scores[:, 0] = own
    batch.refresh()
    calls, passed, bidding = np.zeros(deals), np.zeros(deals), batch.phase == Phase.BID
    while bidding.any():
        action = batch.mask.argmax(1)  # after the auction nobody looks
        action[bidding] = agent.act(batch.observation[bidding], batch.mask[bidding], rng)
        chosen = bidding & (batch.actor % rules.teams == 0) & batch.mask[:, PASS] & (batch.mask.sum(1) > 1)
        calls += chosen
        passed += chosen & (action == PASS)
        batch.step(action)
        bidding &= (batch.phase == Phase.BID) & ~batch.ended
    asked = calls > 0
    return interval(passed[asked] / calls[asked])


def table(rules: Rules, agent: Agent, deals: int, seed: int) -> str:
    """A Markdown table: scores of zero, of half the target, and of one point less than it, for either side."""
    assert rules.target is not None
    steps = (0, rules.target // 2, rules.target - 1)
    rows = ["| own score | others' | calls that are passes |", "| --- | --- | --- |"]
    for own, others in itertools.product(steps, steps):
        share = passes(rules, agent, own, others, deals, seed)
        rows.append(f"| {own} | {others} | {share.mean:.1%} ({share.low:.1%} to {share.high:.1%}) |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("agent", help="a checkpoint, a folder of a run, or the name of an agent")
    options.add_deals(parser, 4000, "deals at each score")
    options.add_seed(parser)
    chosen = parser.parse_args()
    try:
        agent = load(chosen.agent)
        rules = trained_for(agent)
        if rules is None or rules.target is None:
            raise ValueError(f"{chosen.agent} is not allowed; it is an agent trained for one variant that has a target")
    except ValueError as error:
        parser.error(str(error))
    print(table(rules, agent, chosen.deals, chosen.seed))


if __name__ == "__main__":
    main()
