"""Proximal policy optimisation by self-play: one network plays all the seats and learns from every one of them.

PPO is from Schulman et al. (2017), its details from Huang et al., "The 37 implementation details" (2022). What a card
game of several players changes: rewards and advantages belong to seats (agents/returns.py), decisions without a choice
are not decisions, and an update sees many thousand of them, since most of the noise is in the cards.
"""

import itertools
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from agents import checkpoint
from agents.agent import load
from agents.evaluation import Match, duplicate_match, print_table, report, write_json
from agents.losses import approximate_kl, clipped_policy_loss, entropy, explained_variance, log_policy
from agents.networks import PolicyValueNetwork
from agents.ppo_config import Config
from agents.returns import gae, relative
from agents.rollout import DealCounts, Rollout, collect
from agents.suits import SuitSorter
from pitch_env import VectorGame
from pitch_env.actions import PASS, action_text
from pitch_env.observation import highs
from pitch_env.state import Phase


class Run:
    """All that changes while training goes on, and its way into a checkpoint and back."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.rules = config.make_rules()
        torch.manual_seed(config.seed)
        self.generator = torch.Generator().manual_seed(config.seed)
        self.batch = VectorGame(self.rules, config.num_games, seed=config.seed, deals=1, skip_forced=True)
        self.sorter = SuitSorter(self.rules)
        self.network = PolicyValueNetwork(highs(self.rules), config.width, config.depth)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=config.learning_rate, eps=1e-5, fused=True)
        self.decisions = 0
        self.seconds = 0.0

    @property
    def progress(self) -> float:
        """The share of the run that is done, 0 to 1."""
        return min(1.0, self.decisions / self.config.total_decisions)

    def save(self, name: str) -> None:
        """Write ``model.safetensors`` or ``resume.safetensors`` into the run's folder."""
        network = {"width": self.config.width, "depth": self.config.depth}
        header = checkpoint.header_for(self.rules, network, asdict(self.config))
        header |= {"decisions": self.decisions, "seconds": round(self.seconds, 1)}
        tensors = {f"network.{key}": value for key, value in self.network.state_dict().items()}
        if name == checkpoint.RESUME:
            for index, state in self.optimizer.state_dict()["state"].items():
                tensors |= {f"optimizer.{index}.{key}": value for key, value in state.items()}
            tensors["generator"] = self.generator.get_state()
            tensors["games"] = torch.from_numpy(np.frombuffer(self.batch.states.tobytes(), np.uint8).copy())
        path = Path(self.config.out) / name
        checkpoint.write(path, tensors, header)
        if name == checkpoint.MODEL:
            write_json(path.with_suffix(".json"), header)  # the same for people to read

    def restore(self, path: Path) -> None:
        """Go on where ``resume.safetensors`` was written. Raises ValueError where the config does not fit it."""
        saved = checkpoint.read(path)
        if saved.header["rules"] != self.rules.to_dict():
            raise ValueError(f"{path} was trained with other rules than this config names")
        checkpoint.build_network(saved.header, path)
        if "games" not in saved.tensors:
            raise ValueError(f"{path} is an agent, not a run to go on with; that is {checkpoint.RESUME}")
        if saved.tensors["games"].numel() != self.batch.states.nbytes:
            raise ValueError(f"{path} was trained with another num_games; it is {saved.header['config']['num_games']}")
        try:
            self.network.load_state_dict(saved.part("network"))
        except RuntimeError:
            raise ValueError(f"{path} holds a network of another shape: {saved.header['network']}") from None
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in saved.part("optimizer").items():
            index, _, name = key.partition(".")
            state.setdefault(int(index), {})[name] = value
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": state})
        self.generator.set_state(saved.tensors["generator"])
        self.batch.states[:] = np.frombuffer(saved.tensors["games"].numpy().tobytes(), self.batch.states.dtype)
        self.batch.refresh()
        self.decisions, self.seconds = saved.header["decisions"], saved.header["seconds"]


def read_config(path: Path) -> dict[str, Any]:
    """The config that a run was started with, its folder being where it lies now. Raises ValueError."""
    file = path / checkpoint.RESUME if path.is_dir() else path
    return checkpoint.read(file).header["config"] | {"out": str(file.parent)}


