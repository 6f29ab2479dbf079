"""How many whole games an agent wins: what counts for one that plays to the score."""

from collections.abc import Sequence

import numpy as np

from agents.agent import Agent
from agents.intervals import Interval, interval
from pitch_env import Rules, VectorGame

MOST_DEALS = 60  # of a game; where nobody has won by then, as when all go down and down, nobody does


def games_won(rules: Rules, agent: Agent, opponent: Agent, games: int, seed: int = 0) -> Interval:
    """Play whole games, each once for every team with the agent as that team and the opponent as all others.

    Args:
        rules: what is played; they have a target.
        agent, opponent: the players.
        games: how many different games, by their cards; at least two.
        seed: of the cards and of the agents' own chance.

    Returns:
        The share of games that the agent wins, with a 95 % interval over games, which ends at 0 and 1; as good as the
        opponent is 1 / teams.
    """
    seeds = np.random.SeedSequence([seed, games]).generate_state(games, np.uint64)
    batch = VectorGame(rules, games * rules.teams, np.repeat(seeds, rules.teams), deals=None)
    rng, mine = np.random.default_rng([seed, 2]), np.arange(len(batch)) % rules.teams
    won, playing = np.zeros(len(batch), bool), np.ones(len(batch), bool)
    while playing.any():
        actions = batch.mask.argmax(1)  # a game that is over has begun anew, and nobody looks
        own = batch.actor % rules.teams == mine
        for player, rows in ((agent, playing & own), (opponent, playing & ~own)):
            if rows.any():
                actions[rows] = player.act(batch.observation[rows], batch.mask[rows], rng)
        batch.step(actions)
        won |= playing & batch.done & (batch.last["winner"] == mine)
        playing &= ~batch.done & (batch.states["public"]["deals"] < MOST_DEALS)
    share = interval(won.reshape(games, rules.teams).mean(1))
    return Interval(share.mean, max(0.0, share.low), min(1.0, share.high))


def describe(name: str, won: Sequence[tuple[str, Interval]], teams: int) -> str:
    """The shares of games won against opponents, in a line."""
    shares = "  ".join(f"{opponent} {each.mean:.0%} ({each.low:.0%} to {each.high:.0%})" for opponent, each in won)
    return f"{name}: games won, of which an even share is {1 / teams:.0%}: {shares}"
