# Every target makes .venv if it is missing and installs what it needs. Needed beforehand: Python 3.11+, pip's index.
#   make train ARGS="--engine numpy"      make test-all WORKERS=4 ARGS="tests/tree -x"      make fuzz SECONDS=600

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
ONE_IN ?= 15
ARGS ?=
LOWEST_TESTS ?= tests/_core tests/_engines tests/_transforms/compiled/test_jit.py tests/interop/test_jax.py tests/optim/test_rows.py \
	tests/laws/test_aliasing.py tests/laws/test_nesting.py tests/numpy/_layout/test_creation.py \
	tests/numpy/_math/test_elementwise.py tests/test_sharding.py tests/tree
TESTS_WITHOUT_JAX := tests/_core/trace tests/autograd/test_against_torch.py tests/autograd/test_methods.py \
	tests/autograd/test_views.py tests/interop/test_linear_operator.py tests/nn/test_loops.py \
	tests/numpy/_base/test_object_arrays.py tests/optim/test_blocks.py tests/tree/test_align.py tests/tree/test_flatten.py
SECONDS ?= 60
# Pinned: where a CPU build of this release is at hand, a plain range would pass it over for one with CUDA.
TORCH ?= torch==2.13.0

# The Pythons of this machine that funcgrad supports, free-threaded ones too.
PYTHONS ?= $(or $(strip $(foreach version,3.11 3.12 3.13 3.13t 3.14 3.14t,\
	$(if $(shell python$(version) --version 2>/dev/null),python$(version)))),$(PYTHON))

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check $(if $(PIP_PRE),--pre)
# Stretches of tests go to one worker: what neighbours share is computed once.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

.PHONY: help train gallery test test-all test-python test-long test-torch record test-lowest test-without-jax tails fuzz own-tests mutants lint format types docs docs-check package bench bench-watch npbench npbench-stored pyhpc array-api clients torch clean

# The text after "##" is the target's line.
help:
	@sed -n 's/^\([a-z-]*\):.*## /\1:/p' Makefile | while IFS=: read -r name text; do printf 'make %-18s%s\n' "$$name" "$$text"; done

train: $(VENV)/.has-examples ## train a classifier of handwritten digits
	$(BIN)/python examples/digits.py $(ARGS)

# All programs of the gallery, or some: make gallery ARGS="kalman_filter lens_design". Their pictures: examples/output/gallery.
gallery: $(VENV)/.has-examples ## run the programs of the gallery
	$(BIN)/python examples/run_gallery.py $(ARGS)

# Some tests start processes, and each worker imports all tests. Without bytecode each of these compiles the sources again.
test test-all test-long test-torch: export PYTHONDONTWRITEBYTECODE =

# In a fresh clone these take some three minutes on two cores, and all of them take twelve.
test: $(VENV)/.has-test ## run a sample of the tests: one in ONE_IN of each file
	$(PYTEST) -m "not long" --one-in $(ONE_IN) $(ARGS)

test-all: $(VENV)/.has-test ## run all tests but the long ones
	$(PYTEST) -m "not long" $(ARGS)

# In an environment of its own: make test-python PYTHON=python3.13 ARGS="tests/tree"
test-python: ## run test-all on another Python
	$(MAKE) test-all VENV=.venv-$(notdir $(PYTHON))

# Random programs, programs that are killed, and every rule once more under JAX and as compiled loops.
test-long: $(VENV)/.has-test ## run the long tests
	$(PYTEST) -m long tests $(ARGS)

# Plants faults into the package, one at a time, and counts those that the tests notice. make mutants ARGS="rolling".
mutants: $(VENV)/.has-test ## plant faults, and count those that the tests notice
	$(BIN)/python -m tests.mutants $(ARGS)

# Special functions and distributions in their tails beside mpmath: tests/tails/table.md. make tails ARGS="norm.logsf".
tails: $(VENV)/.has-test ## compare special functions and distributions in their tails with mpmath
	$(BIN)/python -m tests.tails $(ARGS)

