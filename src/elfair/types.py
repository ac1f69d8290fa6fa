"""The array types that all modules share."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Booleans: TypeAlias = NDArray[np.bool_]
Index: TypeAlias = NDArray[np.intp]
Integers: TypeAlias = NDArray[np.int64]
