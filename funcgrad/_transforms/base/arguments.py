"""Arguments of transforms: they are flattened, checked, and named in errors."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from funcgrad._core.aval import Aval, aval_of, is_inexact
from funcgrad._core.bind import Tracer, is_engine_value, is_value
from funcgrad._core.graph.ir import Var
from funcgrad._core.numbers import differentiated
from funcgrad._core.trace.place import settled
from funcgrad._core.trace.staging import StagedTracer
from funcgrad._engines import lasting
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.layout.copy import copy, holder
from funcgrad._ops.random.bits import untyped
from funcgrad.errors import ForeignArrayError, NotDifferentiableError, TreeMismatchError
from funcgrad.numpy.extend import argument_value, as_value, is_foreign_array, is_object_array, known_value
from funcgrad.tree import KeyPath, TreeDef, flatten, flatten_with_path, key_path_str, unflatten
from funcgrad.tree.extend import static_key

_NDARRAY = np.ndarray


def name_of(f: Callable[..., Any]) -> str:
    """Return the name of a function for messages and graphs."""
    return getattr(f, "__name__", None) or type(f).__name__


def check_callable(transform: str, f: Any, role: str = "f") -> None:
    """Refuse an object that is no function, which is often the result of one."""
    if not callable(f):
        raise TypeError(
            f"{transform}: {role} is a {type(f).__name__}; needed a function. "
            "Pass the function itself and not what it returned: f, rather than f(x)."
        )


def checked_argnums(transform: str, f: Callable[..., Any], argnums: Any, option: str = "argnums") -> Any:
    """Return ``argnums`` as an int or a tuple of different ints; refuse other values."""
    check_callable(transform, f)
    if hasattr(argnums, "__index__"):
        return operator.index(argnums)
    if isinstance(argnums, str) or not isinstance(argnums, Iterable):
        raise TypeError(
            f"{transform}: {option} of {name_of(f)} is {_shown(argnums)}; needed the position of an argument, or a "
            f"tuple of positions.{_position(f, argnums, option)}"
        )
    numbers = tuple(argnums)
    for number in numbers:
        if not hasattr(number, "__index__"):
            raise TypeError(
                f"{transform}: {option} of {name_of(f)} contains {_shown(number)}; needed positions of arguments, "
                f"counted from 0.{_position(f, number, option)}"
            )
    numbers = tuple([operator.index(number) for number in numbers])
    refuse_repeated(transform, f, numbers, option)
    return numbers


def refuse_repeated(transform: str, f: Callable[..., Any], numbers: Sequence[int], option: str = "argnums") -> None:
    """Refuse the same argument twice: it can be traced only once, and the first of its derivatives would be zero."""
    if len(set(numbers)) < len(numbers):
        raise ValueError(
            f"{transform}: {option} of {name_of(f)} is {tuple(numbers)}, which names an argument twice; needed each "
            "position once. Leave out the repeated one, and use its derivative twice."
        )


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) else f"a {type(value).__name__}"


def _position(f: Callable[..., Any], name: Any, option: str) -> str:
    """Say what to write instead of a parameter's name."""
    names = _positional_names(f)
    if isinstance(name, str) and name in names:
        return f" Write {option}={names.index(name)} for {name}."
    return f" Write {option}=0 for the first argument."


def _positional_names(f: Callable[..., Any]) -> list[str]:
    try:
        return [p.name for p in inspect.signature(f).parameters.values() if p.kind <= p.POSITIONAL_OR_KEYWORD]
    except (TypeError, ValueError):
        return []


def _takes_any_number(f: Callable[..., Any]) -> bool:
    return any(p.kind is p.VAR_POSITIONAL for p in inspect.signature(f).parameters.values())


def argument_name(f: Callable[..., Any], number: int) -> str:
    """Return ``argument 0 (x) of f``, without the parenthesis if the signature has no name for it."""
    names = _positional_names(f)
    label = f" ({names[number]})" if number < len(names) else ""
    return f"argument {number}{label} of {name_of(f)}"


