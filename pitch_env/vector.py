"""``VectorGame``: many games in one array of records, stepped together, for training and for measuring."""

import copy
import operator
from collections.abc import Sequence

import numpy as np

from pitch_env import engine, observation, sampling
from pitch_env.actions import NUM_ACTIONS, action_text
from pitch_env.cards import count
from pitch_env.chance import next_random, stream
from pitch_env.game import Game, IllegalAction, checked_deals, checked_rules, checked_seed
from pitch_env.kernel import in_parallel, kernel, records
from pitch_env.observation import LAYOUT, layout
from pitch_env.rules import RULES, Rules, Widow, pack
from pitch_env.scoring import team_of
from pitch_env.state import PUBLIC, STATE, Phase, copy_public


class VectorGame:
    """N games side by side. A game that is over deals itself anew at once.

    The arrays below are the batch's own: a step writes them anew in place, so copy what must last.

    Args:
        rules: what is played; of several, game i plays ``rules[i % len(rules)]``, and observations are as wide as the
            widest needs, zero beyond their own width.
        num_games: N.
        seed: the games are the same for the same seed, on every machine and with any number of threads. Game i of seed
            s is the i-th stream of s; ``Game(rules, s)`` is its stream 0. An array of N seeds makes game i
            ``Game(rules, seed[i])``.
        deals: how many deals a game has at most; None plays to the target.
        skip_forced: pass over decisions with one legal action, playing them in the same step.

    Attributes:
        observation: uint8 [N, D], what the actor of each game sees.
        mask: bool [N, 71], what it may do.
        actor: int8 [N], its seat.
        phase: int8 [N], a ``Phase``.
        reward: float32 [N, players], what the last step added to the score of each seat's team.
        done: bool [N], whether the last step ended the game.
        ended: bool [N], whether it ended a deal.
        last: PUBLIC records [N], the table at the end of the deal that ended last.
    """

    def __init__(
        self,
        rules: Rules | Sequence[Rules],
        num_games: int = 4096,
        seed: int | np.ndarray | None = 0,
        deals: int | None = 1,
        skip_forced: bool = False,
    ) -> None:
        self.rules = tuple(rules) if isinstance(rules, list | tuple) else (rules,)
        if not self.rules:
            raise ValueError("rules=[] is not allowed; it is a Rules object or a list of at least one")
        for each in self.rules:
            checked_rules(each)
        if isinstance(num_games, bool) or not isinstance(num_games, int | np.integer) or num_games < 1:
            raise ValueError(f"num_games={num_games!r} is not allowed; it is a whole number from 1")
        self.num_games = int(num_games)
        self.players = max(each.players for each in self.rules)
        self.observation_size = max(observation.width(each) for each in self.rules)
        self.skip_forced = bool(skip_forced)
        self._deals = max(checked_deals(each, deals) for each in self.rules)
        self._rules = _table([pack(each) for each in self.rules], RULES)
        self._layouts = _table([layout(each) for each in self.rules], LAYOUT)
        self._make_buffers()
        self.reset(seed)

    def _make_buffers(self) -> None:
        games = self.num_games
        self.states = records(games, STATE)
        self.last = records(games, PUBLIC)
        self.observation = np.zeros((games, self.observation_size), np.uint8)
        self.mask = np.zeros((games, NUM_ACTIONS), bool)
        self.actor = np.zeros(games, np.int8)
        self.phase = np.zeros(games, np.int8)
        self.reward = np.zeros((games, self.players), np.float32)
        self.done = np.zeros(games, bool)
        self.ended = np.zeros(games, bool)
        self._legal = np.zeros((games, 2), np.int64)

    def reset(self, seed: int | np.ndarray | None = 0) -> None:
        """Begin all games anew."""
        if isinstance(seed, np.ndarray | list | tuple):
            if len(seed) != self.num_games:
                raise ValueError(f"{len(seed)} seeds are not allowed; {self.num_games} games need one each")
            seeds, stride = np.array([checked_seed(each) for each in seed], np.uint64), 0
        else:
            seeds, stride = np.full(self.num_games, checked_seed(seed), np.uint64), 1
        in_parallel(_start, self.num_games, self._rules, self.states, seeds, stride, self._deals)
        self.reward[:], self.done[:], self.ended[:] = 0, False, False
        self.refresh()

    def refresh(self) -> None:
        """Write observation, mask, actor and phase from ``states``; needed after writing to those by hand."""
        self._advance(np.full(self.num_games, _NO_ACTION))

    def _advance(self, actions: np.ndarray) -> None:
        in_parallel(
            _step, self.num_games, self._rules, self._layouts, self.states, actions, self.skip_forced, self.reward,
            self.done, self.ended, self.last, self.observation, self.mask, self._legal, self.actor, self.phase,
        )  # fmt: skip

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Take an action in each game.

        Args:
            actions: integers [N].

        Returns:
            ``reward`` and ``done``.

        Raises:
            IllegalAction: names the first game whose action is not legal; no game is changed.
            ValueError: wrong shape or type.
        """
        actions = np.asarray(actions)
        if actions.shape != (self.num_games,) or actions.dtype.kind not in "iu":
            raise ValueError(
                f"actions of shape {actions.shape} and type {actions.dtype} are not allowed; "
                f"they are integers of shape ({self.num_games},)"
            )
        actions = np.ascontiguousarray(actions, np.int64)
        wrong = _first_illegal(self._legal, actions)
        if wrong >= 0:
            self._refuse(wrong, int(actions[wrong]))
        self._advance(actions)
        return self.reward, self.done

    def _refuse(self, row: int, action: int) -> None:
        try:
            self.game(row).apply(action)
        except IllegalAction as error:
            raise IllegalAction(f"in game {row}: {error}") from None
        raise IllegalAction(f"in game {row}: {action_text(action)!r} is not legal; were the states written to by hand?")

    def observe(self, seats: np.ndarray | int) -> np.ndarray:
        """What given seats see, one a game, whoever is to act: uint8 [N, D], a new array."""
        seats = self._checked_seats(seats)
        out = np.empty_like(self.observation)
        in_parallel(_observe, self.num_games, self._rules, self._layouts, self.states, seats, out)
        return out

    def _checked_seats(self, seats: np.ndarray | int) -> np.ndarray:
        seats = np.ascontiguousarray(np.broadcast_to(seats, self.num_games), np.int64)
        limits = np.array([each.players for each in self.rules])[np.arange(self.num_games) % len(self.rules)]
        if ((seats < 0) | (seats >= limits)).any():
            raise ValueError(f"seats={seats!r} is not allowed; seats are 0 to players - 1")
        return seats

    def determinize(self, seats: np.ndarray | int, rng: np.random.Generator | int | None = None) -> "VectorGame":
        """A batch of full deals, each drawn uniformly from all that are consistent with what a seat of its game knows.

        What comes after these deals is drawn anew too. ``seats`` is one for all games, or one for each, int [N].
        """
        batch = self.copy()
        seed = np.random.default_rng(rng).integers(2**64, dtype=np.uint64)
        in_parallel(
            _determinize, self.num_games, self._rules, self.states, self._checked_seats(seats), seed, batch.states
        )
        batch.refresh()
        return batch

    def random_actions(self, rng: np.random.Generator) -> np.ndarray:
        """An action for each game, uniform over the legal ones: int64 [N]."""
        actions = np.empty(self.num_games, np.int64)
        seed = rng.integers(2**64, dtype=np.uint64)
        in_parallel(_choose_random, self.num_games, self._legal, seed, actions, weight=0.05)
        return actions

    def random_rollout(self, decisions: int) -> int:
        """Play at least so many random decisions, spread over the games, within one kernel; returns how many."""
        each = -(-int(decisions) // self.num_games)
        in_parallel(_random_rollout, self.num_games, self._rules, self.states, each, weight=each)
        self.last.view(np.uint8)[:] = 0  # nobody looked at how its deals ended
        self.refresh()
        return each * self.num_games

    def game(self, index: int) -> Game:
        """A copy of one game, as a ``Game``. Raises IndexError where there is none; -1 is the last one."""
        try:
            number = range(self.num_games)[operator.index(index)]
        except (IndexError, TypeError):
            raise IndexError(f"game {index!r} is not there; games are 0 to {self.num_games - 1}") from None
        game = Game.__new__(Game)
        game._set_up(self.rules[number % len(self.rules)])
        game._states[:] = self.states[number : number + 1]
        deals = game.deals_played
        if deals and self.last["deals"][number] == deals:  # else it was of a game before, or is not known
            game._last = self.last[number : number + 1].copy()
        return game

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        for table in (self._rules, self._layouts):  # as the kernels know them, which a copy is not
            table.flags.writeable = False

    def copy(self) -> "VectorGame":
        """A copy that shares nothing with this batch."""
        return copy.deepcopy(self)

    def __len__(self) -> int:
        return self.num_games


def _table(arrays: list[np.ndarray], dtype: np.dtype) -> np.ndarray:
    table = records(len(arrays), dtype)
    table[:] = np.concatenate(arrays)
    table.flags.writeable = False
    return table


@kernel
def look(rules, layout, state, out, mask, legal_row):
    """Write the actor's observation, its mask as bool [71], and its mask as two integers."""
    public = state.public
    seat = np.int64(public.actor)
    hand, dealt, discards = state.hands[seat], np.int64(0), np.int64(0)
    if rules.widow != Widow.NONE:  # else nobody looks at them, and the memory they lie in is not fetched
        dealt, discards = state.dealt[seat], state.discards[seat]
    observation.write_observation(rules, layout, public, seat, hand, dealt, discards, out)
    cards, others = engine.legal(rules, public, hand)
    legal_row[0], legal_row[1] = cards, others
    mask[:] = False
    observation.write_cards(cards, mask, 0)
    observation.write_cards(others, mask, engine.TRUMP)


