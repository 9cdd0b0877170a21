"""``np.ndarray(n)`` in code that is named to ``fg.intercept``: it makes arrays, and everything else is as before."""

from __future__ import annotations

import importlib.util
import pickle
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import funcgrad as fg
from funcgrad.errors import TracerAssignmentError

MAKES = """
import numpy as np
import numpy
from numpy import ndarray

def powers(x, n):
    def first(y: np.ndarray | None, z: "np.ndarray") -> np.ndarray:
        return y[0] * z[0]
    a, b, c = np.ndarray(n), numpy.ndarray((n, 2), dtype=x.dtype, order="F"), ndarray(shape=[n])
    a[0] = 1.0
    for i in range(1, n):
        a[i] = a[i - 1] * x
    b[:, 0], b[:, 1], c[:] = a, 2.0, x
    return np.sum(a * b[:, 0]) + np.sum(b[:, 1] * c) + first(c, a)

def kinds(x):
    return [isinstance(x, np.ndarray), isinstance(x, (list, ndarray)), issubclass(bool, numpy.ndarray)]

def view(x):
    memory = bytearray(16)
    y = np.ndarray((2,), float, buffer=memory)
    y[:] = 3.0, 4.0
    return x * np.sum(y) + memory[7]

def fails(x):
    raise KeyError(str(np.ndarray(2).shape))
"""


@pytest.fixture
def module(tmp_path: Path) -> Callable[[str], ModuleType]:
    def make(source: str) -> ModuleType:
        path = tmp_path / f"named_{len(list(tmp_path.iterdir()))}.py"
        path.write_text(source)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
        return made

    return make


@pytest.fixture
def makes(module: Callable[[str], ModuleType]) -> ModuleType:
    return module(MAKES)


def _expected(x: float, n: int) -> float:
    """The derivative of ``powers``: of x^(2i), of 2x, and of x."""
    return sum(2 * i * x ** (2 * i - 1) for i in range(1, n)) + 2 * n + 1


@pytest.mark.parametrize("engine", [None, "numpy", "numba", "xla"])
def test_traced_values_are_written(makes: ModuleType, engine: Any) -> None:
    slope = fg.grad(makes.powers)
    if engine is not None:
        slope = fg.jit(slope, engine=engine, static_argnums=1)
    with fg.intercept(makes.powers):
        got = slope(np.float64(1.5), 4)
    np.testing.assert_allclose(got, _expected(1.5, 4), rtol=1e-14)


def test_without_the_name_it_is_refused_in_words(makes: ModuleType) -> None:
    with fg.intercept(), pytest.raises((TracerAssignmentError, ValueError), match=r"with fg\.intercept\(f\)"):
        fg.grad(makes.powers)(1.5, 4)


def test_plain_calls_and_checks_are_numpys(makes: ModuleType) -> None:
    x = np.ones(2)
    before = dict(vars(makes))
    with fg.intercept(makes):
        assert makes.kinds(x) == [True, True, False]
        assert makes.kinds(3.0) == [False, False, False]
        assert type(makes.np.ndarray(3)) is np.ndarray
        assert makes.powers(np.float64(1.5), 4) == pytest.approx(float(np.sum(1.5 ** (2.0 * np.arange(4)))) + 13.5)
        np.testing.assert_allclose(fg.grad(makes.view)(2.0), 7.0)
        assert fg.grad(lambda v: v * makes.view(1.0))(2.0) == makes.view(1.0)
    assert vars(makes) == before


def test_numpy_itself_is_as_before(makes: ModuleType) -> None:
    """Other code compares the type by identity, pickles it by name, and derives classes from it."""
    kind, found = np.ndarray, []
    with fg.intercept(makes.powers):

        def elsewhere() -> None:
            found.append(pickle.loads(pickle.dumps(np.arange(3.0))))
            found.append(makes.powers(np.float64(1.5), 4))

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert np.ndarray is kind
        assert sys.modules["numpy"].ndarray is kind
        assert type(np.ones(2)) is np.ndarray

        class Own(np.ndarray):
            pass

        assert type(np.ones(2).view(Own)) is Own
        np.testing.assert_allclose(scipy.linalg.expm(np.eye(2)), np.e * np.eye(2))
    assert found[1] == makes.powers(np.float64(1.5), 4)


def test_contexts_nest_and_end_by_errors(makes: ModuleType) -> None:
    before = dict(vars(makes))
    with fg.intercept(makes.powers):
        with pytest.raises(KeyError), fg.intercept(makes, makes.fails):
            fg.grad(makes.fails)(1.0)
        with fg.intercept():
            np.testing.assert_allclose(fg.grad(makes.powers)(1.5, 3), _expected(1.5, 3), rtol=1e-14)
    assert vars(makes) == before
    as_decorator = fg.intercept(makes.powers)(lambda x: fg.grad(makes.powers)(x, 3))
    np.testing.assert_allclose(as_decorator(1.5), _expected(1.5, 3), rtol=1e-14)
    assert vars(makes) == before


@pytest.mark.parametrize(
    "line",
    [
        "type(x) is np.ndarray",
        "type(x) == ndarray",
        "{np.ndarray: 1}",
        "np.ndarray.__new__(np.ndarray, 2)",
        "ndarray.sum(x)",
        "len((np, x))",
        "getattr(np, 'ndarray')",
        "isinstance(np.ndarray, x)",
        "[x for kind in (float, ndarray)]",
    ],
)
def test_other_uses_of_the_type_are_refused(module: Callable[[str], ModuleType], line: str) -> None:
    made = module(f"import numpy as np\nfrom numpy import ndarray\ndef f(x):\n    return np.ndarray(2), {line}\n")
    with pytest.raises(ValueError, match=r"py:4 uses NumPy's type of arrays"), fg.intercept(made.f):
        pass
    assert (made.np, made.ndarray) == (np, np.ndarray)


@pytest.mark.parametrize("lines", ["class A(np.ndarray):\n    pass", "kind = np.ndarray", "np.ndarray = 3"])
def test_definitions_by_the_type_are_refused(module: Callable[[str], ModuleType], lines: str) -> None:
    body = lines.replace("\n", "\n    ")
    made = module(f"import numpy as np\ndef f(x):\n    {body}\n    return np.ndarray(2)\n")
    with pytest.raises(ValueError, match=r"py:3 uses NumPy's type of arrays"), fg.intercept(made.f):
        pass


def test_what_is_no_function_or_has_no_source() -> None:
    number: Any = 3
    with pytest.raises(TypeError, match="of type int; needed a function or a module"), fg.intercept(number):
        pass
    names: dict[str, Any] = {"np": np}
    exec("def f(x):\n    return np.ndarray(2)", names)
    with pytest.raises(ValueError, match="the source of <string> is not there"), fg.intercept(names["f"]):
        pass