# A user's function, and the positions of its arguments that are not static; ``None`` if none is static.
Named = tuple[Callable[..., Any], Sequence[int] | None]


def leaf_name(f: Callable[..., Any], positions: Sequence[int] | None, path: KeyPath) -> str:
    """Describe a leaf of the arguments by its path in ``(args, kwargs)`` without the static ones."""
    part, which, *_ = path.path
    rest = key_path_str(path[2:])
    if part == 0:
        name = argument_name(f, which if positions is None else positions[which])
    else:
        name = f"argument {which} of {name_of(f)}"
    return f"{name} at {rest}" if rest else name


def taken(x: Any) -> Any:
    """Convert a leaf of an argument to an array of numbers.

    Object arrays and foreign arrays are converted or refused. A typed key of JAX becomes its data.
    """
    if isinstance(x, Tracer):
        return argument_value(x)
    if is_engine_value(x):
        return untyped(x)
    return as_value(x) if is_object_array(x) or is_foreign_array(x) else x


def returned(transform: str, name: str, y: Any) -> Any:
    """Check a leaf of a function's result. Object arrays may not leave a transform, because they may hide a tracer."""
    y = settled(y) if isinstance(y, Tracer) else taken(y)
    if is_object_array(y):
        raise ForeignArrayError(
            f"{transform}: {name} returned an array of objects {aval_of(y)}, which are not numbers; needed arrays of "
            "numbers, in any pytree. Return other objects as auxiliary data (has_aux=True), or not at all."
        )
    return y


def differentiable_leaves(transform: str, f: Callable[..., Any], number: int, arg: Any) -> tuple[list[Any], TreeDef]:
    """Flatten an argument. Leaves that are no arrays, or have integer or boolean dtype, are refused by their path.

    Python's floats become NumPy's numbers here.
    """
    leaves, treedef = flatten(arg)
    for i, leaf in enumerate(leaves):
        if type(leaf) is np.ndarray and leaf.dtype.kind in "fc":
            continue
        if issubclass(type(leaf), np.ndarray) and is_foreign_array(leaf):
            # The leaf is a subclass of ndarray with its own attributes, or will be refused.
            return differentiable_leaves(transform, f, number, unflatten(treedef, map(taken, leaves)))
        if not is_value(leaf) or not is_inexact(aval_of(untyped(leaf)).dtype):
            _refuse(transform, f, number, arg)
        leaves[i] = differentiated(leaf)
    return leaves, treedef


def _refuse(transform: str, f: Callable[..., Any], number: int, arg: Any) -> NoReturn:
    for path, leaf in flatten_with_path(arg)[0]:
        text = key_path_str(path)
        where = f"{argument_name(f, number)}{f' at {text}' if text else ''}"
        if not is_value(leaf):
            raise TypeError(
                f"{transform}: {where} is a {type(leaf).__name__}, needed an array or a number. "
                "Pass arrays in pytrees, and other things as arguments that are not differentiated."
            )
        aval = aval_of(untyped(leaf))
        if not is_inexact(aval.dtype):
            raise NotDifferentiableError(
                f"{transform}: a derivative was asked by {where}. It has dtype {aval.dtype.name} ({aval}); needed a "
                "float or complex dtype. Convert it with .astype(float), or leave it out of argnums."
            )
    raise AssertionError("every leaf is differentiable")


def require_inexact(transform: str, f: Callable[..., Any], outputs: Iterable[Any]) -> None:
    """Refuse an output of integer or boolean dtype.

    Zero derivatives would hide the place where the function was cut.
    """
    for y in outputs:
        aval = aval_of(require_value(transform, f, y))
        if not is_inexact(aval.dtype):
            raise NotDifferentiableError(
                f"{transform}: a derivative was asked of an output of {name_of(f)}. It has dtype {aval.dtype.name} "
                f"({aval}), whose values do not change continuously; needed a float dtype. Return it as auxiliary data "
                "(has_aux=True), or use fg.vjp or fg.jvp, where its derivative is zero."
            )


