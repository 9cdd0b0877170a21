"""The part of a primitive's record that engines read agrees with the primitive, and engines ask for no names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import scipy.special

from funcgrad._core.primitive import primitives
from tests.laws._cases import Case, all_rows
from tests.laws.rows._row import Row

ENGINES = Path(__file__).parents[2] / "funcgrad" / "_engines"
EXPANDED = [row for row in all_rows() if row.primitive.forms.expand is not None]
SPECIAL = [row for row in all_rows() if row.primitive.forms.special is not None]
NEW_MEMORY = [row for row in all_rows() if row.primitive.forms.new_memory]
# Names in the scope of written programs and kernels, and of BLAS, that happen to be a primitive's name too.
OTHER_MEANINGS = {"abs", "inner", "log", "pow", "sqrt"}


def drawn(case: Case) -> list:
    return case.operands(np.random.default_rng(0))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("row", EXPANDED, ids=lambda row: row.id)
def test_an_expansion_gives_the_numbers_of_the_primitive(row: Row, dtype: str) -> None:
    operands = drawn(Case(row, np.dtype(dtype)))
    expand = row.primitive.forms.expand
    assert expand is not None
    whole = row.primitive.numpy(*operands, **row.params)
    parts = expand(*operands, **row.params)
    assert np.asarray(parts).dtype == np.asarray(whole).dtype
    assert np.asarray(parts).tobytes() == np.asarray(whole).tobytes()


@pytest.mark.parametrize("row", SPECIAL, ids=lambda row: row.id)
def test_a_special_function_gives_the_numbers_of_the_primitive(row: Row) -> None:
    operands = drawn(Case(row, np.dtype("float64")))
    theirs = getattr(scipy.special, str(row.primitive.forms.special))(*operands)
    assert np.asarray(theirs).tobytes() == np.asarray(row.primitive.numpy(*operands)).tobytes()


@pytest.mark.parametrize("row", NEW_MEMORY, ids=lambda row: row.id)
def test_new_memory_is_new(row: Row) -> None:
    case = Case(row, np.dtype("float64"))
    operands = drawn(case)
    for y in case.run(operands):
        assert not any(isinstance(x, np.ndarray) and np.shares_memory(x, y) for x in operands)


def strings_that_decide(tree: ast.AST) -> Iterator[str]:
    """The strings that a program compares with, or looks up: in comparisons, sets and the keys of dictionaries."""
    for node in ast.walk(tree):
        places = []
        if isinstance(node, ast.Compare):
            places = [node.left, *node.comparators]
        elif isinstance(node, ast.Dict):
            places = [key for key in node.keys if key is not None]
        elif isinstance(node, ast.Set):
            places = node.elts
        for place in places:
            for each in ast.walk(place):
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield each.value


def test_engines_ask_for_no_names() -> None:
    found = {
        (path.relative_to(ENGINES).as_posix(), text)
        for path in ENGINES.rglob("*.py")
        for text in strings_that_decide(ast.parse(path.read_text()))
        if text in primitives and text not in OTHER_MEANINGS
    }
    assert found == set()


def test_a_planted_name_is_found() -> None:
    tree = ast.parse('FORMS = {"reshape": 1}\nif primitive.name in ("cast", "copy"): pass')
    assert set(strings_that_decide(tree)) == {"reshape", "cast", "copy"}
