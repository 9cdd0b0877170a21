"""``torch.distributions``: distributions of tensors, whose log densities and samples carry gradients."""

from typing import Any as _Any

from funcgrad._public import publish as _publish
from funcgrad.torch import _names
from funcgrad.torch.distributions import constraint_registry as constraint_registry
from funcgrad.torch.distributions import constraints as constraints
from funcgrad.torch.distributions import transforms as transforms
from funcgrad.torch.distributions._base import Distribution as Distribution
from funcgrad.torch.distributions._bounded import ContinuousBernoulli as ContinuousBernoulli
from funcgrad.torch.distributions._bounded import GeneralizedPareto as GeneralizedPareto
from funcgrad.torch.distributions._combined import Independent as Independent
from funcgrad.torch.distributions._combined import MixtureSameFamily as MixtureSameFamily
from funcgrad.torch.distributions._combined import TransformedDistribution as TransformedDistribution
from funcgrad.torch.distributions._continuous import MultivariateNormal as MultivariateNormal
from funcgrad.torch.distributions._continuous import Normal as Normal
from funcgrad.torch.distributions._continuous import Uniform as Uniform
from funcgrad.torch.distributions._counts import Binomial as Binomial
from funcgrad.torch.distributions._counts import Geometric as Geometric
from funcgrad.torch.distributions._counts import Multinomial as Multinomial
from funcgrad.torch.distributions._counts import NegativeBinomial as NegativeBinomial
from funcgrad.torch.distributions._counts import OneHotCategorical as OneHotCategorical
from funcgrad.torch.distributions._counts import Poisson as Poisson
from funcgrad.torch.distributions._discrete import Bernoulli as Bernoulli
from funcgrad.torch.distributions._discrete import Categorical as Categorical
from funcgrad.torch.distributions._divergences import kl_divergence as kl_divergence
from funcgrad.torch.distributions._divergences import register_kl as register_kl
from funcgrad.torch.distributions._gammas import Beta as Beta
from funcgrad.torch.distributions._gammas import Chi2 as Chi2
from funcgrad.torch.distributions._gammas import Dirichlet as Dirichlet
from funcgrad.torch.distributions._gammas import ExponentialFamily as ExponentialFamily
from funcgrad.torch.distributions._gammas import FisherSnedecor as FisherSnedecor
from funcgrad.torch.distributions._gammas import Gamma as Gamma
from funcgrad.torch.distributions._gammas import StudentT as StudentT
from funcgrad.torch.distributions._low_rank import LowRankMultivariateNormal as LowRankMultivariateNormal
from funcgrad.torch.distributions._matrices import LKJCholesky as LKJCholesky
from funcgrad.torch.distributions._matrices import Wishart as Wishart
from funcgrad.torch.distributions._relaxed import OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough
from funcgrad.torch.distributions._relaxed import RelaxedBernoulli as RelaxedBernoulli
from funcgrad.torch.distributions._relaxed import RelaxedOneHotCategorical as RelaxedOneHotCategorical
from funcgrad.torch.distributions._scales import Cauchy as Cauchy
from funcgrad.torch.distributions._scales import Exponential as Exponential
from funcgrad.torch.distributions._scales import HalfCauchy as HalfCauchy
from funcgrad.torch.distributions._scales import HalfNormal as HalfNormal
from funcgrad.torch.distributions._scales import Laplace as Laplace
from funcgrad.torch.distributions._scales import VonMises as VonMises
from funcgrad.torch.distributions._transformed import Gumbel as Gumbel
from funcgrad.torch.distributions._transformed import InverseGamma as InverseGamma
from funcgrad.torch.distributions._transformed import Kumaraswamy as Kumaraswamy
from funcgrad.torch.distributions._transformed import LogisticNormal as LogisticNormal
from funcgrad.torch.distributions._transformed import LogNormal as LogNormal
from funcgrad.torch.distributions._transformed import Pareto as Pareto
from funcgrad.torch.distributions._transformed import Weibull as Weibull
from funcgrad.torch.distributions._transforms import ComposeTransform as ComposeTransform
from funcgrad.torch.distributions._transforms import ExpTransform as ExpTransform
from funcgrad.torch.distributions._transforms import IndependentTransform as IndependentTransform
from funcgrad.torch.distributions._transforms import PowerTransform as PowerTransform
from funcgrad.torch.distributions._transforms import ReshapeTransform as ReshapeTransform
from funcgrad.torch.distributions._transforms import SigmoidTransform as SigmoidTransform
from funcgrad.torch.distributions._transforms import SoftplusTransform as SoftplusTransform
from funcgrad.torch.distributions._transforms import TanhTransform as TanhTransform
from funcgrad.torch.distributions._transforms import Transform as Transform
from funcgrad.torch.distributions._transforms import identity_transform as identity_transform
from funcgrad.torch.distributions._transforms_more import AbsTransform as AbsTransform
from funcgrad.torch.distributions._transforms_more import AffineTransform as AffineTransform
from funcgrad.torch.distributions._transforms_more import CatTransform as CatTransform
from funcgrad.torch.distributions._transforms_more import CorrCholeskyTransform as CorrCholeskyTransform
from funcgrad.torch.distributions._transforms_more import (
    CumulativeDistributionTransform as CumulativeDistributionTransform,
)
from funcgrad.torch.distributions._transforms_more import LowerCholeskyTransform as LowerCholeskyTransform
from funcgrad.torch.distributions._transforms_more import PositiveDefiniteTransform as PositiveDefiniteTransform
from funcgrad.torch.distributions._transforms_more import SoftmaxTransform as SoftmaxTransform
from funcgrad.torch.distributions._transforms_more import StackTransform as StackTransform
from funcgrad.torch.distributions._transforms_more import StickBreakingTransform as StickBreakingTransform
from funcgrad.torch.distributions.constraint_registry import biject_to as biject_to
from funcgrad.torch.distributions.constraint_registry import transform_to as transform_to


def __getattr__(name: str) -> _Any:
    return _names.refuse("torch.distributions", name, globals())


__dir__ = _publish(__name__)