def free_folder(path: Path) -> Path:
    """The path, or with the first number behind it that makes it one in which there is no run yet."""
    numbered = (path.with_name(f"{path.name}-{number}") for number in itertools.count(2))
    return next(each for each in itertools.chain([path], numbered) if not (each / checkpoint.RESUME).exists())


def update(run: Run, rollout: Rollout) -> dict[str, float]:
    """Improve the network on a rollout; returns means of what was measured."""
    config = run.config
    advantage = torch.empty_like(rollout.value)
    reward = relative(rollout.change.numpy(), run.rules) / run.rules.max_points
    gae(
        reward.astype(np.float32), rollout.value.numpy(), rollout.actor.numpy(), rollout.done.numpy(),
        rollout.bootstrap.numpy(), config.gamma, config.lam, advantage.numpy(),
    )  # fmt: skip
    target = (advantage + rollout.value).flatten()
    advantage = advantage.flatten()
    observation, mask = rollout.observation.flatten(0, 1), rollout.mask.flatten(0, 1)
    action, old = rollout.action.flatten(), rollout.log_probability.flatten()
    fade = 1 - 0.9 * run.progress
    is_bid = rollout.phase.flatten() <= Phase.TRUMP
    bonus = torch.where(is_bid, config.bid_entropy, config.card_entropy) * fade
    for group in run.optimizer.param_groups:
        group["lr"] = config.learning_rate * (1 - 0.95 * run.progress)

    sums = dict.fromkeys(("loss", "policy_loss", "value_loss", "entropy", "kl", "clipped", "gradient_norm"), 0.0)
    count = 0
    for _ in range(config.epochs):
        for rows in torch.randperm(len(action), generator=run.generator).split(config.minibatch):
            with autocast(config):
                logits, value = run.network(observation[rows])
            log_probability = log_policy(logits, mask[rows])
            log_ratio = log_probability.gather(-1, action[rows].unsqueeze(-1)).squeeze(-1) - old[rows]
            gain = advantage[rows]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            spread = entropy(log_probability)
            policy_loss = clipped_policy_loss(log_ratio, gain, config.clip).mean()
            value_loss = (value - target[rows]).square().mean()
            loss = policy_loss + config.value_weight * value_loss - (bonus[rows] * spread).mean()
            run.optimizer.zero_grad()
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(run.network.parameters(), config.max_grad_norm)
            run.optimizer.step()
            with torch.no_grad():
                clipped = (log_ratio.exp() - 1).abs().gt(config.clip).float().mean()
                seen = (loss, policy_loss, value_loss, spread.mean(), approximate_kl(log_ratio), clipped, norm)
            for name, value_seen in zip(sums, seen, strict=True):
                sums[name] += float(value_seen.detach())
            count += 1
    if not np.isfinite(sums["loss"]):
        raise FloatingPointError(f"the loss is {sums['loss']}; a smaller learning_rate may help")
    measured = {name: total / count for name, total in sums.items()}
    return measured | {"explained_variance": explained_variance(rollout.value.flatten(), target)}


def autocast(config: Config) -> torch.autocast:
    """The context of all that the network computes."""
    return torch.autocast("cpu", torch.bfloat16, enabled=in_bfloat16(config))


def in_bfloat16(config: Config) -> bool:
    """Whether matrix products are computed in bfloat16: as the config says, or where the processor is made for it."""
    return torch.ops.mkldnn._is_mkldnn_bf16_supported() if config.bfloat16 is None else config.bfloat16


def iterate(run: Run, rollout: Rollout, counts: DealCounts) -> dict[str, float]:
    """Play a batch and learn from it; returns what was measured."""
    started = time.perf_counter()
    with autocast(run.config):
        collect(run.batch, run.sorter, run.network, rollout, run.generator, counts)
    measured = update(run, rollout)
    run.decisions += rollout.action.numel()
    took = time.perf_counter() - started
    run.seconds += took
    return measured | {"decisions_per_second": rollout.action.numel() / took}


