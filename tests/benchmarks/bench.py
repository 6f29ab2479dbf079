"""Speeds, each measured in a process of its own on the cores it names: ``make bench``.

Prints a table; ``--out docs/benchmarks.md`` writes it too. A figure is the median of several runs within the process.
OpenSpiel and PettingZoo's Texas hold'em are measured in the same run where they are installed.
"""

import argparse
import contextlib
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bench_solver
import bench_training

REPEATS = 5


def rate(run: Callable[[], int], warm: Callable[[], Any] | None = None) -> float:
    """The median number of things a second that ``run`` does, which returns how many it did."""
    (warm or run)()
    rates = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        done = run()
        rates.append(done / (time.perf_counter() - start))
    return statistics.median(rates)


def make_batch(preset: str, games: int = 4096) -> Any:
    from pitch_env import Rules, VectorGame

    return VectorGame(Rules.preset(preset), num_games=games, seed=0)


def random_rollout(preset: str) -> float:
    batch = make_batch(preset, 64)
    return rate(lambda: batch.random_rollout(4_000_000), lambda: batch.random_rollout(1000))


def stepped_batch(preset: str) -> float:
    import numpy as np

    batch, rng = make_batch(preset), np.random.default_rng(0)

    def run() -> int:
        for _ in range(200):
            batch.step(batch.random_actions(rng))
        return 200 * len(batch)

    return rate(run)


def game_loop(preset: str) -> float:
    import random

    from pitch_env import Game, Rules

    rules, rng = Rules.preset(preset), random.Random(0)

    def run() -> int:
        decisions = 0
        for seed in range(300):
            game = Game(rules, seed=seed, deals=1)
            while legal := game.legal_ids():
                game.apply(rng.choice(legal))
                decisions += 1
        return decisions

    return rate(run)


def aec_loop(env: Any) -> float:
    import numpy as np

    rng = np.random.default_rng(0)

    def run() -> int:
        steps = 0
        for seed in range(60):
            env.reset(seed=seed)
            for _ in env.agent_iter():
                observation, _, termination, truncation, _ = env.last()
                if termination or truncation:
                    env.step(None)
                    continue
                legal = observation["action_mask"].nonzero()[0]
                env.step(int(legal[int(rng.random() * len(legal))]))
                steps += 1
        return steps

    return rate(run)


def pitch_aec(preset: str) -> float:
    from pitch_env import pitch_v0

    return aec_loop(pitch_v0.raw_env(rules=preset))


def holdem_aec(_: str) -> float:
    from pettingzoo.classic import texas_holdem_v4

    return aec_loop(texas_holdem_v4.raw_env())


def determinize(preset: str) -> float:
    import numpy as np

    batch, rng = make_batch(preset), np.random.default_rng(0)
    for _ in range(14):
        batch.step(batch.random_actions(rng))

    def run() -> int:
        for seed in range(10):
            batch.determinize(batch.actor, seed)
        return 10 * len(batch)

    return rate(run)


def memory(preset: str) -> float:
    return make_batch(preset, 16).states.itemsize


def open_spiel(name: str) -> float:
    import random

    import pyspiel

    game, rng = pyspiel.load_game(name), random.Random(0)

    def run() -> int:
        decisions = 0
        for _ in range(200):
            state = game.new_initial_state()
            while not state.is_terminal():
                if not state.is_chance_node():
                    decisions += 1
                state.apply_action(rng.choice(state.legal_actions()))
        return decisions

    return rate(run)


def first_use(cache: str) -> float:
    """Seconds from nothing to the first step of a batch and of a game, with an empty cache or a full one."""
    code = (
        "import time; start = time.perf_counter()\n"
        "import numpy as np; from pitch_env import Game, Rules, VectorGame\n"
        "batch = VectorGame(Rules.preset('auction'), 64); batch.step(batch.random_actions(np.random.default_rng(0)))\n"
        "game = Game(Rules.preset('auction'), seed=1); game.apply(game.legal_ids()[0]); game.observation(0)\n"
        "print(time.perf_counter() - start)\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}

        def seconds() -> float:
            return float(subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True).stdout)

        cold = seconds()
        return cold if cache == "empty" else statistics.median(seconds() for _ in range(REPEATS))


MEASURES: dict[str, Callable[[str], Any]] = (
    {
        f.__name__: f
        for f in (
            random_rollout,
            stepped_batch,
            game_loop,
            pitch_aec,
            holdem_aec,
            determinize,
            memory,
            open_spiel,
            first_use,
        )
    }
    | bench_solver.MEASURES
    | bench_training.MEASURES
)


