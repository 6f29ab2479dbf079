"""The trainer: it learns, it stops and goes on, its checkpoints are refused when they should be."""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from trainers import SMALL, UPDATE, assert_same, iterate, weights

from agents import checkpoint, cli, command_train, load, ppo, training
from agents.evaluation import duplicate_match
from agents.learners import CONFIGS
from agents.ppo import Config, Run
from agents.rollout import DealCounts, collect
from pitch_env import Rules, VectorGame, pitch_v0

ROOT = Path(__file__).parent.parent


pytestmark = pytest.mark.usefixtures("one_torch_thread")


def test_it_learns_to_beat_random(tmp_path):
    config = replace(SMALL, total_decisions=300_000, num_games=256, minibatch=2048, width=128, out=str(tmp_path))
    against_random = ppo.train(config)[0]
    assert against_random.opponent == "random"
    assert against_random.low > 0.5


@pytest.mark.parametrize("name", Rules.presets())
def test_it_runs_on_every_preset(name, tmp_path):
    matches = ppo.train(replace(SMALL, rules=name, total_decisions=2_000, out=str(tmp_path)))
    assert [match.opponent for match in matches] == ["random", "greedy", "expert"]
    content = json.loads((tmp_path / "evaluation.json").read_text())
    assert content["rules"] == Rules.preset(name).to_dict()
    agent = load(tmp_path)
    env = pitch_v0.env(rules=name)
    env.reset(seed=1)
    for _ in env.agent_iter():
        observation, _, termination, truncation, _ = env.last()
        action = None
        if not (termination or truncation):
            rows = observation["observation"][None], observation["action_mask"][None]
            action = int(agent.act(*rows, np.random.default_rng(0))[0])
        env.step(action)


def test_the_same_seed_gives_the_same_run():
    one, same, other = Run(SMALL), Run(SMALL), Run(replace(SMALL, seed=2))
    for run in (one, same, other):
        iterate(run, 2)
    assert_same(weights(one), weights(same))
    assert any((weights(one)[name] != value).any() for name, value in weights(other).items())


def test_every_update_changes_all_weights():
    run = Run(SMALL)
    before = weights(run)
    measured = iterate(run, 1)[0]
    assert all((before[name] != value).any() for name, value in weights(run).items())
    assert np.isfinite(list(measured.values())).all()


def test_rollouts_hold_what_the_games_did():
    run = Run(SMALL)
    twin = VectorGame(run.variants[0], SMALL.num_games, seed=SMALL.seed, deals=1, skip_forced=True)
    rollout, counts, deals = run.rollout(), DealCounts(), 0
    collect(run.batch, run.sorter, run.network, rollout, run.generator, counts)
    for t in range(SMALL.steps):
        observation, mask, order = run.sorter.sort(twin.observation, twin.mask)
        np.testing.assert_array_equal(rollout.observation[t], observation)
        np.testing.assert_array_equal(rollout.mask[t], mask)
        np.testing.assert_array_equal(rollout.actor[t], twin.actor)
        assert rollout.mask[t].gather(1, rollout.action[t].unsqueeze(1)).all()
        assert (rollout.log_probability[t] <= 0).all()
        reward, done = twin.step(run.sorter.actions(rollout.action[t].numpy(), order))
        np.testing.assert_array_equal(rollout.change[t], reward)
        np.testing.assert_array_equal(rollout.done[t], done)
        deals += int(twin.ended.sum())
    assert counts.bids.sum() == deals
    assert (counts.made <= counts.bids).all()


def test_a_loss_that_is_no_number_stops_the_run():
    run = Run(SMALL)
    with torch.no_grad():
        run.network.value.bias.fill_(float("nan"))
    with pytest.raises(FloatingPointError, match="smaller learning_rate"):
        iterate(run, 1)


def trained(tmp_path: Path) -> Path:
    run = Run(replace(SMALL, out=str(tmp_path)))
    run.save(checkpoint.MODEL)
    run.save(checkpoint.RESUME)
    return tmp_path


