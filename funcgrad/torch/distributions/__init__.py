"""``torch.distributions``: distributions of tensors, whose log densities and samples carry gradients."""

from typing import Any as _Any

from funcgrad._public import publish as _publish
from funcgrad.torch import _names
from funcgrad.torch.distributions._base import Distribution as Distribution
from funcgrad.torch.distributions._continuous import MultivariateNormal as MultivariateNormal
from funcgrad.torch.distributions._continuous import Normal as Normal
from funcgrad.torch.distributions._continuous import Uniform as Uniform
from funcgrad.torch.distributions._discrete import Bernoulli as Bernoulli
from funcgrad.torch.distributions._discrete import Categorical as Categorical
from funcgrad.torch.distributions._divergences import kl_divergence as kl_divergence
from funcgrad.torch.distributions._divergences import register_kl as register_kl


def __getattr__(name: str) -> _Any:
    return _names.refuse("torch.distributions", name, globals())


__dir__ = _publish(__name__)
