"""The money game's table: whoever comes and goes, all sums are zero, nothing is lost but parts of a cent, and the
settlement has the fewest payments.
"""

import json
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from pitch_env import Game, Rules
from pitch_env.money import Ledger, Payment, Settlement, fewest_payments, settle

NAMES = ["Ann", "Bob", "Cem", "Dora", "Eve", "Finn", "Gus", "Hana", "Ida", "Jo"]


def open_cents(ledger):
    return {name: cents for name, cents in ledger.whole_balances().items() if cents}


def apply_payments(cents, payments):
    cents = dict(cents)
    for payment in payments:
        assert payment.cents > 0
        cents[payment.payer] += payment.cents
        cents[payment.payee] -= payment.cents
    return cents


def test_an_evening_by_hand():
    ledger = Ledger()
    for name in ("Ann", "Bob", "Cem"):
        ledger.join(name)
    assert ledger.deal(("Ann", "Bob", "Cem"), (3, 0, 1), pitcher=0) == {
        "Ann": Fraction(50, 3), "Bob": Fraction(-40, 3), "Cem": Fraction(-10, 3),
    }  # fmt: skip
    assert ledger.whole_balances() == {"Ann": 17, "Bob": -13, "Cem": -4}
    assert ledger.leave("Cem") == [Payment("Cem", "Ann", 4)]
    assert ledger.balances == {"Ann": Fraction(40, 3), "Bob": Fraction(-40, 3)}
    ledger.join("Dora")
    ledger.deal(("Bob", "Dora"), (4, 0), pitcher=0, moon=True)
    assert ledger.balances == {"Ann": Fraction(40, 3), "Bob": 120 - Fraction(40, 3), "Dora": -120}
    assert ledger.settlement() == Settlement((Payment("Dora", "Bob", 107), Payment("Dora", "Ann", 13)), True)
    ledger.settle_up()
    assert ledger.balances == {"Ann": 0, "Bob": 0, "Dora": 0}
    assert [payment.cents for payment in ledger.payments] == [4, 107, 13]
    assert ledger.deals == 2


@st.composite
def evenings(draw):
    """A number of things that happen at a table: who joins, leaves, and what deals bring."""
    return draw(
        st.lists(
            st.one_of(
                st.tuples(st.just("join"), st.sampled_from(NAMES)),
                st.tuples(st.just("leave"), st.sampled_from(NAMES), st.booleans()),
                st.tuples(st.just("deal"), st.lists(st.integers(-4, 4), min_size=2, max_size=8), st.randoms()),
                st.tuples(st.just("deal"), st.lists(st.integers(-4, 4), min_size=2, max_size=8), st.randoms()),
                st.tuples(st.just("save")),
            ),
            max_size=60,
        )
    )


@given(evenings(), st.integers(0, 1000), st.integers(0, 1000))
def test_whoever_comes_and_goes_all_sums_are_zero(tmp_path_factory, evening, stake, moon):
    ledger, won, leaves = Ledger(stake, moon), dict.fromkeys(NAMES, Fraction(0)), 0
    for name in NAMES[:4]:
        ledger.join(name)
    for what, *rest in evening:
        if what == "join" and rest[0] not in ledger.present:
            ledger.join(rest[0])
        elif what == "leave" and rest[0] in ledger.present:
            before = open_cents(ledger).get(rest[0], 0)
            payments = ledger.leave(*rest)
            leaves += 1
            if rest[1]:
                got = sum(p.cents * ((p.payee == rest[0]) - (p.payer == rest[0])) for p in payments)
                assert got == before
                assert rest[0] not in ledger.balances
            else:
                assert not payments
        elif what == "deal" and len(rest[0]) <= len(ledger.present):
            change, random = rest
            seats = random.sample(ledger.present, len(change))
            pitcher, moon_made = random.randrange(len(seats)), random.choice([None, None, True, False])
            rules = Rules.preset("money", players=len(seats), stake_cents=stake, moon_cents=moon)
            amounts = ledger.deal(seats, change, pitcher, moon_made)
            assert list(amounts.values()) == settle(rules, change, pitcher, moon_made)
            for name, amount in amounts.items():
                won[name] += amount
        elif what == "save":
            path = tmp_path_factory.getbasetemp() / "evening.json"
            ledger.save(path)
            again = Ledger.load(path)
            assert vars(again) == vars(ledger)
            ledger = again
        assert sum(ledger.balances.values()) == 0
        assert sum(ledger.whole_balances().values()) == 0
        assert set(ledger.present) <= set(ledger.balances)
    still = open_cents(ledger)
    settlement = ledger.settle_up()
    assert set(apply_payments(still, settlement.payments).values()) <= {0}
    assert not any(ledger.balances.values())
    paid = dict.fromkeys(NAMES, 0)
    for payment in ledger.payments:
        paid[payment.payee] += payment.cents
        paid[payment.payer] -= payment.cents
    assert all(abs(paid[name] - won[name]) < leaves + 1 for name in NAMES)  # less than a cent for each rounding


