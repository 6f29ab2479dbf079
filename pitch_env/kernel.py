"""The one decorator for kernels: functions on records that Numba compiles.

A kernel runs without compilation too (``NUMBA_DISABLE_JIT=1``), which is slow but lets a debugger or a coverage tool
look inside. Everything that needs to know which of the two is happening is in this file.

Numba's own cache notices a change in the file of the cached function only, not in a kernel that this one calls from
another file, so an upgrade could play by the old rules. Here the folder of the cache is named by a hash of every
source file that a kernel could be built from, those that its file imports: a stale entry cannot be found, because it
lies somewhere else.
"""

import contextlib
import functools
import hashlib
import itertools
import os
import queue
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator


def _num_threads() -> int:
    """The cores that this process may use; PITCH_THREADS says fewer. Raises ValueError for what is no number."""
    said = os.environ.get("PITCH_THREADS", "").strip()
    if not said:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not said.isascii() or not said.isdigit() or int(said) < 1:
        raise ValueError(f"the environment variable PITCH_THREADS={said!r} is not allowed; it is a number from 1")
    return int(said)


NUM_THREADS = _num_threads()

HEAD_START = 300  # steps of games that the calling thread does while the others wake up

config: Any = numba.config  # filled in at run time, so type checkers cannot know it

_IMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+import\s+(\([^)]*\)|[^\n]*)|import\s+([^\n]*))", re.MULTILINE)


def _imported_files(file: Path, source: str) -> Iterator[Path]:
    """The files that a source imports from its own folder or from a package beside it."""
    source = re.sub(r"#[^\n]*|\\\n", " ", source)  # without comments, each statement on a line
    for package, names, modules in _IMPORT.findall(source):
        for name in re.findall(r"\w+", names):
            found = list(_files_of(file, f"{package}.{name}"))
            yield from found or _files_of(file, package)  # a module, or a name in one
        for module in re.findall(r"[\w.]+", modules):
            yield from _files_of(file, module)


def _files_of(file: Path, module: str) -> Iterator[Path]:
    path = module.strip(".").replace(".", "/")
    for place in (file.parent, file.parent.parent):
        names = (place / f"{path}.py", place / path / "__init__.py") if path else (place / "__init__.py",)
        yield from (name for name in names if name.is_file())


@functools.cache
def source_hash(file: Path) -> str:
    """The hash of a source file and of all that it imports, directly or not, as far as they are neighbours of it."""
    files, new = {}, [file, Path(__file__).resolve()]
    while new:
        here = new.pop()
        if here not in files:
            files[here] = here.read_text()
            new += _imported_files(here, files[here])
    digest = hashlib.sha256()
    for here in sorted(files):
        digest.update(here.name.encode() + b"\0" + files[here].encode() + b"\0")
    return digest.hexdigest()[:16]


def _candidate_roots(folder: Path) -> list[Path]:
    """Where a cache may lie, best first: where the user says, beside the source, in the user's cache folder."""
    if config.CACHE_DIR:
        return [Path(config.CACHE_DIR) / "pitch-env"]
    if sys.platform == "win32":
        home = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return [folder / "__pycache__", home / "pitch-env"]


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


@functools.cache
def cache_folder(file: Path) -> Path | None:
    """The cache for the kernels written in ``file``, or None where nothing can be written (then nothing is kept)."""
    name = f"{file.stem}-{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    for root in _candidate_roots(file.parent):
        place = root / f"{name}-{source_hash(file)}"
        if _writable(place):
            _remove_old(root.glob(f"{name}-*"), place)
            return place
    return None


def _remove_old(folders: Iterable[Path], kept: Path) -> None:
    """Remove caches of other sources that have not been made in the last day, and so are in nobody's use."""
    with contextlib.suppress(OSError):  # another process may be doing the same
        for folder in folders:
            if folder != kept and folder.stat().st_mtime < kept.stat().st_mtime - 86400:
                shutil.rmtree(folder, ignore_errors=True)


class _Locator(_CacheLocator):
    """Tells Numba where a kernel's cache lies and when it is fresh."""

    def __init__(self, function: Callable, file: Path) -> None:
        self._py_file = function.__code__.co_filename
        self._line = function.__code__.co_firstlineno
        self._file = file

    def get_cache_path(self) -> str:
        return str(cache_folder(self._file))

    def get_source_stamp(self) -> str:
        return source_hash(self._file)

    def get_disambiguator(self) -> str:
        return str(self._line)


