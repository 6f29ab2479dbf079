"""Pitch-v0: one seat learns, agents have the others. Against Gymnasium, SB3 and the PettingZoo environment."""

import copy
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import agents.gymnasium_env
from agents import load
from agents.gymnasium_env import PitchEnv
from agents.gymnasium_vector import PitchVectorEnv
from pitch_env import Game, IllegalAction, Rules, pitch_v0

assert agents.gymnasium_env  # which registers the environment

KINDS: list[dict[str, Any]] = [
    {"rules": "auction"},
    {"rules": "auction", "reward": "win", "episode": "game", "seat": 1},
    {"rules": "auction_pairs", "reward": "relative", "seat": "random", "observation": "dict"},
    {"rules": "money", "players": 3, "reward": "money", "episode": 3, "penalty": -1000.0},
    {"rules": "oklahoma", "reward": "relative", "opponents": ["expert", "greedy", "expert"]},
    {"rules": "oklahoma", "players": 6, "episode": 2, "observation": "dict"},
    {"rules": "auction", "players": 2, "forced_bid": "throw_in", "episode": 4},
]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind['rules']}-{kind.get('reward', 'score')}")


def choose(masks: np.ndarray, observations: Any) -> np.ndarray:
    """A legal action for each row that depends on nothing but what is seen."""
    seen = observations["observation"] if isinstance(observations, dict) else observations
    numbers = masks.sum(1)
    turn = seen.sum(1).astype(int) % numbers
    return np.argmax(np.cumsum(masks, axis=1) > turn[:, None], axis=1)


def one(mask: np.ndarray, observation: Any) -> int:
    seen = observation["observation"] if isinstance(observation, dict) else observation
    return int(choose(mask[None], seen[None])[0])


# The checkers of others.


@each_kind
def test_gymnasium_has_nothing_to_complain_about(kind: dict[str, Any]) -> None:
    env = gymnasium.make("Pitch-v0", illegal="end", **kind)
    check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_gymnasium_likes_how_it_renders(mode: str) -> None:
    env = gymnasium.make("Pitch-v0", illegal="end", render_mode=mode)
    check_env(env.unwrapped, skip_render_check=False)


@each_kind
def test_stable_baselines_has_nothing_to_complain_about(kind: dict[str, Any]) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(gymnasium.make("Pitch-v0", illegal="end", **kind))


# One table.


@each_kind
def test_an_episode_is_the_one_that_pitch_v0_plays(kind: dict[str, Any]) -> None:
    """The learner sees what its seat sees there, and gets all that its seat gets, whoever acted last."""
    seats = set()
    for seed in range(6):
        env = PitchEnv(**kind)
        names = {"opponents", "seat", "observation", "penalty"}
        table = pitch_v0.env(**{name: value for name, value in kind.items() if name not in names})
        seen, info = env.reset(seed=seed)
        table.reset(seed=seed)
        me, total, paid, over = f"player_{info['seat']}", 0.0, 0.0, False
        seats.add(info["seat"])
        others = [load(each) for each in kind.get("opponents", ["expert"] * (env.rules.players - 1))]
        others = [None, *others]
        while table.agents:
            agent = table.agent_selection
            there, reward, *end, _ = table.last()
            if any(end):
                paid += reward if agent == me else 0
                table.step(None)
                continue
            if agent != me:
                place = (int(agent[7:]) - info["seat"]) % env.rules.players
                rows = there["observation"][None], there["action_mask"][None]
                table.step(int(others[place].act(*rows, env.np_random)[0]))
                continue
            paid += reward
            assert not over
            np.testing.assert_array_equal(
                seen if env.table.with_mask is False else seen["observation"], there["observation"]
            )
            np.testing.assert_array_equal(info["action_mask"], there["action_mask"])
            np.testing.assert_array_equal(env.action_masks(), there["action_mask"] == 1)
            action = one(info["action_mask"], seen)
            table.step(action)
            seen, gained, terminated, truncated, info = env.step(action)
            total, over = total + gained, terminated or truncated
        assert over
        assert (terminated, truncated) == tuple(end)
        assert total == paid
        assert not env.action_masks().any()
    if kind.get("seat", "rotate") == "rotate":
        assert seats == set(range(env.rules.players))


def test_points_that_another_player_takes_at_the_end_are_the_learners_own() -> None:
    """The learner's last card is not the last of the deal, and what it wins or loses is settled after that."""
    hands = [["2C", "3C", "4C", "5C", "6C", "7C"], ["AS", "KS", "JS", "TS", "2S", "3S"]]
    game = Game.from_deal(Rules.preset("auction", players=2), hands, dealer=1)
    game.apply("pass")

    class Bold:
        name = "bold"

        def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            """The highest legal action: the highest bid, the highest card of the last suit."""
            return mask.shape[1] - 1 - mask[:, ::-1].argmax(1)

    for reward, mine in (("score", 0.0), ("relative", -4.0)):
        env = PitchEnv("auction", [Bold()], players=2, reward=reward)
        _, info = env.reset(options={"game": game, "seat": 0})
        over, total = False, 0.0
        while not over:
            _, gained, over, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
            total += gained
        assert env.game.last_deal.score_change == [0, 4]
        assert total == gained == mine


