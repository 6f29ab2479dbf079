"""Shipped agents and their cards: what is on them was measured, and nothing is lost when a card cannot be made."""

import json
import re
import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest

from agents import agent as agents_by_name
from agents import card, card_curve, card_exploiters, card_measures, card_text, checkpoint, cli, load
from agents.card_weaknesses import weaknesses
from agents.evaluation import duplicate_match, fingerprint
from agents.puzzles import attempt, load_puzzles, score
from pitch_env import Rules, VectorGame
from pitch_env.state import Phase

ROOT = Path(__file__).parent.parent
RULES = {"players": 3}
TINY = (
    "--rules auction --rule-options={players:\xa03} --num-games 32 --steps 8 --minibatch 256 --width 16 "
    "--evaluate-deals 4 --evaluate-seconds 0 --final-deals 10 --total-decisions"
)
QUICK = ["--deals", "20", "--search-deals", "2", "--opponents", "random", "expert"]


def train(out: Path, decisions: int, *more: str) -> Path:
    words = [word.replace("\xa0", " ") for word in TINY.split(" ")]
    assert cli.main(["train", *words, str(decisions), "--out", str(out), *more]) == 0
    return out


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return train(tmp_path_factory.mktemp("runs") / "tiny", 1500)


@pytest.fixture(scope="module")
def exploiter(run) -> Path:
    return train(run.with_name("exploiter"), 600, "--against", str(run))


@pytest.fixture(scope="module")
def shipped(run, exploiter, tmp_path_factory) -> Path:
    """The folder that the command makes of the run."""
    out = tmp_path_factory.mktemp("shipped") / "pair"
    (out.parent / "README.md").write_text("# All\n\n<!-- begin: agents-table -->\n<!-- end: agents-table -->\n\nend\n")
    assert make(run, out, "--exploiters", str(exploiter), "--note", "Made for a test.") == 0
    return out


def make(run: Path, out: Path, *more: str) -> int:
    return cli.main(["card", str(run), "--out", str(out), *QUICK, *more])


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


# What is on the card.


def test_the_folder_has_the_agent_and_its_card(run, shipped):
    assert sorted(contents(shipped)) == sorted(card.FILES)
    made = card.read_card(shipped)
    assert made["name"] == "pair"
    assert made["fingerprint"] == load(run).fingerprint == load(shipped).fingerprint
    assert (made["preset"], made["changed"], made["rules"]["players"]) == ("auction", RULES, 3)
    header = checkpoint.read(run / checkpoint.MODEL).header
    assert made["decisions"] == header["decisions"] >= 1500
    assert made["hours"] == round(header["seconds"] / 3600, 3)


def test_training_before_the_last_run_counts_and_is_told_of(run, tmp_path):
    tuned = train(tmp_path / "tuned", 300, "--start", str(run))
    assert make(tuned, tmp_path / "twice") == 0
    made = card.read_card(tmp_path / "twice")
    first, last = (checkpoint.read(folder / checkpoint.MODEL).header for folder in (run, tuned))
    assert made["decisions"] == first["decisions"] + last["decisions"]
    assert made["earlier"] == {"decisions": first["decisions"], "hours": round(first["seconds"] / 3600, 3)}
    assert f"{first['decisions']:,} of them" in (tmp_path / "twice" / card.TEXT).read_text()
    assert all(str(tmp_path).encode() not in content for content in contents(tmp_path / "twice").values())


def test_in_the_place_of_what_it_began_with_the_whole_training_is_told(run, shipped, tmp_path):
    out = shutil.copytree(shipped, tmp_path / "pair")
    tuned = train(tmp_path / "tuned", 300, "--start", str(shipped), "--learning-rate", "5e-4")
    first, last = card.read_card(shipped), checkpoint.read(tuned / checkpoint.MODEL).header
    for source in (tuned, tuned, out):  # neither made again nor measured anew it forgets
        assert make(source, out) == 0
        made = card.read_card(out)
        assert made["fingerprint"] == load(tuned).fingerprint != first["fingerprint"]
        assert made["decisions"] == first["decisions"] + last["decisions"] == load(out).spent["decisions"]
        assert made["earlier"] is None
        options = {"learning_rate": 0.001, "total_decisions": 1500}
        assert made["former"] == [{"decisions": first["decisions"], "options": options}]
        places = made["curve"]["points_per_deal"]["expert"]
        old = first["curve"]["points_per_deal"]["expert"]
        assert places[: len(old)] == old
        assert [row[0] for row in places[len(old) :]] == [
            first["decisions"] + row[0] for row in card_curve.read(tuned)["points_per_deal"]["expert"]
        ]
        assert (made["exploiters"], made["note"]) == ([], "")


