"""Deep Monte Carlo: targets, exploring, and that it runs, stops and goes on as every learner does."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from test_distributed import torchrun
from trainers import assert_same, iterate, whole_and_resumed

from agents import checkpoint, cli, command_train, dmc, load, ppo
from agents.checkpoint import NetworkAgent
from agents.dmc import Config, EpsilonGreedy, Run, prepare
from agents.export import PolicyGraph
from agents.nashconv import policy_of
from agents.networks import ActionValueNetwork
from agents.opinions import opinion
from agents.pool import Pool
from agents.returns import returns
from agents.rollout import DealCounts, collect
from pitch_env import Game, Rules, VectorGame
from pitch_env.actions import DONE, TRUMP
from pitch_env.observation import highs

AUCTION = Rules.preset("auction")
SMALL = Config(
    total_decisions=40_000, num_games=64, steps=32, minibatch=512, width=32, evaluate_deals=20, final_deals=50,
    evaluate_seconds=1000, bfloat16=False,
)  # fmt: skip


pytestmark = pytest.mark.usefixtures("one_torch_thread")


def seen(number: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Observations and masks, the first half in the auction and the other in play."""
    batch, rng = VectorGame(AUCTION, number, seed, skip_forced=True), np.random.default_rng(seed)
    start = batch.observation.copy(), batch.mask.copy()
    for _ in range(12):
        batch.step(batch.random_actions(rng))
    half = np.arange(number)[:, None] < number // 2
    return np.where(half, start[0], batch.observation), np.where(half, start[1], batch.mask)


def trained(folder: Path) -> NetworkAgent:
    """An agent of a few updates, from its file."""
    run = Run(replace(SMALL, out=str(folder)))
    iterate(run, 2)
    run.save(checkpoint.MODEL)
    agent = load(folder)
    assert isinstance(agent, NetworkAgent)
    return agent


# What is learned.


def test_returns_are_what_each_seat_got_to_the_end_or_to_its_last_decision():
    rng = np.random.default_rng(3)
    steps, games, players = 40, 9, 4
    reward = rng.normal(size=(steps, games, players)).astype(np.float32)
    value = rng.normal(size=(steps, games)).astype(np.float32)
    actor = rng.integers(players, size=(steps, games)).astype(np.int8)
    done = rng.random((steps, games)) < 0.1
    found = returns(reward, value, actor, done)
    for game in range(games):
        for t in range(steps):
            seat, ends = actor[t, game], np.flatnonzero(done[t:, game])
            later = [u for u in range(t + 1, steps) if actor[u, game] == seat]
            if len(ends):
                expected = reward[t : t + ends[0] + 1, game, seat].sum()
            elif later:
                expected = reward[t : later[-1], game, seat].sum() + value[later[-1], game]
            else:
                expected = np.nan
            np.testing.assert_allclose(found[t, game], expected, rtol=1e-4, atol=1e-5, equal_nan=True)
    assert np.isnan(found).any()


def test_an_update_learns_from_own_decisions_whose_return_is_known():
    run = Run(replace(SMALL, pool_share=1.0, pool_every=1))
    iterate(run, 3)
    assert isinstance(run.opponents, Pool)
    rollout = run.rollout()
    collect(run.batch, run.sorter, run.actor, rollout, run.generator, DealCounts(), opponents=run.opponents)
    decisions = prepare(run, rollout)
    assert not decisions.target.isnan().any()
    assert decisions.target.abs().max() <= 1.5  # points of a deal, as all learners scale them
    own = int(rollout.own.sum())
    assert own < rollout.own.numel()
    assert 0.7 * own < len(decisions.action) < own
    assert rollout.mask.gather(2, rollout.action.unsqueeze(2))[rollout.own].all()


