"""Random scripts of tensors, run line by line beside PyTorch. After each line all tensors must equal PyTorch's."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import funcgrad as fg
from tests.laws.fuzz.check import Report
from tests.laws.fuzz.faulty import judged
from tests.laws.fuzz.noise import Noise
from tests.laws.fuzz.tensor_scripts import Script, executed, peers, scope_of, to_plain

# Tensors are arrays first: a difference of bools has a meaning here.
_NOT_REFUSED_HERE = (
    "INTERNAL ASSERT FAILED",
    "expected dtype",
    "with a bool tensor is not supported",
    "not implemented for 'Bool'",
    "Integer division with addcdiv",
)
_WITHOUT_DERIVATIVE = {f"{name}Backward{i}" for name in ("Sign", "Floor", "Ceil", "Trunc", "Round") for i in (0, 1)} | {
    "DivBackward2",
    *[f"{name}Backward{i}" for name in ("Eq", "Ne", "Lt", "Le", "Gt", "Ge") for i in (0, 1)],
}
_OF_WRITES = ("in-place", "inplace", "single memory location", "broadcast shape")
_NAMES = re.compile(r"\b[tv]\d+\b")
_OF_VIEW = re.compile(
    r"[oO]utput 0 of (?:AsStrided|Index|Select|Slice|T|Transpose|Permute|Unsqueeze|Squeeze|View|Alias|Expand)\b"
)
_ASSIGNED_DATA = re.compile(r"(?:with no_grad\(\): )?(\w+)\.data = ")
_GRADIENTS = re.compile(r"grad\(|backward\(")
_GRADIENT = re.compile(r"(v\d+) = grad\(")


def findings(script: Script, report: Report) -> list[str]:
    """Return the first line at which the two libraries differ."""
    ours, theirs = scope_of(None), scope_of(peers())
    words_of = _words
    report.programs += 1
    with warnings.catch_warnings(), np.errstate(all="ignore"), fg.full_tracebacks():
        warnings.simplefilter("ignore")
        for i, line in enumerate(script.lines):
            report.checks["tensors"] += 1
            if ".data" in line:
                # PyTorch does not count writes through it.
                words_of = _words_without_versions
            kind, what = _step(line, theirs, ours, words_of)
            if kind in {"value", "grad", "plain"}:
                name = what.partition(" ")[0]
                if words_of is _words_without_versions and _GRADIENTS.search(line):
                    kind, what = "refused", "PyTorch's derivative reads what was written through .data"
                elif _is_rounding(script.lines[: i + 1], name, theirs, ours):
                    kind, what = "refused", "PyTorch's own numbers move as far with their last places"
            if kind == "refused":
                report.refusals["tensors", kind, what[:100]] += 1
                return []
            if kind:
                return [f"{kind}: {what}"]
    return []


def _step(  # noqa: PLR0911  (one a reason)
    line: str, theirs: dict[str, Any], ours: dict[str, Any], words_of: Callable[[Exception], str]
) -> tuple[str, str]:
    """Return the fault after a line: empty if there is none, "refused" if the script ends here."""
    shapes = {name: tuple(x.shape) for name, x in theirs.items() if hasattr(x, "detach")}
    together = _share(line, theirs)
    expected, got = executed(line, theirs), executed(line, ours)
    gradient = _GRADIENT.match(line)
    if gradient and expected is None and theirs[gradient[1]] is not None:
        # Our tensor has memory of its own. PyTorch's cotangent of a sum is one repeated number, as writes show.
        theirs[gradient[1]] = theirs[gradient[1]].clone()
    if reason := _other_data(line, theirs, shapes):
        return "refused", reason
    if expected is None and _takes_from_recorded(line, ours):
        # PyTorch lets the number of a tensor with a history into a plain array.
        theirs.pop(line.partition(" = ")[0], None)
        refused = got is not None and _is_of_a_gradient(got)
        return ("", "") if refused else ("derivative lost", f"{line}: {got or 'the number was given'}")
    if expected is not None or got is not None:
        return _refused(line, expected, got, words_of)
    names = [n for n in theirs if n[0] in "tv" and n[1:].isdigit()]
    made = line.partition(" = ")[0].rpartition(" ")[2]
    if wrong := _first_difference(line, made, names, theirs, ours):
        if together and wrong[0] == "value":
            return "refused", "PyTorch has read what it had written already"
        return wrong
    if made in names and re.search("resh|flat|cont", line) and _shared(made, theirs) != _shared(made, ours):
        return "refused", "the strides decide whether it is a view, and are others"
    return "", ""


def _first_difference(
    line: str, made: str, names: list[str], theirs: dict[str, Any], ours: dict[str, Any]
) -> tuple[str, str] | None:
    """Return the first tensor that differs after a line; ``made`` is the line's result."""
    tolerance = _tolerance({name: theirs[name] for name in names})
    for name in names:
        if wrong := _unlike(theirs[name], ours[name], tolerance):
            recorded = name == made and "create_graph=True" in line
            if wrong[0] == "flags" and (recorded or _says_more(theirs[name], ours[name], theirs)):
                return "refused", "a gradient that depends on signs alone, or on what was overwritten, or is zero"
            if wrong[0] == "type" and (reason := _other_type(line, theirs[name], ours[name], theirs)):
                return "refused", reason
            return wrong[0], f"{name} after {line}: {wrong[1]}"
    return None