def brute_force(amounts):
    """The most groups with a sum of zero, by trying every group that holds the first amount."""
    if not amounts:
        return 0
    rest, most = range(1, len(amounts)), 0
    for size in range(len(amounts)):
        for others in combinations(rest, size):
            if amounts[0] + sum(amounts[i] for i in others) == 0:
                most = max(most, 1 + brute_force([amounts[i] for i in rest if i not in others]))
    return most


@examples(1.5)
@given(st.lists(st.integers(-6, 6), max_size=7))
def test_the_settlement_has_the_fewest_payments(amounts):
    amounts.append(-sum(amounts))
    cents = {NAMES[i]: amount for i, amount in enumerate(amounts)}
    settlement = fewest_payments(cents)
    assert settlement.fewest
    assert set(apply_payments(cents, settlement.payments).values()) == {0}
    amounts = [amount for amount in amounts if amount]
    assert len(settlement.payments) == len(amounts) - brute_force(amounts)


def test_sixteen_players_are_settled_exactly_and_more_are_said_not_to_be():
    """Four triples and two pairs, which the largest debt to the largest credit would mix up."""
    triples = [(-7, 3, 4), (-19, 8, 11), (-31, 14, 17), (-53, 23, 30)]
    amounts = [amount for triple in triples for amount in triple] + [-101, 101, -97, 97]
    settlement = fewest_payments({f"p{i}": amount for i, amount in enumerate(amounts)})
    assert settlement.fewest
    assert len(settlement.payments) == 4 * 2 + 2
    many = {f"p{i}": amount for i, amount in enumerate([*amounts, -1, 1])}
    settlement = fewest_payments(many)
    assert not settlement.fewest
    assert len(settlement.payments) < len(many)
    assert set(apply_payments(many, settlement.payments).values()) == {0}


def test_who_leaves_without_being_paid_is_paid_at_the_end():
    ledger = Ledger()
    for name in ("Ann", "Bob"):
        ledger.join(name)
    ledger.deal(("Ann", "Bob"), (4, 0), pitcher=0)
    assert ledger.leave("Ann", pay=False) == []
    ledger.join("Cem")
    assert ledger.balances == {"Ann": 20, "Bob": -20, "Cem": 0}
    with pytest.raises(ValueError, match="'Ann' is not at the table; there is 'Bob', 'Cem'"):
        ledger.deal(("Ann", "Bob"), (1, 0))
    ledger.join("Ann")
    assert ledger.balances["Ann"] == 20
    ledger.leave("Ann", pay=False)
    assert ledger.settle_up().payments == (Payment("Bob", "Ann", 20),)
    assert ledger.balances == {"Bob": 0, "Cem": 0}


def test_a_game_pays_as_the_environment_does():
    """What a ledger makes of a game's deals is what ``reward="money"`` gives."""
    from pitch_env import pitch_v0

    env, ledger = pitch_v0.env(rules="money", players=5, episode=6, reward="money"), Ledger()
    env.reset(seed=4)
    for agent in env.possible_agents:
        ledger.join(agent)
    rewards, deals = dict.fromkeys(env.possible_agents, 0.0), 0
    game: Game = env.game
    for agent in env.agent_iter():
        _, reward, over, cut, info = env.last()
        rewards[agent] += reward
        env.step(None if over or cut else int(info["action_mask"].nonzero()[0][-1]))
        if game.deals_played > deals:
            deals, deal = game.deals_played, game.last_deal
            ledger.deal(env.possible_agents, deal.score_change, deal.pitcher, deal.moon)
    assert deals == 6
    assert rewards == pytest.approx({name: float(cents) for name, cents in ledger.balances.items()})
    assert any(rewards.values())


