"""The differences that are meant, or have a reason beyond this library: the exceptions of ``make own-tests``."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Any, NamedTuple


class Known(NamedTuple):
    """Differences with one reason.

    Args:
        functions: patterns of names, with spaces between them.
        reason: why they differ.
        kinds: of differences (``value``, ``dtype``, ``shape``, ``structure``, ``refusal``, ``crash``, ``error``,
            ``answer``, ``time``), with spaces between them; all by default.
        ways: ``eager``, ``numpy``, ``xla``, ``derivative``; all by default.
        text: a regular expression that the text of the difference has to match.
        call: one that the arguments have to match.
    """

    functions: str
    reason: str
    kinds: str = ""
    ways: str = ""
    text: str = ""
    call: str = ""

    def covers(self, line: dict[str, Any]) -> bool:
        """Whether it is the reason of a difference."""
        return (
            any(fnmatchcase(line["function"], pattern) for pattern in self.functions.split())
            and (not self.kinds or line["kind"] in self.kinds.split())
            and (not self.ways or line["way"] in self.ways.split())
            and re.search(self.text, line["text"]) is not None
            and re.search(self.call, line["call"]) is not None
        )


KNOWN = (
    # What traced values are.
    Known(
        "*",
        "Under jit only shapes and dtypes are known; what depends on numbers is refused by name.",
        kinds="refusal",
        ways="numpy xla",
        text=r"^(Concretization|NonConcreteBooleanIndex|TracerBoolConversion|TracerIntegerConversion)\w*Error",
    ),
    Known(
        "numpy.histogram* numpy.searchsorted numpy.digitize numpy.cov numpy.place numpy.put scipy.linalg.*",
        "Under jit a check that needs numbers is not made.",
        kinds="answer",
        ways="numpy xla",
    ),
    Known(
        "numpy.linalg.* scipy.linalg.* scipy.special.*",
        "A program on XLA cannot stop: what has no answer is NaN or infinite.",
        kinds="answer",
        ways="xla",
        text="^(LinAlgError|SpecialFunctionError)",
    ),
    Known(
        "numpy.array numpy.asarray numpy.asanyarray numpy.ascontiguousarray numpy.asfortranarray numpy.require",
        "NumPy does not ask traced values here, and makes arrays of objects; fnp.asarray has all arguments.",
        kinds="refusal crash dtype",
    ),
    Known(
        "numpy.asarray_chkfinite",
        "NumPy makes an array of objects, and checks none of them.",
        kinds="answer",
    ),
    Known(
        "numpy.full numpy.full_like",
        "NumPy writes the traced number into a plain array; fnp.full has it.",
        kinds="refusal crash",
    ),
    Known(
        "numpy.arange numpy.bartlett numpy.blackman numpy.hamming numpy.hanning numpy.kaiser numpy.linspace numpy.ones "
        "numpy.zeros numpy.eye numpy.tri numpy.identity numpy.empty numpy.indices",
        "The traced argument is a shape, or a number of elements.",
        kinds="refusal crash dtype",
    ),
    Known(
        "numpy.isscalar",
        "A traced number stands for an array without axes as well.",
        kinds="value",
    ),
    Known(
        "numpy.empty_like numpy.empty",
        "Values that nobody wrote.",
        kinds="value",
    ),
    Known(
        "ndarray.ravel ndarray.flatten ndarray.copy numpy.ravel numpy.copy numpy.nditer numpy.reshape ndarray.reshape",
        "Under jit nobody knows how the argument will lie in memory: it counts as laid out by rows.",
        kinds="value",
        ways="numpy xla",
        call="'[KAka]'",
    ),
    Known(
        "ndarray.astype numpy.astype numpy.cumsum numpy.cumprod numpy.sum numpy.prod numpy.mean",
        "XLA has no long doubles, and no structures.",
        kinds="crash",
        ways="xla",
        text="JAX only supports number",
    ),
    Known(
        "*",
        "Dates, text, objects and structures carry no derivative: they are refused by name.",
        kinds="refusal",
        text="^ForeignArrayError",
    ),
    Known(
        "operator.pow operator.truediv operator.floordiv operator.mod operator.mul operator.add",
        "A Python number under a transform computes as NumPy's: NaN or infinity, no exception, no complex number.",
        kinds="dtype answer value",
        text="complex128|ZeroDivisionError|OverflowError",
        call=r"^-?[\d.e+-]+, -?[\d.e+-]+$",
    ),
    Known(
        "scipy.linalg.funm scipy.linalg.logm scipy.linalg.sqrtm scipy.linalg.fractional_matrix_power",
        "The numbers decide in SciPy whether the result is complex; here the dtype does.",
        kinds="dtype",
    ),
    Known(
        "scipy.spatial.distance.*",
        "SciPy's test metrics have other names, and are refused as unknown ones.",
        kinds="error",
        text="unknown distance metric: test_",
    ),
    Known(
        "scipy.stats.beta.ppf scipy.stats.beta.isf",
        "SciPy's library raises beyond its range, and ours is NaN or infinite.",
        kinds="answer",
        text="^OverflowError",
    ),
    Known(
        "scipy.signal.deconvolve",
        "SciPy returns an empty list where the divisor is the longer one.",
        kinds="structure",
    ),
    # Where NumPy leaves the answer open.
    Known(
        "*argpartition *argsort numpy.partition ndarray.partition",
        "NumPy does not say in which order equal elements come.",
        kinds="value",
    ),
    Known(
        "*.eig *.eigh *.svd scipy.linalg.eig_banded scipy.linalg.eigh_tridiagonal scipy.linalg.schur scipy.linalg.orth "
        "scipy.linalg.null_space",
        "Eigenvectors and singular vectors have a sign, or a phase, that SciPy's driver chooses.",
        kinds="value",
        ways="eager numpy xla",
        text=r"at \(\d+, \d+",
    ),
    Known(
        "scipy.linalg.cho_factor scipy.linalg.cholesky_banded",
        "Nobody reads the other triangle, nor the corners of the bands: they are 0 here.",
        kinds="value",
    ),
    Known(
        "scipy.linalg.*",
        "Which of LAPACK's drivers computes it is not chosen here.",
        kinds="answer",
        text="driver|can only be used when|gvx|Possible values are",
    ),
    # Derivatives.
    Known(
        "numpy.linalg.eigvals scipy.linalg.eigvals",
        "Equal eigenvalues have no derivative of their own.",
        kinds="value",
        ways="derivative",
    ),
    Known(
        "scipy.linalg.inv scipy.linalg.solve",
        "One triangle is read, and the derivative is that of the Hermitian matrix, by all elements.",
        kinds="value",
        ways="derivative",
        call="assume_a",
    ),
    Known(
        "*.cholesky *.eigh *.eigvalsh *.cho_factor *.cho_solve *.pinvh",
        "One triangle is read, and the derivative is that of the Hermitian matrix, by all elements.",
        kinds="value",
        ways="derivative",
    ),
    Known(
        "numpy.std numpy.nanstd ndarray.std",
        "The derivative of the square root is infinite where the variance is 0.",
        kinds="value",
        ways="derivative",
    ),
    Known(
        "numpy.arccos* numpy.acos* numpy.arcsin* numpy.asin* numpy.arctanh numpy.atanh",
        "At a branch point the derivative is infinite, and of complex numbers NaN.",
        kinds="value",
        ways="derivative",
        text="^nan for",
    ),
    Known(
        "scipy.* numpy.nextafter numpy.spacing",
        "There is no rule for the derivative by this argument; the error names it.",
        kinds="refusal",
        text="^NotDifferentiableError",
    ),
    # Refused by name, with the way out.
    Known(
        "scipy.linalg.*",
        "The error names the option, or the shape, that has no derivative here.",
        kinds="refusal crash",
        text="has no derivative here|needed square matrices",
    ),
    Known(
        "scipy.stats.*",
        "There are mean and variance; distributions are of real numbers.",
        kinds="refusal",
        text="the moments '|distributions are of real numbers",
    ),
    Known(
        "scipy.ndimage.*",
        "Results are new arrays.",
        kinds="refusal",
        text="output was given",
    ),
    Known(
        "numpy.lib.stride_tricks.as_strided",
        "A traced array has no memory of its own.",
        kinds="refusal",
    ),
    Known(
        "numpy.convolve numpy.correlate",
        "A mode that is no text is refused as an unknown one.",
        kinds="error",
        text="mode is None",
    ),
    Known(
        "*",
        "NumPy computes it by LAPACK; funcgrad.numpy has the function.",
        kinds="refusal",
        text="NumPy computes it by LAPACK",
    ),
    Known(
        "scipy.special.*",
        "The function is here for real numbers.",
        kinds="refusal",
        text="an operand is complex",
    ),
    Known(
        "*",
        "An option that is not here is refused by its name, with what to write instead.",
        kinds="refusal",
        text=r"^UnsupportedFunctionError: [\w.]+: (the option|exact=|where= without)",
    ),
    Known(
        "scipy.linalg.pinv scipy.linalg.pinvh scipy.linalg.solve_circulant",
        "A cutoff in the units of the matrix, and a solution for singular matrices, have no derivative here.",
        kinds="refusal",
        text="has no derivative here",
    ),
    Known(
        "scipy.stats.*",
        "There is no formula for it; the error names those that there are.",
        kinds="refusal",
        text="has no formula for it",
    ),
    Known(
        "numpy.*.at",
        "Which of the traced indices meet in one place is not known.",
        kinds="refusal",
        text="the indices are traced",
    ),
    Known(
        "numpy.apply_along_axis",
        "The function that is applied writes into a plain array, or asks for the bits of a traced one.",
        kinds="refusal",
    ),
    Known(
        "numpy.trim_zeros",
        "Of several axes the limits are found from plain values.",
        kinds="crash",
        text="needed a vector",
    ),
    Known(
        "scipy.special.polygamma",
        "The order is one number: it decides which function it is.",
        kinds="crash",
        text="needed an integer",
    ),
)
