"""``export``: a trained policy as files for other programs."""

import argparse
import re
from pathlib import Path

from agents import options as common
from agents.evaluation import write_json
from agents.exported import SUFFIXES

DESCRIPTION = (
    "Writes a trained policy as ONNX or for torch.export, with a model card, into a folder that can be uploaded as it "
    "is. What is written has been compared with the checkpoint on 10,000 decisions of real games; where it does not "
    "play the same, nothing is written."
)
EXAMPLE = "export checkpoints/auction --format onnx --format torch --out exported/auction"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", type=Path, help="a checkpoint, or the folder of a training run")
    parser.add_argument(
        "--format",
        dest="formats",
        action="append",
        choices=tuple(SUFFIXES),
        help="name it twice for both (default: onnx)",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder that is written")
    parser.add_argument("--license", type=license_name, default="mit", help="for the model card (default: mit)")
    common.add_json(parser)


def license_name(text: str) -> str:
    """A licence as the Hugging Face hub spells it, such as ``apache-2.0``."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9.\-]*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of a licence such as 'mit' or 'apache-2.0'")
    return text


def run(options: argparse.Namespace) -> None:
    """Write the folder, and say what is in it and how it was checked."""
    from rich.console import Console

    from agents.export import export  # torch takes a while

    with Console(stderr=True).status("reading the checkpoint") as status:
        done = export(
            options.checkpoint,
            options.out,
            options.formats or ["onnx"],
            license_name=options.license,
            tell=status.update,
        )
    for name, check in done["verified"].items():
        print(
            f"{name}: plays as the checkpoint does in {check['decisions']:,} decisions, none illegal, "
            f"probabilities and values within {check['largest_difference']:.1g}"
        )
    print("written:", *done["files"])
    if options.json is not None:
        write_json(options.json, done)
