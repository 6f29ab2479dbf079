"""How far a policy is from an equilibrium, exactly, in games small enough to be searched whole.

NashConv is the sum, over the seats, of what each could gain by answering the others' policy in the best way while they
keep to it (Lanctot et al., 2017); 0 is an equilibrium. In two-player games half of it is the exploitability. Points are
relative to the opponents, of one deal, from scores of zero.

All deals are played out side by side, level by level, in a ``VectorGame``, so that the rules are the engine's.
Decisions of the same seat with the same observation are one information set: an observation holds all that a seat
knows, but for the order in which it put cards away, on which nothing depends. Decisions without a choice are not passed
over: the others may not know that there was none, and an information set would lie in several levels.
"""

import hashlib
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from agents.agent import Agent
from agents.baselines import RandomAgent
from agents.returns import relative
from pitch_env import Game, Rules, VectorGame
from pitch_env.cards import card_text, cards_in, mask_of

MAX_NODES = 10_000_000
WIDTH = 100_000  # nodes of a level that are looked at together

Policy = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Observations uint8 [N, D] and masks bool [N, 71] to probabilities float64 [N, 71], 0 for what is illegal."""


@dataclass
class NashConv:
    """What each seat can gain against a policy."""

    nash_conv: float
    gains: list[float]  # by seat; their sum is nash_conv
    values: list[float]  # by seat: what the policy gets against itself
    best_responses: list[float]  # by seat: what the best response to it gets
    deals: int  # the dealer's draw included
    nodes: int  # decisions in all deals
    infosets: int


# Policies.


def policy_of(agent: Agent, deterministic: bool = False) -> Policy:
    """The policy of an agent: its probabilities where it has some, else what it does, if that is always the same.

    Args:
        agent: any agent.
        deterministic: what it does, as it plays in matches, also where it has probabilities.

    The policy raises ValueError where the agent draws its actions and does not tell their probabilities.
    """
    if isinstance(agent, RandomAgent):
        return lambda observation, mask: mask / mask.sum(1, keepdims=True)
    if hasattr(agent, "probabilities") and not deterministic:
        return lambda observation, mask: _normalised(agent.probabilities(observation, mask), mask)
    return lambda observation, mask: _as_it_acts(agent, observation, mask)


def _normalised(probability: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """In double precision; networks compute in single."""
    exact = np.where(mask, probability, 0).astype(np.float64)
    return exact / exact.sum(1, keepdims=True)


def _as_it_acts(agent: Agent, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
    first, second = (agent.act(observation, mask, np.random.default_rng(seed)) for seed in (1, 2))
    if (first != second).any():
        raise ValueError(f"{agent.name} draws its actions and does not tell their probabilities, which NashConv takes")
    probability = np.zeros(mask.shape)
    probability[np.arange(len(mask)), first] = 1
    return probability


# Deals.


def number_of_deals(rules: Rules) -> int:
    """How many different deals there are, of one dealer: hands, and where players draw from the widow, its order."""
    number, left = 1, len(rules.deck)
    for _ in range(rules.players):
        number *= math.comb(left, rules.hand_size)
        left -= rules.hand_size
    return number * (math.factorial(left) if rules.widow == "exchange" else 1)


def _deals(rules: Rules) -> Iterator[tuple[list[int], tuple[int, ...]]]:
    """All of them, equally likely: a mask for each seat, and the widow from its top."""

    def hands(left: tuple[int, ...], seats: int) -> Iterator[tuple[list[int], tuple[int, ...]]]:
        if seats == 0:
            yield [], left
            return
        for hand in itertools.combinations(left, rules.hand_size):
            rest = tuple(card for card in left if card not in hand)
            for others, widow in hands(rest, seats - 1):
                yield [mask_of(hand), *others], widow

    for masks, rest in hands(rules.deck, rules.players):
        for widow in itertools.permutations(rest) if rules.widow == "exchange" else (rest,):
            yield masks, widow


def _first_states(rules: Rules, dealers: list[int]) -> np.ndarray:
    """The STATE records of all deals, in a random order, so that the first are like the rest."""
    deals = list(_deals(rules))
    states = []
    for dealer in dealers:
        masks, widow = deals[0]
        hands = [[card_text(card) for card in cards_in(mask)] for mask in masks]
        game = Game.from_deal(rules, hands, [card_text(card) for card in widow], dealer)
        part = np.repeat(game._states, len(deals))
        part["hands"][:, : rules.players] = [masks for masks, _ in deals]
        part["dealt"] = part["hands"]
        part["deck"][:, : rules.widow_size] = [widow for _, widow in deals]
        states.append(part)
    whole = np.concatenate(states)
    return whole[np.random.default_rng(0).permutation(len(whole))]


# The tree.


@dataclass
class Level:
    """The decisions that come after the same number of actions, and their edges: the actions, in order of the nodes."""

    actor: np.ndarray  # int8 [nodes], the seat
    first: np.ndarray  # int64 [infosets], the first slot of each; a slot is one of its legal actions
    probability: np.ndarray  # float64 [slots], of the policy
    parent: np.ndarray  # int32 [edges], the node
    slot: np.ndarray  # int32 [edges]
    child: np.ndarray  # int32 [edges], a node of the next level; -1 where the deal is over
    payoff: np.ndarray  # float64 [edges that end, players], in the order of the edges


@dataclass
class _Growing:
    """A level while parts of it come in."""

    nodes: int = 0
    slots: int = 0
    seen: dict[bytes, int] = field(default_factory=dict)  # a digest of seat and observation -> infoset
    first: list[int] = field(default_factory=list)
    parts: dict[str, list[np.ndarray]] = field(default_factory=dict)

    def add(self, **arrays: np.ndarray) -> None:
        for name, array in arrays.items():
            self.parts.setdefault(name, []).append(array)

    def finished(self) -> Level:
        whole = {name: np.concatenate(arrays) for name, arrays in self.parts.items()}
        self.parts.clear()
        self.seen.clear()
        return Level(first=np.array(self.first, np.int64), **whole)


class _Tree:
    """The tree of all deals under a policy."""

    def __init__(self, rules: Rules, policy: Policy, limit: int) -> None:
        self.rules, self.policy, self.limit = rules, policy, limit
        self.growing: list[_Growing] = []
        self.nodes = 0

    def grow(self, roots: np.ndarray) -> list[Level]:
        """Play out all deals, some at a time. Raises ValueError where there are more nodes than allowed."""
        done, size = 0, min(64, len(roots))
        while done < len(roots):
            before = self.nodes
            widest = self._play_out(_batch(self.rules, roots[done : done + size]))
            done = min(done + size, len(roots))
            expected = self.nodes * len(roots) // done
            if expected > 1.5 * self.limit:
                raise ValueError(f"these rules are too large: {_about(expected, len(roots), self.limit)}")
            size = max(1, min(size * WIDTH // widest, size * 16)) if self.nodes > before else size
        return [level.finished() for level in self.growing]

    def _play_out(self, batch: VectorGame | None) -> int:
        """Play out some deals, level by level; returns the size of the widest level."""
        widest = depth = 0
        while batch is not None:
            if depth == len(self.growing):
                self.growing.append(_Growing())
            self.nodes += len(batch)
            if self.nodes > self.limit:
                raise ValueError(f"these rules are too large: more than {self.limit:,} decisions in all deals")
            widest = max(widest, len(batch))
            batch = self._expand(batch, depth)
            depth += 1
        return widest

    def _expand(self, batch: VectorGame, depth: int) -> VectorGame | None:
        """Add a batch of nodes to a level; returns the batch of those that follow, None if all deals are over."""
        level = self.growing[depth]
        infoset = self._infosets(batch, level)
        rows, actions = np.nonzero(batch.mask)
        numbers = batch.mask.sum(1)
        starts = np.cumsum(numbers) - numbers
        slot = np.array(level.first)[infoset][rows] + np.arange(len(rows)) - starts[rows]
        after = _batch(self.rules, batch.states[rows])
        after.step(actions)
        over = after.done
        offset = self.growing[depth + 1].nodes if depth + 1 < len(self.growing) else 0
        level.add(
            actor=batch.actor.copy(),
            parent=(rows + level.nodes).astype(np.int32),
            slot=slot.astype(np.int32),
            child=np.where(over, -1, offset + np.cumsum(~over) - 1).astype(np.int32),
            payoff=relative(after.reward[over].astype(np.float64), self.rules),
        )
        level.nodes += len(batch)
        return None if over.all() else _batch(self.rules, after.states[~over])

    def _infosets(self, batch: VectorGame, level: _Growing) -> np.ndarray:
        """The information set of each node, int64 [N]; new ones get a place and the policy's probabilities."""
        known = len(level.seen)
        new: list[int] = []
        infoset = np.empty(len(batch), np.int64)
        for row, seat in enumerate(batch.actor.tolist()):
            digest = hashlib.blake2b(batch.observation[row], digest_size=16, salt=bytes([seat])).digest()
            infoset[row] = level.seen.setdefault(digest, len(level.seen))
            if infoset[row] == known + len(new):
                new.append(row)
        if new:
            mask = batch.mask[new]
            numbers = mask.sum(1)
            level.first += (level.slots + np.cumsum(numbers) - numbers).tolist()
            level.slots += int(numbers.sum())
            level.add(probability=self.policy(batch.observation[new], mask)[mask])
        return infoset


