"""The docstrings of a rule's state, functions and class, generated from the rule."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from funcgrad.optim._rules.rule import Choice, Rule

OTHERS = {
    "foreach": "how a step handles many small parameters; the numbers are the same. ``True`` keeps the slots packed "
    "(`fg.tree.ravel`): one flat buffer for each dtype and device, and each step packs and unpacks parameters and "
    "gradients; packed parameters avoid it. ``False`` handles one parameter at a time. ``None`` decides in each step: "
    "if there are eight or more NumPy arrays of one kind, those with at most 65,536 elements are handled together, "
    "because larger ones gain nothing. A step that XLA compiles handles one parameter at a time, because XLA on a CPU "
    "takes six times as long to compile a program that cuts a flat result into parameters.",
    "differentiable": "has no effect, because derivatives flow through every step; PyTorch has this option.",
    "master_dtype": 'a float dtype such as ``"float32"``: the state holds a copy of each narrower parameter in this '
    "dtype. A step changes the copy and rounds it to the parameter. So small steps add up, which bfloat16 or float16 "
    "would lose. The copies are made here; if other code changes the parameters, make a new state.",
}
_INTO = (
    "memory to write the results to, as ``(params, state)``: the new parameters and slots are written to the NumPy "
    "arrays in it, and returned. They may be the arguments themselves, which are then updated in place."
)
_RETURNED = [
    "    ``(params, state)``, new ones. The step changes no argument, and the new state shares no memory",
    "    with the old one or with the gradients, unless ``into`` says otherwise.",
]
_NO_ROWS = "    SparseGradientError: a gradient in rows, which this optimizer does not support."
OF_CLASS = {
    "foreach": "has no effect: every step handles all parameters together. PyTorch has this option.",
    "differentiable": "record the step, so that gradients flow through it.",
    "capturable": "has no effect; PyTorch has this option.",
    "fused": "has no effect: every step is fused. PyTorch has this option.",
}
STEP = """Take one step with the gradients that `backward` has left, or with given ones.

Args:
    closure: computes the loss again, with gradients, and returns it.
    grads: a pytree of gradients, ``None`` where there is none, with leaves in the order of the parameters: the
        result of ``fg.grad`` for them.

Returns:
    The result of ``closure``. With ``grads`` the new parameters, as a pytree like the argument of the
    constructor (a list if it was given tensors).

Example:
    >>> import numpy as np
    >>> from funcgrad.optim import SGD
    >>> params = {"weight": np.array([1.0, 2.0])}
    >>> optimizer = SGD(params, lr=0.5)
    >>> optimizer.step(grads={"weight": np.array([1.0, 0.0])})
    {'weight': array([0.5, 2. ])}
"""
_EXAMPLE = """
Example:
    >>> import numpy as np
    >>> from funcgrad.optim import {0}_init, {0}_update
    >>> params = {{"weight": np.array([[1.0, 2.0], [3.0, 4.0]])}}
    >>> state = {0}_init(params, lr=0.5)
    >>> params, state = {0}_update({{"weight": {2}}}, state, params)
    >>> params["weight"].shape, int(state.step)
    ((2, 2), 1)
"""
_STATE_EXAMPLE = """
Example:
    >>> import numpy as np
    >>> from funcgrad.optim import {0}_init
    >>> params = {{"weight": np.array([[1.0, 2.0], [3.0, 4.0]])}}
    >>> state = {0}_init(params, lr=0.5)
    >>> type(state).__name__, float(state.lr), int(state.step)
    ('{1}State', 0.5, 0)
    >>> float(state.replace(lr=0.1).lr)
    0.1
"""
_CLASS_EXAMPLE = """
Example:
    >>> import numpy as np
    >>> from funcgrad.optim import {1}
    >>> optimizer = {1}([np.array([[1.0, 2.0], [3.0, 4.0]])], lr=0.5)
    >>> (params,) = optimizer.step(grads=[{2}])
    >>> params.shape
    (2, 2)
