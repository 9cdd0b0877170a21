"""Each function of `funcgrad.jax` compared with JAX's in 64-bit mode: a row for each name."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tests.jax._compare import check, modules
from tests.jax.rows import lax as laxs
from tests.jax.rows import nn as nns
from tests.jax.rows import numpy as numpys
from tests.jax.rows import scipy as scipys

TABLES: dict[str, tuple[dict[str, Any], frozenset[str]]] = {
    "numpy": (numpys.ROWS, numpys.VALUES),
    "numpy.linalg": (numpys.LINALG, frozenset()),
    "numpy.fft": (numpys.FFT, frozenset()),
    "lax": (laxs.ROWS, laxs.VALUES),
    "lax.linalg": (laxs.LINALG, frozenset()),
    "ops": (laxs.OPS, frozenset()),
    "image": (laxs.IMAGES, frozenset({"ResizeMethod"})),
    "nn": (nns.ROWS, frozenset({"initializers"})),
    "nn.initializers": (nns.INITIALIZERS, frozenset({"Initializer"})),
    "random": (nns.RANDOM, frozenset()),
    "scipy.special": (scipys.SPECIAL, frozenset()),
    "scipy.linalg": (scipys.LINALG, frozenset()),
    "scipy.signal": (scipys.SIGNALS, frozenset()),
    "scipy.stats": (scipys.STATS, frozenset()),
    "scipy.sparse.linalg": (scipys.SPARSE, frozenset()),
    "scipy.cluster.vq": (scipys.CLUSTERS, frozenset()),
    **{f"scipy.{module}": (rows, frozenset()) for module, rows in scipys.OTHERS.items()},
}
# Each eighth row of a module, beginning with its first, runs in the short suite.
CALLS = [
    pytest.param(module, name, call, id=f"{module}.{name}", marks=[pytest.mark.long] if i % 8 else [])
    for module, (rows, _) in TABLES.items()
    for i, (name, call) in enumerate(rows.items())
]


@pytest.mark.parametrize(("module", "name", "call"), CALLS)
def test_the_numbers_are_jaxs(module: str, name: str, call: Any) -> None:
    check(call, *modules(module), dtypes=name not in numpys.DTYPES)


@pytest.mark.parametrize("module", TABLES)
def test_every_function_has_a_row(module: str) -> None:
    _, ours = modules(module)
    rows, values = TABLES[module]
    functions = {name for name in ours.__all__ if not inspect.isclass(getattr(ours, name))}
    assert functions - values - {name.partition(".")[0] for name in rows} == set()
