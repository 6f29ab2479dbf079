"""Game records: they replay to the same result, and whatever the rules contradict is refused with the place."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import VARIANTS, any_rules, examples, random_step, seeds

from pitch_env import Game, Rules, VectorGame
from pitch_env.record import Record, RecordError, Seat, append, read, read_lines, record_of, replay, write
from pitch_env.recorder import Recorder

# A line as this version writes it: later versions must read it, and to the same result.
GOLDEN = Path(__file__).parent / "cases" / "records.jsonl"


def played(rules: Rules, seed: int, deals: int, name: str | None = "g") -> list[tuple[Record, list[Game], Game]]:
    """The deals of a random game: each record, the game before each of its actions, and the game after the deal."""
    game, rng, found = Game(rules, seed, deals), random.Random(seed), []
    while game.actor is not None:
        before, actions, deal = [], [], game.deals_played
        while game.actor is not None and game.deals_played == deal:
            before.append(game.clone())
            actions.append(random_step(game, rng))
            game.apply(actions[-1])
        found.append((record_of(before[-1], actions, name=name), before, game.clone()))
    return found


def knowledge(game: Game) -> list[object]:
    seats = range(game.rules.players)
    return [game.actor, game.legal(), game.scores, game.deals_played, *(game.infoset(seat) for seat in seats)]


@examples(0.4)
@given(any_rules(), seeds)
def test_a_record_replays_to_the_same_table_at_every_step(rules, seed):
    for record, before, after in played(rules, seed, 3):
        again = Record.from_json(record.to_json())
        assert again == record
        steps = list(replay(again))
        assert [knowledge(step) for step in steps[:-1]] == [knowledge(game) for game in before]
        assert steps[-1].last_deal == after.last_deal
        assert steps[-1].scores == after.scores == again.result.scores
        assert steps[-1].actor is None
        assert again.result.game_over == (after.actor is None)
        assert again.result.winner == after.winner
        assert [step.to_bytes() for step in replay(again)] == [step.to_bytes() for step in steps]


@examples(0.2)
@given(any_rules(), seeds, st.data())
def test_a_game_goes_on_through_its_records(tmp_path_factory, rules, seed, data):
    path = tmp_path_factory.mktemp("records") / "game.jsonl"
    records = [record for record, *_ in played(rules, seed, 3)]
    write(path, records)
    assert list(read(path)) == records
    if len(records) > 1:
        place = data.draw(st.integers(1, len(records) - 1))
        fields = json.loads(records[place].to_json())
        fields["rules"]["stake_cents"] += 1
        lines = [record.to_json() for record in records]
        lines[place] = json.dumps(fields)
        path.write_text("\n".join(lines))
        with pytest.raises(RecordError, match=f"line {place + 1}: deal {place + 1} of game 'g' has other rules"):
            list(read(path))


@examples(0.4)
@given(any_rules(), seeds, st.data())
def test_a_record_of_a_deal_that_is_not_over(rules, seed, data):
    record, before, _ = played(rules, seed, 1)[0]
    number = data.draw(st.integers(0, len(before) - 1))
    part = record_of(before[number], record.actions[:number])
    assert part.result is None
    assert part.deal == record.deal
    assert knowledge(list(replay(Record.from_json(part.to_json())))[-1]) == knowledge(before[number])


def one_record(rules: str | Rules = "auction", seed: int = 1) -> Record:
    return played(Rules.preset(rules) if isinstance(rules, str) else rules, seed, 1)[0][0]


def changed(record: Record, **fields: object) -> str:
    return json.dumps(json.loads(record.to_json()) | fields)


@given(st.sampled_from(sorted(VARIANTS)), seeds, st.data())
def test_a_false_result_is_refused_by_name(variant, seed, data):
    record = one_record(VARIANTS[variant], seed)
    result = json.loads(record.to_json())["result"]
    name = data.draw(st.sampled_from(sorted(result)))
    true = result[name]
    if isinstance(true, list):
        place = data.draw(st.integers(0, len(true) - 1))
        false = [value + (i == place) for i, value in enumerate(true)]
    elif isinstance(true, dict):
        false = true | {"high": 1 - true.get("high", 0)}
    elif isinstance(true, bool):
        false = not true
    else:
        false = "S" if true != "S" else "C"
    with pytest.raises(RecordError, match=f"the result's {name} is .*; by the rules it is"):
        Record.from_json(changed(record, result=result | {name: false}))


@examples(0.4)
@given(st.sampled_from(sorted(VARIANTS)), seeds, st.data())
def test_an_illegal_action_is_refused_with_its_number_and_what_is_allowed(variant, seed, data):
    record, before, _ = played(VARIANTS[variant], seed, 1)[0]
    number = data.draw(st.integers(0, len(before) - 1))
    legal = before[number].legal()
    false = data.draw(st.sampled_from([text for text in ("pass", "AS", "2C", "+J", "10", "done") if text not in legal]))
    actions = [*record.actions[:number], false, *record.actions[number + 1 :]]
    with pytest.raises(RecordError) as error:
        Record.from_json(changed(record, actions=actions))
    assert f"action {number + 1}: {false!r} is not legal" in str(error.value)
    assert f"legal are {', '.join(legal)}" in str(error.value)
    assert error.value.action == number + 1


def without(record: Record, *path: str) -> str:
    fields = json.loads(record.to_json())
    where = fields
    for name in path[:-1]:
        where = where[name]
    del where[path[-1]]
    return json.dumps(fields)


def with_deal(record: Record, **fields: object) -> str:
    return changed(record, deal=json.loads(record.to_json())["deal"] | fields)


def test_what_is_no_record_is_refused_with_the_reason():
    record = one_record()
    hands = record.deal.hands
    result = json.loads(record.to_json())["result"]
    refused = {
        "": "not JSON",
        "[" * 100_000: "not JSON",
        "[]": "not a record",
        '{"format": NaN}': "not JSON",
        record.to_json()[:-9]: "not JSON",
        changed(record, format="pitch-record 2"): "'pitch-record 2'; this version reads 'pitch-record 1'",
        changed(record, actions="pass"): "actions: 'pass' is not allowed; it is a list of texts",
        changed(record, actions=[*record.actions, "pass"]): "comes after the end of the deal",
        changed(record, actions=["fold", *record.actions]): "action 1: 'fold' is not an action",
        changed(record, actions=list(record.actions[:-1])): "there is a result, but after all actions seat",
        changed(record, result=None): "there is no result, though the deal is over",
        changed(record, result=result | {"pot": 3}): "the result knows no 'pot'",
        changed(record, rules=record.rules.to_dict() | {"players": 1}): "players=1 is not allowed",
        changed(record, rules=7): "rules=7 is not allowed",
        changed(record, seats=[]): "0 seats are not allowed; 4 players need one each",
        changed(record, seats=[7] * 4): "seat 0 is 7; it is an object",
        changed(record, seats=[{"agent": "a", "hash": 7}] * 4): "seat 0's hash: 7 is not allowed",
        changed(record, game=7): "game: 7 is not allowed",
        with_deal(record, dealer=4): "dealer=4 is not allowed; seats are 0 to 3",
        with_deal(record, dealer=True): "the deal's dealer: True is not allowed",
        with_deal(record, number=0): "deal number 0 is not allowed",
        with_deal(record, number=2): "deal number 2 is not allowed; it is 1 to 1",
        with_deal(record, scores=[0] * 3): "scores .* are not allowed; they are 4 numbers",
        with_deal(record, scores=[10**9] * 4): "scores .* are not allowed",
        with_deal(record, hands=hands[:3]): "3 hands are not allowed",
        with_deal(record, hands=[*hands[:3], hands[2]]): "is there twice",
        with_deal(record, hands=[*hands[:3], hands[3][:5]]): "hand of seat 3 has 5 cards; it must have 6",
        with_deal(record, hands=[*hands[:3], [*hands[3][:5], "1X"]]): "hand of seat 3",
        with_deal(record, luck=1): "the deal knows no 'luck'",
        without(record, "seats"): "the record has no 'seats'",
        without(record, "result", "points"): "the result has no 'points'",
        without(record, "deal", "widow"): "the deal has no 'widow'",
    }
    for line, reason in refused.items():
        with pytest.raises(RecordError, match=reason) as error:
            Record.from_json(line)
        assert "\n" not in str(error.value)


def test_unknown_fields_at_the_top_are_kept():
    record = Record.from_json(changed(one_record(), event="club evening", clock=[1, 2]))
    assert record.extra == {"event": "club evening", "clock": [1, 2]}
    assert Record.from_json(record.to_json()) == record


def test_the_order_of_the_widow_is_the_order_of_drawing():
    """The same cards in another order give the one who exchanges other cards."""
    record = next(r for r in (one_record("oklahoma", seed) for seed in range(99)) if "done" in r.actions)
    assert len(record.deal.widow) == 18
    exchange = next(i for i, game in enumerate(replay(record)) if game.phase == "exchange")
    hands = []
    for widow in (record.deal.widow, record.deal.widow[::-1]):
        fields = json.loads(with_deal(record, widow=widow)) | {"actions": list(record.actions[:exchange])}
        game = list(replay(Record.from_json(json.dumps(fields | {"result": None}))))[-1]
        seat = game.actor
        for _ in range(3):
            game.apply(next(card for card in game.dealt(seat) if card in game.legal()))
        hands.append(set(game.hand(seat)) - set(game.dealt(seat)))
    assert hands == [set(record.deal.widow[:3]), set(record.deal.widow[:-4:-1])]


def test_thrown_in_deals_and_moons():
    rules = Rules.preset("money", forced_bid="throw_in")
    game = Game(rules, 3, deals=2)
    record = record_of(game, ["pass"] * 4)
    assert (record.result.pitcher, record.result.made, record.result.bid) == (None, None, None)
    assert not record.result.game_over
    assert Record.from_json(record.to_json()) == record
    game.apply("moon")
    actions = ["moon"]
    while game.deals_played == 0:
        last, action = game.clone(), game.legal()[0]
        game.apply(action)
        actions.append(action)
    record = Record.from_json(record_of(last, actions).to_json())
    assert (record.result.bid, record.result.moon) == ("moon", False)
    assert record.result.score_change[record.result.pitcher] == -4


def test_scores_may_be_as_high_as_a_long_session_makes_them():
    game = Game(Rules.preset("money"), 1, deals=30_000)
    game._public["scores"][:4] = [20_000, -20_000, 3, 0]
    assert Record.from_json(record_of(game, []).to_json()).deal.scores == [20_000, -20_000, 3, 0]


def test_deals_of_a_game_that_do_not_follow_are_refused(tmp_path):
    game, path = played(Rules.preset("money"), 5, 3), tmp_path / "r.jsonl"
    first, second, third = (record for record, *_ in game)
    for fields, reason in (
        ({"dealer": (second.deal.dealer + 1) % 4}, "its dealer is"),
        ({"scores": [9, 9, 9, 9]}, r"its scores is \[9, 9, 9, 9\]; after the deal before it is"),
        ({"limit": 4}, "its limit is 4"),
    ):
        deal = json.loads(with_deal(second, **fields)) | {"actions": [], "result": None}
        path.write_text(f"{first.to_json()}\n{json.dumps(deal)}\n")
        with pytest.raises(RecordError, match=f"line 2: deal 2 of game 'g': {reason}"):
            list(read(path))
    fourth = with_deal(third, number=4, limit=4)
    path.write_text(f"{third.to_json()}\n{json.dumps(json.loads(fourth) | {'actions': [], 'result': None})}\n")
    with pytest.raises(RecordError, match="deal 4 of game 'g' cannot follow: the deal before"):
        list(read(path))
    write(path, [first, third, second])  # a selection, and in another order: nothing is known to contradict it
    assert list(read(path)) == [first, third, second]


def test_every_line_of_a_damaged_file_is_looked_at(tmp_path):
    path, record = tmp_path / "r.jsonl", one_record()
    line = record.to_json().encode()
    path.write_bytes(line + b"\n\n\xff\xfe\n" + line + b"\n" + line[:-20])
    found = list(read_lines(path))
    assert [number for number, _ in found] == [1, 3, 4, 5]
    assert [isinstance(each, Record) for _, each in found] == [True, False, True, False]
    assert str(found[1][1]).startswith(f"{path}, line 3: this is not JSON")
    assert str(found[3][1]) == f"{path}, line 5: the file is cut off in this line"
    assert found[3][1].line == 5
    with pytest.raises(RecordError, match="line 3"):
        list(read(path))
    path.write_bytes(line)
    assert list(read(path)) == [record]


def test_appending_never_joins_lines(tmp_path):
    path, record = tmp_path / "r.jsonl", one_record()
    append(path, [record])
    append(path, [record, record])
    assert list(read(path)) == [record] * 3
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    with pytest.raises(ValueError, match="ends in the middle of a line"):
        append(path, [record])
    assert path.read_bytes() == whole[:-30]


def test_records_of_this_format_stay_readable():
    records = list(read(GOLDEN))
    assert {record.rules.widow for record in records} == {"none", "exchange", "pitcher", "unused"}
    for record, line in zip(records, GOLDEN.read_text().splitlines(), strict=True):
        assert json.loads(record.to_json()).items() >= (json.loads(line) | {"rules": record.rules.to_dict()}).items()


# Batches.


@examples(0.1)
@given(st.lists(any_rules(), min_size=1, max_size=3), seeds, st.booleans(), st.data())
def test_a_recorder_notes_every_deal_of_a_batch(rules, seed, skip_forced, data):
    batch = VectorGame(rules, 5, seed, deals=2, skip_forced=skip_forced)
    rng = np.random.default_rng(seed)
    for _ in range(data.draw(st.integers(0, 3))):  # deals that have begun are passed over
        batch.step(batch.random_actions(rng))
    begun = batch.states["public"]["num_calls"] > 0
    seats = [Seat(f"agent {i}", "abc") for i in range(batch.players)]
    recorder, records, ended = Recorder(batch, seats, name="arena-"), [], np.zeros(5, int)
    for _ in range(150):
        new = recorder.step(batch.random_actions(rng))
        for index in np.flatnonzero(batch.ended):
            ended[index] += 1
            if begun[index] and ended[index] == 1:
                continue
            record = new.pop(0)
            public = batch.last[index]
            assert record.game.startswith(f"arena-{index}.")
            assert record.rules == rules[index % len(rules)]
            assert record.seats == tuple(seats[: record.rules.players])
            assert record.result.scores == public["scores"][: record.rules.teams].tolist()
            assert record.result.score_change == public["change"][: record.rules.teams].tolist()
            records.append(record)
        assert not new
    assert len(records) == ended.sum() - begun[ended > 0].sum()
    games = {}
    for record in records:
        assert Record.from_json(record.to_json()) == record
        if record.game in games and not begun[int(record.game[6])]:
            assert record.deal.number == games[record.game] + 1
        games[record.game] = record.deal.number


def test_a_recorder_of_some_games_with_other_seats_each(tmp_path):
    batch, path = VectorGame(Rules.preset("auction"), 6, 1, deals=None), tmp_path / "r.jsonl"
    recorder = Recorder(batch, lambda index: [Seat(f"{index}-{seat}") for seat in range(4)], games=[1, 4])
    rng = np.random.default_rng(1)
    for step in range(400):
        append(path, recorder.step(batch.random_actions(rng)))
        if step == 200:
            recorder.stop([4])
    records = list(read(path))  # the deals of each game follow from each other
    assert {record.game.split(".")[0] for record in records} == {"1", "4"}
    assert all(seat.agent.startswith(record.game[0]) for record in records for seat in record.seats)
    assert max(record.deal.number for record in records) > 1
    assert sum(record.game[0] == "1" for record in records) > sum(record.game[0] == "4" for record in records)


def test_a_batch_that_is_stepped_past_its_recorder_is_noticed():
    batch, rng = VectorGame(Rules.preset("auction"), 3, 1), np.random.default_rng(1)
    recorder = Recorder(batch, [Seat("a")] * 4)
    batch.step(batch.random_actions(rng))
    steps = (recorder.step(batch.random_actions(rng)) for _ in range(100))
    with pytest.raises(ValueError, match=r"game 0 was not stepped by this recorder alone|action \d+: "):
        list(steps)
