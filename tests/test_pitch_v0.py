"""The PettingZoo environment: its interface's own tests, rewards, masks, endings, errors, copies; and ``settle``."""

import copy
import pickle
import subprocess
import sys
import time
import types
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
import pettingzoo
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from hypothesis import given
from hypothesis import strategies as st
from pettingzoo.utils import wrappers

from pitch_env import Game, IllegalAction, Rules, pitch_v0
from pitch_env.money import settle, whole_cents
from pitch_env.observation import highs

with warnings.catch_warnings():  # where pygame is installed, it loads an environment of its own that warns
    warnings.simplefilter("ignore")
    import pettingzoo.test

VARIANTS = [
    dict(rules="money"),
    dict(rules="auction"),
    dict(rules="auction_pairs"),
    dict(rules="oklahoma"),
    dict(rules="oklahoma", players=6, three=True),
    dict(rules="auction", players=2),
    dict(rules="auction", players=7),
    dict(rules="money", players=8, reward="money"),
]
every_variant = pytest.mark.parametrize("variant", VARIANTS, ids=lambda each: " ".join(map(str, each.values())))


def choose(mask, rng):
    return rng.choice(np.flatnonzero(mask))


def play(env, rng, before_step=None):
    """Random play to the end: what each agent got from ``last``, and how often it saw which end."""
    total, ends = Counter(), Counter()
    for agent in env.agent_iter(max_iter=20_000):
        seen, reward, terminated, truncated, _ = env.last()
        total[agent] += reward
        if terminated or truncated:
            ends[agent, terminated, truncated] += 1
            env.step(None)
            continue
        action = choose(seen["action_mask"], rng)
        if before_step is not None:
            before_step(agent, action)
        env.step(action)
    assert env.agents == []
    return total, ends


def step_some(env, rng, number):
    for _ in range(number):
        env.step(choose(env.infos[env.agent_selection]["action_mask"], rng))


def snapshot(env):
    """All that an environment shows, comparable."""
    return (
        env.game.to_bytes(),
        env.agent_selection,
        list(env.agents),
        dict(env.rewards),
        dict(env._cumulative_rewards),
        dict(env.terminations),
        dict(env.truncations),
        {agent: info["action_mask"].tolist() for agent, info in env.infos.items()},
        {agent: {key: part.tolist() for key, part in env.observe(agent).items()} for agent in env.possible_agents},
    )


# PettingZoo's own tests.

DICT_WARNINGS = {
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
}


@every_variant
@pytest.mark.parametrize("episode", ["deal", 3])
def test_passes_pettingzoo_api_test_with_only_the_warnings_of_dict_observations(variant, episode, capsys):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pettingzoo.test.api_test(pitch_v0.env(episode=episode, **variant), num_cycles=200)
    assert {str(warning.message) for warning in caught} == DICT_WARNINGS
    assert "Passed" in capsys.readouterr().out


@every_variant
def test_passes_pettingzoo_seed_test(variant):
    pettingzoo.test.seed_test(lambda: pitch_v0.env(episode=5, **variant), num_cycles=50)


@every_variant
def test_passes_pettingzoo_render_test(variant, capsys):
    pettingzoo.test.render_test(lambda **mode: pitch_v0.env(**variant, **mode))
    assert "player_0" in capsys.readouterr().out


@every_variant
def test_passes_pettingzoo_performance_benchmark(variant, monkeypatch, capsys):
    benchmark = sys.modules["pettingzoo.test.performance_benchmark"]
    clock = types.SimpleNamespace(time=lambda: 50 * time.time())  # its five seconds pass in a tenth of one
    monkeypatch.setattr(benchmark, "time", clock)
    pettingzoo.test.performance_benchmark(pitch_v0.env(**variant))
    assert "turns per second" in capsys.readouterr().out


def test_works_inside_pettingzoo_wrappers():
    env = wrappers.TerminateIllegalWrapper(pitch_v0.env(), illegal_reward=-1)
    env = wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(env))
    env.reset(seed=0)
    _, ends = play(env, np.random.default_rng(0))
    assert isinstance(env.unwrapped.game, Game)
    assert sum(ends.values()) == 4


