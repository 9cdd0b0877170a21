"""Programs in plain NumPy, SciPy and ``math``, of the shapes that scientists write: derivatives by differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.stats
from scipy.integrate import solve_ivp
from scipy.sparse.linalg import spsolve

import funcgrad as fg

RNG = np.random.default_rng(8)
MASS = np.array([[1.0], [0.5], [2.0], [1.5]])
OLD_SCAN = RNG.normal(size=(2, 6))
GRID, BOX = 8, 4.0
LAPLACE = scipy.sparse.csr_matrix(np.roll(np.eye(GRID), 1, 0) + np.roll(np.eye(GRID), -1, 0) - 2.3 * np.eye(GRID))


def planets(pos: Any) -> Any:
    """Gravity of bodies, with a mask that keeps a body from attracting itself."""

    def acceleration(pos: Any) -> Any:
        gaps = [pos[:, i : i + 1].T - pos[:, i : i + 1] for i in range(3)]
        inverse: Any = sum(gap**2 for gap in gaps) + 0.01
        inverse[inverse > 0] = inverse[inverse > 0] ** -1.5
        return np.hstack([(gap * inverse) @ MASS for gap in gaps])

    vel = 0.1 * np.sin(pos)
    for _ in range(4):
        vel = vel + 0.02 * acceleration(pos)
        pos = pos + 0.02 * vel
    return np.sum(MASS * vel**2)


def lattice(p: Any) -> Any:
    """A fluid on a lattice: populations that move into neighbouring cells, and bounce off an obstacle."""
    tau, push = p
    ux: Any = 0.0
    uy: Any = 0.0
    steps = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]
    weights = [1 / 3, 1 / 6, 1 / 6, 1 / 6, 1 / 6]
    f = np.ones((4, 6, 5))
    f[:, :, 1] += push * np.cos(np.arange(6.0))
    wall = np.zeros((4, 6), bool)
    wall[1:3, 2] = True
    for _ in range(3):
        for i, (dx, dy) in enumerate(steps):
            f[:, :, i] = np.roll(np.roll(f[:, :, i], dx, axis=1), dy, axis=0)
        bounced = f[wall, :][:, [0, 2, 1, 4, 3]]
        rho = np.sum(f, 2)
        ux, uy = (f[:, :, 1] - f[:, :, 2]) / rho, (f[:, :, 3] - f[:, :, 4]) / rho
        rest = np.zeros(f.shape)
        for i, ((dx, dy), weight) in enumerate(zip(steps, weights, strict=True)):
            rest[:, :, i] = rho * weight * (1 + 3 * (dx * ux + dy * uy))
        f += -(1.0 / tau) * (f - rest)
        f[wall, :] = bounced
    return np.sum(ux**2 + 2 * uy**2)


def plasma(pos: Any) -> Any:
    """Particles whose charges are counted on a grid, and that a field pushes."""
    cell = BOX / GRID
    left = np.floor(pos / cell).astype(int)
    right_share = pos / cell - left
    right = np.mod(left + 1, GRID)
    density = np.bincount(left, weights=1 - right_share, minlength=GRID)
    density += np.bincount(right, weights=right_share, minlength=GRID)
    field: Any = spsolve(LAPLACE, density - np.mean(density))
    return np.sum(((1 - right_share) * field[left] + right_share * field[right]) ** 2)


def wave(p: Any) -> Any:
    """A wave packet in its own potential, by the split-step method."""
    width, depth = p
    x = np.linspace(-3, 3, 16, endpoint=False)
    k = 2 * np.pi * np.fft.fftfreq(16, x[1] - x[0])
    psi = np.exp(-((x - 0.5) ** 2) / width**2) * np.exp(0.3j * x)
    for _ in range(4):
        psi = psi * np.exp(-0.05j * depth * np.abs(psi) ** 2)
        psi = np.fft.ifft(np.exp(-0.05j * k**2) * np.fft.fft(psi))
    return np.sum(x * np.abs(psi) ** 2) + np.sum(np.real(psi))


def likelihood(p: Any) -> Any:
    """The likelihood that a filter of two states gives: with the option that keeps it from failing."""
    q, r = p
    x, cov = np.zeros(2), 10.0 * np.eye(2)
    move, look, total = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0]]), 0.0
    noise = np.zeros((2, 2))
    noise[0, 0], noise[1, 1] = q / 4, q
    for z in (0.3, 0.9, 1.4, 2.2):
        x, cov = move @ x, move @ cov @ move.T + noise
        expected = look @ cov @ look.T + r
        total += scipy.stats.multivariate_normal.logpdf(z, look @ x, expected, allow_singular=True)
        gain = cov @ look.T @ np.linalg.inv(expected)
        x, cov = x + gain @ (z - look @ x), cov - gain @ look @ cov
    return total


def arm(angles: Any) -> Any:
    """The hand of an arm with three joints, and its orientation, in Python's numbers."""
    hand = np.identity(4)
    for angle, twist in zip(angles, (-0.5, 0.8, 0.1), strict=True):
        st, ct, sa, ca = math.sin(angle), math.cos(angle), math.sin(twist), math.cos(twist)
        joint = [[ct, -st * ca, st * sa, 0.3 * ct], [st, ct * ca, -ct * sa, 0.3 * st], [0, sa, ca, 0.1], [0, 0, 0, 1]]
        hand = np.dot(hand, np.array(joint))
    pitch = math.asin(-hand[2, 0])
    yaw = math.atan2(hand[1, 0], hand[0, 0])
    return hand[0, 3] + 2 * hand[1, 3] + hand[2, 3] ** 2 + pitch * yaw + (math.pi if yaw < 0 else 0.0)


