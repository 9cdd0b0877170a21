"""``scipy.stats`` under autograd's name; each distribution can be imported as a module, as in autograd."""

import sys
from types import ModuleType

from funcgrad._core.lazy import LazyModule
from funcgrad.interop.autograd._namespace import namespace

__getattr__, __dir__ = namespace(__name__, "funcgrad.scipy.stats", "scipy.stats")

# ``import autograd.scipy.stats.norm as norm`` searches for a module of that name.
__path__: list[str] = []


class _Distribution(ModuleType):
    """A distribution as a module; methods that ours lacks (``rvs``, ``ppf``) are SciPy's."""

    def __getattr__(self, attribute: str) -> object:
        _, _, name = vars(self)["__name__"].rpartition(".")
        ours, scipys = getattr(_OURS, name), getattr(_SCIPYS, name)
        return getattr(ours if hasattr(ours, attribute) else scipys, attribute)


_OURS, _SCIPYS = LazyModule("funcgrad.scipy.stats"), LazyModule("scipy.stats")
for _name in ("beta", "chi2", "dirichlet", "gamma", "multivariate_normal", "norm", "poisson", "t"):
    sys.modules[f"{__name__}.{_name}"] = _Distribution(f"{__name__}.{_name}")
    vars(sys.modules[__name__])[_name] = sys.modules[f"{__name__}.{_name}"]
