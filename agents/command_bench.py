"""``bench``: the speeds of the engine, which the repository's benchmarks measure."""

import argparse
import subprocess
import sys
from pathlib import Path

DESCRIPTION = (
    "Measure the speed of the engine on this machine, and that of other libraries where they are installed. It takes "
    "some minutes."
)
EXAMPLE = "bench --out bench.md"

_BENCHMARKS = Path(__file__).parent.parent / "tests" / "benchmarks" / "bench.py"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the table there too, as Markdown")


def run(options: argparse.Namespace) -> int:
    """Run the benchmarks. Returns their exit status."""
    if not _BENCHMARKS.exists():
        raise ValueError("the benchmarks are in the repository, not in the installed package; run it in a copy of that")
    out = [] if options.out is None else ["--out", str(options.out)]
    return subprocess.run([sys.executable, str(_BENCHMARKS), *out]).returncode
