"""The record of the XLA engine. JAX is imported when one of the engine's functions is first used, not before."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad._core.lazy import LazyModule
from funcgrad._engines.engine import Engine, in_use
from funcgrad._types import Value

if TYPE_CHECKING:
    from funcgrad._core.graph.ir import Graph
    from funcgrad._core.primitive import Primitive


def with_random_state_restored(load: Callable[[str], Any], attribute: str) -> Any:
    """Load an attribute of a module and restore NumPy's global random state: importing JAX draws from it."""
    if "jax" in sys.modules:
        return load(attribute)
    before = np.random.get_state()  # noqa: NPY002  (it is this one that is drawn from)
    try:
        return load(attribute)
    finally:
        np.random.set_state(before)  # noqa: NPY002  (see above)


class _Xla(LazyModule):
    """A module of this folder that imports JAX when an attribute is first read."""

    def __getattr__(self, attribute: str) -> Any:
        try:
            value = with_random_state_restored(super().__getattr__, attribute)
        except ModuleNotFoundError as error:
            if error.name not in ("jax", "jaxlib"):
                raise
            raise ModuleNotFoundError(
                'jit: engine "xla" was asked for, which is JAX\'s compiler; there is no module named '
                f'{error.name!r}. Install it (pip install jax), or compile without it: fg.jit(f, engine="numpy").',
                name=error.name,
            ) from None
        if XLA not in in_use:
            in_use.append(XLA)
        return value


xla: Any = _Xla("funcgrad._engines.xla.run")
jax_functions: Any = _Xla("funcgrad._engines.xla.function")
shardings: Any = _Xla("funcgrad._engines.xla.shardings")
processes: Any = _Xla("funcgrad._engines.xla.processes")
jax_names: Any = _Xla("funcgrad._engines.xla.names")


def _owns(x: Value) -> bool:
    """Return whether a value is a ``jax.Array`` or a tracer of JAX; without JAX loaded there is none."""
    # Another thread may be importing JAX right now, and the module may not have the class yet. Then no instance exists.
    array_type = getattr(sys.modules.get("jax"), "Array", None)
    # Reading the class through the engine puts the engine in use.
    return array_type is not None and isinstance(x, array_type) and isinstance(x, xla.Array)


def _run(primitive: Primitive, operands: tuple, params: dict) -> Any:
    return xla.run(primitive, operands, params)


def _compile(graph: Graph) -> Callable[..., list]:
    return xla.compile_graph(graph)


def _scope() -> AbstractContextManager[Any]:
    return xla.scope()


def _is_abstract(x: Value) -> bool:
    return xla.is_jax_tracer(x)


def _known(x: Value) -> Any:
    found = x.to_concrete_value() if xla.is_jax_tracer(x) else x
    return found if found is None or not xla.inside_jax_trace() else np.asarray(found)


def _place_beside(value: Value, x: Value) -> Any:
    return xla.beside(value, x)


def _lasting(value: Value, given: Iterable[Any]) -> Any:
    return xla.lasting(value, given)


XLA = Engine(
    name="xla",
    owns=_owns,
    run=_run,
    compile=_compile,
    scope=_scope,
    is_abstract=_is_abstract,
    known=_known,
    place_beside=_place_beside,
    settle=lambda: xla.settle_effects(),
    is_tracing=lambda: xla.inside_jax_trace(),
    spreads=lambda: xla.spreads(),
    lasting=_lasting,
    tracing=xla,
    written=None,
    written_paths=None,
    written_path=None,
    rolls_above=400,
    # XLA compiles some 1,000 equations in a second.
    most_equations=200_000,
    splits_loops=False,
)
