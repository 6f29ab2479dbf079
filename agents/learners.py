"""The learners by name. In a file without torch, so that their options can be listed at once."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from agents import dmc_config, ppo_config
from agents.training_config import TrainingConfig

# The learner itself, with its ``train``, is the file of the same name.
CONFIGS: dict[str, type[TrainingConfig]] = {"ppo": ppo_config.Config, "dmc": dmc_config.Config}


def config_of(learner: str) -> type[TrainingConfig]:
    """The config of a learner. Raises ValueError for an unknown one."""
    if learner not in [*CONFIGS]:  # a file may name anything, also what cannot be a key
        raise ValueError(f"learner={learner!r} is not allowed; it is {' or '.join(CONFIGS)}")
    return CONFIGS[learner]


def read_config(path: Path) -> dict[str, Any]:
    """The config that a run was started with, its folder being where it lies now. Raises ValueError."""
    from agents import checkpoint  # torch takes seconds

    file = path / checkpoint.RESUME if path.is_dir() else path
    if not file.exists() and (path / checkpoint.MODEL).exists():
        raise ValueError(f"{path} is a finished agent and no run to go on with; --start {path} begins a run with it")
    header = checkpoint.read(file).header
    config = header["config"]
    strange = sorted(config.keys() - {field.name for field in fields(config_of(config["learner"]))})
    if strange:
        made = header["versions"]["pitch-env"]
        raise ValueError(f"{file} was made by another version ({made}), whose options {strange} this one does not have")
    return config | {"out": str(file.parent)}
