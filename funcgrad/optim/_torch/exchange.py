"""Pure states as PyTorch's ``state_dict``, and back: a run that began in one form continues in the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from funcgrad._core.words import shown
from funcgrad._engines import place_beside
from funcgrad._types import Params, PyTree
from funcgrad.autograd.extend import array_of, is_torchs, rebuild
from funcgrad.errors import TreeMismatchError
from funcgrad.optim._rules.pytorch import OTHER_ARGUMENTS
from funcgrad.optim._rules.rule import REQUIRED, Choice, HyperparameterRow, Rule
from funcgrad.optim._state.begin import begin
from funcgrad.optim._state.hyperparameters import FLOAT64, INT32
from funcgrad.optim._state.per_parameter import rows_of
from funcgrad.optim._state.state import State, unpacked
from funcgrad.optim._torch.options import number_of, option_of
from funcgrad.optim._torch.state_dict import fitted, numbers_of
from funcgrad.tree import TreeDef, broadcast_prefix, flatten, flatten_up_to, key_paths, structure, unflatten

S = TypeVar("S", bound=State)


def to_state_dict(state: State, params: Params, numbers: PyTree = None, groups: PyTree = None) -> dict[str, Any]:
    """Return a pure state in the layout of PyTorch's ``state_dict``.

    Args:
        state: a state of `adam_init` or another ``init``. Of a wrapped state pass its ``inner``.
        params: the parameters of the state.
        numbers: a pytree like the parameters with each one's number in PyTorch's optimizer: ``{name: i for i, (name, _)
            in enumerate(model.named_parameters())}``, say. By default they have the order of
            ``fg.tree.leaves(params)``.
        groups: the number of each parameter's group in PyTorch's optimizer: a pytree of integers, which may be a prefix
            of the parameters. By default neighbours with the same hyperparameters form a group.

    Returns:
        ``{"state": {0: {"step": ..., "exp_avg": ...}, ...}, "param_groups": [{"lr": 0.1, ..., "params": [0, ...]}]}``,
        for ``load_state_dict`` of `Optimizer`. For PyTorch's own optimizers convert it with
        `funcgrad.interop.torch.to_torch`. A schedule is given by its value at the next step.

    Raises:
        TypeError: ``state`` is no state of a rule.
        ValueError: the state has master copies, or the parameters of a group have different hyperparameters.

    Example:
        >>> import numpy as np
        >>> from funcgrad import optim
        >>> params = {"w": np.array([1.0, 2.0])}
        >>> params, state = optim.adam_update({"w": np.array([0.5, 0.5])}, optim.adam_init(params, lr=0.1), params)
        >>> saved = optim.to_state_dict(state, params)
        >>> saved["state"][0]["step"], saved["param_groups"][0]["betas"]
        (array(1., dtype=float32), (0.9, 0.999))
        >>> optimizer = optim.Adam(params)
        >>> optimizer.load_state_dict(saved)
        >>> optimizer.param_groups[0]["lr"]
        0.1
    """
    if not isinstance(state, State):
        raise TypeError(
            f"to_state_dict: state is a {type(state).__name__}; needed the state of a rule. Pass what adam_init, say, "
            "made; of a wrapped state its inner state."
        )
    rule = state.rule
    treedef = structure(params)
    if state.masters is not None:
        raise ValueError(
            f"to_state_dict: the state has master copies in {state.master_dtype}, for which PyTorch's layout has no "
            "place. Save the state by fg.save, or make it without master_dtype."
        )
    rows = rows_of(state, treedef, "to_state_dict: state")
    columns = [
        flatten_up_to(treedef, unpacked(tree), f"to_state_dict: state.{name}")
        for name, tree in zip(state.slot_names, state.slots, strict=True)
    ]
    counts = _counts(state, rows)
    entries: dict[int, dict[str, Any]] = {}
    options = []
    order, group_of = _order(numbers, groups, treedef, "to_state_dict")
    parts = _split(order, lambda i: rows[i]) if group_of is None else _split(order, lambda i: group_of[i])
    for members in parts:
        _check_same(rows, members, treedef)
        positions = range(len(entries), len(entries) + len(members))
        for position, i in zip(positions, members, strict=True):
            held = {slot.key: column[i] for slot, column in zip(rule.slots, columns, strict=True)}
            entries[position] = _entry(rule, rows[i], counts[i], held)
        options.append({**_options(state, rows[members[0]]), "params": list(positions)})
    return {"state": {position: entry for position, entry in entries.items() if entry}, "param_groups": options}


def from_state_dict(
    kind: type[S],
    saved: Mapping[str, Any],
    params: Params,
    numbers: PyTree = None,
    groups: PyTree = None,
    step: int | None = None,
) -> S:
    """Return the pure state that continues a run from PyTorch's ``state_dict``.

    Args:
        kind: the class of the state, such as `AdamState`.
        saved: what ``state_dict()`` returned, of an optimizer of PyTorch or of `Optimizer`, or `to_state_dict`.
        params: the parameters, as a pytree.
        numbers: a pytree like the parameters with each one's number in that optimizer, as in `to_state_dict`. By
            default they have the order of ``fg.tree.leaves(params)``.
        groups: the number of each parameter's group, as in `to_state_dict`; the numbers then order the parameters of
            each group. By default the groups of ``saved`` follow one another in the order of ``numbers``.
        step: the number of steps taken, for schedules. By default it is the greatest count of a parameter; PyTorch
            keeps none for SGD.

    Returns:
        The state, with the hyperparameters, slots and step counts of ``saved``. Hyperparameters that differ between
        groups become trees like the parameters.

    Raises:
        TypeError: ``saved`` is no ``state_dict``.
        TreeMismatchError: the number of parameters differs, or a saved array does not have its parameter's shape.
        HyperparameterError: a saved hyperparameter is out of range.

    Example:
        >>> import numpy as np
        >>> from funcgrad import optim
        >>> params = {"w": np.array([1.0, 2.0])}
        >>> optimizer = optim.Adam(params, lr=0.1)
        >>> params = optimizer.step(grads={"w": np.array([0.5, 0.5])})
        >>> state = optim.from_state_dict(optim.AdamState, optimizer.state_dict(), params)
        >>> int(state.step), float(state.lr)
        (1, 0.1)
    """
    if not isinstance(saved, Mapping) or not {"state", "param_groups"} <= set(saved):
        raise TypeError(
            f"from_state_dict: saved is {shown(saved)}; needed a dict with 'state' and 'param_groups'. Pass what "
            "state_dict() returned."
        )
    rule = kind.rule
    found, treedef = flatten(params)
    members = _members(saved, numbers, groups, treedef)
    alone = numbers_of(rule)
    options: list[Any] = [None] * len(found)
    entries: list[Any] = [None] * len(found)
    for group, of_group in zip(saved["param_groups"], members, strict=True):
        completed = _completed(rule, group)
        for position, i in zip(group["params"], of_group, strict=True):
            options[i] = completed
            p = rebuild(found[i], requires_grad=False)
            entries[i] = {key: fitted(x, p, alone, key) for key, x in saved["state"].get(position, {}).items()}
    given = {}
    for hyperparameter in rule.hyperparameters:
        values = [_value(hyperparameter, each) for each in options]
        single = all(x is values[0] or x == values[0] for x in values)
        given[hyperparameter.name] = values[0] if single else unflatten(treedef, values)
    state = begin(
        kind,
        params,
        given,
        foreach=options[0].get("foreach"),
        differentiable=bool(options[0].get("differentiable")),
        master_dtype=None,
    )
    return _filled(state, entries, found, treedef, step)


def _filled(state: S, entries: Sequence[Any], params: Sequence[Any], treedef: TreeDef, step: int | None) -> S:
    """Return a first state with saved slots and counts."""
    rule = state.rule
    rows = rows_of(state, treedef, "from_state_dict")
    changes: dict[str, Any] = {}
    for slot, name, tree in zip(rule.slots, state.slot_names, state.slots, strict=True):
        values = flatten_up_to(treedef, unpacked(tree), f"from_state_dict: {name}")
        for i, (entry, row, p) in enumerate(zip(entries, rows, params, strict=True)):
            held = entry.get(slot.key)
            if slot not in row.structure.slots or held is None:
                continue
            value = np.array(number_of(held), FLOAT64) if slot.scalar else held._value
            if value.shape != (() if slot.scalar else p.shape):
                raise TreeMismatchError(
                    f"from_state_dict: {slot.key} of params{key_paths(treedef)[i]} has the shape {value.shape}; needed "
                    f"{p.shape}, that of the parameter. Give each parameter's place in PyTorch's optimizer by numbers."
                )
            values[i] = place_beside(value, values[i])
        changes[name] = unflatten(treedef, values)
    counts = [_count(rule, entry, row) for entry, row in zip(entries, rows, strict=True)]
    counting = [count for count, row in zip(counts, rows, strict=True) if row.structure.counts]
    taken = place_beside(np.array(counting, INT32), state.step) if counting else None
    return state.replace(**changes, step=max(counts, default=0) if step is None else step, taken=taken)


def _count(rule: Rule, entry: Mapping[str, Any], row: HyperparameterRow) -> int:
    """Return the step count of a parameter. Without a count in PyTorch's layout, it is known whether it has begun."""
    if rule.torch.counted is not None:
        return int(number_of(entry.get(rule.torch.counted, 0)))
    return int(row.structure.counts and all(entry.get(slot.key) is not None for slot in row.structure.slots))


