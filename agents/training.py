"""What learners have in common: from a config to a run that plays, learns, tells, is evaluated, stops and goes on.

A learner is a ``TrainingRun`` of its own, with the networks and the ``update``, and gives it to ``complete``. What an
update needs of this file are ``descend`` and ``autocast``.
"""

import math
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from agents import checkpoint
from agents.agent import Agent, load, named_apart
from agents.distributed import Ranks, joined
from agents.evaluation import EVALUATION, Match, duplicate_match, print_table, report, write_json
from agents.pool import Pool
from agents.progress import (
    curves,
    progress_line,
    report_games,
    stop_on_signal,
    write_description,
    write_matches,
    write_scalars,
)
from agents.rollout import DealCounts, Rollout, collect
from agents.training_config import TrainingConfig
from agents.training_run import MARK, TrainingRun, claimed_folder, holds_run
from pitch_env.record import Record
from pitch_env.record import write as write_records
from pitch_env.state import NOBODY

PASSING_UPDATES = 20  # so many without a bid are a collapse and no chance

Config = TypeVar("Config", bound=TrainingConfig)


def complete(make: Callable[[Config, Ranks], TrainingRun], config: Config, resume: Path | None) -> list[Match]:
    """Train, save, and play the final duplicate match.

    Args:
        make: the learner's ``TrainingRun``.
        config: the run.
        resume: a ``resume.safetensors``, or the folder of a run, to go on from.

    Returns:
        The final matches against the baselines, or the agent that the config names; none when the run was stopped.

    Raises:
        ValueError: ``resume`` cannot be gone on from, or not be begun with what the config's ``start`` names.
        FloatingPointError: the loss has exploded, or all pass always; the state is saved beside the last checkpoint.
        OSError: a checkpoint cannot be written; the last one stays.
    """
    with joined(config.device) as ranks:
        if resume is not None:
            refuse_other_run(Path(config.out), resume)
        run = make(config, ranks)
        if resume is not None:
            run.restore(resume / checkpoint.RESUME if resume.is_dir() else resume)
        elif config.start:
            run.begin_with(config.start)
        baselines = [load(name) for name in ([config.against] if config.against else ("random", "greedy", "expert"))]
        if not ranks.first:
            learn(run, None, baselines)
            matches: list[Match] = []
        else:
            if resume is None:
                run.config = replace(config, out=str(claimed_folder(Path(config.out))))
            matches = lead(run, baselines)
        ranks.total(0)  # torchrun ends all when one has ended wrongly, so none leaves before all is written
        return matches


def refuse_other_run(out: Path, resume: Path) -> None:
    """Raises ValueError where a run would go on in the folder of another one, whose files it would replace."""
    own = resume if resume.is_dir() else resume.parent
    if holds_run(out) and out.resolve() != own.resolve():
        raise ValueError(
            f"out={str(out)!r} is not allowed; another run or agent is there, and {resume} goes on with out={own}"
        )


def lead(run: TrainingRun, baselines: list[Agent]) -> list[Match]:
    """What the first rank does: tell, write, learn, and at the end play."""
    config, out = run.config, Path(run.config.out)
    out.mkdir(parents=True, exist_ok=True)
    checkpoint.remove_leftovers(out)
    for ending in (".safetensors", ".json"):  # of a run that goes on now, from the same weights
        (out / checkpoint.MODEL).with_suffix(ending).unlink(missing_ok=True)
    number = "bfloat16" if in_bfloat16(config) else "float32"
    names = ", ".join(config.variants())
    ends = f"{config.minutes:g} minutes, at most " if config.minutes else ""
    print(f"learning {names} for {ends}{config.total_decisions:,} decisions in {number} into {out}", flush=True)
    with curves(out, run.decisions) as board:
        write_description(board, run, baselines)
        finished = learn(run, board, baselines)
    (out / MARK).unlink(missing_ok=True)  # there is a checkpoint now, by which others see the run
    if not finished:
        print(f"stopped; pitch train --resume {out} goes on", flush=True)
        return []
    run.save(checkpoint.MODEL)
    return final_match(run, baselines)


def learn(run: TrainingRun, board: Any, baselines: list[Agent]) -> bool:
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


def iterate(run: TrainingRun, rollout: Rollout, counts: DealCounts) -> dict[str, float]:
    """Play a batch and learn from it; returns what was measured."""
    started = time.perf_counter()
    with autocast(run.config):
        collect(
            run.batch, run.sorter, run.actor, rollout, run.generator, counts,
            opponents=run.opponents, critic=run.critic, win=run.config.reward == "win",
        )  # fmt: skip
    measured = run.update(rollout)
    check_policy(run, rollout)
    if isinstance(run.opponents, Pool):
        run.opponents.after_update(run.agent())
        measured["pool_size"] = len(run.opponents.kept)
        measured["pool_games"] = float((run.opponents.opponent != NOBODY).mean())
    took = time.perf_counter() - started
    learned, passes, seconds = run.ranks.total(
        float(rollout.own.sum()), counts.pass_rate, took if run.ranks.first else 0.0
    )
    run.decisions += int(learned)
    run.seconds += seconds
    return measured | {"pass_rate": passes / run.ranks.world, "decisions_per_second": learned / seconds}