test-torch: $(VENV)/.has-test $(VENV)/.has-torch ## run the tests that compare with PyTorch, with PyTorch itself
	$(PYTEST) -m "torch and not long" tests $(ARGS)

# PyTorch's answers to these tests, which are read where PyTorch is not installed: tests/*/recorded/*.json.
record: $(VENV)/.has-test $(VENV)/.has-torch ## record PyTorch's answers to these tests
	$(BIN)/python -m pytest --record -m "torch and not long" tests $(ARGS)

# Random programs with fresh seeds; what they find is printed as programs to paste.
fuzz: $(VENV)/.has-test ## run fresh random programs for SECONDS
	$(BIN)/python -m tests.laws.fuzz --seconds $(SECONDS) --workers $(WORKERS) $(ARGS)

# NumPy's and SciPy's own tests, each call of a public function made once more on traced values: make own-tests ARGS="numpy/linalg"
own-tests: $(VENV)/.has-test ## run NumPy's and SciPy's own tests through funcgrad
	$(BIN)/python -m tests.own_tests --workers $(WORKERS) $(ARGS)

test-lowest: .venv-lowest/.has-lowest ## run the core tests on the lowest releases that pyproject.toml allows
	.venv-lowest/bin/python -m pytest $(LOWEST_TESTS) $(ARGS)

test-without-jax: .venv-without-jax/.has-all-but-jax ## run the tests that need no JAX where JAX is not installed
	.venv-without-jax/bin/python -m pytest $(TESTS_WITHOUT_JAX) $(ARGS)

lint: $(VENV)/.has-test ## check the style
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m ruff check .

format: $(VENV)/.has-test ## format the code
	$(BIN)/python -m ruff format .
	$(BIN)/python -m ruff check --fix .

types: $(VENV)/.has-test ## check the types
	$(BIN)/python -m pyright --pythonpath $(BIN)/python

# The documentation, in build/docs/html. A warning is an error, and so is a link that leads nowhere within the site.
docs: $(VENV)/.has-docs ## build the documentation in build/docs/html
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d build/docs/doctrees $(WITHOUT_RUNNING) docs build/docs/html $(ARGS)
	$(BIN)/python docs/_site/links.py build/docs/html
	@echo "build/docs/html/index.html"

# The same in less time, and without pictures of the gallery. `make docs` and `make gallery` run all programs.
docs-check: WITHOUT_RUNNING := -D plot_gallery=0 -D nb_execution_mode=off
docs-check: docs ## build it without running the programs of the gallery and the cells of the pages

# The archive and the wheel, in dist. On each Python of PYTHONS the wheel is installed where nothing else is, imported, and
# computes a gradient.
package: $(VENV)/.has-build ## build the archive and the wheel, and try the wheel in an empty environment
	rm -rf dist .venv-package*
	$(BIN)/python -m build --outdir dist .
	set -e; for python in $(PYTHONS); do \
		echo "the wheel on $$python"; \
		fresh=.venv-package-$$(basename $$python); \
		$$python -m venv $$fresh; \
		$$fresh/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl; \
		$$fresh/bin/python -P -W error tests/installed.py; \
	done

bench: $(VENV)/.has-bench ## measure beside other libraries
	$(BIN)/python -m benchmarks $(ARGS)

# Twenty rows in fresh processes, some five minutes on a machine that does nothing else: make bench-watch COMMIT=HEAD~5
COMMIT ?= HEAD
bench-watch: $(VENV)/.has-test ## measure beside an earlier COMMIT
	$(BIN)/python -m benchmarks.watch $(COMMIT) $(ARGS)

# The gradients of NPBench's programs beside JAX's versions, from a checkout of spcl/npbench: make npbench CHECKOUT=../npbench
npbench: $(VENV)/.has-bench ## measure the gradients of NPBench's programs (CHECKOUT=../npbench)
	$(BIN)/python -m benchmarks.npbench $(CHECKOUT) $(ARGS)

