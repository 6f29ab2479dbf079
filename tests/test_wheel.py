"""The project as users install it: a wheel, in a folder where nothing can be written, by two processes at once."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Plays a little and says where the package lies and how many kernels were loaded from the cache or compiled.
CODE = """
import pitch_env
from pitch_env import Rules, VectorGame, vector
batch = VectorGame(Rules.preset("auction"), num_games=8)
batch.random_rollout(1000)
stats = [getattr(vector, door).stats for door in ("_start", "_step", "_random_rollout")]
count = lambda kind: sum(sum(getattr(each, kind).values()) for each in stats)
print(pitch_env.__file__, count("cache_hits"), count("cache_misses"), batch.observation.sum())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's wheel, built from a copy of the sources."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE", "train.py"):
        shutil.copy(ROOT / name, source)
    for name in ("pitch_env", "agents", "checkpoints"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    pip(["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(source / "dist"), str(source)])
    (found,) = (source / "dist").glob("*.whl")
    return found


def pip(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_wheel_in_a_read_only_folder_keeps_its_kernels(wheel: Path, tmp_path: Path) -> None:
    site, home = tmp_path / "site", tmp_path / "home"
    home.mkdir()
    pip(["install", "--no-deps", "--no-index", "--no-compile", "--target", str(site), str(wheel)])
    # A file in the cache's place keeps even the superuser from writing there, whom permissions do not bind.
    (site / "pitch_env" / "__pycache__").write_text("not a folder")
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    for name in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT"):
        environment.pop(name, None)

    def start() -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-c", CODE],
            cwd=home,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    at_once = [start(), start()]
    answers = [process.communicate() for process in at_once]
    assert not any(process.returncode for process in at_once), answers
    output, errors = (third := start()).communicate()
    assert third.returncode == 0, errors
    place, hits, misses, checksum = output.split()
    assert Path(place) == site / "pitch_env" / "__init__.py"
    assert (hits, misses) == ("3", "0")  # what the first two compiled was kept, whichever of them was faster
    assert {answer.split()[3] for answer, _ in answers} == {checksum}
    assert list((home / ".cache" / "pitch-env").iterdir())


def test_a_wheel_has_the_shipped_agents_by_name(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    code = "from agents.agent import SHIPPED, shipped; print(SHIPPED, *shipped())"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=tmp_path, env=environment, text=True, capture_output=True, check=True)
    place, *names = done.stdout.split()
    assert Path(place) == tmp_path / "agents" / "checkpoints"
    assert names == sorted(path.parent.name for path in (ROOT / "checkpoints").glob("*/model.safetensors"))
    for name in names:
        for file in (ROOT / "checkpoints" / name).iterdir():
            assert (Path(place) / name / file.name).read_bytes() == file.read_bytes()