def test_matches_of_other_deals_are_not_in_one_curve(shipped, tmp_path):
    out = shutil.copytree(shipped, tmp_path / "pair")
    tuned = train(tmp_path / "tuned", 300, "--start", str(shipped), "--evaluate-deals", "2")
    assert make(tuned, out) == 0
    made = card.read_card(out)
    assert made["earlier"]["decisions"] == card.read_card(shipped)["decisions"]
    assert made["curve"]["deals"] == 2


def test_options_that_were_changed_as_the_run_went_on_are_told(tmp_path):
    folder = train(tmp_path / "run", 300)
    train(folder, 600, "--resume", str(folder), "--learning-rate", "5e-4", "--evaluate-deals", "2")
    train(folder, 600, "--resume", str(folder))  # it has nothing left to do, and changes nothing
    assert make(folder, tmp_path / "card") == 0
    made = card.read_card(tmp_path / "card")
    assert made["former"] == [
        {"decisions": pytest.approx(300, abs=300), "options": {"total_decisions": 300, "learning_rate": 0.001}}
    ]
    assert "decisions: `total_decisions` 300, `learning_rate` 0.001\n" in (tmp_path / "card" / card.TEXT).read_text()


def test_nothing_tells_where_it_was_made(shipped):
    for name, content in contents(shipped).items():
        assert str(shipped.parent).encode() not in content, name
        assert b"/tmp" not in content, name


def test_its_matches_can_be_played_again(shipped):
    made, rules = card.read_card(shipped), Rules.preset("auction", **RULES)
    assert [match["opponent"] for match in made["matches"]] == ["random", "expert"]
    match = duplicate_match(rules, load(shipped), load("expert"), 20, made["seed"])
    found = made["matches"][1]
    assert (found["mean"], found["low"], found["high"], found["made"]) == (
        match.mean,
        match.low,
        match.high,
        match.made,
    )
    other = duplicate_match(rules, load("expert"), load(shipped), 20, made["seed"])
    assert made["as_opponent"][1]["mean"] == other.mean
    assert made["opponents"] == {name: fingerprint(load(name)) for name in ("random", "expert")}
    evaluation = json.loads((shipped / "evaluation.json").read_text())
    assert evaluation["matches"] == made["matches"]
    assert evaluation["agents"]["pair"] == made["fingerprint"]


def test_its_puzzles_are_those_of_its_rules(shipped):
    made, puzzles = card.read_card(shipped)["puzzles"], load_puzzles()
    rules = Rules.preset("auction", **RULES)
    mine = [puzzle for puzzle in puzzles if puzzle.rules == rules]
    assert made["puzzles"] == len(mine) > 0
    assert made["score"] == score(attempt(load(shipped), mine))
    assert sum(theme["puzzles"] for theme in made["themes"].values()) == len(mine)
    assert made["reference"]["name"] == "expert"
    assert (made["score"] == 1) == (made["failed"] == [])


