"""PyTorch's errors of ``einsum``: subscripts that do not fit the operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def check_einsum(equation: str, operands: Sequence[Any]) -> None:
    """Refuse an equation that does not fit its operands, in PyTorch's words.

    Raises:
        RuntimeError: the numbers of operands or axes differ, a letter has two sizes, or an output letter is unknown.
    """
    left, arrow, output = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        more = "fewer" if len(terms) > len(operands) else "more"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    sizes: dict[str, int] = {}
    for i, (term, x) in enumerate(zip(terms, operands, strict=True)):
        _check_term(i, term, x.shape, sizes)
    if arrow:
        _check_output(output.replace("...", ""), sizes)


def _check_term(i: int, term: str, shape: tuple[int, ...], sizes: dict[str, int]) -> None:
    front, dots, back = term.partition("...")
    letters, ndim = front + back, len(shape)
    known = f"einsum(): the number of subscripts in the equation ({len(letters)})"
    if dots and len(letters) > ndim:
        raise RuntimeError(f"{known} is more than the number of dimensions ({ndim}) for operand {i}")
    if not dots and len(letters) != ndim:
        raise RuntimeError(
            f"{known} does not match the number of dimensions ({ndim}) for operand {i} and no ellipsis was given"
        )
    own: dict[str, int] = {}
    for letter, size in zip(letters, [*shape[: len(front)], *shape[ndim - len(back) :]], strict=True):
        if own.setdefault(letter, size) != size:
            raise RuntimeError(
                f"einsum(): subscript {letter} is repeated for operand {i} but the sizes don't match, {size} != "
                f"{own[letter]}"
            )
    for letter, size in own.items():
        seen = sizes.get(letter, 1)
        if 1 not in (seen, size) and seen != size:
            raise RuntimeError(
                f"einsum(): subscript {letter} has size {size} for operand {i} which does not broadcast with "
                f"previously seen size {seen}"
            )
        sizes[letter] = max(seen, size)


def _check_output(letters: str, sizes: dict[str, int]) -> None:
    for i, letter in enumerate(letters):
        if letter in letters[:i]:
            raise RuntimeError(f"einsum(): output subscript {letter} appears more than once in the output")
        if letter not in sizes:
            raise RuntimeError(
                f"einsum(): output subscript {letter} does not appear in the equation for any input operand"
            )
