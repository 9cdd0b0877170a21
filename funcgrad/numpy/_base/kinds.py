"""Arrays without axes and numbers, for values that go into staged functions and come out of them.

A write to an array is seen by all of its names, and a number never changes. Staged values of both kinds have the same
type, so a trace is told which ones are arrays (``StagingTrace.without_axes``). It asks only where this decides.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from funcgrad._core.bind import Tracer, bind
from funcgrad._core.trace.place import is_place, settled
from funcgrad._core.trace.staging import StagedTracer, StagingTrace
from funcgrad._ops.layout.shape import reshape_p
from funcgrad._types import ArrayLike
from funcgrad.numpy._base.concrete import innermost, is_array_without_axes, no_number
from funcgrad.tree import TreeDef, register_node, structure, unflatten


class _KindOfArgumentError(Exception):
    """Raised by a test that does not ask arguments: the kind of the value follows from that of an argument."""


# Says whether a value without axes is an array.
ArrayTest = Callable[[], bool]
_WHY = "Other names of an array see a write to it, and those of a number do not"
_REMEDY = "needed the same of both. Convert one: x[()] is a number, and np.asarray(x) an array."


def array_test(x: ArrayLike) -> ArrayTest:
    """Return the function that says whether a value is an array without axes."""
    return partial(is_array_without_axes, x)


def array_if(y: ArrayLike, is_array: ArrayTest) -> Any:
    """Return a new result without axes as an array if it is one. For a staged value this is asked only if needed."""
    if getattr(y, "shape", None) != ():
        return y
    owner = y._owner if type(y) is StagedTracer else None
    if isinstance(owner, StagingTrace):
        owner.without_axes[y._variable] = is_array
        return y
    try:
        return no_number(y) if is_array() else y
    except TypeError:
        # The functions of a `cond` differ, and no function that was staged writes to its result.
        return y


def array_as(y: ArrayLike, x: ArrayLike) -> Any:
    """Return a result without axes as an array if another value is one."""
    if getattr(y, "shape", None) != ():
        return y
    values = innermost(y), innermost(x)
    # The same staged value may have several tracers.
    first, second = [getattr(value, "_variable", value) for value in values]
    if first is not second:
        return array_if(y, array_test(x))
    return no_number(y) if is_place(x) else y


def array_like_argument(x: ArrayLike, argument: ArrayLike) -> Any:
    """Return a value without axes, given in place of an argument, as an array if the argument is one."""
    if getattr(x, "shape", None) != () or x is argument:
        return x
    owner = x._owner if type(x) is StagedTracer else None
    if isinstance(owner, StagingTrace) and x._variable in owner.without_axes:
        return x
    return no_number(x) if is_array_without_axes(argument) else x


def argument_value(x: ArrayLike) -> Any:
    """Return the value of an argument that is traced. That of a place without axes is an array, as the place is."""
    y = settled(x)
    if y is x or y.shape or not isinstance(y, Tracer):
        return y
    y = bind(reshape_p, (y,), {"shape": ()})
    bare = innermost(y)
    if isinstance(bare, StagedTracer) and isinstance(bare._owner, StagingTrace):
        bare._owner.without_axes[bare._variable] = lambda: True
    return y


def array_if_all(transform: str, y: ArrayLike, returned: Sequence[Any]) -> Any:
    """Return a result of one of several functions as an array if all of them returned one.

    Raises:
        TypeError: if the difference counts: one function returned an array and another a number.
    """

    def is_array() -> bool:
        found, of_argument = set(), None
        for x in returned:
            try:
                found.add(is_array_without_axes(x))
            except _KindOfArgumentError as error:
                of_argument = error
        if len(found) > 1 or (of_argument and False in found):
            raise TypeError(
                f"{transform}: one function returned an array without axes, and another a number, and the program "
                f"writes to the result. {_WHY}; {_REMEDY}"
            )
        if of_argument:
            raise of_argument
        return found.pop()

    return array_if(y, is_array)


class ArrayResult:
    """A pytree node around a leaf of a function's result: an array without axes, where NumPy's value is no number.

    The structure of the result has it, so that a compiled function returns an array there. Building the result from
    its leaves removes it.
    """

    # Engines that write source make the array themselves.
    makes_array = True

    def __init__(self, leaf: ArrayLike) -> None:
        self.leaf = leaf


register_node(ArrayResult, lambda node: ((node.leaf,), None), lambda _, children: no_number(children[0]))


_LEAF_OF_ARRAY: TreeDef = structure(ArrayResult(0.0))


def with_kinds(leaves: Sequence[ArrayLike], tree: TreeDef, trace: StagingTrace | None) -> TreeDef:
    """Return the structure of a staged function's result, with a node around each array without axes.

    An argument is asked for its kind only where a result's kind follows from it, because a program that asks is staged
    once for arrays and once for numbers. An argument that is returned is not asked: the caller gets the same object.
    """
    inputs = frozenset(() if trace is None else trace.inputs)
    asked = [
        i
        for i, x in enumerate(leaves)
        if getattr(x, "shape", None) == () and not (type(x) is StagedTracer and x._variable in inputs)
    ]
    if not asked:
        return tree
    with contextlib.nullcontext() if trace is None else _asking_no_argument(trace):
        found = {i: _is_made_array(leaves[i]) for i in asked}
    arrays = {i for i, known in found.items() if (_is_made_array(leaves[i]) if known is None else known)}
    if not arrays:
        return tree
    numbers = iter(range(len(leaves)))
    return tree.transform(f_leaf=lambda leaf: _LEAF_OF_ARRAY if next(numbers) in arrays else leaf)


@contextlib.contextmanager
def _asking_no_argument(trace: StagingTrace) -> Iterator[None]:
    """Raise `_KindOfArgumentError` where an argument of the trace is asked for its kind."""
    known = trace.without_axes
    trace.without_axes = {**known, **dict.fromkeys(trace.inputs, _of_argument)}
    try:
        yield
    finally:
        trace.without_axes = known


def _of_argument() -> bool:
    raise _KindOfArgumentError


def _is_made_array(x: ArrayLike) -> bool | None:
    """Return whether a result is an array; ``None`` if its kind follows from that of an argument that is not asked."""
    try:
        return is_array_without_axes(x)
    except _KindOfArgumentError:
        return None
    except TypeError:
        # The functions of a `cond` differ. The result is a number, as in `array_if`.
        return False


def without_kinds(tree: TreeDef) -> TreeDef:
    """Return the structure of a result without the nodes around arrays without axes."""
    entries = [entry for accessor in tree.accessors() for entry in accessor]
    marked = any(entry.type is ArrayResult for entry in entries)
    return structure(unflatten(tree, range(tree.num_leaves))) if marked else tree


class Carried:
    """The test of one leaf of a loop's carry. It keeps the answer that it gave."""

    def __init__(self, x: ArrayLike) -> None:
        self._value = x
        self.answer: bool | None = None

    def __call__(self) -> bool:
        self.answer = is_array_without_axes(self._value)
        return self.answer

    def changes_to(self, returned: ArrayLike) -> bool:
        """Return whether the body asked, and would get another answer of what it returned."""
        return self.answer is not None and self.answer != is_array_without_axes(returned)


def later_rounds(tests: Sequence[Carried], returned: Sequence[Any]) -> list[ArrayTest] | None:
    """Return the tests of the second round if the body may do something else there than in the first one."""
    # The comparison asks the tests, too, so those that the body asked are listed first.
    asked = [test.answer is not None for test in tests]
    changed = [a and test.changes_to(x) for a, test, x in zip(asked, tests, returned, strict=False)]
    if not any(changed):
        return None
    return [array_test(x) if c else test for c, test, x in zip(changed, tests, returned, strict=False)]


def refuse_another_round(transform: str, name: str, tests: Sequence[Carried], returned: Sequence[Any]) -> None:
    """Refuse a body that does something else in the second round."""
    becomes = [is_array_without_axes(x) for test, x in zip(tests, returned, strict=False) if test.changes_to(x)]
    first, second = ("a number", "an array") if becomes[0] else ("an array", "a number")
    raise TypeError(
        f"{transform}: a carry without axes goes into {name} as {first} and comes out as {second}, and {name} writes "
        f"to it. {_WHY}, so that the first round differs from the others; {_REMEDY}"
    )
