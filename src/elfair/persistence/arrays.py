"""Arrays as ``.npy`` files, without pickle, and without trust in what a header claims."""

from __future__ import annotations

from io import BytesIO
from math import prod
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from elfair.errors import InputError

Array = NDArray[Any]
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def to_npy(array: Array) -> bytes:
    """An array as the bytes of a ``.npy`` file, the same on every machine.

    Examples
    --------
    >>> from_npy(to_npy(np.array([1.0, 2.0])))
    array([1., 2.])
    """
    file = BytesIO()
    tidy = _without_padding(array).astype(array.dtype.newbyteorder("<"), copy=False)
    npy.write_array(file, tidy, allow_pickle=False)
    return file.getvalue()


def from_npy(data: bytes) -> Array:
    """The array of a ``.npy`` file, once its header is seen to fit its size."""
    file = BytesIO(data)
    try:
        shape, _, dtype = _HEADERS[npy.read_magic(file)](file)
        claimed = prod(shape) * dtype.itemsize
        if dtype.hasobject or not dtype.itemsize or claimed != len(data) - file.tell():
            raise ValueError(f"{claimed} bytes of {dtype} were announced")
        return np.asarray(npy.read_array(BytesIO(data), allow_pickle=False))
    except Exception as error:  # numpy has many ways to say that something is wrong
        raise InputError(
            f"an array in it cannot be read ({error}).",
            hint="it was changed, or made by another tool.",
        ) from None


def _without_padding(array: Array) -> Array:
    """With zeros between the fields of a record, where otherwise lies what happens to."""
    if array.dtype.names is None:
        return array
    tidy = np.zeros(array.shape, array.dtype)  # zeros_like would leave what is between fields
    for name in array.dtype.names:
        tidy[name] = array[name]
    return tidy
