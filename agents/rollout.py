"""Playing a batch of games with a policy, and keeping what a learner needs of it."""

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import torch
from torch import Tensor

from agents.losses import of_actions
from agents.networks import Critic, PolicyValueNetwork
from agents.pool import Opponents
from agents.suits import CARD_SOURCES, SuitSorter
from pitch_env import VectorGame
from pitch_env.actions import MOON_CALL, NUM_ACTIONS, PASS
from pitch_env.cards import NUM_CARDS
from pitch_env.state import NOBODY


class Rows:
    """For a dataclass of tensors with a row for each of B decisions, what an update learns from."""

    def __getitem__(self, rows: Tensor) -> Self:
        """Some of the rows, int64 [b]."""
        return type(self)(**{name: values.index_select(0, rows) for name, values in vars(self).items()})

    def where(self, chosen: Tensor) -> Self:
        """The rows that are chosen, bool [B]."""
        return self[chosen.nonzero().squeeze(-1)]


@dataclass
class Rollout:
    """T decisions of each of N games, in buffers that are used again and again."""

    observation: Tensor  # uint8 [T, N, D], the suits sorted, as are those of masks and actions
    mask: Tensor  # bool [T, N, 71]
    action: Tensor  # int64 [T, N]
    log_probability: Tensor  # float32 [T, N], of the action when it was chosen
    value: Tensor  # float32 [T, N], the critic's estimate for the actor
    action_value: Tensor  # float32 [T, N], and for what it did; 0 where there is no critic beside the network
    actor: Tensor  # int8 [T, N]
    phase: Tensor  # int8 [T, N]
    change: Tensor  # float32 [T, N, players], what the step added to the score of each seat's team, or ``wins`` of it
    done: Tensor  # bool [T, N]
    own: Tensor  # bool [T, N], whether the learner chose; of the decisions of others only what they brought is kept
    hands: Tensor  # uint8 [T, N, players * 54], all hands for a critic that sees them; else [T, N, 0]
    bootstrap: Tensor  # float32 [N, players], the critic's estimate for each seat after the last step; else [N, 0]

    @classmethod
    def like(
        cls, batch: VectorGame, steps: int, inputs: int | None = None, open_hands: bool = False, device: str = "cpu"
    ) -> "Rollout":
        """Buffers for ``steps`` decisions of each game of a batch.

        Args:
            batch, steps: as said.
            inputs: D, the width of a network's input, where that is not the width of the batch's observations.
            open_hands: with all hands.
            device: where the buffers are.
        """
        games, players = batch.num_games, batch.players
        rollout = cls(
            observation=torch.zeros(steps, games, inputs or batch.observation_size, dtype=torch.uint8),
            mask=torch.zeros(steps, games, NUM_ACTIONS, dtype=torch.bool),
            action=torch.zeros(steps, games, dtype=torch.int64),
            log_probability=torch.zeros(steps, games),
            value=torch.zeros(steps, games),
            action_value=torch.zeros(steps, games),
            actor=torch.zeros(steps, games, dtype=torch.int8),
            phase=torch.zeros(steps, games, dtype=torch.int8),
            change=torch.zeros(steps, games, players),
            done=torch.zeros(steps, games, dtype=torch.bool),
            own=torch.ones(steps, games, dtype=torch.bool),
            hands=torch.zeros(steps, games, players * NUM_CARDS * open_hands, dtype=torch.uint8),
            bootstrap=torch.zeros(games, players),
        )
        return cls(**{name: buffer.to(device) for name, buffer in vars(rollout).items()})