def test_the_same_seed_is_the_same_sequence_of_episodes() -> None:
    def play(env: PitchEnv) -> list[Any]:
        found = []
        seen, info = env.reset(seed=11)
        for _ in range(60):
            seen, reward, over, _, info = env.step(one(info["action_mask"], seen))
            found.append((seen.tobytes(), reward, info["seat"]))
            if over:
                seen, info = env.reset()
                found.append((seen.tobytes(), 0.0, info["seat"]))
        return found

    first = PitchEnv("auction", "random", "random")
    assert play(first) == play(first) == play(PitchEnv("auction", "random", "random"))


def test_seats_rotate_or_stay() -> None:
    rotating, fixed = PitchEnv(seat="rotate"), PitchEnv(seat=2)
    begin = rotating.reset(seed=5)[1]["seat"]
    assert begin == 1
    assert [rotating.reset()[1]["seat"] for _ in range(4)] == [2, 3, 0, 1]
    assert {fixed.reset(seed=seed)[1]["seat"] for seed in range(5)} == {2}
    assert {PitchEnv(seat="random").reset(seed=seed)[1]["seat"] for seed in range(40)} == {0, 1, 2, 3}


def test_an_illegal_action_is_an_error_that_changes_nothing() -> None:
    env = PitchEnv("auction", "random")
    seen, info = env.reset(seed=3)
    before, illegal = env.game.to_bytes(), int(np.argmin(info["action_mask"]))
    with pytest.raises(IllegalAction, match="legal are"):
        env.step(illegal)
    assert env.game.to_bytes() == before
    twin = copy.deepcopy(env)
    action = one(info["action_mask"], seen)
    np.testing.assert_array_equal(env.step(action)[0], twin.step(action)[0])


@pytest.mark.parametrize("rules", ["auction_pairs", "oklahoma"])
def test_from_an_illegal_action_nobody_gains(rules: str) -> None:
    env = PitchEnv(rules, "greedy", illegal="end", penalty=-7.5)
    _, info = env.reset(seed=3)
    scores = env.game.scores
    _, reward, terminated, truncated, info = env.step(int(np.argmin(info["action_mask"])))
    assert (reward, terminated, truncated) == (-7.5, True, False)
    assert "legal" in info["illegal"]
    assert env.game.scores == scores
    assert not any(env.aec.rewards.values())
    assert not any(env.aec._cumulative_rewards.values())
    assert not info["action_mask"].any()
    with pytest.raises(ResetNeeded):
        env.step(58)
    env.reset()
    assert env.action_masks().any()


@pytest.mark.parametrize("make", [PitchEnv, PitchVectorEnv])
def test_what_cannot_be_is_named(make: Any) -> None:
    for arguments, message in (
        ({"opponents": ["random"] * 2}, "3 for the other seats"),
        ({"opponents": ["nobody"]}, "no agent 'nobody'"),
        ({"opponents": 7}, "opponents=7"),
        ({"opponents": [object()] * 3}, "act"),
        ({"seat": 4}, "seat=4"),
        ({"seat": "left"}, "'rotate' or 'random'"),
        ({"illegal": "pass"}, "'raise' or 'end'"),
        ({"penalty": 1.0}, "penalty=1.0"),
        ({"observation": "text"}, "observation='text'"),
        ({"reward": "fame"}, "reward='fame'"),
        ({"render_mode": "smell"}, "render_mode='smell'"),
    ):
        with pytest.raises(ValueError, match=message):
            make(**arguments)
    env = make()
    with pytest.raises(ResetNeeded):
        env.step(np.full(1, 58) if make is PitchVectorEnv else 58)


# Many tables.


