"""The name, the density and the parameters of each distribution on its page of the reference."""

from __future__ import annotations

import re

import pytest
from densities import about, title

from funcgrad.scipy import stats

DISTRIBUTIONS = [
    name for name in stats.__all__ if any(hasattr(getattr(stats, name), each) for each in ("logpdf", "logpmf"))
]


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_each_distribution_has_a_name_and_a_formula(name: str) -> None:
    text = "\n".join(about(f"scipy.stats.{name}", discrete=not hasattr(getattr(stats, name), "logpdf")))
    assert re.match(r"\*Name\*: \w.* distribution\.\n", text)
    assert text.count(".. math::") == (2 if name == "genextreme" else 1)
    assert re.search(r"^   f\(\w", text, re.MULTILINE)
    # Footnotes and names in SciPy's markup mean nothing on our pages.
    assert not re.search(r"\[\d+\]_", text)
    assert "`" not in re.sub(r":math:`[^`\n]+`|``[^`\n]+``", "", text)


def test_the_lines_of_one_distribution() -> None:
    text = "\n".join(about("scipy.stats.gengamma", discrete=False))
    assert text.split("\n\n") == [
        "*Name*: generalized gamma distribution.",
        "*Density*:",
        ".. math::",
        r"   f(x, a, c) = \frac{|c| x^{c a-1} \exp(-x^c)}{\Gamma(a)}",
        (
            r"for :math:`x \ge 0`, :math:`a > 0`, and :math:`c \ne 0`. "
            r":math:`\Gamma` is the gamma function (``scipy.special.gamma``)."
        ),
        (
            "``loc`` shifts it and ``scale`` stretches it: "
            "the density is the formula at ``(x - loc) / scale``, divided by ``scale``.\n"
        ),
    ]


def test_a_discrete_distribution_has_probabilities_and_no_scale() -> None:
    text = "\n".join(about("scipy.stats.poisson", discrete=True))
    assert "*Probability*:" in text
    assert "``k - loc``" in text
    assert "scale" not in text


def test_a_formula_that_defines_a_letter_stands_beside() -> None:
    text = "\n".join(about("scipy.stats.dirichlet", discrete=False))
    assert r",\qquad \mathrm{B}(\boldsymbol\alpha) =" in text
    assert "and :math:`\\boldsymbol\\alpha=" in text


def test_the_name_of_a_distribution_in_words() -> None:
    assert title("scipy.stats.gengamma") == "generalized gamma"
    assert title("scipy.stats.norm") == "normal"
    names = {name: title(f"scipy.stats.{name}") for name in DISTRIBUTIONS}
    assert not [name for name, words in names.items() if "random variable" in words or len(words) > 60]
