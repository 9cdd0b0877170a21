"""PyTorch's namespace: ``import funcgrad.torch as torch``.

Each name refers to what ``funcgrad.autograd``, ``funcgrad.numpy``, ``funcgrad.nn`` and ``funcgrad.optim`` have. PyTorch
is not imported.
"""

import sys as _sys
from types import SimpleNamespace as _SimpleNamespace
from typing import Any as _Any

from funcgrad import nn as nn
from funcgrad import optim as optim
from funcgrad._public import publish as _publish
from funcgrad.autograd import Tensor as Tensor
from funcgrad.autograd import enable_grad as enable_grad
from funcgrad.autograd import is_grad_enabled as is_grad_enabled
from funcgrad.autograd import no_grad as no_grad
from funcgrad.autograd import set_grad_enabled as set_grad_enabled
from funcgrad.autograd.extend import Generator as Generator
from funcgrad.autograd.extend import Shape as Size  # noqa: F401  (PyTorch's name)
from funcgrad.autograd.extend import default_generator as default_generator
from funcgrad.autograd.extend import device as device
from funcgrad.torch import (
    _creation,
    _drawn,
    _dtypes,
    _factors,
    _functions,
    _joined,
    _names,
    _settings,
    _signals,
    _typed,
)
from funcgrad.torch import amp as amp
from funcgrad.torch import autograd as autograd
from funcgrad.torch import distributions as distributions
from funcgrad.torch import fft as fft
from funcgrad.torch import func as func
from funcgrad.torch import linalg as linalg
from funcgrad.torch import random as random
from funcgrad.torch import serialization as serialization
from funcgrad.torch import special as special
from funcgrad.torch import testing as testing
from funcgrad.torch import utils as utils
from funcgrad.torch._kernels import arguments as _arguments
from funcgrad.torch._kernels import inner as _inner
from funcgrad.torch._kernels import kinds as _kinds
from funcgrad.torch._kernels import recurrent as _recurrent
from funcgrad.torch.amp import autocast as autocast
from funcgrad.torch.autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from funcgrad.torch.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from funcgrad.torch.autograd.anomaly_mode import set_detect_anomaly as set_anomaly_enabled  # noqa: F401  (PyTorch's name)
from funcgrad.torch.func import vmap as vmap
from funcgrad.torch.serialization import load as load
from funcgrad.torch.serialization import save as save

# The version of PyTorch whose behaviour this module follows. Programs compare it.
__version__ = "2.13.0"
dtype = _dtypes.np.dtype
inf, nan, pi, e = float("inf"), float("nan"), 3.141592653589793, 2.718281828459045
newaxis = None
strided = preserve_format = contiguous_format = channels_last = "strided"

globals().update(_functions.FUNCTIONS)
globals().update(_joined.FUNCTIONS)
globals().update(_signals.FUNCTIONS)
globals().update(_arguments.FUNCTIONS)
globals().update(_recurrent.FUNCTIONS)
globals().update(_inner.FUNCTIONS)
globals().update(_factors.FUNCTIONS)
globals().update(_kinds.FUNCTIONS)
globals().update(_creation.FUNCTIONS)
globals().update(_drawn.FUNCTIONS)
globals().update(_dtypes.DTYPES)
# Methods of tensors, as PyTorch has them: functions that need rooms above that of tensors.
for _name in _names.METHODS.split():
    setattr(Tensor, _name, globals().get(_name, _kinds.new_empty_strided))
_NAMESPACES = _settings.namespaces(amp.of_cuda)
globals().update(_NAMESPACES)
globals().update(_typed.TYPES)
for _function in (
    *_creation.PUBLIC,
    *_dtypes.PUBLIC,
    *_settings.FUNCTIONS,
    *_functions.ALIASES,
    _typed.set_default_tensor_type,
):
    globals()[_function.__name__] = _function


def __getattr__(name: str) -> _Any:
    if name in _names.OF_NN and hasattr(nn.functional, name):
        return getattr(nn.functional, name)
    return _names.refuse("torch", name, globals())


# ``import funcgrad.torch.nn.functional as F`` finds the modules of the rooms themselves.
for _room in (nn, optim):
    for _name, _module in list(_sys.modules.items()):
        if _name == _room.__name__ or (_name.startswith(f"{_room.__name__}.") and "._" not in _name):
            _sys.modules[_name.replace("funcgrad.", "funcgrad.torch.", 1)] = _module
# PyTorch's inner modules, from which programs import classes, are the modules that have these classes here.
for _path, _words in _names.INNER_MODULES.items():
    for _name in _words.split():
        _sys.modules[f"{__name__}.{_path}.{_name}"] = _sys.modules[f"{__name__}.{_path.removesuffix('.modules')}"]
# ``torch.nn.modules.dropout.Dropout``: the module that has all classes stands for each inner one.
_INNER = _SimpleNamespace(**dict.fromkeys(_names.INNER_MODULES["nn.modules"].split(), nn))
_INNER.__dict__.update({name: getattr(nn, name) for name in dir(nn) if name[0].isupper()})
for _path in ("nn", "nn.utils", "utils.data", "distributions"):
    _parent = _sys.modules[f"{__name__}.{_path}"]
    for _name in _names.INNER_MODULES[_path].split():
        if not hasattr(_parent, _name):
            setattr(_parent, _name, _INNER if _name == "modules" else _parent)
# ``import torch.backends.cudnn as cudnn`` finds what answers for devices.
for _path, _answers in _settings.paths(_NAMESPACES):
    _sys.modules[f"{__name__}.{_path}"] = _answers

__dir__ = _publish(__name__)