def require_value(transform: str, f: Callable[..., Any], y: Any) -> Any:
    """Refuse an output that is no array and no number, and return others."""
    if is_value(y):
        return y
    raise TypeError(
        f"{transform}: {name_of(f)} returned a {type(y).__name__}; needed arrays or numbers, in any pytree. Return it "
        "as auxiliary data (has_aux=True), or not at all."
    )


def number_like(x: Any, needed: Aval, what: str) -> Any:
    """Return a tangent or cotangent that was given as a Python number or a list, in the needed dtype."""
    if x is not None and not isinstance(x, str | bytes):
        try:
            return np.asarray(x, needed.dtype)[()]
        except (TypeError, ValueError):
            pass
    raise TypeError(
        f"{what} is {'None' if x is None else f'a {type(x).__name__}'}; needed an array {needed}. "
        "Pass an array of that shape, np.zeros where nothing changes."
    )


def tangent_like(x: Any, needed: Aval) -> Any:
    """Return a tangent in the dtype of its primal where NumPy casts it (same_kind, or integers without loss)."""
    kind, dtype = x.dtype.kind, needed.dtype
    if x.dtype == dtype or kind not in "iufc":
        return x
    fits = np.can_cast(x.dtype, dtype, "same_kind")
    if kind in "iu":
        # SciPy probes a linear operator with int8.
        known = known_value(x)
        numbers = None if known is None else np.asarray(known)
        small = x.dtype.itemsize < 8 and np.can_cast(x.dtype, dtype)
        fits = small if numbers is None else bool(np.all(np.real(numbers.astype(dtype)).astype(x.dtype) == numbers))
    return cast(x, dtype) if fits else x


def owned(results: Iterable[Any], others: Iterable[Any], *, views: bool = False) -> list[Any]:
    """Return the results, each in memory of its own: the caller may write into what a transform computes.

    Views are always copied, unless ``views`` says that they show only results and not ``others``. A tracer of an outer
    transform is copied if its memory is that of another result or of one of ``others``.
    """
    given = list(others)
    seen = set(map(memory_of, given))
    return [lasting(_unshared(y, seen, views=views), given) for y in results]


def own(y: Any, dtype: np.dtype, seen: set[int]) -> Any:
    """Do the same for one cotangent: in this dtype, in memory that is not in ``seen``.

    Its memory is added to ``seen``.
    """
    if type(y) is _NDARRAY and y.base is None and y.dtype is dtype and id(y) not in seen:
        # This is the case for nearly every cotangent, so it needs no search.
        seen.add(id(y))
        return y
    if dtype.kind != "c" and y.dtype.kind == "c":
        raise TreeMismatchError(
            f"a derivative rule returned a complex cotangent, {aval_of(y)}, for a real operand {dtype}; needed a real "
            "one, because a conversion would drop its imaginary part. Let the rule return the real part, np.real(...)."
        )
    return _unshared(cast(y, dtype), seen, views=False)


def memory_of(x: Any) -> int:
    """Return the id of the memory of a value, or of the value that a tracer stands for."""
    return id(_owner(x))


def _unshared(y: Any, seen: set[int], *, views: bool) -> Any:
    owner = _owner(y)
    if owner is not None:
        if id(owner) in seen or (owner is not y and type(y) is np.ndarray and not (views and y.flags.writeable)):
            owner = _owner(y := copy(y))
        seen.add(id(owner))
    return y


def _owner(x: Any) -> Any:
    """Return the array that owns a value's memory; ``None`` if nothing ever writes to it."""
    while isinstance(x := settled(x), Tracer):
        # A staged value is identified by its variable.
        x = x._variable if type(x) is StagedTracer else x._value
    if not isinstance(x, np.ndarray):
        return x if type(x) is Var else None
    return holder(x)


