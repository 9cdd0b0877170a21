"""``backward`` and ``grad``, with PyTorch's contract and error texts."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.bind import active_trace
from funcgrad._core.trace.backward import backward_pass
from funcgrad._core.tracebacks import folded
from funcgrad._engines import loaded_scope
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._transforms.base.arguments import memory_of, own
from funcgrad._types import Array, PyTree
from funcgrad.autograd._tape.base import LeafNode, TensorBase, TensorTrace, is_tensor, retained, set_value
from funcgrad.autograd._tape.graph import Visitor, needed_nodes
from funcgrad.autograd._tape.hooks import call_accumulated, ending, hooked, registered
from funcgrad.autograd._tape.mode import recorded
from funcgrad.autograd._tape.saved import FREED, packed
from funcgrad.autograd._tape.seeds import (
    Seed,
    check_inputs,
    conjugated,
    implicit_seed,
    outputs_of,
    seeds_of,
    sequence,
)
from funcgrad.autograd._tape.writes import WRITES, was_read

Tensors = Any | Sequence[Any]


@folded
def backward(
    tensors: Tensors,
    grad_tensors: Tensors | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Tensors | None = None,
    inputs: Tensors | None = None,
) -> None:
    """Compute the gradient of the sum of tensors by the leaves of the graph, and add it to their ``grad``.

    Args:
        tensors: a tensor or several; each requires a gradient.
        grad_tensors: the seed for each tensor, of its shape; ``None`` means 1 for a scalar.
        retain_graph: whether to keep the graph for another pass; by default the value of ``create_graph``.
        create_graph: whether to record the pass itself, so that the gradients can be differentiated.
        grad_variables: deprecated name of ``grad_tensors``.
        inputs: the tensors whose ``grad`` is filled; by default all leaves.

    Raises:
        RuntimeError: a tensor requires no gradient, a seed is missing or has another shape, ``inputs`` is empty, an
            earlier pass has freed the graph, or a transform such as ``fg.grad`` is running. The messages are PyTorch's.

    Example:
        >>> from funcgrad.autograd import backward, tensor
        >>> x = tensor([1.0, 2.0], requires_grad=True)
        >>> backward((x**2).sum())
        >>> x.grad
        tensor([2., 4.])

    Source: ``torch.autograd.backward``.
    """
    _refuse_inside_transforms("backward")
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only "
                "use `grad_tensors`."
            )
        grad_tensors = grad_variables
    chosen = None if inputs is None else sequence(inputs, "backward")
    if chosen is not None and not chosen:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    outputs = outputs_of(tensors)
    seeds = seeds_of(outputs, grad_tensors)
    if retain_graph is None:
        retain_graph = create_graph
    check_inputs(chosen or (), "can't retain_grad on Tensor that has requires_grad=False")
    if not seeds:
        return
    found = _run(seeds, retain_graph, outputs[0]._owner if create_graph else None, chosen)
    _accumulate(found, {memory_of(bar) for _, bar in seeds}, create_graph)


def backward_from(x: TensorBase, *, retain: bool) -> None:
    """Run ``backward`` for one scalar, the common case.

    The general function takes 2 us more, of 45 for a small network.
    """
    _refuse_inside_transforms("backward")
    _accumulate(_run([implicit_seed(0, x)], retain, None, None), set(), create=False)


@folded
def grad(  # noqa: PLR0917  (PyTorch's signature)
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Tensors | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Compute the gradient of the sum of outputs by inputs, and return it. No ``grad`` changes.

    Args:
        outputs: a tensor or several; each requires a gradient.
        inputs: a tensor, several, or a dict of them; leaves or results.
        grad_outputs: the seed for each output, of its shape; ``None`` means 1 for a scalar.
        retain_graph: whether to keep the graph for another pass; by default the value of ``create_graph``.
        create_graph: whether to record the pass itself, so that the gradients can be differentiated.
        only_inputs: PyTorch's older argument; no other gradient is computed.
        allow_unused: whether to return ``None`` for an input that no output depends on, instead of an error; by default
            the value of ``materialize_grads``.
        is_grads_batched: whether the first axis of each seed counts several passes, whose gradients are stacked.
        materialize_grads: whether to return zeros for such an input.

    Returns:
        A tuple of gradients, one per input; a dict if ``inputs`` is one.

    Raises:
        RuntimeError: as for `backward`, or an input is not used.

    Example:
        >>> from funcgrad.autograd import grad, tensor
        >>> x = tensor(3.0, requires_grad=True)
        >>> (first,) = grad(x**3, x, create_graph=True)
        >>> grad(first, x)
        (tensor(18.),)

    Source: ``torch.autograd.grad``.
    """
    _refuse_inside_transforms("grad")
    del only_inputs
    if is_grads_batched:
        options = {"create_graph": create_graph, "allow_unused": allow_unused, "materialize_grads": materialize_grads}
        return _grad_of_each(outputs, inputs, grad_outputs, retain_graph, options)
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    chosen = sequence(inputs, "grad")
    if not chosen:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    seeds = seeds_of(outputs_of(outputs), grad_outputs)
    check_inputs(chosen, "One of the differentiated Tensors does not require grad")
    retain = create_graph if retain_graph is None else retain_graph
    found = _run(seeds, retain, chosen[0]._owner if create_graph else None, chosen)
    taken = {memory_of(bar) for _, bar in seeds}
    # A pass also fills the gradient of each tensor on its way that retains it.
    _accumulate([(x, bar) for x, bar in found if x.retains_grad], taken, create_graph)
    asked = {id(x) for x in chosen}
    bars = {id(x): _gradient(x, bar, taken, create_graph) for x, bar in found if id(x) in asked}
    unused = [i for i, x in enumerate(chosen) if id(x) not in bars]
    if unused and not (materialize_grads or allow_unused):
        raise RuntimeError(
            f"The differentiated Tensor at index {unused[0]} appears to not have been used in the graph. Set "
            "allow_unused=True if this is the desired behavior."
        )
    zeros = [
        x._owner.constant(zeros_like(x._value)) if materialize_grads and id(x) not in bars else None for x in chosen
    ]
    results = tuple([bars.get(id(x), zero) for x, zero in zip(chosen, zeros, strict=True)])
    return dict(zip(inputs, results, strict=True)) if isinstance(inputs, Mapping) else results


