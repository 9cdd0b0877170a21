"""PyTorch's refusals of wrong calls of ``torch.func``'s transforms and of ``torch.einsum``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from funcgrad.errors import ConcretizationTypeError
from funcgrad.tree import leaves, structure

_VMAP_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "please try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch "
    "internals, please file a bug report."
)
_VMAP_BRANCH = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that "
    "yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
)


def is_array(x: Any) -> bool:
    """Return whether a value is a tensor, an array or a traced value."""
    return hasattr(x, "dtype")


def name_of(func: Callable[..., Any]) -> str:
    """Return a function's name in messages."""
    return getattr(func, "__name__", repr(func))


def check_argnums(argnums: Any, args: tuple) -> None:
    """Refuse positions that a call does not have, and values that are no tensors."""
    for number in (argnums,) if isinstance(argnums, int) else tuple(argnums):
        if not -len(args) <= number < len(args):
            raise RuntimeError(f"Got argnum={number}, but only {len(args)} positional inputs")
        for leaf in leaves(args[number]):
            if not is_array(leaf):
                raise ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")


def check_outputs(found: Any, has_aux: bool) -> None:
    """Refuse results of a function for `vjp` that are no tensors."""
    for leaf in leaves(found[0] if has_aux else found):
        if not is_array(leaf):
            raise RuntimeError(
                f"vjp(f, *primals): expected f(*primals) to return only tensors, got unsupported type {type(leaf)}"
            )


def check_cotangents(given: Any, value: Any) -> None:
    """Refuse cotangents of other shapes than those of the results."""
    for i, (cotangent, y) in enumerate(zip(leaves(given), leaves(value), strict=False)):
        if is_array(cotangent) and tuple(cotangent.shape) != tuple(y.shape):
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of torch.Size({list(cotangent.shape)}) and "
                f"output[{i}] has a shape of torch.Size({list(y.shape)})."
            )


def check_tangents(primals: Any, tangents: Any) -> None:
    """Refuse arguments of `jvp` that do not belong together."""
    said = "jvp(f, primals, tangents): Expected"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{said} primals to be a tuple. E.g. it should be valid to call f(*primals).")
    if len(leaves(primals)) != len(leaves(tangents)) or structure(primals) != structure(tangents):
        raise RuntimeError(
            f"{said} primals and tangents to have the same python structure. For example, if primals is a tuple of 3 "
            f"tensors, tangents also must be. Got primals with structure {structure(primals)} and tangents with "
            f"structure {structure(tangents)}"
        )
    if not leaves(primals):
        raise RuntimeError(f"{said} primals to contain at least one Tensor.")
    for primal, tangent in zip(leaves(primals), leaves(tangents), strict=True):
        if is_array(primal) and is_array(tangent) and tuple(primal.shape) != tuple(tangent.shape):
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is "
                f"not supported. Tensor is of size {list(primal.shape)} while the given forward gradient is of size "
                f"{list(tangent.shape)}."
            )


def check_mapped(func: Callable[..., Any], in_dims: Any, args: tuple) -> None:
    """Refuse arguments that cannot be mapped along ``in_dims``."""
    said = f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>):"
    if not isinstance(in_dims, int | tuple | list):
        raise ValueError(
            f"{said} expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to "
            "vmap over a function with no inputs. The latter is unsupported."
        )
    dims = (in_dims,) * len(args) if isinstance(in_dims, int) else tuple(in_dims)
    if len(dims) != len(args):
        raise ValueError(
            f"{said} in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{structure(in_dims)} but inputs has structure {structure(args)}."
        )
    sizes = [size for dim, arg in zip(dims, args, strict=True) for size in _sizes(said, dim, arg)]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )


def _sizes(said: str, dim: Any, arg: Any) -> Iterator[int]:
    """Yield the lengths of the mapped axes of an argument."""
    if isinstance(dim, dict | list | tuple) or dim is None:
        # A tree of axes: the mapped function checks it; a single axis holds for all leaves.
        yield from _nested(said, dim, arg)
        return
    if not isinstance(dim, int):
        raise ValueError(
            f"{said} Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
        )
    for leaf in leaves(arg):
        if not is_array(leaf):
            raise ValueError(
                f"{said} Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
                "non-Tensor arguments, please use None as the respective in_dim"
            )
        axes = len(leaf.shape)
        if not -axes <= dim < axes:
            raise ValueError(
                f"{said} Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {axes} so "
                f"expected in_dim to satisfy -{axes} <= in_dim < {axes}."
            )
        yield leaf.shape[dim]


def _nested(said: str, dim: Any, arg: Any) -> Iterator[int]:
    if isinstance(dim, dict) and isinstance(arg, dict):
        for key, each in dim.items():
            if key in arg:
                yield from _sizes(said, each, arg[key])
    elif isinstance(dim, list | tuple) and isinstance(arg, list | tuple) and len(dim) == len(arg):
        for each, part in zip(dim, arg, strict=True):
            yield from _sizes(said, each, part)


def returning_tensors(func: Callable[..., Any], out_dims: Any) -> Callable[..., Any]:
    """Return a function for `vmap` whose results have to be tensors."""
    name = name_of(func)

    def checked(*args: Any, **kwargs: Any) -> Any:
        found = func(*args, **kwargs)
        if isinstance(out_dims, int):
            for leaf in leaves(found):
                if not is_array(leaf):
                    raise ValueError(
                        f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(leaf)}. Did you mean to "
                        "set out_dims= to None for output?"
                    )
                if not -len(leaf.shape) - 1 <= out_dims <= len(leaf.shape):
                    n = len(leaf.shape)
                    raise IndexError(
                        f"Dimension out of range (expected to be in range of [{-n - 1}, {n}], but got {out_dims})"
                    )
        return found

    checked.__name__ = name
    return checked


@contextlib.contextmanager
def in_pytorchs_words() -> Iterator[None]:
    """Raise PyTorch's error where a mapped function asks for a number."""
    try:
        yield
    except ConcretizationTypeError as error:
        _refuse(error)


def _refuse(error: ConcretizationTypeError) -> NoReturn:
    """Refuse a number of a mapped value; the note says where it was asked for."""
    theirs = RuntimeError(_VMAP_ITEM if "item()" in str(error) else _VMAP_BRANCH)
    theirs.add_note(str(error))
    raise theirs from None


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
