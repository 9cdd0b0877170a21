"""All methods of tensors in one table. Each name is in one of the modules' tables only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.autograd._methods import (
    arrays,
    counted,
    divisions,
    drawn,
    elements,
    in_place,
    kinds,
    matrices,
    names,
    ordered,
    scatter_reduce,
    selected,
)
from funcgrad.autograd._tape.refused import TRANSLATED, in_pytorchs_words

TABLES: tuple[dict[str, Callable[..., Any]], ...] = (
    names.METHODS,
    arrays.METHODS,
    counted.METHODS,
    divisions.METHODS,
    elements.METHODS,
    kinds.METHODS,
    matrices.METHODS,
    ordered.METHODS,
    scatter_reduce.METHODS,
    selected.METHODS,
    in_place.IN_PLACE,
    divisions.IN_PLACE,
    drawn.IN_PLACE,
    elements.IN_PLACE,
    kinds.IN_PLACE,
    scatter_reduce.IN_PLACE,
    selected.IN_PLACE,
)
METHODS = {name: method for table in TABLES for name, method in table.items()}
for _name, _method in METHODS.items():
    if not _method.__doc__:
        _method.__doc__ = f"PyTorch's ``{_name}``."
    if _name in TRANSLATED:
        METHODS[_name] = in_pytorchs_words(_method)
