"""Makes an optimizer from a rule: its state, its pair of functions, and PyTorch's class."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from funcgrad._types import Grads, Params
from funcgrad.optim._rules.pytorch import OTHER_ARGUMENTS
from funcgrad.optim._rules.rule import REQUIRED, Rule
from funcgrad.optim._state.begin import begin
from funcgrad.optim._state.hyperparameters import by_name, with_lr
from funcgrad.optim._state.state import STATIC, State
from funcgrad.optim._torch.documents import STEP, of_class, of_init, of_state, of_update
from funcgrad.optim._torch.optimizer import required
from funcgrad.optim._torch.rule_optimizer import RuleOptimizer
from funcgrad.optim._update import update
from funcgrad.tree import register_dataclass

# The arguments of `init` besides hyperparameters.
_OF_INIT = {"foreach": None, "differentiable": False, "master_dtype": None}


if TYPE_CHECKING:

    class DeclaredState(State):
        """A state that was made from a rule. Its attributes are the rule's hyperparameters and slots."""

        def __getattr__(self, name: str) -> Any: ...

    class DeclaredOptimizer(RuleOptimizer):
        """An optimizer that was made from a rule. Its arguments are the rule's options."""

        def __init__(self, params: Params, *args: Any, **options: Any) -> None: ...

        def step(self, closure: Callable[[], Any] | None = ..., *, grads: Grads = ...) -> Any: ...


class Init(Protocol):
    """The function that makes the state of a rule for parameters.

    The options are the hyperparameters, ``foreach``, ``differentiable`` and ``master_dtype``.
    """

    __name__: str

    def __call__(self, params: Params, **options: Any) -> DeclaredState: ...


class Update(Protocol):
    """The function that takes a step of a rule. It returns the new parameters and the new state."""

    __name__: str

    def __call__(
        self, grads: Grads, state: State, params: Params, *, into: Params = ...
    ) -> tuple[Params, DeclaredState]: ...


class Declared(NamedTuple):
    """The state, functions and class that `optimizer` makes from a rule.

    Args:
        state: the class of its states, a subclass of `State`.
        init: ``init(params, *, <hyperparameters>, foreach=None, differentiable=False, master_dtype=None) -> state``.
        update: ``update(grads, state, params, *, into=None) -> (params, state)``.
        optimizer: PyTorch's class, a subclass of `RuleOptimizer`.

    Example:
        >>> from funcgrad.extend import Number, Rule, optimizer
        >>> declared = optimizer(Rule("plain", (Number("lr", 0.1),), (), lambda p, g, slots, hyper, t: (p, {})))
        >>> [each.__name__ for each in declared]
        ['PlainState', 'plain_init', 'plain_update', 'Plain']
    """

    state: type[DeclaredState]
    init: Init
    update: Update
    optimizer: type[DeclaredOptimizer]


