"""Two ranks started by torchrun: they learn as one, write once, end together, and go on in another number."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from trainers import SMALL, iterate

from agents import checkpoint, load, ppo
from agents.learners import read_config
from agents.ppo import Config, Run

ROOT = Path(__file__).parent.parent
POOL = replace(SMALL, pool_share=0.5, pool_every=1, pool_size=2, critic="all", advantage="sarsa")

WORKER = """
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

sys.path += [{root!r}, {tests!r}]
from agents import checkpoint, training
from agents.distributed import joined
from agents.ppo import Run
from test_distributed import POOL
from trainers import assert_same, iterate, weights

out = Path(sys.argv[1])
with joined("cpu") as ranks:
    assert ranks.world == 2
    mine = torch.tensor([1.0 + ranks.rank, 5.0])
    ranks.average([mine])
    assert mine.tolist() == [1.5, 5.0]
    assert ranks.total(ranks.rank, 1) == [1, 2]
    assert ranks.least(7 - ranks.rank) == 6

    run = Run(replace(POOL, out=str(out)), ranks)
    everyone = ranks.gather({{"cards": torch.from_numpy(run.batch.states["hands"].copy())}})
    if ranks.first:
        assert not (everyone[0]["cards"] == everyone[1]["cards"]).all(1).any()  # other deals
    iterate(run, 3)
    run.save("three")
    iterate(run, 2)
    run.save("five")
    again = Run(replace(POOL, out=str(out)), ranks)
    again.restore(out / "three")
    iterate(again, 2)
    again.save("again")
    assert_same(weights(run), weights(again))

    more = Run(replace(POOL, out=str(out)), ranks)  # two go on where one was
    more.restore(out / "one")
    everyone = ranks.gather({{"cards": torch.from_numpy(more.batch.states["hands"].copy())}})
    if ranks.first:
        assert not (everyone[0]["cards"] == everyone[1]["cards"]).all(1).any()
    iterate(more, 1)
    more.save("two")
    if ranks.first:
        one, other = (checkpoint.read(out / name) for name in ("five", "again"))
        assert_same(one.tensors, other.tensors)
        assert one.header["ranks"] == 2 and "rank1.games" in one.tensors

    rollout = again.rollout()  # what one rank alone finds wrong stops them all
    iterate(again, 1, rollout)
    if not ranks.first:
        again.network.value.bias.data.fill_(float("nan"))
    with pytest.raises(FloatingPointError, match="gives no policy"):
        training.check_policy(again, rollout)
"""


def torchrun(*arguments: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PITCH_THREADS": "1"}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, cwd=ROOT
    )


def test_two_ranks_learn_as_one_and_resume_exactly_also_in_another_number(tmp_path):
    one = Run(replace(POOL, out=str(tmp_path)))
    iterate(one, 2)
    one.save("one")
    script = tmp_path / "worker.py"
    script.write_text(WORKER.format(root=str(ROOT), tests=str(ROOT / "tests")))
    process = torchrun(str(script), str(tmp_path))
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    back = Run(replace(POOL, out=str(tmp_path)))  # one goes on where two were
    back.restore(tmp_path / "five")
    iterate(back, 1)
    assert checkpoint.read(tmp_path / "two").header["decisions"] > checkpoint.read(tmp_path / "one").header["decisions"]


def children(process: subprocess.Popen) -> list[int]:
    return [int(each) for each in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the ranks in /proc")
def test_a_killed_rank_ends_the_job_and_the_run_goes_on_alone(tmp_path):
    arguments = ["--out", str(tmp_path), "--num-games", "64", "--minibatch", "512", "--width", "32"]
    arguments += ["--evaluate-seconds", "0", "--evaluate-deals", "2", "--bfloat16", "false"]
    process = torchrun("train.py", *arguments)
    until = time.monotonic() + 300
    while not (tmp_path / checkpoint.RESUME).exists():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < until
        time.sleep(0.05)
    os.kill(children(process)[-1], signal.SIGKILL)
    output, _ = process.communicate(timeout=300)
    assert process.returncode != 0
    saved = checkpoint.read(tmp_path / checkpoint.RESUME)
    assert saved.header["ranks"] == 2
    assert output.count("learning auction") == 1  # the first speaks for all
    total = saved.header["decisions"] + 500
    assert ppo.train(Config(**read_config(tmp_path) | dict(total_decisions=total, final_deals=2)), resume=tmp_path)
    assert load(tmp_path).name == tmp_path.name


def test_a_gpu_that_is_not_there_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ValueError, match="device='cuda' is not allowed; PyTorch finds no GPU"):
        ppo.train(replace(SMALL, device="cuda", out=str(tmp_path)))
    with pytest.raises(ValueError, match="cpu, cuda or cuda:0"):
        Config(device="gpu")