class Actor(Protocol):
    """Who acts for the learner in a roll-out."""

    def sample(self, observation: Tensor, mask: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Choose.

        Args:
            observation: uint8 [B, D], the suits sorted.
            mask: bool [B, 71].
            generator: chance.

        Returns:
            Actions [B], the log-probabilities [B, 71] with which each could be chosen, and values [B] of the states.
        """


class DealCounts:
    """How the deals went: bids, how many of them were made, how often who could pass did."""

    def __init__(self) -> None:
        self.bids = np.zeros(MOON_CALL + 1, np.int64)  # by call, 0: thrown in
        self.made = np.zeros(MOON_CALL + 1, np.int64)
        self.calls = np.zeros(2, np.int64)  # calls where passing was a choice: others, passes

    @property
    def pass_rate(self) -> float:
        """The share of passes among the calls where passing was a choice; 0 where there were none."""
        return float(self.calls[1] / max(1, self.calls.sum()))

    def clear(self) -> None:
        """Begin to count anew."""
        self.bids[:], self.made[:], self.calls[:] = 0, 0, 0

    def add_deals(self, batch: VectorGame) -> None:
        """Count the deals that the batch's last step ended."""
        over = batch.last[batch.ended]
        self.bids += np.bincount(over["bid"], minlength=len(self.bids))
        self.made += np.bincount(
            over["bid"][(over["pitcher"] != NOBODY) & (over["made"] == 1)], minlength=len(self.made)
        )

    def add_calls(self, mask: np.ndarray, action: np.ndarray) -> None:
        """Count passes among actions [N] that were chosen under masks [N, 71], none of them forced."""
        self.calls += np.bincount(action[mask[:, PASS]] == PASS, minlength=2)


def seats_of(batch: VectorGame) -> np.ndarray:
    """How many seats each game has: int64 [N]."""
    return np.array([rules.players for rules in batch.rules])[np.arange(len(batch)) % len(batch.rules)]


def wins(batch: VectorGame) -> np.ndarray:
    """What a batch's last step won: float32 [N, players], 1 for the seats of the team that won a whole game by it."""
    teams = np.array([rules.teams for rules in batch.rules])[np.arange(len(batch)) % len(batch.rules)]
    winner = np.where(batch.done, batch.last["winner"], NOBODY)
    return (np.arange(batch.players) % teams[:, None] == winner[:, None]).astype(np.float32)


def all_hands(batch: VectorGame, seats: np.ndarray, order: np.ndarray) -> Tensor:
    """The hands of all seats of each game.

    Args:
        batch: the games.
        seats: integers [N], the seat that is counted as 0.
        order: int64 [N], the order of the suits in which it sees its observation.

    Returns:
        uint8 [N, players * 54], 1 for a card that the seat holds; zero for seats that a game does not have.
    """
    players = seats_of(batch)
    places = np.arange(batch.players)
    who = (seats.astype(np.int64)[:, None] + places) % players[:, None]
    masks = np.take_along_axis(batch.states["hands"], who, 1)
    masks[places >= players[:, None]] = 0
    held = np.unpackbits(masks.view(np.uint8).reshape(len(batch), batch.players, 8), axis=2, bitorder="little")
    return torch.from_numpy(np.take_along_axis(held, CARD_SOURCES[order][:, None], 2).reshape(len(batch), -1))


def hands_seen(critic: Critic, batch: VectorGame, seats: np.ndarray, order: np.ndarray) -> Tensor:
    """What a critic sees of the hands: all of them, see ``all_hands``, or nothing, uint8 [N, 0]."""
    return all_hands(batch, seats, order) if critic.hands else torch.zeros(len(batch), 0, dtype=torch.uint8)


def collect(
    batch: VectorGame,
    sorter: SuitSorter,
    network: Actor,
    rollout: Rollout,
    generator: torch.Generator,
    counts: DealCounts,
    *,
    opponents: Opponents | None = None,
    critic: Critic | None = None,
    win: bool = False,
) -> None:
    """Fill a rollout: the network, which sees and acts with sorted suits, has all seats but those of opponents.

    Values are those of the critic, if there is one. With ``win`` what counts is not points but games.
    """
    rng = None
    if opponents is not None:
        rng = np.random.default_rng(int(torch.randint(2**62, (), generator=generator, device=generator.device)))
    for t in range(len(rollout.action)):
        observation, mask, order = sorter.sort(batch.observation, batch.mask)
        rollout.observation[t] = torch.from_numpy(observation)
        rollout.mask[t] = torch.from_numpy(mask)
        rollout.actor[t] = torch.from_numpy(batch.actor)
        rollout.phase[t] = torch.from_numpy(batch.phase)
        if opponents is not None:
            rollout.own[t] = torch.from_numpy(opponents.own(batch.actor))
        own = slice(None) if opponents is None else rollout.own[t]
        chosen, log_policy, value = network.sample(rollout.observation[t, own], rollout.mask[t, own], generator)
        rollout.action[t, own], rollout.value[t, own] = chosen, value
        rollout.log_probability[t, own] = of_actions(log_policy, chosen)
        if critic is not None:
            rollout.hands[t] = hands_seen(critic, batch, batch.actor, order)
            with torch.no_grad():
                rollout.value[t, own], rollout.action_value[t, own] = critic.assess(
                    rollout.observation[t, own], rollout.hands[t, own], log_policy, chosen
                )
        action = rollout.action[t].cpu().numpy()
        chose = rollout.own[t].cpu().numpy()
        counts.add_calls(mask[chose], action[chose])
        action = sorter.actions(action, order)
        if opponents is not None and rng is not None:
            opponents.act(batch, action, rng)
        batch.step(action)
        rollout.change[t] = torch.from_numpy(wins(batch) if win else batch.reward)
        rollout.done[t] = torch.from_numpy(batch.done)
        counts.add_deals(batch)
        if opponents is not None and rng is not None:
            opponents.seat(np.flatnonzero(batch.done), rng)
    for seat in range(rollout.bootstrap.shape[1]):
        seats = np.minimum(seat, seats_of(batch) - 1)  # what is written for seats that do not exist is not read
        rollout.bootstrap[:, seat] = expected(batch, sorter, network, critic, seats)


@torch.no_grad()
def expected(batch: VectorGame, sorter: SuitSorter, network: Actor, critic: Critic | None, seats: np.ndarray) -> Tensor:
    """What the critic, or the network where there is none, expects for one seat of each game: float32 [N]."""
    assert isinstance(network, PolicyValueNetwork), "it alone has values of states in which a seat is not to act"
    rows, _, order = sorter.sort(batch.observe(seats), batch.mask)
    observation = torch.from_numpy(rows).to(network.scale.device)
    if critic is None:
        return network(observation)[1]
    return critic(observation, hands_seen(critic, batch, seats, order).to(observation.device))
