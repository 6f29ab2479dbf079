"""``Pitch-v0``: Pitch as a Gymnasium environment, in which one seat learns and agents play all the others.

==================  ====================================================================================
action space        ``Discrete(71)``, for every variant (rules.md, 10)
observation space   ``Box`` float32 [D], whose parts pitch_env/observation.py describes; or with
                    ``observation="dict"`` a ``Dict`` of that and ``action_mask``, as in ``pitch_v0``
``action_masks()``  bool [71], what the learner may do: where sb3-contrib looks for it
info                ``action_mask`` int8 [71], and ``seat``, where the learner sits
reward              the learner's own, for all that happened since its last action, whoever acted last
==================  ====================================================================================

Importing this file registers the environment, or the name says that it is to be imported::

    import agents.gymnasium_env

    env = gymnasium.make("Pitch-v0", rules="auction", opponents=["expert", "greedy", "random"], seat="rotate")
    env = gymnasium.make("agents.gymnasium_env:Pitch-v0")  # the same without the import above
    envs = gymnasium.make_vec("Pitch-v0", num_envs=256)  # gymnasium_vector.py: many tables, stepped together

An action that is not legal is an error, as everywhere here. Checkers of environments, and learners that do not know
masks, try such actions; for them ``illegal="end"`` ends the episode with ``penalty``. No other seat gets or loses
anything then, partners included. The penalty should be worse than whatever a legal action can lead to, or else breaking
off a bad deal pays: the default is for points, and games of several deals or for cents need one that is lower.
"""

import math
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from agents.agent import Agent, load
from pitch_env import IllegalAction, Rules, pitch_v0
from pitch_env.actions import NUM_ACTIONS

__all__ = ["PitchEnv", "Table"]

SEATS = ("rotate", "random")


