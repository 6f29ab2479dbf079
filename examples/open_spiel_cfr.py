"""OpenSpiel's CFR+ on a deck of four cards: how fast it comes near an equilibrium. Needs `pip install open_spiel`."""

import argparse

from open_spiel.python.algorithms import cfr, exploitability

from pitch_env import open_spiel_game

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--iterations", type=int, default=30)
iterations = parser.parse_args().iterations

# Each deal by hand: two players with a card each of T and J in two suits; player 0 deals.
game = open_spiel_game.load("auction", players=2, ranks="TJ", suits="CD", hand_size=1, dealer=0)
solver = cfr.CFRPlusSolver(game)
for iteration in range(1, iterations + 1):
    solver.evaluate_and_update_policy()
    if iteration % 5 == 0 or iteration == iterations:
        distance = exploitability.nash_conv(game, solver.average_policy())
        print(f"iteration {iteration:3}: NashConv {distance:.4f} points per deal", flush=True)
