"""Sparse derivatives as functions that return matrices, with a plan for each signature."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

import numpy as np
import scipy.sparse

from funcgrad._core.bind import Tracer, is_value
from funcgrad._core.graph.simplify import avals_of
from funcgrad._public import published_as
from funcgrad._transforms.base.arguments import argument_name, differentiable_leaves, name_of, taken
from funcgrad._transforms.base.stage import is_stageable
from funcgrad._types import ArrayLike
from funcgrad.errors import NotDifferentiableError, TracerArrayConversionError
from funcgrad.sparse._colors import Colors
from funcgrad.sparse._pattern import rows_of
from funcgrad.sparse._plan import CallArguments, Plan, Request
from funcgrad.tree import flatten, leaves, unflatten
from funcgrad.tree.extend import static_key

# The most plans that a function keeps. The least recently used one is dropped first.
_MOST_PLANS = 16


class Plans:
    """Finds the plan for the arguments of a call, and keeps the plans that were used last."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self._kept: OrderedDict[Any, Plan] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, args: tuple, kwargs: dict[str, Any]) -> tuple[Plan, list[Any]]:
        """Return the plan for these arguments, and the leaves of the arguments that are arrays."""
        call = self._call(args, kwargs)
        dynamic = [leaf for leaf in call.leaves if is_stageable(leaf)]
        key = static_key((call.in_tree, avals_of(dynamic), *self._others(call)))
        with self._lock:
            plan = self._kept.get(key)
            if plan is not None:
                self._kept.move_to_end(key)
        if plan is None:
            plan = Plan(self.request, call)
            if plan.lasting:
                self._keep(key, plan)
        return plan, dynamic

    def _others(self, call: CallArguments) -> list[Any]:
        """Return the leaves that are no arrays. Plans are kept by their values."""
        found = [leaf for leaf in call.leaves if not is_stageable(leaf)]
        for leaf in found:
            try:
                hash(leaf)
            except TypeError:
                raise TypeError(
                    f"{self.request.transform}: an argument of {name_of(self.request.function)} is a "
                    f"{type(leaf).__name__}, which has no hash; needed arrays, numbers, or objects with a hash, since "
                    "plans are kept by them. Close over it: lambda x: f(x, it)."
                ) from None
        return found

    def _keep(self, key: Any, plan: Plan) -> None:
        with self._lock:
            self._kept[key] = plan
            if len(self._kept) > _MOST_PLANS:
                self._kept.popitem(last=False)

    def _call(self, args: tuple, kwargs: dict[str, Any]) -> CallArguments:
        """Check the arguments and flatten them."""
        transform, f, number = self.request.transform, self.request.function, self.request.number
        if not -len(args) <= number < len(args):
            raise TypeError(
                f"{transform}: {argument_name(f, number)} is to be differentiated, but the call has {len(args)} "
                "positional arguments. Pass it by position, or change argnums."
            )
        found, _ = differentiable_leaves(transform, f, number, args[number])
        number %= len(args)
        if len(found) != 1 or len(leaves(args[number])) != 1 or not _is_leaf(args[number]):
            raise TypeError(
                f"{transform}: {argument_name(f, number)} is a {type(args[number]).__name__} of {len(found)} arrays; "
                "needed one array, whose elements are the columns of the matrix. Join them with fg.tree.ravel, and "
                "unravel in the function."
            )
        if taken(found[0]).dtype.kind == "c":
            raise NotDifferentiableError(
                f"{transform}: {argument_name(f, number)} has a complex dtype; needed a real one, since a complex "
                "derivative is no single number. To go on, pass real and imaginary parts as one real array."
            )
        before = len(leaves(args[:number]))
        flat, in_tree = flatten((args, kwargs))
        flat = [taken(leaf) for leaf in flat]
        flat[before] = taken(found[0])
        return CallArguments(flat, in_tree, before)


def _is_leaf(x: ArrayLike) -> bool:
    found, _ = flatten(x)
    return len(found) == 1 and found[0] is x


