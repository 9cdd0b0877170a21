"""Integrals of samples and of functions, with derivatives, by ``scipy.integrate``'s names."""

from funcgrad._public import publish
from funcgrad.numpy import trapezoid as trapezoid
from funcgrad.scipy.integrate._infinite import PREPARED as PREPARED
from funcgrad.scipy.integrate._ivp import solve_ivp as solve_ivp
from funcgrad.scipy.integrate._odeint import odeint as odeint
from funcgrad.scipy.integrate._quad import quad as quad
from funcgrad.scipy.integrate._samples import cumulative_simpson as cumulative_simpson
from funcgrad.scipy.integrate._samples import cumulative_trapezoid as cumulative_trapezoid
from funcgrad.scipy.integrate._samples import fixed_quad as fixed_quad
from funcgrad.scipy.integrate._samples import romb as romb
from funcgrad.scipy.integrate._samples import simpson as simpson

__all__ = [
    "cumulative_simpson",
    "cumulative_trapezoid",
    "fixed_quad",
    "odeint",
    "quad",
    "romb",
    "simpson",
    "solve_ivp",
    "trapezoid",
]

__dir__ = publish(__name__)