def optimizer(rule: Rule, base: type[RuleOptimizer] = RuleOptimizer, *, module: str | None = None) -> Declared:
    """Make a rule's state class, its pair of pure functions, and PyTorch's class.

    The results have all features of `funcgrad.sgd_init`, `funcgrad.sgd_update` and `funcgrad.optim.SGD`.
    Hyperparameters are checked, may be trees of values or a schedule, and change without recompilation. Gradients may
    be missing. Small parameters are stepped together. The class has groups, hooks and PyTorch's checkpoints.

    Args:
        rule: the rule. The name ``lion`` gives ``LionState``, ``lion_init``, ``lion_update`` and ``Lion``. States and
            optimizers can be pickled if the module ``module`` has them under these names.
        base: the base class of the optimizer.
        module: the ``__name__`` of the module that holds the four results. By default it is the module in which the
            function ``rule.step`` is defined.

    Returns:
        ``(state, init, update, optimizer)``. The state has an attribute for each hyperparameter and each slot. The
        The functions take the hyperparameters by the rule's names, the class by the names in PyTorch's groups.

    Raises:
        TypeError: two hyperparameters or slots of the rule have one name, or a name that states already have.

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
    if not isinstance(rule, Rule):
        raise TypeError(
            f"extend.optimizer: rule is a {type(rule).__name__}; needed a Rule. Declare one: Rule(name, ...)."
        )
    where = {"__module__": module or getattr(rule.step, "__module__", None) or __name__}
    state = type(f"{rule.title}State", (State,), {"rule": rule, "__doc__": of_state(rule), **where})
    state = register_dataclass(state, meta_fields=STATIC, when_made=True)
    made: Any = state, _init(state, where), _update(state, where), _class(state, base, where)
    return Declared(*made)


def _named(function: Any, name: str, doc: str, where: dict[str, str], owner: str = "") -> Any:
    function.__name__ = name
    function.__qualname__ = f"{owner}{name}"
    function.__doc__ = doc
    function.__module__ = where["__module__"]
    return function


def _init(state: type[State], where: dict[str, str]) -> Callable[..., State]:
    rule = state.rule
    name = f"{rule.name}_init"
    kinds = [x for x in rule.hyperparameters if x.name not in rule.fixed]
    defaults = {x.name: Parameter.empty if x.default is REQUIRED else x.default for x in kinds}
    signature = _signature({**defaults, **_OF_INIT}, Parameter.KEYWORD_ONLY)

    needs_lr = defaults.get("lr") is Parameter.empty

    def init(*args: Any, **options: Any) -> State:
        if needs_lr and not {"lr", "learning_rate"} & options.keys():
            raise TypeError(
                f"{name}: lr is not given; needed one of lr and learning_rate. They are the same: pass lr=0.1, say."
            )
        given = _bound(name, signature, args, by_name(rule, options, name))
        params, others = given.pop("params"), {x: given.pop(x) for x in _OF_INIT}
        return begin(state, params, {**given, **rule.fixed}, **others)

    init.__signature__ = signature
    return _named(init, name, of_init(rule), where)


def _update(state: type[State], where: dict[str, str]) -> Callable[..., tuple[Any, State]]:
    def step(grads: Grads, state: State, params: Params, *, into: Any = None) -> tuple[Any, State]:
        return update(kind, grads, state, params, into)

    kind, name = state, state.rule.name
    return _named(step, f"{name}_update", of_update(state.rule), where)


def _class(state: type[State], base: type[RuleOptimizer], where: dict[str, str]) -> type[RuleOptimizer]:
    rule = state.rule
    name = rule.title
    signature = _signature_of_class(rule)

    def init(self: RuleOptimizer, *args: Any, **options: Any) -> None:
        # ``args[1]`` is the learning rate if the signature has it behind the parameters.
        if len(args) > 1 and "learning_rate" in options and list(signature.parameters)[1] == "lr":
            options["lr"] = args[1]
        given = _bound(name, signature, args, with_lr(rule, options, name))
        RuleOptimizer.__init__(self, given.pop("params"), {**given, **rule.fixed})

    def step(self: RuleOptimizer, closure: Callable[[], Any] | None = None, *, grads: Grads = None) -> Any:
        return self.take_step(closure, grads)

    init.__signature__ = Signature([Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *signature.parameters.values()])
    owner = f"{name}."
    body = {
        "kind": state,
        "kept": {x: OTHER_ARGUMENTS[x] for x in signature.parameters if x in OTHER_ARGUMENTS},
        "__init__": _named(init, "__init__", f"Begin with parameters; see `{rule.name}_update`.", where, owner),
        "__signature__": signature,
        "step": _named(step, "step", STEP, where, owner),
        "__doc__": of_class(rule, [x for x in signature.parameters if x != "params"]),
    }
    return type(name, (base,), {**body, **where})


def _signature_of_class(rule: Rule) -> Signature:
    """Return the arguments of PyTorch's constructor; those before ``*`` may be given by position."""
    options = {name: _for_class(default) for name, default in rule.defaults.items() if name not in rule.fixed}
    if rule.torch.arguments is None:
        others = {"foreach": None, "differentiable": False}
        return _signature({**options, **others}, Parameter.POSITIONAL_OR_KEYWORD)
    kind: Any = Parameter.POSITIONAL_OR_KEYWORD
    given = [Parameter("params", kind)]
    for name in rule.torch.names():
        if name == "*":
            kind = Parameter.KEYWORD_ONLY
        else:
            given.append(Parameter(name, kind, default={**OTHER_ARGUMENTS, **options}[name]))
    given += [Parameter(name, Parameter.KEYWORD_ONLY, default=options[name]) for name in rule.torch.beyond]
    return Signature(given)


def _for_class(default: Any) -> Any:
    """Return the default of an option of PyTorch's groups."""
    return required if default is REQUIRED else default


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