@published_as("funcgrad.sparse")
class SparseDerivative:
    """A function that returns a derivative as a sparse matrix: what `jacobian` and `hessian` of this module return.

    The structure of the matrix depends only on the shapes and dtypes of the arguments, so all matrices of one signature
    have the same. A plan (pattern, colours and compiled program) is made at the first call with a signature. The plans
    of the last 16 signatures are kept.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> J = fg.sparse.jacobian(lambda x: x[1:] * x[:-1])
        >>> J(np.array([1.0, 2.0, 3.0])).toarray()
        array([[2., 1., 0.],
               [0., 3., 2.]])
        >>> J.colors(np.ones(3)).columns
        array([0, 1, 0])
    """

    def __init__(self, request: Request) -> None:
        self._plans = Plans(request)
        self.__wrapped__ = request.function
        self.__name__ = f"{request.transform.replace('.', '_')}_{name_of(request.function)}"

    def __repr__(self) -> str:
        return f"<{self.__name__}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the request. The plans are made again."""
        return SparseDerivative, (self._plans.request,)

    def __call__(self, *args: Any, **kwargs: Any) -> scipy.sparse.csr_array:
        """Return the derivative at a point.

        Args:
            args: the arguments of the function.
            kwargs: its keyword arguments.

        Returns:
            A new matrix, with the elements of the result as rows and those of the argument as columns, both in C order.
            Elements that are zero at this point are stored as the others are.

        Raises:
            TracerArrayConversionError: an argument is traced.
        """
        plan, dynamic = self._plans.find(args, kwargs)
        for leaf in dynamic:
            if isinstance(leaf, Tracer):
                request = self._plans.request
                raise TracerArrayConversionError(
                    f"{request.transform}: the matrix of {name_of(request.function)} was asked under a transform, with "
                    f"an argument {leaf.aval}; needed numbers, since scipy.sparse holds no traced values. Use "
                    f"fg.{request.transform}_values(f)(x), which returns the elements as a traced array, and "
                    "the method structure(x) for their rows and columns."
                )
        data = np.asarray(plan.compiled(*dynamic))
        pattern = plan.pattern
        return scipy.sparse.csr_array((data, pattern.indices.copy(), pattern.indptr.copy()), shape=pattern.shape)

    def pattern(self, *args: Any, **kwargs: Any) -> scipy.sparse.csr_array:
        """Return the positions of the elements that may be nonzero, as a matrix of bools.

        Only shapes and dtypes of the arguments are used.
        """
        return self._plan_of_types(args, kwargs).pattern.copy()

    def colors(self, *args: Any, **kwargs: Any) -> Colors:
        """Return which columns and which rows are computed together."""
        found = self._plan_of_types(args, kwargs).colors
        return Colors(found.columns.copy(), found.rows.copy())

    def structure(self, *args: Any, **kwargs: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows and the columns of the elements, in the order of the matrix's ``data``.

        cyipopt's ``jacobianstructure`` asks for them.
        """
        pattern = self._plan_of_types(args, kwargs).pattern
        return rows_of(pattern), pattern.indices.astype(np.intp)

    def values(self, *args: Any, **kwargs: Any) -> Any:
        """Return the elements in the order of `structure`, also for traced arguments."""
        plan, dynamic = self._plans.find(args, kwargs)
        return plan.values(*dynamic)

    def _plan_of_types(self, args: tuple, kwargs: dict[str, Any]) -> Plan:
        """Return the plan for arguments of which only the types are used."""
        found, in_tree = flatten((args, kwargs))
        args, kwargs = unflatten(in_tree, list(map(_with_numbers, found)))
        return self._plans.find(args, kwargs)[0]


def _with_numbers(leaf: ArrayLike) -> Any:
    """Return zeros for an object that has only a shape and a dtype. They need no memory."""
    if is_value(leaf) or not is_stageable(leaf):
        return leaf
    return np.broadcast_to(np.zeros((), leaf.dtype), leaf.shape)
