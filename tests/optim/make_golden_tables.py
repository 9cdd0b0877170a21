"""Write PyTorch's lists of inputs and errors with its numbers: ``python -m tests.optim.make_golden_tables``."""

from __future__ import annotations

import json
from importlib import import_module

from tests.optim._sides import in_double
from tests.optim._tables import GOLDEN_TABLES, live_tables

# Not an import statement: the type checker runs where PyTorch is not installed.
torch = import_module("torch")


def main() -> None:
    with in_double(torch), torch.random.fork_rng():
        # Some of PyTorch's lists draw random numbers.
        torch.manual_seed(0)
        GOLDEN_TABLES.write_text(json.dumps(live_tables(torch), indent=1) + "\n")


if __name__ == "__main__":
    main()