@kernel
def deal_on(rules, state):
    """After a deal the next one; after the last, a new game."""
    if state.public.game_over:
        engine.start_game(rules, state, state.rng, state.public.deals_limit)
    else:
        engine.next_deal(rules, state)


@kernel
def advance(rules, state, action, skip_forced, reward, last):
    """Take an action, and where ``skip_forced``, all that follow without a choice; a finished game begins anew.

    Returns whether a deal ended and whether the game did.
    """
    ended, done = take(rules, state, action, reward, last)
    if skip_forced:
        return take_forced(rules, state, ended, done, reward, last)
    return ended, done


@kernel
def take(rules, state, action, reward, last):
    """Take an action; after the end of a deal, add up the rewards, keep the table, and deal on."""
    public = state.public
    engine.apply(rules, state, action)
    if public.phase != Phase.OVER:
        return False, False
    copy_public(public, last)
    for seat in range(rules.players):
        reward[seat] += public.change[team_of(rules, seat)]
    done = public.game_over == 1
    deal_on(rules, state)
    return True, done


@kernel(inline=False)
def take_forced(rules, state, ended, done, reward, last):
    """Take all actions without a choice that follow."""
    public = state.public
    while True:
        cards, others = engine.legal(rules, public, state.hands[public.actor])
        if count(cards) + count(others) != 1:
            return ended, done
        deal_ended, game_ended = take(rules, state, engine.nth_legal(cards, others, 0), reward, last)
        ended, done = ended or deal_ended, done or game_ended


