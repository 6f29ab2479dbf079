"""Kernels run as plain Python too (``NUMBA_DISABLE_JIT=1``), for debuggers and coverage, and then do the same."""

import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from strategies import VARIANTS, random_step

from pitch_env import Game, Rules, VectorGame
from pitch_env.kernel import records
from pitch_env.observation import layout, read_observation
from pitch_env.rules import pack
from pitch_env.state import PUBLIC

NAMES = [
    *("money-8", "money-3", "auction-4", "auction-7", "pairs", "pairs-6", "oklahoma", "oklahoma-three", "oklahoma-ten"),
    *("oklahoma-unused", "oklahoma-6", "pitch-jokers", "short", "tiny"),
]


def read_back(game: Game, viewer: int) -> list[int]:
    """What an observation is read as, in numbers."""
    rules, public = game.rules, records(1, PUBLIC)
    values = game.observation(viewer).astype(np.uint8)
    masks = read_observation(pack(rules)[0], layout(rules)[0], values, public[0])
    return [*map(int, masks), *(int(value) for name in PUBLIC.names or () for value in np.ravel(public[0][name]))]


def trace(rules: Rules, seed: int) -> list[str]:
    """All that happens in a deal, and a little of the next, in text."""
    game, rng = Game(rules, seed, deals=2), random.Random(seed)
    lines: list[str] = []
    while game.actor is not None and len(lines) < 1000:
        viewer = rng.randrange(rules.players)
        drawn = game.determinize(viewer, seed)
        hands = [drawn.hand(seat) for seat in range(rules.players)]
        lines += [
            f"{game!r} {game.legal()} {game.leading} {game.infoset(viewer)}",
            f"{game.observation(viewer).tolist()} {read_back(game, viewer)}",
            f"{hands} {drawn.widow} {drawn.infoset(0)}",
        ]
        game.apply(random_step(game, rng))
        if game.deals_played and len(game.calls) > 3:
            break
    lines.append(f"{game.last_deal} {game.scores} {game.winner} {game.to_bytes().hex()}")
    return lines


def batch_trace() -> list[str]:
    """A batch of different games with forced decisions skipped."""
    batch = VectorGame([VARIANTS[name] for name in ("money-8", "oklahoma", "tiny")], 6, seed=1, skip_forced=True)
    rng, lines = np.random.default_rng(0), []
    for _ in range(25):
        actions = batch.random_actions(rng)
        reward, done = batch.step(actions)
        digest = hashlib.sha256(batch.observation.tobytes() + batch.observe(1).tobytes()).hexdigest()
        lines.append(
            f"{actions} {reward} {done} {batch.ended} {batch.actor} {batch.phase} {batch.mask.sum(1)} {digest}"
        )
    batch.random_rollout(60)
    return [*lines, hashlib.sha256(batch.observation.tobytes()).hexdigest()]


def traces() -> dict[str, list[str]]:
    with np.errstate(over="ignore"):  # the generator's numbers turn over as they should
        return {**{name: trace(VARIANTS[name], seed) for seed, name in enumerate(NAMES)}, "batch": batch_trace()}


@pytest.fixture(scope="module")
def uncompiled() -> dict[str, list[str]]:
    code = "import json, test_without_compilation as tests; print(json.dumps(tests.traces()))"
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=Path(__file__).parent, timeout=600,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, text=True, capture_output=True,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr[-4000:]
    return json.loads(process.stdout)


@pytest.fixture(scope="module")
def compiled() -> dict[str, list[str]]:
    return traces()


@pytest.mark.parametrize("name", [*NAMES, "batch"])
def test_the_same(name: str, compiled: dict[str, list[str]], uncompiled: dict[str, list[str]]) -> None:
    assert len(compiled[name]) > 5
    for with_it, without in zip(compiled[name], uncompiled[name], strict=True):
        assert with_it == without
