"""What several tests of trainers need: a tiny run, how to stop and go on with one, and how to compare two."""

from pathlib import Path

import torch

from agents import checkpoint, dmc, training
from agents.ppo import Config, Run
from agents.rollout import DealCounts, Rollout
from agents.training_config import TrainingConfig
from agents.training_run import TrainingRun

SMALL = Config(
    total_decisions=40_000, num_games=64, steps=16, minibatch=512, width=32, evaluate_deals=20, final_deals=50,
    evaluate_seconds=1000, bfloat16=False,
)  # fmt: skip
UPDATE = SMALL.num_games * SMALL.steps  # decisions of one


RUNS: dict[str, type[TrainingRun]] = {"ppo": Run, "dmc": dmc.Run}


def iterate(run: TrainingRun, times: int, rollout: Rollout | None = None) -> list[dict[str, float]]:
    """So many updates; what each measured."""
    rollout = rollout or run.rollout()
    return [training.iterate(run, rollout, DealCounts()) for _ in range(times)]


def whole_and_resumed(config: TrainingConfig, before: int, after: int) -> tuple[TrainingRun, TrainingRun]:
    """A run of so many updates in one go, and one that stopped between them, was saved, and went on as another."""
    whole, first, second = (RUNS[config.learner](config) for _ in range(3))
    iterate(whole, before + after)
    iterate(first, before)
    first.save(checkpoint.RESUME)
    second.restore(Path(config.out) / checkpoint.RESUME)
    iterate(second, after)
    return whole, second


def weights(run: TrainingRun) -> dict[str, torch.Tensor]:
    """A copy of the network's weights."""
    return {name: value.clone() for name, value in run.network.state_dict().items()}


def assert_same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    """Bit for bit."""
    assert one.keys() == other.keys()
    for name, value in one.items():
        torch.testing.assert_close(value, other[name], rtol=0, atol=0, equal_nan=True)