def _counts(state: State, rows: Sequence[HyperparameterRow]) -> list[int]:
    """Return the step count of each parameter."""
    known = iter(() if state.taken is None else np.asarray(state.taken).tolist())
    return [next(known) if row.structure.counts else int(state.step) for row in rows]


def _entry(rule: Rule, row: HyperparameterRow, count: int, held: Mapping[str, Any]) -> dict[str, Any]:
    """Return the saved state of one parameter."""
    slots = {x.key: np.asarray(held[x.key], FLOAT64) if x.scalar else held[x.key] for x in row.structure.slots}
    if rule.torch.counted is None:
        # Without a count, a missing slot says that the first step is still to come.
        return {} if row.structure.counts and count == 0 else slots
    in_tensors = rule.torch.counted_in_tensors
    return {rule.torch.counted: np.array(count, np.float32) if in_tensors else count, **slots}


def _options(state: State, row: HyperparameterRow) -> dict[str, Any]:
    """Return the hyperparameters of a parameter as options of a group."""
    rule = state.rule
    hyper = {
        name: x if isinstance(kind, Choice) else 0.0 if x is None else float(x)
        for kind, (name, x) in zip(rule.hyperparameters, vars(row.hyper).items(), strict=True)
    }
    parts = {name: tuple([hyper[part] for part in rule.options[name]]) for name in rule.options}
    found = {name: parts[name] if name in parts else hyper[name] for name in rule.defaults}
    others = {**OTHER_ARGUMENTS, "foreach": state.foreach, "differentiable": state.differentiable}
    names = rule.torch.names() or ["foreach", "differentiable"]
    return {**found, **{name: others[name] for name in names if name in others}}


