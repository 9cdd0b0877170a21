"""Constants and dtypes, so that ``funcgrad.numpy`` can replace ``numpy``."""

import numpy as np

e = np.e
euler_gamma = np.euler_gamma
inf = np.inf
nan = np.nan
newaxis = np.newaxis
pi = np.pi

bool_ = np.bool_
complex64 = np.complex64
complex128 = np.complex128
float16 = np.float16
float32 = np.float32
float64 = np.float64
int8 = np.int8
int16 = np.int16
int32 = np.int32
int64 = np.int64
uint8 = np.uint8
uint16 = np.uint16
uint32 = np.uint32
uint64 = np.uint64

dtype = np.dtype
finfo = np.finfo
iinfo = np.iinfo
isdtype = np.isdtype
issubdtype = np.issubdtype

# Code asks Array API namespaces about themselves by these functions. NumPy 2.0 lacks some.
array_api = {name: vars(np)[name] for name in ("__array_api_version__", "__array_namespace_info__") if name in vars(np)}
