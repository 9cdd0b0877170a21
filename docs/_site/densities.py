"""The name and the density of a distribution, and what its parameters are.

They are read from SciPy's documentation when the site is built. Three distributions have no formula there.
"""

from __future__ import annotations

import importlib
import inspect
import re

_NAME = re.compile(r"^(?:An? )?(.*?)(?: (continuous|discrete))? random variable\.", re.DOTALL)
# A paragraph below a formula that says for which points and parameters it holds, and what its letters are.
_CONDITION = re.compile(r"(for|where|with|defined|supported|and)\b")
_REMARK = re.compile(r"(?<=[.])\s+(?:This class|Note|It is).*", re.DOTALL)
_FOOTNOTE = re.compile(r"\s*\[\d+\]_")
# A formula, code, or a name in SciPy's own markup, which alone is in the group.
_QUOTED = re.compile(r":math:`[^`]*`|``[^`]*``|`([^`]*)`")
_MATH = re.compile(r"^\.\. math::\n\n?((?:[ \t]+.*\n?|\n)+)", re.MULTILINE)
# SciPy's formula is of the two normal functions, or it is left out.
_MISSING = {
    "skewnorm": (
        r"f(x, a) = 2 \varphi(x) \Phi(a x)",
        (
            r"for all :math:`x` and :math:`a`, where :math:`\varphi` is the density of the normal distribution and "
            r":math:`\Phi` its distribution function."
        ),
    ),
    "truncnorm": (
        r"f(x, a, b) = \frac{\varphi(x)}{\Phi(b) - \Phi(a)}",
        (
            r"for :math:`a \le x \le b`, where :math:`\varphi` is the density of the normal distribution and "
            r":math:`\Phi` its distribution function. ``a`` and ``b`` are distances from ``loc`` in units of ``scale``."
        ),
    ),
    "uniform": (r"f(x) = 1", r"for :math:`0 \le x \le 1`: from ``loc`` to ``loc + scale``."),
}
# A circle has no scale. Distributions of vectors and matrices have means and scales of their own.
_WITHOUT_SCALE = ("vonmises", "multivariate_normal", "multivariate_t", "dirichlet", "multinomial", "wishart")


def about(path: str, *, discrete: bool) -> list[str]:
    """Return lines of reStructuredText for a distribution: its name, its density, and what location and scale do.

    Args:
        path: its name in SciPy, ``"scipy.stats.gamma"``.
        discrete: whether it has probabilities in place of a density.
    """
    kind = "Probability" if discrete else "Density"
    lines = [f"*Name*: {title(path)} distribution.", "", f"*{kind}*:", ""]
    name = path.rpartition(".")[2]
    for formula, condition in formulas(name, _doc(path)):
        lines += [".. math::", "", *[f"   {line}" for line in formula.split("\n")], ""]
        lines += [condition, ""] if condition else []
    if name not in _WITHOUT_SCALE:
        lines += [
            "``loc`` shifts it: the formula is taken at ``k - loc``."
            if discrete
            else "``loc`` shifts it and ``scale`` stretches it: the density is the formula at ``(x - loc) / scale``, "
            "divided by ``scale``.",
            "",
        ]
    return lines


def title(path: str) -> str:
    """Return the name of a distribution in words: "generalized gamma" for ``"scipy.stats.gengamma"``."""
    found = _NAME.match(_doc(path))
    words = re.sub(r"\s+", " ", found[1]) if found else path.rpartition(".")[2]
    return words.removesuffix("-distributed")


def _doc(path: str) -> str:
    module, _, name = path.rpartition(".")
    return inspect.getdoc(getattr(importlib.import_module(module), name)) or ""


def formulas(name: str, doc: str) -> list[tuple[str, str]]:
    """Return the formulas of a density, each with the sentence that says where it holds, if there is one."""
    if name in _MISSING:
        return [_MISSING[name]]
    notes = re.split(r"\n(?:References|Examples|See Also)\n-{3,}", doc.partition("Notes\n-----\n")[2])[0]
    blocks = list(_MATH.finditer(notes))
    found = []
    for i, block in enumerate(blocks):
        formula = inspect.cleandoc("\n" + block[1])
        end = blocks[i + 1].start() if i + 1 < len(blocks) else len(notes)
        condition = notes[block.end() : end].strip().split("\n\n")[0]
        if formula.startswith("f(") and not (found and "reduces to" in notes[blocks[i - 1].end() : block.start()]):
            found.append([formula, _plain(condition) if _CONDITION.match(condition) else ""])
        elif found and (found[-1][1] in ("where.", "") or found[-1][1].startswith("and its cumulative")):
            # A formula that defines a letter of the one before; the distribution function has a method of its own.
            if found[-1][1] == "where.":
                found[-1][0] += "\n" + r",\qquad " + formula
            found[-1][1] = _plain(condition) if _CONDITION.match(condition) else ""
    return [(formula.rstrip(",. "), condition) for formula, condition in found[: _count(name)]]


def _count(name: str) -> int:
    """Return how many formulas a density has: that of extreme values is another one where ``c`` is zero."""
    return 2 if name == "genextreme" else 1


def _plain(text: str) -> str:
    """Return a paragraph in one line, without sentences on sources and without links into SciPy's site."""
    text = re.sub(r"\s+", " ", _REMARK.sub("", text))
    first, *others = re.split(r"(?<=[.]) (?=[A-Z:])", text)
    kept = [first, *[each for each in others if not _FOOTNOTE.search(each) and "literature" not in each]]
    text = _FOOTNOTE.sub("", " ".join(kept))
    # The converter to MathML does not know ``dots``.
    for theirs, known in (("<=", r"\le"), (">=", r"\ge"), (r"\dots", r"\ldots")):
        text = text.replace(theirs, known)
    return _QUOTED.sub(lambda found: f"``{found[1]}``" if found[1] else found[0], text).rstrip(".") + "."