class Table:
    """Who sits where, and what the learner sees and risks: what the single and the vector environment share.

    Args:
        players: how many play.
        opponents: who has the other seats, partners included: agents or names for ``agents.load``. One plays all of
            them; several are seated clockwise from the learner's left.
        seat: where the learner sits: a number; ``"rotate"``, one seat further in each episode; ``"random"``.
        illegal: what an illegal action of the learner does: ``"raise"`` an error, or ``"end"`` the episode.
        penalty: the learner's reward then, below zero.
        observation: ``"box"`` or ``"dict"``.

    Raises:
        ValueError: names the argument, its value and what is allowed.
    """

    def __init__(
        self,
        players: int,
        opponents: str | Agent | Sequence[str | Agent],
        seat: int | str,
        *,
        illegal: str,
        penalty: float,
        observation: str,
    ) -> None:
        self.players = players
        self.agents, self.places = _seated(opponents, players)
        numbers = range(players)
        if isinstance(seat, bool) or seat not in (*SEATS, *numbers):
            raise ValueError(f"seat={seat!r} is not allowed; it is a number from 0 to {players - 1}, {_named(SEATS)}")
        if illegal not in ("raise", "end"):
            raise ValueError(f"illegal={illegal!r} is not allowed; it is 'raise' or 'end'")
        if isinstance(penalty, bool) or not isinstance(penalty, int | float) or not -math.inf < penalty < 0:
            raise ValueError(f"penalty={penalty!r} is not allowed; it is a finite number below zero")
        if observation not in ("box", "dict"):
            raise ValueError(f"observation={observation!r} is not allowed; it is 'box' or 'dict'")
        self.seat = seat
        self.ends_if_illegal, self.penalty = illegal == "end", float(penalty)
        self.with_mask = observation == "dict"

    def observation_space(self, whole: spaces.Space) -> spaces.Space:
        """The learner's, from what a seat of ``pitch_v0`` has."""
        assert isinstance(whole, spaces.Dict)
        return whole if self.with_mask else whole["observation"]

    def first_seats(self, seeds: Sequence[int | None], rng: np.random.Generator) -> np.ndarray:
        """Where the learner sits in the first episodes of these seeds, int64 [N]; the same for the same seed."""
        if isinstance(self.seat, str):
            chance = rng.integers(self.players, size=len(seeds))
            if self.seat == "random":
                return chance
            places = zip(seeds, chance, strict=True)
            return np.array([chance if seed is None else seed % self.players for seed, chance in places])
        return np.full(len(seeds), self.seat)

    def next_seats(self, seats: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Where it sits in the episodes after those in which it had these seats, int64 [N]."""
        if self.seat == "rotate":
            return (seats + 1) % self.players
        return rng.integers(self.players, size=len(seats)) if self.seat == "random" else seats

    def agent_at(self, actor: Any, seats: Any) -> Any:
        """The numbers of the agents who have the seats ``actor`` where the learner has ``seats``, integers or arrays.

        The learner's is -1.
        """
        return self.places[(actor - seats) % self.players]


def _seated(opponents: Any, players: int) -> tuple[list[Agent], np.ndarray]:
    """The different agents, and which of them has each place clockwise from the learner, where -1 stands."""
    given = [opponents] if isinstance(opponents, str | Agent) else opponents
    if not isinstance(given, Sequence) or len(given) not in (1, players - 1):
        raise ValueError(
            f"opponents={opponents!r} is not allowed; it is one agent, or {players - 1} for the other seats"
        )
    keys = [each if isinstance(each, str) else id(each) for each in given]  # one that sits twice acts once, for both
    different = dict(zip(keys, given, strict=True))
    agents = [load(each) if isinstance(each, str) else each for each in different.values()]
    for agent in agents:
        if not isinstance(agent, Agent):
            raise ValueError(f"the opponent {agent!r} is not allowed; it is a name, or has a name and act()")
    order = list(different)
    numbers = [order.index(key) for key in keys]
    return agents, np.array([-1, *(numbers * (players - 1) if len(numbers) == 1 else numbers)])


def _named(words: Sequence[str]) -> str:
    return " or ".join(map(repr, words))


class PitchEnv(gymnasium.Env[Any, Any]):
    """One table.

    Args:
        rules, players, episode, reward, render_mode: those of ``pitch_v0.env``, which is what is played.
        opponents, seat, illegal, penalty, observation: see ``Table``.
        **overrides: fields of the preset that differ.

    Raises:
        ValueError: names the argument, its value and what is allowed.
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "ansi", "rgb_array"], "render_fps": 2}  # noqa: RUF012

    def __init__(
        self,
        rules: str | Rules = "auction",
        opponents: str | Agent | Sequence[str | Agent] = "expert",
        seat: int | str = "rotate",
        *,
        players: int | None = None,
        episode: str | int = "deal",
        reward: str = "score",
        illegal: str = "raise",
        penalty: float = -10.0,
        observation: str = "box",
        render_mode: str | None = None,
        **overrides: Any,
    ) -> None:
        self.aec = pitch_v0.env(rules, players, episode, reward, render_mode, **overrides)
        self.rules = self.aec.rules
        self.table = Table(
            self.rules.players, opponents, seat, illegal=illegal, penalty=penalty, observation=observation
        )
        self.render_mode = render_mode
        self.action_space = spaces.Discrete(NUM_ACTIONS)
        self.observation_space = self.table.observation_space(self.aec.observation_space("player_0"))
        self._seat: int | None = None
        self._over = True

    @property
    def game(self) -> Any:
        """The ``Game`` that is played: to look at, not to act on."""
        return self.aec.game

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; the others act until it is the learner's turn.

        Args:
            seed: the episode is ``Game(rules, seed)``, the learner sits at ``seed % players`` where seats rotate, and
                all that follows without a seed follows from it too.
            options: ``"game"``: a ``Game`` to begin from a copy of; ``"seat"``: where the learner sits in this episode.

        Raises:
            ValueError: a bad seed, game or seat; the episode goes on as it was.
        """
        super().reset(seed=seed)
        options = options or {}
        number = int(self.np_random.integers(2**63)) if seed is None else seed
        chosen = options.get("seat")
        if chosen is not None and (isinstance(chosen, bool) or chosen not in range(self.rules.players)):
            raise ValueError(
                f"options['seat']={chosen!r} is not allowed; it is a number from 0 to {self.rules.players - 1}"
            )
        self.aec.reset(number, options)
        if chosen is not None:
            self._seat = int(chosen)
        elif seed is not None or self._seat is None:
            self._seat = int(self.table.first_seats([seed], self.np_random)[0])
        else:
            self._seat = int(self.table.next_seats(np.array([self._seat]), self.np_random)[0])
        self._learner, self._over = f"player_{self._seat}", False
        self._others_act()  # in which no deal ends: the learner has something to do in each
        return self._seen(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act for the learner; then the others act, until it is its turn again or the episode is over.

        Raises:
            IllegalAction: unless such actions end the episode; everything is as it was.
            ResetNeeded: no episode is going on.
        """
        if self._over:
            raise ResetNeeded("step was called while no episode is going on; call reset first")
        try:
            self.aec.step(action)
        except IllegalAction as error:
            if not self.table.ends_if_illegal:
                raise
            self._over = True
            return self._seen(), self.table.penalty, True, False, self._info() | {"illegal": str(error)}
        reward = self.aec.rewards[self._learner] + self._others_act()
        terminated, truncated = self.aec.terminations[self._learner], self.aec.truncations[self._learner]
        self._over = terminated or truncated
        return self._seen(), reward, terminated, truncated, self._info()

    def _others_act(self) -> float:
        """Let the others act until it is the learner's turn or all is over; returns what it is rewarded meanwhile."""
        assert self._seat is not None
        game, reward = self.aec.game, 0.0
        while game.actor not in (None, self._seat):
            agent = self.table.agents[self.table.agent_at(game.actor, self._seat)]
            seen = self.aec.observe(self.aec.agent_selection)
            (action,) = agent.act(seen["observation"][None], seen["action_mask"][None], self.np_random)
            self.aec.step(int(action))
            reward += self.aec.rewards[self._learner]
        return reward

    def action_masks(self) -> np.ndarray:
        """What the learner may do, bool [71]; nothing when the episode is over."""
        return self.game.legal_mask() & (not self._over)

    def _seen(self) -> Any:
        seen = self.aec.observe(self._learner)
        return seen if self.table.with_mask else seen["observation"]

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.action_masks().astype(np.int8), "seat": self._seat}

    def render(self) -> Any:
        """Show the table in the way of ``render_mode``, all hands open. Raises ResetNeeded before the first reset."""
        return self.aec.render()


if "Pitch-v0" not in gymnasium.registry:
    gymnasium.register(
        "Pitch-v0",
        entry_point="agents.gymnasium_env:PitchEnv",
        vector_entry_point="agents.gymnasium_vector:PitchVectorEnv",
    )
