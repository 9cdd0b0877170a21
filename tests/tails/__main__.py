"""Write ``tests/tails/table.md`` (``make tails``): values and derivatives in the tails beside mpmath."""

from __future__ import annotations

import argparse
import itertools
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.tails import elementwise, special, stats
from tests.tails._check import ENGINES, ORDERS, Found, Row, check

TABLE = Path(__file__).with_name("table.md")
# mpmath takes very long for some formulas.
_SECONDS = 60
HEAD = """# Values and derivatives in the tails

Written by `make tails`. Each function is computed at 0, at tiny and huge numbers, at infinity and at the ends of its
domain, on NumPy and on XLA, and compared with mpmath. A column shows the largest relative error, in parts of the value
or of what a rounded argument changes in it. A fault is an error above 1e-10 (value), 1e-9 (first derivative) or 1e-7
(second derivative); in float32 above 1e-5, 1e-4 or 1e-3.

| function | numbers | value | first | second | faults |
|---|---|---|---|---|---|
"""


def _stop(*_: Any) -> None:
    raise TimeoutError


def _results(row: Row, engines: tuple[str, ...], dtype: str) -> list[Found] | None:
    """All numbers of a row; ``None`` where mpmath took too long."""
    signal.alarm(_SECONDS)
    try:
        return list(check(row, engines, dtype))
    except TimeoutError:
        return None
    finally:
        signal.alarm(0)


def _line(row: Row, found: list[Found] | None, dtype: str) -> str:
    name = f"`{row.name}`" if dtype == "float64" else f"`{row.name}` in {dtype}"
    if found is None:
        return f"| {name} | mpmath takes more than {_SECONDS} s | | | | |\n"
    worst = [max([x.error for x in found if x.order == order], default=np.nan) for order in range(len(ORDERS))]
    faults = sum(x.is_fault for x in found)
    cells = " | ".join("" if np.isnan(error) else f"{error:.0e}" for error in worst)
    return f"| {name} | {len(found)} | {cells} | {faults or ''} |\n"


def main() -> int:
    """Compare all rows, or those named, and write the table if all were."""
    parser = argparse.ArgumentParser(prog="python -m tests.tails")
    parser.add_argument(
        "names", nargs="*", help="functions, such as log_ndtr or norm.logsf; all of them if none is given"
    )
    parser.add_argument("--engine", choices=ENGINES, action="append", help="both if none is given")
    options = parser.parse_args()
    engines = tuple(options.engine or ENGINES)
    signal.signal(signal.SIGALRM, _stop)
    lines, faults = [], 0
    rows = (*elementwise.ROWS, *special.ROWS, *stats.ROWS)
    for row, dtype in itertools.chain.from_iterable(itertools.product([row], row.dtypes) for row in rows):
        if options.names and row.name not in options.names and row.name.split(".")[0] not in options.names:
            continue
        found = _results(row, engines, dtype)
        lines.append(_line(row, found, dtype))
        sys.stdout.write(lines[-1])
        for each in found or []:
            if each.is_fault:
                faults += 1
                sys.stdout.write(f"    {each}\n")
        sys.stdout.flush()
    if not options.names:
        TABLE.write_text(HEAD + "".join(lines))
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
