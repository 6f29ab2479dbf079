"""A run that is stopped, killed, or cannot go on: nothing is lost but what came after the last checkpoint."""

import os
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from trainers import SMALL, UPDATE, assert_same, iterate, weights, whole_and_resumed

from agents import card, checkpoint, load, ppo, training
from agents.distributed import Ranks
from agents.evaluation import duplicate_match
from agents.learners import read_config
from agents.ppo import Run
from agents.training_run import claimed_folder
from pitch_env import Rules

ROOT = Path(__file__).parent.parent

VARIED: dict[str, dict] = {
    "default": {},
    "oklahoma, held to a moving average": dict(rules="oklahoma", reference_weight=0.1),
    "whole games": dict(deals=None, reward="win"),
    "pool": dict(pool_share=0.7, pool_every=1, pool_size=2),
    "a critic that sees all hands": dict(critic="all", rules="money"),
}


pytestmark = pytest.mark.usefixtures("one_torch_thread")


@pytest.mark.parametrize("name", VARIED)
def test_a_stopped_run_goes_on_as_if_it_had_not_been_stopped(name, tmp_path):
    config = replace(SMALL, out=str(tmp_path), **VARIED[name])
    whole, second = whole_and_resumed(config, 2, 2)
    assert second.decisions == whole.decisions
    whole.save("whole"), second.save("second")
    one, other = (checkpoint.read(tmp_path / name).tensors for name in ("whole", "second"))
    assert_same(one, other)  # not the weights only: games, optimiser, chance, averages


def test_a_run_stopped_by_a_signal_in_train_goes_on_exactly(tmp_path, monkeypatch):
    config = replace(SMALL, total_decisions=4 * UPDATE)
    ppo.train(replace(config, out=str(tmp_path / "whole")))
    plain, done = training.iterate, []

    def interrupted(*arguments):
        done.append(None)
        if len(done) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return plain(*arguments)

    monkeypatch.setattr(training, "iterate", interrupted)
    config = replace(config, out=str(tmp_path / "stopped"))
    assert ppo.train(config) == []
    assert checkpoint.read(tmp_path / "stopped" / checkpoint.RESUME).header["decisions"] == 2 * UPDATE
    ppo.train(config, resume=tmp_path / "stopped")
    one, other = (checkpoint.read(tmp_path / name / checkpoint.MODEL).tensors for name in ("whole", "stopped"))
    assert_same(one, other)


def test_a_killed_run_leaves_a_whole_checkpoint(tmp_path):
    arguments = ["--out", str(tmp_path), "--num-games", "64", "--steps", "4", "--minibatch", "256", "--width", "32"]
    arguments += ["--evaluate-seconds", "0", "--evaluate-deals", "2", "--bfloat16", "false"]
    process = subprocess.Popen([sys.executable, str(ROOT / "train.py"), *arguments], stdout=subprocess.PIPE, text=True)
    seen: list[int] = []
    while len(seen) < 30:  # at least so many checkpoints, one over another
        assert process.poll() is None
        if (tmp_path / checkpoint.RESUME).exists():
            seen.append(checkpoint.read(tmp_path / checkpoint.RESUME).header["decisions"])
        time.sleep(0.01)
    process.kill()
    process.communicate()
    last = checkpoint.read(tmp_path / checkpoint.RESUME).header["decisions"]
    assert seen == sorted(seen)
    assert last >= seen[-1]
    (tmp_path / f".{checkpoint.RESUME}.x1y2").write_bytes(b"half")
    config = ppo.Config(**read_config(tmp_path) | dict(total_decisions=last + 500, final_deals=2))
    ppo.train(config, resume=tmp_path)
    assert checkpoint.read(tmp_path / checkpoint.MODEL).header["decisions"] >= last + 500
    assert not list(tmp_path.glob(".*"))


def test_a_full_disk_is_a_clear_error_and_the_last_checkpoint_stays(tmp_path):
    run = Run(replace(SMALL, out=str(tmp_path)))
    run.save(checkpoint.RESUME)
    before = (tmp_path / checkpoint.RESUME).read_bytes()
    iterate(run, 1)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, limit[1]))  # as if the disk were full there
    try:
        with pytest.raises(OSError, match=r"resume.safetensors could not be written: File too large"):
            run.save(checkpoint.RESUME)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert [file.name for file in tmp_path.iterdir()] == [checkpoint.RESUME]
    assert (tmp_path / checkpoint.RESUME).read_bytes() == before


