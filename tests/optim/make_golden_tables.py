"""Write PyTorch's lists of inputs and errors with its numbers: ``python -m tests.optim.make_golden_tables``."""

from __future__ import annotations

import json

import torch

from tests.optim._tables import GOLDEN_TABLES, live_tables


def main() -> None:
    torch.set_default_dtype(torch.float64)
    GOLDEN_TABLES.write_text(json.dumps(live_tables(torch), indent=1) + "\n")


if __name__ == "__main__":
    main()