def matching(scan: Any) -> Any:
    """The rotation between two scans, of points that are nearest to each other."""
    gaps = np.linalg.norm(OLD_SCAN[:, :, None] - scan[:, None, :], axis=0)
    near = np.argmin(gaps, axis=0)
    old, new = OLD_SCAN[:, near], scan
    u, _, vt = np.linalg.svd((new - new.mean(1)[:, None]) @ (old - old.mean(1)[:, None]).T)
    return np.sum((vt.T @ u.T) * np.array([[1.0, 2.0], [0.5, -1.0]])) + np.sum(np.min(gaps, axis=0))


def epidemic(p: Any) -> Any:
    """Infections in time."""
    beta, gamma = p

    def rates(_: float, y: Any) -> list[Any]:
        s, i, r = y
        total = s + i + r
        return [-beta * s * i / total, beta * s * i / total - gamma * i, gamma * i]

    found = solve_ivp(rates, (0, 20), [99.0, 1.0, 0.0], t_eval=np.arange(0.0, 20, 2), rtol=1e-9, atol=1e-9)
    return np.sum(found.y[1]) * 0.01


PROGRAMS: dict[Callable[[Any], Any], np.ndarray] = {
    planets: RNG.normal(size=(4, 3)),
    lattice: np.array([0.7, 0.2]),
    plasma: RNG.uniform(size=7) * BOX,
    wave: np.array([0.8, 1.5]),
    likelihood: np.array([0.2, 0.5]),
    arm: np.array([0.3, -0.4, 0.9]),
    matching: RNG.normal(size=(2, 6)),
    epidemic: np.array([0.5, 0.2]),
}


@pytest.mark.parametrize("how", ["eager", "numpy", "xla"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_value_and_gradient_are_those_of_the_plain_program(program: Callable[[Any], Any], how: str) -> None:
    x = PROGRAMS[program]
    with fg.intercept():
        both = fg.value_and_grad(program)
        value, slope = (both if how == "eager" else fg.jit(both, engine=how, paths=8))(x)
    direction = np.random.default_rng(3).normal(size=x.shape)
    a, b, c, d = (program(x + step * direction) for step in (1e-4, -1e-4, 2e-4, -2e-4))
    np.testing.assert_allclose(value, program(x), rtol=1e-8)
    np.testing.assert_allclose(np.sum(slope * direction), (8 * (a - b) - (c - d)) / 12e-4, rtol=2e-6)
