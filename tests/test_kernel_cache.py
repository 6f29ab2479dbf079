"""The cache of compiled kernels: never stale, never in the way.

Each test makes a little package with the real ``kernel.py`` and runs it in processes of its own.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import pitch_env.kernel

LOW = "from {package}.kernel import kernel\n\n\n@kernel\ndef low(x):\n    return x + {number}\n"
TOP = "from {package}.kernel import kernel\n{imports}\n\n\n@kernel\ndef top(x):\n    return 100 * {call}(x)\n"
RUN = (
    "from {package}.{file} import top\n"
    "print(top(1), sum(top.stats.cache_hits.values()), sum(top.stats.cache_misses.values()), top._cache.cache_path)\n"
)

# How the upper file may come by the lower kernel.
IMPORTS = {
    "from module import name": ("from {package}.low import low", "low"),
    "from package import module": ("from {package} import low", "low.low"),
    "from . import module": ("from . import low", "low.low"),
    "from .module import name": ("from .low import low", "low"),
    "import module": ("import {package}.low as lower", "lower.low"),
    "in brackets": ("from {package}.low import (  # the (one) kernel\n    low,\n)", "low"),
    "modules in brackets": ("from {package} import (  # the one (and only)\n    kernel as _,\n    low,\n)", "low.low"),
    "on two lines": ("from {package} import kernel as _, \\\n    low", "low.low"),
    "through a third file": ("from {package}.middle import low", "low"),
    "through the package": ("from {package} import exported", "exported"),
}
FILES = {way: f"top{i}" for i, way in enumerate(IMPORTS)}


class Package:
    """A little package with the real decorator, a lower kernel, and an upper one in a file for each way to import."""

    def __init__(self, folder: Path, name: str = "mini") -> None:
        self.folder, self.name = folder / name, name
        self.folder.mkdir(parents=True)
        self.environment = {**os.environ, "HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "xdg")}
        for variable in ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "PYTHONPATH"):
            self.environment.pop(variable, None)
        shutil.copy(pitch_env.kernel.__file__, self.folder / "kernel.py")
        (self.folder / "__init__.py").write_text(f"from {name}.low import low as exported\n")
        (self.folder / "middle.py").write_text(f"from {name}.low import low\n")
        for way, (imports, call) in IMPORTS.items():
            text = TOP.format(package=name, imports=imports.format(package=name), call=call)
            (self.folder / f"{FILES[way]}.py").write_text(text)
        self.write(1)

    def write(self, number: int) -> None:
        """The lower kernel adds a number."""
        (self.folder / "low.py").write_text(LOW.format(package=self.name, number=number))

    def start(self, ways: Iterable[str] = ("from module import name",)) -> subprocess.Popen:
        code = "".join(RUN.format(package=self.name, file=FILES[way]) for way in ways)
        return subprocess.Popen(
            [sys.executable, "-W", "error", "-c", code], cwd=self.folder.parent, env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self) -> tuple[int, int, int, str]:
        """Returns (what the upper kernel gives for 1, hits and misses of the cache, where the cache lies)."""
        return finish(self.start())[0]


def finish(process: subprocess.Popen) -> list[tuple[int, int, int, str]]:
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert not errors
    lines = [line.split(maxsplit=3) for line in output.splitlines()]
    return [(int(result), int(hits), int(misses), place) for result, hits, misses, place in lines]


def test_a_change_in_another_file_is_noticed(tmp_path: Path) -> None:
    package = Package(tmp_path)
    for number, hits in ((1, 0), (1, 1), (5, 0), (5, 1)):
        package.write(number)
        results = dict(zip(IMPORTS, finish(package.start(IMPORTS)), strict=True))
        assert {way: result[:3] for way, result in results.items()} == dict.fromkeys(
            IMPORTS, (100 * (1 + number), hits, 1 - hits)
        )


def test_a_change_of_the_same_length_and_time_is_noticed(tmp_path: Path) -> None:
    """A checkout or a copy may keep the times of files."""
    package = Package(tmp_path)
    times = os.stat(package.folder / "low.py")
    assert package.run()[0] == 200
    package.write(7)
    os.utime(package.folder / "low.py", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert package.run()[0] == 800


def test_a_change_of_the_decorator_is_noticed(tmp_path: Path) -> None:
    package = Package(tmp_path)
    package.run()
    with (package.folder / "kernel.py").open("a") as file:
        file.write("\n# changed\n")
    assert package.run()[:3] == (200, 0, 1)


def test_a_change_elsewhere_keeps_the_cache(tmp_path: Path) -> None:
    package = Package(tmp_path)
    package.run()
    (package.folder / "other.py").write_text("print('never imported')\n")
    assert package.run()[:3] == (200, 1, 0)


def test_a_moved_package_does_not_use_what_was_compiled_elsewhere(tmp_path: Path) -> None:
    package = Package(tmp_path / "one")
    package.run()
    shutil.copytree(package.folder, tmp_path / "two" / "mini")
    moved = Package.__new__(Package)
    vars(moved).update(vars(package), folder=tmp_path / "two" / "mini")
    assert moved.run()[0] == 200
    moved.write(3)
    assert moved.run()[0] == 400
    assert package.run()[:3] == (200, 1, 0)


def test_other_caches_are_left_alone(tmp_path: Path) -> None:
    """Of other packages, of other files of this one, and of other sources that may still be in use."""
    package = Package(tmp_path)
    place = Path(package.run()[3]).parent
    foreign = [place / "other.cpython-311.pyc", place / "other.f-1.py311.nbi", place / "low-00000000-1111" / "x.nbc"]
    for file in foreign:
        file.parent.mkdir(exist_ok=True)
        file.write_text("kept")
        os.utime(file, (0, 0))
        os.utime(file.parent, (0, 0)) if file.parent != place else None
    package.write(5)
    package.run()
    assert [file.read_text() for file in foreign] == ["kept"] * 3
    folders = {path.name for path in place.iterdir() if path.name.startswith("top0-")}
    assert len(folders) == 2  # what was compiled a moment ago may be in use


def test_old_entries_of_the_same_file_go(tmp_path: Path) -> None:
    package = Package(tmp_path)
    old = Path(package.run()[3])
    os.utime(old, (0, 0))
    package.write(5)
    new = Path(package.run()[3])
    assert old != new
    assert new.exists()
    assert not old.exists()


def block(folder: Path) -> None:
    """Make a folder unwritable even for root: there is a file where it should be."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("in the way")


