"""Speed of training, end to end, and of its matrix products alone: ``python tests/benchmarks/bench_training.py``.

The bound is what the default config could do if nothing but its network took time: each decision goes forward once in
the rollout, and forward, backward and through Adam once an epoch, at the very batch sizes of the config.
"""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable

import agents.waiting  # noqa: F401  for its effect, which is that of training

SECONDS = 5.0  # that each measure takes


def seconds_each(run: Callable[[], object]) -> float:
    """The median time of a call, after one that does not count."""
    run()
    times, end = [], time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def training(rules: str) -> dict[str, float]:
    """Decisions a second: end to end, the bound, and their ratio."""
    import torch

    from agents import ppo, training
    from agents.rollout import DealCounts

    config = ppo.Config(rules=rules, out=tempfile.mkdtemp())
    run, counts = ppo.Run(config), DealCounts()
    rollout = run.rollout()
    whole = config.num_games * config.steps / seconds_each(lambda: training.iterate(run, rollout, counts))

    decisions = ppo.prepare(run, rollout)
    first, batch = decisions.observation[: config.num_games], decisions[torch.arange(config.minibatch)]

    def forward() -> None:
        with torch.no_grad(), training.autocast(config):
            run.network(first)

    def learn() -> None:
        with training.autocast(config):
            logits, value = run.network(batch.observation)
        run.optimizer.zero_grad()
        (logits.mean() + value.mean()).backward()
        run.optimizer.step()

    play = seconds_each(forward) / config.num_games
    step = seconds_each(learn) / config.minibatch
    bound = 1 / (play + config.epochs * step)
    return {"end to end": whole, "bound": bound, "forward": 1 / play, "learning": 1 / step, "ratio": whole / bound}


def ratio(rules: str) -> float:
    return training(rules)["ratio"]


def end_to_end(rules: str) -> float:
    return training(rules)["end to end"]


# For bench.py: by name, what measures one figure for a preset.
MEASURES: dict[str, Callable[[str], float]] = {"training": end_to_end, "training_ratio": ratio}


def main() -> None:
    for rules in sys.argv[1:] or ("auction", "oklahoma"):
        print(rules, json.dumps({name: round(value, 3) for name, value in training(rules).items()}), flush=True)


if __name__ == "__main__":
    main()
