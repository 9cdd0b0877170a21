"""The rule: one record that describes an optimizer completely."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, Protocol

from funcgrad._types import Array, Hyper, ScalarLike
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
        name: its name in the rule, the state and the functions.
        default: the value if none is given; `REQUIRED` if a value must be given.
        message: PyTorch's refusal, with ``{}`` for the value; ``None`` if every number is accepted.
        valid: returns whether a number is accepted. Write it so that NaN is refused.
        optional: whether the Python number 0 turns a term off, which the program then lacks.
        schedule: whether it may be a function of the steps already taken.
        option: its position in an option of PyTorch's groups, if the option has another name: ``("betas", 0)``.
        about: its meaning and unit, for the generated documentation.

    Example:
        >>> from funcgrad.extend import Number
        >>> lr = Number("lr", 0.1, "Invalid learning rate: {}", schedule=True)
        >>> lr.valid(0.5), lr.valid(-1.0)
        (True, False)
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
    """A hyperparameter with a few possible values that decide what the program is: structure.

    Args:
        name: its name in the rule, the state and the functions.
        default: the value if none is given.
        convert: makes the hashable value from the argument.
        message: the refusal, with ``{}`` for the value; ``None`` if every value is accepted.
        valid: returns whether a value is accepted.
        fixed: whether it always has its default and is no argument. PyTorch's groups contain it nevertheless.
        about: its meaning, for the generated documentation.

    Example:
        >>> from funcgrad.extend import Choice
        >>> norm = Choice("norm", "max", message="Invalid norm: {}", valid=lambda value: value in ("max", "sum"))
        >>> norm.valid("sum"), norm.valid("mean")
        (True, False)
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
    """A hyperparameter that is true or false: structure.

    Args:
        name: its name in the rule, the state and the functions.
        default: the value if none is given.
        about: its meaning, for the generated documentation; by keyword.

    Raises:
        TypeError: the default is not a bool.

    Example:
        >>> from funcgrad.extend import Flag
        >>> Flag("nesterov").default, Flag("nesterov").convert(1)
        (False, True)
    """

    default: bool = False
    convert: Callable[[Any], Any] = bool

    def __post_init__(self) -> None:
        if type(self.default) is not bool:
            raise TypeError(
                f"Flag {self.name!r}: the default is {self.default!r}; needed True or False. Give the meaning of the "
                "flag by keyword: about=..."
            )


@dataclasses.dataclass(frozen=True)
class Slot:
    """An array or number that an optimizer keeps for each parameter from step to step.

    Args:
        name: its name in the rule.
        key: its name in PyTorch's checkpoints.
        attribute: the name of the state's attribute, if it differs from ``name``.
        exists: whether the slot exists, as a function of the hyperparameters that ``step`` gets.
        begin: the number that fills it at the start, or a function of the hyperparameters: ``lambda hyper:
            hyper.initial_accumulator_value``. It fills the real and the imaginary part of a complex parameter.
        scalar: whether it is one float64 number for the whole parameter, instead of an array like the parameter.

    Example:
        >>> from funcgrad.extend import Slot
        >>> slot = Slot("momentum", "momentum_buffer", exists=lambda hyper: hyper.beta is not None)
        >>> slot.name, slot.key, slot.begin
        ('momentum', 'momentum_buffer', 0.0)
    """

    name: str
    key: str
    exists: Callable[[Any], bool] = lambda hyper: True
    begin: float | Callable[[Any], float] = 0.0
    scalar: bool = False
    attribute: str = ""


class StepFunction(Protocol):
    """The step of a rule: ``step(p, g, slots, hyper, t) -> (p, slots)``. The arguments may have any names.

    `Rule` says what each of them is.
    """

    def __call__(
        self, p: Array, g: Array, slots: dict[str, Any], hyper: Hyper, t: ScalarLike, /
    ) -> tuple[Array, dict[str, Any]]: ...