_NO_ACTION = -1  # only write what the actor sees

# The doors to the kernels: each does the games from ``start`` to ``stop``.


@kernel(inline=False)
def _start(start, stop, rules, states, seeds, stride, deals):
    for i in range(start, stop):
        engine.start_game(rules[i % len(rules)], states[i], stream(seeds[i], i * stride), deals)


@kernel(inline=False)
def _step(
    start, stop, rules, layouts, states, actions, skip_forced, reward, done, ended, last, out, mask, legal, actor, phase
):  # fmt: skip
    for i in range(start, stop):
        kind = i % len(rules) if len(rules) > 1 else 0
        if actions[i] != _NO_ACTION:
            reward[i, :] = 0
            ended[i], done[i] = advance(rules[kind], states[i], actions[i], skip_forced, reward[i], last[i])
        look(rules[kind], layouts[kind], states[i], out[i], mask[i], legal[i])
        actor[i], phase[i] = states[i].public.actor, states[i].public.phase


@kernel(inline=False)
def _first_illegal(legal, actions):
    for i in range(len(actions)):
        if not engine.is_legal(legal[i, 0], legal[i, 1], actions[i]):
            return i
    return -1


@kernel(inline=False)
def _observe(start, stop, rules, layouts, states, seats, out):
    for i in range(start, stop):
        kind, seat, state = i % len(rules), seats[i], states[i]
        observation.write_observation(
            rules[kind], layouts[kind], state.public, seat, state.hands[seat], state.dealt[seat], state.discards[seat],
            out[i],
        )  # fmt: skip


@kernel(inline=False)
def _determinize(start, stop, rules, states, seats, seed, out):
    for i in range(start, stop):
        seat, state = seats[i], states[i]
        out[i].rng = stream(seed, i)
        sampling.sample_hidden(
            rules[i % len(rules)],
            state.public,
            seat,
            state.hands[seat],
            state.dealt[seat],
            state.discards[seat],
            out[i],
        )


@kernel(inline=False)
def _choose_random(start, stop, legal, seed, actions):
    for i in range(start, stop):
        number = count(legal[i, 0]) + count(legal[i, 1])
        chance = np.int64(stream(seed, i) >> np.uint64(33))
        actions[i] = engine.nth_legal(legal[i, 0], legal[i, 1], (chance * number) >> 31)


@kernel(inline=False)
def _random_rollout(start, stop, rules, states, decisions):
    for i in range(start, stop):
        rule, state = rules[i % len(rules)], states[i]
        for _ in range(decisions):
            cards, others = engine.legal(rule, state.public, state.hands[state.public.actor])
            number = count(cards) + count(others)
            engine.apply(rule, state, engine.nth_legal(cards, others, next_random(state, number)))
            if state.public.phase == Phase.OVER:
                deal_on(rule, state)