def test_an_agent_plays_as_the_network_it_was_saved_from(tmp_path):
    run = Run(replace(SMALL, out=str(tmp_path)))
    iterate(run, 3)
    run.save(checkpoint.MODEL)
    run.save(checkpoint.RESUME)
    batch = VectorGame(run.variants[0], 64)
    rows = batch.observation, batch.mask
    expected = run.agent().act(*rows, np.random.default_rng(0))
    agent = load(tmp_path)
    np.testing.assert_array_equal(agent.act(*rows, np.random.default_rng(0)), expected)
    np.testing.assert_array_equal(agent.act(rows[0].astype(np.float32), rows[1].astype(np.int8), None), expected)
    np.testing.assert_array_equal(load(tmp_path / checkpoint.RESUME).act(*rows, None), expected)


def test_an_agent_refuses_observations_of_other_rules(tmp_path):
    agent = load(trained(tmp_path))
    for other in (Rules.preset("auction", players=3), Rules.preset("auction", target=11), Rules.preset("oklahoma")):
        batch = VectorGame(other, 4)
        with pytest.raises(ValueError, match=r"trained for other rules|are not allowed"):
            agent.act(batch.observation, batch.mask, np.random.default_rng(0))


def test_a_new_run_does_not_overwrite_an_old_one(tmp_path):
    config = replace(SMALL, total_decisions=1000, out=str(tmp_path / "run"))
    for _ in range(3):
        ppo.train(config)
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("model.*")}
    assert files == {f"{run}/model.{kind}" for run in ("run", "run-2", "run-3") for kind in ("safetensors", "json")}
    header = json.loads((tmp_path / "run" / "model.json").read_text())
    assert header["rules"] == Rules.preset("auction").to_dict()
    assert header["config"]["total_decisions"] == 1000
    assert set(header["versions"]) >= {"pitch-env", "torch", "numpy", "numba", "python"}
    assert header["observation"]["hand"][1] - header["observation"]["hand"][0] == 54


def damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def make_foreign(path: Path) -> None:
    save_file({"weight": torch.zeros(3)}, path)


def make_other_format(path: Path) -> None:
    old = checkpoint.read(path)
    checkpoint.write(path, old.tensors, old.header | {"format": 99})


def make_other_layout(path: Path) -> None:
    old = checkpoint.read(path)
    checkpoint.write(path, old.tensors, old.header | {"observation": {"hand": [0, 54]}})


def make_silent(path: Path) -> None:
    old = checkpoint.read(path)
    checkpoint.write(path, old.tensors, {name: value for name, value in old.header.items() if name != "rules"})


def make_shapeless(path: Path) -> None:
    old = checkpoint.read(path)
    checkpoint.write(path, old.tensors, old.header | {"network": {"width": "wide", "height": 3}})


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (damage, "damaged"),
        (make_silent, "damaged checkpoint: it does not tell its rules"),
        (make_shapeless, "damaged checkpoint: there is no network of shape"),
        (make_foreign, "not a checkpoint of pitch-env"),
        (make_other_format, "format 99"),
        (make_other_layout, "other observations"),
        (Path.unlink, "no checkpoint"),
    ],
)
def test_a_checkpoint_that_cannot_be_used_is_refused_with_the_reason(spoil, says, tmp_path):
    folder = trained(tmp_path)
    for name in (checkpoint.MODEL, checkpoint.RESUME):
        spoil(folder / name)
    with pytest.raises(ValueError, match=says):
        load(folder)
    with pytest.raises(ValueError, match=says):
        Run(SMALL).restore(folder / checkpoint.RESUME)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (dict(rules="money"), "other rules"),
        (dict(num_games=32, minibatch=512), "num_games"),
        (dict(width=64), "another shape"),
    ],
)
def test_a_run_cannot_go_on_with_a_config_that_does_not_fit(changed, says, tmp_path):
    trained(tmp_path)
    with pytest.raises(ValueError, match=says):
        Run(replace(SMALL, **changed)).restore(tmp_path / checkpoint.RESUME)


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    folder = trained(tmp_path)
    before = (folder / checkpoint.MODEL).read_bytes()

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        Run(replace(SMALL, out=str(tmp_path))).save(checkpoint.MODEL)
    assert (folder / checkpoint.MODEL).read_bytes() == before
    assert sorted(file.name for file in folder.iterdir()) == ["model.json", checkpoint.MODEL, checkpoint.RESUME]


def command(*arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "train.py"), *arguments]


