"""The documentation: its examples run as printed, its tables are as the code is, and the site builds by itself."""

import ast
import dataclasses
import importlib.util
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pitch_env import Rules, pitch_v0
from pitch_env.record_fields import FIELDS, Deal, Result

pytest.importorskip("mkdocs")

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
FENCE = re.compile(r'^( *)```(\w+)(?: title="(.*?)")?\n(.*?)^ *```$', re.DOTALL | re.MULTILINE)
LIMIT = 300  # seconds that one block may take
ONE_THREAD = {"PITCH_THREADS": "1", "OMP_NUM_THREADS": "1"}  # what is run beside the tests leaves them their cores
REFERENCE = runpy.run_path(str(DOCS / "make_reference.py"))


@dataclasses.dataclass
class Block:
    """A block of code of a page: its language, its title (of a diff the file that it changes), and the code."""

    language: str
    title: str
    code: str


def blocks(page: Path) -> list[Block]:
    found = FENCE.findall(page.read_text())
    return [
        Block(language, title, re.sub(f"^{indent}", "", code, flags=re.MULTILINE))
        for indent, language, title, code in found
    ]


# The examples.


def with_examples() -> list[str]:
    runs = {"python", "sh", "diff"}
    return [page.stem for page in PAGES if runs & {block.language for block in blocks(page)}]


def patch(folder: Path, block: Block) -> None:
    """Change a file as a diff says: what it takes away, with the lines around it, is there exactly once."""
    lines = block.code.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    text = (folder / block.title).read_text()
    assert text.count(before) == 1, f"{block.title} does not have exactly once:\n{before}"
    (folder / block.title).write_text(text.replace(before, after))


@pytest.fixture
def folder(tmp_path) -> Path:
    """The root of a copy of the repository as the pages see it, and a shell in which ``pitch`` is installed."""
    for name in ("configs", "checkpoints", "train.py"):
        (tmp_path / name).symlink_to(ROOT / name)
    command = tmp_path / "bin" / "pitch"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m agents "$@"\n')
    command.chmod(0o755)
    return tmp_path


def run(words: list[str], folder: Path, **variables: str) -> str:
    """Run a program as on the command line; it must end well. Gives what it printed."""
    path = f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    variables = ONE_THREAD | {"PATH": path, "PYTHONPATH": str(ROOT)} | variables
    done = subprocess.run(
        words, cwd=folder, env=os.environ | variables, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert done.returncode == 0, f"{words[-1]}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("name", [name for name in with_examples() if name != "rule"])
def test_the_examples_run(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    names = {"__name__": "__main__"}  # the blocks of a page follow each other, as in one session
    for block in blocks(DOCS / f"{name}.md"):
        needed = block.title.removeprefix("needs ")
        if needed and importlib.util.find_spec(needed) is None:
            continue
        if block.language == "sh":
            run(["sh", "-ec", block.code], folder)
        elif block.language == "python":
            exec(compile(block.code, f"{name}.md", "exec"), names)


def test_a_rule_is_added_as_the_page_says(folder):
    for name in ("pitch_env", "agents", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "cases", "puzzles"))
    page = blocks(DOCS / "rule.md")
    assert {block.language for block in page} == {"diff", "sh", "python"}
    for block in page:
        if block.language == "diff":
            patch(folder, block)
    uncompiled = {"PYTHONPATH": str(folder), "NUMBA_DISABLE_JIT": "1"}
    for block in page:
        if block.language == "sh":
            assert "wins the game at once" in run(["sh", "-ec", block.code], folder, **uncompiled)
        elif block.language == "python":
            run([sys.executable, "-c", block.code], folder, **uncompiled)


def test_every_tutorial_has_examples_and_every_block_a_language():
    tutorials = re.search(r"- Tutorials:\n((?: {6}- .*\n)+)", (ROOT / "mkdocs.yml").read_text())
    assert tutorials is not None
    names = re.findall(r"(\w+)\.md", tutorials[1])
    assert len(names) == 6
    assert set(names) <= set(with_examples())
    for page in PAGES:
        fences = re.findall(r"^ *```(.*)$", page.read_text(), re.MULTILINE)
        assert all(fences[::2]), f"{page.name} has a block without a language: {fences}"
        assert not any(fences[1::2]), f"{page.name} has a block that is not closed"


def test_a_patch_that_does_not_fit_is_noticed(tmp_path):
    (tmp_path / "a.py").write_text("one\ntwo\n")
    patch(tmp_path, Block("diff", "a.py", " one\n+and\n two\n"))
    assert (tmp_path / "a.py").read_text() == "one\nand\ntwo\n"
    with pytest.raises(AssertionError, match="exactly once"):
        patch(tmp_path, Block("diff", "a.py", "-three\n"))


# The tables.


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_tables_are_as_the_code_is(page):
    # Versions of Python break the lines of --help differently, so words are compared and not lines.
    here, there = page.read_text(), REFERENCE["filled"](page.read_text())
    assert here.split() == there.split(), f"{page.name} is out of date: python docs/make_reference.py writes it anew"


def test_every_table_is_somewhere():
    names = {found[2] for page in PAGES for found in REFERENCE["BLOCK"].finditer(page.read_text())}
    assert {name.partition("-")[0] for name in names} == set(REFERENCE["BLOCKS"])
    assert {f"preset-{name}" for name in Rules.presets()} <= names


def test_rewards_and_records_have_all_fields():
    environment, records = (DOCS / "environment.md").read_text(), (DOCS / "records.md").read_text()
    assert re.findall(r'^\| `"(\w+)"` \|', environment.split("## Rewards")[1].split("\n## ")[0], re.MULTILINE) == list(
        pitch_v0.REWARDS
    )
    fields = re.findall(r"^\| `(\w+)` \|", records, re.MULTILINE)
    assert fields == [*FIELDS, *(each.name for kind in (Deal, Result) for each in dataclasses.fields(kind))]
    modes = re.findall(r'^\| `"(\w+)"` \|', environment.split("## Rendering")[1].split("\n## ")[0], re.MULTILINE)
    assert modes == pitch_v0.raw_env.metadata["render_modes"]


def test_options_that_pages_name_are_there():
    known = set(re.findall(r"--[a-z-]+", (DOCS / "commands.md").read_text()))
    known |= set(re.findall(r'"(--[a-z-]+)"', (ROOT / "tests" / "benchmarks" / "sweep_training.py").read_text()))
    others = {
        "--head",
        "--address",
        "--logdir",
        "--games",
        "--run",
        "--strict",
        "--nproc-per-node",
        "--nnodes",
        "--no-deps",
        "--rdzv-endpoint",
    }
    for page in PAGES:
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page.read_text()))
        assert named <= known | others, page.name


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_files_that_pages_name_are_there(page):
    # Blocks of text show what would take too long to run, so that nothing else would notice a wrong name in them.
    files = r"(?<![\w/.])(?:tests|docs|configs|pitch_env|agents)/[\w/]+\.(?:py|yaml|toml|md)\b"
    named = set(re.findall(files, page.read_text()))
    assert not [name for name in named if not (ROOT / name).exists()]