def test_a_loss_that_explodes_stops_the_run_with_its_state(tmp_path, monkeypatch):
    config = replace(SMALL, total_decisions=10 * UPDATE, evaluate_seconds=0, evaluate_deals=2, out=str(tmp_path))
    plain, good = training.iterate, []

    def spoiled(run, *arguments):
        if len(good) == 2:
            with torch.no_grad():
                run.network.value.bias.fill_(1000.0)
        good.append(weights(run))
        return plain(run, *arguments)

    monkeypatch.setattr(training, "iterate", spoiled)
    with pytest.raises(FloatingPointError, match=r"beyond loss_limit=100; a smaller.*failed\.safetensors"):
        ppo.train(config)
    assert_same(checkpoint.read(tmp_path / checkpoint.FAILED).part("network"), good[-1])
    saved = checkpoint.read(tmp_path / checkpoint.RESUME)
    assert saved.header["decisions"] == 2 * UPDATE
    assert (saved.tensors["network.value.bias"] < 10).all()


def test_a_gradient_without_end_stops_the_run_before_it_is_taken(monkeypatch):
    run = Run(SMALL)
    before = {key: value.clone() for key, value in weights(run).items()}

    def spoiled(ranks, tensors):
        run.gradient[0] = torch.inf

    monkeypatch.setattr(Ranks, "average", spoiled)
    with pytest.raises(FloatingPointError, match="gradient is no number any more; a smaller learning_rate"):
        iterate(run, 1)
    assert_same(weights(run), before)


@pytest.mark.parametrize("rate", [1e9, 1e30])
def test_a_step_that_spoils_the_policy_is_not_saved_as_the_run(rate, tmp_path):
    out = tmp_path / "run"
    config = replace(SMALL, minibatch=UPDATE, epochs=1, evaluate_seconds=0, evaluate_deals=2, out=str(out))
    ppo.train(replace(config, total_decisions=UPDATE, final_deals=2))
    good = (out / checkpoint.RESUME).read_bytes()
    with pytest.raises(FloatingPointError, match=r"smaller learning_rate.*failed\.safetensors"):
        ppo.train(replace(config, learning_rate=rate), resume=out)
    assert (out / checkpoint.RESUME).read_bytes() == good
    assert (out / checkpoint.FAILED).exists()


def test_a_run_does_not_go_on_in_the_folder_of_another(tmp_path):
    one, other = (replace(SMALL, total_decisions=UPDATE, final_deals=2, out=str(tmp_path / name)) for name in "ab")
    for config in (one, other):
        ppo.train(config)
    before = {file: file.read_bytes() for file in sorted((tmp_path / "a").iterdir())}
    more = replace(one, total_decisions=2 * UPDATE)
    with pytest.raises(
        ValueError, match=r"out='.*a' is not allowed; another run or agent is there, and .*b goes on with out=.*b"
    ):
        ppo.train(more, resume=tmp_path / "b")
    assert {file: file.read_bytes() for file in sorted((tmp_path / "a").iterdir())} == before
    ppo.train(replace(more, out=str(tmp_path / "c")), resume=tmp_path / "b")  # a new folder may be
    assert checkpoint.read(tmp_path / "c" / checkpoint.MODEL).header["decisions"] >= 2 * UPDATE


def test_a_finished_agent_is_not_taken_for_that_of_the_run_which_goes_on_from_it(tmp_path, monkeypatch):
    out = tmp_path / "run"
    config = replace(SMALL, evaluate_seconds=0, evaluate_deals=2, final_deals=2, out=str(out))
    ppo.train(replace(config, total_decisions=UPDATE))
    first = load(out)

    class Killed(BaseException):
        pass

    def evaluate(*arguments):  # after there was a checkpoint
        raise Killed

    monkeypatch.setattr(training, "evaluate", evaluate)
    with pytest.raises(Killed):
        ppo.train(replace(config, total_decisions=100 * UPDATE), resume=out)
    assert load(out).spent["decisions"] > first.spent["decisions"]
    assert load(out).fingerprint != first.fingerprint
    assert not (out / "model.json").exists()  # which tells of the finished one
    with pytest.raises(ValueError, match="not finished"):
        card.make(out, tmp_path / "card", card.Measures())


def test_no_run_begins_or_goes_on_in_the_folder_of_a_shipped_agent(tmp_path):
    shipped = tmp_path / "agent"
    Run(replace(SMALL, out=str(shipped))).save(checkpoint.MODEL)
    before = (shipped / checkpoint.MODEL).read_bytes()
    config = replace(SMALL, total_decisions=UPDATE, final_deals=2, out=str(shipped))
    ppo.train(config)
    assert (tmp_path / "agent-2" / checkpoint.MODEL).exists()
    with pytest.raises(ValueError, match="another run or agent is there"):
        ppo.train(replace(config, total_decisions=2 * UPDATE), resume=tmp_path / "agent-2")
    assert (shipped / checkpoint.MODEL).read_bytes() == before