@each_kind
def test_tables_in_a_batch_play_the_same_episodes(kind: dict[str, Any]) -> None:
    """To the bit what Gymnasium's own vector environment makes of single tables, the ends of episodes included."""
    tables, random_seat = 5, kind.get("seat") == "random"
    batch = gymnasium.make_vec("Pitch-v0", num_envs=tables, **kind)
    assert isinstance(batch, PitchVectorEnv)
    singles = [PitchEnv(**kind) for _ in range(tables)]
    seen, info = batch.reset(seed=20)
    starts = []
    for i, single in enumerate(singles):
        options = {"seat": int(info["seat"][i])} if random_seat else None
        starts.append(single.reset(seed=20 + i, options=options))
    ended = 0
    for _ in range(60):
        for i, (one_seen, one_info) in enumerate(starts):
            assert_row(seen, i, one_seen)
            np.testing.assert_array_equal(info["action_mask"][i], one_info["action_mask"])
            assert info["seat"][i] == one_info["seat"]
        actions = choose(info["action_mask"], seen)
        seen, reward, terminated, truncated, info = batch.step(actions)
        starts = []
        for i, single in enumerate(singles):
            last, gained, *ends, one_info = single.step(int(actions[i]))
            assert (reward[i], terminated[i], truncated[i]) == (gained, *ends)
            if any(ends):
                ended += 1
                assert info["_final_obs"][i]
                assert_row(
                    {name: [part] for name, part in last.items()} if isinstance(last, dict) else [last],
                    0,
                    info["final_obs"][i],
                )
                assert info["final_info"]["seat"][i] == one_info["seat"]
                game = batch.batch.game(i)  # at the learner's turn, from which the single table goes on
                last, one_info = single.reset(options={"game": game, "seat": int(info["seat"][i])})
            starts.append((last, one_info))
    assert ended > tables or kind.get("episode") == "game"
    assert ended


def assert_row(rows: Any, i: int, row: Any) -> None:
    for whole, part in zip(rows.values(), row.values(), strict=True) if isinstance(row, dict) else [(rows, row)]:
        np.testing.assert_array_equal(whole[i], part)


def test_a_batch_says_what_gymnasiums_own_says() -> None:
    """The same keys, shapes and types as a SyncVectorEnv of single tables."""
    mode = {"autoreset_mode": AutoresetMode.SAME_STEP}
    options: dict[str, Any] = {"num_envs": 3, "opponents": "greedy", "illegal": "end"}
    ours = gymnasium.make_vec("Pitch-v0", **options)
    theirs = gymnasium.make_vec("Pitch-v0", vectorization_mode="sync", vector_kwargs=mode, **options)
    assert ours.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert (ours.observation_space, ours.action_space) == (theirs.observation_space, theirs.action_space)
    answers = [ours.reset(seed=2), theirs.reset(seed=2)]
    wrong = np.where(np.arange(3) == 1, 70, answers[0][1]["action_mask"].argmax(1))
    same(*answers)
    answers = [ours.step(wrong), theirs.step(wrong)]
    for (_, *mine, info), (_, *other, other_info) in [answers]:
        same(mine, other)
        assert info["final_info"].keys() == other_info["final_info"].keys()
        same(info["final_obs"][1], other_info["final_obs"][1])
        assert info["final_info"]["illegal"][1] == other_info["final_info"]["illegal"][1]
        assert set(info) == set(other_info)
    assert ours.observation_space.contains(answers[0][0])


def same(mine: Any, other: Any) -> None:
    if isinstance(mine, dict):
        assert mine.keys() == other.keys()
        for name in mine:
            same(mine[name], other[name])
    elif isinstance(mine, tuple | list):
        for left, right in zip(mine, other, strict=True):
            same(left, right)
    else:
        np.testing.assert_array_equal(mine, other)
        assert np.asarray(mine).dtype == np.asarray(other).dtype


def test_illegal_actions_in_a_batch() -> None:
    strict, lenient = (PitchVectorEnv(8, "auction", "greedy", illegal=illegal) for illegal in ("raise", "end"))
    _, info = strict.reset(seed=1)
    lenient.reset(seed=1)
    actions = info["action_mask"].argmax(1)
    actions[[2, 5]] = 70, 1000
    before = strict.batch.states.tobytes()
    with pytest.raises(IllegalAction, match="at table 2"):
        strict.step(actions)
    assert strict.batch.states.tobytes() == before
    legal = info["action_mask"].argmax(1)
    seen, *_ = strict.step(legal)
    there, reward, terminated, _, info = lenient.step(actions)
    np.testing.assert_array_equal(np.flatnonzero(terminated), [2, 5])
    np.testing.assert_array_equal(reward, np.where(terminated, -10.0, 0))
    others = np.flatnonzero(~terminated)
    np.testing.assert_array_equal(seen[others], there[others])
    np.testing.assert_array_equal(info["seat"], [(1 + i + (i in (2, 5))) % 4 for i in range(8)])
    assert (lenient.batch.states["public"]["num_played"][[2, 5]] == 0).all()


def test_actions_are_integers_of_any_type() -> None:
    """And are not written to."""
    for kind in (np.uint8, np.int32, np.uint64):
        env = PitchVectorEnv(4, "auction", "greedy", illegal="end")
        _, info = env.reset(seed=1)
        actions = info["action_mask"].argmax(1).astype(kind)
        actions[3] = 70
        before = actions.copy()
        _, _, terminated, _, _ = env.step(actions)
        np.testing.assert_array_equal(terminated, [False, False, False, True])
        np.testing.assert_array_equal(actions, before)
    for wrong in (np.zeros(3, int), np.zeros(4), [[1] * 4]):
        with pytest.raises(ValueError, match="integers of shape"):
            env.step(wrong)


