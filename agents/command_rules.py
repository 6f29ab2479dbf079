"""``rules``: a preset in words, and all its options."""

import argparse
import dataclasses
import shutil
import sys
import textwrap
from typing import Any

import yaml
from docstring_parser import parse_from_object

from agents import options as common
from agents.evaluation import write_json
from pitch_env import Rules
from pitch_env.cards import HIGH_JOKER, LOW_JOKER, RANKS, SUITS, cards_in
from pitch_env.rules import pack
from pitch_env.scoring import trump_power

DESCRIPTION = "Print the rules of a preset in words, and every option with its value, what it may be and what it does."
EXAMPLE = "rules oklahoma --rule-options '{players: 6, three: true}'"

TITLES = {
    "money": "the Money Game",
    "auction": "Auction Pitch, or Setback",
    "auction_pairs": "Auction Pitch in partnerships",
    "oklahoma": "Oklahoma Ten Point Pitch",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("preset", nargs="?", choices=Rules.presets(), help="the preset; without one, all are listed")
    common.add_rule_options(parser)
    common.add_json(parser)


def run(options: argparse.Namespace) -> None:
    """Print the rules, and write them as JSON if that is wanted."""
    if options.preset is None:
        for name in Rules.presets():
            print(f"{name:14} {TITLES[name]}: {_players(name)} players")
        return
    rules = Rules.preset(options.preset, **options.rule_options)
    found = describe(options.preset, rules)
    width = min(shutil.get_terminal_size((100, 24)).columns, 100) if sys.stdout.isatty() else 100
    print(f"{options.preset}: {found['title']}\n")
    for heading, words in found["words"].items():
        print(textwrap.fill(f"{heading}. {words}", width) + "\n")
    print(
        "Options, which --rule-options '{name: value, ...}' sets (MG is the Money Game, AP Auction Pitch, OK Oklahoma):"
    )
    for option in found["options"]:
        print(f"\n{option['name']}: {yaml.safe_dump(option['value']).splitlines()[0]}")
        for words in (option["meaning"], f"Allowed: {option['allowed']}."):
            print(textwrap.fill(words, width, initial_indent="    ", subsequent_indent="    "))
    if options.json is not None:
        write_json(options.json, found)


def describe(preset: str, rules: Rules) -> dict[str, Any]:
    """A preset's rules, with what may be overridden already in them, ready for JSON."""
    meanings = {each.args[1]: each.description or "" for each in parse_from_object(Rules).meta if len(each.args) > 1}
    allowed = {
        field.name: rules.allowed(field.name).removeprefix("it is ").replace("None", "null")
        for field in dataclasses.fields(rules)
    }
    allowed["players"] = f"{_players(preset)} in this preset"
    return {
        "preset": preset,
        "title": TITLES[preset],
        "rules": rules.to_dict(),
        "words": in_words(rules),
        "options": [
            {
                "name": name,
                "value": value,
                "allowed": allowed[name],
                "meaning": " ".join(meanings[name].replace("``", "").split()),
            }
            for name, value in rules.to_dict().items()
        ],
    }


def _players(preset: str) -> str:
    """For how many players a preset is: those that it does not refuse."""
    numbers = []
    for players in range(2, 9):
        try:
            Rules.preset(preset, players=players)
        except ValueError:
            continue
        numbers.append(players)
    whole = numbers == list(range(numbers[0], numbers[-1] + 1)) and len(numbers) > 2
    return f"{numbers[0]} to {numbers[-1]}" if whole else " or ".join(map(str, numbers))


# The words: a paragraph for each part of the game, composed from the fields.

_STARTS = {
    "once": "Each player has one turn, beginning left of the dealer",
    "until_passed": "Beginning left of the dealer, the players bid in turn until all but one have passed",
}
_FORCED = {
    "exact": "the dealer must bid {0}",
    "at_least": "the dealer must bid at least {0}",
    "throw_in": "the deal is thrown in",
}
_WIDOW = {
    "none": "",
    "unused": "Every player discards down to {keep} cards; nobody sees the widow. ",
    "pitcher": "The pitcher takes the widow and names trump; then every player discards down to {keep} cards. ",
    "exchange": "Then each player in turn, the pitcher first, may exchange up to {exchange} cards for cards of the "
    "widow, and discards down to {keep}. ",
}  # fmt: skip
_FOLLOW = {
    "may_trump": "Who has the suit that was led plays it or any trump; who does not, plays any card",
    "must_follow": "Who has the suit that was led must play it; who does not, plays any card",
    "must_trump": "Who has the suit that was led plays it or a trump, and who does not must trump if he can",
}
_LOW = {"winner": "who wins the lowest trump in play", "holder": "who played the lowest trump in play"}
_GAME = {
    "count": "game, for most card points in tricks (ten 10, ace 4, king 3, queen 2, jack 1)",
    "ten": "game, for who wins the ten of trumps",
}
_OUT = {
    "pitcher": "The first pitcher with {0} points at the end of a deal wins",
    "maker": "The first pitcher with {0} points at the end of a deal in which he made his bid wins",
    "any": "The first team with {0} points at the end of a deal wins",
}
_BOTH = {
    "pitcher": "if several reach them together, the pitcher's team, else the highest",
    "highest": "if several reach them together, the highest",
}


def in_words(rules: Rules) -> dict[str, str]:
    """The rules as paragraphs, by heading."""
    words = {
        "Cards": _cards(rules),
        "Auction": _auction(rules),
        "Trump": _trump(rules),
        "Play": _play(rules),
        "Points": _points(rules),
        "Score": _score(rules),
        "End": _end(rules),
    }
    if rules.target is None:
        words["Money"] = (
            f"Each player gets {rules.stake_cents} cents for each point above the average of the players, or pays them "
            f"for each point below"
            + (f"; a moon brings or costs {rules.moon_cents} cents from or to each other." if rules.moon else ".")
        )
    return words


def _cards(rules: Rules) -> str:
    jokers = " and two jokers" if rules.jokers else ""
    sides = f"{rules.teams} teams of partners who sit opposite" if rules.pairs else "each for himself"
    dealt = f"{rules.hand_size} cards each" + (f", {rules.packet} at a time" if rules.packet > 1 else "")
    rest = "are out of play" if rules.widow == "none" else "are the widow"
    left = f" The other {rules.widow_size} {rest}." if rules.widow_size else ""
    deck = f"{len(rules.deck)} cards, {rules.ranks[::-1]} in {len(rules.suits)} suits{jokers}"
    return f"{rules.players} players, {sides}. {deck}. Dealt are {dealt}.{left} The deal passes to the left."


def _auction(rules: Rules) -> str:
    moon = ", or the moon, which is higher than all" if rules.moon else ""
    steal = " The dealer may take the auction at the same bid." if rules.steal else ""
    forced = _FORCED[rules.forced_bid].format(rules.forced_bid_value)
    return (
        f"{_STARTS[rules.auction]}: a bid of {rules.min_bid} to {rules.max_bid} points{moon}, each higher than the "
        f"last, or a pass; the highest of them ends it at once.{steal} If nobody else bids, {forced}. Who bids highest "
        f"is the pitcher."
    )


def _trump(rules: Rules) -> str:
    how = "The suit of the pitcher's first card is trump. "
    if rules.trump == "named":
        how = "The pitcher names trump. " if rules.widow != "pitcher" else ""
    widow = _WIDOW[rules.widow].format(keep=rules.keep, exchange=rules.exchange)
    off_jack = " The off-jack is the other jack of the trump's colour." if "off-jack" in _trumps(rules) else ""
    return f"{how}{widow}Trumps from the highest: {', '.join(_trumps(rules))}.{off_jack}"


def _trumps(rules: Rules) -> list[str]:
    """The names of the trumps when the last suit is trump, from the highest."""
    trump = SUITS.index(rules.suits[-1])
    cards = cards_in(pack(rules)[0]["trumps"][trump])
    names = {HIGH_JOKER: "high joker", LOW_JOKER: "low joker"}
    return [
        names.get(card) or (RANKS[card % 13] if card // 13 == trump else "off-jack")
        for card in sorted(cards, key=lambda card: -trump_power(card, trump))
    ]


def _play(rules: Rules) -> str:
    lead = "a trump, if he has one" if rules.first_lead == "trump" else "any card"
    return (
        f"{rules.keep} tricks. The pitcher leads {lead}. When a trump is led, a trump is played by who has one. "
        f"{_FOLLOW[rules.follow]}. The highest trump wins, or else the highest card of the suit that was led; the "
        f"winner leads any card to the next trick."
    )


def _points(rules: Rules) -> str:
    items = ["high, for the highest trump in play", f"low, for {_LOW[rules.low_to]}"]
    if "J" in rules.ranks:
        items.append("the jack of trumps, for who wins it")
    items.append(_GAME[rules.game])
    if "off-jack" in _trumps(rules):
        items.append("the off-jack, for who wins it")
    if rules.jokers:
        items.append("each joker, for who wins it")
    three = " The three of trumps is worth three points to who wins it." if rules.three else ""
    return f"One point each: {'; '.join(items)}.{three} At most {rules.max_points} points in a deal."


def _score(rules: Rules) -> str:
    pitcher, side = ("team of the pitcher", "team") if rules.pairs else ("pitcher", "player")
    moon = (
        f" The moon is made by who bid it and wins all points and all tricks; who fails loses {rules.moon_value}."
        if rules.moon
        else ""
    )
    return (
        f"The {pitcher} scores all points that it won if they are at least the bid, and else loses the bid. Every "
        f"other {side} scores the points that it won.{moon}"
    )


def _end(rules: Rules) -> str:
    if rules.target is None:
        return "There is no target: a game is as many deals as one likes."
    both = f"; {_BOTH[rules.both_out]}" if rules.winner == "any" else ""
    return f"{_OUT[rules.winner].format(rules.target)}{both}."