def test_runs_that_begin_at_the_same_time_have_folders_of_their_own(tmp_path, monkeypatch):
    with ThreadPoolExecutor(8) as threads:
        folders = list(threads.map(lambda _: claimed_folder(tmp_path / "run"), range(8)))
    assert {folder.name for folder in folders} == {"run", *(f"run-{number}" for number in range(2, 9))}
    monkeypatch.chdir(tmp_path / "run")
    assert claimed_folder(Path(".")) == (tmp_path / "run-9").resolve()


def test_a_run_against_an_agent_that_has_changed_does_not_go_on(tmp_path):
    victim = tmp_path / "victim"
    for seed in (1, 2):
        run = Run(replace(SMALL, seed=seed, out=str(victim)))
        run.save(checkpoint.MODEL)
        if seed == 1:
            against = replace(SMALL, against=str(victim), out=str(tmp_path / "run"))
            first = Run(against)
            first.save(checkpoint.RESUME)
    header = checkpoint.read(tmp_path / "run" / checkpoint.RESUME).header
    assert header["against_fingerprint"] == first.others["against_fingerprint"]
    with pytest.raises(ValueError, match=r"was trained against other weights than .*victim has now"):
        Run(against).restore(tmp_path / "run" / checkpoint.RESUME)


def test_training_in_a_thread_needs_no_signals(tmp_path):
    config = replace(SMALL, total_decisions=UPDATE, final_deals=2, out=str(tmp_path / "run"))
    with ThreadPoolExecutor(1) as threads:
        assert len(threads.submit(ppo.train, config).result()) == 3


def test_any_changed_byte_of_a_checkpoint_is_noticed(tmp_path):
    run = Run(replace(SMALL, width=4, num_games=32, out=str(tmp_path)))
    run.save(checkpoint.RESUME)
    file = tmp_path / checkpoint.RESUME
    content = file.read_bytes()
    header = int.from_bytes(content[:8], "little")
    rng = np.random.default_rng(0)
    for place in [*range(8), *rng.integers(8, header, 100), *rng.integers(8 + header, len(content), 100)]:
        spoiled = bytearray(content)
        spoiled[place] ^= 1 << rng.integers(8)
        file.write_bytes(spoiled)
        with pytest.raises(ValueError, match=r"damaged|not a checkpoint of pitch-env|format"):
            checkpoint.read(file)


def test_checkpoints_without_a_digest_can_still_be_read():
    file = ROOT / "tests" / "cases" / "format1.safetensors"  # written by 0.1.0
    assert checkpoint.read(file).header["format"] == 1
    assert duplicate_match(Rules.preset("auction"), load(file), load("random"), deals=2).deals == 2


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda header: header | {"games": "0123"}, "games of another version of pitch-env"),
        (lambda header: header | {"config": header["config"] | {"speed": 3}}, r"whose options \['speed'\]"),
    ],
)
def test_a_run_of_another_version_is_refused_with_the_reason(change, says, tmp_path):
    run = Run(replace(SMALL, out=str(tmp_path)))
    run.save(checkpoint.RESUME)
    saved = checkpoint.read(tmp_path / checkpoint.RESUME)
    checkpoint.write(tmp_path / checkpoint.RESUME, saved.tensors, change(saved.header))
    with pytest.raises(ValueError, match=says):
        ppo.train(ppo.Config(**read_config(tmp_path)), resume=tmp_path)


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ("optimizer.0.", "not whole; it lacks the optimiser's state"),
        ("optimizer.", "not whole; it lacks the optimiser's state"),
        ("network.", "a network of another shape"),
        ("games", "an agent, not a run"),
        ("generator", "an agent, not a run"),
    ],
)
def test_a_run_that_lacks_a_part_is_refused(part, says, tmp_path):
    run = Run(replace(SMALL, out=str(tmp_path)))
    iterate(run, 1)
    run.save(checkpoint.RESUME)
    saved = checkpoint.read(tmp_path / checkpoint.RESUME)
    kept = {name: value for name, value in saved.tensors.items() if not name.startswith(part)}
    assert len(kept) < len(saved.tensors)
    checkpoint.write(tmp_path / checkpoint.RESUME, kept, saved.header)
    with pytest.raises(ValueError, match=says):
        ppo.train(ppo.Config(**read_config(tmp_path)), resume=tmp_path)
