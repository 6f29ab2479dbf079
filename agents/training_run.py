"""All that changes while a learner's run goes on, and its way into a checkpoint and back."""

import contextlib
import hashlib
import itertools
from abc import ABC, abstractmethod
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from agents import checkpoint
from agents.agent import load
from agents.distributed import Ranks
from agents.evaluation import fingerprint, write_json
from agents.family import FamilySorter
from agents.networks import Critic, PlayingNetwork, PolicyValueNetwork, Trunk, flat_gradient, take_weights
from agents.pool import Frozen, Opponents, Pool
from agents.rollout import Actor, Rollout
from agents.suits import SuitSorter
from agents.training_config import TrainingConfig, changed_options
from pitch_env import VectorGame
from pitch_env.state import STATE

MARK = ".run"  # in the folder of a run from its first moment on
GAMES = hashlib.sha256(str(STATE.descr).encode()).hexdigest()[:16]  # how games lie in a file


class TrainingRun(ABC):
    """A run in memory: games, networks, optimiser, chance, counters. The same config makes the same one.

    A learner says which networks it has, and how they learn. Of several ranks all have the same networks, and games and
    chance of their own.

    Attributes:
        exploring: the option that keeps bids exploring.
        fixed: options that cannot be other ones when a run goes on.
        networks: by name what is learned, and what follows it and wants no gradients.
        network: the one of them that plays, "network".
        gradient: float32 [weights], that of all that is learned; those of the parameters are parts of it.
        critic: one for training alone, where there is one beside the network's own value.
        before: decisions and seconds of the runs that made the weights it began with.
        former: where options were changed as it went on, until how many decisions others held, and which.
        others: the fingerprints of the agents that ``start`` and ``against`` name, as they were when it began.
    """

    exploring: str
    fixed: tuple[str, ...] = ("learner", "deals", "reward", "against", "start")
    network: PlayingNetwork
    critic: Critic | None = None

    def __init__(self, config: TrainingConfig, ranks: Ranks | None = None) -> None:
        self.config = config
        self.ranks = ranks or Ranks(device=config.device)
        self.variants = tuple(config.variants().values())
        torch.manual_seed(config.seed)
        seed = self._own_seed(0)
        self.generator = torch.Generator(self.ranks.device).manual_seed(seed)
        self.batch = VectorGame(self.variants, config.num_games, seed=seed, deals=config.deals, skip_forced=True)
        self.sorter = SuitSorter(self.variants[0]) if len(self.variants) == 1 else FamilySorter(self.variants)
        high = checkpoint.input_highs(self.variants, config.deals)
        self.networks = self.make_networks(high)
        for network in self.networks.values():
            network.to(self.ranks.device)
        self.gradient = flat_gradient(self.parameters())
        self.optimizer = torch.optim.Adam(self.parameters(), lr=config.learning_rate, eps=1e-5, fused=True)
        self.opponents = self._make_opponents(seed)
        self.decisions = 0
        self.seconds = 0.0
        self.before = {"decisions": 0, "seconds": 0.0}
        self.former: list[dict[str, Any]] = []
        self.others: dict[str, str] = {}
        if isinstance(self.opponents, Frozen):
            self.others["against_fingerprint"] = fingerprint(self.opponents.players[0])
        self.passing = 0  # updates on end in which all passed

    @abstractmethod
    def make_networks(self, high: np.ndarray) -> dict[str, Trunk]:
        """Set ``network``, and what else the learner has; returns ``networks``.

        ``high`` is for ``networks.Trunk``.
        """

    @abstractmethod
    def update(self, rollout: Rollout) -> dict[str, float]:
        """Improve the networks on a rollout; returns means of what was measured, "loss" among it."""

    def parameters(self) -> list[nn.Parameter]:
        """All that is learned."""
        return [each for network in self.networks.values() for each in network.parameters() if each.requires_grad]

    def _own_seed(self, decisions: int) -> int:
        """The seed of this rank's games when they begin after so many decisions: the config's for the very first."""
        if self.ranks.first and not decisions:
            return self.config.seed
        sequence = np.random.SeedSequence([self.config.seed, self.ranks.rank, decisions])
        return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))

    def _make_opponents(self, seed: int) -> Opponents | None:
        """Who plays with the network in training, or None where it plays itself only."""
        config = self.config
        if config.against:
            try:
                return Frozen(self.batch, load(config.against), np.random.default_rng(seed))
            except ValueError as error:
                raise ValueError(f"against={config.against!r} is not allowed; {error}") from None
        if not config.pool_share:
            return None
        return Pool(
            self.batch, share=config.pool_share, pick=config.pool_pick, every=config.pool_every, size=config.pool_size
        )

    @property
    def shape(self) -> dict[str, Any]:
        """What a checkpoint says of the network, from which it can be built anew; see ``checkpoint.NETWORKS``."""
        return {"width": self.config.width, "depth": self.config.depth}

    @property
    def actor(self) -> Actor:
        """Who acts for the learner in a roll-out."""
        assert isinstance(self.network, PolicyValueNetwork)
        return self.network

    def begin_with(self, name: str) -> None:
        """Take the weights of an agent, by name or path; its network may be less deep. Raises ValueError."""
        agent = load(name)
        if not isinstance(agent, checkpoint.NetworkAgent):
            raise ValueError(f"start={name!r} is not allowed; it is a checkpoint, and {agent.name} has no weights")
        variants = agent.variants if isinstance(agent, checkpoint.FamilyAgent) else (agent.rules,)
        if variants != self.variants:
            raise ValueError(f"start={name!r} is not allowed; it was trained for other rules than are learned here")
        try:
            for mine in {"network", "reference"} & self.networks.keys():
                take_weights(self.networks[mine], agent.network)
            self.before = agent.spent
            self.others["start_fingerprint"] = fingerprint(agent)
        except RuntimeError:
            raise ValueError(
                f"start={name!r} is not allowed; its network has another shape than {self.shape}, and only "
                "depth may be more"
            ) from None

    @property
    def progress(self) -> float:
        """The share of the run that is done, 0 to 1."""
        spent = self.seconds / (60 * self.config.minutes) if self.config.minutes else 0.0
        return min(1.0, max(spent, self.decisions / self.config.total_decisions))

    def agent(self) -> checkpoint.NetworkAgent:
        """The network as it is now, playing its most probable actions."""
        return checkpoint.make_agent(self.variants, self.network, self.config.learner)

    def rollout(self) -> Rollout:
        """Buffers for a roll-out of this run."""
        inputs = self.network.first.in_features
        open_hands = self.critic is not None and self.critic.hands > 0
        return Rollout.like(self.batch, self.config.steps, inputs, open_hands, self.ranks.device)

    def save(self, name: str) -> None:
        """Write one of the files that checkpoint.py names into the run's folder, which the first rank does for all.

        Raises:
            OSError: it cannot be written, or another rank has ended, or the ranks' weights differ.
        """
        mine, everyone = {}, []
        if name != checkpoint.MODEL:
            self._check_alike()
            mine = self._own()
            everyone = self.ranks.gather(mine)
        if not self.ranks.first:
            return
        header = checkpoint.header_for(self.variants, self.shape, asdict(self.config))
        header |= {"decisions": self.decisions, "seconds": round(self.seconds, 1), "before": self.before}
        header |= {"former": self.former} | self.others
        tensors = {f"network.{key}": value for key, value in self.network.state_dict().items()}
        if name != checkpoint.MODEL:
            header |= {"games": GAMES, "passing": self.passing, "ranks": self.ranks.world}
            header |= {"optimized": len(self.optimizer.state)}  # weights; none before there was one to learn from
            tensors |= self._shared() | mine
            for rank, own in enumerate(everyone[1:], 1):  # without the snapshots that the first has too
                news = own.keys() - {key for key in mine if key.startswith("pool.") and "." in key[5:]}
                tensors |= {f"rank{rank}.{key}": own[key] for key in news}
        path = Path(self.config.out) / name
        checkpoint.write(path, tensors, header)
        if name == checkpoint.MODEL:
            write_json(path.with_suffix(".json"), header)  # the same for people to read

    def _check_alike(self) -> None:
        digest = int(checkpoint.weights_hash(self.network.state_dict())[:10], 16)
        if self.ranks.total(digest) != [digest * self.ranks.world]:
            raise ConnectionError("the weights of the ranks differ, which they must not; the last checkpoint stays")

    def _shared(self) -> dict[str, Tensor]:
        """What training needs and all ranks have alike."""
        tensors: dict[str, Tensor] = {}
        for index, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{index}.{key}": value for key, value in state.items()}
        for name, network in self.networks.items():
            tensors |= {f"{name}.{key}": value for key, value in network.state_dict().items()}
        return tensors

    def _own(self) -> dict[str, Tensor]:
        """What training needs and each rank has for itself: chance, games, who sits at them."""
        tensors = {"generator": self.generator.get_state()}
        tensors["games"] = torch.from_numpy(np.frombuffer(self.batch.states.tobytes(), np.uint8).copy())
        if self.opponents is not None:
            tensors |= {f"pool.{key}": value for key, value in self.opponents.tensors().items()}
        return tensors

    def restore(self, path: Path) -> None:
        """Go on where ``resume.safetensors`` was written. Raises ValueError where the config does not fit it."""
        saved = checkpoint.read(path)
        here = [rules.to_dict() for rules in self.variants]
        if saved.header["rules"] != (here if len(here) > 1 else here[0]):
            raise ValueError(f"{path} was trained with other rules than this config names")
        checkpoint.build_network(saved.header, path)
        if not {"games", "generator"} <= saved.tensors.keys():
            raise ValueError(f"{path} is an agent, not a run to go on with; that is {checkpoint.RESUME}")
        if saved.header.get("games") != GAMES:
            made = saved.header["versions"]["pitch-env"]
            raise ValueError(f"{path} holds games of another version of pitch-env ({made}), which cannot go on here")
        if saved.tensors["games"].numel() != self.batch.states.nbytes:
            raise ValueError(f"{path} was trained with another num_games; it is {saved.header['config']['num_games']}")
        for name in self.fixed:
            before = saved.header["config"].get(name, getattr(type(self.config), name))  # older files lack newer ones
            if before != getattr(self.config, name):
                raise ValueError(f"{path} was trained with another {name}; it is {before}")
        names = ("start_fingerprint", "against_fingerprint")
        met: dict[str, str] = {name: saved.header[name] for name in names if name in saved.header}
        against = self.others.get("against_fingerprint")
        if against != met.get("against_fingerprint", against):  # of which older files do not tell
            raise ValueError(f"{path} was trained against other weights than {self.config.against} has now")
        self.others |= met
        try:
            for name, network in self.networks.items():  # one that is new follows the network, and begins like it
                network.load_state_dict(saved.part(name) or saved.part("network"))
        except RuntimeError:
            raise ValueError(f"{path} holds a network of another shape: {saved.header['network']}") from None
        state = self._optimizer_state(saved, path)
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": state})
        self.decisions, self.seconds = saved.header["decisions"], saved.header["seconds"]
        self.passing, self.before = saved.header["passing"], saved.header.get("before", self.before)
        self.former = list(saved.header.get("former", []))
        if changed := changed_options(saved.header["config"], asdict(self.config)):
            self.former.append({"decisions": self.decisions, "options": changed})
        self._restore_own(saved)

    def _optimizer_state(self, saved: checkpoint.Checkpoint, path: Path) -> dict[int, dict[str, Tensor]]:
        """What Adam knows of each weight. Raises ValueError where it is not all there, which would begin it anew."""
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in saved.part("optimizer").items():
            index, _, name = key.partition(".")
            state.setdefault(int(index), {})[name] = value
        shapes = {index: each["exp_avg"].shape for index, each in state.items() if len(each) == 3}
        learned = {index: each.shape for index, each in enumerate(self.parameters())}
        number = saved.header.get("optimized", len(state))  # of which older files do not tell
        if len(state) != number or (state and shapes != learned):
            raise ValueError(f"{path} is not whole; it lacks the optimiser's state of some weights")
        return state

    def _restore_own(self, saved: checkpoint.Checkpoint) -> None:
        """Take up this rank's games; one that there was not before begins new ones."""
        pool = saved.part("pool")
        if self.ranks.rank < saved.header["ranks"]:
            mine = saved if self.ranks.first else checkpoint.Checkpoint(saved.part(f"rank{self.ranks.rank}"), {})
            self.generator.set_state(mine.tensors["generator"])
            self.batch.states[:] = np.frombuffer(mine.tensors["games"].numpy().tobytes(), self.batch.states.dtype)
            self.batch.refresh()
            pool |= mine.part("pool")
        else:
            seed = self._own_seed(self.decisions)
            self.generator.manual_seed(seed)
            self.batch.reset(seed)
            if self.opponents is not None:
                seats = self.opponents.tensors()
                pool |= {"opponent": seats["opponent"], "team": seats["team"]}
        if self.opponents is not None and saved.part("pool"):
            self.opponents.load(pool, self.agent())


def holds_run(folder: Path) -> bool:
    """Whether a run, or an agent that one has made, is in a folder."""
    return any((folder / name).exists() for name in (checkpoint.RESUME, checkpoint.MODEL))


def claimed_folder(path: Path) -> Path:
    """A folder for a new run: the path, or with the first number behind it that no run or agent has.

    A mark in it keeps others away that begin at the same time, before there is anything else to see.

    Raises:
        ValueError: there is a file of this name.
        OSError: it cannot be written to.
    """
    if path.is_file():
        raise ValueError(f"out={str(path)!r} is not allowed; it is a file, and a run needs a folder")
    whole = path if path.name else path.resolve()  # "." has no name to put a number behind
    numbered = (whole.with_name(f"{whole.name}-{number}") for number in itertools.count(2))
    for each in itertools.chain([path], numbered):
        each.mkdir(parents=True, exist_ok=True)
        if not holds_run(each):
            with contextlib.suppress(FileExistsError):
                (each / MARK).touch(exist_ok=False)
                return each
    raise AssertionError("there is always another number")
