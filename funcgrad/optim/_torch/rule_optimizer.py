"""``RuleOptimizer``: PyTorch's optimizer for any rule. It collects the inputs of a step and stores the results."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._engines import engine_scope
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index.rows import Rows
from funcgrad._ops.layout.shape import reshape
from funcgrad._transforms.base.arguments import check_callable
from funcgrad._transforms.compiled.jit import jit
from funcgrad._types import Array, ArrayLike, Grads, Params, ScalarLike
from funcgrad.autograd import enable_grad
from funcgrad.autograd.extend import TRACE, WRITES, gradient_of, is_tensor, recorded, set_value
from funcgrad.errors import HyperparameterError
from funcgrad.optim._rules.rule import REQUIRED, Choice, HyperparameterRow, Number, Rule, Slot
from funcgrad.optim._run.leaf import Leaf, Stepper, write
from funcgrad.optim._state.begin import begun
from funcgrad.optim._state.hyperparameters import FLOAT64
from funcgrad.optim._state.prefix import NumberIndex, Prefix, Prefixes, as_vector
from funcgrad.optim._state.state import State
from funcgrad.optim._torch.optimizer import Optimizer
from funcgrad.optim._torch.options import check_option, checked_number, option_of
from funcgrad.optim._torch.state_dict import numbers_of
from funcgrad.optim._update import update
from funcgrad.tree import flatten, structure

# A parameter and its gradient; a group, its hyperparameters and its parameters that have a gradient.
_Pair = tuple[Any, Any]
_Members = tuple[dict[str, Any], HyperparameterRow, list[_Pair]]

# Options of these types are the same if they are equal.
_PLAIN = frozenset({bool, int, float, str, type(None)})
_PLAIN_OR_TUPLE = _PLAIN | {tuple}
_ROWS = 64  # The number of rows that are kept; a schedule makes new ones at each step.
_value = operator.attrgetter("_value")
_grad = operator.attrgetter("grad")
_NOTHING_HELD: tuple[list[Any], int] = [], 1  # For a parameter without slots and without step count.


class RuleOptimizer(Optimizer):
    """Base class of the optimizers that have a rule. A subclass names the state and writes out its arguments.

    Args:
        params: as for `Optimizer`.
        options: the hyperparameters, by PyTorch's names, with ``foreach`` and ``differentiable``.

    Example:
        >>> import numpy as np
        >>> from funcgrad import optim
        >>> from funcgrad.extend import RuleOptimizer
        >>> optimizer = optim.SGD([np.array([1.0, 2.0])], lr=0.5)
        >>> isinstance(optimizer, RuleOptimizer), optimizer.kind.rule.name
        (True, 'sgd')
    """

    kind: ClassVar[type[State]]
    # The options besides hyperparameters, with the values for checkpoints that lack them.
    kept: ClassVar[dict[str, Any]] = {"foreach": None, "differentiable": False}
    # The step of JAX values, which reuses the memory of the old ones.
    compiled_update: ClassVar[Callable[..., Any]]
    _rows: ClassVar[dict[Any, HyperparameterRow]]
    # Whether a step has counts or scalar slots to store.
    _advances: ClassVar[bool]
    # Returns the hyperparameters from the options of a group.
    _options: ClassVar[Callable[..., tuple[Any, ...]]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in vars(cls):
            cls._rows = {}
            cls._advances = cls.kind.rule.torch.counted is not None or any(x.scalar for x in cls.kind.rule.slots)
            cls._numbers = numbers_of(cls.kind.rule)
            cls._options = staticmethod(_reader(cls.kind.rule))
            cls.compiled_update = staticmethod(jit(functools.partial(update, cls.kind), donate_argnums=(1, 2)))

    def __init__(self, params: Params, options: dict[str, Any]) -> None:
        if not hasattr(type(self), "kind"):
            raise TypeError("RuleOptimizer: it has no rule; needed one. Declare a class by fg.extend.optimizer(rule).")
        rule = self.kind.rule
        for kind in rule.hyperparameters:
            check_option(kind, option_of(options, kind))
        values = {x.name: option_of(options, x) for x in rule.hyperparameters}
        refusal = rule.check([SimpleNamespace(**values)]) or rule.torch.check_options(options)
        if refusal is not None:
            raise HyperparameterError(refusal)
        if options.get("fused"):
            _check_fused(options)
        super().__init__(params, options)
        if rule.refusal is not None:
            self._check_params(rule.refusal)
        if rule.torch.eager:
            # As in PyTorch, the numbers of the constructor count here, even if groups have others.
            row = self._row(options)
            for group in self.param_groups:
                self._held([(p, None) for p in group["params"]], row)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, optionally with its own options."""
        super().add_param_group(param_group)
        try:
            self._row(self.param_groups[-1])
        except (HyperparameterError, TypeError):
            self.param_groups.pop()
            raise
        refusal_of = self.kind.rule.refusal
        if refusal_of is not None and len(self.param_groups) > 1:
            try:
                self._check_params(refusal_of)
            except HyperparameterError:
                self.param_groups.pop()
                raise

    def _check_params(self, refusal_of: Callable[[list[list[Aval]]], str | None]) -> None:
        refusal = refusal_of([[aval_of(p._value) for p in group["params"]] for group in self.param_groups])
        if refusal is not None:
            raise HyperparameterError(refusal)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        rule = self.kind.rule
        # An older checkpoint, or one of PyTorch's, may lack options that were added since.
        later = {name: x for name, x in rule.defaults.items() if x is not REQUIRED}
        for options in (self.defaults, *self.param_groups):
            for name, default in {**later, **self.kept, **dict(rule.torch.absent)}.items():
                options.setdefault(name, default)
            options.update(rule.fixed)
        for group in self.param_groups:
            for p in group["params"] if rule.torch.counted is not None else ():
                count = self.state.get(p, {}).get(rule.torch.counted)
                if count is not None and is_tensor(count) != rule.torch.counted_in_tensors:
                    self.state[p][rule.torch.counted] = _new_count(int(count), rule)

    def take_step(self, closure: Callable[[], Any] | None, grads: Grads) -> Any:
        """Take one step: the body of a subclass's ``step``."""
        loss = None
        if closure is not None:
            check_callable("step", closure, "closure")
            with enable_grad():
                loss = closure()
        given = None if grads is None else iter(self._given(grads))
        in_place: list[_Members] = []
        others: list[_Members] = []
        for group in self.param_groups:
            pairs, foreign = _pairs(group, given)
            if not pairs:
                continue
            row = self._row(group)
            if group.get("differentiable"):
                self._step_recorded(group, row, pairs)
                continue
            if foreign:
                others.append((group, row, foreign))
                pairs = [pair for pair in pairs if type(pair[0]._value) is np.ndarray]
            if pairs:
                in_place.append((group, row, pairs))
        if in_place:
            self._step_in_place(in_place)
        if others:
            self._step_compiled(others)
        return loss if grads is None else self._tree()

    def _given(self, grads: Grads) -> list[Any]:
        count = sum(len(group["params"]) for group in self.param_groups)
        leaves = flatten(grads, lambda x: x is None or type(x) is Rows)[0]
        if len(leaves) != count:
            raise ValueError(
                f"{type(self).__name__}.step: grads has {len(leaves)} leaves; needed {count}, one for each parameter. "
                "Pass what fg.grad returned for the parameters, with None for those without gradient."
            )
        return leaves

    def _row(self, group: dict[str, Any]) -> HyperparameterRow:
        """Return the hyperparameters of a group; the last object again if the options did not change."""
        given = self._options(group)
        try:
            # Only options of plain types are kept, and no other value equals them.
            return self._rows[given]
        except (KeyError, TypeError):
            values = [option_of(group, kind) for kind in self.kind.rule.hyperparameters]
            row = self._new_row(values)
        if _PLAIN.issuperset(map(type, values)) and _PLAIN_OR_TUPLE.issuperset(map(type, given)):
            if len(self._rows) >= _ROWS:
                self._rows.clear()
            self._rows[given] = row
        return row

    def _new_row(self, given: Sequence[Any]) -> HyperparameterRow:
        """Return the hyperparameters for a step; terms that are 0 are turned off."""
        on: list[Any] = []
        numbers = []
        for kind, value in zip(self.kind.rule.hyperparameters, given, strict=True):
            if isinstance(kind, Choice):
                on.append(kind.convert(value))
                continue
            number = float(checked_number(kind, value))
            there = number != 0 or not (type(kind) is Number and kind.optional)
            on.append(True if there else None)
            numbers += [number] if there else []
        return HyperparameterRow(self.kind.rule.structure(tuple(on)), numbers)

    def _step_in_place(self, members: list[_Members]) -> None:
        """Step parameters that are NumPy arrays, in their memory."""
        rule = self.kind.rule
        stepper = Stepper(rule, _index_path)
        written = []
        todo = []
        for _, row, pairs in members:
            for (p, gradient), (held, taken) in zip(pairs, self._held(pairs, row), strict=True):
                written.append(p)
                written += held
                todo.append((p, gradient, held, taken, row))
        WRITES.note(written)
        gathered, tensor = stepper.gathered, TRACE.tracer_type
        new_slots: dict[int, Sequence[Any]] = {}
        for i, (p, gradient, held, taken, row) in enumerate(todo):
            value = p._value
            arrays = tuple(map(_value, held))
            g = gradient._value if type(gradient) is tensor else gradient
            if gathered(value, g, arrays, taken, row, (value, *arrays)) is None:
                leaf = Leaf(value, g, arrays, None, taken, row, _arrays_of(value, arrays, row))
                new_slots[i] = stepper.step(i, leaf).slots
        write(stepper.works)
        if self._advances:
            for _, _, pairs in members:
                self._count(pairs)
            for i, slots in new_slots.items():
                p, _, _, _, row = todo[i]
                self._store_scalars(p, row, slots)

    def _held(self, pairs: Sequence[_Pair], row: HyperparameterRow) -> list[tuple[list[Any], int]]:
        """Return for each parameter its slots as tensors, made if they are missing, and its step count."""
        slots = row.structure.slots
        rule = self.kind.rule
        counted = rule.torch.counted
        if not slots and counted is None:
            return [_NOTHING_HELD] * len(pairs)
        found = []
        for p, _ in pairs:
            state = self.state[p] if slots else self.state.get(p, {})
            taken = 1
            if counted is not None:
                count = state.get(counted)
                if count is None:
                    count = state[counted] = _new_count(0, rule)
                taken = int(count._value) if rule.torch.counted_in_tensors else count
            held = []
            for slot in slots:
                tensor = state.get(slot.key)
                if tensor is None:
                    tensor = state[slot.key] = TRACE.constant(_begun(slot, p._value, row))
                    taken = 0 if counted is None else taken
                held.append(tensor)
            found.append((held, taken))
        return found

    def _store_scalars(self, p: Array, row: HyperparameterRow, slots: Sequence[Any]) -> None:
        """Store the scalar slots after a step. Array slots were written in place already."""
        for slot, value in zip(row.structure.slots, slots, strict=False):
            if slot.scalar:
                self.state[p][slot.key] = TRACE.constant(np.asarray(value))

    def _count(self, pairs: Sequence[_Pair]) -> None:
        """Count the step of each parameter, if checkpoints keep the count."""
        counted = self.kind.rule.torch.counted
        if counted is None:
            return
        for p, _ in pairs:
            count = self.state[p][counted]
            if self.kind.rule.torch.counted_in_tensors:
                # Write to the count's own memory, as PyTorch does.
                count._value += 1
            else:
                self.state[p][counted] = count + 1

    def _step_compiled(self, members: list[_Members]) -> None:
        """Step all JAX parameters by one compiled update, which reuses the memory of the old values."""
        WRITES.note([p for _, _, pairs in members for p, _ in pairs])
        values = [[p._value for p, _ in pairs] for _, _, pairs in members]
        grads = [[g._value if is_tensor(g) else g for _, g in pairs] for _, _, pairs in members]
        # Stay in the 64-bit mode: outside of it, wide results would come back as NumPy arrays.
        with engine_scope(values[0]):
            new, state = self.compiled_update(grads, self._state_of(members, tensors=False), values)
        self._put_back(members, new, state, set_value)

    def _step_recorded(self, group: dict[str, Any], row: HyperparameterRow, pairs: list[_Pair]) -> None:
        """Step the tensors themselves. Each parameter takes over the history of its new value."""
        members = [(group, row, pairs)]
        with recorded(True):
            values = [[p.clone() for p, _ in pairs]]
            state = self._state_of(members, tensors=True)
            numbers = _recorded_numbers(self.kind.rule, group, row)
            state = dataclasses.replace(state, numbers=as_vector(numbers))
            new, state = update(self.kind, [[g for _, g in pairs]], state, values)

        def put(p: ArrayLike, value: Any) -> None:
            p._value, p._node = value._value, value._node

        self._put_back(members, new, state, put)

    def _state_of(self, members: list[_Members], tensors: bool) -> State:
        """Return groups and slots as a state of the functions.

        Hyperparameters are lists with one value for each group.
        """
        rule = self.kind.rule
        rows = [row for _, row, _ in members]
        hypers, numbers = _laid_out(rule, rows)
        columns: list[list[list[Any]]] = [[] for _ in rule.slots]
        taken = []
        for _, row, pairs in members:
            slots = row.structure.slots
            held = self._held(pairs, row)
            if row.structure.counts:
                taken += [count for _, count in held]
            for slot, column in zip(rule.slots, columns, strict=True):
                k = slots.index(slot) if slot in slots else None
                column.append([None if k is None else x[k] if tensors else x[k]._value for x, _ in held])
        counts = np.array(taken, np.int32) if taken else None
        return self.kind(as_vector(numbers), np.int32(0), tuple(columns), counts, hypers=hypers)

    def _put_back(
        self, members: list[_Members], new: ScalarLike, state: State, put: Callable[[Any, Any], None]
    ) -> None:
        rule = self.kind.rule
        for i, (_, row, pairs) in enumerate(members):
            slots = row.structure.slots
            of_group = [tree[i] for slot, tree in zip(rule.slots, state.slots, strict=True) if slot in slots]
            for k, (p, _) in enumerate(pairs):
                put(p, new[i][k])
                for slot, values in zip(slots, of_group, strict=True):
                    value = values[k]
                    held = self.state[p][slot.key]
                    if is_tensor(value):
                        self.state[p][slot.key] = value
                    else:
                        set_value(held, value)
            self._count(pairs)