def train(config: Config, resume: Path | None = None) -> list[Match]:
    """Train, save, and play the final duplicate match.

    Args:
        config: the run.
        resume: a ``resume.safetensors``, or the folder of a run, to go on from.

    Returns:
        The final matches against the baselines; none when the run was stopped before its end.

    Raises:
        ValueError: ``resume`` cannot be gone on from.
        FloatingPointError: the loss is not a number any more; the last checkpoint stays.
    """
    from torch.utils.tensorboard import SummaryWriter

    if resume is None:
        config = replace(config, out=str(free_folder(Path(config.out))))
    run = Run(config)
    if resume is not None:
        run.restore(resume / checkpoint.RESUME if resume.is_dir() else resume)
    out = Path(config.out)
    out.mkdir(parents=True, exist_ok=True)
    number = "bfloat16" if in_bfloat16(config) else "float32"
    print(f"learning {config.rules} for {config.total_decisions:,} decisions in {number} into {out}", flush=True)
    baselines = [load(name) for name in ("random", "greedy", "expert")]
    rollout = Rollout.like(run.batch, config.steps)
    counts = DealCounts()
    agent = as_agent(run)
    evaluated_at = -config.evaluate_seconds
    with SummaryWriter(str(out)) as board, stop_on_signal() as stopped:
        while run.decisions < config.total_decisions and not stopped():
            measured = iterate(run, rollout, counts)
            write_scalars(board, run, measured, counts)
            if run.seconds - evaluated_at >= config.evaluate_seconds or run.progress == 1:
                evaluated_at = run.seconds
                matches = [duplicate_match(run.rules, agent, each, config.evaluate_deals) for each in baselines]
                for match in matches:
                    board.add_scalar(f"points_per_deal/{match.opponent}", match.mean, run.decisions)
                print(progress_line(run, measured, matches), flush=True)
                run.save(checkpoint.RESUME)
        run.save(checkpoint.RESUME)
        if run.decisions < config.total_decisions:
            print(f"stopped; go on with --resume {out}", flush=True)
            return []
    run.save(checkpoint.MODEL)
    return final_match(run, baselines)


def as_agent(run: Run) -> checkpoint.NetworkAgent:
    """The network as it is now, playing its most probable actions."""
    return checkpoint.NetworkAgent(run.rules, run.network, "ppo")


def write_scalars(board: Any, run: Run, measured: dict[str, float], counts: DealCounts) -> None:
    """TensorBoard's scalars of one update."""
    for name, value in measured.items():
        board.add_scalar(f"train/{name}", value, run.decisions)
    deals = max(1, counts.bids.sum())
    for call in np.flatnonzero(counts.bids):
        name = action_text(int(PASS + call)) if call else "thrown_in"
        board.add_scalar(f"bids/{name}", counts.bids[call] / deals, run.decisions)
        if call:
            board.add_scalar(f"made/{name}", counts.made[call] / counts.bids[call], run.decisions)
    counts.clear()


def progress_line(run: Run, measured: dict[str, float], matches: list[Match]) -> str:
    """How the run is going, in one line."""
    rate = measured["decisions_per_second"]
    left = max(0, int(run.seconds * (run.config.total_decisions / run.decisions - 1)))
    scores = "  ".join(f"{match.opponent} {match.mean:+.2f}" for match in matches)
    return (
        f"{run.progress:4.0%}  {run.decisions / 1e6:.1f}M decisions  {rate:,.0f}/s  {left // 60}:{left % 60:02d} left  "
        f"loss {measured['loss']:+.3f}  entropy {measured['entropy']:.2f}  points per deal: {scores}"
    )


def final_match(run: Run, baselines: list) -> list[Match]:
    """The duplicate match at the end, printed and written to ``evaluation.json``."""
    agent = checkpoint.load_agent(Path(run.config.out))
    matches = [duplicate_match(run.rules, agent, each, run.config.final_deals, run.config.seed) for each in baselines]
    print_table(matches, f"points per deal after {run.decisions:,} decisions in {run.seconds / 60:.1f} minutes")
    content = report(run.rules, matches, run.config.seed, [agent, *baselines])
    content |= {"decisions": run.decisions, "seconds": round(run.seconds, 1)}
    write_json(Path(run.config.out) / "evaluation.json", content)
    return matches


class stop_on_signal:
    """Within it, Ctrl-C and SIGTERM do not interrupt but are remembered: ``with stop_on_signal() as stopped``."""

    def __enter__(self) -> Callable[[], bool]:
        self._seen = False
        self._before = {number: signal.signal(number, self._see) for number in (signal.SIGINT, signal.SIGTERM)}
        return lambda: self._seen

    def _see(self, number: int, frame: Any) -> None:
        self._seen = True
        signal.signal(number, self._before[signal.Signals(number)])  # a second one does interrupt

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
