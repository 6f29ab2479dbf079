"""``VectorGame`` against ``Game``, row by row and step by step."""

import os
import pickle
import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from lockstep import assert_consistent
from strategies import VARIANTS, chi_square, random_rules

import pitch_env.kernel
from pitch_env import Game, IllegalAction, Rules, VectorGame, vector
from pitch_env.cards import cards_in, mask_of
from pitch_env.observation import width
from pitch_env.state import Phase

SETS: dict[str, list[Rules]] = {
    **{name: [VARIANTS[name]] for name in ("money-4", "auction-7", "pairs", "oklahoma", "oklahoma-6", "tiny")},
    "all variants": list(VARIANTS.values()),
    "of every kind": [random_rules(random.Random(seed)) for seed in range(40)],
}


def games_of(rules: list[Rules], seeds: list[int], deals: int | None) -> list[Game]:
    return [Game(rules[i % len(rules)], seed, deals) for i, seed in enumerate(seeds)]


class Mirror:
    """Single games that follow a batch: what each row must show."""

    def __init__(self, games: list[Game], skip_forced: bool) -> None:
        self.games, self.skip_forced = games, skip_forced

    def step(self, row: int, action: int, players: int) -> tuple[list[float], bool, bool]:
        """Returns (reward, done, ended)."""
        game = self.games[row]
        reward, done, ended = np.zeros(players), False, False
        while True:
            deals = game.deals_played
            game.apply(action)
            if game.deals_played > deals:
                assert game.last_deal is not None
                ended = True
                for seat in range(game.rules.players):
                    reward[seat] += game.last_deal.score_change[game.rules.team_of(seat)]
            if game.actor is None:
                # The next game of the row is dealt from the same stream; a Game has no such thing, so it is taken over.
                return reward.tolist(), True, ended
            if not self.skip_forced or len(game.legal_ids()) > 1:
                return reward.tolist(), done, ended
            action = game.legal_ids()[0]


def assert_row(batch: VectorGame, row: int, game: Game) -> None:
    assert batch.actor[row] == game.actor
    assert Phase(batch.phase[row]).name.lower() == game.phase
    assert (batch.mask[row] == game.legal_mask()).all()
    size = width(game.rules)
    assert (batch.observation[row, :size] == game.observation(int(game.actor or 0))).all()
    assert not batch.observation[row, size:].any()
    assert (batch.states[row : row + 1] == game._states).all()


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("skip_forced", [False, True])
@pytest.mark.parametrize("deals", [1, 3, None])
def test_agrees_with_single_games(name: str, skip_forced: bool, deals: int | None) -> None:
    rules = [each for each in SETS[name] if deals or each.target]
    if not rules:
        pytest.skip("no target")
    num = max(3, len(rules))
    seeds = [17 + i for i in range(num)]
    batch = VectorGame(rules, num, np.array(seeds), deals, skip_forced)
    mirror, rng = Mirror(games_of(rules, seeds, deals), skip_forced), np.random.default_rng(0)
    assert batch.observation.dtype == np.uint8
    assert batch.observation.shape == (num, max(width(each) for each in rules))
    for _ in range(150 if num < 10 else 60):
        for row, game in enumerate(mirror.games):
            assert_row(batch, row, game)
            assert not skip_forced or len(game.legal_ids()) > 1
        actions = batch.random_actions(rng)
        assert batch.mask[np.arange(num), actions].all()
        reward, done = batch.step(actions)
        assert (reward.dtype, reward.shape) == (np.float32, (num, batch.players))
        for row in range(num):
            expected = mirror.step(row, int(actions[row]), batch.players)
            assert (reward[row].tolist(), bool(done[row]), bool(batch.ended[row])) == expected
            if batch.ended[row]:
                last = mirror.games[row]._last
                assert last is not None
                assert batch.last[row].tobytes() == last[0].tobytes()
                assert done[row] or batch.game(row) == mirror.games[row]  # with the deal that ended last
            if done[row]:
                assert batch.states["public"]["deals"][row] == 0
                assert not batch.states["public"]["scores"][row].any()
                mirror.games[row] = batch.game(row)