def _grad_of_each(
    outputs: PyTree, inputs: PyTree, seeds: Any, retain_graph: bool | None, options: dict[str, Any]
) -> tuple[Any, ...]:
    """Return the gradients for each row of the seeds, stacked."""
    rows: list[Any] = [seeds] if is_tensor(seeds) else list(seeds)
    count = len(rows[0])
    keeps = bool(options["create_graph"] if retain_graph is None else retain_graph)
    found = [
        grad(outputs, inputs, [row[i] for row in rows], retain_graph=keeps or i < count - 1, **options)
        for i in range(count)
    ]
    return tuple([None if each[0] is None else fnp.stack(each) for each in zip(*found, strict=True)])


def _refuse_inside_transforms(name: str) -> None:
    running = active_trace()
    if running is not None and not running.keeps_backward:
        raise RuntimeError(
            f"{name}() called inside a functional transform of funcgrad. This is not supported, please use fg.grad or "
            f"fg.vjp instead or call {name}() outside of functional transforms."
        )


def _run(
    seeds: list[Seed], retain: bool, trace: TensorTrace | None, inputs: Sequence[Any] | None
) -> list[tuple[Any, Any]]:
    """Run the pass, and return the tensors that get a gradient, each with its gradient.

    With ``inputs`` these are the inputs, and the tensors on the way to them that retain their gradient. If a trace
    records the pass, the gradients are tensors.
    """
    if trace is None:
        seeds = [(node, bar._value if is_tensor(bar) else bar) for node, bar in seeds]
        if inputs is None and not retained and not registered and not packed:
            return _receivers(_pass(seeds, not retain, None))
        return _run_watched(seeds, retain, None, inputs)
    with recorded(True):
        seeds = [(node, bar if is_tensor(bar) else trace.constant(bar)) for node, bar in seeds]
        return _run_watched(seeds, retain, trace, inputs)


