"""Sections of the reference that are read from the library that a function mirrors."""

from __future__ import annotations

import numpy as np
import pytest
from originals import parts, sections

import funcgrad.numpy as fnp
from funcgrad.scipy import special

NUMPYS = """Return x.

Parameters
----------
x, y : array_like
    Two arrays [1]_. See :func:`numpy.add <add>`.
where : bool, optional
    Not ours.

Returns
-------
out : ndarray
    The *sum* of `x` and `y`.
"""
GOOGLES = """Return x.

Args:
  x, y: Two arrays.
  z (int): A number,
    of two lines.

Returns:
  The sum.
"""


def test_both_forms_of_docstrings_are_read() -> None:
    assert parts(NUMPYS)["Parameters"][0] == ("x, y", "array_like", "Two arrays [1]_. See :func:`numpy.add <add>`.")
    assert parts(NUMPYS)["Returns"] == [("out", "ndarray", "The *sum* of `x` and `y`.")]
    assert [name for name, _, _ in parts(GOOGLES)["Parameters"]] == ["x, y", "z"]
    assert parts("One line.") == {}


def test_arguments_that_ours_takes_and_those_that_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    def ours(x: float, y: float) -> float:
        return x + y

    monkeypatch.setattr(ours, "__doc__", None)

    class Library:
        __doc__ = NUMPYS

    monkeypatch.setattr(np, "of_this_test", Library, raising=False)
    assert sections("numpy.of_this_test", ours) == [
        "In the words of ``numpy.of_this_test``:",
        "",
        "- ``x, y`` (array\\_like): Two arrays. See ``numpy.add``.",
        "",
        "*Not taken for traced values*: ``where``.",
        "",
        "*Returns*: The \\*sum\\* of ``x`` and ``y``.",
        "",
    ]


@pytest.mark.parametrize(("path", "value"), [("numpy.clip", fnp.clip), ("scipy.special.expit", special.expit)])
def test_a_mirrored_function_has_a_section(path: str, value: object) -> None:
    assert any(line.startswith("- ``") for line in sections(path, value))


def test_a_library_that_is_not_installed_says_nothing() -> None:
    assert sections("no_such_library.f", fnp.clip) == []
