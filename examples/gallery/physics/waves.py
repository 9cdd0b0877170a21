r"""
What lies below: waves that come back
=====================================

Knock on the ground, and listen at many places: from the echoes geophysicists compute what they cannot see (Tarantola, 1984). The waves are a textbook's leapfrog scheme, which writes into slices of an array; its gradient by the speed of sound in every cell is the echo, sent backward in time, and L-BFGS turns it into a picture of the ground.

What one learns: slices written under ``fg.scan``, one gradient by 2,400 unknowns at the price of a few simulations, ``fg.vmap`` over experiments.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.optimize import minimize
from tqdm import tqdm

import funcgrad as fg

ROWS, COLUMNS, STEPS = 40, 60, 260
CELL, DT = 10.0, 0.002  # metres, seconds

# %%
# The waves
# ---------
# Pressure obeys :math:`\ddot p = c^2 \nabla^2 p`. At the edges a layer soaks the waves up. A knock is Ricker's wavelet of 12 Hz just below the surface.

edge = np.minimum.reduce([ROWS - 1 - np.arange(ROWS)[:, None] + 0 * np.arange(COLUMNS), *np.broadcast_arrays(np.arange(COLUMNS), COLUMNS - 1 - np.arange(COLUMNS)[None, :])])
damping = np.exp(-((0.02 * np.maximum(0, 10 - edge)) ** 2))
t = DT * np.arange(STEPS) - 0.09
wavelet = (1 - 2 * (np.pi * 12 * t) ** 2) * np.exp(-((np.pi * 12 * t) ** 2))
sources = np.array([8, 22, 37, 51])
listeners = np.arange(4, 56, 2)


def leap(p, before, courant):
    laplacian = np.zeros_like(p)
    laplacian[1:-1, 1:-1] = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * p[1:-1, 1:-1]
    return damping * (2 * p - damping * before + courant * laplacian)


def record(speed, source):
    """What the listeners hear of one knock: f64[steps, listeners]."""
    courant = (speed * DT / CELL) ** 2

    def step(carry, knock):
        p, before = carry
        after = leap(p, before, courant)
        after[2, source] += knock
        return (after, p), after[2, listeners]

    silence = np.zeros((ROWS, COLUMNS))
    return fg.scan(step, (silence, silence), wavelet)[1]


# %%
# A hidden ground
# ---------------
# Rock is faster the deeper it lies; in it there are a lens of salt, faster, and a pocket of gas, slower. The speeds are in metres per second.

depth, along = np.mgrid[:ROWS, :COLUMNS]
layers = 1500 + 15.0 * depth
salt = ((along - 20) / 8) ** 2 + ((depth - 18) / 4) ** 2 < 1
gas = ((along - 42) / 5) ** 2 + ((depth - 24) / 4) ** 2 < 1
truth = gaussian_filter(layers + 500.0 * salt - 300.0 * gas, 1)
listen = fg.jit(fg.vmap(record, (None, 0)))
heard = np.asarray(listen(truth, sources))
heard = heard + 0.01 * heard.std() * np.random.default_rng(0).normal(size=heard.shape)


def misfit(scaled):
    speed = layers + 100 * scaled.reshape(ROWS, COLUMNS)
    error = fg.vmap(record, (None, 0))(speed, sources) - heard
    return np.sum(error**2) / np.sum(heard**2)


value_and_grad = fg.jit(fg.value_and_grad(misfit))