def _run_watched(
    seeds: list[Seed], retain: bool, trace: TensorTrace | None, inputs: Sequence[Any] | None
) -> list[tuple[Any, Any]]:
    wanted: set[Any] = set() if inputs is None else {x._node for x in inputs}
    needed = None if inputs is None else needed_nodes([node for node, _ in seeds], wanted)
    visitor = Visitor({*wanted, *retained}, needed, trace)
    with ending():
        leaves = _pass(seeds, not retain, visitor)
        leaves = {node: hooked(node, bar, is_recorded=trace is not None) for node, bar in leaves.items()}
    kept = [(retained.get(node), bar) for node, bar in visitor.captured.items()]
    found = [(x, conjugated(bar)) for x, bar in kept if x is not None]
    if inputs is None:
        return [*_receivers(leaves), *found]
    if any(type(node) is not LeafNode and node not in wanted for node in leaves):
        raise RuntimeError(FREED)
    bars = {**leaves, **visitor.captured}
    asked = [(x, conjugated(bars[x._node])) for x in inputs if x._node in bars]
    return list({id(x): (x, bar) for x, bar in [*found, *asked]}.values())


def _pass(seeds: list[Seed], free: bool, visit: Visitor | None) -> dict[Any, Any]:
    with loaded_scope():
        return backward_pass(seeds, free=free, visit=visit, suspect=WRITES.last, check=WRITES.check)


def _receivers(leaves: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """Return the leaves that still exist, with their cotangents; refuse if the pass ended at a freed node."""
    found = []
    for node, bar in leaves.items():
        if type(node) is not LeafNode:
            raise RuntimeError(FREED)
        tensor = node.tensor()
        # A leaf that no longer requires a gradient gets none.
        if tensor is not None and tensor._node is not None:
            found.append((tensor, bar if tensor.dtype.kind != "c" else conjugated(bar)))
    return found


def _accumulate(found: list[tuple[Any, Any]], taken: set[int], create: bool) -> None:
    for tensor, bar in found:
        old = getattr(tensor, "_gradient", None)
        if old is None:
            made = _gradient(tensor, bar, taken, create)
            # A recorded gradient may be that of other tensors too, or a view.
            tensor._gradient = made.clone() if create else made
        elif create or not tensor.is_leaf:
            with recorded(create):
                tensor._gradient = old + (bar if is_tensor(bar) else tensor._owner.constant(bar))
            tensor._gradient._source = None
        else:
            # The gradient stays the same tensor, with its history.
            if was_read(old):
                WRITES.note((old,))
            if type(old._value) is np.ndarray:
                np.add(old._value, bar, out=old._value, casting="same_kind")
            else:
                set_value(old, cast(fnp.add(old._value, bar), old.dtype))
                old._source = None
    if registered:
        call_accumulated([tensor for tensor, _ in found], is_recorded=create)


def _gradient(x: TensorBase, bar: Array, taken: set[int], create: bool) -> TensorBase:
    """Return a cotangent as a gradient, in the tensor's dtype, and in its own memory unless it is recorded."""
    if create:
        bar = cast(bar, x.dtype)
        return bar if is_tensor(bar) else x._owner.constant(bar)
    made = x._owner.constant(own(bar, x.dtype, taken))
    if type(bar) is not np.ndarray:
        # A write to a tensor with a JAX value replaces the value, and no other tensor depends on this one.
        made._source = None
    return made
