"""The rule: one record that holds all that is known of an optimizer."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from funcgrad.optim._rules.pytorch import PyTorch

REQUIRED: Any = type(
    "Required",
    (),
    {
        "__doc__": "The default of a hyperparameter that has none: it must be given.",
        "__repr__": lambda self: "REQUIRED",
        "__reduce__": lambda self: "REQUIRED",
    },
)()


@dataclasses.dataclass(frozen=True)
class Number:
    """A hyperparameter that is a number: data, unless it is the Python number 0 and thereby turns a term off.

    Args:
        name: how the rule, the state and the functions call it.
        default: what it is where none is given; `REQUIRED` where one must be.
        message: PyTorch's refusal, with ``{}`` for the value; ``None`` where every number is taken.
        valid: what is not refused. Write it as what must hold, so that NaN is refused.
        optional: whether the Python number 0 turns a term off, which is then no part of the program.
        schedule: whether it may be a function of the steps already taken.
        option: its place among the options of PyTorch's groups where that is not its name: ``("betas", 0)``.
        about: what it does, with its unit, for the documentation that is made of the rule.
    """

    name: str
    default: Any = REQUIRED
    message: str | None = None
    valid: Callable[[Any], bool] = lambda value: value >= 0
    optional: bool = False
    schedule: bool = False
    option: tuple[str, int] | None = None
    about: str = ""


@dataclasses.dataclass(frozen=True)
class Choice:
    """A hyperparameter that is one of some values, which say what the program is: structure.

    Args:
        name: how the rule, the state and the functions call it.
        default: what it is where none is given.
        convert: what makes the value, hashable, of what is given.
        message: the refusal, with ``{}`` for the value; ``None`` where every value is taken.
        valid: what is not refused.
        fixed: whether it is always the default, and no argument: in PyTorch's groups it stands all the same.
        about: what it does, for the documentation that is made of the rule.
    """

    name: str
    default: Any = None
    convert: Callable[[Any], Any] = lambda value: value
    message: str | None = None
    valid: Callable[[Any], bool] = lambda value: True
    fixed: bool = False
    about: str = ""


@dataclasses.dataclass(frozen=True)
class Flag(Choice):
    """A hyperparameter that is true or false: structure."""

    default: bool = False
    convert: Callable[[Any], Any] = bool


@dataclasses.dataclass(frozen=True)
class Slot:
    """What is kept of a parameter from step to step.

    Args:
        name: how the rule calls it.
        key: its name in PyTorch's checkpoints.
        attribute: the name of the state's attribute, where that is not ``name``.
        exists: whether there is one, by the hyperparameters as ``step`` gets them.
        begin: the number that all of it begins with, or a function of the numbers at the start:
            ``lambda hyper: hyper.initial_accumulator_value``. Of a complex parameter both parts begin with it.
        scalar: whether it is one float64 number for the whole parameter, and no array like it.
    """

    name: str
    key: str
    exists: Callable[[Any], bool] = lambda hyper: True
    begin: float | Callable[[Any], float] = 0.0
    scalar: bool = False
    attribute: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class Rule:
    """An optimizer's rule for one parameter, declared in one place; all else is read off it.

    Args:
        name: what messages call it.
        hyperparameters: in the order of the functions' arguments. Saved states know them by their place: write a new
            one behind those that were there, and states that were saved before are read with its default.
        slots: what is kept of a parameter. A new one stands behind those that were there, for the same reason.
        step: ``step(p, g, slots, hyper, t) -> (p, slots)``, in operators and operations of ``funcgrad.numpy``. It is
            staged on abstract values for each structure; its graph is what runs on every engine. It returns the
            parameter and each slot in the shape and dtype that they had, or raises a `RuleError`. ``slots`` maps
            the names of the slots that exist to their values. ``hyper`` has each hyperparameter by its name: a number
            of shape ``[]`` in float64, or ``None`` where its term is turned off; a flag as it is. ``t`` is the number
            of this step for this parameter, from 1: a step without gradient does not count. Numbers are computed with
            in float64, before they meet the parameter.
        check: what no hyperparameter can say alone: given the hyperparameters of each parameter, 0 for what is turned
            off and ``None`` for what is not known yet, the text of a refusal or ``None``.
        counts: whether ``step`` reads ``t``; a parameter of which it does has a slot.
        begins: whether the first step has a form of its own, ``t`` being the Python number 1, in which slots are
            written and not read.
        by_rows: whether the step adds to the parameter what depends on the gradient alone, so that of a gradient in
            some rows it touches no others.
        masked: whether of a gradient in some rows it touches these rows of parameter and slots, and no others.
        sparse: the refusal of a gradient in rows; ``None`` takes it, in full where it is neither ``by_rows`` nor
            ``masked``.
        dense: the refusal of a gradient in full; ``None`` takes it.
        elementwise: whether each element of the results depends on the same element of parameter, gradient and slots,
            and on numbers. If so, the step is staged once for all shapes; it may be run in blocks and in loops, and
            on parameters of several shapes together; and a complex parameter is stepped as its two parts. Its graph is
            checked: a step that mixes elements (a mean, a norm, a sort), or reads the shape, raises a `RuleError`.
        fits: given the types of the parameters, group by group, what is wrong with one of them, or ``None``.
        torch: the constructor and the checkpoints of PyTorch's class; see `PyTorch`.
        title: what its class is called, where that is not the name in capitals.
        formula: what a step does to a parameter ``p`` with gradient ``g``, for the documentation made of the rule.
        rows: what a step does with a gradient in rows, for the documentation.
        source: where the formula is from, with each departure from it.
    """

    name: str
    hyperparameters: tuple[Number | Choice, ...]
    slots: tuple[Slot, ...]
    step: Callable[[Any, Any, dict[str, Any], Any, Any], tuple[Any, dict[str, Any]]]
    check: Callable[[Sequence[Any]], str | None] = lambda rows: None
    counts: Callable[[Any], bool] = lambda hyper: False
    begins: bool = False
    by_rows: Callable[[Any], bool] = lambda hyper: False
    masked: bool = False
    sparse: Callable[[Any], str | None] = lambda hyper: None
    dense: str | None = None
    elementwise: bool = True
    fits: Callable[[Sequence[Sequence[Any]]], str | None] | None = None
    torch: PyTorch = dataclasses.field(default_factory=PyTorch)
    title: str = ""
    formula: str = ""
    rows: str = ""
    source: str = ""
    # What steps are written for, as they are met.
    structures: dict[Any, Structure] = dataclasses.field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"Rule: name is a {type(self.name).__name__}; needed a string. Write Rule('sgd', ...).")
        title = self.title or "".join([word.capitalize() for word in self.name.split("_")])
        object.__setattr__(self, "title", title)
        options = [name for name in self.defaults if name not in self.fixed]
        fault = self.torch.fault(options)
        if fault is not None:
            raise TypeError(f"Rule {self.name!r}: {fault}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the hyperparameters."""
        return tuple([x.name for x in self.hyperparameters])

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The hyperparameters that are numbers."""
        return tuple([x for x in self.hyperparameters if type(x) is Number])

    @functools.cached_property
    def defaults(self) -> dict[str, Any]:
        """The options of PyTorch's groups with their defaults; several hyperparameters may be parts of one option."""
        found: dict[str, Any] = {}
        for x in self.hyperparameters:
            if isinstance(x, Choice) or x.option is None:
                found[x.name] = x.default
            else:
                found[x.option[0]] = (*found.get(x.option[0], ()), x.default)
        return found

    @functools.cached_property
    def options(self) -> dict[str, tuple[str, ...]]:
        """PyTorch's tuples, with the names of the hyperparameters that are their parts."""
        found: dict[str, tuple[str, ...]] = {}
        for x in self.numbers:
            if x.option is not None:
                found[x.option[0]] = (*found.get(x.option[0], ()), x.name)
        return found

    @functools.cached_property
    def fixed(self) -> dict[str, Any]:
        """The choices that are none."""
        return {x.name: x.default for x in self.hyperparameters if isinstance(x, Choice) and x.fixed}

    def structure(self, on: tuple[Any, ...]) -> Structure:
        """The structure, one object for all parameters that have it; see `Structure`."""
        found = self.structures.get(on)
        return self.structures.setdefault(on, Structure(self, on)) if found is None else found


