"""Checks of a new installation of the wheel without the repository: ``make package``."""

from __future__ import annotations

import sys
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import numpy as np

import funcgrad as fg


def loss(params: dict[str, Any]) -> Any:
    """Return the value of a function with a gradient."""
    return np.sum(np.tanh(params["w"]) ** 2)


def step(params: Any, state: Any) -> Any:
    """Take a gradient step."""
    return fg.sgd_update(fg.grad(loss)(params), state, params)


def main() -> None:
    """Run eagerly without loading JAX, then compiled with JAX."""
    if version("funcgrad") != fg.__version__:
        raise SystemExit(f"the metadata say {version('funcgrad')}, the package says {fg.__version__}")
    if not files("funcgrad").joinpath("py.typed").is_file():
        raise SystemExit("py.typed is missing: type checkers would not look at the annotations")
    params = {"w": np.ones(3)}
    state = fg.sgd_init(params, lr=0.1, momentum=0.9)
    eager, _ = step(params, state)
    if "jax" in sys.modules:
        raise SystemExit("import funcgrad, or a gradient, loaded JAX")
    for engine in ("numpy", "xla"):
        compiled, _ = fg.jit(step, engine=engine)(params, state)
        np.testing.assert_allclose(compiled["w"], eager["w"], rtol=1e-12)
    print(f"funcgrad {fg.__version__} works in {sys.prefix}")  # noqa: T201  (it talks to the terminal)


if __name__ == "__main__":
    main()