def test_exploring_takes_the_shares_it_is_told_and_says_how_probable_each_action_was():
    network = ActionValueNetwork(highs(AUCTION), 16)
    rows, allowed = (torch.from_numpy(each) for each in seen(400))
    actor, generator = EpsilonGreedy(network, bids=0.6, cards=0.2), torch.Generator().manual_seed(1)
    best = network.decide(rows, allowed)[0].argmax(-1)
    draws = torch.stack([actor.sample(rows, allowed, generator)[0] for _ in range(300)])
    log_probability = actor.sample(rows, allowed, generator)[1]
    torch.testing.assert_close(log_probability.exp().sum(-1), torch.ones(400))
    assert (log_probability.exp()[~allowed] == 0).all()
    is_bid = allowed[:, TRUMP:DONE].any(-1)
    assert 0 < is_bid.sum() < 400
    for rows_of, share in ((is_bid, 0.6), (~is_bid, 0.2)):
        number = allowed[rows_of].sum(-1)
        expected = (share * (1 - 1 / number)).mean().item()
        assert (draws[:, rows_of] != best[rows_of]).float().mean().item() == pytest.approx(expected, abs=0.01)
    shares = torch.nn.functional.one_hot(draws, 71).float().mean(0)
    assert (shares - log_probability.exp()).abs().max() < 0.2
    assert (shares - log_probability.exp()).abs()[allowed].mean() < 0.02


def test_exploring_fades():
    run = Run(replace(SMALL, total_decisions=100, epsilon_bids=0.4, epsilon_cards=0.2, epsilon_final=0.25))
    assert (run.actor.bids, run.actor.cards) == (0.4, 0.2)
    run.decisions = 100
    assert (run.actor.bids, run.actor.cards) == pytest.approx((0.1, 0.05))


def test_it_learns_to_beat_random(tmp_path):
    against_random = dmc.train(replace(SMALL, total_decisions=60_000, width=64, out=str(tmp_path)))[0]
    assert against_random.opponent == "random"
    assert against_random.low > 0.5
    assert load(tmp_path).name == tmp_path.name


# As every learner.


@pytest.mark.parametrize(
    "varied",
    [
        dict(pool_share=0.5, pool_every=1),
        dict(deals=None, reward="win"),
        dict(num_games=1, steps=1, minibatch=1),  # where no deal has ended yet of which it could learn
    ],
    ids=str,
)
def test_a_stopped_run_goes_on_as_if_it_had_not_been_stopped(varied, tmp_path):
    whole, second = whole_and_resumed(replace(SMALL, out=str(tmp_path), **varied), 2, 2)
    whole.save("whole"), second.save("second")
    assert_same(*(checkpoint.read(tmp_path / name).tensors for name in ("whole", "second")))


def test_several_variants_are_learned_at_once(tmp_path):
    run = Run(replace(SMALL, rules=["auction", "money"], out=str(tmp_path)))
    iterate(run, 2)
    run.save(checkpoint.MODEL)
    assert load(tmp_path).act(*seen(50), np.random.default_rng(0)).shape == (50,)


def test_two_ranks_learn_as_one(tmp_path):
    arguments = ["--learner", "dmc", "--num-games", "32", "--minibatch", "256", "--width", "16", "--out", str(tmp_path)]
    process = torchrun("train.py", *arguments, "--total-decisions", "5000", "--final-deals", "2", "--bfloat16", "false")
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    saved = checkpoint.read(tmp_path / checkpoint.RESUME).header  # which is not written where weights differ
    assert saved["ranks"] == 2
    assert saved["decisions"] >= 5000


def test_a_resumed_run_knows_its_learner(tmp_path, capsys):
    Run(replace(SMALL, out=str(tmp_path))).save(checkpoint.RESUME)
    options = command_train.parse(["--resume", str(tmp_path), "--total-decisions", "7"])
    assert (options.learner, options.epsilon_bids, options.num_games, options.total_decisions) == ("dmc", 0.1, 64, 7)
    assert cli.main(["train", "--resume", str(tmp_path), "--learner", "ppo"]) == 1
    assert "was trained with dmc" in capsys.readouterr().err
    with pytest.raises(ValueError, match="another learner; it is dmc"):
        ppo.Run(ppo.Config(num_games=64, minibatch=64)).restore(tmp_path / checkpoint.RESUME)


