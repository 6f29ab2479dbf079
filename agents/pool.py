"""Opponents in training: earlier selves of the learner, or one agent that does not learn.

An opponent has all seats but those of one team for a whole game (a deal, where games are single deals); the learner has
that team, and learns from its own decisions only. In all other games the learner plays itself.
"""

import copy
from abc import ABC, abstractmethod

import numpy as np
import torch
from torch import Tensor

from agents.agent import Agent
from agents.checkpoint import NetworkAgent, weights_hash
from pitch_env import VectorGame
from pitch_env.state import NOBODY


class Opponents(ABC):
    """Who has the seats that the learner has not, at the tables of a batch.

    Attributes:
        players: the opponents by number.
        opponent: int64 [N], the number of the opponent in each game, or ``NOBODY``.
        team: int64 [N], the learner's team in those.
    """

    def __init__(self, batch: VectorGame) -> None:
        self.players: dict[int, Agent] = {}
        rules = [batch.rules[game % len(batch.rules)] for game in range(batch.num_games)]
        self.teams = np.array([each.teams for each in rules])
        self.opponent = np.full(batch.num_games, NOBODY)
        self.team = np.zeros(batch.num_games, np.int64)

    def own(self, actor: np.ndarray) -> np.ndarray:
        """Whether the learner acts: bool [N], for the seats to act, int8 [N]."""
        return (self.opponent == NOBODY) | (actor % self.teams == self.team)

    def act(self, batch: VectorGame, actions: np.ndarray, rng: np.random.Generator) -> None:
        """Write the actions of those games in which an opponent is to act into ``actions``, int64 [N]."""
        others = ~self.own(batch.actor)
        for number, player in self.players.items():
            rows = np.flatnonzero(others & (self.opponent == number))
            if len(rows):
                actions[rows] = player.act(batch.observation[rows], batch.mask[rows], rng)

    @abstractmethod
    def seat(self, games: np.ndarray, rng: np.random.Generator) -> None:
        """Seat opponents anew in games, int64 [n], that have just begun."""

    def draw(self, games: np.ndarray, numbers: np.ndarray, rng: np.random.Generator) -> None:
        """Give games the opponents of these numbers, and the learner a team drawn at random."""
        self.opponent[games] = numbers
        self.team[games] = rng.integers(self.teams[games])

    def tensors(self) -> dict[str, Tensor]:
        """All that is needed to go on."""
        return {"opponent": torch.from_numpy(self.opponent), "team": torch.from_numpy(self.team)}

    def load(self, tensors: dict[str, Tensor], learner: NetworkAgent) -> None:
        """Go on where ``tensors`` were taken; ``learner`` is of the shape that it had then."""
        self.opponent[:], self.team[:] = tensors["opponent"].numpy(), tensors["team"].numpy()


class Frozen(Opponents):
    """One agent that does not learn, in every game. Raises ValueError where it does not play by the batch's rules."""

    def __init__(self, batch: VectorGame, agent: Agent, rng: np.random.Generator) -> None:
        super().__init__(batch)
        each = slice(len(batch.rules))  # a game by each of the rules
        agent.act(batch.observation[each], batch.mask[each], np.random.default_rng(0))
        self.players[0] = agent
        self.seat(np.arange(batch.num_games), rng)

    def seat(self, games: np.ndarray, rng: np.random.Generator) -> None:
        """See ``Opponents``."""
        self.draw(games, np.zeros(len(games), np.int64), rng)


class Pool(Opponents):
    """Earlier selves of the learner. They draw from their policies, as the learner does.

    Args:
        batch: the games.
        share: the share of games that one of them is in.
        pick: "uniform", or "recent": each is half as likely as the next newer one.
        every: so many updates after one snapshot the next is taken.
        size: so many are kept; an older one stays for the games that it is in.
    """

    def __init__(self, batch: VectorGame, *, share: float, pick: str, every: int, size: int) -> None:
        super().__init__(batch)
        self.share, self.pick, self.every, self.size = share, pick, every, size
        self.updates = 0

    @property
    def kept(self) -> list[int]:
        """The numbers of the snapshots that can be drawn, the oldest first."""
        return sorted(self.players)[-self.size :]

    def seat(self, games: np.ndarray, rng: np.random.Generator) -> None:
        """See ``Opponents``."""
        kept = self.kept
        weight = 2.0 ** np.arange(len(kept)) if self.pick == "recent" else np.ones(len(kept))
        numbers = rng.choice(kept, len(games), p=weight / weight.sum()) if kept else np.full(len(games), NOBODY)
        self.draw(games, np.where(rng.random(len(games)) < self.share, numbers, NOBODY), rng)
        for number in self.players.keys() - {*kept, *self.opponent.tolist()}:
            del self.players[number]

    def after_update(self, learner: NetworkAgent) -> None:
        """Count an update, and take a snapshot of the learner if it is time."""
        self.updates += 1
        if self.updates % self.every == 0:
            self.add(self.updates, learner, learner.network.state_dict())

    def add(self, number: int, learner: NetworkAgent, weights: dict[str, Tensor]) -> None:
        """Add a snapshot with these weights, which are copied, of the learner's shape."""
        snapshot = copy.copy(learner)
        snapshot.network = copy.deepcopy(learner.network).requires_grad_(False)
        snapshot.network.load_state_dict(weights)
        snapshot.name, snapshot.greedy, snapshot.fingerprint = f"update {number}", False, weights_hash(weights)
        self.players[number] = snapshot

    def tensors(self) -> dict[str, Tensor]:
        """See ``Opponents``."""
        tensors = super().tensors() | {"updates": torch.tensor(self.updates)}
        for number, player in self.players.items():
            assert isinstance(player, NetworkAgent)
            tensors |= {f"{number}.{name}": value for name, value in player.network.state_dict().items()}
        return tensors

    def load(self, tensors: dict[str, Tensor], learner: NetworkAgent) -> None:
        """See ``Opponents``."""
        super().load(tensors, learner)
        self.updates = int(tensors["updates"])
        weights: dict[int, dict[str, Tensor]] = {}
        for key, value in tensors.items():
            prefix, _, name = key.partition(".")
            if name:
                weights.setdefault(int(prefix), {})[name] = value
        for number in sorted(weights):
            self.add(number, learner, weights[number])
