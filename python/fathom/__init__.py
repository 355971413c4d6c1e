"""fathom: measure the memory system of GPUs, simulate GPUs, and predict how kernels use the caches.

This package calls the shared library of fathom, libfathom.so.0; it needs no compiler and no other package.

    import fathom

    gpu = fathom.topo(device="cuda:0")          # measure; "sim:h200" needs no GPU
    gpu.l2.size_bytes, gpu.l2.size_bytes.source

    fathom.run("kernel.ptx", grid=4, block=256, args=[array, 1.5])     # without a GPU
    print(fathom.model("kernel.ptx", grid=4, block=256, args=[array, 1.5], gpu="h200").summary())

Failures raise fathom.Error or one of its subclasses. Messages of the library go to the logger "fathom".
"""

from __future__ import annotations

from typing import Any

from . import _library
from ._library import (
    Error,
    Inconclusive,
    Interrupted,
    Invalid,
    LibraryMissing,
    NotFound,
    OutOfMemory,
    SystemFailure,
    Unavailable,
    Unsupported,
)
from .descriptions import Attribute, Description, Device, Section, devices, gpu, gpus, read, topo
from .kernels import RunResult, Trace, model, run, trace
from .results import ModelResult, Record

__all__ = [
    "Attribute",
    "Description",
    "Device",
    "Error",
    "Inconclusive",
    "Interrupted",
    "Invalid",
    "LibraryMissing",
    "ModelResult",
    "NotFound",
    "OutOfMemory",
    "Record",
    "RunResult",
    "Section",
    "SystemFailure",
    "Trace",
    "Unavailable",
    "Unsupported",
    "devices",
    "gpu",
    "gpus",
    "model",
    "read",
    "run",
    "topo",
    "trace",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":  # that of the library, which is loaded when it is needed
        return _library.version()
    raise AttributeError(f"module 'fathom' has no attribute '{name}'")
