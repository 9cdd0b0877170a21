"""The plan for one signature: the program of one product, its pattern, its colours, and the program of all values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.graph.ir import Graph
from funcgrad._core.graph.program import GraphMethods
from funcgrad._core.graph.simplify import simplify
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.layout.shape import reshape
from funcgrad._ops.program.custom import custom_jvp_p, custom_vjp_p
from funcgrad._ops.reduce.sort import gather_along_axis
from funcgrad._transforms.base.arguments import name_of, require_inexact
from funcgrad._transforms.base.shape_dtype import ShapeDtype
from funcgrad._transforms.base.stage import is_stageable, stage_leaves
from funcgrad._transforms.compiled.jit import jit
from funcgrad._transforms.compiled.jitted import is_lasting
from funcgrad._transforms.derivative.forward import jvp
from funcgrad._transforms.derivative.higher_order import hvp
from funcgrad._transforms.derivative.reverse import grad, vjp
from funcgrad._transforms.vmap import mapped
from funcgrad._types import ArrayLike
from funcgrad.errors import NonScalarOutputError, NotDifferentiableError
from funcgrad.sparse._colors import Colors, colors_of, places_of
from funcgrad.sparse._elements import Elements, elements_of
from funcgrad.sparse._follow import pattern_of
from funcgrad.sparse._pattern import with_short_indices
from funcgrad.tree import TreeDef, flatten, unflatten

# Primitives that call functions with users' rules. A second derivative of such a function need not be symmetric.
_WITH_RULES = (custom_jvp_p, custom_vjp_p)


class Request(NamedTuple):
    """A request for a derivative of a function, with its options.

    Args:
        transform: the name of the public function, for messages.
        function: the user's function.
        number: the argument to differentiate by.
        of_gradient: whether the matrix is the Hessian.
        mode: ``"forward"``, ``"reverse"``, ``"both"``, or ``None`` for the fewest products.
        engine: the engine that compiles the values.
        limit: the most entries of a pattern.
    """

    transform: str
    function: Callable[..., Any]
    number: int
    of_gradient: bool
    mode: str | None
    engine: str
    limit: int


class CallArguments(NamedTuple):
    """The arguments of a call: the leaves, their structure, and the place of the differentiated one among them."""

    leaves: list[Any]
    in_tree: TreeDef
    place: int

    @property
    def x(self) -> Aval:
        return aval_of(self.leaves[self.place])


class Plan:
    """The matrix of one function for arguments of one signature.

    Args:
        request: what is asked.
        call: the arguments, of which only types are used.
    """

    def __init__(self, request: Request, call: CallArguments) -> None:
        self.request = request
        self.x = call.x
        products = _Products(request, call)
        mode = request.mode
        self.forward: Graph | None = None
        self.symmetric = request.of_gradient and not products.has_rules
        if mode != "reverse":
            try:
                self.forward = products.by_symmetry() if self.symmetric else products.forward()
            except NotDifferentiableError:
                # A function with a user's rule that has reverse mode only.
                if mode is not None or request.of_gradient:
                    raise
                mode = "reverse"
        first = products.reverse() if self.forward is None else self.forward
        self.y = products.y
        mode = self._mode_of_colors(mode)
        pattern = pattern_of(first, len(first.inputs) - 1, request.limit).matrix()
        if self.forward is None:
            pattern = pattern.T.tocsr()
        if self.symmetric:
            pattern = (pattern + pattern.T).tocsr()
        pattern.sort_indices()
        self.pattern = with_short_indices(pattern)
        self._mode = mode
        # The user asked for products, so the elements are not computed directly.
        self._elements: Elements | None = None
        if self.forward is not None and request.mode is None:
            self._elements = elements_of(self.forward, self.pattern, self.y.dtype, symmetric=self.symmetric)
        self.backward: Graph | None = None
        if self._elements is None and self.colors.reverse:
            self.backward = first if self.forward is None else products.reverse()
        graphs = [graph for graph in (self.forward, self.backward) if graph is not None]
        self.lasting = all(is_lasting(value) for graph in graphs for _, value in graph.constants)

    def _mode_of_colors(self, mode: str | None) -> str | None:
        """Return the mode of the colouring, and refuse rows of a complex result."""
        if self.request.of_gradient:
            return "symmetric" if self.symmetric else "forward"
        if self.y.dtype.kind != "c":
            return mode
        if mode in ("reverse", "both"):
            raise NotDifferentiableError(
                f"{self.request.transform}: {name_of(self.request.function)} has an output of type {self.y}; needed a "
                "real dtype for products with rows, which give the derivative of the real part only. Leave mode out, "
                "or take np.real and np.imag apart."
            )
        return "forward"

    @functools.cached_property
    def colors(self) -> Colors:
        """The columns and rows that one product computes."""
        return colors_of(self.pattern, self._mode)

    @functools.cached_property
    def _places(self) -> np.ndarray:
        return places_of(self.pattern, self.colors, self.symmetric)

    @functools.cached_property
    def compiled(self) -> Callable[..., Any]:
        """The program of all values, compiled."""
        return jit(self.values, engine=self.request.engine)

    def values(self, *leaves: Any) -> Any:
        """Return the elements of the matrix, row by row, for the leaves of the arguments that are arrays."""
        if self._elements is not None:
            return self._elements.values(leaves)
        parts = []
        if self.forward is not None and self.colors.forward:
            parts.append(_all_products(self.forward, leaves, self.colors.columns, self.x))
        if self.backward is not None:
            parts.append(_all_products(self.backward, leaves, self.colors.rows, self.y))
        if not parts:
            return np.zeros(0, np.result_type(self.y.dtype))
        flat = parts[0] if len(parts) == 1 else concatenate(parts, 0)
        # Not an index of NumPy's, which compiled programs copy once more, as it may be a view: 0.2 of 1.8 ms.
        return gather_along_axis(flat, self._places, 0, unique=not self.symmetric)


def _all_products(graph: Graph, leaves: Sequence[Any], colors: np.ndarray, aval: Aval) -> Any:
    """Return the products with all colours, one after the other, by one batched evaluation."""
    count = int(colors.max(initial=-1)) + 1
    seeds = (colors == np.arange(count)[:, None]).astype(aval.dtype).reshape(count, *aval.shape)
    products = mapped(lambda seed: graph.evaluate(*leaves, seed)[0], 0, 0, leaves)(seeds)
    return reshape(products, (int(np.prod(products.shape)),))


class _Products:
    """Stages the products of the matrix and of its transpose with a vector."""

    def __init__(self, request: Request, call: CallArguments) -> None:
        self._request = request
        self._call = call
        # The type of the result, known once the function is staged; that of the gradient is the argument's.
        self._y = call.x if request.of_gradient else None

    @property
    def y(self) -> Aval:
        if self._y is None:
            self._staged(lambda f, x, v: f(x), self._call.x)
        assert self._y is not None
        return self._y

    def forward(self) -> Graph:
        """Return the program of the product with a vector: inputs are the leaves, then the vector."""
        return self._staged(lambda f, x, v: jvp(f, (x,), (v,))[1], self._call.x)

    def reverse(self) -> Graph:
        """Return the program of the product of the transpose with a vector."""
        return self._staged(lambda f, x, v: vjp(f, x)[1](v)[0], self.y)

    def by_symmetry(self) -> Graph:
        """Return the program of the product of the Hessian with a vector."""
        return self._staged(lambda f, x, v: hvp(f, (x,), (v,)), self._call.x, of_gradient=False)

    @functools.cached_property
    def has_rules(self) -> bool:
        """Whether a part of the function has a derivative of its own."""
        staged, _ = stage_leaves(self._of_leaves(lambda f, x, v: f(x), False), *self._flat(self._call.x), is_stageable)
        return _holds(staged, _WITH_RULES)

    def _staged(self, product: Callable[..., Any], vector: Aval, of_gradient: bool | None = None) -> Graph:
        graph, _ = stage_leaves(
            self._of_leaves(product, self._request.of_gradient if of_gradient is None else of_gradient),
            *self._flat(vector),
            is_stageable,
            self._request.transform,
        )
        return simplify(graph)

    def _flat(self, vector: Aval) -> tuple[list[Any], TreeDef]:
        call = unflatten(self._call.in_tree, self._call.leaves)
        return flatten(((call, ShapeDtype(vector.shape, vector.dtype)), {}))

    def _of_leaves(self, product: Callable[..., Any], of_gradient: bool) -> Callable[..., Any]:
        """Return the product as a function of the arguments of a call and the vector."""
        request = self._request

        @functools.wraps(request.function)
        def pushed(call: tuple[tuple, dict], vector: ArrayLike) -> Any:
            args, kwargs = call

            number = request.number % len(args)

            @functools.wraps(request.function)
            def of_chosen(x: ArrayLike) -> Any:
                whole = [*args[:number], x, *args[number + 1 :]]
                return self._checked(request.function(*whole, **kwargs))

            return product(grad(of_chosen) if of_gradient else of_chosen, args[request.number], vector)

        return pushed

    def _checked(self, y: ArrayLike) -> Any:
        """Check the result of the function, and keep its type."""
        request = self._request
        leaves, _ = flatten(y)
        if len(leaves) != 1 or leaves[0] is not y:
            arrived = "None" if y is None else f"a {type(y).__name__} of {len(leaves)} arrays"
            remedy = "Is a return missing?" if y is None else "Join them with np.concatenate."
            raise TypeError(
                f"{request.transform}: {name_of(request.function)} returned {arrived}; needed one array, whose "
                f"elements are the rows of the matrix. {remedy}"
            )
        require_inexact(request.transform, request.function, [y])
        aval = aval_of(y)
        if request.of_gradient and (aval.shape or aval.dtype.kind == "c"):
            raise NonScalarOutputError(
                f"{request.transform}: {name_of(request.function)} must return a real scalar. Its output is {aval}; "
                f"needed {'a float dtype' if not aval.shape else aval.with_shape(())}. Reduce it with a sum, or "
                "use fg.sparse.jacobian for its first derivatives."
            )
        if not request.of_gradient:
            self._y = aval
        return y


def _holds(graph: Graph, primitives: Sequence[Any]) -> bool:
    """Return whether a program, or a program inside it, uses one of these primitives."""
    return any(
        equation.primitive in primitives or any(_param_holds(param, primitives) for param in equation.params.values())
        for equation in graph.equations
    )


def _param_holds(param: Any, primitives: Sequence[Any]) -> bool:
    if isinstance(param, GraphMethods):
        return _holds(param, primitives)  # pyright: ignore[reportArgumentType]  (a graph is the only class of its methods)
    return isinstance(param, tuple) and any(_param_holds(each, primitives) for each in param)