def test_there_is_no_parallel_env():
    assert not hasattr(pitch_v0, "parallel_env")
    assert pitch_v0.raw_env.metadata["is_parallelizable"] is False


# Making one.


def test_defaults_are_those_of_the_preset():
    env = pitch_v0.env()
    assert env.rules == Rules.preset("auction")
    assert env.render_mode is None
    assert env.possible_agents == ["player_0", "player_1", "player_2", "player_3"]
    assert pitch_v0.env(rules="money", players=7).rules == Rules.preset("money", players=7)


def test_overrides_reach_the_rules_and_what_follows_from_them():
    env = pitch_v0.env(rules="oklahoma", players=6, three=True, target=30)
    assert env.rules == Rules.preset("oklahoma", players=6, three=True, target=30)
    assert env.rules.max_bid == 10


def test_rules_may_be_a_rules_object():
    rules = Rules.preset("auction", players=5, target=11)
    assert pitch_v0.env(rules=rules).rules == rules


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (dict(rules="actuion"), "did you mean 'auction'"),
        (dict(rules=3), "rules=3"),
        (dict(players=9), "players=9"),
        (dict(rules=Rules(), players=99), "players=99"),
        (dict(rules=Rules(), target=11), "target=11 is not allowed beside a Rules object"),
        (dict(player=3), "did you mean 'players'"),
        (dict(rewards="win"), "did you mean 'reward'"),
        (dict(epsiode="game"), "did you mean 'episode'"),
        (dict(playerz=3), "did you mean 'players'"),
        (dict(colour="red"), "no rule 'colour'"),
        (dict(episode="hand"), "episode='hand'"),
        (dict(episode=0), "episode=0"),
        (dict(episode=True), "episode=True"),
        (dict(episode=2.5), "episode=2.5"),
        (dict(rules="money", episode="game"), "target=None"),
        (dict(reward="points"), "reward='points'"),
        (dict(render_mode="window"), "render_mode='window'"),
    ],
)
def test_refuses_by_name_what_it_cannot_make(arguments, named):
    with pytest.raises(ValueError, match=named):
        pitch_v0.env(**arguments)


@every_variant
def test_spaces(variant):
    env = pitch_v0.env(**variant)
    for agent in env.possible_agents:
        seen = env.observation_space(agent)
        assert env.action_space(agent) == spaces.Discrete(71)
        assert seen["action_mask"] == spaces.Box(0, 1, (71,), np.int8)
        assert seen["observation"].dtype == np.float32
        np.testing.assert_array_equal(seen["observation"].high, highs(env.rules))
        np.testing.assert_array_equal(seen["observation"].low, 0)
    for space in (env.observation_space, env.action_space, env.observe):
        env.reset()
        with pytest.raises(ValueError, match="player_99"):
            space("player_99")


def test_is_registered_with_pettingzoo_when_imported():
    env = pettingzoo.make("aec", "pitch_v0", rules="money", players=5, episode=10, reward="money")
    assert isinstance(env, pitch_v0.raw_env)
    assert env.rules.players == 5
    assert str(env) == "pitch_v0"


