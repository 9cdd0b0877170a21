"""Every error class is raised once by a user's mistake, its message says what to do, and then all works as before."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, cast

import jax
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import errors, extend
from funcgrad._core.bind import active_trace
from funcgrad._transforms.compiled import size

X = np.array([1.0, 2.0])
RNG = np.random.default_rng(0)
LONG = np.ones(5000)


def loss(x: Any) -> Any:
    return np.sum(x * x)


def assign(x: Any) -> Any:
    counts = np.zeros_like(x, dtype=int)
    counts[0] = x[0]
    return np.sum(counts)


def leak() -> Any:
    kept: list[Any] = []
    fg.grad(lambda x: kept.append(x * 2.0) or np.sum(x * x))(X)
    return kept[0] + 1.0


def object_array(x: Any) -> Any:
    return np.sum(np.array([x[1], x[0]]) ** 2)


PARAMS = {"weight": X, "bias": np.float64(0.5)}
TABLE = [1.0, 10.0, 100.0]
OWN_UFUNC = np.frompyfunc(lambda x: 2 * x, 1, 1)


def sgd(grads: Any, **options: Any) -> Any:
    return fg.sgd_update(grads, fg.sgd_init(PARAMS, lr=0.1, **options), PARAMS)


def centre() -> Any:
    """A step that reads the mean of the gradient, declared elementwise."""

    def step(p: Any, g: Any, slots: Any, hyper: Any, t: Any) -> Any:
        return p - hyper.lr * (g - np.mean(g)), {}

    _, init, update, _ = extend.optimizer(extend.Rule("centred", (extend.Number("lr", 0.1),), (), step))
    return update(X, init(X), X)


Mistake = tuple[Callable[[], Any], type[BaseException], str]


def _watched(f: Any, *args: Any) -> Any:
    with np.errstate(all="ignore"), fg.debug_nans():
        return f(*args)


MISTAKES: dict[str, Mistake] = {
    "jacfwd by an integer": (
        lambda: fg.jacfwd(lambda a, n: a * n, argnums=1)(1.0, np.arange(2)),
        errors.NotDifferentiableError,
        r"jacfwd: a derivative was asked by argument 1 \(n\) of <lambda>. It has dtype int64 \(i64\[2\]\)",
    ),
    "a masked array": (
        lambda: fg.grad(lambda x: np.sum(np.multiply(x, np.ma.masked_array([1.0, 2.0], [False, True]))))(X),
        errors.ForeignArrayError,
        r"a numpy\.ma\.MaskedArray met a traced value.*leaves out what its mask says.*np\.where\(np\.ma\.getmaskarray",
    ),
    "a traced value as text": (
        lambda: fg.grad(lambda x: x.astype(str))(X),
        errors.ForeignArrayError,
        r"a traced value f64\[2\] was to become an array of dtype str.*under grad",
    ),
    "a minimum at a kink": (
        lambda: fg.grad(lambda a: fg.scipy.optimize.fminbound(lambda x: abs(x * x - a), 0, 3))(2.0),
        errors.ImplicitRuleError,
        r"minimize_scalar: the derivative of the minimizer .*gradient does not vanish there: it is 2\.8.*root finder",
    ),
    "a graph that reads what nothing defines": (
        lambda: fg.Graph([], [], [], [fg.extend.Var(fg.extend.Aval((), np.dtype(float)))]),
        errors.GraphError,
        r"graph graph: its outputs read a variable f64\[\] that nothing assigns before",
    ),
    "a rule that is elementwise and takes a mean": (
        centre,
        errors.RuleError,
        r"centred_update: the step applies reduce_sum in .*declared elementwise.*elementwise=False",
    ),
    "a NumPy array at a traced index": (
        lambda: fg.scan(lambda c, i: (c + X[i], None), 0.0, np.arange(2)),
        errors.TracerArrayConversionError,
        r"an index was asked of a value i64\[\]: a plain NumPy array .* under scan.*Write funcgrad.numpy.take\(array",
    ),
    "a NumPy array at traced indices": (
        lambda: fg.vmap(lambda i: np.ones((3, 2))[0, i])(np.array([[0, 1]])),
        errors.TracerArrayConversionError,
        r"an index was asked of a value i64\[2\].*under vmap.*make the array an argument",
    ),
    "np.take at a traced index": (
        lambda: fg.jit(lambda i: np.take(X, i), engine="numpy")(1),
        errors.TracerArrayConversionError,
        r"dtype int64.*under jit.*call the function of fnp: fnp.take",
    ),
    "jvp without tuples": (
        lambda: fg.jvp(np.sin, cast(Any, 1.0), (1.0,)),
        TypeError,
        r"jvp: primals is a float; needed a tuple with one for each positional argument of sin",
    ),
    "float of a tracer": (
        lambda: fg.grad(lambda x: float(x) * x)(2.0),
        errors.ConcretizationTypeError,
        r"float\(\) was asked of a value f64\[\] at .*:\d+, and under grad.*fg\.stop_gradient",
    ),
    "int of a tracer": (
        lambda: fg.vmap(lambda x: int(x) * x)(X),
        errors.ConcretizationTypeError,
        r"int\(\) was asked of a value f64\[\] at .*:\d+, and under vmap it stands for one value per element",
    ),
    "complex of a tracer": (
        lambda: fg.grad(lambda x: abs(complex(x)))(2.0),
        errors.ConcretizationTypeError,
        r"complex\(\) was asked of a value f64\[\]",
    ),
    "item of a tracer": (
        lambda: fg.grad(lambda x: np.sum(x) * x[0].item())(X),
        errors.ConcretizationTypeError,
        r"item\(\) was asked of a value f64\[\].*fg\.stop_gradient",
    ),
    "math.sin of a tracer": (
        lambda: fg.grad(lambda x: math.sin(x) * x)(2.0),
        errors.ConcretizationTypeError,
        r"value f64\[\] at .*, and under grad",
    ),
    "float under jvp": (
        lambda: fg.jvp(lambda x: float(x) * x, (2.0,), (1.0,)),
        errors.ConcretizationTypeError,
        r"value f64\[\] at .*, and under jvp",
    ),
    "float under jit": (
        lambda: fg.jit(lambda x: float(x) * x)(2.0),
        errors.ConcretizationTypeError,
        r"value f64\[\] at .*, and under jit only its shape and dtype are known\. .*static_argnums",
    ),
    "branch under jit": (
        lambda: fg.jit(lambda x: x if x > 0 else -x)(2.0),
        errors.TracerBoolConversionError,
        r"np\.where|static_argnums",
    ),
    "branch under jit on numpy": (
        lambda: fg.jit(lambda x: x if x > 0 else -x, engine="numpy")(2.0),
        errors.TracerBoolConversionError,
        r"np\.where|static_argnums",
    ),
    "asarray of a long tracer": (
        lambda: fg.grad(lambda x: np.sum(np.asarray(x) ** 2))(LONG),
        errors.TracerArrayConversionError,
        r"f64\[5000\].*fnp\.asarray",
    ),
    "list index under jit": (
        lambda: fg.jit(lambda i, x: TABLE[i] * x)(1, 2.0),
        errors.TracerIntegerConversionError,
        r"static_argnums",
    ),
    "mask under jit": (
        lambda: fg.jit(lambda x: np.sum(x[x > 0]))(X),
        errors.NonConcreteBooleanIndexError,
        r"np\.where",
    ),
    "leaked tracer": (leak, errors.UnexpectedTracerError, r"has ended.*Return the value"),
    "assignment": (
        lambda: fg.grad(assign)(X),
        errors.TracerAssignmentError,
        r"would be cut.*Make the array of a float dtype",
    ),
    "out=": (
        lambda: fg.grad(lambda x: np.sum(np.add(x, 1.0, out=np.zeros(2))))(X),
        errors.TracerAssignmentError,
        r"numpy\.add: out=.*like=x.*[uU]se the returned value",
    ),
    "vector loss": (
        lambda: fg.grad(lambda x: x * x)(X),
        errors.NonScalarOutputError,
        r"must return a scalar\. Its output is f64\[2\]; needed .*np\.sum",
    ),
    "loss in a tree": (
        lambda: fg.grad(lambda x: {"loss": x * x})(X),
        errors.NonScalarOutputError,
        r"output \['loss'\] is f64\[2\]",
    ),
    "complex loss": (
        lambda: fg.grad(lambda z: z * z)(1.0 + 2j),
        errors.NonScalarOutputError,
        r"c128\[\].*np\.real or np\.abs",
    ),
    "no loss": (lambda: fg.grad(lambda x: None)(X), errors.NonScalarOutputError, r"must return a scalar"),
    "integer argument": (
        lambda: fg.grad(lambda x, n: x * n, argnums=1)(2.0, 3),
        errors.NotDifferentiableError,
        r"argument 1 \(n\) of <lambda>\. It has dtype int64",
    ),
    "integer leaf": (
        lambda: fg.grad(lambda p: np.sum(p["w"]))({"w": X, "n": np.arange(3)}),
        errors.NotDifferentiableError,
        r"argument 0 \(p\) of <lambda> at \['n'\]\. It has dtype int64 \(i64\[3\]\)",
    ),
    "boolean argument": (lambda: fg.jvp(lambda x: x, (True,), (True,)), errors.NotDifferentiableError, "dtype bool"),
    "string argument": (lambda: fg.grad(lambda x: 1.0)("text"), TypeError, r"argument 0 \(x\) of <lambda> is a str"),
    "a function we lack": (
        lambda: fg.grad(lambda x: np.sum(np.busday_count(x, x)))(X),
        errors.UnsupportedFunctionError,
        r"numpy\.busday_count: it met a traced array.*dir\(funcgrad\.numpy\).*fg\.custom_vjp, around fg\.call_numpy",
    ),
    "a function of JAX": (
        lambda: fg.grad(lambda x: jax.numpy.sum(x))(X),
        errors.UnsupportedFunctionError,
        r"^a jax\.numpy function met a traced value f64\[2\].*Use numpy or funcgrad\.numpy here",
    ),
    "an operator of JAX's functions": (
        lambda: fg.grad(lambda x: jax.numpy.add(x, 1.0).sum())(X),
        errors.UnsupportedFunctionError,
        r"a jax\.numpy function met a traced value f64\[2\]",
    ),
    "a ufunc we lack": (
        lambda: fg.grad(lambda x: np.sum(OWN_UFUNC(x)))(X),
        errors.UnsupportedFunctionError,
        r"no derivative rules for this function.*fg\.custom_vjp",
    ),
    "a ufunc method we lack": (
        lambda: fg.grad(lambda x: np.sum(np.power.reduce(x)))(X),
        errors.UnsupportedFunctionError,
        r"power\.reduce",
    ),
    "an option we lack": (
        lambda: fg.grad(lambda x: np.sum(np.exp(x, where=np.array([True, False]))))(X),
        errors.UnsupportedFunctionError,
        r"numpy\.exp: where= without out=",
    ),
    "cotangent of another structure": (
        lambda: fg.vjp(lambda x: (x, x), X)[1](X),
        errors.TreeMismatchError,
        r"cotangent passed to the pullback of <lambda> has structure",
    ),
    "cotangent of another shape": (
        lambda: fg.vjp(loss, X)[1](X),
        errors.TreeMismatchError,
        r"is f64\[2\]; needed f64\[\]",
    ),
    "tangent of another dtype": (
        lambda: fg.jvp(loss, (X,), (X + 1j,)),
        errors.TreeMismatchError,
        r"tangent of argument 0 \(x\) of loss is c128\[2\]; needed f64\[2\]",
    ),
    "missing tangent": (lambda: fg.jvp(loss, (X,), ()), errors.TreeMismatchError, r"1 primals and 0 tangents"),
    "gradients of another structure": (lambda: sgd({"weight": X}), errors.TreeMismatchError, r"bias"),
    "gradient of another shape": (
        lambda: sgd({"weight": np.ones(3), "bias": np.float64(1)}),
        errors.TreeMismatchError,
        r"weight.*f64\[3\].*f64\[2\]",
    ),
    "negative learning rate": (
        lambda: fg.sgd_init(PARAMS, lr=-0.1),
        errors.HyperparameterError,
        r"Invalid learning rate: -0\.1",
    ),
    "negative momentum": (
        lambda: fg.sgd_init(PARAMS, lr=0.1, momentum=-1.0),
        errors.HyperparameterError,
        r"Invalid momentum value: -1\.0",
    ),
    "negative weight decay": (
        lambda: fg.sgd_init(PARAMS, lr=0.1, weight_decay=-1.0),
        errors.HyperparameterError,
        r"Invalid weight_decay value: -1\.0",
    ),
    "NaN learning rate": (
        lambda: fg.sgd_init(PARAMS, lr=math.nan),
        errors.HyperparameterError,
        r"Invalid learning rate: nan",
    ),
    "nesterov without momentum": (
        lambda: fg.sgd_init(PARAMS, lr=0.1, nesterov=True),
        errors.HyperparameterError,
        r"Nesterov momentum requires a momentum and zero dampening",
    ),
    "gradient in rows": (
        lambda: fg.optim.adam_update(fg.sparse.Rows(np.array([0]), X[:1], X.shape), fg.optim.adam_init(X), X),
        errors.SparseGradientError,
        r"the gradient of params is sparse: Adam does not support sparse gradients, please consider SparseAdam instead",
    ),
    "a derivative cut off": (
        lambda: fg.check_grads(lambda x: x * fg.stop_gradient(x), (3.0,)),
        errors.GradientMismatchError,
        r"order 1, fwd \(jvp\) of <lambda>, argument 0 \(x\) varied",
    ),
    "argument that is not there": (lambda: fg.grad(loss, argnums=2)(X), TypeError, r"argument 2 of loss"),
    "aux that is not there": (lambda: fg.grad(loss, has_aux=True)(X), TypeError, r"must return a pair \(value, aux\)"),
    "an infinity made of a zero": (
        lambda: _watched(fg.grad(np.log), 0.0),
        errors.NonFiniteError,
        r"debug_nans: log at .* made -inf of finite numbers, in 1 of 1 places, .* It read .*0\.0",
    ),
    "a file that is none of ours": (
        lambda: fg.load(__file__),
        errors.CheckpointError,
        r"test_errors_raised\.py: a checkpoint begins with a header. This file of \d+ bytes is .*of another kind",
    ),
    "a pattern of many elements": (
        lambda: fg.sparse.jacobian_pattern(np.cumsum, max_nonzeros=9)(np.ones(4)),
        errors.PatternSizeError,
        r"has 10 entries or more; needed at most 9 \(max_nonzeros\)",
    ),
    "unknown engine": (lambda: fg.jit(loss, engine="cuda"), ValueError, "engine is 'cuda'"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_mistake_is_named(name: str) -> None:
    call, error, message = MISTAKES[name]
    with pytest.raises(error, match=r"(?s)" + message):
        call()
    assert active_trace() is None
    np.testing.assert_array_equal(fg.grad(loss)(X), 2 * X)
    np.testing.assert_array_equal(fg.jit(fg.grad(loss), engine="numpy")(X), 2 * X)


def test_an_object_array_of_tracers_warns() -> None:
    with pytest.warns(errors.ObjectArrayWarning, match=r"np\.stack|fnp\.asarray"):
        gradient = fg.grad(object_array)(X)
    np.testing.assert_array_equal(gradient, 2 * X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fg.grad(lambda x: np.sum(fnp.asarray(x)))(X)


def test_drawing_from_numpys_generators_in_a_program_warns() -> None:
    with pytest.warns(errors.StagedRandomWarning, match=r"jit: .* drew random numbers from a numpy.random.Generator"):
        fg.jit(lambda x: x + RNG.normal(), engine="numpy")(X)


def test_a_program_of_thousands_of_equations_warns_once_for_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says where they are from; the NumPy engine has nothing against them."""
    monkeypatch.setattr(size, "MANY_EQUATIONS", 80)

    def unrolled(x: Any) -> Any:
        for _ in range(50):
            x = np.sin(x) * x
        return x

    compiled = fg.jit(unrolled)
    message = (
        r"jit: the program of unrolled has 100 equations, of which 100 come from test_errors_raised.py:\d+; .*fg.scan"
    )
    with pytest.warns(errors.LargeProgramWarning, match=message) as caught:
        compiled(X)
    assert [each.filename for each in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled(X[:1])
        fg.jit(unrolled, engine="numpy")(X)


def test_every_class_is_raised_above() -> None:
    names = (
        "HiddenDependenceWarning",
        "LargeProgramWarning",
        "ObjectArrayWarning",
        "PathsWarning",
        "StagedRandomWarning",
        "WideningWarning",
    )
    warned = {getattr(errors, name) for name in names}
    raised = {error for _, error, _ in MISTAKES.values()} | warned
    raised.add(errors.ProgramSizeError)  # in test_program_size.py
    assert {getattr(errors, name) for name in errors.__all__} - raised == set()
