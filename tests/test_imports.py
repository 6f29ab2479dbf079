"""Who imports whom: the order of the files in design is the order of imports, and is held to here."""

import ast
import functools
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# A file imports only what stands above it; what is not listed here are other interfaces, which stand below.
ORDER = [
    *(
        "files",
        "kernel",
        "cards",
        "actions",
        "rules",
        "state",
        "chance",
        "scoring",
        "engine",
        "observation",
        "sampling",
    ),
    *("result", "stored", "game", "vector", "record_fields", "record", "recorder", "render", "money", "pitch_v0"),
    *("open_spiel_deal", "open_spiel_parameters", "open_spiel_observer"),
]
CORE = ORDER[: ORDER.index("vector") + 1]


def imports(file: Path, top_level: bool = False) -> Iterator[str]:
    """The dotted names that a file imports, ``package.module`` for a module of a package here."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    inside = {
        id(node) for function in ast.walk(tree) if isinstance(function, ast.FunctionDef) for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if top_level and id(node) in inside:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute here"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if (ROOT / (whole.replace(".", "/") + ".py")).exists() else str(node.module)


def graph(package: str, top_level: bool = False) -> dict[str, set[str]]:
    """For each module of a package the modules of it that it imports."""
    return {
        file.stem: {name.split(".")[1] for name in imports(file, top_level) if name.startswith(f"{package}.")}
        for file in sorted((ROOT / package).glob("*.py"))
    }


def reachable(links: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    new = [start]
    while new:
        here = new.pop()
        new += links[here] - found
        found |= links[here]
    return found


def third_parties(file: Path) -> set[str]:
    names = {name.split(".")[0] for name in imports(file)}
    return names - set(sys.stdlib_module_names) - {"pitch_env", "agents"}


FILES = sorted((ROOT / "pitch_env").glob("*.py")) + sorted((ROOT / "agents").glob("*.py"))
each_file = pytest.mark.parametrize("file", FILES, ids=[f"{file.parent.name}.{file.stem}" for file in FILES])


@pytest.mark.parametrize("name", [name for name in graph("pitch_env") if name != "__init__"])
def test_a_file_imports_only_what_stands_above_it(name: str) -> None:
    place = ORDER.index(name) if name in ORDER else len(ORDER)
    assert graph("pitch_env")[name] <= set(ORDER[:place])


@pytest.mark.parametrize("name", ["observation", "sampling"])
def test_what_sees_a_view_knows_no_transitions(name: str) -> None:
    assert not reachable(graph("pitch_env"), name) & {"engine", "game", "vector"}


def test_text_stays_out_of_the_kernels() -> None:
    """Cards and actions know nothing about rules; the rules nothing about states."""
    links = graph("pitch_env")
    assert reachable(links, "actions") <= {"cards", "kernel"}
    assert reachable(links, "rules") <= {"actions", "cards", "kernel"}
    assert not links["kernel"]


@each_file
def test_the_environment_never_imports_agents_or_torch(file: Path) -> None:
    names = {name.split(".")[0] for name in imports(file)}
    if file.parent.name == "pitch_env":
        assert not names & {"agents", "torch", "train", "tests"}
    assert "train" not in names
    if file.stem != "pitch_v0":
        assert "pettingzoo" not in names
    if file.parent.name == "pitch_env" and file.stem in CORE:
        assert third_parties(file) <= {"numba", "numpy"}


@functools.cache
def learners() -> set[str]:
    """The modules of agents that have a ``train``."""
    found: set[str] = set()
    for file in (ROOT / "agents").glob("*.py"):
        body = ast.parse(file.read_text(encoding="utf-8")).body
        if any(isinstance(node, ast.FunctionDef) and node.name == "train" for node in body):
            found.add(file.stem)
    return found


def test_learners_do_not_import_each_other() -> None:
    links = graph("agents")
    assert "ppo" in learners()
    for learner in learners():
        assert not reachable(links, learner) & (learners() - {learner})


def test_shared_pieces_do_not_import_learners() -> None:
    """Nothing but the command lines may know a learner."""
    links = graph("agents")
    for name in links:
        if name not in learners() | {"cli", "__main__", "agent"} and not name.startswith("command_"):
            assert not links[name] & learners()


@pytest.mark.parametrize("package", ["pitch_env", "agents"])
def test_imports_make_no_circle(package: str) -> None:
    links = graph(package, top_level=True)
    del links["__init__"]
    links = {name: others - {"__init__"} for name, others in links.items()}
    for name in links:
        assert name not in reachable(links, name)


@each_file
def test_what_is_imported_is_declared(file: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [*project["dependencies"], *sum(project["optional-dependencies"].values(), [])]  # noqa: RUF017, short
    packages = {re.split(r"[\[<>=~!; ]", requirement)[0].lower().replace("-", "_") for requirement in declared}
    names = {"yaml": "pyyaml", "PIL": "pillow", "pyspiel": "open_spiel"}
    assert not {name for name in third_parties(file) if names.get(name, name).lower() not in packages}


def test_the_plain_rules_share_nothing_with_the_engine() -> None:
    assert [name for name in imports(ROOT / "tests" / "plain.py") if name.startswith("pitch_env")] == ["pitch_env"]


def loaded(code: str) -> set[str]:
    """The top-level modules that some code loads."""
    process = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=True,
    )
    return {name.split(".")[0] for name in process.stdout.split()}


def test_importing_the_engine_is_light() -> None:
    heavy = {"torch", "pettingzoo", "gymnasium", "matplotlib", "rich", "agents", "pandas", "PIL"}
    assert not loaded("import pitch_env; pitch_env.Game; pitch_env.VectorGame; pitch_env.Rules") & heavy
    assert "pettingzoo" in loaded("import pitch_env; pitch_env.pitch_v0")


def test_importing_the_environment_does_without_torch() -> None:
    assert not loaded("from pitch_env import pitch_v0; pitch_v0.env()") & {"torch", "agents", "matplotlib"}
