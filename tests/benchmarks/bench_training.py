"""Speed of training, end to end, and of its matrix products alone: ``python tests/benchmarks/bench_training.py``.

The bound is what the default config could do if nothing but its network took time: each decision goes forward once in
the rollout, and forward, backward and through Adam once an epoch, at the very batch sizes of the config.
"""

import copy
import json
import statistics
import sys
import time
from collections.abc import Callable

import agents.torch_environment  # noqa: F401  for its effect, which is that of training

ROUNDS = 12  # of each measure, one after the other, so that what else the machine does changes all of them alike


def timed(run: Callable[[], object], times: int) -> float:
    """Seconds of a call, as a mean over some."""
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def training(rules: str) -> dict[str, float]:
    """Decisions a second: end to end, the bound, and their ratio; medians over the rounds."""
    import torch

    from agents import ppo, training
    from agents.rollout import DealCounts

    config = ppo.Config(rules=rules)
    run, counts = ppo.Run(config), DealCounts()
    rollout = run.rollout()
    training.iterate(run, rollout, counts)
    decisions = ppo.prepare(run, rollout)
    network = copy.deepcopy(run.network)  # that learns nonsense, beside the one that is trained
    optimizer = torch.optim.Adam(network.parameters(), fused=True)
    first, batch = decisions.observation[: config.num_games], decisions[torch.arange(config.minibatch)]

    def forward() -> None:
        with torch.no_grad(), training.autocast(config):
            network(first)

    def learn() -> None:
        with training.autocast(config):
            logits, value = network(batch.observation)
        optimizer.zero_grad()
        (logits.mean() + value.mean()).backward()
        optimizer.step()

    measured: dict[str, list[float]] = {"end to end": [], "bound": [], "forward": [], "learning": [], "ratio": []}
    for _ in range(ROUNDS):
        whole = timed(lambda: training.iterate(run, rollout, counts), 1) / (config.num_games * config.steps)
        play = timed(forward, config.steps) / config.num_games
        step = timed(learn, config.num_games * config.steps // config.minibatch) / config.minibatch
        bound = play + config.epochs * step
        seconds = {"end to end": whole, "bound": bound, "forward": play, "learning": step, "ratio": whole / bound}
        for name, value in seconds.items():
            measured[name].append(1 / value)
    return {name: statistics.median(values) for name, values in measured.items()}


# For bench.py: by name, what measures a preset.
MEASURES: dict[str, Callable[[str], dict[str, float]]] = {"training": training}


def main() -> None:
    for rules in sys.argv[1:] or ("auction", "oklahoma"):
        print(rules, json.dumps({name: round(value, 3) for name, value in training(rules).items()}), flush=True)


if __name__ == "__main__":
    main()
