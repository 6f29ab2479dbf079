"""Several processes, ranks, that train one network together: started by torchrun; without it there is one alone.

Every rank plays games of its own, their gradients are averaged, and so all have the same weights at any time. What one
rank must not decide alone, as when to stop, is agreed on with the few numbers below.
"""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor, distributed


@dataclass(frozen=True)
class Ranks:
    """Which of how many processes this is. The methods are to be called by all of them at the same time."""

    rank: int = 0
    world: int = 1
    device: str = "cpu"

    @property
    def first(self) -> bool:
        """Whether this is the one that writes, prints and evaluates."""
        return self.rank == 0

    def average(self, tensors: list[Tensor]) -> None:
        """Put the mean over the ranks into tensors, in place."""
        if self.world > 1:
            flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
            _call(distributed.all_reduce, flat)
            parts = (flat / self.world).split([tensor.numel() for tensor in tensors])
            for tensor, part in zip(tensors, parts, strict=True):
                tensor.copy_(part.view_as(tensor))

    def total(self, *numbers: float) -> list[float]:
        """The sums of numbers over the ranks."""
        if self.world == 1:
            return list(numbers)
        sums = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        _call(distributed.all_reduce, sums)
        return sums.tolist()

    def least(self, number: int) -> int:
        """The smallest of a number over the ranks."""
        if self.world == 1:
            return number
        least = torch.tensor(number, device=self.device)
        _call(distributed.all_reduce, least, distributed.ReduceOp.MIN)
        return int(least)

    def gather(self, tensors: dict[str, Tensor]) -> list[dict[str, Tensor]]:
        """What every rank has, by rank, for the first; nothing for the others."""
        if self.world == 1:
            return [tensors]
        found: list[Any] | None = [None] * self.world if self.first else None
        _call(distributed.gather_object, tensors, found)
        return found or []


def _call(collective: Callable, *arguments: Any) -> None:
    try:
        collective(*arguments)
    except RuntimeError as error:
        raise ConnectionError(f"another rank of this run has ended, so this one does too ({error})") from None


@contextmanager
def joined(device: str) -> Iterator[Ranks]:
    """Within it this process belongs to the ranks that torchrun has started; gloo joins CPUs, NCCL GPUs.

    Raises:
        ValueError: there is no such device.
        ConnectionError: another rank has ended.
    """
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if device.startswith("cuda"):
        if not torch.cuda.is_available():
            raise ValueError(f"device={device!r} is not allowed; PyTorch finds no GPU here, so it is cpu")
        device = f"cuda:{os.environ['LOCAL_RANK']}" if world > 1 else device
        torch.cuda.set_device(device)
    if world == 1:
        yield Ranks(device=device)
        return
    # The others wait while the first plays its matches, which may take hours. That a rank has died is seen at once.
    distributed.init_process_group("nccl" if device.startswith("cuda") else "gloo", timeout=timedelta(days=2))
    try:
        yield Ranks(distributed.get_rank(), world, device)
    finally:
        distributed.destroy_process_group()
        # Its threads end with the last thing that refers to it. One that still holds a tensor when Python ends aborts
        # the process, and torchrun then kills all the others.
        gc.collect()
