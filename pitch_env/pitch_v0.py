"""``pitch_v0``: Pitch as a PettingZoo environment whose agents act in turn (AEC).

==================  ====================================================================================
agents              ``player_0`` ... one for each seat, clockwise
action space        ``Discrete(71)``, for every variant (rules.md, 10)
observation space   ``Dict``: ``observation`` float32 [D], whose parts observation.py describes, and
                    ``action_mask`` int8 [71], all zeros for an agent that is not to act
infos               ``action_mask`` of every agent
``env.game``        the ``Game`` that is played: to look at, not to act on
==================  ====================================================================================

Nothing is wrapped around ``raw_env``: it refuses illegal actions, actions of finished agents and calls before ``reset``
itself, with an error, and is then as it was. There is no ``parallel_env``, for only one agent acts at a time.

Importing this file registers ``pitch_v0`` with PettingZoo, where it has a registry (from 1.27 on)::

    env = pettingzoo.make("aec", "pitch_v0", rules="money", players=5, episode=10, reward="money")

This is the only file that imports pettingzoo.
"""

import copy
import dataclasses
import difflib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import pettingzoo  # type: ignore[import-untyped]
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from pettingzoo.utils.env import AECEnv, AECIterable  # type: ignore[import-untyped]

from pitch_env import observation, render
from pitch_env.actions import NUM_ACTIONS
from pitch_env.game import Game, _look, _observe, checked_seed
from pitch_env.money import settle
from pitch_env.rules import Rules

__all__ = ["env", "raw_env"]


def env(
    rules: str | Rules = "auction",
    players: int | None = None,
    episode: str | int = "deal",
    reward: str = "score",
    render_mode: str | None = None,
    **overrides: Any,
) -> "raw_env":
    """The environment; the arguments are those of ``raw_env``."""
    return raw_env(rules, players, episode, reward, render_mode, **overrides)