def _is_rounding(lines: tuple[str, ...], name: str, theirs: dict[str, Any], ours: dict[str, Any]) -> bool:
    """Return whether PyTorch's numbers move as far if all values change in their last places.

    They are if they move in proportion: at a tie, or where a number is cut off, they jump.
    """
    expected = _numbers(theirs[name])
    gap = _distance(_numbers(ours[name]), expected)
    near, far = (max(_distance(x, expected) for x in _with_noise(lines, name, size)) for size in (4.0, 64.0))
    return gap <= 10 * near and 4 * near <= far < np.inf


def _with_noise(lines: tuple[str, ...], name: str, size: float) -> Iterator[np.ndarray]:
    torch, noise = peers(), Noise(np.random.default_rng(0), size)
    for _ in range(8):
        scope = scope_of(torch)
        for line in lines:
            executed(line, scope)
            made: Any = scope.get(line.partition(" = ")[0].rpartition(" ")[2])
            if hasattr(made, "detach") and made.is_floating_point():
                # Write to the memory without PyTorch's count of writes: tensors that share it change as much.
                with contextlib.suppress(RuntimeError):
                    made.data.copy_(torch.from_numpy(np.asarray(noise(_plain(made)))))
        yield _numbers(scope.get(name))


def _numbers(x: Any) -> np.ndarray:
    """Return the value of a tensor with its gradient in a row; other values unchanged."""
    if not hasattr(x, "detach"):
        return np.ravel(np.asarray(x, float))
    return np.concatenate([np.ravel(_plain(y)).astype(float) for y in (x, x.grad) if y is not None])


def _distance(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.max(np.abs(x - y), initial=0)) if x.shape == y.shape else np.inf


def _tolerance(scope: dict[str, Any]) -> float:
    """Return how far numbers may differ, relative to the greater of them and 1."""
    return 1e-4 if any(str(getattr(x, "dtype", "")) == "torch.float32" for x in scope.values()) else 1e-9


def _other_type(line: str, theirs: Any, ours: Any, scope: dict[str, Any]) -> str:
    """Return the reason why only one library has a gradient; empty if none is known."""
    if ours is None:
        return "" if theirs.any() else "a derivative that is 0 everywhere, of which only PyTorch makes zeros"
    asked = re.search(r"grad\(.*, ([tv]\d+), create_graph", line)
    if theirs is None and asked and scope[asked[1]]._is_view():
        return "views of what was written to in no_grad lead straight to the root"
    return ""


def _says_more(theirs: Any, ours: Any, scope: dict[str, Any]) -> bool:
    """Return whether PyTorch's tensor has a history that gives only zeros, as after truncation."""
    if ours.requires_grad or not theirs.requires_grad or theirs.is_leaf:
        return False
    tensors = [x for x in scope.values() if x is not theirs and getattr(x, "requires_grad", False)]
    # PyTorch no longer updates some of the views.
    others = [x for x in tensors if not x._is_view()]
    try:
        bars = peers().autograd.grad(theirs.sum(), others, retain_graph=True, allow_unused=True)
    except RuntimeError:
        # The write overwrote a value that the pass needs.
        return False
    return all(bar is None or not bar.any() for bar in bars)


