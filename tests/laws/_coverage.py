"""Write ``docs/coverage.md``: how transforms treat every public function of NumPy and of the mirrored SciPy modules.

The last part lists PyTorch's names that are missing.

``python -m tests.laws._coverage`` writes the page again. ``test_coverage.py`` compares it with the code.
"""

from __future__ import annotations

import contextlib
import io

from tests.laws import _coverage_rows as numpys
from tests.laws import _coverage_scipy as scipys
from tests.laws import _coverage_torch as torchs

PAGE = torchs.PAGE
MODULES = (*numpys.MODULES, *scipys.MODULES)
HEAD = """# Coverage of each function

The tables say for each public function of NumPy and SciPy whether it has a derivative, compiles, and runs on batches.
The last part lists the names of PyTorch that are missing.

`python -m tests.laws._coverage` makes this page: it calls each function with traced arguments. The tests compare the
page with the code.

## NumPy's functions

A function is

- **differentiated**: its results have derivatives by the arguments that are real or complex numbers;
- **constant**: its results are integers, booleans or parts of constants, whose derivative is zero;
- **refused**: it raises an error that says why. With NumPy alone the derivative would be lost;
- **no arrays**: it takes no arrays of numbers. It reads files, prints, or returns types and settings.

The column "graphs" names the engines that run the function under `jit` and `make_graph`: **NumPy** and **XLA**. The
column "vmap" says whether it runs on a batch. "numbers" means that the shape of the result depends on the numbers of
the arguments, as the length of `unique` does. Such a function works eagerly and under `grad`, and `jit` raises
`ConcretizationTypeError`.

`numpy.random` draws plain numbers. Under `jit` these are the numbers of the first call. Traced parameters are refused.
The tests skip rows of functions that the installed release of NumPy lacks.
"""


def section(module: str) -> str:
    """Return a module's heading and table."""
    table = scipys.table(module) if module in scipys.MODULES else numpys.table(module)
    return f"### `{module}`\n\n{table}\n"


def page() -> str:
    """Return the whole page."""
    parts = [HEAD, *map(section, numpys.MODULES), scipys.HEAD, *map(section, scipys.MODULES), torchs.section()]
    return "\n".join(parts)


if __name__ == "__main__":
    # SciPy's solvers in C print the traceback of a refusal before they raise it. This page consists of refusals.
    with contextlib.redirect_stderr(io.StringIO()):
        text = page()
    PAGE.write_text(text)
