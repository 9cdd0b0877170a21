"""Errors about a function's result begin with the name of the transform that the user called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import NonScalarOutputError, NotDifferentiableError

X = np.ones(2)
# Transforms that need one real number.
OF_SCALARS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: fg.grad(f)(X),
    "value_and_grad": lambda f: fg.value_and_grad(f)(X),
    "hvp": lambda f: fg.hvp(f, (X,), (X,)),
    "laplacian": lambda f: fg.laplacian(f)(X),
}
OTHERS: dict[str, Callable[[Any], Any]] = {
    "jacrev": lambda f: fg.jacrev(f)(X),
    "jacfwd": lambda f: fg.jacfwd(f)(X),
    "jacobian": lambda f: fg.jacobian(f)(X),
    "hessian": lambda f: fg.hessian(f)(X),
    "sparse.jacobian": lambda f: fg.sparse.jacobian(f)(X),
    "sparse.hessian": lambda f: fg.sparse.hessian(f)(X),
}


@pytest.mark.parametrize("name", OF_SCALARS)
def test_of_scalars(name: str) -> None:
    run = OF_SCALARS[name]
    with pytest.raises(NonScalarOutputError, match=rf"^{name}: .*None.*Is a return missing\?"):
        run(lambda x: None)
    for f in (lambda x: {"a": x.sum()}, lambda x: [x.sum(), x.sum()], lambda x: 2 * x):
        with pytest.raises(NonScalarOutputError, match=rf"^{name}: <lambda> must return a scalar"):
            run(f)
        with pytest.raises(NonScalarOutputError, match=rf"^{name}: "):
            fg.jit(lambda x, f=f: run(f))(1.0)


@pytest.mark.parametrize("name", [*OF_SCALARS, *OTHERS])
def test_integers(name: str) -> None:
    with pytest.raises(NotDifferentiableError, match=rf"^{name}: a derivative was asked of an output"):
        (OF_SCALARS | OTHERS)[name](lambda x: x.sum() > 0)


@pytest.mark.parametrize("name", ["jacrev", "hessian", "sparse.jacobian", "sparse.hessian"])
def test_no_value(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name}: <lambda> returned a str; needed arrays or numbers"):
        OTHERS[name](lambda x: "text")


@pytest.mark.parametrize("name", ["sparse.jacobian", "sparse.hessian"])
def test_nothing_returned(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name}: <lambda> returned None; .*Is a return missing\?"):
        OTHERS[name](lambda x: None)


def test_auxiliary_data() -> None:
    for name, run in {"vjp": fg.vjp, "linearize": fg.linearize}.items():
        with pytest.raises(TypeError, match=rf"^{name}: with has_aux=True"):
            run(np.sum, X, has_aux=True)
    with pytest.raises(TypeError, match=r"^value_and_grad: with has_aux=True"):
        fg.value_and_grad(np.sum, has_aux=True)(X)