"""


def of_state(rule: Rule) -> str:
    """Return the docstring of the class of states."""
    about = [(x.name, x.about) for x in rule.hyperparameters]
    about += [
        (slot.attribute or slot.name, "a pytree like the parameters, ``None`` where a parameter has none.")
        for slot in rule.slots
    ]
    about += [
        ("step", "i32[], how many steps were taken."),
        ("masters", "a pytree like the parameters: copies in ``master_dtype``, ``None`` where a parameter needs none."),
        *[(name, f"static; see `{rule.name}_init`.") for name in OTHERS],
    ]
    return "\n".join(
        [
            f"The state of {rule.title}: a pytree whose structure is the same from the first step to the last.",
            "",
            *_wrapped(
                f"`{rule.name}_init` makes it. Each hyperparameter is one value, or a pytree of values that is a "
                "prefix of the parameters. Numbers are data, and are kept in one small vector. Flags are structure, "
                "and so is a number that turns its term off because it was given as the Python number 0."
            ),
            "",
            *_listed("Attributes", about),
            *_example(rule, _STATE_EXAMPLE),
        ]
    )


def of_init(rule: Rule) -> str:
    """Return the docstring of ``init``."""
    slots = ", ".join([f"``{slot.name}``" for slot in rule.slots]) or "nothing"
    args = [("params", "a pytree of float or complex arrays; only structure, shapes, dtypes and devices are used.")]
    args += [(x.name, x.about) for x in rule.hyperparameters if not (isinstance(x, Choice) and x.fixed)]
    return "\n".join(
        [
            f"Make the state with which `{rule.name}_update` begins.",
            "",
            *_wrapped(
                "Any hyperparameter may be a pytree that is a prefix of ``params``, with a value for each part of it: "
                "like the parameter groups of PyTorch. ``learning_rate`` is another name of ``lr``." + _of_tuples(rule)
            ),
            "",
            *_listed("Args", [*args, *OTHERS.items()]),
            "",
            *_section(
                "Returns",
                f"The state: the hyperparameters by name, {slots} as pytrees like ``params``, and ``step``. A number "
                "in it is data, to be changed by its ``replace`` without recompilation; a flag, or a weight decay or "
                "the like given as the Python number 0, is structure. Pass an array (``np.float64(0)``) for a 0 that "
                "is to be data.",
            ),
            "",
            "Raises:",
            "    HyperparameterError: a value is out of range (NaN is out of every range).",
            "    TypeError: a parameter is not a float or complex array, or a hyperparameter is not a single number.",
            *_example(rule, _EXAMPLE),
        ]
    )


def of_update(rule: Rule) -> str:
    """Return the docstring of ``update``."""
    return "\n".join(
        [
            f"Take one step of {rule.title}: PyTorch's rule, as a pure function."
            if rule.torch.arguments and "torch" in rule.source
            else f"Take one step of {rule.title}, as a pure function.",
            "",
            *_formula(rule),
            "",
            *_wrapped(
                "It works on NumPy and JAX arrays, inside ``fg.jit`` and ``jax.jit`` (donate ``state`` and ``params``)"
                ", and under ``fg.grad``. float16 and bfloat16 parameters: a step is in float32, rounded once."
            ),
            *(["", *_wrapped(rule.rows)] if rule.rows else []),
            "",
            *_listed(
                "Args",
                [
                    (
                        "grads",
                        "a pytree like ``params``; for a gradient ``None``, parameter and slots stay unchanged.",
                    ),
                    ("state", f"what `{rule.name}_init` or the previous step returned."),
                    ("params", "a pytree of float or complex arrays."),
                    ("into", _INTO),
                ],
            ),
            "",
            "Returns:",
            *_RETURNED,
            "",
            "Raises:",
            "    TypeError: ``state`` is no state of this rule.",
            "    TreeMismatchError: gradients, hyperparameters or state do not fit the parameters; names the leaf.",
            "    HyperparameterError: a schedule gives a number out of range.",
            *([] if rule.masked or rule.rows else [_NO_ROWS]),
            *_example(rule, _EXAMPLE),
            *_source(rule),
        ]
    )


def of_class(rule: Rule, names: Sequence[str]) -> str:
    """Return the docstring of PyTorch's class, with these arguments."""
    about = {x.name: x.about for x in rule.hyperparameters}
    for name, parts in rule.options.items():
        about[name] = "; ".join([about[part].removesuffix(".") for part in parts]) + "."
    args = [("params", "tensors, ``(name, tensor)`` pairs, parameter groups, or a pytree of arrays; see `Optimizer`.")]
    args += [(name, {**about, **OF_CLASS}[name]) for name in names]
    return "\n".join(
        [
            f"{rule.title}: PyTorch's kind of optimizer, over `{rule.name}_update`.",
            "",
            *_formula(rule),
            "",
            *_wrapped(
                "Each parameter group has its own options. NumPy values are updated in place; JAX values by one "
                "compiled step, which takes the memory of the old values. Parameters keep their identity. "
                "``learning_rate`` is another name of ``lr``."
            ),
            "",
            *_listed("Args", args),
            "",
            "Raises:",
            "    HyperparameterError: a value is out of range, in PyTorch's words; a ``ValueError``.",
            *_example(rule, _CLASS_EXAMPLE),
            *_source(rule),
        ]
    )


def _of_tuples(rule: Rule) -> str:
    return "".join([f" ``{name}`` may be given for {', '.join(parts)}." for name, parts in rule.options.items()])


def _formula(rule: Rule) -> list[str]:
    if not rule.formula:
        return [f"The rule is ``{rule.name}``."]
    lines = textwrap.dedent(rule.formula).strip().split("\n")
    return [
        "For each parameter ``p`` with gradient ``g``, at its step ``t``, from 1::",
        "",
        *[f"    {x}" for x in lines],
    ]


def _example(rule: Rule, text: str) -> list[str]:
    gradient = "np.ones((2, 2))"
    if rule.dense is not None:
        gradient = "Rows(np.array([1]), np.ones((1, 2)), (2, 2))"
        text = text.replace(
            ">>> import numpy as np\n", ">>> import numpy as np\n    >>> from funcgrad.sparse import Rows\n"
        )
    if not (rule.torch.arguments and rule.source):
        return []
    return text.format(rule.name, rule.title, gradient).rstrip().split("\n")


def _source(rule: Rule) -> list[str]:
    return ["", *_wrapped(f"Source: {rule.source}")] if rule.source else []


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, 116, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _section(name: str, text: str) -> list[str]:
    return [f"{name}:", *_wrapped(text, "    ")]


def _listed(name: str, pairs: Sequence[tuple[str, str]]) -> list[str]:
    lines = [f"{name}:"]
    for each, about in pairs:
        lines += textwrap.wrap(
            f"{each}: {about or 'a hyperparameter of the rule.'}",
            116,
            initial_indent="    ",
            subsequent_indent="        ",
            break_on_hyphens=False,
        )
    return lines
