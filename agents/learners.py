"""The learners by name. In a file without torch, so that their options can be listed at once."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from agents import ppo_config
from agents.training_config import TrainingConfig

# The learner itself is the file of the same name.
CONFIGS: dict[str, type[TrainingConfig]] = {"ppo": ppo_config.Config}


def read_config(path: Path) -> dict[str, Any]:
    """The config that a run was started with, its folder being where it lies now. Raises ValueError."""
    from agents import checkpoint  # torch takes seconds

    file = path / checkpoint.RESUME if path.is_dir() else path
    header = checkpoint.read(file).header
    strange = sorted(header["config"].keys() - {field.name for field in fields(CONFIGS["ppo"])})
    if strange:
        made = header["versions"]["pitch-env"]
        raise ValueError(f"{file} was made by another version ({made}), whose options {strange} this one does not have")
    return header["config"] | {"out": str(file.parent)}