def _pairs(group: dict[str, Any], given: Iterator[Any] | None) -> tuple[list[_Pair], list[_Pair]]:
    """Return the parameters that have a gradient with it, and those of them that are no NumPy arrays."""
    # A differentiable step puts the gradients into a graph, so it reads them as a user does.
    read = _grad if group.get("differentiable") else gradient_of
    pairs: list[_Pair] = []
    foreign: list[_Pair] = []
    for p in group["params"]:
        gradient = read(p) if given is None else next(given)
        if gradient is not None:
            pairs.append((p, gradient))
            if type(p._value) is not np.ndarray:
                foreign.append((p, gradient))
    return pairs, foreign


def _recorded_numbers(rule: Rule, group: dict[str, Any], row: HyperparameterRow) -> list[Any]:
    """Return the numbers of a group, with tensors that require gradients as they are, so that they get them."""
    kinds = [
        kind for kind, on in zip(rule.hyperparameters, row.structure.on, strict=True) if type(kind) is Number and on
    ]
    pairs = [(option_of(group, kind), number) for kind, number in zip(kinds, row.numbers, strict=True)]
    return [
        cast(reshape(value, ()), FLOAT64) if is_tensor(value) and value.requires_grad else number
        for value, number in pairs
    ]


def _new_count(taken: int, rule: Rule) -> Any:
    """Return a step count in PyTorch's form."""
    return TRACE.constant(np.array(taken, np.float32)) if rule.torch.counted_in_tensors else taken