def test_what_cannot_be_is_refused_and_changes_nothing():
    ledger = Ledger()
    for name in ("Ann", "Bob", "Cem"):
        ledger.join(name)
    ledger.deal(("Ann", "Bob", "Cem"), (2, 1, 0), pitcher=0)
    before = json.dumps({name: str(amount) for name, amount in ledger.balances.items()})
    for attempt, reason in (
        (lambda: ledger.join("Ann"), "'Ann' is at the table already"),
        (lambda: ledger.join(" "), "not empty"),
        (lambda: ledger.join(7), "name=7 is not allowed"),
        (lambda: ledger.leave("Zoe"), "'Zoe' is not at the table; there is 'Ann', 'Bob', 'Cem'"),
        (lambda: ledger.deal(("Ann", "Ann"), (1, 0)), "each player has one seat"),
        (lambda: ledger.deal(("Ann",), (1,)), "players=1 is not allowed"),
        (lambda: ledger.deal(("Ann", "Bob"), (1, 0, 0)), "3 score changes are not allowed; 2 players"),
        (lambda: ledger.deal(("Ann", "Bob"), (1, 0), None, True), "somebody bid it"),
        (lambda: ledger.deal(("Ann", "Bob"), (1, 0), 2, True), "seat=2 is not allowed"),
        (lambda: Ledger(stake_cents=-1), "stake_cents=-1 is not allowed"),
        (lambda: Ledger(moon_cents=0.5), "moon_cents=0.5 is not allowed"),
        (lambda: fewest_payments({"Ann": 1}), "they sum to zero"),
    ):
        with pytest.raises(ValueError, match=reason):
            attempt()
    assert json.dumps({name: str(amount) for name, amount in ledger.balances.items()}) == before
    assert ledger.deals == 1


def test_a_damaged_ledger_is_refused(tmp_path):
    ledger, path = Ledger(), tmp_path / "evening.json"
    for name in ("Ann", "Bob", "Cem"):
        ledger.join(name)
    ledger.deal(("Ann", "Bob", "Cem"), (3, 0, 1), pitcher=0)
    ledger.leave("Cem")
    ledger.save(path)
    good = json.loads(path.read_text())
    for change, reason in (
        ({"format": "pitch-ledger 2"}, "its format is 'pitch-ledger 2'; this version reads 'pitch-ledger 1'"),
        ({"balances": good["balances"] | {"Ann": "1"}}, "do not sum to zero"),
        ({"balances": {}}, "lack a player"),
        ({"balances": good["balances"] | {"Ann": "1/0"}}, "no fraction"),
        ({"balances": good["balances"] | {"Ann": "1e9999999"}}, "no fraction"),
        ({"balances": []}, "no balances"),
        ({"present": ["Ann", "Ann"]}, "already"),
        ({"payments": [{"payer": "Ann"}]}, "no payment"),
        ({"payments": [{"payer": "Ann", "payee": "Bob", "cents": -3}]}, "no payment"),
        ({"deals": "many"}, "no number of deals"),
        ({"luck": 1}, "its fields are"),
        ({"stake_cents": "ten"}, "stake_cents='ten' is not allowed"),
    ):
        path.write_text(json.dumps(good | change))
        with pytest.raises(ValueError, match=reason) as error:
            Ledger.load(path)
        assert str(error.value).startswith(f"{path} is not a ledger, or a damaged one: ")
    for text in ("", "[]", "{", "[" * 100_000):
        path.write_text(text)
        with pytest.raises(ValueError, match="is not a ledger, or a damaged one"):
            Ledger.load(path)
    with pytest.raises(OSError, match="nowhere"):
        Ledger.load(tmp_path / "nowhere.json")