class Structure:
    """What the step of a parameter is written for, and what the rule says of that.

    Args:
        rule: the rule.
        on: for each hyperparameter whether there is a number, ``None`` where its term is turned off; or the value of a
            choice.
    """

    __slots__ = ("by_rows", "count", "counts", "index", "on", "programs", "rule", "scalars", "slots", "sparse")

    def __init__(self, rule: Rule, on: tuple[Any, ...]) -> None:
        self.rule = rule
        self.on = on
        # ``True`` stands where there is a number.
        hyper = SimpleNamespace(**dict(zip(rule.names, on, strict=True)))
        self.slots = tuple([slot for slot in rule.slots if slot.exists(hyper)])
        # Where each slot of the rule stands among those that exist.
        self.index = tuple([self.slots.index(slot) if slot in self.slots else None for slot in rule.slots])
        self.scalars = tuple([slot.scalar for slot in self.slots])
        self.counts = rule.counts(hyper)
        self.by_rows = not self.slots and rule.by_rows(hyper)
        self.sparse = rule.sparse(hyper)
        # How many numbers there are.
        self.count = sum(type(x) is Number and bool(flag) for x, flag in zip(rule.hyperparameters, on, strict=True))
        # What was staged and generated, by dtype.
        self.programs: dict[Any, Any] = {}

    def hyper(self, numbers: Sequence[Any]) -> SimpleNamespace:
        """The hyperparameters as ``step`` reads them."""
        rest = iter(numbers)
        pairs = zip(self.rule.hyperparameters, self.on, strict=True)
        return SimpleNamespace(**{x.name: next(rest) if type(x) is Number and on else on for x, on in pairs})


class Row:
    """The hyperparameters of one parameter: their structure, and the numbers that are data."""

    __slots__ = ("begun", "known", "numbers", "ready", "structure")

    def __init__(self, structure: Structure, numbers: Sequence[Any]) -> None:
        self.structure = structure
        self.numbers = tuple(numbers)
        # Whether Python knows the numbers.
        self.known = {float}.issuperset(map(type, numbers))
        # The programs, by dtype, with what they make of the numbers alone; and those of a first step.
        self.ready: dict[Any, Any] = {}
        self.begun: dict[Any, Any] = {} if structure.rule.begins else self.ready

    @property
    def hyper(self) -> SimpleNamespace:
        """The hyperparameters by name."""
        return self.structure.hyper(self.numbers)