def checked_argnames(
    transform: str, f: Callable[..., Any], names: Any, option: str = "static_argnames"
) -> tuple[str, ...]:
    """Return names of arguments as a tuple; refuse other values."""
    found = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, Iterable) else (names,)
    for name in found:
        if not isinstance(name, str):
            raise TypeError(
                f"{transform}: {option} of {name_of(f)} contains {_shown(name)}; needed names of arguments. "
                f"Use {option.replace('names', 'nums')} for positions."
            )
    return found


def positions_of(transform: str, f: Callable[..., Any], names: Sequence[str], option: str) -> list[int]:
    """Return the positions of arguments that are named; refuse a name that is no positional argument."""
    positional = _positional_names(f)
    for name in names:
        if name not in positional:
            raise ValueError(
                f"{transform}: {option} of {name_of(f)} has {name!r}; needed names among {positional}. Name an "
                "argument that can be passed by position."
            )
    return [positional.index(name) for name in names]


class StaticValues(NamedTuple):
    """The static values of a call.

    Args:
        key: the key of the values, and of the order of the arguments that were passed by name if that counts.
        values: the values, by the position or by the name of the argument.
        positional: the number of those that were passed by position.
    """

    key: Hashable
    values: dict[int | str, Any]
    positional: int


class StaticArguments:
    """The static arguments of a function: hashable values that are part of the compiled program."""

    def __init__(
        self, f: Callable[..., Any], numbers: int | Sequence[int], names: str | Sequence[str], transform: str = "jit"
    ) -> None:
        self._function = f
        self._transform = transform
        numbers = checked_argnums(transform, f, numbers, "static_argnums")
        self.numbers = (numbers,) if isinstance(numbers, int) else numbers
        self.names = checked_argnames(transform, f, names)
        if self.numbers or self.names:
            self._complete()

    def _complete(self) -> None:
        """Know each static argument by position and by name, if the signature has both."""
        try:
            parameters = list(inspect.signature(self._function).parameters.values())
        except (TypeError, ValueError):
            return
        positional = [p.name for p in parameters if p.kind <= p.POSITIONAL_OR_KEYWORD]
        kinds = {p.kind for p in parameters}
        if inspect.Parameter.VAR_POSITIONAL not in kinds:
            self._refuse_absent(
                "static_argnums", [i for i in self.numbers if not -len(positional) <= i < len(positional)]
            )
        if inspect.Parameter.VAR_KEYWORD not in kinds:
            known = {p.name for p in parameters if p.kind > p.POSITIONAL_ONLY}
            self._refuse_absent("static_argnames", [name for name in self.names if name not in known])
        by_number = [positional[i] for i in self.numbers if -len(positional) <= i < len(positional)]
        by_name = [positional.index(name) for name in self.names if name in positional]
        self.numbers = tuple(dict.fromkeys((*self.numbers, *by_name)))
        self.names = tuple(dict.fromkeys((*self.names, *by_number)))

    def refuse_donated(self, donated: Sequence[int]) -> None:
        """Refuse donated arguments that do not exist or are static."""
        names = _positional_names(self._function)
        if names and not _takes_any_number(self._function):
            self._refuse_absent("donate_argnums", [i for i in donated if not -len(names) <= i < len(names)])
        for number in set(donated) & set(self.numbers):
            raise ValueError(
                f"jit: {argument_name(self._function, number)} is both in donate_argnums and static; needed one of the "
                "two, since a static argument has no buffer. Leave it out of donate_argnums."
            )

    def donated_names(self, names: str | Sequence[str]) -> tuple[str, ...]:
        """Return the names of donated arguments; refuse those that do not exist or are static."""
        f = self._function
        found = checked_argnames(self._transform, f, names, "donate_argnames")
        try:
            parameters = inspect.signature(f).parameters.values()
        except (TypeError, ValueError):
            return found
        if inspect.Parameter.VAR_KEYWORD not in {p.kind for p in parameters}:
            known = {p.name for p in parameters}
            self._refuse_absent("donate_argnames", [name for name in found if name not in known])
        for name in set(found) & set(self.names):
            raise ValueError(
                f"jit: argument {name} of {name_of(f)} is both in donate_argnames and static; needed one of the two, "
                "since a static argument has no buffer. Leave it out of donate_argnames."
            )
        return found

    def with_positions(self, numbers: int | Sequence[int], names: Sequence[str]) -> int | Sequence[int]:
        """Return positions of donated arguments, with those of the named ones that can be passed by position."""
        positional = _positional_names(self._function)
        more = [positional.index(name) for name in names if name in positional]
        if not more:
            return numbers
        found = checked_argnums(self._transform, self._function, numbers, "donate_argnums")
        return tuple(dict.fromkeys([*((found,) if isinstance(found, int) else found), *more]))

    def _refuse_absent(self, option: str, absent: Sequence[Any]) -> None:
        if absent:
            raise ValueError(
                f"{self._transform}: {option} of {name_of(self._function)} has {absent[0]!r}, and there is no such "
                f"argument; the signature is {inspect.signature(self._function)}. Name an argument that it has."
            )

    def dynamic(self, numbers: Sequence[int], count: int) -> list[int]:
        """Return the positions of these arguments when the static ones are left out."""
        rest = self.others(count)
        return [rest.index(i % count) for i in numbers if -count <= i < count]

    def others(self, count: int) -> list[int]:
        """Return the positions that are not static."""
        return [i for i in range(count) if i not in self.numbers and i - count not in self.numbers]

    def options(self) -> dict[str, Any]:
        """Return the same settings as options of ``jax.jit``."""
        return {"static_argnums": self.numbers or None, "static_argnames": self.names or None}

    def bind(self, args: tuple, kwargs: dict) -> tuple[Callable[..., Any], tuple, dict, StaticValues | None]:
        """Return the function of the dynamic arguments, these arguments, and the key of the static values."""
        if len(kwargs) > 1 and not self.sees_order:
            kwargs = dict(sorted(kwargs.items()))
        if not self.numbers and not self.names:
            return self._function, args, kwargs, None
        numbers = {i % len(args) for i in self.numbers if -len(args) <= i < len(args)}
        fixed = {i: args[i] for i in numbers}
        fixed_names = {name: kwargs[name] for name in self.names if name in kwargs}

        def partial(*dynamic: Any, **named: Any) -> Any:
            rest = iter(dynamic)
            return self._function(
                *[fixed[i] if i in fixed else next(rest) for i in range(len(args))],
                **{name: fixed_names[name] if name in fixed_names else named[name] for name in kwargs},
            )

        partial.__name__ = name_of(self._function)
        values = {**fixed, **fixed_names}
        order = tuple(kwargs) if fixed_names and self.sees_order else None
        key = order, tuple([(which, static_key(value)) for which, value in values.items()])
        try:
            hash(key)
        except TypeError:
            self._refuse_unhashable(values.values())
        dynamic = tuple(x for i, x in enumerate(args) if i not in fixed)
        named = {name: x for name, x in kwargs.items() if name not in fixed_names}
        return partial, dynamic, named, StaticValues(key, values, len(fixed))

    @functools.cached_property
    def sees_order(self) -> bool:
        """Whether the function sees the order in which arguments are passed by name, as ``**kwargs`` does."""
        try:
            parameters = inspect.signature(self._function, follow_wrapped=False).parameters.values()
        except (TypeError, ValueError):
            return True
        return any(p.kind is p.VAR_KEYWORD for p in parameters)

    def _refuse_unhashable(self, values: Iterable[Any]) -> NoReturn:
        for value in values:
            try:
                hash(static_key(value))
            except TypeError:
                raise ValueError(
                    f"{self._transform}: a static argument of {name_of(self._function)} is a {type(value).__name__}, "
                    "which cannot be hashed; static values are part of the cache key. Pass a tuple or another hashable "
                    "value, or make the argument dynamic."
                ) from None
        raise AssertionError("each value has a hash")
