"""Train an agent: python train.py --config configs/oklahoma.yaml (or pitch train, agents/command_train.py)"""

import sys

from agents.cli import main

if __name__ == "__main__":
    sys.exit(main(["train", *sys.argv[1:]]))
