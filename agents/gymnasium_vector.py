"""The vector form of ``Pitch-v0``: many tables in one ``VectorGame``, at which the agents act in batches.

``gymnasium.make_vec("Pitch-v0", num_envs=256, ...)`` makes one; the arguments are those of the single environment, and
table i of ``reset(seed=s)`` begins as the single environment does with ``reset(seed=s + i)``. A table whose episode is
over deals itself anew in the same step (``AutoresetMode.SAME_STEP``): what is returned of it is the first observation
of the next episode, and ``info["final_obs"]`` and ``info["final_info"]`` hold the end of the last one.

The rewards ``score`` and ``relative`` are computed for all tables at once, ``win`` and ``money`` deal by deal.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from agents.agent import Agent
from agents.gymnasium_env import Table
from agents.returns import relative
from pitch_env import Game, IllegalAction, Rules, VectorGame, pitch_v0, render
from pitch_env.actions import NUM_ACTIONS
from pitch_env.kernel import in_parallel, records
from pitch_env.pitch_v0 import REWARDS
from pitch_env.state import NOBODY, STATE
from pitch_env.vector import _NO_ACTION, _observe


class PitchVectorEnv(VectorEnv[Any, np.ndarray, np.ndarray]):
    """N tables, each with one learner's seat.

    Args:
        num_envs: N.
        rules, opponents, seat, players, episode, reward, illegal, penalty, observation, **overrides: see ``PitchEnv``.
        render_mode: None, ``"ansi"`` or ``"rgb_array"``, of which ``render`` returns one for each table.

    Raises:
        ValueError: names the argument, its value and what is allowed.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (declared so by Gymnasium)
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 2,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
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
        single = pitch_v0.env(rules, players, episode, reward, render_mode, **overrides)  # which checks these
        if render_mode == "human":
            raise ValueError("render_mode='human' is not allowed here; it is None, 'ansi' or 'rgb_array'")
        self.rules, self.episode, self.reward, self.deals = single.rules, episode, reward, single.deals
        self.table = Table(
            self.rules.players, opponents, seat, illegal=illegal, penalty=penalty, observation=observation
        )
        self.batch = VectorGame(self.rules, num_envs, None, self.deals)
        self.num_envs, self.render_mode = self.batch.num_games, render_mode
        self.single_action_space = spaces.Discrete(NUM_ACTIONS)
        self.single_observation_space = self.table.observation_space(single.observation_space("player_0"))
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._rows = np.arange(self.num_envs)
        self._seats = np.empty(0, np.int64)  # none before the first reset

    def reset(  # whose seeds may be a list, as in Gymnasium's own vector environments
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin all tables anew.

        Args:
            seed: table i begins with ``Game(rules, seed + i)``, or with ``seed[i]`` of a list.
            options: ignored.
        """
        if seed is None or isinstance(seed, int | np.integer):
            seeds = [None if seed is None else int(seed) + i for i in range(self.num_envs)]
        elif len(seed) == self.num_envs:
            seeds = [None if each is None else int(each) for each in seed]
        else:
            raise ValueError(f"{len(seed)} seeds are not allowed; {self.num_envs} tables need one each")
        super().reset(seed=seeds[0])
        drawn = self.np_random.integers(2**63, size=self.num_envs)
        self.batch.reset(
            np.array([new if own is None else own for own, new in zip(seeds, drawn, strict=True)], np.uint64)
        )
        if not len(self._seats) or any(each is not None for each in seeds):
            self._seats = self.table.first_seats(seeds, self.np_random)
        else:
            self._seats = self.table.next_seats(self._seats, self.np_random)
        self._others_act(_Step(self.num_envs))
        return self._seen(), self._info()

    def step(self, actions: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Act for the learner at all tables; then the others act, until it is its turn again everywhere.

        Args:
            actions: integers [N].

        Raises:
            IllegalAction: names the first table whose action is not legal, unless such actions end the episode;
                everything is as it was.
            ValueError: wrong shape or type.
            ResetNeeded: before the first reset.
        """
        if not len(self._seats):
            raise ResetNeeded("step was called before reset; call reset first")
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or actions.dtype.kind not in "iu":
            raise ValueError(
                f"actions of shape {actions.shape} and type {actions.dtype} are not allowed; "
                f"they are integers of shape ({self.num_envs},)"
            )
        actions, step = actions.astype(np.int64), _Step(self.num_envs)  # a copy, of the type that the kernels take
        wrong = np.flatnonzero(~self._legal(self._rows, actions))
        # What the learner sees at the end of a deal, when the next one has been dealt, is made of what it holds now.
        self._held = {name: self.batch.states[name][self._rows, self._seats] for name in ("hands", "dealt", "discards")}
        if len(wrong):
            self._punish(wrong, actions, step)
            actions[wrong] = _NO_ACTION
        self._advance(actions, step)
        self._others_act(step)
        return self._seen(), step.reward, step.terminated, step.truncated, self._info() | step.final_info()

    def _legal(self, rows: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Whether the actions are legal at these tables, bool [len(rows)]."""
        exist = (actions >= 0) & (actions < NUM_ACTIONS)
        return exist & self.batch.mask[rows, np.where(exist, actions, 0)]

    def _why_not(self, row: int, action: int) -> str:
        try:
            self.batch.game(row).apply(action)
        except IllegalAction as error:
            return str(error)
        raise AssertionError(f"action {action} is legal at table {row}")

    def _punish(self, rows: np.ndarray, actions: np.ndarray, step: "_Step") -> None:
        """End the episodes at these tables, or raise the error of the first of them."""
        if not self.table.ends_if_illegal:
            raise IllegalAction(f"at table {rows[0]}: {self._why_not(int(rows[0]), int(actions[rows[0]]))}")
        step.reward[rows], step.terminated[rows] = self.table.penalty, True
        for row in rows.tolist():
            last = self._shape(self.batch.observation[row], self.batch.mask[row])
            step.end(row, last, int(self._seats[row]), self._why_not(row, int(actions[row])))
        seeds = self.np_random.integers(2**63, size=len(rows))
        self.batch.states[rows] = VectorGame(self.rules, len(rows), seeds, self.deals).states
        self.batch.refresh()
        self._move_on(rows)

    # The others.

    def _others_act(self, step: "_Step") -> None:
        """Let the others act until it is the learner's turn at all tables."""
        while True:
            who = self.table.agent_at(self.batch.actor, self._seats)
            if (who < 0).all():
                return
            actions = np.full(self.num_envs, _NO_ACTION)
            for number, agent in enumerate(self.table.agents):
                rows = np.flatnonzero(who == number)
                if len(rows):
                    actions[rows] = self._asked(agent, rows)
            self._advance(actions, step)

    def _asked(self, agent: Agent, rows: np.ndarray) -> np.ndarray:
        """What an agent does at these tables, int64 [len(rows)]. Raises IllegalAction if that is not legal."""
        chosen = np.asarray(agent.act(self.batch.observation[rows], self.batch.mask[rows], self.np_random))
        wrong = np.flatnonzero(~self._legal(rows, chosen))
        if len(wrong):
            row = int(rows[wrong[0]])
            raise IllegalAction(f"of {agent.name}, at table {row}: {self._why_not(row, int(chosen[wrong[0]]))}")
        return chosen

    # The course of the games.

    def _advance(self, actions: np.ndarray, step: "_Step") -> None:
        """Take the actions, int [N], but where there are none; pay for deals that end, and note ends of episodes.

        No deal ends before the learner has acted in it, so it is paid for one at most in a step.
        """
        self.batch._advance(actions)
        ended = np.flatnonzero((actions != _NO_ACTION) & self.batch.ended)
        if not len(ended):
            return
        step.reward[ended] += self._rewards(ended)
        over = ended[self.batch.done[ended]]
        if len(over):
            whole = (self.batch.last["winner"][over] != NOBODY) | (self.rules.target is None) | (self.episode == "deal")
            step.terminated[over], step.truncated[over] = whole, ~whole
            seats = self._seats[over]
            for row, seen, seat in zip(over.tolist(), self._last_seen(over, seats), seats.tolist(), strict=True):
                step.end(row, self._shape(seen, np.zeros(NUM_ACTIONS, bool)), seat)
            self._move_on(over)

    def _rewards(self, rows: np.ndarray) -> np.ndarray:
        """What the learner gets for the deals that have just ended at these tables, float [len(rows)]."""
        seats, change = self._seats[rows], self.batch.reward[rows]
        if self.reward == "relative":
            change = relative(change, self.rules)
        elif self.reward != "score":
            change = np.array([REWARDS[self.reward](self._ended(row)) for row in rows])
        return change[np.arange(len(rows)), seats]

    def _ended(self, row: int) -> Game:
        """The game at the end of the deal that has just ended at a table, without the cards that nobody can see."""
        game = Game.__new__(Game)
        game._set_up(self.rules)
        game._state["public"] = self.batch.last[row]
        game._last = self.batch.last[row : row + 1].copy()
        return game

    def _last_seen(self, rows: np.ndarray, seats: np.ndarray) -> np.ndarray:
        """What the learner saw at the end of the last deals, uint8 [len(rows), D]; new ones have been dealt since."""
        ends = records(len(rows), STATE)
        ends["public"] = self.batch.last[rows]
        for name, held in self._held.items():
            ends[name][np.arange(len(rows)), seats] = held[rows]
        ends["hands"] &= ~ends["public"]["played"][:, None]
        seen = np.empty((len(rows), self.batch.observation_size), np.uint8)
        in_parallel(_observe, len(rows), self.batch._rules, self.batch._layouts, ends, seats, seen)
        return seen

    def _move_on(self, rows: np.ndarray) -> None:
        """New seats for the learner at tables that begin a new episode."""
        self._seats[rows] = self.table.next_seats(self._seats[rows], self.np_random)

    # What is returned: new arrays always.

    def action_masks(self) -> np.ndarray:
        """What the learner may do at each table, bool [N, 71]."""
        return self.batch.mask.copy()

    def _shape(self, observation: np.ndarray, mask: np.ndarray) -> Any:
        """Bytes and a mask, of one table or of all, as the observation space has them."""
        seen = observation.astype(np.float32)
        return {"observation": seen, "action_mask": mask.astype(np.int8)} if self.table.with_mask else seen

    def _seen(self) -> Any:
        return self._shape(self.batch.observation, self.batch.mask)

    def _info(self) -> dict[str, Any]:
        everywhere = np.ones(self.num_envs, bool)
        return {
            "action_mask": self.batch.mask.astype(np.int8),
            "_action_mask": everywhere,
            "seat": self._seats.copy(),
            "_seat": everywhere.copy(),
        }

    def render(self) -> tuple[Any, ...] | None:
        """The tables in the way of ``render_mode``, all hands open."""
        if self.render_mode is None:
            return super().render()
        show = render.text if self.render_mode == "ansi" else render.draw
        return tuple(show(self.batch.game(row)) for row in range(self.num_envs))


class _Step:
    """What comes of a step, for N tables."""

    def __init__(self, tables: int) -> None:
        self.reward = np.zeros(tables)
        self.terminated = np.zeros(tables, bool)
        self.truncated = np.zeros(tables, bool)
        self.last = np.full(tables, None, object)
        self.seat = np.zeros(tables, np.int64)
        self.illegal = np.full(tables, None, object)

    def end(self, row: int, last: Any, seat: int, illegal: str | None = None) -> None:
        """Note what the learner saw last, where it sat, and the error that an illegal action would have been."""
        self.last[row], self.seat[row], self.illegal[row] = last, seat, illegal

    def final_info(self) -> dict[str, Any]:
        """The last observations and infos in the form that Gymnasium's vector environments have."""
        over = self.terminated | self.truncated
        if not over.any():
            return {}
        masks = np.zeros((len(over), NUM_ACTIONS), np.int8)
        info = {"action_mask": masks, "_action_mask": over.copy(), "seat": self.seat, "_seat": over.copy()}
        wrong = np.array([each is not None for each in self.illegal])
        if wrong.any():
            info |= {"illegal": self.illegal, "_illegal": wrong}
        return {"final_obs": self.last, "_final_obs": over.copy(), "final_info": info, "_final_info": over}
