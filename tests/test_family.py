"""One network for several variants: a common layout that loses nothing, mixed batches, an agent that knows them all."""

import json
from dataclasses import replace

import numpy as np
import pytest
from trainers import SMALL, assert_same, weights, whole_and_resumed

from agents import checkpoint, load, ppo
from agents.evaluation import duplicate_match
from agents.export import export
from agents.family import FamilySorter, common_highs, common_parts, common_places
from agents.ppo import Config, Run
from agents.returns import relative, rewards
from agents.suits import SuitSorter
from pitch_env import Rules, VectorGame
from pitch_env.observation import Part, highs, width

VARIANTS = (
    Rules.preset("auction"),
    Rules.preset("money", players=7),
    Rules.preset("oklahoma", players=6, three=True),
    Rules.preset("auction", players=2),
)
FAMILY = replace(SMALL, rules=["auction", "oklahoma", "money"], rule_options=[{"players": 3}, {}, {"players": 5}])


def played(rules, games: int = 200, steps: int = 25) -> VectorGame:
    batch, rng = VectorGame(rules, games, seed=3), np.random.default_rng(0)
    for _ in range(steps):
        batch.step(batch.random_actions(rng))
    return batch


@pytest.mark.parametrize("kind", range(4))
def test_the_common_layout_loses_nothing(kind):
    rules = VARIANTS[kind]
    batch, places = played(rules), common_places(rules, VARIANTS)
    assert len(set(places)) == len(places) == width(rules)
    assert places.max() < common_parts(VARIANTS)[-1]
    assert (common_highs(VARIANTS)[places] >= highs(rules)).all()
    sorter = FamilySorter(VARIANTS)
    common, mask, order = sorter.sort(batch.observation, batch.mask)
    plain, plain_mask, plain_order = SuitSorter(rules).sort(batch.observation, batch.mask)
    np.testing.assert_array_equal(common[:, places], plain)
    np.testing.assert_array_equal(common.sum(1, dtype=int), plain.sum(1, dtype=int))  # and zeros elsewhere
    np.testing.assert_array_equal(mask, plain_mask)
    np.testing.assert_array_equal(order, plain_order)
    assert (sorter.kinds(batch.observation) == kind).all()


def test_a_thing_has_one_place_in_all_variants():
    starts = common_parts(VARIANTS)
    auction, money, oklahoma, two = (common_places(rules, VARIANTS) for rules in VARIANTS)
    bids = {name: places[(places >= starts[Part.BID]) & (places < starts[Part.BID + 1])] - starts[Part.BID]
            for name, places in dict(auction=auction, money=money, oklahoma=oklahoma).items()}  # fmt: skip
    assert bids["auction"].tolist() == [0, 1, 2, 3]  # by the number of the bid
    assert bids["money"].tolist() == [1, 2, 3, 10]  # and the moon
    assert bids["oklahoma"].tolist() == list(range(1, 10))
    for part in (Part.HAND, Part.TRUMP, Part.TABLE):
        size = starts[part + 1] - starts[part]
        for places in (auction, money, oklahoma, two):
            np.testing.assert_array_equal(np.sort(places[(places >= starts[part]) & (places < starts[part + 1])]),
                                          starts[part] + np.arange(size))  # fmt: skip


def test_a_mixed_batch_is_sorted_row_by_row():
    batch = played(VARIANTS)
    sorter = FamilySorter(VARIANTS)
    common, mask, order = sorter.sort(batch.observation, batch.mask)
    for kind, rules in enumerate(VARIANTS):
        rows = slice(kind, None, 4)
        alone = SuitSorter(rules).sort(
            np.ascontiguousarray(batch.observation[rows, : width(rules)]), np.ascontiguousarray(batch.mask[rows])
        )
        np.testing.assert_array_equal(common[rows, common_places(rules, VARIANTS)], alone[0])
        np.testing.assert_array_equal(mask[rows], alone[1])
        np.testing.assert_array_equal(order[rows], alone[2])
    chosen = mask.argmax(1)
    batch.step(sorter.actions(chosen, order))  # legal, or it would be refused


def test_rewards_are_scaled_by_variant():
    change = np.random.default_rng(0).integers(-4, 5, (3, 8, 7)).astype(np.float32)
    reward = rewards(change, VARIANTS)
    for game in range(8):
        rules = VARIANTS[game % 4]
        expected = relative(change[:, game, : rules.players], rules) / rules.max_points
        np.testing.assert_allclose(reward[:, game, : rules.players], expected, rtol=1e-6)
        assert (reward[:, game, rules.players :] == 0).all()


@pytest.mark.parametrize("more", [{}, dict(pool_share=0.5, pool_every=1, critic="all", reference_weight=0.1)])
def test_a_family_learns_stops_and_goes_on(more, tmp_path):
    config = replace(FAMILY, out=str(tmp_path), num_games=66, **more)
    before = weights(Run(config))
    whole, second = whole_and_resumed(config, 2, 1)
    assert_same(weights(whole), weights(second))
    assert all((before[name] != value).any() for name, value in weights(whole).items())
    with pytest.raises(ValueError, match="other rules"):
        Run(replace(config, rule_options=[{"players": 4}, {}, {"players": 5}])).restore(tmp_path / checkpoint.RESUME)


def test_one_agent_plays_all_its_variants_and_no_other(tmp_path):
    config = replace(FAMILY, out=str(tmp_path), total_decisions=2000, final_deals=4)
    matches = ppo.train(config)
    assert len(matches) == 9  # three variants, three baselines
    content = json.loads((tmp_path / "evaluation.json").read_text())
    assert list(content["variants"]) == ["auction-3", "oklahoma-4", "money-5"]
    agent = load(tmp_path)
    for rules in config.variants().values():
        assert np.isfinite(duplicate_match(rules, agent, load("greedy"), 4).mean)
        batch = VectorGame(rules, 8)
        assert np.isfinite(agent.values(batch.observation, batch.mask)).all()
    batch = played(tuple(config.variants().values()), 60)
    mixed = agent.log_policy(batch.observation, batch.mask)
    assert (batch.mask[np.arange(60), mixed.argmax(1)]).all()
    for other in (Rules.preset("auction"), Rules.preset("oklahoma", three=True)):
        batch = VectorGame(other, 4)
        with pytest.raises(ValueError, match="other rules"):
            agent.act(batch.observation, batch.mask, np.random.default_rng(0))
    with pytest.raises(ValueError, match="several variants"):
        export(tmp_path, tmp_path / "exported")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (dict(rules=[]), "rules="),
        (dict(rules=["auction", "poker"]), "no preset 'poker'"),
        (dict(rules=["auction", "money"], rule_options=[{}]), "a list of 2"),
        (dict(rules="auction", rule_options=[{}, {}]), "a list of 1"),
    ],
)
def test_wrong_families_are_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        Config(**wrong)


def test_the_same_variant_twice_is_refused():
    with pytest.raises(ValueError, match="twice"):
        Run(replace(SMALL, rules=["auction", "auction"]))


def test_families_come_from_the_command_line():
    from agents.command_train import parse

    options = parse(["--rules", "[auction, money]", "--rule-options", "[{players: 2}, {}]"])
    assert options.rules == ["auction", "money"]
    assert options.rule_options == [{"players": 2}, {}]
    assert parse(["--rules", "money"]).rules == "money"
