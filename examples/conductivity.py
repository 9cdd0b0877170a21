"""How well a wall conducts heat at each depth, from temperatures measured in it: an inverse problem, as a picture.

The solver is plain NumPy as it stands in textbooks: implicit steps in time, each a tridiagonal system solved by
Thomas's algorithm, which fills its arrays element by element. It knows nothing of derivatives; `fg.intercept` has the
arrays that it makes take traced values, `fg.jit` compiles value and gradient into one program, and SciPy's L-BFGS does
the rest.

python examples/conductivity.py --output docs/conductivity.png
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import funcgrad as fg

CELLS, STEPS = 24, 12
# Dimensionless: the wall is of thickness 1, and heat takes a time of about 1 through it where it conducts by 1.
WIDTH, STEP = 1 / CELLS, 0.04
NOISE, SMOOTHNESS = 0.002, 3e-4


def solve_tridiagonal(below: Any, diagonal: Any, above: Any, right: Any) -> Any:
    """Solve a tridiagonal system: forward sweep, back substitution."""
    n = len(right)
    factors, x = np.zeros(n), np.zeros(n)
    factors[0] = above[0] / diagonal[0]
    x[0] = right[0] / diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - below[i] * factors[i - 1]
        factors[i] = above[i] / pivot
        x[i] = (right[i] - below[i] * x[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        x[i] -= factors[i] * x[i + 1]
    return x


def temperatures(conductivity: Any) -> Any:
    """The temperatures in a wall that is cold at first, held at 1 on the left and at 0 on the right, after each step.

    Args:
        conductivity: f64[cells], positive.

    Returns:
        f64[steps, cells].
    """
    between = np.zeros(CELLS + 1)
    between[1:-1] = 2 / (1 / conductivity[1:] + 1 / conductivity[:-1])
    # The walls' faces are half a cell away.
    between[0], between[-1] = 2 * conductivity[0], 2 * conductivity[-1]
    flow = between * STEP / WIDTH**2
    below, above = np.zeros(CELLS), np.zeros(CELLS)
    below[1:] = -flow[1:-1]
    above[:-1] = -flow[1:-1]
    diagonal = 1 + flow[1:] + flow[:-1]
    found = np.zeros((STEPS + 1, CELLS))
    for t in range(STEPS):
        right = found[t].copy()
        right[0] += flow[0]
        found[t + 1] = solve_tridiagonal(below, diagonal, above, right)
    return found[1:]


def measured_wall(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A wall with a layer that insulates, and what thermometers in it show."""
    depth = (np.arange(CELLS) + 0.5) * WIDTH
    conductivity = 1 - 0.7 * np.exp(-(((depth - 0.55) / 0.12) ** 2)) + 0.4 * depth
    noise = np.random.default_rng(seed).normal(size=(STEPS, CELLS)) * NOISE
    return conductivity, temperatures(conductivity) + noise


@fg.intercept()
def recovered(measured: np.ndarray) -> Any:
    """The conductivity that explains the measurements, smoothed a little; what SciPy's optimizer returns."""

    def loss(logs: Any) -> Any:
        error = (temperatures(np.exp(logs)) - measured) / NOISE
        return np.mean(error**2) + SMOOTHNESS / NOISE * np.sum(np.diff(logs) ** 2)

    step = fg.jit(fg.value_and_grad(loss), engine="numpy")
    return minimize(step, np.zeros(CELLS), jac=True, method="L-BFGS-B", options={"maxiter": 200})


def draw(path: Path, truth: np.ndarray, guess: np.ndarray, measured: np.ndarray) -> None:
    """The conductivities side by side, and the temperatures that they lead to."""
    mpl.use("Agg")
    depth = (np.arange(CELLS) + 0.5) * WIDTH
    _, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for row, fit in zip(measured[::3], temperatures(guess)[::3], strict=True):
        left.plot(depth, row, ".", color="tab:gray", markersize=4)
        left.plot(depth, fit, color="tab:orange", linewidth=1)
    left.set(xlabel="depth", ylabel="temperature", title="measured, and explained")
    right.plot(depth, truth, color="black", label="the wall")
    right.plot(depth, guess, color="tab:orange", label="recovered")
    right.plot(depth, np.ones(CELLS), ":", color="tab:gray", label="first guess")
    right.set(xlabel="depth", ylabel="conductivity", ylim=(0, None), title="how well it conducts")
    right.legend()
    plt.savefig(path, dpi=110)
    plt.close()


def main() -> None:
    """Recover and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("conductivity.png"))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    truth, measured = measured_wall(options.seed)
    result = recovered(measured)
    guess = np.exp(result.x)
    error = np.sqrt(np.mean((guess / truth - 1) ** 2))
    print(f"misfit {result.fun:.3f} after {result.nit} iterations, conductivity within {100 * error:.1f} %")
    draw(options.output, truth, guess, measured)


if __name__ == "__main__":
    main()
