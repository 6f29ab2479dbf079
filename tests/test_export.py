"""Exported policies: they play as their checkpoint does, where torch is not installed too, and nothing else."""

import dataclasses
import functools
import json
import re
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
import yaml
from strategies import VARIANTS

from agents import checkpoint, dmc, export, exported, load, model_card, ppo
from agents.cli import main
from agents.evaluation import duplicate_match
from agents.networks import PolicyValueNetwork
from agents.opinions import values_are_chances
from agents.suits import SuitSorter
from pitch_env import Rules, VectorGame, pitch_v0
from pitch_env.actions import ACTION_TEXT
from pitch_env.observation import highs, part_slices, width

ROOT = Path(__file__).parent.parent
SHIPPED = ROOT / "checkpoints" / "auction"
AUCTION = Rules.preset("auction")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The shipped agent as ONNX, by the command as users give it."""
    out = tmp_path_factory.mktemp("exported") / "auction"
    done = tmp_path_factory.mktemp("done") / "done.json"
    assert main(["export", str(SHIPPED), "--format", "onnx", "--out", str(out), "--json", str(done)]) == 0
    check = json.loads(done.read_text())["verified"]["onnx"]
    assert check["decisions"] == 10_000
    assert set(check["phases"]) == {"bid", "play"}
    assert check["batch_sizes"] == [1, 7, 256]
    return out


@pytest.fixture(scope="module")
def torch_folder(tmp_path_factory) -> Path:
    """The same for torch.export, compared on fewer decisions, which take it longer."""
    out = tmp_path_factory.mktemp("exported") / "auction"
    export.export(SHIPPED, out, ["torch"], decisions=600)
    return out


@pytest.fixture(params=["model.onnx", "model.pt2"])
def file(request) -> Path:
    return request.getfixturevalue("torch_folder" if request.param == "model.pt2" else "folder") / request.param


def fresh(folder: Path, rules: Rules, seed: int = 0) -> Path:
    """A checkpoint of a small network that has learned nothing but has opinions."""
    torch.manual_seed(seed)
    network = PolicyValueNetwork(highs(rules), 16)
    torch.nn.init.normal_(network.policy.weight)
    header = checkpoint.header_for(rules, {"width": 16, "depth": 1}, {})
    tensors = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    checkpoint.write(folder / checkpoint.MODEL, tensors, header)
    return folder


def decisions(rules: Rules, number: int = 300, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    batch, rng = VectorGame(rules, 30, seed, deals=2), np.random.default_rng(seed)
    seen = []
    for _ in range(-(-number // len(batch))):
        seen.append((batch.observation.copy(), batch.mask.copy()))
        batch.step(batch.random_actions(rng))
    return np.concatenate([each for each, _ in seen]), np.concatenate([each for _, each in seen])


def shell(code: str, folder: Path, *, blocked: str = "") -> str:
    """What some code prints in a process of its own in which some packages cannot be imported."""
    block = f"import sys\nsys.modules.update(dict.fromkeys({blocked.split()!r}))\nsys.path.insert(0, {str(ROOT)!r})\n"
    command = [sys.executable, "-W", "error", "-c", block + textwrap.dedent(code)]
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return process.stdout


# The graph.


SOME = ("money-8", "auction-2", "pairs", "oklahoma-three", "oklahoma-unused", "oklahoma-6", "pitch-jokers", "tiny")


@pytest.mark.parametrize("name", SOME)
def test_suits_are_sorted_as_the_kernel_sorts_them(name):
    rules = VARIANTS[name]
    sorter = SuitSorter(rules)
    order = export.SuitOrder(sorter)
    batch, rng, seen = VectorGame(rules, 200, seed=2, deals=2), np.random.default_rng(0), set()
    for _ in range(30):
        expected = sorter.sort(batch.observation, batch.mask)[2]
        np.testing.assert_array_equal(order(torch.from_numpy(batch.observation).float())[0], expected)
        seen.update(expected)
        batch.step(batch.random_actions(rng))
    assert len(seen) >= 2


@pytest.mark.parametrize(
    ("preset", "options"), [("oklahoma", {}), ("oklahoma", {"players": 6}), ("money", {"players": 8})]
)
def test_every_kind_of_rules_can_be_exported(preset, options, tmp_path):
    rules = Rules.preset(preset, **options)
    done = export.export(fresh(tmp_path / "run", rules), tmp_path / "out", decisions=500)
    phases = {"bid", "play"} | (
        {"trump", "discard"} | ({"exchange"} & {rules.widow}) if preset == "oklahoma" else set()
    )
    assert set(done["verified"]["onnx"]["phases"]) == phases
    match = duplicate_match(rules, load(tmp_path / "out"), load("random"), deals=4)
    assert match.deals == 4
    assert f'env(rules="{preset}"' in (tmp_path / "out" / "README.md").read_text()
    for name, value in options.items():
        assert f", {name}={value})" in (tmp_path / "out" / "README.md").read_text()


def test_equal_actions_go_to_the_lowest():
    network = PolicyValueNetwork(highs(AUCTION), 8)
    torch.nn.init.zeros_(network.policy.weight)
    observation, mask = decisions(AUCTION)
    probability, action, _ = export.PolicyGraph(AUCTION, network)(
        torch.from_numpy(observation).float(), torch.from_numpy(mask.astype(np.int8))
    )
    np.testing.assert_array_equal(action, mask.argmax(1))
    np.testing.assert_allclose(probability.detach(), mask / mask.sum(1, keepdims=True), rtol=1e-5)


# The files.


def test_onnx_runtime_alone_plays_a_deal_from_what_the_environment_gives(folder):
    session = onnxruntime.InferenceSession(folder / "model.onnx")
    shapes = {each.name: (each.shape, each.type) for each in [*session.get_inputs(), *session.get_outputs()]}
    assert shapes == {
        "observation": (["batch", width(AUCTION)], "tensor(float)"),
        "action_mask": (["batch", 71], "tensor(int8)"),
        "probabilities": (["batch", 71], "tensor(float)"),
        "action": (["batch"], "tensor(int64)"),
        "value": (["batch"], "tensor(float)"),
    }
    env = pitch_v0.env(rules="auction")
    env.reset(seed=3)
    for agent in env.agent_iter():
        seen, _, termination, truncation, _ = env.last()
        if termination or truncation:
            env.step(None)
            continue
        everyone = [env.observe(each) for each in env.agents]  # only one of them is to act
        inputs = {name: np.stack([each[name] for each in everyone]) for name in seen}
        probability, action, value = session.run(None, inputs)
        assert np.isfinite(probability).all()
        assert np.isfinite(value).all()
        for index, each in enumerate(env.agents):
            assert (action[index] >= 0) == (each == agent)
            assert probability[index].sum() == pytest.approx(float(each == agent), abs=1e-5)
        mine = env.agents.index(agent)
        assert (probability[mine][seen["action_mask"] == 0] == 0).all()
        env.step(int(action[mine]))  # legal, or it would be refused


def test_an_exported_agent_is_the_checkpoints_twin(file):
    twin, original = load(file), load(SHIPPED)
    assert (twin.name, twin.fingerprint) == (original.name, original.fingerprint)
    rng = np.random.default_rng(0)
    observation, mask = decisions(AUCTION)
    wider = np.pad(observation, ((0, 0), (0, 7)))  # as in a batch of several rules
    for size in (0, 1, 2, 5, 300):
        rows, legal = observation[:size], mask[:size]
        np.testing.assert_array_equal(twin.act(rows, legal, rng), original.act(rows, legal, rng))
        np.testing.assert_allclose(twin.probabilities(rows, legal), original.probabilities(rows, legal), atol=1e-5)
        np.testing.assert_allclose(twin.values(rows.astype(np.float32), legal), original.values(rows, legal), atol=1e-5)
        np.testing.assert_array_equal(twin.act(wider[:size], legal.astype(np.int8), rng), twin.act(rows, legal, rng))
    drawing = exported.load(file, greedy=False)
    row = int(np.argmax(-np.abs(original.probabilities(observation, mask).max(1) - 0.5)))
    draws = drawing.act(np.repeat(observation[[row]], 2000, 0), np.repeat(mask[[row]], 2000, 0), rng)
    shares = np.bincount(draws, minlength=71) / 2000
    np.testing.assert_allclose(shares, original.probabilities(observation[[row]], mask[[row]])[0], atol=0.05)


def test_the_file_says_what_it_is(folder):
    model = onnx.load(folder / "model.onnx")
    onnx.checker.check_model(model, full_check=True)
    facts = json.loads({each.key: each.value for each in model.metadata_props}["pitch-env"])
    assert facts == json.loads((folder / "metadata.json").read_text())
    assert facts["format"] == exported.FORMAT
    assert Rules.from_dict(facts["rules"]) == AUCTION
    assert facts["actions"] == list(ACTION_TEXT)
    assert {part["name"]: slice(part["start"], part["stop"]) for part in facts["observation"]} == part_slices(AUCTION)
    assert all(part["meaning"] and part["highest"] > 0 for part in facts["observation"])
    assert facts["checkpoint"]["fingerprint"] == load(SHIPPED).fingerprint
    assert {"pitch-env", "numpy", "torch", "onnx"} <= set(facts["versions"])
    assert not [initializer for initializer in model.graph.initializer if initializer.external_data]


def test_no_path_of_this_machine_is_in_the_files(folder, torch_folder):
    contents = {file: file.read_bytes() for each in (folder, torch_folder) for file in each.iterdir()}
    with zipfile.ZipFile(torch_folder / "model.pt2") as archive:
        contents |= {Path(name): archive.read(name) for name in archive.namelist()}
    for file, content in contents.items():
        for place in (ROOT, Path(sys.prefix), folder, Path.home()):
            assert str(place).encode() + b"/" not in content, f"{place} is in {file}"


def trained(folder: Path, rules: Rules, **config) -> Path:
    """A checkpoint as ``fresh``, of a run with other options."""
    saved = checkpoint.read(fresh(folder, rules) / checkpoint.MODEL)
    checkpoint.write(folder / checkpoint.MODEL, saved.tensors, saved.header | {"config": config})
    return folder


def test_what_the_values_are_is_as_the_run_learned_it(tmp_path):
    rules = Rules.preset("auction", players=3)
    observation, mask = decisions(rules, 60)
    for name, config, says, limit in (
        ("points", {}, "points of the deal that", "It need not play well for the score of a whole game"),
        ("games", {"deals": None, "reward": "win"}, "chance to win the game (not points) that", "chances to win"),
        ("many", {"deals": None}, "points of the rest of the game that", "It learned to make points over several"),
    ):
        run = trained(tmp_path / name, rules, **config)
        facts = export.describe(checkpoint.load_agent(run), run / checkpoint.MODEL, ["onnx"])
        assert facts["value"].startswith(says)
        text = model_card.write(facts, None, {}, "mit")
        assert f"| `value` | float32 [batch] | {says}" in text
        assert limit in text
        assert values_are_chances(load(run)) == (name == "games")
    export.export(tmp_path / "games", tmp_path / "out", decisions=200)
    original, twin = load(tmp_path / "games"), load(tmp_path / "out")
    np.testing.assert_allclose(twin.values(observation, mask), original.values(observation, mask), atol=1e-5)
    assert twin.metadata["value"].startswith("chance to win the game")
    assert values_are_chances(twin)


def test_whole_games_that_were_won_are_on_the_card(tmp_path):
    run = trained(tmp_path / "run", AUCTION, deals=None, reward="win")
    match = {"agent": "run", "opponent": "greedy", "deals": 20, "mean": 1.0, "low": 0.5, "high": 1.5}
    share = {"mean": 0.4, "low": 0.3, "high": 0.5}
    agent = checkpoint.load_agent(run)
    evaluation = {"agents": {"run": agent.fingerprint}, "matches": [match], "games_won": {"greedy": share}}
    facts = export.describe(agent, run / checkpoint.MODEL, ["torch"])
    text = model_card.write(facts, evaluation, {}, "mit")
    assert "Whole games won, of which an even share is 25%:" in text
    assert "| greedy | 40.0% | 30.0% to 50.0% |" in text


def test_paths_of_the_run_are_not_published(tmp_path):
    paths = {name: str(tmp_path / f"secret-{name}") for name in model_card.PATHS}
    run = trained(tmp_path / "run", AUCTION, seed=7, **paths)
    out = tmp_path / "out"
    export.export(run, out, ["torch"], decisions=100)
    contents = {file.name: file.read_bytes() for file in out.iterdir()}
    with zipfile.ZipFile(out / "model.pt2") as archive:
        contents |= {name: archive.read(name) for name in archive.namelist()}
    assert [name for name, content in contents.items() if b"secret" in content] == []
    assert load(out).metadata["checkpoint"]["config"] == {"seed": 7, "learner": "ppo"}


def test_every_option_that_is_a_path_is_known_as_one():
    for config in (ppo.Config(), dmc.Config()):
        texts = [field.name for field in dataclasses.fields(config) if field.default == ""]  # such as lead somewhere
        assert sorted(texts) == sorted(model_card.PATHS)


# Where torch is not installed.


def test_it_plays_without_torch(folder, torch_folder):
    text = shell(
        f"""
        import agents
        from agents.evaluation import duplicate_match
        from pitch_env import Rules
        twin, chance = agents.load("model.onnx"), agents.load("random")
        match = duplicate_match(Rules.preset("auction"), twin, chance, deals=60, seed=1)
        assert sys.modules["torch"] is None
        print(match.mean)
        try:
            agents.load({str(torch_folder)!r})
        except ValueError as error:
            print(error)
        """,
        folder,
        blocked="torch safetensors onnx onnxscript",
    )
    mean, refusal = text.splitlines()
    match = duplicate_match(AUCTION, load(SHIPPED), load("random"), deals=60, seed=1)
    assert float(mean) == pytest.approx(match.mean)
    assert float(mean) > 1
    assert "needs PyTorch" in refusal


def test_the_player_needs_numpy_and_onnx_runtime_only(folder, tmp_path):
    observation, mask = decisions(AUCTION, 60)
    np.savez(tmp_path / "seen.npz", observation=observation, mask=mask)
    text = shell(
        f"""
        import numpy as np
        from agents import load
        seen = np.load("seen.npz")
        print(*load({str(folder / "model.onnx")!r}).act(seen["observation"], seen["mask"], None))
        """,
        tmp_path,
        blocked="torch numba pitch_env safetensors onnx onnxscript gymnasium pettingzoo rich yaml matplotlib PIL",
    )
    expected = load(SHIPPED).act(observation, mask, np.random.default_rng())
    assert [int(word) for word in text.split()] == list(expected)


def test_without_onnx_runtime_it_says_what_is_missing(folder):
    code = """
        from agents import load
        try:
            load("model.onnx")
        except ValueError as error:
            print(error)
        """
    assert "needs ONNX Runtime: pip install onnxruntime" in shell(code, folder, blocked="onnxruntime numba")


def test_the_torch_file_needs_torch_only(torch_folder, tmp_path):
    observation, mask = decisions(AUCTION, 60)
    np.savez(tmp_path / "seen.npz", observation=observation.astype(np.float32), mask=mask.astype(np.int8))
    text = shell(
        f"""
        import numpy as np, torch
        seen = np.load("seen.npz")
        policy = torch.export.load({str(torch_folder / "model.pt2")!r}).module()
        for start, stop in ((0, 1), (1, 8), (8, len(seen["mask"]))):
            rows = [torch.from_numpy(seen[name][start:stop]) for name in ("observation", "mask")]
            print(*policy(*rows)[1].tolist())
        """,
        tmp_path,
        blocked="agents pitch_env numba",
    )
    expected = load(SHIPPED).act(observation, mask, np.random.default_rng())
    assert [int(word) for word in text.split()] == list(expected)


# What is refused.


@pytest.mark.parametrize("rules", [Rules.preset("auction", target=11), Rules.preset("oklahoma")])
def test_other_rules_are_refused(folder, rules):
    observation, mask = decisions(rules, 30)
    with pytest.raises(ValueError, match="auction was trained for other rules"):
        load(folder / "model.onnx").act(observation, mask, np.random.default_rng())


def test_wrong_shapes_and_empty_masks_are_refused(folder):
    agent, rng = load(folder / "model.onnx"), np.random.default_rng()
    observation, mask = decisions(AUCTION, 30)
    with pytest.raises(ValueError, match=rf"auction needs \[N, {width(AUCTION)}\]"):
        agent.act(observation[:, :-1], mask, rng)
    with pytest.raises(ValueError, match=rf"shape \({width(AUCTION)},\) are not allowed"):
        agent.act(observation[0], mask[0], rng)
    with pytest.raises(ValueError, match=r"mask of shape \(29, 71\) is not allowed; it is \(30, 71\)"):
        agent.act(observation, mask[1:], rng)
    mask[4] = False
    with pytest.raises(ValueError, match="row 4 of the mask allows no action"):
        agent.act(observation, mask, rng)
    assert agent.answer(observation, mask)[1][4] == -1


def changed(folder: Path, out: Path, change) -> Path:
    """The ONNX file with something changed in its metadata."""
    model = onnx.load(folder / "model.onnx")
    (entry,) = model.metadata_props
    facts = json.loads(entry.value)
    change(facts)
    entry.value = json.dumps(facts)
    onnx.save(model, out / "changed.onnx")
    return out / "changed.onnx"


def test_files_of_other_versions_are_refused(folder, tmp_path):
    with pytest.raises(ValueError, match="export of format 99; this version reads 1"):
        load(changed(folder, tmp_path, lambda facts: facts.update(format=99)))
    with pytest.raises(ValueError, match="other observations than this version"):
        load(changed(folder, tmp_path, lambda facts: facts["observation"][9].update(name="cards in hand")))
    with pytest.raises(ValueError, match="other observations than this version"):
        load(changed(folder, tmp_path, lambda facts: facts["rules_code"].reverse()))
    with pytest.raises(ValueError, match=r"changed.onnx: no rule 'dealers'"):
        load(changed(folder, tmp_path, lambda facts: facts["rules"].update(dealers=2)))
    for name in ("rules", "observation", "rules_code", "checkpoint"):
        with pytest.raises(ValueError, match=r"changed.onnx is damaged: its metadata are not those of a policy"):
            load(changed(folder, tmp_path, lambda facts, name=name: facts.pop(name)))


def test_damaged_files_are_refused(file, tmp_path):
    part = tmp_path / file.name
    part.write_bytes(file.read_bytes()[:5000])
    with pytest.raises(ValueError, match=r"^.* or a damaged one.*$"):
        load(part)


def test_other_files_are_refused(folder, tmp_path):
    model = onnx.load(folder / "model.onnx")
    del model.metadata_props[:]
    onnx.save(model, tmp_path / "foreign.onnx")
    with pytest.raises(ValueError, match="is not a policy of pitch-env"):
        load(tmp_path / "foreign.onnx")
    with pytest.raises(ValueError, match="there is no exported policy"):
        exported.load(tmp_path / "missing.onnx")
    with pytest.raises(ValueError, match="no agent"):
        load(tmp_path / "missing.onnx")


# Verification.


class Maskless(export.PolicyGraph):
    """A little of everything, whatever is legal."""

    def forward(self, observation, action_mask):
        probability, action, value = super().forward(observation, action_mask)
        return probability + 1e-7, action, value


class Unsorted(export.PolicyGraph):
    """Suits as they come."""

    def forward(self, observation, action_mask):
        for name in ("sources", "action_sources", "places"):
            setattr(self, name, getattr(self, name)[:1].expand(24, -1))
        return super().forward(observation, action_mask)


class Astray(export.PolicyGraph):
    """Wrong in what is rare: the values after somebody has taken a first trick."""

    def forward(self, observation, action_mask):
        probability, action, value = super().forward(observation, action_mask)
        return probability, action, value + 0.001 * observation[:, part_slices(AUCTION)["tricks_won"]].amax(1)


@pytest.mark.parametrize(
    ("graph", "complaint"),
    [
        (Maskless, "gives what is illegal a chance"),
        (Unsorted, "takes another action"),
        (Astray, "has other probabilities or values, by up to 0.00"),
    ],
)
def test_what_plays_differently_is_not_written(graph, complaint, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(export, "PolicyGraph", graph)
    monkeypatch.setattr(export, "export", functools.partial(export.export, decisions=300))
    out = tmp_path / "out"
    assert main(["export", str(fresh(tmp_path / "run", AUCTION)), "--format", "torch", "--out", str(out)]) == 1
    assert re.search(
        rf"^pitch export: model.pt2 does not play as run does: in batches of 1 it {complaint}.* in [\d]+ of 300 "
        r"decisions, first in number \d+; nothing was written$",
        capsys.readouterr().err,
        re.MULTILINE,
    )
    assert not out.exists()


def test_an_onnx_file_of_other_weights_is_found_out(folder, tmp_path):
    agent = checkpoint.load_agent(SHIPPED)
    export.verify(folder / "model.onnx", export.Expected.of(agent, 300))
    with torch.no_grad():
        agent.network.policy.bias[58] += 0.01  # passes a little more often
    with pytest.raises(ValueError, match="has other probabilities"):
        export.verify(folder / "model.onnx", export.Expected.of(agent, 300))


# The folder.


def test_the_model_card_is_one(folder):
    text = (folder / "README.md").read_text()
    _, header, body = text.split("---\n", 2)
    facts = yaml.safe_load(header)
    assert (facts["license"], facts["library_name"]) == ("mit", "pitch-env")
    assert facts["pipeline_tag"] == "reinforcement-learning"
    assert {"reinforcement-learning", "onnx"} <= set(facts["tags"])
    (results,) = facts["model-index"][0]["results"]
    assert results["task"]["type"] == "reinforcement-learning"
    matches = json.loads((SHIPPED / "evaluation.json").read_text())["matches"]
    assert len(results["metrics"]) == len(matches) > 0
    for match in matches:
        assert f"| {match['opponent']} | {match['deals']:,} | {match['mean']:+.3f} |" in body
    assert json.loads((folder / "evaluation.json").read_text())["matches"] == matches
    for heading in ("Rules", "Results", "How to use it", "Inputs and outputs", "Limits", "Where it comes from"):
        assert f"\n## {heading}\n" in body


def test_the_code_of_the_model_card_runs(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    blocks = re.findall(r"^```python\n(.*?)^```$", Path("README.md").read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 3
    names: dict = {}
    for code in blocks:
        exec(code, names)
        if "action" in names:
            assert names["seen"]["action_mask"][int(names["action"][0])] == 1


def test_results_of_other_weights_are_not_claimed(tmp_path):
    run = fresh(tmp_path / "auction", AUCTION)
    (run / "evaluation.json").write_text((SHIPPED / "evaluation.json").read_text())
    out = tmp_path / "out"
    export.export(run, out, ["torch", "onnx"], decisions=100, license_name="apache-2.0")
    text = (out / "README.md").read_text()
    assert "There was no evaluation" in text
    assert "model-index" not in text
    assert "license: apache-2.0\n" in text
    assert {file.name for file in out.iterdir()} == {"README.md", "metadata.json", "model.onnx", "model.pt2"}
    assert load(out).fingerprint == load(run).fingerprint


MATCH = {"agent": "run", "opponent": "x", "deals": 9, "mean": 0.1, "low": 0, "high": 1}


@pytest.mark.parametrize(
    "text",
    [
        "{", "[]", "null", '{"agents": []}', '{"agents": {"run": "MINE"}}', '{"agents": {"run": "MINE"}, "matches": 3}',
        '{"agents": {"run": "MINE"}, "matches": [{"agent": "run", "opponent": "x"}]}',
        json.dumps({"agents": {"run": "MINE"}, "matches": [MATCH | {"mean": float("nan")}]}),
        json.dumps({"agents": {"run": "MINE"}, "matches": [MATCH | {"mean": None}]}),
        json.dumps({"agents": {"run": "MINE"}, "matches": [MATCH], "games_won": [1]}),
    ],
)  # fmt: skip
def test_a_damaged_evaluation_is_refused_by_its_name(text, tmp_path, capsys):
    run = fresh(tmp_path / "run", AUCTION)
    (run / "evaluation.json").write_text(text.replace("MINE", load(run).fingerprint))
    assert main(["export", str(run), "--out", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert error.endswith("run/evaluation.json is damaged: it is not what a run or evaluate writes\n")
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_another_readme_stays(tmp_path, capsys):
    (tmp_path / "README.md").write_text("# Mine\n")
    assert main(["export", str(SHIPPED), "--out", str(tmp_path)]) == 1
    assert "is no model card of pitch-env and stays as it is" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["README.md"]


def test_exports_are_not_mixed(torch_folder):
    before = {file: file.read_bytes() for file in torch_folder.iterdir()}
    with pytest.raises(ValueError, match=r"model.pt2 is of another export and would lie beside this one"):
        export.export(SHIPPED, torch_folder, ["onnx"])
    assert {file: file.read_bytes() for file in torch_folder.iterdir()} == before


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(ValueError, match=r"format 'onnx' needs onnxscript: pip install 'pitch-env\[export\]'"):
        export.export(SHIPPED, tmp_path / "out")


def test_bad_command_lines(tmp_path, capsys):
    assert main(["export", str(tmp_path / "none"), "--out", str(tmp_path / "out")]) == 1
    assert re.fullmatch(r"pitch export: there is no checkpoint .*none\n", capsys.readouterr().err)
    for options in (["--format", "tflite"], ["--license", "All rights"]):
        with pytest.raises(SystemExit) as stop:
            main(["export", str(SHIPPED), "--out", str(tmp_path / "out"), *options])
        assert stop.value.code == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("preset", "options"),
    [
        ("auction", {}),
        ("oklahoma", {"players": 6, "three": True}),
        ("money", {"players": 5, "target": 11}),
        ("auction_pairs", {}),
    ],
)
def test_rules_are_named_shortly(preset, options):
    assert model_card.preset_of(Rules.preset(preset, **options)) == (preset, options)