def _batch(rules: Rules, states: np.ndarray) -> VectorGame:
    batch = VectorGame(rules, len(states), deals=1)
    batch.states[:] = states
    batch.refresh()
    return batch


def _about(nodes: int, deals: int, limit: int) -> str:
    return f"{deals:,} deals with about {nodes:,} decisions in all, and {limit:,} are allowed"


# Values.


def _edge_values(level: Level, below: np.ndarray) -> np.ndarray:
    """What each edge leads to is worth, by seat [edges, players], from the values of the nodes below."""
    over = level.child < 0
    values = np.empty((len(level.child), below.shape[1]))
    values[over], values[~over] = level.payoff, below[level.child[~over]]
    return values


def _values(levels: list[Level], players: int) -> np.ndarray:
    """What the policy gets against itself: the mean over the deals, by seat [players]."""
    below: np.ndarray = np.zeros((0, players))
    for level in reversed(levels):
        weighted = _edge_values(level, below) * level.probability[level.slot][:, None]
        nodes = len(level.actor)
        below = np.stack([np.bincount(level.parent, column, nodes) for column in weighted.T], 1)
    return below.mean(0)


def _reach(levels: list[Level], seat: int) -> list[np.ndarray]:
    """How likely the others and the cards make each node, by level, where ``seat`` does all to come there."""
    reach = [np.full(len(levels[0].actor), 1 / len(levels[0].actor))]
    for level, following in itertools.pairwise(levels):
        own = level.actor[level.parent] == seat
        edges = reach[-1][level.parent] * np.where(own, 1.0, level.probability[level.slot])
        on = level.child >= 0
        below = np.empty(len(following.actor))
        below[level.child[on]] = edges[on]
        reach.append(below)
    return reach