@dataclasses.dataclass(frozen=True, eq=False)
class Rule:
    """An optimizer's rule for one parameter. States, functions and classes are generated from it.

    Args:
        name: the name in messages.
        hyperparameters: in the order of the functions' arguments. Saved states identify them by position. Append new
            ones at the end, so that earlier states are read with the defaults of the new ones.
        slots: the slots of a parameter. Append new ones at the end, for the same reason.
        step: ``step(p, g, slots, hyper, t) -> (p, slots)``, in operators and operations of ``funcgrad.numpy``. It is
            staged on abstract values for each structure, and its graph runs on every engine. It returns the parameter
            and each slot in the shape and dtype that they had, or raises a `RuleError`. ``slots`` maps the names of the
            slots that exist to their values. ``hyper`` has each hyperparameter by its name: a number of shape ``[]`` in
            float64, or ``None`` if its term is turned off; a flag is a bool. ``t`` is the number of this step for this
            parameter, from 1; a step without gradient does not count. Numbers are computed in float64, before they are
            combined with the parameter.
        check: checks hyperparameters together. It gets the hyperparameters of each parameter, with 0 for a term that is
            turned off and ``None`` for an unknown number. It returns the text of a refusal, or ``None``.
        counts: whether ``step`` reads ``t``, as a function of the hyperparameters. Such a parameter has a slot.
        begins: whether the first step has its own program, in which ``t`` is the Python number 1, and slots are written
            and not read.
        by_rows: whether the step adds a function of the gradient alone to the parameter. A row-sparse gradient then
            changes only its own rows.
        masked: whether a row-sparse gradient changes only its own rows of parameter and slots.
        sparse: the refusal of a row-sparse gradient. ``None`` accepts it, as a dense array unless ``by_rows`` or
            ``masked`` is set.
        dense: the refusal of a dense gradient; ``None`` accepts it.
        elementwise: whether each element of the results depends only on the same element of parameter, gradient and
            slots, and on numbers. If so, the step is staged once for all shapes. It may run in blocks and in loops, and
            on several parameters together, and a complex parameter is stepped as its two parts. The graph is checked: a
            step that mixes elements (a mean, a norm, a sort), or reads the shape, raises a `RuleError`.
        refusal: gets the types of the parameters, group by group. It returns why the rule refuses one, or ``None``.
        torch: the constructor and the checkpoints of PyTorch's class; see `PyTorch`.
        title: the name of its class, if it is not the name in capitals.
        formula: the step of a parameter ``p`` with gradient ``g``, for the generated documentation.
        rows: the step with a row-sparse gradient, for the generated documentation.
        source: the source of the formula, with each departure from it.

    Example:
        >>> import numpy as np
        >>> from funcgrad.extend import Number, Rule, optimizer
        >>> def step(p, g, slots, hyper, t):
        ...     return p - hyper.lr * np.sign(g), {}
        >>> signs = Rule("signs", (Number("lr", 0.1),), (), step)
        >>> _, signs_init, signs_update, _ = optimizer(signs)
        >>> p = np.array([1.0, 2.0])
        >>> p, state = signs_update(np.array([3.0, -0.5]), signs_init(p), p)
        >>> p
        array([0.9, 2.1])
    """

    name: str
    hyperparameters: tuple[Number | Choice, ...]
    slots: tuple[Slot, ...]
    step: StepFunction
    check: Callable[[Sequence[Any]], str | None] = lambda rows: None
    counts: Callable[[Any], bool] = lambda hyper: False
    begins: bool = False
    by_rows: Callable[[Any], bool] = lambda hyper: False
    masked: bool = False
    sparse: Callable[[Any], str | None] = lambda hyper: None
    dense: str | None = None
    elementwise: bool = True
    refusal: Callable[[Sequence[Sequence[Any]]], str | None] | None = None
    torch: PyTorch = dataclasses.field(default_factory=PyTorch)
    title: str = ""
    formula: str = ""
    rows: str = ""
    source: str = ""
    # The structures of parameters that steps were compiled for.
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
        """The options of PyTorch's groups with their defaults. Several hyperparameters may be parts of one option."""
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
        """The choices that always have their default."""
        return {x.name: x.default for x in self.hyperparameters if isinstance(x, Choice) and x.fixed}

    def structure(self, on: tuple[Any, ...]) -> Structure:
        """Return the structure, one object for all parameters that share it; see `Structure`."""
        found = self.structures.get(on)
        return self.structures.setdefault(on, Structure(self, on)) if found is None else found


class Structure:
    """The static part of a parameter's hyperparameters, which a compiled step depends on.

    Args:
        rule: the rule.
        on: for each number whether it is there, or ``None`` if its term is turned off; the value of each choice.
    """

    __slots__ = ("by_rows", "count", "counts", "index", "on", "programs", "rule", "scalars", "slots", "sparse")

    def __init__(self, rule: Rule, on: tuple[Any, ...]) -> None:
        self.rule = rule
        self.on = on
        # ``True`` stands for a number.
        hyper = SimpleNamespace(**dict(zip(rule.names, on, strict=True)))
        self.slots = tuple([slot for slot in rule.slots if slot.exists(hyper)])
        # The position of each slot of the rule among the slots that exist.
        self.index = tuple([self.slots.index(slot) if slot in self.slots else None for slot in rule.slots])
        self.scalars = tuple([slot.scalar for slot in self.slots])
        self.counts = rule.counts(hyper)
        self.by_rows = not self.slots and rule.by_rows(hyper)
        self.sparse = rule.sparse(hyper)
        # The number of hyperparameters that are numbers.
        self.count = sum(type(x) is Number and bool(flag) for x, flag in zip(rule.hyperparameters, on, strict=True))
        # The staged and generated programs, by dtype.
        self.programs: dict[Any, Any] = {}

    def hyper(self, numbers: Sequence[Any]) -> SimpleNamespace:
        """Return the hyperparameters as ``step`` reads them."""
        rest = iter(numbers)
        pairs = zip(self.rule.hyperparameters, self.on, strict=True)
        return SimpleNamespace(**{x.name: next(rest) if type(x) is Number and on else on for x, on in pairs})


class HyperparameterRow:
    """The hyperparameters of one parameter: their structure, and the numbers that are data."""

    __slots__ = ("begun", "counting", "known", "numbers", "ready", "structure")

    def __init__(self, structure: Structure, numbers: Sequence[Any]) -> None:
        self.structure = structure
        self.numbers = tuple(numbers)
        # Whether the numbers are Python floats.
        self.known = {float}.issuperset(map(type, numbers))
        # The programs by dtype, with the values that they compute from the numbers alone; and those of a first step.
        self.ready: dict[Any, Any] = {}
        self.begun: dict[Any, Any] = {} if structure.rule.begins else self.ready
        # The programs by dtype whose values depend on the number of the step, too.
        self.counting: dict[Any, Any] = {}

    @property
    def hyper(self) -> SimpleNamespace:
        """The hyperparameters by name."""
        return self.structure.hyper(self.numbers)
