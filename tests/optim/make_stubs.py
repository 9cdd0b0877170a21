"""Write the types of the optimizers that are made of rules: ``python -m tests.optim.make_stubs``.

Type checkers read them in ``funcgrad/optim/_torch/family.pyi``.
"""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path
from typing import Any

from funcgrad.optim._state.state import Hyperparameter, SlotTree, TupleOption
from funcgrad.optim._torch import family
from tests.optim._family import Made, made_of

STUBS = Path(family.__file__).with_suffix(".pyi")
HEAD = """\
# The types of the optimizers that are made of rules. `python -m tests.optim.make_stubs` writes this file.
# fmt: off
from collections.abc import Callable
from typing import Any

from funcgrad.optim._state.state import State
from funcgrad.optim._torch.rule_optimizer import RuleOptimizer
"""
TYPES = {"foreach": "bool | None", "differentiable": "bool", "capturable": "bool", "fused": "bool | None"}


def stubs() -> str:
    """Return the text of the stub file."""
    classes = [cls for cls in vars(family).values() if isinstance(cls, type) and "kind" in vars(cls)]
    return "\n".join([HEAD, *[_stubs_of(made_of(cls)) for cls in classes]])


def _stubs_of(made: Made) -> str:
    name, title, state = made.rule.name, made.rule.title, made.state.__name__
    (base,) = made.cls.__bases__
    attributes = [
        x for x, value in vars(made.state).items() if isinstance(value, Hyperparameter | TupleOption | SlotTree)
    ]
    # `learning_rate` is another name of `lr`, and PyTorch's tuples stand for their parts.
    init = [*_parameters(made.init), "learning_rate: Any = ...", *[f"{x}: Any = ..." for x in made.rule.options]]
    of_class = _parameters(made.cls)
    of_class += [] if "*" in of_class else ["*"]
    return "\n".join(
        [
            f"class {state}(State):",
            *[f"    {x}: Any" for x in attributes],
            "",
            *_function(f"{name}_init", init, state),
            *_function(
                f"{name}_update",
                ["grads: Any", f"state: {state}", "params: Any", "*", "into: Any = ..."],
                f"tuple[Any, {state}]",
            ),
            "",
            f"class {title}({base.__name__}):",
            *textwrap.indent(
                "\n".join(_function("__init__", ["self", *of_class, "learning_rate: Any = ..."], "None")), "    "
            ).split("\n"),
            "    def step(self, closure: Callable[[], Any] | None = ..., *, grads: Any = ...) -> Any: ...",
            "",
        ]
    )


def _parameters(made: Any) -> list[str]:
    """Return the parameters of a function or class that was made of a rule, as a signature has them."""
    found, named = [], False
    for x in inspect.signature(made).parameters.values():
        if x.kind is x.KEYWORD_ONLY and not named:
            found.append("*")
            named = True
        # ``learning_rate`` may be given in place of ``lr``.
        absent = x.default is x.empty and x.name != "lr"
        default = "" if absent else f" = {x.default!r}" if _is_plain(x.default) else " = ..."
        found.append(f"{x.name}: {TYPES.get(x.name, 'Any')}{default}")
    return found


def _is_plain(default: Any) -> bool:
    return default is None or isinstance(default, bool | int | float | str)


def _function(name: str, parameters: list[str], result: str) -> list[str]:
    # A line breaks between parameters, and not within one.
    unbroken = [x.replace(" ", "\0") for x in parameters]
    given = textwrap.wrap(", ".join(unbroken) + ",", 110, break_long_words=False, break_on_hyphens=False)
    return [f"def {name}(", *["    " + line.replace("\0", " ") for line in given], f") -> {result}: ..."]


if __name__ == "__main__":
    STUBS.write_text(stubs())
