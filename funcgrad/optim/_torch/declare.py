"""What makes an optimizer of a rule: its state, the pair of functions, and PyTorch's class, all read off the record."""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, NamedTuple

from funcgrad.optim._rules.rule import REQUIRED, Flag, Rule
from funcgrad.optim._state.begin import begin
from funcgrad.optim._state.state import STATIC, State
from funcgrad.optim._torch.optimizer import required
from funcgrad.optim._torch.rule_optimizer import RuleOptimizer
from funcgrad.optim._update import update
from funcgrad.tree import register_dataclass

# Beside the hyperparameters: what functions take, and what classes take.
_OF_INIT = {"foreach": None, "differentiable": False, "master_dtype": None}
_OF_CLASS = {"foreach": None, "differentiable": False}


class Declared(NamedTuple):
    """What `optimizer` makes of a rule.

    Args:
        state: the class of its states, a subclass of `State`.
        init: ``init(params, *, <hyperparameters>, foreach=None, differentiable=False, master_dtype=None) -> state``.
        update: ``update(grads, state, params, *, into=None) -> (params, state)``.
        optimizer: PyTorch's class, a subclass of `RuleOptimizer`.
    """

    # What attributes and arguments they have stands in the record, where type checkers do not see it.
    state: type[Any]
    init: Callable[..., Any]
    update: Callable[..., tuple[Any, Any]]
    optimizer: type[Any]


def optimizer(rule: Rule) -> Declared:
    """Make a rule's state class, its pair of pure functions, and PyTorch's class.

    All that `funcgrad.sgd_init`, `funcgrad.sgd_update` and `funcgrad.optim.SGD` do is done here too: hyperparameters
    are checked, may be trees of values or a schedule, and change without recompilation; gradients may be missing;
    small parameters are stepped together; the class has groups, hooks and PyTorch's checkpoints.

    Args:
        rule: the record. Called ``lion``, it gives ``LionState``, ``lion_init``, ``lion_update`` and ``Lion``; states
            and optimizers are pickled if these are the names that they get in the caller's module.

    Returns:
        ``(state, init, update, optimizer)``. The state has an attribute for each hyperparameter and each slot. The
        functions take the hyperparameters by the names in the record, the class by those of PyTorch's groups.

    Raises:
        TypeError: two of the rule's hyperparameters and slots have one name, or one that states have already.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> from funcgrad.extend import Number, Rule
        >>> def step(p, g, slots, hyper, t):
        ...     return p - hyper.lr * np.sign(g), {}
        >>> rule = Rule("sign_descent", hyperparameters=(Number("lr", 0.1),), slots=(), step=step)
        >>> SignDescentState, sign_descent_init, sign_descent_update, SignDescent = fg.extend.optimizer(rule)
        >>> params = np.array([1.0, 2.0])
        >>> sign_descent_update(np.array([5.0, -5.0]), sign_descent_init(params, lr=0.5), params)[0]
        array([0.5, 2.5])
        >>> SignDescent(params, lr=0.5).step(grads=np.array([5.0, -5.0]))
        array([0.5, 2.5])
    """
    where = {"__module__": sys._getframe(1).f_globals.get("__name__", __name__)}
    name = "".join([word.capitalize() for word in rule.name.split("_")])
    state = type(f"{name}State", (State,), {"rule": rule, "__doc__": f"The state of ``{rule.name}``.", **where})
    state = register_dataclass(state, meta_fields=STATIC, when_made=True)
    return Declared(state, _init(state, where), _update(state, where), _class(name, state, where))


def _named(function: Any, name: str, doc: str, where: dict[str, str]) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__module__ = where["__module__"]
    return function


def _init(state: type[State], where: dict[str, str]) -> Callable[..., State]:
    rule = state.rule
    name = f"{rule.name}_init"
    defaults = {x.name: Parameter.empty if x.default is REQUIRED else x.default for x in rule.hyperparameters}
    signature = _signature({**defaults, **_OF_INIT}, Parameter.KEYWORD_ONLY)

    def init(*args: Any, **options: Any) -> State:
        given = _bound(name, signature, args, options)
        params, others = given.pop("params"), {x: given.pop(x) for x in _OF_INIT}
        return begin(state, params, given, **others)

    init.__signature__ = signature
    return _named(init, name, f"Make the state with which `{rule.name}_update` begins.", where)


def _update(state: type[State], where: dict[str, str]) -> Callable[..., tuple[Any, State]]:
    def step(grads: Any, state: State, params: Any, *, into: Any = None) -> tuple[Any, State]:
        return update(kind, grads, state, params, into)

    kind, name = state, state.rule.name
    return _named(step, f"{name}_update", f"Take one step of ``{name}``: ``(params, state)``, new ones.", where)


def _class(name: str, state: type[State], where: dict[str, str]) -> type[RuleOptimizer]:
    signature = _signature({**_options(state.rule), **_OF_CLASS}, Parameter.POSITIONAL_OR_KEYWORD)

    def init(self: RuleOptimizer, *args: Any, **options: Any) -> None:
        given = _bound(name, signature, args, options)
        RuleOptimizer.__init__(self, given.pop("params"), given)

    def step(self: RuleOptimizer, closure: Callable[[], Any] | None = None, *, grads: Any = None) -> Any:
        return self.take_step(closure, grads)

    body = {
        "kind": state,
        "__init__": _named(init, "__init__", f"Begin with parameters; see `{state.rule.name}_update`.", where),
        "__signature__": signature,
        "step": _named(step, "step", "Take one step with the gradients of `backward`, or with given ones.", where),
        "__doc__": f"PyTorch's optimizer over the rule ``{state.rule.name}``.",
    }
    return type(name, (RuleOptimizer,), {**body, **where})


def _options(rule: Rule) -> dict[str, Any]:
    """The options of PyTorch's groups, with defaults: several hyperparameters may be parts of one of them."""
    found: dict[str, Any] = {}
    for x in rule.hyperparameters:
        default = required if x.default is REQUIRED else x.default
        if isinstance(x, Flag) or x.option is None:
            found[x.name] = default
        else:
            found[x.option[0]] = (*found.get(x.option[0], ()), default)
    return found


def _signature(defaults: dict[str, Any], kind: Any) -> Signature:
    given = [Parameter(name, kind, default=default) for name, default in defaults.items()]
    return Signature([Parameter("params", Parameter.POSITIONAL_OR_KEYWORD), *given])


def _bound(name: str, signature: Signature, args: tuple, options: dict[str, Any]) -> dict[str, Any]:
    try:
        bound = signature.bind(*args, **options)
    except TypeError as error:
        raise TypeError(f"{name}: {error}; needed {name}{signature}. Give it what its rule declares.") from None
    bound.apply_defaults()
    return dict(bound.arguments)
