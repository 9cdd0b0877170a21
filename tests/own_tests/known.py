"""The differences that are meant, or have a reason beyond this library: the exceptions of ``make own-tests``."""

from __future__ import annotations

from tests.own_tests.known_scipy import KNOWN_OF_SCIPY
from tests.own_tests.reasons import Known

KNOWN = (
    # Properties of traced values.
    Known(
        "*",
        "Under jit only shapes and dtypes are known; what depends on numbers is refused by name.",
        kinds="refusal",
        ways="numpy xla",
        text=r"^(Concretization|NonConcreteBooleanIndex|TracerBoolConversion|TracerIntegerConversion)\w*Error",
    ),
    Known(
        "numpy.histogram* numpy.searchsorted numpy.digitize numpy.cov numpy.place numpy.put scipy.linalg.* "
        "scipy.interpolate.make_interp_spline",
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
        "ndarray.astype ndarray.sum ndarray.prod ndarray.mean numpy.astype numpy.cum* numpy.sum numpy.prod numpy.mean",
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
        "numpy.* ndarray.*",
        "A list of traced numbers is an array of objects, for which NumPy's elementwise functions have no loop.",
        kinds="crash",
        text="not supported for the input types|has no attribute 'arctan2'",
    ),
    Known(
        "*",
        "A plain array cannot hold a traced value, nor an array of integers a derivative.",
        kinds="refusal",
        text="^(TracerAssignment|TracerArrayConversion)Error",
    ),
    Known(
        "operator.*",
        "A subclass of a Python number that a test defines is no number here.",
        kinds="crash",
        text="a myt arrived",
    ),
    Known(
        "operator.getitem",
        "A dictionary finds traced numbers by identity, or refuses them as keys.",
        kinds="crash refusal",
        text="^KeyError|hash.. was asked of a value",
    ),
    Known(
        "numpy.invert",
        "The test makes a mask of bytes that are neither 0 nor 1.",
        kinds="value",
        ways="xla",
        call="where=",
    ),
    Known(
        "numpy.nanargmax numpy.nanargmin numpy.ravel_multi_index ndarray.take",
        "Under jit a check that needs numbers is not made.",
        kinds="answer",
        ways="numpy xla",
    ),
    Known(
        "numpy.linalg.lstsq scipy.linalg.lstsq",
        "Under jit the rank is not known, and SciPy's driver 'gelsy' gives no residuals.",
        kinds="shape",
        text=r"\[0\]$",
    ),
    Known(
        "numpy.linalg.lstsq",
        "Without a cutoff a matrix of lower rank has no definite solution.",
        kinds="value",
        call="rcond=-1",
    ),
    Known(
        "numpy.linalg.det numpy.linalg.slogdet scipy.linalg.det",
        "LAPACK takes some matrices with NaN for singular ones, and the determinant for 0; ours is NaN.",
        kinds="value",
        text="^nan|^np.float64.nan",
    ),
    Known(
        "numpy.polydiv",
        "Under jit leading zeros stay.",
        kinds="shape",
        ways="numpy xla",
    ),
    Known(
        "numpy.clip",
        "Where value and bounds are equal they share the derivative.",
        kinds="value",
        ways="derivative",
    ),
    Known(
        "numpy.lib.stride_tricks.sliding_window_view",
        "Windows of a traced array cannot be written to.",
        kinds="crash",
        text="writeable=True was given",
    ),
    Known(
        "numpy.ix_",
        "There is no rule, and the error names the function.",
        kinds="refusal",
        text="no derivative rules for this function",
    ),
    # Cases for which NumPy does not define the answer.
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
    # Derivatives.
    Known(
        "numpy.linalg.eigvals scipy.linalg.eigvals",
        "Equal eigenvalues have no derivative of their own.",
        kinds="value",
        ways="derivative",
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
        "*",
        "An option that is not here is refused by its name, with what to write instead.",
        kinds="refusal",
        text=r"^UnsupportedFunctionError: [\w.]+: (the option|exact=|where= without)",
    ),
    Known(
        "numpy.*.at",
        "It is not known which of the traced indices are equal.",
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
        "numpy.empty_like numpy.full",
        "NumPy does not ask traced values here, and makes arrays of objects; fnp.full has the value.",
        kinds="dtype",
        text="^object",
    ),
    Known(
        "numpy.place",
        "Under jit the mask is not known, so that there has to be a value.",
        kinds="crash",
        ways="numpy xla",
        text="insert from an empty array",
    ),
    Known(
        "numpy.choose ndarray.choose",
        "The choices are stacked, which takes an axis more.",
        kinds="crash error",
        text="only supports up to",
    ),
    Known(
        "numpy.apply_along_axis",
        "The function that is applied, of SciPy's, has no rule and looks for numbers in an array of objects.",
        kinds="crash",
        text="`ps` must include only numbers",
    ),
    Known(
        "ndarray.astype",
        "A staged number has the byte order of the machine.",
        kinds="dtype",
        ways="numpy",
        text="float64",
    ),
    Known(
        "ndarray.astype",
        "C leaves open which integer a float out of its range becomes.",
        kinds="value",
        ways="xla",
    ),
    Known(
        "numpy.maximum* numpy.minimum* numpy.fmax* numpy.fmin*",
        "NumPy makes an array of objects, in which NaN would be lost: the call is refused.",
        kinds="refusal crash dtype",
        text="met a list or an array of objects|^float(16|32)",
    ),
    Known(
        "numpy.broadcast_to numpy.ldexp numpy.lexsort",
        "A number, or a shape, beyond what fits, and keys that are one vector.",
        kinds="crash",
        text="Unable to allocate|out of bounds for int32|axis -1 is out of bounds for array of dimension 0",
    ),
    Known(
        "numpy.linspace",
        "The step underflows in float16, and NumPy then divides first.",
        kinds="value",
        call="float16",
    ),
    Known(
        "operator.getitem",
        "Of a slice and a number that are floats NumPy refuses the number first.",
        kinds="error",
        text="'float' object cannot be interpreted as an integer",
    ),
    Known(
        "operator.mul",
        "A list times a traced number is an array times a number.",
        kinds="answer",
    ),
    Known(
        "numpy.stack numpy.reshape ndarray.compress",
        "NumPy refuses a combination of options that has one meaning.",
        kinds="answer",
        text="both were provided|an integer is required|to dtype.'int64'. according to the rule 'safe'",
    ),
    Known(
        "ndarray.choose",
        "NumPy casts a float into an integer out= here, and nowhere else.",
        kinds="crash",
        text="according to the rule 'same_kind'",
    ),
    Known(
        "ndarray.astype",
        "The cotangent is of the swapped byte order, which the comparison does not make.",
        kinds="refusal",
        ways="derivative",
        text="needed float64",
    ),
    Known(
        "ndarray.mean",
        "NumPy cuts a mean to the integers of out= alone, whatever the casting; here the cast is refused.",
        kinds="crash",
        text="according to the rule 'same_kind'",
    ),
    Known(
        "numpy.array",
        "A list of many traced arrays becomes an array of objects, element by element.",
        kinds="time",
    ),
    # SciPy's functions.
    *KNOWN_OF_SCIPY,
)