def test_its_curve_is_the_runs(run, shipped):
    curve = card.read_card(shipped)["curve"]
    assert set(curve["points_per_deal"]) == {"random", "greedy", "expert"}
    places = np.array(curve["points_per_deal"]["expert"])
    assert places.shape[1] == 4
    assert (np.diff(places[:, 0]) > 0).all()
    assert (places[:, 2] <= places[:, 1]).all()
    assert (places[:, 1] <= places[:, 3]).all()
    assert {"entropy", "pass_rate", "explained_variance"} == set(curve["training"])
    assert curve["deals"] == 4
    picture = (shipped / "curve.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 60_000


def test_long_curves_are_thinned_with_both_ends():
    kept = card_curve._places([{step: step / 7 for step in range(0, 100_000, 10)}])
    assert len(kept) == card_curve.MOST
    assert (kept[0][0], kept[-1][0]) == (0, 99_990)


def test_a_learner_without_a_critic_has_a_picture_too():
    curve = {"points_per_deal": {"expert": [[1000, 0.1, 0.0, 0.2], [2000, 0.2, 0.1, 0.3]]}, "training": {}}
    assert card_curve.picture(curve).startswith(b"\x89PNG")


def test_what_the_exploiter_found_is_that_of_its_run(exploiter, shipped):
    (found,), there = card.read_card(shipped)["exploiters"], json.loads((exploiter / "evaluation.json").read_text())
    assert found["start"] == "a fresh agent"
    assert found["match"]["mean"] == there["matches"][0]["mean"]
    assert (found["decisions"], found["match"]["opponent"]) == (there["decisions"], "pair")


def test_all_exploiters_are_on_the_card_and_the_best_in_the_table(shipped):
    made = card.read_card(shipped)
    (fresh,) = made["exploiters"]
    copy = fresh | {"start": "a copy of it", "match": fresh["match"] | {"mean": 0.2, "low": 0.1, "high": 0.3}}
    made["exploiters"] = [fresh | {"match": fresh["match"] | {"mean": -0.5, "low": -0.6, "high": -0.4}}, copy]
    text = card_text.write(made)
    assert re.search(r"^\| a fresh agent \|.* -0\.500 \| -0\.600 to -0\.400 \|$", text, re.MULTILINE)
    assert re.search(r"^\| a copy of it \|.* \+0\.200 \| \+0\.100 to \+0\.300 \|$", text, re.MULTILINE)
    assert "+0.200 (+0.100 to +0.300)" in card_text.table([made])
    assert "-0.500" not in card_text.table([made])
    (told,) = [sentence for sentence in weaknesses(made) if "exploiter" in sentence]
    assert "began as a copy of it" in told
    made["exploiters"] = []
    assert "xploiter" not in card_text.chapters(made)[3]


def test_a_mixture_decides_by_the_other_one_in_its_phases_only():
    rules = Rules.preset("oklahoma")
    batch, rng = VectorGame(rules, num_games=200, seed=1), np.random.default_rng(1)
    greedy, expert = load("greedy"), load("expert")
    mixed = card_measures.MixedAgent(greedy, expert, card_measures.KINDS["discards"], rules, "mixed")
    differed = {False: 0, True: 0}
    for _ in range(40):
        actions = mixed.act(batch.observation, batch.mask, rng)
        by_greedy, by_expert = (each.act(batch.observation, batch.mask, rng) for each in (greedy, expert))
        discards = np.isin(batch.phase, (Phase.EXCHANGE, Phase.DISCARD))
        assert (actions == np.where(discards, by_expert, by_greedy)).all()
        for kind in differed:
            differed[kind] += int((by_greedy != by_expert)[discards == kind].sum())
        batch.step(actions)
    assert min(differed.values()) > 0


def test_people_can_read_it(shipped):
    made, text = card.read_card(shipped), (shipped / "card.md").read_text()
    for match in [*made["matches"], made["exploiters"][0]["match"]]:
        assert f"{match['mean']:+.3f}" in text
    for sentence in made["weaknesses"]:
        assert f"- {sentence}\n" in text
    assert "Made for a test." in text
    assert "![" in text
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len([line for line in code.splitlines() if line]) == 3
    assert 'pitch_v0.env(rules="auction", players=3)' in text
    assert "pitch play --rules auction --rule-options '{players: 3}' --against pair" in text


def test_weaknesses_follow_from_the_figures(shipped):
    made = card.read_card(shipped)

    def match(opponent, low, high):
        return made["matches"][0] | {"opponent": opponent, "low": low, "high": high, "mean": (low + high) / 2}

    matches = [match("greedy", 0.1, 0.3), match("bold", -0.1, 0.3), match("search", -0.3, -0.1)]
    strong = made | {"matches": matches, "as_opponent": [each | {"agent": "x"} for each in matches]}
    strong["kinds"] = [{"kind": "bids", "by": "search", "deals": 9, "mean": 0.2, "low": 0.1, "high": 0.3}]
    strong["exploiters"], strong["puzzles"] = [], made["puzzles"] | {"themes": {"low": {"puzzles": 2, "score": 0.5}}}
    text = "\n".join(weaknesses(strong))
    assert "loses to `search`, -0.200 (-0.300 to -0.100) points per deal" in text
    assert "not clear of `bold`" in text
    assert "greedy" not in text
    assert "Its bids cost it points" in text
    assert "low (50% of 2)" in text
    assert "No exploiter" in text
    strong["kinds"][0]["low"] = -0.1
    assert "cost it points" not in "\n".join(weaknesses(strong))


# Making it again.


def test_equal_runs_give_equal_cards(run, exploiter, shipped, tmp_path):
    assert make(run, tmp_path / "pair", "--exploiters", str(exploiter), "--note", "Made for a test.") == 0
    assert contents(tmp_path / "pair") == contents(shipped)


def test_measured_anew_it_keeps_what_is_known(shipped, tmp_path):
    out = tmp_path / "pair"
    shutil.copytree(shipped, out)
    assert make(out, out, "--seed", "5", "--deals", "10") == 0
    before, after = card.read_card(shipped), card.read_card(out)
    assert after["seed"] == 5
    assert after["matches"] != before["matches"]
    for name in ("curve", "exploiters", "note", "fingerprint", "sha256"):
        assert after[name] == before[name]
    assert sorted(contents(out)) == sorted(card.FILES)
    assert [path.name for path in tmp_path.iterdir()] == ["pair"]


def test_other_weights_keep_nothing(run, shipped, tmp_path):
    other, out = tmp_path / "run", tmp_path / "pair"
    shutil.copytree(shipped, out)
    train(other, 300, "--seed", "2")
    assert make(other, out) == 0
    made = card.read_card(out)
    assert made["fingerprint"] == load(other).fingerprint
    assert (made["exploiters"], made["note"]) == ([], "")


def test_a_failure_leaves_the_old_one(run, shipped, tmp_path, monkeypatch):
    out = tmp_path / "pair"
    shutil.copytree(shipped, out)
    monkeypatch.setattr(card_text, "write", lambda made: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        make(run, out)
    assert contents(out) == contents(shipped)
    assert [path.name for path in tmp_path.iterdir()] == ["pair"]


# What is refused.


def refused(capsys, *arguments: str) -> str:
    assert cli.main(["card", *arguments]) == 1
    error = capsys.readouterr().err.strip()
    assert "\n" not in error
    return error


def test_more_than_two_megabytes_are_refused(tmp_path, capsys):
    run = train(tmp_path / "wide", 1, "--width", "400")
    assert (run / checkpoint.MODEL).stat().st_size > card.LIMIT
    assert "at most 2,000,000" in refused(capsys, str(run), "--out", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "says"), [("expert", "no baseline's name"), ("search", "no baseline's name"), ("a b", "letters, digits")]
)
def test_names_that_are_taken_are_refused(name, says, run, tmp_path, capsys):
    assert says in refused(capsys, str(run), "--out", str(tmp_path / name))


def test_folders_of_other_things_stay(run, tmp_path, capsys):
    (tmp_path / "thesis.txt").write_text("years of work")
    assert "thesis.txt" in refused(capsys, str(run), "--out", str(tmp_path))
    assert "no part of a shipped agent" in refused(capsys, str(run), "--out", str(run))
    assert contents(tmp_path) == {"thesis.txt": b"years of work"}
    assert (run / checkpoint.RESUME).exists()


def test_runs_that_are_not_finished_or_damaged_are_refused(run, tmp_path, capsys):
    out = str(tmp_path / "out")
    assert "no folder of a run" in refused(capsys, str(tmp_path / "nothing"), "--out", out)
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    (copy / checkpoint.MODEL).unlink()
    assert "not finished" in refused(capsys, str(copy), "--out", out)
    (copy / checkpoint.MODEL).write_bytes((run / checkpoint.MODEL).read_bytes()[:-5])
    assert "damaged" in refused(capsys, str(copy), "--out", out)
    shutil.copy(run / checkpoint.MODEL, copy)
    for file in copy.glob("events*"):
        file.write_bytes(b"no events at all")
    assert "hold no matches" in refused(capsys, str(copy), "--out", out)


def test_exploiters_of_others_are_refused(run, exploiter, shipped, tmp_path, capsys):
    arguments = [str(run), "--out", str(tmp_path / "out"), "--exploiters"]
    assert "not a run that was trained against" in refused(capsys, *arguments, str(run))
    assert "there is no evaluation.json" in refused(capsys, *arguments, str(tmp_path))
    copy = tmp_path / "copy"
    shutil.copytree(exploiter, copy)
    text = (exploiter / "evaluation.json").read_text()
    (copy / "evaluation.json").write_text(text.replace(load(run).fingerprint, "0" * 16))
    assert "against other weights" in refused(capsys, *arguments, str(copy))
    (copy / "evaluation.json").write_text(text[:100])
    assert "damaged" in refused(capsys, *arguments, str(copy))


def with_header(folder: Path, out: Path, **changed) -> Path:
    """A copy of a run, with other things in the header of its model; those in ``config`` beside what is there."""
    shutil.copytree(folder, out)
    saved = checkpoint.read(out / checkpoint.MODEL)
    config = saved.header["config"] | changed.pop("config", {})
    header = {name: value for name, value in saved.header.items() if not name.endswith("_fingerprint")}
    checkpoint.write(out / checkpoint.MODEL, saved.tensors, header | {"config": config} | changed)
    return out


def test_an_exploiter_that_met_other_weights_is_refused(run, exploiter, tmp_path, capsys):
    """Though its match at the end was with these, as after the agent was trained on and the run finished again."""
    met = with_header(exploiter, tmp_path / "other", against_fingerprint="0" * 16)
    arguments = [str(run), "--out", str(tmp_path / "out"), "--exploiters"]
    assert "was trained against other weights, 0000000000000000, than" in refused(capsys, *arguments, str(met))
    agent = checkpoint.load_agent(run)
    for name, header in (("same", {"against_fingerprint": agent.fingerprint}), ("old", {})):
        found = card_exploiters.read(with_header(exploiter, tmp_path / name, **header), agent)
        assert found["start"] == "a fresh agent"


@pytest.mark.parametrize(
    ("start", "print_of", "began"),
    [
        ("", None, "a fresh agent"),
        ("same", None, "a copy of it"),  # an older run
        ("elsewhere", None, "another agent"),
        ("same", "other", "another agent"),
        ("elsewhere", "agent", "a copy of it"),
    ],
)
def test_an_exploiter_began_as_a_copy_where_the_weights_were_the_same(start, print_of, began, run, exploiter, tmp_path):
    agent = checkpoint.load_agent(run)
    against = checkpoint.read(exploiter / checkpoint.MODEL).header["config"]["against"]
    told = {} if print_of is None else {"start_fingerprint": {"agent": agent.fingerprint}.get(print_of, "0" * 16)}
    config = {"start": {"same": against}.get(start, start)}
    copy = with_header(exploiter, tmp_path / "copy", config=config, against_fingerprint=agent.fingerprint, **told)
    assert card_exploiters.read(copy, agent)["start"] == began


def test_opponents_of_other_rules_are_refused_before_anything_is_played(run, shipped, tmp_path, capsys):
    arguments = [str(run), "--out", str(tmp_path / "out"), "--opponents"]
    assert "plays other rules" in refused(capsys, *arguments, "random", "auction")
    assert "no agent 'nobody'" in refused(capsys, *arguments, "nobody")
    assert "its own opponent" in refused(capsys, str(run), "--out", str(tmp_path / "pair"), "--opponents", str(shipped))


def test_damaged_cards_are_refused(run, shipped, tmp_path, capsys):
    out = tmp_path / "pair"
    shutil.copytree(shipped, out)
    for text, says in (("{", "not JSON"), ("[1]", "format 2"), ('{"format": 1}', "format 2")):
        (out / "card.json").write_text(text)
        assert says in refused(capsys, str(run), "--out", str(out))


def test_cards_that_lack_something_are_refused(run, shipped, tmp_path, capsys):
    out = tmp_path / "pair"
    shutil.copytree(shipped, out)
    whole = card.read_card(shipped)
    damaged = [{"format": 2}, *({key: whole[key] for key in whole if key != name} for name in card.PARTS)]
    damaged += [whole | {name: 3.5 if name != "hours" else "long"} for name in card.PARTS]
    damaged += [whole | {"exploiters": [{}]}, whole | {"curve": {"deals": 4}}, whole | {"matches": [{}]}]
    for made in damaged:
        (out / "card.json").write_text(json.dumps(made))
        with pytest.raises(ValueError, match=r"pair/card\.json is damaged: ") as wrong:
            card.read_card(out)
        assert "\n" not in str(wrong.value)
    (out / "card.json").write_text('{"format": 2}')
    assert "card.json is damaged: it does not tell its name, fingerprint" in refused(
        capsys, str(run), "--out", str(out)
    )


# All of them.


def test_the_table_tells_of_every_agent(shipped):
    page = (shipped.parent / "README.md").read_text()
    made = card.read_card(shipped)
    expert = made["matches"][1]
    assert f"[`pair`](pair/card.md) | `auction`, `players=3` | {made['decisions']:,} decisions" in page
    assert f"{expert['mean']:+.3f} ({expert['low']:+.3f} to {expert['high']:+.3f})" in page
    assert page.endswith("\nend\n")
    assert card_text.with_table(page, shipped.parent) == page


def test_the_tables_of_the_repository_are_as_its_cards():
    readme = ROOT / "checkpoints" / "README.md"
    assert card_text.with_table(readme.read_text(), readme.parent) == readme.read_text()
    reference = runpy.run_path(str(ROOT / "docs" / "make_reference.py"))
    assert readme in reference["PAGES"]
    assert reference["filled"](readme.read_text()) == readme.read_text()


def test_shipped_agents_are_whole_and_small():
    for name in agents_by_name.shipped():
        folder = agents_by_name.SHIPPED / name
        assert load(name).fingerprint == load(folder).fingerprint
        assert (folder / checkpoint.MODEL).stat().st_size <= card.LIMIT
        if (folder / card.CARD).exists():
            made = card.read_card(folder)
            assert (made["name"], made["fingerprint"]) == (name, load(name).fingerprint)
            assert (folder / card.TEXT).read_text() == card_text.write(made)


# Loading by name.


def test_a_name_is_a_name_whatever_lies_in_the_current_folder(shipped, tmp_path, monkeypatch):
    for name in ("expert", "auction"):
        shutil.copytree(shipped, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert type(load("expert")).__name__ == "ExpertAgent"
    assert load("auction").fingerprint == load(ROOT / "checkpoints" / "auction").fingerprint
    assert load("./expert").fingerprint == load(Path("auction")).fingerprint == load(shipped).fingerprint


def test_a_shipped_agent_plays_by_its_name(shipped, monkeypatch):
    monkeypatch.setattr(agents_by_name, "SHIPPED", shipped.parent)
    batch = VectorGame(Rules.preset("auction", **RULES), num_games=3, seed=1)
    agent = load("pair")
    assert agent.name == "pair"
    actions = agent.act(batch.observation, batch.mask, np.random.default_rng())
    assert batch.mask[np.arange(3), actions].all()
    with pytest.raises(ValueError, match=r"one of random, .*search, pair$"):
        load("pairs")


def test_without_any_the_error_says_where_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(agents_by_name, "SHIPPED", tmp_path / "checkpoints")
    with pytest.raises(ValueError, match="trained agents come with the repository"):
        load("auction")