def descend(run: TrainingRun, number: int, measure: Callable[[Tensor], dict[str, Tensor]]) -> dict[str, float]:
    """Go through a batch, each time in another order, and learn from it in minibatches, all of about the same size.

    Args:
        run: whose networks learn.
        number: decisions of the batch.
        measure: from rows of the batch, int64 [B], to what is measured there; "loss" of it is minimised.

    Returns:
        Means of what was measured, and of the gradient's norm; and the learning rate.

    Raises:
        FloatingPointError: the loss is no number or has exploded; the weights are as before that.
    """
    config = run.config
    rate = config.learning_rate * (1 - 0.95 * run.progress)
    for group in run.optimizer.param_groups:
        group["lr"] = rate
    least = run.ranks.least(number)  # every rank takes as many steps
    if least == 0:  # so few games and steps that none of the decisions was one to learn from
        return {"loss": 0.0}
    steps = -(-least // config.minibatch)
    seen = []
    for _ in range(config.epochs):
        order = torch.randperm(number, generator=run.generator, device=run.generator.device)
        for rows in order[:least].tensor_split(steps):  # evenly, for a last one of a few rows would be all noise
            measured = measure(rows)
            run.gradient.zero_()
            measured["loss"].backward()
            mean_loss = measured["loss"].detach().clone()
            run.ranks.average([mean_loss, run.gradient])
            check_loss(mean_loss.item(), config)
            norm = run.gradient.norm().item()
            if not math.isfinite(norm):
                raise FloatingPointError("the gradient is no number any more; a smaller learning_rate may help")
            if norm > config.max_grad_norm:
                run.gradient *= config.max_grad_norm / norm
            run.optimizer.step()
            seen.append({name: value.item() for name, value in measured.items()} | {"gradient_norm": norm})
    return {name: sum(each[name] for each in seen) / len(seen) for name in seen[0]} | {"learning_rate": rate}


def check_loss(loss: float, config: TrainingConfig) -> None:
    """Raises FloatingPointError for a loss that is no number or has exploded, before it spoils the weights."""
    limit = config.loss_limit
    if not abs(loss) <= limit:
        raise FloatingPointError(
            f"the loss is {loss:.4g}, beyond loss_limit={limit:g}; a smaller learning_rate may help"
        )


@torch.no_grad()
def check_policy(run: TrainingRun, rollout: Rollout) -> None:
    """Raises FloatingPointError when an update has spoilt the policy, before it is saved and before it plays."""
    mask = rollout.mask[-1, :64]
    with autocast(run.config):
        log_probability, value = run.network.decide(rollout.observation[-1, :64], mask)
    weighs_all = not run.network.stochastic or bool((log_probability[mask] > -1e8).all())  # illegal ones have -1e9
    spoilt = not weighs_all or not bool((value.abs() < 1e8).all())
    if sum(run.ranks.total(spoilt)):  # on any rank, for all of them save what led to it
        raise FloatingPointError("the network gives no policy any more; a smaller learning_rate may help")


def check_bids(run: TrainingRun, pass_rate: float) -> None:
    """Raises FloatingPointError when for many updates on end all have passed who could, from which none comes back."""
    run.passing = run.passing + 1 if pass_rate > run.config.pass_limit else 0
    if run.passing >= PASSING_UPDATES:
        raise FloatingPointError(
            f"bidding has collapsed: {pass_rate:.2%} of the calls were passes in the last {run.passing} updates; "
            f"a larger {run.exploring} may help, and pass_limit=1 lets it go on"
        )


def autocast(config: TrainingConfig) -> torch.autocast:
    """The context of all that the network computes."""
    return torch.autocast(torch.device(config.device).type, torch.bfloat16, enabled=in_bfloat16(config))


def in_bfloat16(config: TrainingConfig) -> bool:
    """Whether matrix products are computed in bfloat16: as the config says, or where the processor is made for it."""
    if config.bfloat16 is not None:
        return config.bfloat16
    gpu = config.device.startswith("cuda")
    return torch.cuda.is_bf16_supported() if gpu else torch.ops.mkldnn._is_mkldnn_bf16_supported()


def evaluate(run: TrainingRun, measured: dict[str, float], baselines: list[Agent], board: Any) -> None:
    """Play the baselines, and tell how the run is going."""
    agent, deals = run.agent(), run.config.evaluate_deals
    matches = play(run, agent, baselines, deals)
    write_matches(board, run, matches)
    print(progress_line(run, measured, matches), flush=True)
    report_games(run, agent, baselines, max(2, deals // 10), board)


def play(
    run: TrainingRun,
    agent: Agent,
    opponents: list[Agent],
    deals: int,
    seed: int = 0,
    records: list[Record] | None = None,
) -> dict[str, list[Match]]:
    """Duplicate matches against each opponent, by the name of the variant; see ``duplicate_match``."""
    variants = run.config.variants()
    return {
        name: [duplicate_match(rules, agent, each, deals, seed, records) for each in opponents]
        for name, rules in variants.items()
    }


def final_match(run: TrainingRun, baselines: list[Agent]) -> list[Match]:
    """The duplicate matches at the end, printed and written to ``evaluation.json``."""
    config = run.config
    *baselines, agent = named_apart([*baselines, checkpoint.load_agent(Path(config.out))])
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
    write_json(Path(config.out) / EVALUATION, content)
    return [match for played in matches.values() for match in played]
