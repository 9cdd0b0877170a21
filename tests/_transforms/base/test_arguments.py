"""Bad arguments of the transforms, and traced values in the wrong place. Each raises an error of this library."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import funcgrad as fg

X = np.array([0.5, 2.0, -1.0])
PLAIN = cast(Any, 3.0)


def f(x: Any, y: Any = 1.0) -> Any:
    return np.sum(x * x) * y


def pullback(bar: Any) -> Any:
    return fg.vjp(lambda x: x * 2, X)[1](bar)


def filled(x: Any) -> Any:
    out = np.zeros(3)
    out[0] = x[1]
    return np.sum(out)


def filled_by_rows(x: Any) -> Any:
    out = np.zeros((2, 3))
    out[0] = x
    return np.sum(out)


WRITTEN = r"^out\[i\] = value: a traced value was written.*np\.zeros\(n, like=x\).*fg\.intercept\(\)"

Refusal = tuple[Callable[[], Any], type[Exception], str]
REFUSALS: dict[str, Refusal] = {
    "argnums by name": (
        lambda: fg.grad(f, argnums=cast(Any, "y"))(X),
        TypeError,
        r"^grad: argnums of f is 'y'; needed the position.*Write argnums=1 for y\.$",
    ),
    "argnums by names": (
        lambda: fg.grad(f, cast(Any, ("x", "y"))),
        TypeError,
        r"argnums of f contains 'x'.*Write argnums=0 for x",
    ),
    "argnums of no kind": (
        lambda: fg.value_and_grad(f, cast(Any, 1.0)),
        TypeError,
        r"^value_and_grad: argnums of f is a float",
    ),
    "argnums twice": (lambda: fg.grad(f, (0, 0)), ValueError, r"argnums of f is \(0, 0\), which names an argument"),
    "argnums twice, from behind": (lambda: fg.grad(f, (0, -1))(X), ValueError, r"names an argument twice"),
    "jacrev twice, from behind": (
        lambda: fg.jacrev(f, (0, -1))(X),
        ValueError,
        r"^jacrev: .* names an argument twice",
    ),
    "hessian by name": (lambda: fg.hessian(f, cast(Any, "x")), TypeError, r"^hessian: argnums of f is 'x'"),
    "static_argnums by name": (
        lambda: fg.jit(f, static_argnums=cast(Any, "y")),
        TypeError,
        r"^jit: static_argnums of f is 'y'.*Write static_argnums=1 for y",
    ),
    "static_argnums not there": (
        lambda: fg.jit(f, static_argnums=5, engine="numpy"),
        ValueError,
        r"static_argnums of f has 5, and there is no such argument; the signature is \(x: .*Name an argument",
    ),
    "static_argnames not there": (lambda: fg.jit(f, static_argnames="z"), ValueError, r"static_argnames of f has 'z'"),
    "static_argnames by number": (lambda: fg.jit(f, static_argnames=cast(Any, 1)), TypeError, r"Use static_argnums"),
    "donate_argnums by name": (lambda: fg.jit(f, donate_argnums=cast(Any, "x")), TypeError, r"Write donate_argnums=0"),
    "donate_argnums not there": (lambda: fg.jit(f, donate_argnums=7), ValueError, r"donate_argnums of f has 7"),
    "donated and static": (
        lambda: fg.jit(f, donate_argnums=0, static_argnums=0),
        ValueError,
        r"argument 0 \(x\) of f is both in donate_argnums and static",
    ),
    "nondiff_argnums by name": (
        lambda: fg.custom_vjp(f, cast(Any, "y")),
        TypeError,
        r"^custom_vjp: nondiff_argnums of f is 'y'.*nondiff_argnums=1 for y",
    ),
    "cotangent of text": (lambda: pullback("a"), TypeError, r"^vjp: a cotangent .* is a str; needed an array f64\[3\]"),
    "no tangent": (
        lambda: fg.jvp(f, (1.0,), (None,)),
        TypeError,
        r"^jvp: the tangent of argument 0 \(x\) of f is None; needed an array f64\[\]",
    ),
    "tangent of text": (lambda: fg.jvp(f, (X,), ("a",)), TypeError, r"the tangent of argument 0 \(x\) of f is a str"),
    "tangent of a linearized function": (lambda: fg.linearize(f, X)[1]("a"), TypeError, r"^linearize: a tangent"),
    "hvp without tuples": (lambda: fg.hvp(f, cast(Any, X), cast(Any, X)), TypeError, r"^hvp: primals is a ndarray"),
    "an element written": (lambda: fg.grad(filled)(X), ValueError, WRITTEN),
    "an element written under jit": (lambda: fg.jit(filled, engine="numpy")(X), ValueError, WRITTEN),
    "a row written": (lambda: fg.grad(filled_by_rows)(X), TypeError, WRITTEN),
    "isnat": (
        lambda: fg.jit(lambda x: np.isnat(x))(np.arange(3)),
        NotImplementedError,
        r"^numpy\.isnat: it met a traced array.*Write it with functions of funcgrad.numpy",
    ),
    "scipy.linalg.cho_factor": (
        lambda: fg.grad(lambda x: np.sum(scipy.linalg.cho_factor(np.eye(3) * x)[0]))(X),
        fg.errors.UnsupportedFunctionError,
        r"^scipy\.linalg\.cho_factor met a traced value; .* Call fg\.scipy\.linalg\.cho_factor instead",
    ),
    "scipy.special.logsumexp": (
        lambda: fg.grad(scipy.special.logsumexp)(X),
        fg.errors.UnsupportedFunctionError,
        r"^scipy\.special\.logsumexp met a traced value.*Call fg\.scipy\.special\.logsumexp instead",
    ),
    "scipy.linalg.ldl": (
        lambda: fg.grad(lambda x: scipy.linalg.ldl(np.eye(3) * x))(X),
        fg.errors.UnsupportedFunctionError,
        r"^scipy\.linalg\.ldl met a traced value.*There is no derivative: its pivots",
    ),
}
FUNCTIONS: dict[str, Callable[[], Any]] = {
    "grad": lambda: fg.grad(PLAIN),
    "value_and_grad": lambda: fg.value_and_grad(PLAIN),
    "vjp": lambda: fg.vjp(PLAIN, X),
    "jvp": lambda: fg.jvp(PLAIN, (X,), (X,)),
    "linearize": lambda: fg.linearize(PLAIN, X),
    "jacfwd": lambda: fg.jacfwd(PLAIN),
    "jacrev": lambda: fg.jacrev(PLAIN),
    "hessian": lambda: fg.hessian(PLAIN),
    "hvp": lambda: fg.hvp(PLAIN, (X,), (X,)),
    "vmap": lambda: fg.vmap(PLAIN),
    "jit": lambda: fg.jit(PLAIN),
    "checkpoint": lambda: fg.checkpoint(PLAIN),
    "make_graph": lambda: fg.make_graph(PLAIN),
    "custom_vjp": lambda: fg.custom_vjp(PLAIN),
    "custom_jvp": lambda: fg.custom_jvp(PLAIN),
    "scan": lambda: fg.scan(PLAIN, 0.0, X),
    "fori_loop": lambda: fg.fori_loop(0, 1, PLAIN, 0.0),
    "while_loop": lambda: fg.while_loop(PLAIN, PLAIN, 0.0),
    "cond": lambda: fg.cond(True, PLAIN, PLAIN),
    "call_numpy": lambda: fg.call_numpy(PLAIN, X, X),
    "implicit_root": lambda: fg.implicit_root(PLAIN, X),
    "from_jax": lambda: fg.from_jax(PLAIN),
    "to_jax": lambda: fg.to_jax(PLAIN),
}


def text_of(error: BaseException) -> str:
    return "\n".join([str(error), *getattr(error, "__notes__", [])])


@pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning")
@pytest.mark.parametrize("name", REFUSALS)
def test_it_is_refused_in_our_words(name: str) -> None:
    call, kind, message = REFUSALS[name]
    with pytest.raises(kind) as caught:
        call()
    text = text_of(caught.value)
    assert re.search(message, text, re.DOTALL), text
    assert text.rstrip().endswith((".", "]"))


@pytest.mark.parametrize("transform", FUNCTIONS)
def test_what_is_no_function_is_refused(transform: str) -> None:
    message = rf"^{transform}: \w+ is a float; needed a function\. Pass the function itself"
    with pytest.raises(TypeError, match=message):
        FUNCTIONS[transform]()


def test_positions_may_be_numpys_integers() -> None:
    np.testing.assert_array_equal(fg.grad(f, argnums=cast(Any, np.int64(0)))(X), 2 * X)
    assert len(fg.grad(f, argnums=[0, -1])(X, 2.0)) == 2


def test_what_is_offered_instead_of_writing_works() -> None:
    def filled_anew(x: Any) -> Any:
        out = np.zeros(3, like=x)
        out[0] = x[1]
        return np.sum(out)

    np.testing.assert_array_equal(fg.grad(filled_anew)(X), [0, 1, 0])


def test_no_word_of_scipy_where_it_called_the_user() -> None:
    def own(x: Any) -> Any:
        raise KeyError("own")

    with pytest.raises(KeyError) as caught:
        fg.grad(lambda x: scipy.linalg.solve_triangular(own(x), X))(X)
    assert not getattr(caught.value, "__notes__", [])
