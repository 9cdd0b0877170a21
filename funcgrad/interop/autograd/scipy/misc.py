"""The former ``scipy.misc`` under autograd's name."""

from funcgrad._public import publish
from funcgrad.scipy.special import logsumexp

__all__ = ["logsumexp"]

__dir__ = publish(__name__)
