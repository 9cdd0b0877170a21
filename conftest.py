"""Doctest finds the examples of public names, which carry the names of public modules."""

import doctest
import os
from types import ModuleType
from typing import Any

# Matrices of tests are small, and each worker of pytest has one core: threads of BLAS would wait for each other,
# spinning, for several times as long as they compute. NumPy and PyTorch read this when they are imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from funcgrad._public import origins

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