def test_importing_it_imports_nothing_heavy_and_the_package_does_without_it():
    heavy = "matplotlib", "PIL", "torch", "pygame"
    code = (
        "import sys, pitch_env; assert 'pettingzoo' not in sys.modules\n"
        f"import pitch_env.pitch_v0, pettingzoo; print([name for name in {heavy} if name in sys.modules])\n"
        "print('pitch-v0' in pettingzoo.aec_registry)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[:2] == ["[]", "True"]


# Observations and masks.


@every_variant
def test_observations_and_masks_are_those_of_the_game(variant):
    env = pitch_v0.env(episode=2, **variant)
    env.reset(seed=3)
    same_seat_again = 0
    before = None

    def check(agent, action):
        nonlocal same_seat_again, before
        game = env.game
        assert agent == f"player_{game.actor}"
        same_seat_again += agent == before
        before = agent
        for seat, each in enumerate(env.agents):
            mask = game.legal_mask() if seat == game.actor else np.zeros(71, bool)
            seen = env.observe(each)
            assert seen["action_mask"].dtype == np.int8
            assert seen["observation"].dtype == np.float32
            np.testing.assert_array_equal(seen["action_mask"], mask)
            np.testing.assert_array_equal(env.infos[each]["action_mask"], mask)
            np.testing.assert_array_equal(seen["observation"], game.observation(seat))
            assert env.observation_space(each).contains(seen)

    play(env, np.random.default_rng(0), check)
    assert same_seat_again > 0  # winning a trick, discards


def test_what_it_gives_is_the_callers_own():
    env = pitch_v0.env()
    env.reset(seed=0)
    agent = env.agent_selection
    first = env.observe(agent)
    kept = copy.deepcopy(first)
    first["observation"][:] = 9
    first["action_mask"][:] = 9
    assert env.observe(agent)["action_mask"].max() == 1
    info = env.last()[4]
    env.step(choose(kept["action_mask"], np.random.default_rng(0)))
    np.testing.assert_array_equal(info["action_mask"], kept["action_mask"])  # not written over by the step
    np.testing.assert_array_equal(first["observation"], 9)


# Rewards and endings.


def expected_rewards(kind, game, deal):
    """By seat, for a deal of a shadow game: the definitions once more, by hand."""
    rules = game.rules
    change = [deal.score_change[rules.team_of(seat)] for seat in range(rules.players)]
    if kind == "score":
        return change
    if kind == "relative":
        return [
            change[seat] - np.mean([each for team, each in enumerate(deal.score_change) if team != rules.team_of(seat)])
            for seat in range(rules.players)
        ]
    if kind == "money":
        return [float(cents) for cents in settle(rules, change, deal.pitcher, deal.moon)]
    if game.winner is None:
        return [0] * rules.players
    return [1 if rules.team_of(seat) == game.winner else -1 for seat in range(rules.players)]


@every_variant
@pytest.mark.parametrize("kind", ["score", "relative", "win", "money"])
def test_rewards_are_paid_to_every_agent_when_a_deal_ends(variant, kind):
    env = pitch_v0.env(episode=3, **{**variant, "reward": kind})
    for seed in range(3):
        env.reset(seed=seed)
        shadow = Game(env.rules, seed, deals=3)
        for _ in env.agent_iter():
            seen, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                break
            action = choose(seen["action_mask"], np.random.default_rng(shadow.observation(0).astype(int).sum()))
            deals = shadow.deals_played
            shadow.apply(int(action))
            env.step(action)
            ended = shadow.deals_played > deals
            paid = expected_rewards(kind, shadow, shadow.last_deal) if ended else [0] * env.rules.players
            np.testing.assert_allclose(list(env.rewards.values()), paid)
            assert all(type(reward) is float for reward in env.rewards.values())
            if kind in ("relative", "money"):
                assert sum(env.rewards.values()) == pytest.approx(0)
        collected, _ = play(env, np.random.default_rng(0))  # only the end is left
        assert set(collected) == set(env.possible_agents)
        assert shadow.actor is None


@every_variant
def test_last_adds_up_to_the_change_of_the_scores_and_each_agent_sees_one_end(variant):
    for episode in ("deal", 4):
        env = pitch_v0.env(episode=episode, **{**variant, "reward": "score"})
        env.reset(seed=11)
        total, ends = play(env, np.random.default_rng(5))
        rules = env.rules
        assert [total[agent] for agent in env.possible_agents] == [
            env.game.scores[rules.team_of(seat)] for seat in range(rules.players)
        ]
        assert sorted(agent for agent, _, _ in ends) == sorted(env.possible_agents)
        assert set(ends.values()) == {1}
        assert env.agents == []


def test_a_deal_terminates_even_where_the_target_is_far():
    env = pitch_v0.env(rules="auction", episode="deal")
    env.reset(seed=0)
    _, ends = play(env, np.random.default_rng(0))
    assert {(terminated, truncated) for _, terminated, truncated in ends} == {(True, False)}
    assert env.game.deals_played == 1


def test_a_number_of_deals_truncates_a_game_with_a_target_and_is_all_of_one_without():
    for rules, end in (("auction", (False, True)), ("money", (True, False))):
        env = pitch_v0.env(rules=rules, episode=np.int64(3))
        env.reset(seed=0)
        _, ends = play(env, np.random.default_rng(0))
        assert env.game.winner is None or rules == "money"
        assert env.game.deals_played == 3
        assert {(terminated, truncated) for _, terminated, truncated in ends} == {end}


@pytest.mark.parametrize("episode", ["game", 10_000])
def test_a_game_terminates_when_it_is_won_and_pays_the_winner(episode):
    # With random play, low bids and a near target: else all bidders are set and no game ends.
    rules = Rules.preset("auction_pairs", max_bid=1, forced_bid_value=1, target=5)
    env = pitch_v0.env(rules=rules, episode=episode, reward="win")
    deals = []
    for seed in range(10):
        env.reset(seed=seed)
        total, ends = play(env, np.random.default_rng(seed))
        winner = env.game.winner
        assert winner is not None
        assert [total[agent] for agent in env.possible_agents] == [1 if seat % 2 == winner else -1 for seat in range(4)]
        assert {(terminated, truncated) for _, terminated, truncated in ends} == {(True, False)}
        deals.append(env.game.deals_played)
    assert max(deals) > 1


def test_a_won_game_on_the_last_deal_terminates():
    env = pitch_v0.env(rules="auction", target=1, episode=1)
    seen = set()
    for seed in range(30):
        env.reset(seed=seed)
        _, ends = play(env, np.random.default_rng(seed))
        won = env.game.winner is not None
        seen.add(won)
        assert {end[1:] for end in ends} == {(won, not won)}
    assert seen == {True, False}


def test_a_game_nobody_wins_pays_nobody():
    env = pitch_v0.env(rules="auction", target=200, episode=1, reward="win")
    env.reset(seed=0)
    total, _ = play(env, np.random.default_rng(0))
    assert set(total.values()) == {0}


def test_a_deal_thrown_in_pays_nothing_and_ends():
    env = pitch_v0.env(rules="money", forced_bid="throw_in", reward="money")
    env.reset(seed=0)
    for _ in range(4):
        env.step("pass")
    assert set(env.rewards.values()) == {0}
    assert set(env.terminations.values()) == {True}


# Reset.


def test_a_seed_gives_that_game_and_all_that_follow():
    first, second = pitch_v0.env(), pitch_v0.env()
    for env in (first, second):
        env.reset(seed=7)
    assert first.game == Game(first.rules, 7, deals=1)
    games = []
    for _ in range(5):
        for env in (first, second):
            env.reset()
        assert first.game == second.game
        games.append(first.game.to_bytes())
    assert len(set(games)) == 5


def test_without_any_seed_two_environments_differ():
    first, second = pitch_v0.env(), pitch_v0.env()
    first.reset()
    second.reset()
    assert first.game != second.game


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "7", True])
def test_a_bad_seed_is_refused_and_the_episode_goes_on(seed):
    env = pitch_v0.env()
    env.reset(seed=0)
    before = snapshot(env)
    with pytest.raises(ValueError, match="seed="):
        env.reset(seed=seed)
    assert snapshot(env) == before