def _completed(rule: Rule, group: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a saved group, with the values of those that it was saved without."""
    missing = {name: x for name, x in rule.defaults.items() if x is not REQUIRED}
    return {**missing, **dict(rule.torch.absent), **group, **rule.fixed}


def _value(kind: Any, options: dict[str, Any]) -> Any:
    value = option_of(options, kind)
    if isinstance(kind, Choice):
        return kind.convert(value)
    return number_of(array_of(value) if is_torchs(value) else value)


def _order(numbers: PyTree, groups: PyTree, treedef: TreeDef, asked: str) -> tuple[Sequence[int], Sequence[int] | None]:
    """Return the positions of the leaves in the order of PyTorch's optimizer, and the group of each leaf if given."""
    count = treedef.num_leaves
    own = range(count) if numbers is None else [int(x) for x in flatten_up_to(treedef, numbers, f"{asked}: numbers")]
    if groups is None and sorted(own) != list(range(count)):
        raise ValueError(
            f"{asked}: numbers has {sorted(own)}; needed each number from 0 to {count - 1} once, for {count} "
            "parameters. Give the place of each parameter in PyTorch's optimizer."
        )
    group_of = None if groups is None else [int(x) for x in broadcast_prefix(groups, treedef, f"{asked}: groups")]
    return sorted(range(count), key=lambda i: (0 if group_of is None else group_of[i], own[i])), group_of


def _split(order: Sequence[int], kind: Callable[[int], Any]) -> list[list[int]]:
    """Return the positions in parts: neighbours of one kind."""
    found: list[list[int]] = []
    for i in order:
        if found and kind(i) == kind(found[-1][-1]):
            found[-1].append(i)
        else:
            found.append([i])
    return found


def _members(saved: Mapping[str, Any], numbers: PyTree, groups: PyTree, treedef: TreeDef) -> list[list[int]]:
    """Return the positions of the parameters of each saved group."""
    order, group_of = _order(numbers, groups, treedef, "from_state_dict")
    sizes = [len(group["params"]) for group in saved["param_groups"]]
    if group_of is not None:
        members = _split(order, lambda i: group_of[i])
    else:
        ends = np.cumsum(sizes).tolist()
        members = [list(order[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
    if [*map(len, members)] != sizes or sum(sizes) != treedef.num_leaves:
        arrived = f"{treedef.num_leaves} parameters" if groups is None else f"groups of {[*map(len, members)]}"
        raise TreeMismatchError(
            f"from_state_dict: params has {arrived}, and the state_dict groups of {sizes}; needed the same. Pass the "
            "parameters of that optimizer, and as groups the number of each one's group."
        )
    return members


def _check_same(rows: Sequence[HyperparameterRow], members: Sequence[int], treedef: TreeDef) -> None:
    first = members[0]
    for i in members:
        if rows[i] is not rows[first]:
            paths = key_paths(treedef)
            raise ValueError(
                f"to_state_dict: params{paths[first]} and params{paths[i]} are in one group and have different "
                "hyperparameters; needed the same. Give them other numbers in groups."
            )
