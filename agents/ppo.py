"""Proximal policy optimisation by self-play: one network plays all the seats and learns from every one of them.

PPO is from Schulman et al. (2017), its details from Huang et al., "The 37 implementation details" (2022). What a card
game of several players changes: rewards and advantages belong to seats (agents/returns.py), decisions without a choice
are not decisions, and an update sees many thousand of them, since most of the noise is in the cards.
"""

import time
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from agents import checkpoint
from agents.agent import Agent, load
from agents.distributed import joined
from agents.evaluation import Match, duplicate_match, print_table, report, write_json
from agents.losses import (
    approximate_kl,
    clipped_policy_loss,
    divergence,
    entropy,
    explained_variance,
    log_policy,
)
from agents.networks import move_average
from agents.pool import Pool
from agents.ppo_config import Config
from agents.ppo_run import Run, free_folder
from agents.progress import progress_line, report_games, stop_on_signal, write_matches, write_scalars
from agents.returns import gae, rewards
from agents.rollout import DealCounts, Rollout, collect
from pitch_env.record import Record
from pitch_env.record import write as write_records
from pitch_env.state import Phase

__all__ = ["Config", "Run", "train"]

PASSING_UPDATES = 20  # so many without a bid are a collapse and no chance


@dataclass
class Decisions:
    """What an update learns from, a row for each of B decisions; see ``Rollout``."""

    observation: Tensor
    hands: Tensor
    mask: Tensor
    action: Tensor
    log_probability: Tensor
    advantage: Tensor
    target: Tensor  # of the critic
    bonus: Tensor  # the weight of the entropy

    def __getitem__(self, rows: Tensor) -> "Decisions":
        return Decisions(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


def prepare(run: Run, rollout: Rollout) -> Decisions:
    """The learner's own decisions of a rollout, with what they brought."""
    config = run.config
    change, value, actor, done, bootstrap = (
        getattr(rollout, name).cpu().numpy() for name in ("change", "value", "actor", "done", "bootstrap")
    )
    ahead = np.empty_like(value)
    reward = rewards(change, run.variants, config.reward == "win")
    gae(reward, value, actor, done, bootstrap, config.gamma, config.lam, ahead)
    advantage = torch.from_numpy(ahead).to(rollout.value.device)
    fade = 1 - (1 - config.entropy_final) * run.progress
    is_bid = rollout.phase.flatten() <= Phase.TRUMP
    decisions = Decisions(
        observation=rollout.observation.flatten(0, 1),
        hands=rollout.hands.flatten(0, 1),
        mask=rollout.mask.flatten(0, 1),
        action=rollout.action.flatten(),
        log_probability=rollout.log_probability.flatten(),
        advantage=advantage.flatten(),
        target=(advantage + rollout.value).flatten(),
        bonus=torch.where(is_bid, config.entropy_bids, config.entropy_cards) * fade,
    )
    return decisions if rollout.own.all() else decisions[rollout.own.flatten()]


def losses(run: Run, batch: Decisions) -> dict[str, Tensor]:
    """The loss of a minibatch, and beside it all that is worth knowing of it."""
    config = run.config
    with autocast(config):
        logits, value = run.network(batch.observation)
    log_probability = log_policy(logits, batch.mask)
    log_ratio = log_probability.gather(-1, batch.action.unsqueeze(-1)).squeeze(-1) - batch.log_probability
    gain = (batch.advantage - batch.advantage.mean()) / (batch.advantage.std() + 1e-8)
    spread = entropy(log_probability)
    policy_loss = clipped_policy_loss(log_ratio, gain, config.clip).mean()
    value_loss = (value - batch.target).square().mean()
    measured = {
        "loss": policy_loss + config.value_weight * value_loss - (batch.bonus * spread).mean(),
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "entropy": spread.mean(),
        "kl": approximate_kl(log_ratio.detach()),
        "clipped": (log_ratio.detach().exp() - 1).abs().gt(config.clip).float().mean(),
    }
    if run.critic is not None:
        with autocast(config):
            measured["critic_loss"] = (run.critic(batch.observation, batch.hands) - batch.target).square().mean()
        measured["loss"] = measured["loss"] + config.value_weight * measured["critic_loss"]
    if run.reference is not None:
        with torch.no_grad(), autocast(config):
            reference = log_policy(run.reference(batch.observation)[0], batch.mask)
        measured["reference_kl"] = divergence(log_probability, reference).mean()
        measured["loss"] = measured["loss"] + config.reference_weight * measured["reference_kl"]
    return measured


def update(run: Run, rollout: Rollout) -> dict[str, float]:
    """Improve the network on a rollout; returns means of what was measured."""
    config, decisions = run.config, prepare(run, rollout)
    for group in run.optimizer.param_groups:
        group["lr"] = config.learning_rate * (1 - 0.95 * run.progress)
    number = run.ranks.least(len(decisions.action))  # every rank takes as many steps
    seen = []
    for _ in range(config.epochs):
        order = torch.randperm(len(decisions.action), generator=run.generator, device=run.generator.device)
        for rows in order[:number].split(config.minibatch):
            measured = losses(run, decisions[rows])
            run.optimizer.zero_grad()
            measured["loss"].backward()
            mean_loss = measured["loss"].detach().clone()
            run.ranks.average([mean_loss, *(each.grad for each in run.parameters() if each.grad is not None)])
            check_loss(mean_loss.item(), config)
            norm = torch.nn.utils.clip_grad_norm_(run.parameters(), config.max_grad_norm)
            run.optimizer.step()
            seen.append({name: value.item() for name, value in measured.items()} | {"gradient_norm": norm.item()})
    if run.reference is not None:
        move_average(run.reference, run.network, config.reference_decay)
    means = {name: sum(each[name] for each in seen) / len(seen) for name in seen[0]}
    return means | {"explained_variance": explained_variance(decisions.target - decisions.advantage, decisions.target)}


def check_loss(loss: float, config: Config) -> None:
    """Raises FloatingPointError for a loss that is no number or has exploded, before it spoils the weights."""
    limit = config.loss_limit
    if not abs(loss) <= limit:
        raise FloatingPointError(
            f"the loss is {loss:.4g}, beyond loss_limit={limit:g}; a smaller learning_rate may help"
        )


def check_bids(run: Run, pass_rate: float) -> None:
    """Raises FloatingPointError when for many updates on end all have passed who could, from which none comes back."""
    run.passing = run.passing + 1 if pass_rate > run.config.pass_limit else 0
    if run.passing >= PASSING_UPDATES:
        raise FloatingPointError(
            f"bidding has collapsed: {pass_rate:.2%} of the calls were passes in the last {run.passing} updates; "
            "a larger entropy_bids may help, and pass_limit=1 lets it go on"
        )


def autocast(config: Config) -> torch.autocast:
    """The context of all that the network computes."""
    return torch.autocast(torch.device(config.device).type, torch.bfloat16, enabled=in_bfloat16(config))


def in_bfloat16(config: Config) -> bool:
    """Whether matrix products are computed in bfloat16: as the config says, or where the processor is made for it."""
    if config.bfloat16 is not None:
        return config.bfloat16
    gpu = config.device.startswith("cuda")
    return torch.cuda.is_bf16_supported() if gpu else torch.ops.mkldnn._is_mkldnn_bf16_supported()


def iterate(run: Run, rollout: Rollout, counts: DealCounts) -> dict[str, float]:
    """Play a batch and learn from it; returns what was measured."""
    started = time.perf_counter()
    with autocast(run.config):
        collect(
            run.batch, run.sorter, run.network, rollout, run.generator, counts,
            opponents=run.opponents, critic=run.critic, win=run.config.reward == "win",
        )  # fmt: skip
    measured = update(run, rollout)
    if isinstance(run.opponents, Pool):
        run.opponents.after_update(run.agent())
        measured["pool_size"] = len(run.opponents.kept)
    took = time.perf_counter() - started
    learned, passes, seconds = run.ranks.total(
        float(rollout.own.sum()), counts.pass_rate, took if run.ranks.first else 0.0
    )
    run.decisions += int(learned)
    run.seconds += seconds
    return measured | {"pass_rate": passes / run.ranks.world, "decisions_per_second": learned / seconds}


def train(config: Config, resume: Path | None = None) -> list[Match]:
    """Train, save, and play the final duplicate match.

    Args:
        config: the run.
        resume: a ``resume.safetensors``, or the folder of a run, to go on from.

    Returns:
        The final matches against the baselines, or the agent that the config names; none when the run was stopped.

    Raises:
        ValueError: ``resume`` cannot be gone on from.
        FloatingPointError: the loss has exploded, or all pass always; the state is saved beside the last checkpoint.
        OSError: a checkpoint cannot be written; the last one stays.
    """
    with joined(config.device) as ranks:
        if resume is None:
            config = replace(config, out=str(free_folder(Path(config.out))))
        run = Run(config, ranks)
        if resume is not None:
            run.restore(resume / checkpoint.RESUME if resume.is_dir() else resume)
        baselines = [load(name) for name in ([config.against] if config.against else ("random", "greedy", "expert"))]
        if not ranks.first:
            learn(run, None, baselines)
            return []
        return lead(run, baselines)


def lead(run: Run, baselines: list[Agent]) -> list[Match]:
    """What the first rank does: tell, write, learn, and at the end play."""
    from torch.utils.tensorboard import SummaryWriter

    config, out = run.config, Path(run.config.out)
    out.mkdir(parents=True, exist_ok=True)
    checkpoint.remove_leftovers(out)
    number = "bfloat16" if in_bfloat16(config) else "float32"
    names = ", ".join(config.variants())
    print(f"learning {names} for {config.total_decisions:,} decisions in {number} into {out}", flush=True)
    with SummaryWriter(str(out), purge_step=run.decisions + 1) as board:
        if not learn(run, board, baselines):
            print(f"stopped; go on with --resume {out}", flush=True)
            return []
    run.save(checkpoint.MODEL)
    return final_match(run, baselines)


def learn(run: Run, board: Any, baselines: list[Agent]) -> bool:
    """Go on to the end of the run, with checkpoints and matches on the way; returns whether it came to its end.

    ``board`` is TensorBoard's writer, None for all ranks but the first.
    """
    config = run.config
    rollout, counts = run.rollout(), DealCounts()
    evaluated_at = -config.evaluate_seconds
    with stop_on_signal() as stopped:
        while run.progress < 1 and not sum(run.ranks.total(stopped())):
            try:
                measured = iterate(run, rollout, counts)
                check_bids(run, measured["pass_rate"])
            except FloatingPointError as error:
                run.save(checkpoint.FAILED)
                raise FloatingPointError(f"{error}; what led to it is in {config.out}/{checkpoint.FAILED}") from None
            if board is not None:
                write_scalars(board, run, measured, counts)
            counts.clear()
            if run.seconds - evaluated_at >= config.evaluate_seconds or run.progress == 1:
                run.save(checkpoint.RESUME)
                evaluated_at = run.seconds
                if board is not None:
                    evaluate(run, measured, baselines, board)
        run.save(checkpoint.RESUME)
    return run.progress == 1


def evaluate(run: Run, measured: dict[str, float], baselines: list[Agent], board: Any) -> None:
    """Play the baselines, and tell how the run is going."""
    agent, deals = run.agent(), run.config.evaluate_deals
    matches = play(run, agent, baselines, deals)
    write_matches(board, run, matches)
    print(progress_line(run, measured, matches), flush=True)
    report_games(run, agent, baselines, max(2, deals // 10), board)


def play(
    run: Run, agent: Agent, opponents: list[Agent], deals: int, seed: int = 0, records: list[Record] | None = None
) -> dict[str, list[Match]]:
    """Duplicate matches against each opponent, by the name of the variant; see ``duplicate_match``."""
    variants = run.config.variants()
    return {
        name: [duplicate_match(rules, agent, each, deals, seed, records) for each in opponents]
        for name, rules in variants.items()
    }


def final_match(run: Run, baselines: list[Agent]) -> list[Match]:
    """The duplicate matches at the end, printed and written to ``evaluation.json``."""
    config, agent = run.config, checkpoint.load_agent(Path(run.config.out))
    records: list[Record] | None = [] if config.record else None
    matches = play(run, agent, baselines, config.final_deals, config.seed, records)
    if records is not None:
        write_records(Path(config.out) / "records.jsonl", records)
    won = report_games(run, agent, baselines, max(2, config.final_deals // 10))
    spent: dict[str, Any] = {"decisions": run.decisions, "seconds": round(run.seconds, 1)}
    reports = {}
    for (name, played), rules in zip(matches.items(), run.variants, strict=True):
        after = f"after {run.decisions:,} decisions in {run.seconds / 60:.1f} minutes"
        print_table(played, f"{name}: points per deal {after}")
        reports[name] = report(rules, played, config.seed, [agent, *baselines]) | spent
        if name in won:
            reports[name]["games_won"] = won[name]
    content = {"variants": reports} if len(reports) > 1 else next(iter(reports.values()))
    write_json(Path(config.out) / "evaluation.json", content)
    return [match for played in matches.values() for match in played]