def test_options_that_are_none_are_refused_and_the_episode_goes_on():
    env = pitch_v0.env()
    env.reset(seed=1)
    game = env.unwrapped.game.clone()
    with pytest.raises(ValueError, match=r"options=\[1\] is not allowed; it is a dictionary, or None"):
        env.reset(options=[1])
    assert env.unwrapped.game == game


def test_fields_beside_rules_may_say_what_these_say():
    rules = Rules.preset("auction", players=3)
    assert pitch_v0.env(rules, players=3, hand_size=6).unwrapped.rules == rules


def test_reset_keeps_the_rules_and_ignores_options_it_does_not_know():
    env = pitch_v0.env(rules="oklahoma", players=6, three=True, widow="pitcher", first_lead="trump", episode=2)
    rules = env.rules
    for options in (None, {}, {"options": 1, "dealer": "?"}):
        env.reset(seed=1, options=options)
        assert env.rules == rules == env.game.rules
        assert env.game.deals_limit == 2


def test_reset_in_the_middle_of_anything_begins_anew():
    env, fresh = pitch_v0.env(), pitch_v0.env()
    fresh.reset(seed=9)
    env.reset(seed=1)
    step_some(env, np.random.default_rng(0), 9)
    env.reset(seed=9)
    assert snapshot(env) == snapshot(fresh)
    while not env.terminations[env.agent_selection]:
        step_some(env, np.random.default_rng(0), 1)
    env.step(None)  # one agent has left
    env.reset(seed=9)
    assert snapshot(env) == snapshot(fresh)


