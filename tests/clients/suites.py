"""The suites that are run: the places of their tests, the selected tests, and known differences."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Suite:
    """The tests of a package.

    ``differs`` has the tests that pass with autograd only, each with the reason; ``proof`` says whether others fail the
    run.
    """

    package: str
    version: str
    options: tuple[str, ...] = ()
    # Folders and files with tests, relative to the source.
    tests: tuple[str, ...] = ("tests",)
    # The repository with the tests, if the source distribution has none, and the name of the release there.
    repository: str | None = None
    tag: str = "v{version}"
    differs: dict[str, str] = field(default_factory=dict)
    proof: bool = True


_EIGH = "autograd puts the derivative into the triangle that is read, and differences vary both"
_DEPRECATED = "a way of declaring rules that autograd itself warns of"
_WHERE = "np.where of Python's numbers is an array, as NumPy's"
_NO_RULE = "the error of a rule that declares too little; here functions keep their own derivatives"
_WORDS = "the words of autograd's own messages and docstrings"

SUITES = {
    suite.package: suite
    for suite in (
        Suite(
            "pymanopt",
            "2.2.1",
            # Backends of other libraries, and tests that only TensorFlow can run.
            options=(
                *(f"--ignore=tests/backends/test_{name}.py" for name in ("jax", "pytorch", "tensorflow")),
                "--ignore=tests/test_problem.py",
                "-k not tensorflow and not pytorch and not jax",
            ),
        ),
        Suite(
            "reliability",
            "0.9.0",
            differs={
                "test_Fit_Exponential_Power": "where an optimizer stops on a ridge of nearly equal likelihoods; values "
                "and derivatives are autograd's to 15 digits, and for two of four other orders of the data autograd "
                "stops elsewhere too",
            },
        ),
        Suite(
            "pyerrors",
            "2.17.0",
            options=("--ignore=tests/benchmark_test.py",),
            repository="https://github.com/fjosw/pyerrors",
        ),
        Suite(
            "lifelines",
            "0.30.3",
            tests=("lifelines/tests/test_estimation.py",),
            # The fits that use derivatives. Those of the whole file take ten times as long.
            options=("-k TestWeibullFitter or TestLogNormalFitter or TestLogLogisticFitter or TestExponentialFitter",),
        ),
        Suite(
            "surpyval",
            "0.25",
            # A sample of thousands of tests: functions declared for autograd, and fits that use them.
            tests=(
                "surpyval/tests/test_autograd_gamma_compat_shapes.py",
                *(
                    f"surpyval/tests/univariate/parametric/test_{name}.py"
                    for name in ("censored_hessian", "tail_forms", "regressions", "fixed", "mps")
                ),
            ),
        ),
        Suite(
            "ceviche",
            "0.1.3",
            tests=("tests/test_primitives.py",),
            repository="https://github.com/fancompute/ceviche",
        ),
        # Its wheel has a package named tests, which would hide this one: it runs from its source, and is not installed.
        Suite("grcwa", "0.1.2"),
        Suite("legume-gme", "1.0.3", repository="https://github.com/fancompute/legume"),
        Suite("mici", "0.4.1", tests=("tests/test_autodiff.py",)),
        # It runs reverse mode by autograd's own parts: VJPNode, new_box and backward_pass.
        Suite(
            "pymoo",
            "0.6.2",
            tests=("tests/gradients",),
            repository="https://github.com/anyoptimization/pymoo",
            tag="{version}",
        ),
        Suite(
            "lifetimes",
            "0.11.3",
            tests=("tests/test_estimation.py",),
            options=("-k BetaGeo or ParetoNBD",),
            repository="https://github.com/CamDavidsonPilon/lifetimes",
        ),
        Suite(
            "paragami",
            "0.42",
            tests=("paragami/tests",),
            repository="https://github.com/rgiordan/paragami",
            differs={"test_slogdet_3d": _NO_RULE},
        ),
        Suite("vittles", "0.173", tests=("vittles/tests",), repository="https://github.com/rgiordan/vittles"),
        Suite(
            "autograd",
            "1.9.1",
            # These tests read autograd's own tables of rules, vector spaces and graphs.
            options=tuple(f"--ignore=tests/test_{name}.py" for name in ("logic", "misc", "vspaces")),
            differs={
                **dict.fromkeys(
                    [
                        f"test_eigvalh_{triangle}{kind}"
                        for triangle in ("lower", "upper")
                        for kind in ("", "_broadcasting", "_complex")
                    ],
                    _EIGH,
                ),
                **dict.fromkeys(
                    [f"test_deprecated_{name}_wrapper" for name in ("defgrad", "defvjp", "defvjp_is_zero")], _DEPRECATED
                ),
                "test_deprecated_quick_grad_check_wrapper": _DEPRECATED,
                "test_custom_where": _WHERE,
                "test_custom_where_dtypes[int-True-1-2]": _WHERE,
                "test_custom_where_dtypes[float-True-3.0-4.0]": _WHERE,
                "test_custom_where_dtypes[float-False-1-2.0]": _WHERE,
                "test_custom_where_dtypes[list-True-x3-y3]": _WHERE,
                "test_wrapped_name_and_docs": _WORDS,
                "test_check_vjp_1st_order_fail": _WORDS,
                "test_check_vjp_2nd_order_fail": "the planted error is in the derivative by the cotangent",
                "test_assignment_raises_error": "x[i] = v is taken",
                **dict.fromkeys(["test_erf", "test_erfc"], "of complex numbers it is refused by name"),
                "test_mvn_sing_cov": "the density by a singular matrix is refused by name",
                "test_odeint": "second differences of a solution with SciPy's default tolerance, 1.5e-8",
                "test_rfftn_odd_not_implemented": "odd lengths are taken",
                "test_pinv": "calls a private function, np.linalg._dot",
                "test_std": "the derivative at equal numbers is NaN, as JAX's",
            },
            proof=False,
        ),
    )
}
