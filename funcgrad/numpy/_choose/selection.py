"""``x[mask]`` for a mask with unknown numbers: it can be computed with element by element, and be assigned by the mask.

``z[mask] = f(x[mask])`` is ``z[...] = np.where(mask, f(x), z)`` if ``f`` computes element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import Tracer
from funcgrad._core.graph.ir import Equation, Literal, Operand
from funcgrad._core.graph.same import same_value
from funcgrad._core.trace.place import frozen, settled
from funcgrad._core.trace.staging import StagingTrace
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.copy import copy
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, ArrayLike, DTypeLike, Value
from funcgrad.numpy._base.concrete import no_number
from funcgrad.numpy._base.convert import as_value, strong
from funcgrad.numpy._base.foreign import Unshaped
from funcgrad.numpy._choose.masks import refuse_unknown
from funcgrad.tree import register_node

# NumPy's functions, other than ufuncs, that compute each element of the result from one element of each operand.
_ELEMENTWISE = frozenset({np.where, np.clip, np.round, np.around, np.sinc, np.copy})


class Selected(np.lib.mixins.NDArrayOperatorsMixin, Unshaped):
    """The elements of an array where a mask is true. How many there are is not known."""

    __slots__ = ("_mask", "_rest", "_values")

    def __init__(self, x: ArrayLike, mask: ArrayLike, rest: int) -> None:
        """``rest`` is the number of the axes of ``x`` behind those of the mask."""
        self._mask, self._rest = frozen(mask), rest
        self._set(x)

    def _set(self, x: ArrayLike) -> None:
        # Other elements are 1 before and after each operation: where a function of the selected elements has no finite
        # value or derivative, theirs would reach the other operands as NaN.
        x = strong(settled(x))
        self._values = select(widened(self._mask, self._rest, x.shape), x, x.dtype.type(1))

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the elements."""
        return self._values.dtype

    def values_for(self, mask: ArrayLike, rest: int) -> Any:
        """Return the whole array, for elements that the same mask selects; refuse another mask."""
        if rest != self._rest or not _is_same(self._mask, settled(mask)):
            self.refuse("a combination with what another mask selects")
        return self._values

    def refuse(self, asked: str) -> NoReturn:
        """Refuse what needs the number of the selected elements, or their places."""
        refuse_unknown(self._mask, asked)

    def astype(self, dtype: DTypeLike) -> Selected:
        """Return the elements in another dtype."""
        return Selected(self._values.astype(dtype), self._mask, self._rest)

    def copy(self) -> Selected:
        """Return a copy, which ``+=`` does not change."""
        return Selected(self._values, self._mask, self._rest)

    def clip(self, *bounds: Any, **options: Any) -> Any:
        """Return ``np.clip`` of the elements."""
        elements: Any = self
        return np.clip(elements, *bounds, **options)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or ufunc.signature or options.keys() - {"out", "dtype", "casting"}:
            self.refuse(f"numpy.{ufunc.__name__}")
        outs = options.pop("out", None)
        if outs is None:
            return self._applied(ufunc, inputs, options)
        if len(outs) != 1 or type(outs[0]) is not Selected:
            self.refuse(f"numpy.{ufunc.__name__} with out=")
        return outs[0].written_by(ufunc, inputs, options)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: tuple, kwargs: dict) -> Any:
        if function not in _ELEMENTWISE or (function is np.where and len(args) != 3) or "out" in kwargs:
            self.refuse(f"numpy.{getattr(function, '__name__', function)}")
        return self._applied(function, args, kwargs)

    def written_by(self, ufunc: np.ufunc, inputs: tuple, options: dict[str, Any]) -> Selected:
        """Write a ufunc's result into these elements, and return them."""
        # It refuses what its dtype cannot take, as NumPy does.
        y = no_number(copy(self._values))
        ufunc(*map(self._whole, inputs), out=y, **options)
        self._set(y)
        return self

    def _applied(self, function: Callable[..., Any], args: tuple, options: dict[str, Any]) -> Any:
        y = function(*map(self._whole, args), **{name: self._whole(x) for name, x in options.items()})
        made = [Selected(each, self._mask, self._rest) for each in (y if type(y) is tuple else (y,))]
        return tuple(made) if type(y) is tuple else made[0]

    def _whole(self, x: Any) -> Any:
        """Return an operand as it is combined with the whole array."""
        if type(x) is Selected:
            return x.values_for(self._mask, self._rest)
        if x is None or isinstance(x, str | type | np.dtype):
            return x
        return self.beside(as_value(x), self._mask, self._rest)

    @staticmethod
    def beside(x: Any, mask: ArrayLike, rest: int) -> Any:
        """Return an array that NumPy would repeat along the selected elements, in a shape that fits whole arrays."""
        given = getattr(x, "shape", ())
        i = len(given) - rest - 1
        if i < 0:
            return x
        if given[i] != 1:
            refuse_unknown(mask, f"a combination with an array {aval_of(x)}, which has an axis for the elements,")
        return reshape(x, (*given[:i], *[1] * len(mask.shape), *given[i + 1 :]))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self.refuse(f"its attribute {name!r}")

    def __repr__(self) -> str:
        return f"<elements of {aval_of(self._values)} by a traced mask {aval_of(self._mask)}>"


