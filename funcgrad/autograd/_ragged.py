"""PyTorch's errors for nested lists that make no tensor."""

from __future__ import annotations

from funcgrad._types import ArrayLike


def check_nested(data: ArrayLike) -> None:
    """Refuse lists of different lengths, and what is no number, in PyTorch's words.

    Raises:
        TypeError: an element is no number, or no sequence where others are.
        ValueError: two lists on one level have different lengths.
    """
    sizes = []
    first = data
    while isinstance(first, list | tuple):
        sizes.append(len(first))
        if not first:
            break
        first = first[0]
    _check_level(data, sizes, 0)


def _check_level(data: ArrayLike, sizes: list[int], dim: int) -> None:
    if dim == len(sizes):
        if isinstance(data, str):
            raise TypeError("new(): invalid data type 'str'")
        if isinstance(data, list | tuple):
            raise TypeError(f"'{type(data).__name__}' object cannot be interpreted as an integer")
        return
    if not isinstance(data, list | tuple):
        if isinstance(data, str) or hasattr(data, "shape"):
            return
        raise TypeError("not a sequence")
    if len(data) != sizes[dim]:
        raise ValueError(f"expected sequence of length {sizes[dim]} at dim {dim} (got {len(data)})")
    for each in data:
        _check_level(each, sizes, dim + 1)
