"""Train an agent: python train.py --config configs/oklahoma.yaml (or pitch train, agents/command_train.py)"""

import sys

from agents.cli import main
from agents.command_train import make_parser

__all__ = ["make_parser"]

if __name__ == "__main__":
    sys.exit(main(["train", *sys.argv[1:]]))