def _other_data(line: str, theirs: dict[str, Any], shapes: dict[str, tuple[int, ...]]) -> str:
    """Return the reason why ``x.data = ...`` differs from PyTorch on purpose; empty if there is none."""
    if assigned := _ASSIGNED_DATA.match(line):
        x = theirs[assigned[1]]
        if x._is_view() or any(getattr(y, "_base", None) is x for y in theirs.values()):
            return "data of what has views: PyTorch takes them for views of other memory"
    if any(tuple(theirs[name].shape) != shape for name, shape in shapes.items() if hasattr(theirs[name], "detach")):
        # PyTorch's graph then gives gradients with a shape that no tensor has.
        return "data of another shape"
    return ""


def _share(line: str, scope: dict[str, Any]) -> bool:
    """Return whether tensors of a line share memory."""
    found = {name: scope[name] for name in _NAMES.findall(line) if hasattr(scope.get(name), "detach")}
    return any(_shared(name, found) for name in found)


def _shared(name: str, scope: dict[str, Any]) -> set[str]:
    """Return the other tensors that share memory with one."""
    if not hasattr(scope[name], "detach"):
        return set()
    others = [n for n in scope if n[0] in "tv" and n[1:].isdigit() and n != name and hasattr(scope[n], "detach")]
    return {n for n in others if np.may_share_memory(_plain(scope[n]), _plain(scope[name]))}


def _refused(
    line: str, expected: Exception | None, got: Exception | None, words_of: Callable[[Exception], str]
) -> tuple[str, str]:
    """Return the fault in the errors of a line. At least one library raised."""
    if got is None and expected is not None and "needed for gradient" in str(expected) and _is_otherwise(expected):
        return "refused", "PyTorch keeps what we do not"
    if got is None:
        meant = not any(text in str(expected) for text in _NOT_REFUSED_HERE)
        return ("not refused", f"{line}: PyTorch says {str(expected)[:120]}") if meant else ("refused", str(expected))
    if (
        expected is not None
        and _is_of_writes(expected)
        and words_of(expected) != words_of(got)
        # A diagonal is filled through a view of its own in PyTorch.
        and "numpy boolean" not in str(got)
        and "fill_diagonal_" not in line
    ):
        return "message", f"{line}: {words_of(got)}, PyTorch's {words_of(expected)}"
    if expected is not None:
        # PyTorch keeps what it had accumulated or written before it raised. Ours leaves everything unchanged.
        return ("refused", "raised midway in both") if re.search("backward|index_|masked_scatter_", line) else ("", "")
    refusal, bad = judged(got)
    # A method that our tensors lack raises Python's own error. PyTorch accepts an index where another axis is empty,
    # and returns a quotient of integers for a negative power.
    if not bad or "'Tensor' object has no attribute" in refusal.text or _is_numpys_to_refuse(refusal.text):
        return "refused", f"{refusal.error} {refusal.place} {refusal.text}"
    return f"raised {refusal.error} in {refusal.place}", f"{line}: {refusal.text}"


def _is_numpys_to_refuse(text: str) -> bool:
    return (
        "is out of bounds for axis" in text or "index out of range in self" in text or "negative integer powers" in text
    )


def _is_otherwise(error: Exception) -> bool:
    """Return whether an operation keeps other values here: norms, products, powers of constants, and empty arrays."""
    keeps_less = ("of LinalgVectorNorm", "of Pow1,", "of Prod,")
    return any(name in str(error) for name in keeps_less) or re.search(r"\[(\d+, )*0[],]", str(error)) is not None


def _takes_from_recorded(line: str, scope: dict[str, Any]) -> bool:
    """Return whether a line makes plain numbers from a recorded tensor."""
    turned = to_plain(line)
    return bool(turned) and "no_grad" not in line and scope[turned].requires_grad


def _is_of_a_gradient(error: BaseException) -> bool:
    """Return whether a tensor refused to be a plain number, directly or as the cause of NumPy's error."""
    cause = error.__cause__
    return "requires grad" in str(error) or (cause is not None and _is_of_a_gradient(cause))


def _is_of_writes(error: Exception) -> bool:
    """Return whether PyTorch refuses a write in place, or a value after such a write."""
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _OF_WRITES)


def _words(error: Exception) -> str:
    """Return a message without the library's own advice and names of views."""
    return (
        _OF_VIEW.sub("output 0 of a view", str(error))
        .replace("torch.", "")
        # PyTorch has different names for powers of numbers and powers with numbers as exponents.
        .replace("of Pow1", "of Pow")
        .replace("of Pow2", "of Pow")
        .replace("of Softmax", "of Exp")
        # The softmax of a number is that of one element.
        .replace("Tensor [1]", "Tensor []")
        .partition(" Hint: ")[0]
        .partition(" If you are using")[0]
        .rstrip(".")
    )


