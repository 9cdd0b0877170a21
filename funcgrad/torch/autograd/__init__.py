"""``torch.autograd``: gradients of tensors, and operations with a backward pass of their own."""

from typing import Any as _Any

from funcgrad._public import publish as _publish
from funcgrad.autograd import backward as backward
from funcgrad.autograd import enable_grad as enable_grad
from funcgrad.autograd import grad as grad
from funcgrad.autograd import no_grad as no_grad
from funcgrad.autograd import set_grad_enabled as set_grad_enabled
from funcgrad.autograd.extend import inference_mode as inference_mode
from funcgrad.torch import _names
from funcgrad.torch._typed import Variable as Variable
from funcgrad.torch.autograd import anomaly_mode as anomaly_mode
from funcgrad.torch.autograd import forward_ad as forward_ad
from funcgrad.torch.autograd import function as function
from funcgrad.torch.autograd import functional as functional
from funcgrad.torch.autograd import graph as graph
from funcgrad.torch.autograd._checks import GradcheckError as GradcheckError
from funcgrad.torch.autograd._checks import gradcheck as gradcheck
from funcgrad.torch.autograd._checks import gradgradcheck as gradgradcheck
from funcgrad.torch.autograd._function import Function as Function
from funcgrad.torch.autograd.anomaly_mode import detect_anomaly as detect_anomaly
from funcgrad.torch.autograd.anomaly_mode import set_detect_anomaly as set_detect_anomaly


def __getattr__(name: str) -> _Any:
    return _names.refuse("torch.autograd", name, globals())


__dir__ = _publish(__name__)