class _CacheImpl(CompileResultCacheImpl):
    def __init__(self, function: Callable) -> None:
        file = Path(function.__code__.co_filename).resolve()
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Locator(function, file)
        self._filename_base = self.get_filename_base(f"{file.stem}.{function.__qualname__}", sys.abiflags)


class _Cache(FunctionCache):
    _impl_class = _CacheImpl

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(signature, target_context)
        except Exception:  # an entry that was cut off or scribbled over may fail in any way: compile anew
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        with contextlib.suppress(OSError):  # a full disk: what is compiled runs all the same
            super().save_overload(signature, data)


def kernel(function: Callable | None = None, *, inline: bool = True, allocates: bool = False) -> Any:
    """Compile ``function`` with Numba, cached, and force it into the kernels that call it.

    With ``inline=False`` it stays a function of its own: for those that Python calls, and those that call themselves.

    Only one that says ``allocates=True`` may make arrays (or copy one slice to another, which Numba does with one in
    between). The others do without Numba's counting of references, which takes an atomic instruction each time an
    array is passed on: a fifth of a step's time on one core, and more on two, which wait for each other there.
    """
    if function is None:
        return functools.partial(kernel, inline=inline, allocates=allocates)
    if config.DISABLE_JIT:
        return np.errstate(over="ignore")(function)  # unsigned numbers turn over, as the generator wants them to
    compile: Any = numba.njit  # whose stubs do not know ``_nrt``
    compiled = compile(nogil=True, error_model="numpy", forceinline=inline, _nrt=allocates)(function)
    file = Path(function.__code__.co_filename).resolve()
    if file.is_file() and cache_folder(file):
        compiled._cache = _Cache(function)
    return compiled


@kernel
def entry(array, place):
    """One entry of an array of integers, as int64.

    Places are never negative here: an unsigned one spares the check for that, which took a tenth of the time.
    """
    return np.int64(array[np.uintp(place)])


@functools.cache
def _inbox(process: int) -> queue.SimpleQueue:
    """Where the threads of this process wait for work; a forked child has a number of its own and so gets new ones.

    A bare queue, for an executor takes three times as long to begin and to end, which a step of a batch would feel.
    """
    inbox: queue.SimpleQueue = queue.SimpleQueue()
    for _ in range(max(1, NUM_THREADS - 1)):
        threading.Thread(target=_work, args=(inbox,), name="pitch-env", daemon=True).start()
    return inbox


def _work(inbox: queue.SimpleQueue) -> None:
    while True:
        door, arguments, outbox = inbox.get()
        try:
            door(*arguments)
            outbox.put(None)
        except BaseException as error:
            outbox.put(error)


def in_parallel(door: Callable, count: int, *arguments: Any, weight: float = 1) -> None:
    """Call ``door(start, stop, *arguments)`` on parts of 0 to ``count``, at the same time on ``NUM_THREADS`` threads.

    Plain threads serve, since kernels release Python's lock. They sleep when they wait, so they do not disturb what
    else runs on the machine, PyTorch's own threads above all, nor are they disturbed by it as those of OpenMP are. Work
    of less than about a thousand games, ``weight`` steps each, is not worth waking them.
    """
    parts = max(1, min(NUM_THREADS, int(count * weight) // 512, count))
    head = min(int(HEAD_START / weight), count // parts // 2)
    bounds = [0, *(head + (count - head) * part // parts for part in range(1, parts + 1))]
    outbox: queue.SimpleQueue = queue.SimpleQueue()
    for part in itertools.pairwise(bounds[1:]):
        _inbox(os.getpid()).put((door, (*part, *arguments), outbox))
    try:
        door(bounds[0], bounds[1], *arguments)
    finally:
        errors = [outbox.get() for _ in range(parts - 1)]
    for error in errors:
        if error is not None:
            raise error


def records(count: int, dtype: np.dtype) -> np.ndarray:
    """``count`` records of zeros that kernels can take: without compilation they need attributes, so a recarray."""
    array = np.zeros(count, dtype)
    return array.view(np.recarray) if config.DISABLE_JIT else array
