"""``torch.distributions``: samples, densities, moments, divergences and refusals beside PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad.torch
from tests._recorded import PyTorch


def distributions(torch: Any) -> dict[str, Any]:
    kinds = torch.distributions
    return {
        "normal": kinds.Normal(torch.tensor([0.5, -1.0]), torch.tensor([1.0, 2.0])),
        "scalar normal": kinds.Normal(0.0, 1.0),
        "uniform": kinds.Uniform(torch.tensor([0.0, 1.0]), torch.tensor([2.0, 5.0])),
        "bernoulli": kinds.Bernoulli(torch.tensor([0.2, 0.5])),
        "bernoulli by logits": kinds.Bernoulli(logits=torch.tensor([0.2, -0.7])),
        "categorical": kinds.Categorical(torch.tensor([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]])),
        "categorical by logits": kinds.Categorical(logits=torch.tensor([0.1, 2.0, -1.0])),
        "vectors": kinds.MultivariateNormal(torch.tensor([1.0, 2.0]), torch.tensor([[2.0, 0.5], [0.5, 1.0]])),
        "vectors by precision": kinds.MultivariateNormal(
            torch.zeros(2), precision_matrix=torch.tensor([[2.0, 0.5], [0.5, 1.0]])
        ),
        "vectors by a factor": kinds.MultivariateNormal(
            torch.zeros(2), scale_tril=torch.tensor([[2.0, 0.0], [0.5, 1.0]])
        ),
    }


def described(torch: Any) -> dict[str, Any]:
    """Each distribution's samples after the seed 0, and what it computes."""
    torch.manual_seed(0)
    found: dict[str, Any] = {}
    for name, d in distributions(torch).items():
        # PyTorch's text also has what was computed before.
        text, samples = repr(d), d.sample((3,))
        expanded = d.expand(torch.Size([4, *d.batch_shape]))
        texts = [text, list(d.batch_shape), list(d.event_shape), list(expanded.sample().shape)]
        numbers = [samples, d.log_prob(samples), d.entropy(), d.perplexity(), d.mean, d.variance, d.stddev, d.mode]
        if d.has_rsample:
            numbers.append(d.rsample())
        if "normal" in name or name == "uniform":
            numbers += [d.cdf(samples), d.icdf(torch.full(tuple(d.batch_shape), 0.3))]
        if "b" in name and hasattr(d, "probs"):
            numbers += [d.probs, d.logits, d.enumerate_support()]
        found[name] = {"texts": texts, "numbers": [x.detach().numpy() for x in numbers]}
    return found


def test_what_distributions_compute(pytorch: PyTorch) -> None:
    ours = described(funcgrad.torch)
    for name, theirs in pytorch(described).items():
        assert ours[name]["texts"] == theirs["texts"]
        for i, (found, expected) in enumerate(zip(ours[name]["numbers"], theirs["numbers"], strict=True)):
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6, err_msg=f"{name} {i}")


def divergences(torch: Any) -> list[Any]:
    """The divergences, and gradients through them and through samples."""
    torch.manual_seed(1)
    kinds, held = torch.distributions, distributions(torch)
    loc, scale = (torch.tensor(x, requires_grad=True) for x in ([0.5, -1.0], [1.0, 2.0]))
    normal = kinds.Normal(loc, scale)
    pairs = [
        (normal, held["scalar normal"]),
        (kinds.Uniform(0.0, 1.0), kinds.Uniform(-1.0, 2.0)),
        (kinds.Uniform(0.0, 3.0), kinds.Uniform(-1.0, 2.0)),
        (held["bernoulli"], held["bernoulli by logits"]),
        (held["categorical by logits"], kinds.Categorical(logits=torch.zeros(3))),
        (held["vectors"], held["vectors by a factor"]),
    ]
    found = [kinds.kl_divergence(p, q) for p, q in pairs]
    (found[0].sum() + normal.rsample((2,)).sum() + normal.log_prob(loc.detach() + 1).sum()).backward()
    return [x.detach().numpy() for x in (*found, loc.grad, scale.grad)]


def test_divergences_and_gradients(pytorch: PyTorch) -> None:
    for ours, theirs in zip(divergences(funcgrad.torch), pytorch(divergences), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def refusals(torch: Any) -> list[str]:
    kinds, tensor = torch.distributions, torch.tensor
    kinds.Distribution.set_default_validate_args(True)  # PyTorch's torch.compile turns this off for the whole process.
    calls = [
        lambda: kinds.Normal(0.0, -1.0),
        lambda: kinds.Bernoulli(tensor([2.0])),
        lambda: kinds.Bernoulli(),
        lambda: kinds.Categorical(probs=torch.ones(2), logits=torch.ones(2)),
        lambda: kinds.Categorical(tensor([-1.0, 3.0])),
        lambda: kinds.Uniform(tensor([2.0, 0.0]), tensor([1.0, 3.0])),
        lambda: kinds.MultivariateNormal(torch.zeros(2), tensor([[1.0, 2.0], [2.0, 1.0]])),
        lambda: kinds.MultivariateNormal(torch.zeros(2), tensor([[1.0, 0.2], [0.1, 1.0]])),
        lambda: kinds.MultivariateNormal(torch.zeros(2), scale_tril=tensor([[1.0, 2.0], [2.0, 1.0]])),
        lambda: kinds.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(3)),
        lambda: kinds.Categorical(torch.ones(3)).log_prob(tensor(5)),
        lambda: kinds.Bernoulli(0.5).log_prob(tensor(0.5)),
        lambda: kinds.Uniform(0.0, 1.0).log_prob(tensor(3.0)),
        lambda: kinds.Normal(0.0, 1.0).log_prob(1.0),
        lambda: kinds.Bernoulli(0.5).cdf(tensor(1.0)),
    ]
    found = []
    for call in calls:
        with pytest.raises((ValueError, NotImplementedError)) as caught:
            call()
        found.append(f"{caught.type.__name__}: {caught.value}")
    return found


def test_bad_parameters_and_values_are_refused(pytorch: PyTorch) -> None:
    assert refusals(funcgrad.torch) == pytorch(refusals)


def test_values_outside_are_impossible_where_nothing_is_checked(pytorch: PyTorch) -> None:
    def logs(torch: Any) -> list[float]:
        return torch.distributions.Uniform(0.0, 2.0, validate_args=False).log_prob(torch.tensor([-1.0, 1.0])).tolist()

    assert logs(funcgrad.torch) == pytest.approx(pytorch(logs))


def test_kinds_without_a_formula() -> None:
    kinds = funcgrad.torch.distributions
    with pytest.raises(NotImplementedError, match="for p type Normal and q type Bernoulli"):
        kinds.kl_divergence(kinds.Normal(0.0, 1.0), kinds.Bernoulli(0.5))
