"""Clip gradients, exchange parameters with vectors, and pack sequences, as ``torch.nn.utils`` does."""

from funcgrad._public import publish
from funcgrad.nn.utils import rnn
from funcgrad.nn.utils._clip import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "rnn"]

__dir__ = publish(__name__)