def _words_without_versions(error: Exception) -> str:
    return re.sub(r"version \d+", "a version", _words(error))


def _plain(x: Any) -> Any:
    return np.asarray(x.detach().numpy()) if hasattr(x, "detach") else x


def _unlike(theirs: Any, ours: Any, tolerance: float) -> tuple[str, str] | None:
    if hasattr(theirs, "detach") and hasattr(ours, "detach"):
        return _unlike_arrays(_plain(theirs), _plain(ours), tolerance) or _unlike_flags(theirs, ours, tolerance)
    if hasattr(theirs, "detach") or hasattr(ours, "detach"):
        return "type", f"{type(ours).__name__}, PyTorch's {type(theirs).__name__}"
    if theirs is None or (
        np.shape(theirs) == np.shape(ours)
        and np.allclose(np.asarray(theirs, float), np.asarray(ours, float), 1e-4, 1e-5, equal_nan=True)
    ):
        return None
    return "plain", f"{ours!r}, PyTorch's {theirs!r}"


def _unlike_arrays(theirs: np.ndarray, ours: np.ndarray, tolerance: float) -> tuple[str, str] | None:
    if theirs.shape != ours.shape:
        return "shape", f"{ours.shape}, PyTorch's {theirs.shape}"
    if theirs.dtype != ours.dtype:
        # Tensors are arrays first: for bools, integers and mixed widths NumPy's rule gives other dtypes than PyTorch's.
        return "refused", f"{ours.dtype} where PyTorch has {theirs.dtype}"
    return None if _close(theirs, ours, tolerance) else ("value", f"{ours}, PyTorch's {theirs}")


def _flags(x: Any) -> tuple[bool, bool] | str:
    try:
        return x.requires_grad, x.is_leaf
    except RuntimeError as error:
        return str(error)


def _unlike_flags(theirs: Any, ours: Any, tolerance: float) -> tuple[str, str] | None:
    flags, found = _flags(theirs), _flags(ours)
    if flags != found or isinstance(flags, str):
        reason = _other_flags(theirs, flags)
        return ("refused", reason) if reason else ("flags", f"requires_grad, is_leaf {found}, PyTorch's {flags}")
    if not theirs.is_leaf and not theirs.retains_grad:
        return None
    bar, bar_ours = theirs.grad, ours.grad
    if bar is None or bar_ours is None:
        # PyTorch may follow a path that only zeros would pass, and we may not.
        nothing = bar is not None and not _plain(bar).any()
        return None if bar is bar_ours or nothing else ("grad", f"{bar_ours}, PyTorch's {bar}")
    close = _close(_plain(bar), _plain(bar_ours), tolerance)
    return None if close else ("grad", f"{_plain(bar_ours)}, PyTorch's {_plain(bar)}")


def _other_flags(theirs: Any, flags: tuple[bool, bool] | str) -> str:
    """Return the reason why flags differ from PyTorch's on purpose; empty if there is none."""
    if isinstance(flags, str):
        # A view of several, or made in ``no_grad``, whose memory was written to. PyTorch counts writes without history.
        return flags[:60]
    if flags == (True, True) and theirs._is_view():
        return "a view made in no_grad, which in PyTorch is a leaf with a gradient of its own"
    if theirs.grad_fn is not None and theirs.grad_fn.name() in _WITHOUT_DERIVATIVE:
        return "a derivative that is 0 everywhere, which is no history"
    if flags[0] and not theirs.is_floating_point():
        return "a gradient of integers, by a write of numbers with a history"
    return "" if theirs.numel() else "nothing has no history"


def _close(a: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    return a.shape == b.shape and bool(
        np.allclose(a.astype(float), b.astype(float), tolerance, tolerance, equal_nan=True)
    )


def shrunk(script: Script, what: str) -> tuple[Script, str]:
    """Return the script without the lines that the finding does not need."""
    kind = what.partition(":")[0]
    i = len(script.lines) - 1
    while i >= 0:
        smaller = Script(script.seed, script.lines[:i] + script.lines[i + 1 :])
        found = findings(smaller, Report())
        if found and found[0].partition(":")[0] == kind and "NameError" not in found[0]:
            script, what = smaller, found[0]
        i -= 1
    return script, what