def measure(name: str, argument: str, cores: int) -> Any:
    """Run a measure in a process of its own on that many cores: a figure, or some by name; None if it cannot run."""
    command = [sys.executable, __file__, "--measure", name, argument, str(cores)]
    environment = os.environ | {"NUMBA_NUM_THREADS": str(cores), "OMP_NUM_THREADS": str(cores)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        print(f"  {name} {argument}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def figure(value: float | None, unit: str = "/s") -> str:
    if value is None:
        return "not installed"
    if unit != "/s":
        return f"{value:,.2f} {unit}" if unit == "s" else f"{value:,.0f} {unit}"
    if value >= 1e6:
        return f"{value / 1e6:,.2f} M/s"
    return f"{value / 1e3:,.0f} k/s" if value >= 1e4 else f"{value:,.0f} /s"


def share(value: float | None) -> str:
    return "not installed" if value is None else f"{value:.2f}"


def rows() -> list[tuple[str, ...]]:
    """The table, measured."""
    table = []
    spiel = {name: measure("open_spiel", name, 1) for name in ("hearts", "euchre", "spades")}
    fastest = max((value for value in spiel.values() if value), default=None)

    def row(what: str, name: str, cores: int, floors: tuple[float, float] | None, against: float | None) -> list:
        found = [measure(name, preset, cores) for preset in ("auction", "oklahoma")]
        wanted = " / ".join(figure(floor) for floor in floors) if floors else ""
        ratio = f"{found[0] / against:,.1f}" if found[0] and against else ""
        table.append((what, figure(found[0]), figure(found[1]), wanted, ratio))
        return found

    row("random play within a kernel, one core", "random_rollout", 1, (25e6, 15e6), fastest)
    one = row("`VectorGame.step`, N = 4096, one core", "stepped_batch", 1, (5e6, 3e6), fastest)
    two = row("the same on two cores", "stepped_batch", 2, None, fastest)
    times = [f"{b / a:.2f} times" if a and b else "" for a, b in zip(one, two, strict=True)]
    table.append(("two cores against one", *times, "1.8 times", ""))
    row("`Game`: `legal_ids`, `apply`", "game_loop", 1, (400e3, 400e3), fastest)
    holdem = measure("holdem_aec", "", 1)
    row("AEC loop: `last`, `step`", "pitch_aec", 1, (100e3, 80e3), holdem)
    row("`determinize` in mid-deal, a batch", "determinize", 1, (200e3, 100e3), None)
    table.append(("memory of a game", figure(measure("memory", "auction", 1), "bytes"), "", "512 bytes", ""))
    table.append(("first use, empty cache", figure(measure("first_use", "empty", 1), "s"), "", "25 s", ""))
    table.append(("first use, full cache", figure(measure("first_use", "full", 1), "s"), "", "1.5 s", ""))
    table += bench_solver.rows(measure, figure)
    trained = [measure("training", preset, 2) or {} for preset in ("auction", "oklahoma")]
    for what, name, written in (
        ("training with the default config, two cores", "end to end", figure),
        ("its bound: what the network alone would allow", "bound", figure),
        ("its share of the bound", "ratio", share),
    ):
        table.append((what, *(written(each.get(name)) for each in trained), "", ""))
    for name, value in spiel.items():
        table.append((f"OpenSpiel {name}: `legal_actions`, `apply_action`", figure(value), "", "", ""))
    table.append(("PettingZoo Texas hold'em: AEC loop", figure(holdem), "", "", ""))
    return table


def processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def as_markdown(table: list[tuple[str, ...]]) -> str:
    import numba
    import numpy as np

    head = ("what", "auction, 4 players", "oklahoma, 4 players", "floor", "times the fastest rival")
    lines = [" | ".join(("", *row, "")).strip() for row in (head, ("---",) * len(head), *table)]
    today = datetime.date.today().isoformat()
    text = (
        f"Measured on {today} by `make bench` on {processor()} with Python {platform.python_version()}, NumPy "
        f"{np.__version__}, Numba {numba.__version__}. Decisions (or steps, or deals) a second, medians of {REPEATS} "
        f"runs, each row in a process of its own, pinned to one core where it does not say otherwise. Rivals are "
        f"driven from Python in the same run: batches and `Game` are compared with the fastest of OpenSpiel's, the AEC "
        f"loop with PettingZoo's hold'em."
    )
    return f"# Benchmarks\n\n{textwrap.fill(text, 120)}\n\n" + "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="a Markdown file to write the table to")
    parser.add_argument("--measure", nargs=3, metavar=("NAME", "ARGUMENT", "CORES"), help="measure one thing only")
    options = parser.parse_args()
    if options.measure:
        name, argument, cores = options.measure
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(cores)])
        print(json.dumps(MEASURES[name](argument)))
        return
    text = as_markdown(rows())
    print(text)
    if options.out:
        options.out.write_text(text)


if __name__ == "__main__":
    main()