def test_streams() -> None:
    """Row 0 of a seed is the single game of that seed; other rows are other games; an array gives each its own."""
    rules = VARIANTS["auction-4"]
    batch = VectorGame(rules, 50, seed=5)
    assert batch.states[:1].tobytes() == Game(rules, 5, deals=1)._states.tobytes()
    assert len(set(batch.states["rng"].tolist())) == 50
    assert len({state.tobytes() for state in batch.states["hands"]}) == 50
    assert (VectorGame(rules, 20, seed=5).states == batch.states[:20]).all()
    own = VectorGame(rules, 50, seed=np.full(50, 5))
    assert len({state.tobytes() for state in own.states}) == 1
    for seeds in ([1, 2, 3], (1, 2, 3), np.array([1, 2, 3], np.uint8), np.array([1, 2, 2**64 - 1], np.uint64)):
        each = VectorGame(rules, 3, seed=seeds)  # type: ignore[arg-type]
        for row in range(3):
            assert each.states[row : row + 1].tobytes() == Game(rules, int(seeds[row]), deals=1)._states.tobytes()


def test_reset_begins_anew() -> None:
    batch, rng = VectorGame(VARIANTS["oklahoma"], 30, seed=5, deals=2), np.random.default_rng(0)
    first = batch.states.tobytes(), batch.observation.tobytes(), batch.mask.tobytes()
    for _ in range(200):
        batch.step(batch.random_actions(rng))
    batch.reset(5)
    assert (batch.states.tobytes(), batch.observation.tobytes(), batch.mask.tobytes()) == first
    assert not batch.done.any()
    assert not batch.reward.any()
    assert not batch.ended.any()
    batch.reset(6)
    assert batch.states.tobytes() != first[0]
    batch.reset(None)
    assert batch.states.tobytes() != VectorGame(VARIANTS["oklahoma"], 30, seed=None, deals=2).states.tobytes()


def everything(batch: VectorGame) -> bytes:
    """All arrays of a batch. What lies between the fields of a record does not count, and copies leave it open."""
    clean = []
    for _, value in sorted(vars(batch).items()):
        if isinstance(value, np.ndarray):
            clean.append(np.zeros(value.shape, value.dtype))
            clean[-1][:] = value
    assert len(clean) >= 10
    return b"".join(array.tobytes() for array in clean)


@pytest.mark.parametrize("row", [0, 7, 19])
def test_an_illegal_action_names_its_row_and_changes_nothing(row: int) -> None:
    batch, rng = VectorGame([VARIANTS["money-4"], VARIANTS["oklahoma"]], 20, seed=5), np.random.default_rng(row)
    for _ in range(40):
        before, actions = everything(batch), batch.random_actions(rng)
        for wrong in (*rng.choice(np.nonzero(~batch.mask[row])[0], 3), -1, 71, 2**40):
            wrongs = actions.copy()
            wrongs[row] = wrong
            with pytest.raises(IllegalAction, match=f"^in game {row}: .*is not (legal|an action)"):
                batch.step(wrongs)
            assert everything(batch) == before
        batch.step(actions)


def test_the_first_illegal_row_is_named() -> None:
    batch = VectorGame(VARIANTS["money-4"], 20, seed=5)
    actions = batch.random_actions(np.random.default_rng(0))
    actions[[4, 9]] = 0
    with pytest.raises(IllegalAction, match=r"^in game 4: '2C' is not legal: seat \d is to bid; legal are pass, 2"):
        batch.step(actions)


