"""Functions that follow branches inside of transforms: derivatives by arguments and by values that they close over."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.autograd import tensor

ENGINES = ["numpy", "numba", "xla"]
POINTS = [1.0, -0.5, -2.0, 1.0, -2.0]


@pytest.fixture(autouse=True)
def installed(request: pytest.FixtureRequest) -> None:
    if "engine" in request.fixturenames and request.getfixturevalue("engine") == "numba":
        pytest.importorskip("llvmlite")


def scaled(a: Any, x: Any, prints: bool) -> Any:
    if prints:
        fg.debug_print("{}", x)
    if x > 0:
        return x * a
    return x * a**2 if x > -1 else a * a * x


@pytest.mark.parametrize("prints", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_value_that_is_closed_over_keeps_its_derivative(
    engine: str, prints: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    def outer(a: Any, x: Any) -> Any:
        return fg.jit(lambda x: scaled(a, x, prints), paths=4, engine=engine)(x)

    for x in POINTS:
        capsys.readouterr()
        slope = x if x > 0 else 2 * 3.0 * x
        assert fg.grad(outer)(3.0, x) == slope
        assert fg.jvp(lambda a, x=x: outer(a, x), (3.0,), (1.0,))[1] == slope
        assert capsys.readouterr().out.split() == [str(x)] * 2 * prints
        assert fg.hessian(outer)(3.0, x) == (0 if x > 0 else 2 * x)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_tensor_that_is_closed_over_keeps_its_derivative(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    for x in POINTS:
        a = tensor(3.0, requires_grad=True)
        fg.jit(lambda x, a=a: scaled(a, x, True), paths=4, engine=engine)(np.float32(x)).backward()
        assert capsys.readouterr().out.split() == [str(x)]
        assert a.grad is not None
        assert float(a.grad) == (x if x > 0 else 6 * x)


@pytest.mark.parametrize("engine", ENGINES)
def test_only_one_path_closes_over_a_traced_value(engine: str) -> None:
    def outer(a: Any) -> Any:
        f = fg.jit(lambda x: x * 2 if x > 0 else a * x, paths=4, engine=engine)
        return f(1.0) + f(-3.0) + f(2.0) + f(-3.0)

    assert fg.grad(outer)(5.0) == -6.0


@pytest.mark.parametrize("paths", [2, 4])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_path_with_effects_that_numbers_ran_before_has_its_derivative(engine: str, paths: int) -> None:
    def f(x: Any) -> Any:
        fg.debug_print("{}", x)
        if x > 0:
            return x * 2
        return x**2 if x > -1 else x**3

    compiled = fg.jit(f, paths=paths, engine=engine)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PathsWarning)
        for x in POINTS:
            compiled(x)
        for x in POINTS:
            slope = 2 if x > 0 else 2 * x if x > -1 else 3 * x * x
            assert fg.grad(compiled)(x) == slope
            assert fg.jvp(compiled, (x,), (1.0,))[1] == slope
            assert fg.hessian(compiled)(x) == (0 if x > 0 else 2 if x > -1 else 6 * x)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_gradient_of_a_loop_with_many_guards(engine: str) -> None:
    def halved(x: Any) -> Any:
        while x > 1:
            x = x * 0.9
        return x * x

    slope = fg.grad(fg.jit(halved, paths=4, engine=engine))
    for x in (1e3, 1e3 / 0.9, 1e3):
        np.testing.assert_allclose(slope(x), fg.grad(halved)(x), 1e-12)


def test_the_warning_counts_the_guards_at_which_calls_left_a_loop() -> None:
    def halved(x: Any) -> Any:
        while x > 1:
            x = x * 0.5
        return x

    compiled = fg.jit(halved, paths=3, engine="numpy")
    for x in (4.0, 16.0, 500.0):
        assert compiled(x) == halved(x)
    with pytest.warns(errors.PathsWarning, match=r"bool\(\) went 2 ways, at 2 of 10 guards"):
        compiled(9000.0)
