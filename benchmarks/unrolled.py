"""Compiling unrolled programs: a Kalman filter of T steps, its log-likelihood and the gradient, beside JAX's."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import funcgrad as fg
from benchmarks._timing import Case, Check, Effort, Suite, interleave_once

STEPS = (10, 40, 160)
STATES, SEEN = 4, 2
# Rounds for each number of steps: JAX takes half a minute for the longest, and minutes for its gradient, which is left
# out.
ROUNDS = {10: 5, 40: 3, 160: 1}
LONGEST_GRADIENT = 40


def unrolled(suite: Suite, effort: Effort) -> None:
    """Stage, trace and compile, from nothing, and run once."""
    for steps in STEPS[:1] if effort.quick else STEPS:
        arguments = _arguments(steps)
        for name, ours, theirs in (
            ("log-likelihood", lambda f: f, lambda f: f),
            ("gradient", fg.grad, jax.grad),
        ):
            if name == "gradient" and steps > LONGEST_GRADIENT:
                continue
            contenders: dict[str, Callable[[], float]] = {
                "funcgrad": partial(_first_call, lambda ours=ours: fg.jit(ours(_likelihood(np))), arguments),
                "JAX": partial(_first_call, lambda theirs=theirs: jax.jit(theirs(_likelihood(jnp))), arguments),
            }
            counts = {
                "funcgrad": _operations(fg.jit(ours(_likelihood(np))), arguments),
                "JAX": _operations(jax.jit(theirs(_likelihood(jnp))), arguments),
            }
            samples = interleave_once(contenders, min(ROUNDS[steps], effort.rounds))
            title = f"Kalman filter of {steps} steps, {name}"
            suite.cases.append(Case(f"{title}: first call", samples, limits={"JAX": 1.0}))
            suite.checks.append(Check(f"{title}: operations / JAX's", counts["funcgrad"] / counts["JAX"], "x"))


def _arguments(steps: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    model = 0.9 * np.eye(STATES), 0.1 * np.eye(STATES), rng.normal(size=(SEEN, STATES)), np.eye(SEEN)
    return model, rng.normal(size=(steps, SEEN))


def _likelihood(np: Any) -> Callable[..., Any]:
    """Return the function of a linear model and of what was seen, written in ``numpy`` or ``jax.numpy``."""

    def negative_log_likelihood(model: Any, seen: Any) -> Any:
        transition, noise, view, error = model
        mean, covariance, total = np.zeros(STATES), np.eye(STATES), 0.0
        for y in seen:
            mean, covariance = transition @ mean, transition @ covariance @ transition.T + noise
            expected = view @ covariance @ view.T + error
            surprise = y - view @ mean
            gain = np.linalg.solve(expected, view @ covariance).T
            mean, covariance = mean + gain @ surprise, covariance - gain @ expected @ gain.T
            total = total + surprise @ np.linalg.solve(expected, surprise) + np.linalg.slogdet(expected)[1]
        return 0.5 * total

    return negative_log_likelihood


def _first_call(make: Callable[[], Callable[..., Any]], arguments: tuple[Any, ...]) -> float:
    jax.clear_caches()
    function = make()
    with jax.enable_x64(True):
        start = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        return time.perf_counter() - start


def _operations(function: Any, arguments: tuple[Any, ...]) -> int:
    """Count the lines of the program in StableHLO that compute something."""
    with jax.enable_x64(True):
        return function.lower(*arguments).as_text().count(" = ")


CASES: dict[str, Callable[[Suite, Effort], None]] = {"unrolled": unrolled}