def _refusing(name: str, asked: str) -> None:
    def method(self: Selected, *_: Any, **__: Any) -> NoReturn:
        self.refuse(asked)

    method.__name__ = name
    setattr(Selected, name, method)


for _name, _asked in {
    "__array__": "a plain array of the elements",
    "__len__": "len()",
    "__iter__": "a loop over the elements",
    "__getitem__": "an index into the elements",
    "__setitem__": "an assignment to some of the elements",
    "__delitem__": "a deletion of some of the elements",
    "__contains__": "a search among the elements",
    "__round__": "round()",
    "__bool__": "bool()",
    "__int__": "int()",
    "__float__": "float()",
    "__complex__": "complex()",
    "__index__": "an integer index",
}.items():
    _refusing(_name, _asked)

register_node(Selected, lambda selection: selection.refuse("a result or an argument"), lambda _, __: None)


def widened(mask: ArrayLike, rest: int, shape: tuple[int, ...]) -> Array:
    """Return a mask of some axes in the shape of the whole array, which has ``rest`` axes behind them."""
    return broadcast_to(reshape(mask, (*mask.shape, *[1] * rest)), shape)


def _is_same(a: Value, b: Value) -> bool:
    """Return whether two masks are known to be equal: they are one value, or were computed in the same way."""
    if a is b or type(a) is not type(b):
        return a is b
    if not isinstance(a, Tracer):
        return isinstance(a, np.ndarray) and np.array_equal(a, b)
    if a._owner is not b._owner:
        return False
    if isinstance(a._owner, StagingTrace):
        return _is_computed_alike(a._owner, a._variable, b._variable)
    return "_value" in a._held and _is_same(a._value, b._value)


def _is_computed_alike(trace: StagingTrace, a: Operand, b: Operand) -> bool:
    """Return whether the same equations compute two variables from the same operands."""
    equations, made = reversed(trace.equations), dict[Operand, Equation]()
    pairs, seen = [(a, b)], set[tuple[Operand, Operand]]()
    while pairs:
        pair = a, b = pairs.pop()
        if a is b or pair in seen:
            continue
        if type(a) is Literal and type(b) is Literal:
            if same_value(a.value, b.value):
                continue
            return False
        seen.add(pair)
        first, second = (_origin(each, equations, made) for each in pair)
        if first is None or second is None or not _is_one_operation(first, second):
            return False
        pairs += zip(first.operands, second.operands, strict=True)
    return True


def _origin(x: Operand, equations: Iterator[Equation], made: dict[Operand, Equation]) -> Equation | None:
    """Return the equation that computes a variable. The search goes back from the last one as far as needed."""
    while x not in made:
        equation = next(equations, None)
        if equation is None:
            return None
        made.update(dict.fromkeys(equation.results, equation))
    return made[x]


def _is_one_operation(a: Equation, b: Equation) -> bool:
    single = len(a.results) == len(b.results) == 1 and not (a.has_effect or b.has_effect)
    same = a.primitive is b.primitive and len(a.operands) == len(b.operands)
    return single and same and same_value(a.params, b.params)