def _check_fused(options: dict[str, Any]) -> None:
    if options.get("differentiable"):
        raise RuntimeError("`fused` does not support `differentiable`")
    if options.get("foreach"):
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def _index_path(i: int) -> str:
    return f"[{i}]"


def _begun(slot: Slot, value: Any, row: HyperparameterRow) -> Any:
    first = begun(slot, value, row.hyper)
    return np.asarray(first) if slot.scalar else first


def _arrays_of(value: Any, slots: Sequence[Any], row: HyperparameterRow) -> tuple[Any, ...]:
    """Return the memory of a parameter and of its array slots."""
    return (value, *[x for x, scalar in zip(slots, row.structure.scalars, strict=True) if not scalar])


def _laid_out(rule: Rule, rows: Sequence[HyperparameterRow]) -> tuple[Prefixes, list[float]]:
    """Return the hyperparameters of the groups as those of a state."""
    treedef = structure([0] * len(rows))
    numbers: list[float] = []
    rest = [iter(row.numbers) for row in rows]
    prefixes = []
    for k, kind in enumerate(rule.hyperparameters):
        entries = []
        for row, values in zip(rows, rest, strict=True):
            entry = row.structure.on[k]
            if type(kind) is Number and entry:
                numbers.append(next(values))
                entry = NumberIndex(len(numbers) - 1)
            entries.append(entry)
        prefixes.append(Prefix(treedef, tuple(entries)))
    return Prefixes(tuple(prefixes)), numbers


def _reader(rule: Rule) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    """Return a function that reads the hyperparameters from the options, as a tuple."""
    kinds = rule.hyperparameters
    names = dict.fromkeys([x.option[0] if type(x) is Number and x.option else x.name for x in kinds])
    return operator.itemgetter(*names) if len(names) > 1 else lambda options: tuple([options[x] for x in names])