def _best_response(levels: list[Level], seat: int) -> float:
    """What ``seat`` gets on average when it answers the policy of all others in the best way."""
    reach = _reach(levels, seat)
    below: np.ndarray = np.zeros(0)
    for level in reversed(levels):
        edges = np.empty(len(level.child))
        over = level.child < 0
        edges[over], edges[~over] = level.payoff[:, seat], below[level.child[~over]]
        own = level.actor[level.parent] == seat
        worth = np.bincount(level.slot[own], (reach.pop()[level.parent] * edges)[own], len(level.probability))
        weight = np.where(own, _first_best(worth, level.first)[level.slot], level.probability[level.slot])
        below = np.bincount(level.parent, weight * edges, len(level.actor))
    return float(below.mean())


def _first_best(worth: np.ndarray, first: np.ndarray) -> np.ndarray:
    """1 for the first slot of each infoset that is worth most, else 0."""
    infoset = np.repeat(np.arange(len(first)), np.diff(first, append=len(worth)))
    best = np.flatnonzero(worth == np.maximum.reduceat(worth, first)[infoset])
    chosen = np.zeros(len(worth))
    chosen[best[np.unique(infoset[best], return_index=True)[1]]] = 1
    return chosen


def nash_conv(rules: Rules, policy: Policy, dealer: int | None = None, limit: int = MAX_NODES) -> NashConv:
    """What each seat can gain against a policy that all seats play.

    Args:
        rules: what is played; one deal from scores of zero.
        policy: see ``policy_of``.
        dealer: the seat that deals; None if it is drawn.
        limit: how many decisions all deals together may have; a million take about 300 MB and 10 seconds.

    Raises:
        ValueError: the game is larger than that, or there is no such seat.
    """
    if dealer is not None:
        rules.team_of(dealer)  # refuses what is no seat
    dealers = list(range(rules.players)) if dealer is None else [dealer]
    deals = number_of_deals(rules) * len(dealers)
    if deals > limit:
        raise ValueError(
            f"these rules are too large: {deals:,} deals, and {limit:,} decisions in all deals are allowed"
        )
    tree = _Tree(rules, policy, limit)
    levels = tree.grow(_first_states(rules, dealers))
    values = _values(levels, rules.players)
    best = [_best_response(levels, seat) for seat in range(rules.players)]
    gains = [float(response - value) for response, value in zip(best, values, strict=True)]
    infosets = sum(len(level.first) for level in levels)
    return NashConv(math.fsum(gains), gains, values.tolist(), best, deals, tree.nodes, infosets)
