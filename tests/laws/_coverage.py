"""Write ``docs/coverage.md``: how transforms treat every public function of NumPy and of the mirrored SciPy modules.

The last part lists PyTorch's names that are missing.

``python -m tests.laws._coverage`` writes the page anew; ``test_coverage.py`` holds it against the code.
"""

from __future__ import annotations

import contextlib
import io

from tests.laws import _coverage_rows as numpys
from tests.laws import _coverage_scipy as scipys
from tests.laws import _coverage_torch as torchs

PAGE = torchs.PAGE
MODULES = (*numpys.MODULES, *scipys.MODULES)
HEAD = """# What becomes of NumPy's functions

Made by `python -m tests.laws._coverage` from calls of every public function of NumPy with traced arguments, and held
against the code by the tests. A function is

- **differentiated**: its results carry derivatives by the arguments that are real or complex numbers;
- **constant**: its results are integers, booleans or pieces of constants, which carry none;
- **refused**: it raises an error that says why, where NumPy alone would have lost the derivative;
- **no arrays**: nothing that is traced can reach it: it reads files, prints, or asks about types and settings.

Under `jit` and `make_graph` the program runs on **NumPy** and on **XLA**; `vmap` runs it on a batch. "numbers" stands
where the result depends on numbers in more than value, in its length as that of `unique`, say: there the function works
eagerly, under `grad` and all other transforms of known values, and `jit` raises `ConcretizationTypeError`.

`numpy.random` draws plain numbers; under `jit` these are the numbers of the first call. Traced parameters are refused.
Rows of functions that the installed release of NumPy lacks are not looked at.
"""


def section(module: str) -> str:
    """Return a module's heading and table."""
    table = scipys.table(module) if module in scipys.MODULES else numpys.table(module)
    return f"## `{module}`\n\n{table}\n"


def page() -> str:
    """Return the whole page."""
    parts = [HEAD, *map(section, numpys.MODULES), scipys.HEAD, *map(section, scipys.MODULES), torchs.section()]
    return "\n".join(parts)


if __name__ == "__main__":
    # SciPy's solvers in C print the traceback of a refusal before they raise it. This page consists of refusals.
    with contextlib.redirect_stderr(io.StringIO()):
        text = page()
    PAGE.write_text(text)