def small_options(out: Path) -> list[str]:
    return ["--out", str(out), "--num-games", "64", "--minibatch", "512", "--width=32", "--final-deals", "20"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_ends_and_the_run_goes_on(number, tmp_path):
    options = [*small_options(tmp_path), "--evaluate-seconds", "0", "--evaluate-deals", "4"]
    first = subprocess.Popen(command(*options, "--total-decisions", "100000000"), stdout=subprocess.PIPE, text=True)
    assert str(tmp_path) in first.stdout.readline()
    assert "points per deal" in first.stdout.readline()
    first.send_signal(number)
    output, _ = first.communicate(timeout=300)
    assert first.returncode == 0
    assert f"--resume {tmp_path}" in output
    saved = checkpoint.read(tmp_path / checkpoint.RESUME).header
    total = saved["decisions"] + 3000
    second = subprocess.run(command("--resume", str(tmp_path), "--total-decisions", str(total)), capture_output=True)
    assert second.returncode == 0, second.stderr
    saved = checkpoint.read(tmp_path / checkpoint.MODEL).header
    assert saved["decisions"] >= total
    assert saved["config"]["num_games"] == 64  # the options of the first run are those of the second


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--learning-rte", "1"], "learning_rte"),
        (["--learning-rate", "fast"], "learning_rate"),
        (["--learning-rate", "-1"], "learning_rate=-1.0 is not allowed"),
        (["--rules", "poker"], "no preset 'poker'"),
        (["--rule-options", "{playrs: 5}"], "did you mean 'players'"),
        (["--rul", "money"], "--rul"),  # no abbreviation, for the first look would not know it
        (["--max-grad-norm", ".inf"], "max_grad_norm=inf is not allowed; it is a number, and not without end"),
        (["--minutes", "-5"], "minutes=-5.0 is not allowed"),
        (["--minibatch", "100000"], "minibatch=100000 is not allowed"),
        (["--resume", "nowhere"], "no checkpoint nowhere"),
    ],
)
def test_a_wrong_option_is_refused_by_name(arguments, says):
    done = subprocess.run(command(*arguments), capture_output=True, text=True)
    assert done.returncode in (1, 2)
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, None) for name in ("rules", "width", "learning_rate", "num_games", "seed", "device", "record")),
        ("rules", [None]), ("rules", {"auction": 4}), ("rule_options", 5), ("rule_options", {1: 2}),
        ("width", "64"), ("width", 64.0), ("width", True), ("clip", float("nan")), ("out", 3), ("record", "yes"),
    ],
)  # fmt: skip
def test_values_of_another_type_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=re.escape(f"{name}={value!r} is not allowed")):
        Config(**{name: value})


def test_options_of_rules_may_be_left_blank():
    assert Config(rule_options=None).rule_options == {}  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [0.01, 100.0])
def test_gradients_are_shortened_as_torch_does_it(limit):
    config = replace(SMALL, max_grad_norm=limit, minibatch=UPDATE, epochs=1)
    run, plain = Run(config), Run(config)
    rollout = run.rollout()
    collect(run.batch, run.sorter, run.network, rollout, run.generator, DealCounts())
    decisions = ppo.prepare(run, rollout)
    training.descend(run, UPDATE, lambda rows: ppo.losses(run, decisions))
    ppo.losses(plain, decisions)["loss"].backward()
    norm = torch.nn.utils.clip_grad_norm_(plain.parameters(), limit)
    assert (norm > limit) == (limit == 0.01)
    for mine, other in zip(run.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, other.grad, rtol=1e-4, atol=1e-8)


def test_batches_of_a_row_or_of_none_do_not_end_a_run(tmp_path):
    one = replace(SMALL, num_games=2, steps=4, minibatch=1, total_decisions=16, final_deals=2, evaluate_deals=2)
    assert ppo.train(replace(one, out=str(tmp_path / "one")))
    lone = replace(one, steps=1, against="random", minibatch=2)  # in many updates none of the decisions is its own
    assert ppo.train(replace(lone, out=str(tmp_path / "lone")))


def test_an_agent_that_is_called_as_a_baseline_is_told_apart(tmp_path):
    short = dict(total_decisions=1024, final_deals=2, evaluate_deals=2)
    matches = ppo.train(replace(SMALL, out=str(tmp_path / "expert"), **short))
    assert {match.agent for match in matches} == {"expert#4"}
    assert [*json.loads((tmp_path / "expert" / "evaluation.json").read_text())["agents"]] == [
        "expert#4", "random", "greedy", "expert",
    ]  # fmt: skip