class raw_env(AECEnv[str, dict[str, np.ndarray], int]):
    """Pitch, one agent acting at a time.

    Args:
        rules: the name of a preset, or rules.
        players: how many play; None for what the rules say.
        episode: ``"deal"`` terminates after one deal. ``"game"`` terminates when somebody has won. A number of deals
            terminates then too, and after so many deals: by termination if the rules have no target, so that this is
            the whole game, else by truncation. A game between players who cannot keep their bids may never be won.
        reward: what an agent gets when a deal ends. ``"score"``: what its team's score changes by. ``"relative"``:
            that, less the mean of the other teams. ``"money"``: cents (rules.md, 8). ``"win"``: nothing but +1 or -1 at
            the end of the game, and 0 for all if nobody has won it, as in a single deal of a game to 7.
        render_mode: ``"human"`` prints the table after each step, ``"ansi"`` makes ``render`` return it as text,
            ``"rgb_array"`` as an image, uint8 [600, 800, 3]. All hands lie open; ``pitch_env.render`` shows a game as
            one player sees it.
        **overrides: fields of the preset that differ.

    Raises:
        ValueError: names the argument, its value and what is allowed.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (declared so by PettingZoo)
        "name": "pitch_v0",
        "render_modes": ["human", "ansi", "rgb_array"],
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        rules: str | Rules = "auction",
        players: int | None = None,
        episode: str | int = "deal",
        reward: str = "score",
        render_mode: str | None = None,
        **overrides: Any,
    ) -> None:
        super().__init__()
        self.rules = _rules(rules, overrides if players is None else {"players": players, **overrides})
        self.deals = _number_of_deals(self.rules, episode)
        self.episode = episode
        self.reward = _one_of("reward", reward, tuple(REWARDS))
        self.render_mode = _one_of("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        self.np_random = np.random.default_rng()  # of episodes that are not seeded themselves

        self.possible_agents = [f"player_{seat}" for seat in range(self.rules.players)]
        self.agents: list[str] = []  # nobody plays before reset
        self.action_spaces = {agent: spaces.Discrete(NUM_ACTIONS) for agent in self.possible_agents}
        self.observation_spaces = {agent: _observation_space(self.rules) for agent in self.possible_agents}
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._layout = observation.layout(self.rules)
        self._bytes = np.empty(observation.width(self.rules), np.uint8)
        self._game: Game | None = None

    @property
    def game(self) -> Game:
        """The game that is played. Raises ResetNeeded before the first reset."""
        if self._game is None:
            raise ResetNeeded("there is no game yet; call reset first")
        return self._game

    def observation_space(self, agent: str) -> spaces.Space:
        return self.observation_spaces[self._known(agent)]

    def action_space(self, agent: str) -> spaces.Space:
        return self.action_spaces[self._known(agent)]

    def _known(self, agent: str) -> str:
        if agent not in self._seats:
            raise ValueError(f"no agent {agent!r}; the agents are {', '.join(self._seats)}")
        return agent

    # An episode.

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode.

        Args:
            seed: the episode is ``Game(rules, seed)``, and what is reset without a seed later follows from it too.
            options: ``"game"``: a ``Game`` of these rules and this number of deals, to begin from a copy of it. Others
                are ignored.

        Raises:
            ValueError: a bad seed or game; the episode goes on as it was.
        """
        if not isinstance(options, Mapping | None):
            raise ValueError(f"options={options!r} is not allowed; it is a dictionary, or None")
        begin = (options or {}).get("game")
        if begin is not None:
            self._refuse_game(begin)
        if seed is not None:
            seed = int(checked_seed(seed))
            self.np_random = np.random.default_rng(seed)
        number = int(self.np_random.integers(2**63)) if seed is None else seed
        self._game = Game(self.rules, number, self.deals) if begin is None else begin.clone()
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {"action_mask": np.zeros(NUM_ACTIONS, np.int8)} for agent in self.agents}
        self._skip_agent_selection = None  # PettingZoo's note of whose turn it is while finished agents leave
        self._deals_paid = self._turn(self._game)
        if self.render_mode == "human":
            self.render()

    def _refuse_game(self, game: Any) -> None:
        """Raise ValueError for a game that an episode cannot begin from."""
        if not isinstance(game, Game) or game.rules != self.rules or game.deals_limit != self.deals:
            raise ValueError(
                f"options['game']={game!r} is not allowed; it is a Game of this environment's rules and deals"
            )
        if game.actor is None:
            raise ValueError(f"options['game']={game!r} is not allowed; it is over")

    def step(self, action: Any) -> None:
        """Take an action for the agent to act, or None for one that has finished.

        Raises:
            IllegalAction: the action is not legal; everything is as it was.
            ValueError: anything but None for an agent that has finished.
            ResetNeeded: no agent is left, or none has come yet.
        """
        if not self.agents:
            raise ResetNeeded(self._no_agents("step"))
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        game = self.game
        game.apply(action)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards[agent] = 0.0
        self.infos[agent] = {"action_mask": np.zeros(NUM_ACTIONS, np.int8)}
        deals = self._turn(game)
        if deals != self._deals_paid:
            self._deals_paid = deals
            self._end_deal(game)
        if self.render_mode == "human":
            self.render()

    def _turn(self, game: Game) -> int:
        """Say whose turn it is and what he may do; returns how many deals are finished."""
        self._mask = np.zeros(NUM_ACTIONS, np.int8)
        self._actor, deals = _look(game._rules_record, game._states, self._mask)
        if self._actor >= 0:
            self.agent_selection = self.possible_agents[self._actor]
            self.infos[self.agent_selection] = {"action_mask": self._mask.copy()}
        else:
            self.agent_selection = self.agents[0]  # the game is over: all see the end, in the order of seats
        return deals

    def _end_deal(self, game: Game) -> None:
        """Pay every agent for the deal that has just ended, and end the episode if it was the last."""
        self.rewards = dict(zip(self.agents, REWARDS[self.reward](game), strict=True))
        self._accumulate_rewards()
        if self._actor < 0:
            whole = game.winner is not None or game.rules.target is None or self.episode == "deal"
            self.terminations = dict.fromkeys(self.agents, whole)
            self.truncations = dict.fromkeys(self.agents, not whole)

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """What an agent sees, whoever is to act: new arrays, ``observation`` float32 [D], ``action_mask`` int8 [71].

        Raises:
            ValueError: no such agent.
            ResetNeeded: before the first reset.
        """
        game, seat = self.game, self._seats[self._known(agent)]
        _observe(game._rules_record, self._layout, game._states, seat, self._bytes)
        mask = self._mask.copy() if seat == self._actor else np.zeros(NUM_ACTIONS, np.int8)
        return {"observation": self._bytes.astype(np.float32), "action_mask": mask}

    def last(
        self, observe: bool = True
    ) -> tuple[dict[str, np.ndarray] | None, float, bool, bool, dict[str, Any]]:  # fmt: skip
        """Observation, reward since its last action, termination, truncation and info of the agent to act.

        Raises:
            ResetNeeded: no agent is left, or none has come yet.
        """
        if not self.agents:
            raise ResetNeeded(self._no_agents("last"))
        return super().last(observe)

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable:
        """The agents in the order in which they act, until the episode is over. Raises ResetNeeded before a reset."""
        if self._game is None:
            raise ResetNeeded(self._no_agents("agent_iter"))
        return super().agent_iter(max_iter)

    def _no_agents(self, method: str) -> str:
        when = "before reset" if self._game is None else "after the episode, which all agents have left"
        return f"{method} was called {when}; call reset first"

    # Showing.

    def render(self) -> str | np.ndarray | None:
        """Show the table in the way of ``render_mode``. Raises ResetNeeded before the first reset."""
        if self.render_mode is None:
            gymnasium.logger.warn("render was called without a render_mode; pass one when the environment is made")
            return None
        if self.render_mode == "rgb_array":
            return render.draw(self.game)
        if self.render_mode == "ansi":
            return render.text(self.game)
        print(render.text(self.game, color=sys.stdout.isatty()), end="\n\n")
        return None

    def close(self) -> None:
        """Nothing to release: an image is an array and a text is printed."""

    # Copies: the whole environment in the middle of an episode, which shares nothing with this one.

    def __copy__(self) -> "raw_env":
        return copy.deepcopy(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._layout = observation.layout(self.rules)  # one that kernels know as read-only, which a copy is not


# Arguments.


def _one_of(name: str, value: Any, allowed: Sequence[Any]) -> Any:
    if value not in allowed:
        raise ValueError(f"{name}={value!r} is not allowed; it is one of {', '.join(map(repr, allowed))}")
    return value


_ARGUMENTS = ("rules", "players", "episode", "reward", "render_mode")


def _rules(rules: str | Rules, overrides: dict[str, Any]) -> Rules:
    """A preset with some fields overridden, or rules that are given."""
    fields = [field.name for field in dataclasses.fields(Rules)]
    for name in overrides:
        close = difflib.get_close_matches(name, _ARGUMENTS, n=1)
        if name not in fields and close:
            raise ValueError(f"no argument {name!r}; did you mean {close[0]!r}?")
    if isinstance(rules, Rules):
        changed = {name: value for name, value in overrides.items() if getattr(rules, name, None) != value}
        if changed:
            given = ", ".join(f"{name}={value!r}" for name, value in changed.items())
            raise ValueError(f"{given} is not allowed beside a Rules object, which is complete; name a preset instead")
        return rules
    if not isinstance(rules, str):
        raise ValueError(
            f"rules={rules!r} is not allowed; it is a Rules object or a preset: {', '.join(Rules.presets())}"
        )
    return Rules.preset(rules, **overrides)


def _number_of_deals(rules: Rules, episode: str | int) -> int | None:
    """How many deals an episode has at most; None for a whole game."""
    if episode == "deal":
        return 1
    if episode == "game":
        if rules.target is None:
            raise ValueError("episode='game' is not allowed with target=None; it is 'deal' or a number of deals")
        return None
    if isinstance(episode, bool) or not isinstance(episode, int | np.integer) or not 1 <= episode < 2**31:
        raise ValueError(f"episode={episode!r} is not allowed; it is 'deal', 'game' or a number of deals from 1")
    return int(episode)


def _observation_space(rules: Rules) -> spaces.Dict:
    high = observation.highs(rules).astype(np.float32)
    return spaces.Dict(
        {
            "observation": spaces.Box(np.zeros_like(high), high, dtype=np.float32),
            "action_mask": spaces.Box(0, 1, (NUM_ACTIONS,), np.int8),
        }
    )


# Rewards: by seat, for the deal that has just ended.


def _score(game: Game) -> list[float]:
    change = game.last_deal.score_change  # type: ignore[union-attr]
    return [float(change[game.rules.team_of(seat)]) for seat in range(game.rules.players)]


def _relative(game: Game) -> list[float]:
    change = game.last_deal.score_change  # type: ignore[union-attr]
    others = len(change) - 1
    by_team = [own - (sum(change) - own) / others for own in change]
    return [by_team[game.rules.team_of(seat)] for seat in range(game.rules.players)]


def _money(game: Game) -> list[float]:
    rules, deal = game.rules, game.last_deal
    assert deal is not None
    change = [deal.score_change[rules.team_of(seat)] for seat in range(rules.players)]
    return [float(cents) for cents in settle(rules, change, deal.pitcher, deal.moon)]


def _win(game: Game) -> list[float]:
    rules, winner = game.rules, game.winner
    if winner is None:
        return [0.0] * rules.players
    return [1.0 if rules.team_of(seat) == winner else -1.0 for seat in range(rules.players)]


REWARDS: dict[str, Callable[[Game], list[float]]] = {
    "score": _score,
    "relative": _relative,
    "win": _win,
    "money": _money,
}


if hasattr(pettingzoo, "register") and "pitch-v0" not in pettingzoo.aec_registry:  # PettingZoo writes -v0 for _v0
    pettingzoo.register("aec", "pitch_v0", entry_point="pitch_env.pitch_v0:env")
