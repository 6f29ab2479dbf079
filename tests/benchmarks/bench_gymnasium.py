"""Steps a second of Pitch-v0: single tables, and many tables in a batch. python tests/benchmarks/bench_gymnasium.py

CPU time of one thread with PITCH_THREADS=1; the learner chooses at random. A step is one action of the learner with all
that the other three seats do until its next turn, new deals included.
"""

import time

import gymnasium
import numpy as np

STEPS = 20_000


def steps_a_second(opponents: str, tables: int, mode: str) -> float:
    """Measured after a few steps that warm up."""
    env = gymnasium.make_vec(
        "agents.gymnasium_env:Pitch-v0", num_envs=tables, vectorization_mode=mode, opponents=opponents
    )
    rng = np.random.default_rng(0)
    _, info = env.reset(seed=1)
    begin, rounds = 0.0, max(30, STEPS // tables)
    for number in range(rounds + 5):
        if number == 5:
            begin = time.process_time()
        chances = rng.random((tables, 71)) * info["action_mask"]
        *_, info = env.step(chances.argmax(1))
    return rounds * tables / (time.process_time() - begin)


for opponents in ("random", "greedy", "expert"):
    single = steps_a_second(opponents, 16, "sync")
    print(f"{opponents:8} 16 single tables {single:9,.0f}", end="")
    for tables in (16, 256, 1024):
        speed = steps_a_second(opponents, tables, "vector_entry_point")
        print(f"   batch of {tables} {speed:9,.0f} ({speed / single:.1f} times)", end="")
    print()
