"""The record of PyTorch's class for a rule: its constructor and its checkpoints, without any mathematics."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

# Arguments of PyTorch's constructors that are no hyperparameters, with their defaults.
OTHER_ARGUMENTS = {"foreach": None, "differentiable": False, "capturable": False, "fused": None}


@dataclasses.dataclass(frozen=True)
class PyTorch:
    """The constructor and the checkpoints of the class in ``torch.optim`` that has the same rule.

    Args:
        arguments: the arguments of the constructor behind ``params``, as they stand in a signature:
            ``"lr, momentum, *, maximize"``. ``None`` makes a signature of all hyperparameters. The class accepts
            ``foreach``, ``differentiable``, ``capturable`` and ``fused`` here, and keeps them in its groups.
        beyond: the options that PyTorch's class lacks. Our class takes them by keyword, behind PyTorch's arguments. Its
            checkpoints contain them, and a checkpoint without them is loaded with their defaults.
        counted: the key of a parameter's step count in checkpoints; ``None`` if checkpoints lack it.
        counted_in_tensors: whether checkpoints keep that number as a tensor, or as a Python number.
        check_options: return the text of a refusal, or ``None``, for the options of the constructor together.
        eager: whether the constructor makes the slots; otherwise the first step does.
        absent: what an argument means in a checkpoint that lacks it, as pairs, if that is not its default.

    Example:
        >>> import inspect
        >>> from funcgrad.extend import Flag, Number, PyTorch, Rule, optimizer
        >>> def step(p, g, slots, hyper, t):
        ...     return p - hyper.lr * g, {}
        >>> rule = Rule("plain", (Number("lr", 0.1), Flag("maximize")), (), step, torch=PyTorch("lr, *, maximize"))
        >>> inspect.signature(optimizer(rule).optimizer)
        <Signature (params, lr=0.1, *, maximize=False)>
    """

    arguments: str | None = None
    beyond: tuple[str, ...] = ()
    counted: str | None = None
    counted_in_tensors: bool = True
    check_options: Callable[[dict[str, Any]], str | None] = lambda options: None
    eager: bool = False
    absent: tuple[tuple[str, Any], ...] = ()

    def names(self) -> list[str]:
        """Return the names in ``arguments``, ``*`` among them."""
        return [] if self.arguments is None else self.arguments.split(", ")

    def fault(self, options: Sequence[str]) -> str | None:
        """Return why the arguments do not fit the options of a rule, or ``None``.

        Args:
            options: the options that the constructor must take, by PyTorch's names.
        """
        if self.arguments is None:
            return None
        taken = {*self.names(), *self.beyond}
        missing = [name for name in options if name not in taken]
        if missing:
            return (
                f"the option {missing[0]!r} is not among the arguments of PyTorch's class, {self.arguments!r}; needed "
                f"each option there or in `beyond`. Where PyTorch has no such option, write PyTorch(..., beyond="
                f"({missing[0]!r},))."
            )
        unknown = [name for name in sorted(taken - {"*"}) if name not in options and name not in OTHER_ARGUMENTS]
        if unknown:
            return (
                f"{unknown[0]!r} is an argument of PyTorch's class; needed a hyperparameter of this name, or one of "
                f"{', '.join(OTHER_ARGUMENTS)}. Declare a Number, Choice or Flag, or remove the name."
            )
        return None
