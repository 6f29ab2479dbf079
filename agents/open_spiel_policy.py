"""An agent as a policy of OpenSpiel, for its algorithms, as in ``nash_conv(game, AgentPolicy(game, agent))``."""

from typing import Any

from open_spiel.python import policy

from agents.agent import Agent
from agents.nashconv import policy_of


class AgentPolicy(policy.Policy):
    """The policy of an agent in the game ``pitch``.

    Args:
        game: from ``pitch_env.open_spiel_game``.
        agent: any; it sees what the player to act sees of the present deal.
        deterministic: what it does, as it plays in matches, also where it has probabilities.
    """

    def __init__(self, game: Any, agent: Agent, deterministic: bool = False) -> None:
        super().__init__(game, list(range(game.num_players())))
        self._policy = policy_of(agent, deterministic)

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
        """The probability of each legal action of the player to act."""
        table = state.game
        probability = self._policy(table.observation(table.actor)[None].astype("u1"), table.legal_mask()[None])[0]
        return {action: float(probability[action]) for action in table.legal_ids()}
