"""Calls that an optimizer refuses or warns of, and its texts. They run on PyTorch's optimizers and on ours.

Each takes the library's optimizers and two leaves. Where newer PyTorch does not refuse (sets, a missing ``lr``), the
test of the class has the text.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

Call = Callable[[Any, Any, Any], Any]

CALLS: dict[str, Call] = {
    "a tensor": lambda optim, p, q: optim.SGD(p, lr=0.1),
    "nothing": lambda optim, p, q: optim.SGD([], lr=0.1),
    "an empty iterator": lambda optim, p, q: optim.SGD(iter([]), lr=0.1),
    "a number for parameters": lambda optim, p, q: optim.SGD(3, lr=0.1),
    "text for parameters": lambda optim, p, q: optim.SGD("ab", lr=0.1),
    "a set in a group": lambda optim, p, q: optim.SGD([{"params": {p}}], lr=0.1),
    "no tensor": lambda optim, p, q: optim.SGD([p, 1.0], lr=0.1),
    "no tensor in a group": lambda optim, p, q: optim.SGD([p], lr=0.1).add_param_group({"params": [1]}),
    "no leaf": lambda optim, p, q: optim.SGD([p * 2], lr=0.1),
    "two groups": lambda optim, p, q: optim.SGD([{"params": p}, {"params": p}], lr=0.1),
    "two groups, one added": lambda optim, p, q: optim.SGD([p], lr=0.1).add_param_group({"params": p}),
    "duplicates": lambda optim, p, q: optim.SGD([p, p], lr=0.1),
    "no group": lambda optim, p, q: optim.SGD([p], 0.1).add_param_group(q),
    "a tensor among groups": lambda optim, p, q: optim.SGD([{"params": p}, q], 0.1),
    "negative lr": lambda optim, p, q: optim.SGD([p], lr=-0.5),
    "negative momentum": lambda optim, p, q: optim.SGD([p], 0.1, -0.5),
    "negative decay": lambda optim, p, q: optim.SGD([p], 0.1, weight_decay=-1),
    "nesterov without momentum": lambda optim, p, q: optim.SGD([p], 0.1, nesterov=True),
    "nesterov with dampening": lambda optim, p, q: optim.SGD([p], 0.1, 0.9, 0.1, nesterov=True),
    "lr of two": lambda optim, p, q: optim.SGD([p], (p.detach() * 0 + q.detach() * 0).reshape(1)[[0, 0]]),
    "some names": lambda optim, p, q: optim.SGD([("p", p), q], 0.1),
    "a group of names": lambda optim, p, q: optim.SGD([{"params": [p]}, {"params": [("q", q)]}], 0.1),
    "a group without names": lambda optim, p, q: optim.SGD([{"params": [("p", p)]}, {"params": [q]}], 0.1),
    "no step": lambda optim, p, q: optim.Optimizer([p], {}).step(),
    "an option missing": lambda optim, p, q: _with_required(optim, [p]),
    "an option missing in a group": lambda optim, p, q: _with_required(optim, [{"params": p, "lr": 1}, {"params": q}]),
    "other number of groups": lambda optim, p, q: optim.SGD([p], 0.1).load_state_dict(_saved([])),
    "other size of a group": lambda optim, p, q: optim.SGD([p], 0.1).load_state_dict(_saved([{"params": [0, 1]}])),
    "a hook's result": lambda optim, p, q: [
        (optimizer := optim.SGD([p], 0.1)).register_step_pre_hook(lambda *_: 3),
        optimizer.step(),
    ],
    "gradient of another shape": lambda optim, p, q: setattr(p, "grad", q.detach()[[0, 0]]),
    "gradient that is none": lambda optim, p, q: setattr(p, "grad", 1.0),
    "text": lambda optim, p, q: repr(optim.SGD([p], 0.1, 0.9)),
    "text of two groups": lambda optim, p, q: repr(optim.SGD([{"params": p}, {"params": q, "lr": 1.0}], 0.1)),
    "text with names": lambda optim, p, q: repr(optim.SGD([("p", p), ("q", q)], 0.1)),
    "saved": lambda optim, p, q: sorted(optim.SGD([("p", p), ("q", q)], 0.1).state_dict()["param_groups"][0].items()),
    "defaults": lambda optim, p, q: sorted(optim.SGD([p], 0.1).defaults.items()),
    "order of a generator": lambda optim, p, q: optim.SGD((x for x in [q, p]), 0.1).param_groups[0]["params"],
}


def _saved(groups: list[Any]) -> dict[str, Any]:
    return {"state": {}, "param_groups": groups}


def _with_required(optim: Any, params: Any) -> Any:
    # PyTorch has the marker beside the class, and not in its public module.
    return optim.Optimizer(params, {"lr": sys.modules[optim.Optimizer.__module__].required})


def answer(call: Call, optim: Any, make: Callable[[Any], Any]) -> str:
    """Return the result, the warning or the error of a call as text, without the parts that only one library has."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            text = str(call(optim, make([1.0]), make([2.0])))
    except (TypeError, ValueError, RuntimeError, NotImplementedError, UserWarning) as error:
        kinds = (TypeError, ValueError, NotImplementedError, RuntimeError, UserWarning)
        text = f"{next(kind.__name__ for kind in kinds if isinstance(error, kind))}: {error}"
    text = re.sub(r" at 0x[0-9a-f]+", "", text)
    return re.sub(r"(torch|funcgrad\.autograd(\._tensor)?)\.(Float)?Tensor", "Tensor", text)