def test_an_episode_may_begin_from_a_game():
    rules = Rules.preset("auction", players=2)
    hands = [["AS", "KS", "QS", "JS", "TS", "2S"], ["AH", "KH", "QH", "JH", "TH", "2H"]]
    begin = Game.from_deal(rules, hands, dealer=1)
    env = pitch_v0.env(rules=rules)
    env.reset(seed=0, options={"game": begin})
    env.step("4")
    assert begin.calls == []  # it is a copy that is played
    for card in hands[0]:
        env.step(card)
        env.step(choose(env.infos["player_1"]["action_mask"], np.random.default_rng(0)))
    assert env.rewards == {"player_0": 4.0, "player_1": 0.0}
    for wrong in (Game(rules, 0), Game(Rules(), 0, deals=1), env.game, "AS"):
        with pytest.raises(ValueError, match="options"):
            env.reset(options={"game": wrong})


# Errors.


@pytest.mark.parametrize(
    "call",
    [
        lambda env: env.step(58),
        lambda env: env.observe("player_0"),
        lambda env: env.last(),
        lambda env: env.agent_iter(),
        lambda env: env.game,
        lambda env: pitch_v0.env(render_mode="ansi").render(),
    ],
)
def test_before_reset_everything_asks_for_it(call):
    with pytest.raises(ResetNeeded, match="reset"):
        call(pitch_v0.env())


def test_after_the_episode_only_reset_is_left():
    env = pitch_v0.env()
    env.reset(seed=0)
    play(env, np.random.default_rng(0))
    assert list(env.agent_iter()) == []
    for call in (env.last, lambda: env.step(None), lambda: env.step(3)):
        with pytest.raises(ResetNeeded, match="after the episode"):
            call()
    env.observe("player_0")  # the table still lies there
    env.reset()
    env.last()


@every_variant
def test_an_illegal_action_raises_and_changes_nothing(variant):
    env = pitch_v0.env(episode=2, **variant)
    env.reset(seed=2)
    rng = np.random.default_rng(2)
    for _ in range(20):
        before = snapshot(env)
        illegal = int(choose(env.infos[env.agent_selection]["action_mask"] == 0, rng))
        for action in (illegal, np.int32(illegal), None, -1, 71, 2.0, float("nan"), "ace", True):
            with pytest.raises(IllegalAction):
                env.step(action)
        assert snapshot(env) == before
        step_some(env, rng, 1)


def test_a_finished_agent_takes_none_and_nothing_else():
    env = pitch_v0.env()
    env.reset(seed=0)
    while not env.terminations[env.agent_selection]:
        step_some(env, np.random.default_rng(0), 1)
    with pytest.raises(ValueError, match="None"):
        env.step(58)
    left = []
    while env.agents:
        left.append(env.agent_selection)
        env.step(None)
    assert left == env.possible_agents


def test_the_game_cannot_be_replaced():
    env = pitch_v0.env()
    env.reset()
    with pytest.raises(AttributeError):
        env.game = Game(env.rules, 0)


# Copies.


