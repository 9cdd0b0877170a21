"""The namespace for the Array API's suite: all its arrays are traced, and it has all names of NumPy's namespace."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad._core.bind import Trace, Tracer
from funcgrad._core.trace.forward import ForwardTrace
from funcgrad._core.trace.place import settled
from funcgrad._core.trace.reverse import ReverseTrace
from tests.array_api import __main__ as runner
from tests.array_api.traced import MAKERS, Namespace

CALLS: dict[str, tuple[Any, ...]] = {
    "arange": (3.0,), "asarray": ([1.0, 2.0],), "eye": (2,), "from_dlpack": (np.ones(2),), "full": (2, 0.5),
    "linspace": (0.0, 1.0, 3),
}  # fmt: skip


@pytest.mark.parametrize("trace", [ForwardTrace(), ReverseTrace()], ids=["forward", "reverse"])
def test_what_its_makers_make_is_traced(trace: Trace) -> None:
    with trace:
        xp = Namespace(trace)
        for name in MAKERS:
            like = (xp.ones(2), 2.0)[: 1 + (name == "full_like")]
            y = getattr(xp, name)(*CALLS.get(name, like if name.endswith("_like") else (2,)))
            # Arrays with a derivative. Integers and booleans have none.
            assert isinstance(settled(y), Tracer), name
            assert isinstance(settled(y + 1), Tracer), name
        assert isinstance(xp.asarray([1, 2]) + 1, Tracer)
        given = xp.zeros(2)
        assert xp.asarray(given) is given
        assert all(y.__array_namespace__() is fnp for y in (given, xp.asarray([1, 2])))


def test_the_namespace_has_what_numpys_has() -> None:
    """The names of the standard. Its functions have the standard's arguments."""
    known: Any = fnp
    assert known.__array_namespace_info__().default_dtypes()["real floating"] == np.float64
    assert known.__array_api_version__ == vars(np)["__array_api_version__"]
    for name in ("from_dlpack", "unstack", "isdtype", "take_along_axis", "matrix_transpose"):
        assert callable(getattr(fnp, name))


def test_without_the_suite_one_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise subprocess.CalledProcessError(128, "git", stderr="warning\nfatal: Could not resolve host\n")

    monkeypatch.setattr(subprocess, "run", refused)
    with pytest.raises(SystemExit, match=r"cannot be had: fatal: Could not resolve host$"):
        runner.fetch(tmp_path / "suite")


def test_memory_stays_where_it_is() -> None:
    """Questions about memory are refused for values with a derivative, and answered for plain numbers."""

    def f(x: Any) -> Any:
        for name in ("base", "ctypes", "data", "flags", "strides"):
            assert not hasattr(x, name)
            with pytest.raises(AttributeError, match=rf"x.{name}: a traced array f64\[3\] has no memory"):
                getattr(x, name)
        for method, words in (
            *(("tobytes", r"tobytes\(\)"), ("dumps", r"dumps\(\)"), ("getfield", "bytes")),
            ("__dlpack__", "another library"),
        ):
            with pytest.raises((TypeError, NotImplementedError), match=words):
                getattr(x, method)()
        with pytest.raises(ValueError, match="'cpu', and was asked to go to 'gpu'"):
            x.to_device("gpu")
        with pytest.raises(TypeError, match=r"Write y = np.delete"):
            del x[0]
        made = fnp.zeros(3)
        made[1] = 2.0
        assert made.tobytes() == np.array([0.0, 2.0, 0.0]).tobytes()
        assert made.item(1) == 2.0
        np.testing.assert_array_equal(np.from_dlpack(made), [0, 2, 0])
        assert 2.0 in x
        assert 9.0 not in x
        # NumPy's answer is about the plain array.
        assert x.device == "cpu"
        return np.sum(fnp.from_dlpack(x.to_device("cpu")) * fnp.from_dlpack(x, copy=True))

    np.testing.assert_array_equal(fg.grad(f)(np.arange(3.0)), 2 * np.arange(3.0))
    np.testing.assert_array_equal(fnp.from_dlpack(np.arange(3)), np.arange(3))