def test_the_learner_decides_which_options_there_are(tmp_path, capsys):
    shown = command_train.make_parser("dmc").format_help()
    assert "--epsilon-bids" in shown
    assert "--clip" not in shown
    assert "--clip" in command_train.make_parser().format_help()
    file = tmp_path / "my.yaml"
    file.write_text("learner: dmc\nepsilon_bids: 0.3\n")
    assert command_train.parse([f"--config={file}"]).epsilon_bids == 0.3
    for wrong, says in ((["--learner=dmc", "--clip=0.1"], "clip"), (["--learner"], "expected one argument")):
        with pytest.raises(SystemExit):
            command_train.parse(wrong)
        assert says in capsys.readouterr().err
    file.write_text("learner: [dmc]\n")
    with pytest.raises(ValueError, match=r"learner=\['dmc'\] is not allowed; it is ppo or dmc"):
        command_train.parse(["--config", str(file)])
    assert cli.main(["train", "--learner", "sarsa"]) == 1
    assert "learner='sarsa' is not allowed; it is ppo or dmc" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [dict(epsilon_bids=1.5), dict(epsilon_final=-1), dict(learner="ppo"), dict(steps=0)])
def test_wrong_options_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Config(**wrong)


# As every agent.


def test_the_agent_takes_the_best_action_and_expects_what_it_is_worth(tmp_path):
    agent, (observation, mask) = trained(tmp_path), seen(200)
    rows, allowed, order = agent.sorter.sort(observation, mask)
    with torch.no_grad():
        worth = agent.network(torch.from_numpy(rows)).masked_fill(~torch.from_numpy(allowed), -torch.inf)
    np.testing.assert_allclose(agent.values(observation, mask), worth.max(-1).values * AUCTION.max_points, rtol=1e-6)
    best = np.eye(71)[agent.sorter.actions(worth.argmax(-1).numpy(), order)]
    with np.errstate(divide="ignore"):
        expected = np.log(best)
    agent.sorter.even(observation, expected)  # of suits that look the same either is the best
    probability = agent.probabilities(observation, mask)
    np.testing.assert_allclose(probability, np.exp(expected), atol=1e-6)
    assert (probability.max(1) == 1).mean() > 0.8
    for player in (agent, checkpoint.load_agent(tmp_path, greedy=False)):
        chosen = player.act(observation, mask, np.random.default_rng(0))
        assert (probability[np.arange(len(chosen)), chosen] > 0).all()


def test_it_is_analysed_shown_and_exported_as_it_plays(tmp_path):
    agent, (observation, mask) = trained(tmp_path), seen(200)
    chosen, rng = agent.act(observation, mask, np.random.default_rng(0)), np.random.default_rng(0)
    np.testing.assert_array_equal(policy_of(agent)(observation, mask).argmax(1), chosen)
    game = Game(AUCTION, seed=3)
    thought = opinion(agent, game, rng)
    assert thought.choice == thought.probabilities[0][0]
    rows = game.observation(game.actor)[None], game.legal_mask()[None]
    assert thought.value == pytest.approx(float(agent.values(*rows)[0]))
    graph = PolicyGraph(AUCTION, agent.network)
    with torch.no_grad():
        probability, action, value = graph(torch.from_numpy(observation).float(), torch.from_numpy(mask).to(torch.int8))
    np.testing.assert_array_equal(action, chosen)
    np.testing.assert_allclose(probability, agent.probabilities(observation, mask), atol=1e-5)
    np.testing.assert_allclose(value, agent.values(observation, mask), atol=1e-5)


def test_a_search_cannot_use_it(tmp_path):
    trained(tmp_path)
    with pytest.raises(ValueError, match="sure of one action"):
        load(f"search:5:{tmp_path}")


def test_a_network_of_an_unknown_kind_is_refused(tmp_path):
    trained(tmp_path)
    file = tmp_path / checkpoint.MODEL
    saved = checkpoint.read(file)
    checkpoint.write(file, saved.tensors, saved.header | {"network": {"width": 32, "depth": 1, "kind": "tree"}})
    with pytest.raises(ValueError, match=r"network of kind 'tree'; .* policy, action_values"):
        load(tmp_path)
