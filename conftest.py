"""Doctest finds the examples of public names, which carry the names of public modules."""

import doctest
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from zlib import crc32

import pytest

# Matrices of tests are small, and each worker of pytest has one core: threads of BLAS would wait for each other,
# spinning, for several times as long as they compute. NumPy and PyTorch read this when they are imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from funcgrad._public import origins
from funcgrad.numpy._base import dispatch

# Sphinx runs or makes these files. They are no modules of the package, and their examples are in the pages.
collect_ignore_glob = ["docs/*.py", "docs/gallery/*"]

FINDER: Any = doctest.DocTestFinder
HOOK = "_from_module"
belongs = getattr(FINDER, HOOK)


def belongs_where_it_was_written(self: doctest.DocTestFinder, module: ModuleType, value: Any) -> bool:
    """Whether a module defines an object: a published class is found with its methods, where it was written."""
    if isinstance(value, type) and value in origins:
        return origins[value] == module.__name__
    return belongs(self, module, value)


setattr(FINDER, HOOK, belongs_where_it_was_written)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make test`."""
    parser.addoption("--one-in", type=int, help="run one in so many tests of each file, at least one (make test)")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave a sample of the tests of each file. Checksums draw it, so each run and each worker has the same one."""
    size = config.getoption("one_in")
    if size is not None:
        files = defaultdict(list)
        for item in sorted(items, key=lambda item: crc32(item.nodeid.encode())):
            files[item.nodeid.partition("::")[0]].append(item)
        drawn = {item.nodeid for tests in files.values() for item in tests[::size]}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in drawn])
        items[:] = [item for item in items if item.nodeid in drawn]


@pytest.fixture(autouse=True)
def examples_declare_functions_for_themselves(request: pytest.FixtureRequest) -> Iterator[None]:
    """Forget the implementations that an example declares: other tests of the process would call them."""
    tables: list[dict[Any, Any]] = [dispatch.functions, dispatch.ufuncs, dispatch.direct_ufuncs]
    is_example = isinstance(request.node, pytest.DoctestItem)
    before = [dict(table) for table in tables] if is_example else []
    yield
    for table, content in zip(tables, before, strict=False):
        for function in [x for x, ours in table.items() if content.get(x) is not ours and is_of_example(ours)]:
            del table[function]
        table.update({x: content[x] for x in content if x not in table})


def is_of_example(function: Any) -> bool:
    """Return whether a function was defined in an example, and not in a module."""
    names = getattr(function, "__globals__", None)
    return names is not None and vars(sys.modules.get(function.__module__, doctest)) is not names
