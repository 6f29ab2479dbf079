"""Play many random games under rules of every kind and check all of them: ``python tests/soak.py --games 100000``.

Most games run side by side in ``VectorGame`` with checks of whole arrays: cards conserved, one actor with something
to do, points and scores that add up. One in fifty is played on the plain table of ``plain.py`` too, everything
compared after each action, and hidden cards drawn anew and checked on the way.
"""

import argparse
import random
import sys
import time
from collections import Counter

import numpy as np
from lockstep import play_in_lockstep
from strategies import random_rules

from pitch_env import Game, Rules, VectorGame
from pitch_env.actions import MOON_CALL, PASS
from pitch_env.cards import CARD_POINTS
from pitch_env.observation import highs, width
from pitch_env.rules import pack
from pitch_env.state import ITEM_WORTH, NOBODY, Item, Phase

KINDS, ROWS = 256, 4096  # different rules in a batch, games in a batch
SLOW = 50  # one game in so many is checked in full


class Batch:
    """Games under many rules, side by side, with the checks that can be made on all of them at once."""

    def __init__(self, rng: random.Random, count: Counter) -> None:
        self.rules: list[Rules] = [random_rules(rng) for _ in range(KINDS)]
        self.deals, self.count = rng.choice((1, 2, 5)), count
        self.games = VectorGame(self.rules, ROWS, rng.randrange(2**64), self.deals, skip_forced=rng.random() < 0.5)
        self.chance = np.random.default_rng(rng.randrange(2**32))
        kinds = np.arange(ROWS) % KINDS
        self.packed = np.concatenate([pack(rules) for rules in self.rules])[kinds]
        self.max_points = np.array([rules.max_points for rules in self.rules])[kinds]
        self.teams = self.packed["teams"]
        self.whole = np.array([sum(1 << card for card in rules.deck) for rules in self.rules])[kinds]
        widest = np.zeros((KINDS, self.games.observation_size), np.uint8)
        for row, rules in zip(widest, self.rules, strict=True):
            row[: width(rules)] = highs(rules)
        self.highs = widest[kinds]
        self.scores = self.games.states["public"]["scores"].astype(int)

    def step(self) -> int:
        """One action in each game; returns how many games it ended."""
        games = self.games
        before = games.states.copy()
        actions = games.random_actions(self.chance)
        # Passes more often than chance has it, or most auctions would end at once in the highest bid.
        passing = games.mask[:, PASS] & (self.chance.random(ROWS) < 0.4)
        actions[passing] = PASS
        assert games.mask[np.arange(ROWS), actions].all()
        games.step(actions)
        self.check_deals(before)
        self.count["decisions"] += ROWS
        self.count["deals"] += int(games.ended.sum())
        return int(games.done.sum())

    def check_tables(self) -> None:
        """Nothing is lost, nobody sits idle, observations keep their limits."""
        games, states = self.games, self.games.states
        public = states["public"]
        assert (games.phase != Phase.OVER).all()
        assert ((games.actor >= 0) & (games.actor < self.packed["players"])).all()
        assert games.mask.any(1).all()
        assert not games.skip_forced or (games.mask.sum(1) > 1).all()
        assert (games.observation <= self.highs).all()
        left = self.packed["widow_size"] - public["widow_left"]
        places = np.arange(54)
        lies = (places >= left[:, None]) & (places < self.packed["widow_size"][:, None])
        widow = np.where(lies, np.int64(1) << states["deck"].clip(0).astype(np.int64), 0)
        piles = np.concatenate([states["hands"], states["discards"], widow, public["played"][:, None]], axis=1)
        assert (np.bitwise_or.reduce(piles, axis=1) == self.whole).all()
        assert (np.bitwise_count(piles).sum(1) == self.packed["deck_size"]).all()
        assert (np.bitwise_count(states["hands"]) == public["cards"]).all()
        assert (np.bitwise_count(states["discards"]) == public["discarded"]).all()
        assert (np.bitwise_count(public["played"]) == public["num_played"]).all()

    def check_deals(self, before: np.ndarray) -> None:
        """What came of the deals that have ended."""
        games = self.games
        rows = np.nonzero(games.ended)[0]
        last, packed, teams, rewards = games.last[rows], self.packed[rows], self.teams[rows], games.reward[rows]
        assert not games.reward[~games.ended].any()
        thrown_in = last["pitcher"] == NOBODY
        assert (last["phase"] == Phase.OVER).all()
        assert (last["num_played"] == np.where(thrown_in, 0, packed["players"] * packed["keep"])).all()
        assert (last["tricks_won"].sum(1) == np.where(thrown_in, 0, packed["keep"])).all()
        cards = last["history"].astype(int)
        assert (last["card_points"].sum(1) == np.where(cards >= 0, CARD_POINTS[cards], 0).sum(1)).all()
        points = np.zeros_like(last["points"])
        for item in Item:
            taken = np.nonzero(last["items"][:, item] != NOBODY)[0]
            points[taken, last["items"][taken, item]] += ITEM_WORTH[item]
            self.count[f"item {item.name.lower()}"] += len(taken)
        assert (points == last["points"]).all()
        assert (points.sum(1) <= self.max_points[rows]).all()
        self.check_changes(last, packed, teams, thrown_in)
        seat_teams = np.arange(games.players) % teams[:, None]
        seated = np.arange(games.players) < packed["players"][:, None]
        assert (rewards == np.where(seated, np.take_along_axis(last["change"], seat_teams, 1), 0)).all()
        assert (last["scores"] == before["public"]["scores"][rows] + last["change"]).all()
        assert (last["deals"] == before["public"]["deals"][rows] + 1).all()
        assert (games.done[rows] == (last["game_over"] == 1)).all()
        won = last["winner"] != NOBODY
        assert (games.done[rows] == (won | (last["deals"] == self.deals))).all()
        winning = last["scores"][np.nonzero(won)[0], last["winner"][won]]
        assert (winning >= packed["target"][won]).all()
        assert (packed["target"][won] > 0).all()
        going_on = ~games.done[rows]
        dealer = (last["dealer"] + 1) % packed["players"]
        assert (games.states["public"]["dealer"][rows][going_on] == dealer[going_on]).all()
        self.count["games won"] += int(won.sum())

    def check_changes(self, last: np.ndarray, packed: np.ndarray, teams: np.ndarray, thrown_in: np.ndarray) -> None:
        """Bids made and set, moons, and what they do to the scores."""
        played = np.nonzero(~thrown_in)[0]
        assert not last["change"][thrown_in].any()
        team, bid = last["pitcher"][played] % teams[played], last["bid"][played]
        moon, made = bid == MOON_CALL, last["made"][played] == 1
        own = last["points"][played, team]
        items = last["items"][played][:, [Item.HIGH, Item.LOW, Item.JACK, Item.GAME]]
        all_four = (items == team[:, None]).all(1) & (last["tricks_won"][played, team] == packed["keep"][played])
        assert (made == np.where(moon, all_four, own >= bid)).all()
        lost = np.where(moon, packed["moon_value"][played], bid)
        expected = last["points"][played].astype(int)
        expected[np.arange(len(played)), team] = np.where(made, own, -lost)
        assert (last["change"][played] == expected).all()
        self.count["thrown in"] += int(thrown_in.sum())
        self.count["bids made"] += int((made & ~moon).sum())
        self.count["bids set"] += int((~made & ~moon).sum())
        self.count["moons made"] += int((made & moon).sum())
        self.count["moons failed"] += int((~made & moon).sum())