def test_a_config_file_is_overridden_by_options_and_its_numbers_are_numbers(tmp_path):
    file = tmp_path / "my.yaml"
    file.write_text("rules: oklahoma\nlearning_rate: 1e-3\nclip: 1e-1\nrule_options: {players: 6}\nout: elsewhere\n")
    named, chosen = ["--config", str(file)], ["--clip", "0.3", "--out", "here"]
    for arguments in (named + chosen, chosen + named, [f"--config={file}", *chosen], [*chosen, f"--config={file}"]):
        options = command_train.parse(arguments)
        assert options.learning_rate == 0.001
        assert options.clip == 0.3
        assert options.out == "here"
        assert options.rule_options == {"players": 6}


def test_of_two_config_files_the_later_one_wins_and_both_are_checked(tmp_path):
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    one.write_text("learner: ppo\nwidth: 64\ndepth: 2\n")
    other.write_text("learner: dmc\nwidth: 32\n")
    options = command_train.parse(["--depth", "0", "--config", str(one), "--config", str(other)])
    assert (options.learner, options.width, options.depth) == ("dmc", 32, 0)
    assert command_train.parse(["--config", str(one), "--learner", "dmc"]).learner == "dmc"
    one.write_text("clip: 0.1\n")
    with pytest.raises(ValueError, match=r"one\.yaml sets clip, which dmc does not have"):
        command_train.parse(["--config", str(one), "--config", str(other)])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"learning_rates: 1e-3\nfoo: 2\n", r"my\.yaml sets foo, learning_rates, which ppo does not have"),
        (b"learner: dmc\nclip: 0.2\n", r"my\.yaml sets clip, which dmc does not have"),
        (b"rules: m\xf6ney\n", r"my\.yaml is not text in UTF-8"),
        (b"rules: [auction\n", r"my\.yaml is not YAML: while parsing"),
    ],
)
def test_a_config_file_that_is_wrong_is_named(content, says, tmp_path):
    (tmp_path / "my.yaml").write_bytes(content)
    with pytest.raises(ValueError, match=says):
        command_train.parse(["--config", str(tmp_path / "my.yaml")])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--width", "100000000"], "not enough memory"),
        (["--num-games", "1000000000000"], "not enough memory"),
        (["--resume", "checkpoints/auction"], "a finished agent and no run to go on with; --start"),
        (
            ["--config", "configs/family.yaml", "--num-games", "4", "--minibatch", "8"],
            "num_games=4 is not allowed; it is at least 5",
        ),
        (["--out", "README.md"], "out='README.md' is not allowed; it is a file"),
    ],
)
def test_what_cannot_be_is_one_line(options, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    out = [] if "--out" in options else ["--out", str(tmp_path / "run")]
    assert cli.main(["train", *options, *out]) == 1
    said = capsys.readouterr().err
    assert re.fullmatch(rf"pitch train: .*{re.escape(says)}.*\n", said), said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("file", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda file: file.stem)
def test_the_configs_can_be_read(file):
    options = command_train.parse(["--config", str(file)]).as_dict()
    del options["config"], options["resume"]
    CONFIGS[options["learner"]](**options)


def test_more_decisions_make_a_stronger_agent(tmp_path):
    run = Run(replace(SMALL, num_games=256, minibatch=2048, total_decisions=400_000))
    untrained = run.agent()
    before = duplicate_match(run.variants[0], untrained, load("random"), 200)
    iterate(run, 40)
    after = duplicate_match(run.variants[0], run.agent(), load("random"), 200)
    assert after.low > before.high


@pytest.mark.parametrize("number", [1023, 1024, 1025, 1537, 300])
def test_minibatches_are_of_about_the_same_size(number):
    """A last one of a single row, which has no spread of advantages, once ended runs with a loss of nan."""
    run, seen = Run(replace(SMALL, minibatch=512, epochs=1)), []

    def measure(rows):
        seen.append(rows)
        return {"loss": run.network.value.bias.sum()}

    training.descend(run, number, measure)
    sizes = [len(rows) for rows in seen]
    assert max(sizes) <= 512
    assert max(sizes) - min(sizes) <= 1
    assert sorted(torch.cat(seen).tolist()) == list(range(number))
