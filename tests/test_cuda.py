"""The engine's kernels do nothing that CUDA could not: they run in Numba's CUDA simulator, one thread a game.

The simulator runs Python, so this shows the data layout and the control flow, not that a compiler for GPUs takes them.
"""

import importlib.util
import os
import subprocess
import sys

import pytest

CODE = """
import sys

import numpy as np
from numba import cuda

from pitch_env import Rules, VectorGame, engine
from pitch_env.state import Phase


@cuda.jit
def step(rules, states, actions, legal):
    i = cuda.grid(1)
    if i < states.shape[0]:
        engine.apply(rules[0], states[i], actions[i])
        public = states[i].public
        if public.phase == Phase.OVER:
            engine.start_game(rules[0], states[i], states[i].rng, public.deals_limit)
        legal[i, 0], legal[i, 1] = engine.legal(rules[0], public, states[i].hands[public.actor])


batch = VectorGame(Rules.preset(sys.argv[1]), num_games=4, seed=1)
rules, states = cuda.to_device(batch._rules.copy()), cuda.to_device(batch.states.copy())
rng = np.random.default_rng(0)
for _ in range(60):
    actions = batch.random_actions(rng)
    legal = cuda.to_device(np.zeros((4, 2), np.int64))
    step[1, 4](rules, states, cuda.to_device(actions), legal)
    batch.step(actions)
    assert (legal.copy_to_host() == batch._legal).all()
assert states.copy_to_host().tobytes() == batch.states.tobytes()
"""


@pytest.mark.skipif(not importlib.util.find_spec("numba_cuda"), reason="numba-cuda is not installed")
@pytest.mark.parametrize("preset", ["auction", "oklahoma"])
def test_the_engine_runs_in_the_cuda_simulator(preset):
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", CODE, preset], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