def note(game: Game, count: Counter) -> None:
    """Count what a game checked in full was like."""
    rules = game.rules
    count["games in full"] += 1
    count["deals in full"] += game.deals_played
    for option in ("auction", "trump", "widow", "follow", "first_lead", "game", "low_to", "winner", "forced_bid"):
        count[f"{option}={getattr(rules, option)}"] += 1
    for flag in ("pairs", "jokers", "off_jack", "three", "moon", "steal"):
        count[flag] += bool(getattr(rules, flag))


def soak(number: int, seed: int) -> Counter:
    """Play so many games. Raises AssertionError where something does not hold."""
    rng, count = random.Random(seed), Counter[str]()
    while count["games in full"] < -(-number // SLOW):
        rules = random_rules(rng)
        chance = (rng.randrange(2**64), rng.randrange(2**64))
        try:
            note(play_in_lockstep(rules, *chance, deals=rng.choice((1, 2, 5)), samples=0.1), count)
        except AssertionError:
            print(f"in a game of {rules} with {chance}", file=sys.stderr)
            raise
    finished = count["games"] = count["games in full"]
    while finished < number:
        batch = Batch(rng, count)
        through = np.zeros(ROWS, bool)
        for steps in range(10**6):
            count["games"] += batch.step()
            through |= batch.games.done
            if steps % 5 == 0:
                batch.check_tables()
            if through.all():  # the long games too; what the short ones played again meanwhile is counted beside
                break
        finished += ROWS
        count["different rules"] += KINDS
    return count


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--games", type=int, default=100_000, help="how many games at least (default 100,000)")
    parser.add_argument("--seed", type=int, default=0, help="of the rules, the deals and the play (default 0)")
    options = parser.parse_args(arguments)
    start = time.monotonic()
    count = soak(options.games, options.seed)
    for name in ("games", "games in full"):
        print(f"{count.pop(name):>12,}  {name}")
    for name, number in sorted(count.items()):
        print(f"{number:>12,}  {name}")
    print(f"all is well after {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