@every_variant
@pytest.mark.parametrize("twin_of", [copy.copy, copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_twins_in_mid_hand_are_equal_and_independent(variant, twin_of):
    env = pitch_v0.env(episode=2, render_mode="rgb_array", **variant)
    env.reset(seed=4)
    env.render()
    step_some(env, np.random.default_rng(1), 11)
    twin = twin_of(env)
    before = snapshot(env)
    assert snapshot(twin) == before
    play(twin, np.random.default_rng(2))
    assert snapshot(env) == before
    assert twin.agents == []
    twin = twin_of(env)
    assert play(twin, np.random.default_rng(3)) == play(env, np.random.default_rng(3))
    assert twin.game == env.game
    twin.reset()
    env.reset()
    assert twin.game == env.game  # the same episodes follow


def test_a_twin_made_while_agents_leave():
    env = pitch_v0.env()
    env.reset(seed=0)
    while not env.terminations[env.agent_selection]:
        step_some(env, np.random.default_rng(0), 1)
    env.step(None)
    twin = pickle.loads(pickle.dumps(env))
    assert play(twin, np.random.default_rng(0)) == play(env, np.random.default_rng(0))


# Showing.


def test_human_prints_the_table_after_reset_and_each_step(capsys):
    env = pitch_v0.env(render_mode="human")
    env.reset(seed=0)
    assert "to bid" in capsys.readouterr().out
    env.step("pass")
    assert "pass" in capsys.readouterr().out
    assert env.render() is None
    assert "pass" in capsys.readouterr().out
    env.close()
    env.close()


def test_ansi_and_rgb_array_return_what_they_show(capsys):
    env = pitch_v0.env(render_mode="ansi")
    env.reset(seed=0)
    assert all(name in env.render() for name in env.possible_agents)
    env = pitch_v0.env(render_mode="rgb_array")
    env.reset(seed=0)
    image = env.render()
    assert image.shape == (600, 800, 3)
    assert image.dtype == np.uint8
    assert capsys.readouterr().out == ""


def test_render_without_a_mode_warns_and_shows_nothing():
    env = pitch_v0.env()
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


def test_metadata():
    assert pitch_v0.raw_env.metadata["name"] == "pitch_v0"
    assert pitch_v0.raw_env.metadata["render_modes"] == ["human", "ansi", "rgb_array"]
    assert pitch_v0.raw_env.metadata["render_fps"] > 0


# The money of a deal.


def test_a_deal_of_the_money_game_by_hand():
    rules = Rules.preset("money", players=4)
    assert settle(rules, [3, 0, 1, 0], 0, None) == [20, -10, 0, -10]
    assert settle(rules, [-4, 0, 1, 0], 0, False) == [
        Fraction(-665, 2),
        Fraction(215, 2),
        Fraction(235, 2),
        Fraction(215, 2),
    ]
    assert settle(rules, [4, 0, 0, 0], 0, True) == [330, -110, -110, -110]
    assert settle(Rules.preset("money", players=3), [1, 0, 0], 1, None) == [Fraction(20, 3), *[Fraction(-10, 3)] * 2]


@given(st.data())
def test_every_settlement_sums_to_zero(data):
    players = data.draw(st.integers(2, 8))
    cents = st.integers(0, 1_000_000)
    rules = Rules.preset("money", players=players, stake_cents=data.draw(cents), moon_cents=data.draw(cents))
    change = data.draw(st.lists(st.integers(-10, 10), min_size=players, max_size=players))
    pitcher, moon = data.draw(st.integers(0, players - 1)), data.draw(st.sampled_from([None, True, False]))
    got = settle(rules, change, pitcher, moon)
    assert sum(got) == 0
    assert len(got) == players
    assert all(isinstance(each, Fraction) for each in got)
    moons = [each - plain for each, plain in zip(got, settle(rules, change, pitcher, None), strict=True)]
    sign = {None: 0, True: 1, False: -1}[moon]
    assert moons == [sign * rules.moon_cents * (players - 1 if seat == pitcher else -1) for seat in range(players)]


def test_settle_refuses_what_makes_no_sense():
    rules = Rules.preset("money", players=3)
    with pytest.raises(ValueError, match="3 players"):
        settle(rules, [1, 2], 0, None)
    with pytest.raises(ValueError, match="pitcher"):
        settle(rules, [1, 2, 0], None, True)
    with pytest.raises(ValueError, match="seat"):
        settle(rules, [1, 2, 0], 3, True)


@given(st.lists(st.fractions(-1000, 1000), min_size=1, max_size=8))
def test_whole_cents_sum_to_zero_and_are_as_near_as_they_can_be(amounts):
    amounts.append(-sum(amounts))
    cents = whole_cents(amounts)
    assert sum(cents) == 0
    assert all(abs(whole - exact) < 1 for whole, exact in zip(cents, amounts, strict=True))


def test_amounts_that_are_no_settlement_are_refused():
    with pytest.raises(ValueError, match="sums to zero"):
        whole_cents([Fraction(1, 3)])


def test_infos_are_copies():
    env = pitch_v0.env()
    env.reset(seed=1)
    agent = env.agent_selection
    env.infos[agent]["action_mask"][:] = 0
    assert env.observe(agent)["action_mask"].any()