def test_figures_in_the_rationale_stand_where_it_says():
    words, trained = ((DOCS / "rationale.md").read_text(), (DOCS / "training.md").read_text())
    for figure in re.findall(r"\d[\d.]* (?:million|minutes)", words):
        assert figure in trained, figure
    tables = ast.get_docstring(ast.parse((ROOT / "agents" / "tournament.py").read_text()))
    for figure in re.findall(r"a factor of ([\d.]+)|and of ([\d.]+)", words):
        assert "".join(figure) in tables


# The site.


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site as ``make docs`` builds it, where nothing can be reached."""
    out = tmp_path_factory.mktemp("site")
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | nowhere | ONE_THREAD, capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 0, done.stderr
    assert "mkdocs build --strict" in (ROOT / "Makefile").read_text()
    return out


def test_the_site_has_every_page_and_asks_nobody_else(site):
    for page in PAGES:
        html = (site / ("" if page.stem == "index" else page.stem) / "index.html").read_text()
        assert not re.findall(r"""<(?:script|img|iframe|source)[^>]*src=["']?(?:https?:)?//""", html)
        assert not re.findall(r"""<link[^>]*href=["']?(?:https?:)?//""", html)
        assert "googleapis" not in html
    assert not list(site.rglob("*.py"))


def test_the_api_page_shows_what_is_public(site):
    html = (site / "api" / "index.html").read_text()
    for name in ("Rules.preset", "Game.determinize", "VectorGame.step", "pitch_v0.raw_env.step", "pitch_v0.env"):
        assert f'id="pitch_env.{name}"' in html, name
    for name in ("agent.load", "evaluation.duplicate_match", "solver.Solver", "exported.load", "ppo_config.Config"):
        assert f'id="agents.{name}"' in html, name


def pixels(file: Path) -> np.ndarray:
    with Image.open(file) as picture:
        return np.array(picture.convert("RGB"))


def test_pictures_are_small_and_there():
    pictures = sorted((DOCS / "pictures").glob("*.png"))
    assert [picture.stem for picture in pictures] == ["cross", "curves", "table", "web"]
    text = (DOCS / "pictures.md").read_text()
    for picture in pictures:
        assert picture.stat().st_size < 150_000
        assert pixels(picture).shape[1] >= 800
        assert f"make_pictures.py {picture.stem}`" in text


def test_a_picture_is_made_by_its_command(tmp_path):
    run([sys.executable, str(DOCS / "make_pictures.py"), "table", "--out", str(tmp_path)], ROOT)
    here, there = pixels(tmp_path / "table.png"), pixels(DOCS / "pictures" / "table.png")
    assert (here == there).all(2).mean() > 0.95  # the edges of letters are up to the version of Pillow