def test_agents_act_once_for_all_tables() -> None:
    """However many tables there are and seats the agent has: that is what makes the batch fast."""

    class Counting:
        name = "counting"
        calls = rows = 0

        def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            self.calls, self.rows = self.calls + 1, self.rows + len(mask)
            return mask.argmax(1)

    agent = Counting()
    env = PitchVectorEnv(64, "auction", agent)
    _, info = env.reset(seed=0)
    agent.calls = agent.rows = 0
    for _ in range(20):
        *_, info = env.step(info["action_mask"].argmax(1))
    assert agent.calls <= 20 * 10
    assert agent.rows > 64 * 20 * 2


def test_an_agent_that_cheats_is_found_out() -> None:
    class Cheat:
        name = "cheat"

        def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            return mask.argmin(1)

    with pytest.raises(IllegalAction, match="cheat, at table"):
        PitchVectorEnv(8, "auction", Cheat()).reset(seed=0)
    env = PitchEnv("auction", Cheat())
    seeds = [
        seed for seed in range(8) if (Game(env.rules, seed, 1).dealer + 1 - seed) % 4
    ]  # the learner does not begin
    with pytest.raises(IllegalAction):
        env.reset(seed=seeds[0])


def test_tables_are_shown() -> None:
    env = PitchVectorEnv(2, render_mode="ansi")
    env.reset(seed=0)
    frames = env.render()
    assert len(frames) == 2
    assert all("player_0" in frame for frame in frames)
    with pytest.raises(ValueError, match="human"):
        PitchVectorEnv(2, render_mode="human")


# Learning.


def test_stable_baselines_vector_of_single_tables_and_ours_are_the_same() -> None:
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    from agents.sb3_vec_env import PitchVecEnv

    arguments: dict[str, Any] = {"rules": "auction", "opponents": "greedy", "illegal": "end"}
    theirs = vec_env.DummyVecEnv([lambda: PitchEnv(**arguments)] * 6)
    ours = PitchVecEnv(6, **arguments)
    for env in (theirs, ours):
        env.seed(30)
    assert (ours.observation_space, ours.action_space) == (theirs.observation_space, theirs.action_space)
    assert ours.has_attr("action_masks")
    seen = ours.reset()
    np.testing.assert_array_equal(seen, theirs.reset())
    done = np.zeros(6, bool)
    for turn in range(12):
        masks = np.array(ours.env_method("action_masks"))
        np.testing.assert_array_equal(masks[~done], np.array(theirs.env_method("action_masks"))[~done])
        actions = choose(masks, seen)
        if turn == 2:
            actions[1] = 70
        seen, reward, ended, infos = ours.step(actions)
        there, rewards, ends, their_infos = theirs.step(np.where(done, 58, actions))
        for row in np.flatnonzero(~done):  # the first episodes; theirs go on with others
            assert (reward[row], ended[row]) == (rewards[row], ends[row])
            assert infos[row]["TimeLimit.truncated"] == their_infos[row]["TimeLimit.truncated"]
            last = [each[row]["terminal_observation"] for each in (infos, their_infos) if ended[row]]
            np.testing.assert_array_equal(*last or (seen[row], there[row]))
        done |= ended
    assert done.all()


def test_maskable_ppo_learns() -> None:
    """A short run of sb3-contrib's learner gets clearly more points a deal from random players than before it."""
    sb3_contrib = pytest.importorskip("sb3_contrib")
    torch = pytest.importorskip("torch")
    from agents.sb3_vec_env import PitchVecEnv

    torch.set_num_threads(1)
    arguments: dict[str, Any] = {"rules": "auction", "opponents": "random", "players": 2, "reward": "relative"}
    model = sb3_contrib.MaskablePPO(
        "MlpPolicy", PitchVecEnv(16, **arguments), n_steps=64, batch_size=256, n_epochs=6, learning_rate=1e-3,
        gamma=1.0, seed=1, device="cpu",
    )  # fmt: skip
    before = points(model, arguments)
    model.learn(4096)
    assert abs(before) < 0.6
    assert points(model, arguments) > before + 0.5


def points(model: Any, arguments: dict[str, Any]) -> float:
    """The mean over 512 deals."""
    env = PitchVectorEnv(512, **arguments)
    seen, info = env.reset(seed=1000)
    total, playing = np.zeros(512), np.ones(512, bool)
    while playing.any():
        action, _ = model.predict(seen, action_masks=info["action_mask"], deterministic=False)
        seen, reward, over, _, info = env.step(action)
        total, playing = total + reward * playing, playing & ~over
    return float(total.mean())
