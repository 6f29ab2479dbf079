"""The search: it knows what its seat knows, is the same in any batch, better than what plays its deals out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from strategies import VARIANTS, any_rules, examples, seeds

from agents import load
from agents.agent import Agent
from agents.baselines import ExpertAgent
from agents.evaluation import duplicate_match, fingerprint
from agents.search import SearchAgent
from agents.solver import Solver
from pitch_env import Game, Rules, VectorGame, kernel
from pitch_env.actions import action_text

PRESETS = {
    "money": Rules.preset("money"),
    "auction": Rules.preset("auction"),
    "auction-2": Rules.preset("auction", players=2),
    "pairs": Rules.preset("auction_pairs"),
    "oklahoma": Rules.preset("oklahoma"),
    "oklahoma-6": Rules.preset("oklahoma", players=6),
}


def choice(game: Game, agent: Agent, seed: int = 0) -> str:
    """The action of an agent in a game, as text."""
    assert game.actor is not None
    observation = game.observation(game.actor)[None]
    action = agent.act(observation, game.legal_mask()[None], np.random.default_rng(seed))
    return action_text(int(action[0]))


@pytest.fixture(scope="module")
def positions() -> list[VectorGame]:
    """A batch of all variants at a few moments of deals that the expert plays, with a random action now and then."""
    batch, rng = VectorGame(list(VARIANTS.values()), 3 * len(VARIANTS), seed=5), np.random.default_rng(6)
    found = []
    for step in range(28):
        if step % 4 == 0:
            found.append(batch.copy())
        actions = ExpertAgent().act(batch.observation, batch.mask, rng)
        batch.step(np.where(rng.random(len(actions)) < 0.1, batch.random_actions(rng), actions))
    return found


# What it knows.


def test_its_choice_is_the_same_whatever_the_others_hold(positions: list[VectorGame]) -> None:
    """From deals that differ only in what the seat cannot know it takes the same actions with the same chance."""
    agent, differ = SearchAgent(4), 0
    for batch in positions[::3]:
        other = batch.determinize(batch.actor, 1)
        differ += (other.states["hands"] != batch.states["hands"]).any(1).sum()
        for seed in (0, 1):
            mine = agent.act(batch.observation, batch.mask, np.random.default_rng(seed))
            assert (mine == agent.act(other.observation, other.mask, np.random.default_rng(seed))).all()
    assert differ > 100


def test_it_is_given_nothing_but_observation_and_mask() -> None:
    """In a match the search stands where any agent stands; here is what it receives."""
    received = []

    class Listener(SearchAgent):
        def act(self, *arguments: np.ndarray, **more: np.ndarray) -> np.ndarray:
            received.append((arguments, more))
            return super().act(*arguments, **more)

    duplicate_match(PRESETS["auction-2"], Listener(2), load("greedy"), 2)
    for (observation, mask, rng), more in received:
        assert not more
        assert observation.dtype == np.uint8
        assert mask.dtype == bool
        assert isinstance(rng, np.random.Generator)


# Legality and batches.


def test_every_action_is_legal(positions: list[VectorGame]) -> None:
    for batch in positions:
        actions = SearchAgent(3).act(batch.observation.astype(np.float32), batch.mask, np.random.default_rng(0))
        assert actions.dtype == np.int64
        assert batch.mask[np.arange(len(batch)), actions].all()


@examples(0.3)
@given(any_rules(), seeds)
def test_every_action_is_legal_under_any_rules(rules: Rules, seed: int) -> None:
    game, rng = Game(rules, seed=seed, deals=1), np.random.default_rng(seed)
    while game.actor is not None:
        chosen = choice(game, SearchAgent(2))
        assert chosen in game.legal()
        game.apply(chosen if rng.random() < 0.5 else int(rng.choice(game.legal_ids())))


def test_a_batch_is_its_rows(positions: list[VectorGame], monkeypatch: pytest.MonkeyPatch) -> None:
    """However it is cut, and with any number of threads."""
    batch, agent = positions[3], SearchAgent(20)
    whole = agent.act(batch.observation, batch.mask, np.random.default_rng(3))
    for cuts in ([1, 2, 50], list(range(1, len(batch)))):
        rng = np.random.default_rng(3)
        parts = [
            agent.act(observation, mask, rng)
            for observation, mask in zip(np.split(batch.observation, cuts), np.split(batch.mask, cuts), strict=True)
        ]
        assert (np.concatenate(parts) == whole).all()
    monkeypatch.setattr(kernel, "NUM_THREADS", 3)
    assert (agent.act(batch.observation, batch.mask, np.random.default_rng(3)) == whole).all()
    assert (agent.act(batch.observation, batch.mask, np.random.default_rng(4)) != whole).any()


# Strength.


def test_it_beats_greedy() -> None:
    assert duplicate_match(PRESETS["pairs"], load("search:20"), load("greedy"), 60, seed=1).low > 0


def test_it_plays_as_the_solver_says_where_nothing_is_hidden() -> None:
    """Two players who hold the whole deck between them see all, so what the best card brings is known."""
    rules = Rules.preset("auction", players=2, ranks="9TJQKA", suits="CD")
    solver, exact, player = Solver(rules), SearchAgent(1, solved_tricks=6), SearchAgent(4)
    lost, lost_by_expert, decisions = 0.0, 0.0, 0
    for seed in range(25):
        game = Game(rules, seed=seed, deals=1)
        while game.actor is not None:
            expert = choice(game, load("expert"))
            if game.phase == "play" and len(game.legal()) > 1:
                values = solver.values(game)
                best = max(values.values())
                assert values[choice(game, exact)] == best
                lost += best - values[choice(game, player)]
                lost_by_expert += best - values[expert]
                decisions += best > min(values.values())
            game.apply(expert)
    assert decisions > 40
    assert lost < lost_by_expert / 2


# Budgets and names.


def test_more_time_is_more_deals() -> None:
    batch = VectorGame(PRESETS["pairs"], 1, seed=2)
    deals = [
        SearchAgent(milliseconds=time, clear=99.0).think(
            PRESETS["pairs"], batch.observation, batch.mask, np.zeros(1, np.uint64)
        )["samples"][0]
        for time in (0.001, 100)
    ]
    assert deals[0] < deals[1]


def test_names() -> None:
    assert load("search").name == "search"
    assert load("search:30").samples == 30  # type: ignore[attr-defined]
    assert load("search:50ms").milliseconds == 50  # type: ignore[attr-defined]
    hashes = {fingerprint(load(name)) for name in ("search", "search:30", "search:50ms")}
    assert len(hashes) == 3
    for name in ("search:", "search:0", "search:x", "search:-1", "search:5:expert", "search:5:nobody", "search:0ms"):
        with pytest.raises(ValueError, match=r"search|no agent"):
            load(name)
    for number in (0, -1, True, 2.5):
        with pytest.raises(ValueError, match="samples="):
            SearchAgent(number)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="odd_play=2 is not allowed; it is from 0 to 1"):
        SearchAgent(odd_play=2)
    with pytest.raises(ValueError, match="milliseconds="):
        SearchAgent(milliseconds=0)


# Policies.


class LowestCard:
    """A policy that likes low action ids, and never tries any but the two lowest."""

    name = "lowest"
    fingerprint = "lowest"

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return mask.argmax(1).astype(np.int64)

    def probabilities(self, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        rank = np.where(mask, np.cumsum(mask, 1), 0)
        return np.where(rank == 1, 0.6, np.where(rank == 2, 0.4, 0.0))


def test_a_policy_says_what_is_tried_and_plays_the_deals_out() -> None:
    rules, policy = PRESETS["pairs"], LowestCard()
    match = duplicate_match(rules, SearchAgent(8, policy=policy), policy, 40, seed=1)
    assert match.low > 0
    batch = VectorGame(rules, 20, seed=3)
    tallies = SearchAgent(8, policy=policy).think(rules, batch.observation, batch.mask, np.arange(20, dtype=np.uint64))
    lowest = np.cumsum(batch.mask, 1) * batch.mask
    assert (lowest[np.arange(20), tallies["action"]] <= 2).all()
    assert (tallies["reference"] == batch.mask.argmax(1)).all()
    agent = SearchAgent(20, policy=policy)
    whole = agent.act(batch.observation, batch.mask, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    parts = [agent.act(batch.observation[[i]], batch.mask[[i]], rng) for i in range(20)]
    assert (np.concatenate(parts) == whole).all()


# Without compilation.

CODE = """
import json
import numpy as np
import test_search as tests
game = tests.Game(tests.PRESETS["oklahoma"], seed=3, deals=1)
for name in "2 pass pass pass".split():
    game.apply(name if name in game.legal() else "pass")
print(json.dumps([tests.choice(game, tests.SearchAgent(2))]))
"""


def test_the_same_without_compilation() -> None:
    outputs = [
        subprocess.run(
            [sys.executable, "-W", "error", "-c", CODE], cwd=Path(__file__).parent, timeout=600, check=True,
            env={**os.environ, "NUMBA_DISABLE_JIT": disabled}, text=True, capture_output=True,
        ).stdout
        for disabled in ("0", "1")
    ]  # fmt: skip
    assert json.loads(outputs[0]) == json.loads(outputs[1])
