"""Layers, activation functions and losses: as functions of arrays, and as modules with parameters."""

from funcgrad._public import publish
from funcgrad.nn import utils
from funcgrad.nn._activations import gelu, log_softmax, relu, sigmoid, softmax, tanh
from funcgrad.nn._convolution import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from funcgrad.nn._embedding import embedding
from funcgrad.nn._layers import Flatten, Identity, Linear, ReLU, Sequential, Sigmoid, Tanh, manual_seed
from funcgrad.nn._linear import linear
from funcgrad.nn._loss_modules import CrossEntropyLoss, MSELoss, NLLLoss
from funcgrad.nn._losses import cross_entropy, mse_loss, nll_loss
from funcgrad.nn._module import Module
from funcgrad.nn._parameter import Parameter
from funcgrad.nn._pooling import avg_pool1d, avg_pool2d, avg_pool3d, max_pool1d, max_pool2d, max_pool3d

__all__ = [
    "CrossEntropyLoss",
    "Flatten",
    "Identity",
    "Linear",
    "MSELoss",
    "Module",
    "NLLLoss",
    "Parameter",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Tanh",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cross_entropy",
    "embedding",
    "gelu",
    "linear",
    "log_softmax",
    "manual_seed",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mse_loss",
    "nll_loss",
    "relu",
    "sigmoid",
    "softmax",
    "tanh",
    "utils",
]

__dir__ = publish(__name__)
