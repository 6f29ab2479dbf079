"""The parameters of the OpenSpiel game, and what it says of itself beforehand."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args

import pyspiel

from pitch_env import observation
from pitch_env.actions import NUM_ACTIONS
from pitch_env.rules import Rules

_KINDS = pyspiel.GameType
CHANCE = {"explicit": _KINDS.ChanceMode.EXPLICIT_STOCHASTIC, "sampled": _KINDS.ChanceMode.SAMPLED_STOCHASTIC}
UTILITIES = ("relative", "score", "win")
_OWN: dict[str, str | int] = {
    "rules": "auction", "chance": "explicit", "deals": 1, "dealer": -1, "utility": "relative", "rng_seed": -1
}  # fmt: skip
_AS_PRESET: dict[type, str | int] = {str: "", int: -1}  # what stands for a field that is not named


def _kind(field: Any) -> type:
    """As what OpenSpiel holds a field: words as text, all else as a number."""
    return str if field.type is str or isinstance(next(iter(get_args(field.type)), None), str) else int


_FIELDS = {field.name: (_kind(field), field.type is bool) for field in fields(Rules)}


DEFAULTS = _OWN | {name: _AS_PRESET[kind] for name, (kind, _) in _FIELDS.items()}


def named(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters without the fields that are as the preset has them."""
    return {name: value for name, value in parameters.items() if name in _OWN or value != DEFAULTS[name]}


def encode(name: str, value: Any) -> Any:
    """A value as OpenSpiel holds it; it has no parameter that may be missing, and takes digits for a number."""
    if name == "target" and value is None:
        return 0
    if name == "ranks" and isinstance(value, str) and value.isdecimal():
        return f"_{value}"
    if isinstance(value, bool):
        return 2 * value if name == "jokers" else int(value)
    return value


def _decode(name: str, value: Any) -> Any:
    if name == "target" and value == 0:
        return None
    if name == "ranks":
        return value.removeprefix("_")
    if _FIELDS[name][1] and value in (0, 1):
        return bool(value)
    return value


def chosen_rules(parameters: Mapping[str, Any]) -> Rules:
    """The rules that parameters name. Raises ValueError."""
    return Rules.preset(
        parameters["rules"],
        **{name: _decode(name, value) for name, value in named(parameters).items() if name not in _OWN},
    )


def check(parameters: Mapping[str, Any], rules: Rules) -> None:
    """Refuse what is no parameter's value. Raises ValueError."""
    allowed: dict[str, tuple[Any, str]] = {
        "chance": (CHANCE, " or ".join(CHANCE)),
        "utility": (UTILITIES, "relative, score or win"),
        "deals": (range(1, 10_001), "it is 1 to 10000"),
        "dealer": (range(-1, rules.players), f"seats are 0 to {rules.players - 1}, and -1 draws one"),
        "rng_seed": (range(-1, 2**31), "it is 0 or more, and -1 takes a new one"),
    }
    for name, (values, words) in allowed.items():
        if parameters[name] not in values:
            raise ValueError(f"{name}={parameters[name]!r} is not allowed; {words}")


# What OpenSpiel wants to know beforehand.


def game_type(chance: str = "explicit", utility: str = "relative", teams: int = 2, deals: int = 1) -> Any:
    zero_sum = utility == "relative" or (utility == "win" and teams == 2)
    return pyspiel.GameType(
        short_name="pitch",
        long_name="Pitch",
        dynamics=_KINDS.Dynamics.SEQUENTIAL,
        chance_mode=CHANCE[chance],
        information=_KINDS.Information.IMPERFECT_INFORMATION,
        utility=_KINDS.Utility.ZERO_SUM if zero_sum else _KINDS.Utility.GENERAL_SUM,
        reward_model=_KINDS.RewardModel.TERMINAL,
        max_num_players=8,
        min_num_players=2,
        provides_information_state_string=True,
        provides_information_state_tensor=deals == 1,
        provides_observation_string=True,
        provides_observation_tensor=True,
        provides_factored_observation_string=True,
        parameter_specification=DEFAULTS,
    )


def _most_decisions(rules: Rules) -> int:
    """A bound on the decisions of one deal."""
    bids = observation.num_levels(rules) * (2 if rules.steal else 1) if rules.auction == "until_passed" else 0
    put_away = rules.players * (rules.hand_size - rules.keep)
    if rules.widow == "pitcher":
        put_away += rules.widow_size
    if rules.widow == "exchange":
        put_away += rules.players * (rules.exchange + 1)
    return rules.players + bids + (rules.trump == "named") + put_away + rules.players * rules.keep


def _most_utility(rules: Rules, utility: str, deals: int) -> int:
    if utility == "win":
        return 1
    lost = max(rules.max_bid, rules.moon_value if rules.moon else 0)
    return deals * (max(lost, rules.max_points) if utility == "score" else lost + rules.max_points)


def game_info(rules: Rules, chance: str, utility: str, deals: int) -> Any:
    most = _most_utility(rules, utility, deals)
    zero_sum = game_type(chance, utility, rules.teams).utility == _KINDS.Utility.ZERO_SUM
    return pyspiel.GameInfo(
        num_distinct_actions=NUM_ACTIONS,
        max_chance_outcomes=1 if chance == "sampled" else max(max(rules.deck) + 1, rules.players),
        num_players=rules.players,
        min_utility=-most,
        max_utility=most,
        utility_sum=0.0 if zero_sum else None,
        max_game_length=deals * _most_decisions(rules),
    )
