"""What an agent is, and how to get one by name."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

SHIPPED = Path(__file__).parent.parent / "checkpoints"  # in a copy of the repository


@runtime_checkable
class Agent(Protocol):
    """Anything that chooses actions for a batch of situations."""

    name: str

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose an action for each row.

        Args:
            observation: uint8 or float32 [N, D], what the seat to act sees; its first part tells the rules.
            mask: bool or int8 [N, 71], what it may do.
            rng: the chance of agents that need some.

        Returns:
            int64 [N], the ids of legal actions.
        """
        ...


def load(agent: str | Path) -> Agent:
    """An agent by the name of a baseline, a search (search.py) or a shipped checkpoint, or from a checkpoint's path.

    Raises:
        ValueError: neither; names what there is.
    """
    from agents import exported

    if exported.is_exported(Path(agent)):
        return exported.load(agent)
    from agents.baselines import BASELINES

    if isinstance(agent, str) and agent.partition(":")[0] == "search":
        from agents.search import search_agent

        return search_agent(agent)
    makers: dict[str, Callable[[], Agent]] = dict(BASELINES)
    if isinstance(agent, str) and agent in makers:
        return makers[agent]()
    shipped = sorted(folder.name for folder in SHIPPED.glob("*") if folder.is_dir())
    path = SHIPPED / agent if isinstance(agent, str) and agent in shipped else Path(agent)
    if path.exists():
        from agents.checkpoint import load_agent  # torch is needed for networks only

        return load_agent(path)
    known = ", ".join([*makers, "search", *shipped])
    raise ValueError(
        f"no agent {str(agent)!r}; it is the path of a checkpoint or of an exported policy, or one of {known}"
    )


def load_all(names: list[str]) -> list[Agent]:
    """Several agents; what is named more than once gets a name of its own each time, ``expert#2``."""
    agents = [load(name) for name in names]
    for index, agent in enumerate(agents):
        if any(agent.name == other.name for other in agents[:index]):
            agent.name = f"{agent.name}#{index + 1}"
    return agents