@pytest.mark.parametrize(
    "actions",
    [np.full(3, 58), np.full((4, 1), 58), np.full(4, 58.0), np.array(58), [[58] * 4], ["pass"] * 4, np.ones(4, bool)],
)
def test_actions_of_a_wrong_shape_or_type(actions: Any) -> None:
    batch = VectorGame(VARIANTS["money-4"], 4, seed=5)
    before = everything(batch)
    with pytest.raises(ValueError, match=r"actions of shape .* are not allowed; they are integers of shape \(4,\)"):
        batch.step(actions)
    assert everything(batch) == before


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, list])
def test_actions_of_every_integer_type(dtype: Any) -> None:
    batch, same = (VectorGame(VARIANTS["money-4"], 8, seed=5) for _ in range(2))
    rng = np.random.default_rng(0)
    for _ in range(30):
        actions = batch.random_actions(rng)
        batch.step(actions)
        same.step(actions.tolist() if dtype is list else actions.astype(dtype))
        assert everything(batch) == everything(same)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(rules=[]), r"rules=\[\] is not allowed"),
        (dict(num_games=0), "num_games=0 is not allowed; it is a whole number from 1"),
        (dict(num_games=2.0), "num_games=2.0 is not allowed"),
        (dict(num_games=True), "num_games=True is not allowed"),
        (dict(seed=-1), "seed=-1 is not allowed"),
        (dict(seed=[1, 2, 3]), "3 seeds are not allowed; 4 games need one each"),
        (dict(seed=[1, 2, 3, -4]), "seed=-4 is not allowed"),
        (dict(seed=[1, 2, 3, 4.5]), "seed=4.5 is not allowed"),
        (dict(deals=0), "deals=0 is not allowed"),
        (dict(deals=None), "deals=None is not allowed; rules without a target need a number of deals"),
        (dict(rules=["auction"]), "rules='auction' is not allowed"),
        (dict(rules="auction"), "rules='auction' is not allowed"),
        (dict(rules=None), "rules=None is not allowed"),
    ],
)
def test_refusals(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        VectorGame(**{"rules": VARIANTS["money-4"], "num_games": 4, **arguments})


def test_observe() -> None:
    batch, rng = VectorGame(SETS["all variants"], 60, seed=5), np.random.default_rng(0)
    for _ in range(60):
        batch.step(batch.random_actions(rng))
    rules = [batch.rules[row % len(batch.rules)] for row in range(60)]
    seats = rng.integers(0, [each.players for each in rules])
    views = batch.observe(seats)
    for row in range(60):
        game, size = batch.game(row), width(rules[row])
        assert (views[row, :size] == game.observation(int(seats[row]))).all()
        assert not views[row, size:].any()
    assert (batch.observe(batch.actor) == batch.observation).all()
    assert batch.observe(0).shape == batch.observation.shape
    assert batch.observe(0) is not batch.observation
    for wrong in (np.full(60, 8), -1, 2):  # games of two have no seat 2
        with pytest.raises(ValueError, match=r"(?s)seats=.* is not allowed; seats are 0 to players - 1"):
            batch.observe(wrong)


def test_copies_are_independent() -> None:
    batch, rng = VectorGame(VARIANTS["oklahoma"], 10, seed=5, deals=2), np.random.default_rng(0)
    for _ in range(50):
        batch.step(batch.random_actions(rng))
    twin, before = batch.copy(), everything(batch)
    assert everything(twin) == before
    chance = np.random.default_rng(1)
    for _ in range(100):
        twin.step(twin.random_actions(chance))
    assert everything(batch) == before
    chance = np.random.default_rng(1)
    for _ in range(100):
        batch.step(batch.random_actions(chance))
    assert everything(twin) == everything(batch)


def test_a_row_as_a_game_is_a_copy() -> None:
    batch = VectorGame([VARIANTS["money-4"], VARIANTS["oklahoma"]], 4, seed=5)
    before = everything(batch)
    for row in range(4):
        game = batch.game(row)
        assert game.rules == batch.rules[row % 2]
        assert_row(batch, row, game)
        game.apply(game.legal()[0])
    assert everything(batch) == before
    assert len(batch) == 4


def test_rows_are_counted_from_the_end_too_and_others_are_refused() -> None:
    batch = VectorGame([VARIANTS["auction-4"], VARIANTS["oklahoma-6"], VARIANTS["money-4"]], 4, seed=2)
    assert [batch.game(row - 4) for row in range(4)] == [batch.game(row) for row in range(4)]
    assert batch.game(-4).rules == VARIANTS["auction-4"]
    for wrong in (4, -5, 1.5, None, "0", slice(2)):
        with pytest.raises(IndexError, match=r"game .* is not there; games are 0 to 3"):
            batch.game(wrong)  # type: ignore[arg-type]


def test_a_row_tells_of_the_last_deal_of_its_own_game_only() -> None:
    batch = VectorGame(VARIANTS["tiny"], 4, seed=3, deals=2)
    while not batch.ended.all():
        batch.step(batch.random_actions(np.random.default_rng(0)))
    assert all((batch.game(row).last_deal is None) == (batch.game(row).deals_played == 0) for row in range(4))
    batch.random_rollout(4 * 50)  # how deals end in it is not kept
    assert all(batch.game(row).last_deal is None for row in range(4))


def test_states_may_be_written_by_hand() -> None:
    """After ``refresh``; without it, a step can be refused that is legal now, but never is an illegal one taken."""
    rules = VARIANTS["auction-4"]
    batch, other = VectorGame(rules, 2, seed=5), VectorGame(rules, 2, seed=6)
    other.step(other.random_actions(np.random.default_rng(3)))
    batch.states[:] = other.states
    batch.refresh()
    assert (batch.observation == other.observation).all()
    assert (batch.mask == other.mask).all()
    assert (batch.actor == other.actor).all()
    actions = other.random_actions(np.random.default_rng(4))
    batch.step(actions)
    other.step(actions)
    assert (batch.states == other.states).all()


def play(threads: int, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What a batch large enough for several threads goes through."""
    monkeypatch.setattr(pitch_env.kernel, "NUM_THREADS", threads)
    batch = VectorGame(SETS["all variants"], 2500, seed=5, deals=2, skip_forced=True)
    rng, seen = np.random.default_rng(0), []
    for _ in range(30):
        batch.step(batch.random_actions(rng))
        seen.append(everything(batch))
    batch.random_rollout(50_000)
    batch.refresh()
    return [*seen, everything(batch), batch.observe(0).tobytes(), everything(batch.determinize(1, 7))]


def test_the_same_with_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = play(1, monkeypatch)
    for threads in (2, 3, 5):
        assert play(threads, monkeypatch) == alone


def test_the_variable_for_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PITCH_THREADS", "")  # as good as none
    cores = pitch_env.kernel._num_threads()
    assert cores >= 1
    monkeypatch.delenv("PITCH_THREADS")
    assert pitch_env.kernel._num_threads() == cores
    monkeypatch.setenv("PITCH_THREADS", "3")
    assert pitch_env.kernel._num_threads() == 3
    for wrong in ("two", "0", "-1", "1.5"):
        monkeypatch.setenv("PITCH_THREADS", wrong)
        with pytest.raises(ValueError, match=f"PITCH_THREADS='{wrong}' is not allowed; it is a number from 1"):
            pitch_env.kernel._num_threads()


@pytest.mark.parametrize("count", [0, 1, 2, 7, 1023, 1024, 5000])
@pytest.mark.parametrize("threads", [1, 2, 3, 64])
@pytest.mark.parametrize("weight", [1, 100, 10**6])
def test_parts_cover_everything_once(count: int, threads: int, weight: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pitch_env.kernel, "NUM_THREADS", threads)
    touched = np.zeros(count, np.int64)

    def door(start: int, stop: int, out: np.ndarray) -> None:
        out[start:stop] += 1

    pitch_env.kernel.in_parallel(door, count, touched, weight=weight)
    assert (touched == 1).all()


def test_an_error_in_a_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pitch_env.kernel, "NUM_THREADS", 2)

    def door(start: int, stop: int) -> None:
        if start > 0:
            raise ArithmeticError("in the other thread")

    with pytest.raises(ArithmeticError, match="in the other thread"):
        pitch_env.kernel.in_parallel(door, 4096)


def test_batches_in_threads_of_the_user() -> None:
    """Two batches stepped at the same time come to what they come to one after the other."""

    def run(seed: int) -> bytes:
        batch, rng = VectorGame(SETS["all variants"], 1500, seed=seed), np.random.default_rng(seed)
        for _ in range(30):
            batch.step(batch.random_actions(rng))
        return everything(batch)

    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(run, range(3)))
    assert together == [run(seed) for seed in range(3)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_can_go_on() -> None:
    batch, rng = VectorGame(VARIANTS["auction-4"], 3000, seed=5), np.random.default_rng(0)
    batch.step(batch.random_actions(rng))
    child = os.fork()
    if child == 0:
        batch.step(batch.random_actions(rng))
        os._exit(0)
    for _ in range(600):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.1)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        raise AssertionError("the child hangs")
    assert status == 0


# Hidden cards.


def test_determinize() -> None:
    """Each row as ``Game.determinize``: what its seat sees stays, all else is drawn anew (more in test_sampling)."""
    batch, rng = VectorGame(SETS["all variants"], 90, seed=5, deals=2), np.random.default_rng(0)
    players = np.array([batch.rules[row % len(batch.rules)].players for row in range(90)])
    for _ in range(40):
        batch.step(batch.random_actions(rng))
    for seats in (rng.integers(0, players), batch.actor, 1):
        before = everything(batch)
        drawn = batch.determinize(seats, 3)
        assert everything(batch) == before
        assert (drawn.observe(seats) == batch.observe(seats)).all()
        assert (drawn.states["public"] == batch.states["public"]).all()
        assert (drawn.states["rng"] != batch.states["rng"]).all()
        assert len(np.unique(drawn.states["rng"])) == 90
        for row, seat in enumerate(np.broadcast_to(seats, 90)):
            game = drawn.game(row)
            assert_row(drawn, row, game)
            assert_consistent(game)
            assert game.infoset(int(seat)) == batch.game(row).infoset(int(seat))
        assert everything(batch.determinize(seats, 3)) == everything(drawn)
        assert everything(batch.determinize(seats, np.random.default_rng(3))) == everything(drawn)
        assert everything(batch.determinize(seats, 4)) != everything(drawn)
        assert everything(batch.determinize(seats)) != everything(batch.determinize(seats))
    assert (drawn.states["hands"] != batch.states["hands"]).any()
    with pytest.raises(ValueError, match=r"(?s)seats=.* is not allowed"):
        batch.determinize(8)


def test_determinize_is_uniform_over_rows() -> None:
    """Rows that are the same game get deals of their own."""
    rules = VARIANTS["tiny"]
    batch = VectorGame(rules, 6000, seed=np.full(6000, 4))
    drawn = batch.determinize(0, 1)
    other = [mask_of(pair) for pair in combinations(set(rules.deck) - set(cards_in(batch.states["hands"][0, 0])), 2)]
    counts = Counter(drawn.states["hands"][:, 1].tolist())
    assert abs(chi_square(counts, dict.fromkeys(other, 1))) < 4


def test_random_actions_are_uniform() -> None:
    batch = VectorGame(VARIANTS["oklahoma"], 4000, seed=np.zeros(4000, np.int64))  # the same game 4000 times
    rng = np.random.default_rng(0)
    for _ in range(20):
        legal = np.nonzero(batch.mask[0])[0]
        actions = batch.random_actions(rng)
        counts = np.bincount(actions, minlength=71)[legal]
        assert counts.sum() == 4000
        expected = 4000 / len(legal)
        assert (np.abs(counts - expected) <= 5 * expected**0.5).all()
        batch.step(np.full(4000, actions[0]))


def test_random_rollout() -> None:
    batch = VectorGame(SETS["all variants"], 100, seed=5, deals=1)
    assert batch.random_rollout(10_001) == 10_100
    for row in range(100):
        assert_row(batch, row, batch.game(row))
    same = VectorGame(SETS["all variants"], 100, seed=5, deals=1)
    same.random_rollout(10_001)
    assert (same.states == batch.states).all()


def test_a_copy_is_compiled_no_second_time() -> None:
    batch = VectorGame(VARIANTS["auction-4"], 8, seed=5)
    batch.step(batch.random_actions(np.random.default_rng(0)))
    signatures = len(vector._step.signatures)
    twin = pickle.loads(pickle.dumps(batch.copy().determinize(0, 1)))
    twin.step(twin.random_actions(np.random.default_rng(0)))
    assert len(vector._step.signatures) == signatures
