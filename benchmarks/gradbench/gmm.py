"""`gmm`: the log posterior of a mixture of normal distributions, and its gradient (ADBench)."""

from typing import Any

import numpy as np
from scipy.special import multigammaln

import funcgrad as fg
from benchmarks.gradbench._protocol import Compiler, Task
from benchmarks.gradbench.lse import logsumexp


def log_posterior(parameters: dict[str, Any], x: Any, gamma: Any, m: int) -> Any:
    """Return log p(x | parameters) + log p(parameters), with a Wishart prior on the precision matrices.

    Args:
        parameters: `alpha` [k], logarithms of weights; `mu` [k, d], means; `q` [k, d] and `l` [k, d (d - 1) / 2], the
            logarithm of the diagonal and the entries below it, column by column, of a factor of each precision.
        x: [n, d], observations.
        gamma: the prior's precision.
        m: the prior's additional degrees of freedom.
    """
    alpha, mu, q, below = (parameters[name] for name in ("alpha", "mu", "q", "l"))
    k, d = mu.shape
    columns, rows = np.triu_indices(d, 1)
    factor = np.zeros((k, d, d), like=q)
    factor[:, range(d), range(d)] = np.exp(q)
    factor[:, rows, columns] = below
    distances = np.sum(((x - mu[:, None]) @ np.transpose(factor, (0, 2, 1))) ** 2, axis=-1)  # [k, n]
    log_terms = (alpha + np.sum(q, axis=1))[:, None] - 0.5 * distances
    largest = np.max(log_terms, axis=0)
    likelihood = np.sum(largest + np.log(np.sum(np.exp(log_terms - largest), axis=0)))
    likelihood = likelihood - len(x) * (0.5 * d * np.log(2 * np.pi) + logsumexp(alpha))
    freedom = d + m + 1
    prior = k * (freedom * d * np.log(gamma / np.sqrt(2)) - multigammaln(0.5 * freedom, d))
    return likelihood + prior - 0.5 * gamma**2 * np.sum(factor**2) + m * np.sum(q)


def tasks(compiler: Compiler) -> dict[str, Task]:
    """Return the functions of the evaluation."""
    gradient = fg.grad(log_posterior)
    return {
        "objective": Task(compiler(log_posterior, static_argnames=("m",)), _read),
        "jacobian": Task(
            compiler(lambda parameters, x, gamma, m: gradient(parameters, x, gamma, m), static_argnames=("m",)), _read
        ),
    }


def _read(given: dict[str, Any]) -> tuple[dict[str, np.ndarray], np.ndarray, float, int]:
    k, d = given["k"], given["d"]
    shapes = {"alpha": (k,), "mu": (k, d), "q": (k, d), "l": (k, d * (d - 1) // 2)}
    parameters = {name: np.array(given[name], np.float64).reshape(shape) for name, shape in shapes.items()}
    return parameters, np.array(given["x"], np.float64), float(given["gamma"]), given["m"]