def test_beside_the_source(tmp_path: Path) -> None:
    package = Package(tmp_path)
    assert Path(package.run()[3]).parent == package.folder / "__pycache__"


def test_a_read_only_package_uses_the_users_cache(tmp_path: Path) -> None:
    package = Package(tmp_path)
    block(package.folder / "__pycache__")
    result = package.run()
    assert result[:3] == (200, 0, 1)
    if sys.platform != "win32":
        assert Path(result[3]).parent == tmp_path / "xdg" / "pitch-env"
    assert package.run()[:3] == (200, 1, 0)
    package.write(5)
    assert package.run()[:3] == (600, 0, 1)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such variable")
@pytest.mark.parametrize("value", [None, ""])
def test_without_a_name_for_it_the_users_cache_is_in_his_home(tmp_path: Path, value: str | None) -> None:
    package = Package(tmp_path)
    block(package.folder / "__pycache__")
    del package.environment["XDG_CACHE_HOME"]
    if value is not None:
        package.environment["XDG_CACHE_HOME"] = value
    assert Path(package.run()[3]).parent == tmp_path / "home" / ".cache" / "pitch-env"


def test_numbas_own_setting_is_followed(tmp_path: Path) -> None:
    package = Package(tmp_path)
    package.environment["NUMBA_CACHE_DIR"] = str(tmp_path / "numba")
    assert Path(package.run()[3]).is_relative_to(tmp_path / "numba")
    assert package.run()[:3] == (200, 1, 0)
    package.write(5)
    assert package.run()[0] == 600


NO_CACHE = "from mini.top0 import top\nprint(top(1), 0, 0, type(top._cache).__name__)\n"


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    package = Package(tmp_path)
    block(package.folder / "__pycache__")
    block(tmp_path / "xdg")
    block(tmp_path / "home")
    package.environment["LOCALAPPDATA"] = str(tmp_path / "xdg")
    command = [sys.executable, "-W", "error", "-c", NO_CACHE]
    process = subprocess.run(
        command, cwd=tmp_path, env=package.environment, text=True, capture_output=True, timeout=300
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.split() == ["200", "0", "0", "NullCache"]


def test_processes_at_once(tmp_path: Path) -> None:
    package = Package(tmp_path)
    assert {finish(process)[0][0] for process in [package.start() for _ in range(3)]} == {200}
    assert package.run()[:3] == (200, 1, 0)
    package.write(5)
    assert {finish(process)[0][0] for process in [package.start() for _ in range(3)]} == {600}


def test_a_broken_entry_does_no_harm(tmp_path: Path) -> None:
    package = Package(tmp_path)
    place = Path(package.run()[3])
    index = next(place.glob("*.nbi"))
    index.write_bytes(b"")
    assert package.run()[0] == 200
    assert package.run()[0] == 200


def test_kernels_of_no_file(tmp_path: Path) -> None:
    """Typed at a prompt: compiled, and not kept."""
    package = Package(tmp_path)
    code = (
        "from mini.kernel import kernel\n\n@kernel\ndef f(x):\n    return x + 1\n\nprint(f(1), type(f._cache).__name__)"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    process = subprocess.run(
        command, cwd=tmp_path, env=package.environment, text=True, capture_output=True, timeout=300
    )
    assert process.stdout.split() == ["2", "NullCache"], process.stderr


def test_two_packages_do_not_share(tmp_path: Path) -> None:
    one, two = Package(tmp_path, name="mini"), Package(tmp_path, name="maxi")
    two.write(3)
    for package in (one, two):
        block(package.folder / "__pycache__")  # both in the user's cache
    assert (one.run()[0], two.run()[0]) == (200, 400)
    assert (one.run()[:2], two.run()[:2]) == ((200, 1), (400, 1))
