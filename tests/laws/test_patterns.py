"""The law of patterns: a sparse Jacobian of a primitive has the elements of the dense one, whatever its rule says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.forms import NO_FORMS
from funcgrad._core.primitive import keep_names, primitives
from funcgrad._core.trace.derivative import CONSTANT
from funcgrad._ops.layout.depends import same
from funcgrad._ops.layout.shape import flip_p
from funcgrad.errors import NotDifferentiableError
from tests.laws._cases import Case, cases, rows_by_file
from tests.laws._point import Together
from tests.laws.rows._row import Row

ROWS = [row for rows in rows_by_file().values() for row in rows if row.differentiable and not row.elsewhere]
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "sparse.md"


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_a_pattern_has_the_nonzero_elements(row: Row) -> None:
    together = Together()
    for case in cases([row], real=("float64",)):
        if case.dtype.kind == "c" or not case.drawn:
            continue
        with together.named(case.id):
            _check(case)
    together.settle()


def _check(case: Case) -> None:
    operands = case.operands(np.random.default_rng(3))
    arrays = [i for i, x in enumerate(operands) if isinstance(x, np.ndarray)]
    for i in case.drawn:

        def known(x: Any, i: int = i) -> Any:
            return case.run([*operands[:i], x, *operands[i + 1 :]])

        def given(x: Any, others: Any, i: int = i) -> Any:
            whole = [others.get(j, y) for j, y in enumerate(operands)]
            return case.run([*whole[:i], x, *whole[i + 1 :]])

        others = {j: operands[j] for j in arrays if j != i}
        for number, y in enumerate(known(operands[i])):
            if y.dtype.kind != "f" or (case.row.reads_values and others):
                continue
            try:
                expected = fg.jacfwd(lambda x, n=number: known(x)[n])(operands[i])
            except NotDifferentiableError:
                continue
            expected = np.asarray(expected).reshape(y.size, operands[i].size)
            of_known = fg.sparse.jacobian(lambda x, n=number: known(x)[n])(operands[i])
            of_given = fg.sparse.jacobian(lambda x, others, n=number: given(x, others)[n])(operands[i], others)
            for found in (of_known, of_given):
                np.testing.assert_allclose(found.toarray(), expected, rtol=1e-9, atol=1e-11)


def test_a_wrong_rule_is_noticed() -> None:
    def pattern(x: Any) -> np.ndarray:
        return fg.sparse.jacobian(lambda x: flip_p(x, axes=(0,)))(x).toarray()

    assert pattern(np.ones(2)).tolist() == [[0, 1], [1, 0]]
    with mock.patch.object(flip_p, "forms", NO_FORMS._replace(depends=same)):
        assert pattern(np.ones(2)).tolist() != [[0, 1], [1, 0]]
    with mock.patch.object(flip_p, "forms", NO_FORMS):
        assert pattern(np.ones(2)).tolist() == [[0, 1], [1, 0]]


def test_the_guide_names_the_primitives_without_a_rule() -> None:
    keep_names()
    # A page of the docs makes a primitive of its own, which has no row.
    known = {row.primitive.name for rows in rows_by_file().values() for row in rows}
    library = [each for name, each in primitives.items() if name in known and not each.effect]
    dense = {
        primitive.name
        for primitive in library
        if primitive.forms.depends is None and not primitive.elementwise and primitive.derivative is not CONSTANT
    }
    (found,) = re.findall("<!-- dense -->(.*?)<!-- end -->", GUIDE.read_text(), re.DOTALL)
    assert dense == set(re.findall(r"`(\w+)`", found))