# The stored results of sizes S and M, on a machine that does nothing else: some 20 minutes on two cores. A program
# that takes longer than 30 seconds or more than 12 GB of memory is a row that says so.
npbench-stored: $(VENV)/.has-bench ## measure the stored results of NPBench again
	$(BIN)/python -m benchmarks.npbench $(CHECKOUT) --limit 30 --seconds 0.3
	$(BIN)/python -m benchmarks.npbench $(CHECKOUT) $(NPBENCH_M) --size M --limit 30 --seconds 0.3 --without eager xla

# The programs whose gradients build in a minute at size M.
NPBENCH_M := adi durbin jacobi_1d jacobi_2d heat_3d fdtd_2d cavity_flow hdiff softmax gesummv gemver doitgen conv2d_bias lenet resnet atax bicg go_fast mvt gemm k2mm k3mm mlp

# Three parts of an ocean model, from a checkout of dionhaefner/pyhpc-benchmarks: make pyhpc CHECKOUT=../pyhpc-benchmarks
pyhpc: $(VENV)/.has-bench ## measure three parts of an ocean model (CHECKOUT=../pyhpc-benchmarks)
	$(BIN)/python -m benchmarks.pyhpc $(CHECKOUT) $(ARGS)

# The Array API's own test suite on traced values: it is cloned into build/ from where it is published.
array-api: $(VENV)/.has-array-api ## run the Array API's test suite on traced values
	$(BIN)/python -m tests.array_api $(ARGS)

# The suites of packages written for autograd, with autograd and with funcgrad.interop.autograd in its place.
#   make clients ARGS="--repeat 3 pymanopt"      make clients ARGS=autograd
clients: .venv-clients/.has-clients ## run the suites of packages that were written for autograd
	.venv-clients/bin/python -m tests.clients $(ARGS)

# Without PyTorch the tests compare with its recorded answers.
torch: $(VENV)/.has-torch ## install PyTorch

clean: ## remove the environments and all that was built
	rm -rf $(VENV) .venv-python* .venv-clients .venv-package* .venv-lowest .venv-without-jax build dist .jax_cache .kernel_cache .pytest_cache .ruff_cache .hypothesis examples/output
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "funcgrad needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.has-examples: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[examples]'
	@touch $@

$(VENV)/.has-test: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[test]'
	@touch $@

.venv-lowest/.has-lowest: pyproject.toml tests/lowest.txt
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint tests/lowest.txt --editable . hypothesis 'pytest>=8.3'
	@touch $@

.venv-without-jax/.has-all-but-jax: pyproject.toml
	$(PYTHON) -m venv .venv-without-jax
	.venv-without-jax/bin/python -m pip install --quiet --disable-pip-version-check \
		hypothesis lazy_loader ml_dtypes numpy opt_einsum optree 'pytest>=8.3' scipy
	.venv-without-jax/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

.venv-clients/.has-clients: pyproject.toml tests/clients/requirements.txt
	$(PYTHON) -m venv .venv-clients
	.venv-clients/bin/python -m pip install --quiet --disable-pip-version-check \
		--requirement tests/clients/requirements.txt --editable .
	@touch $@

$(VENV)/.has-build: | $(BIN)/python
	$(PIP) 'build>=1.2'
	@touch $@

$(VENV)/.has-docs: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[docs]'
	@touch $@

$(VENV)/.has-bench: pyproject.toml $(VENV)/.has-torch | $(BIN)/python
	$(PIP) --editable '.[bench]'
	@touch $@

$(VENV)/.has-array-api: $(VENV)/.has-test
	$(PIP) --editable '.[test,array-api]'
	@touch $@

$(VENV)/.has-torch: | $(BIN)/python
	$(PIP) '$(TORCH)'
	@touch $@
