"""Converts the arguments of kernels from Python: numbers, NumPy arrays, tensors and other memory.

NumPy is not imported: arrays are recognised by the interface that they have (`__array_interface__`), and so are
tensors of PyTorch in the memory of the host.
"""

from __future__ import annotations

import ctypes
import difflib
import inspect
import math
import operator
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from ctypes import c_char, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

from . import _structs as c
from ._library import Invalid, PathText, encode

Shape = Union[int, Sequence[int]]

# Types of libfathom by the kind and size of array elements: '<f4' is f32.
_INTEGERS = {"i": "s", "u": "u"}
_FLOATS = {2: "f16", 4: "f32", 8: "f64"}
# By the names of types that NumPy itself does not have (package ml_dtypes) and of PyTorch's types.
_NAMED = {
    "bfloat16": "bf16",
    "float8_e4m3fn": "e4m3",
    "float8_e4m3": "e4m3",
    "float8_e5m2": "e5m2",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "uint8": "u8",
    "bool": "u8",
    "int8": "s8",
    "int16": "s16",
    "int32": "s32",
    "int64": "s64",
}
# Objects of ctypes that are passed by value, although they have Python's buffer protocol.
_VALUES = (ctypes.Structure, ctypes.Union, ctypes._SimpleCData)


@dataclass
class Memory:
    """The memory of an argument: from its first to its last element, and what is between them."""

    address: int
    type: str  # of libfathom, such as "f32"
    count: int  # number of elements of this type
    bytes: int
    writable: bool
    owner: Any  # keeps the memory alive


def _extent(shape: Sequence[int], strides: Sequence[int], size: int, number: int) -> int:
    """Returns the bytes from the first to the last element of an array; strides are in bytes."""
    if any(stride < 0 and length > 1 for length, stride in zip(shape, strides)):
        raise Invalid("a stride is negative, so that the array does not begin with its first element", "read argument", str(number))
    if 0 in shape:
        return 0
    return sum((length - 1) * stride for length, stride in zip(shape, strides)) + size


def _contiguous(shape: Sequence[int], size: int) -> list[int]:
    """Returns the strides of an array without gaps, in bytes."""
    strides: list[int] = []
    for length in reversed(shape):
        strides.insert(0, size)
        size *= length
    return strides


def _make(address: int, kind: Optional[str], size: int, extent: int, writable: bool, owner: Any) -> Memory:
    """Makes a Memory. If libfathom has no type for the elements, the Memory consists of bytes."""
    if kind is None or extent % size:
        kind, size = "u8", 1
    return Memory(address, kind, extent // size, extent, writable, owner)


def _field_types(described: Sequence[Any]) -> Iterator[str]:
    """Yields the types of the fields of a structured array, also of fields that have fields themselves."""
    for field in described:
        if isinstance(field[1], str):
            yield field[1]
        else:
            yield from _field_types(field[1])


def _check_elements(array: Any, number: int) -> None:
    """Refuses elements that the library cannot read."""
    interface = array.__array_interface__
    types = [interface["typestr"], *_field_types(interface.get("descr") or ())]
    if getattr(getattr(array, "dtype", None), "hasobject", False) or any(name[1] == "O" for name in types):
        raise Invalid(
            "the elements of the array are Python objects; convert it, such as array.astype('float32')",
            "read argument",
            str(number),
        )
    if any(name[0] == ">" for name in types):
        raise Invalid("the elements of the array are big-endian", "read argument", str(number))


def _array_memory(array: Any, number: int) -> Memory:
    _check_elements(array, number)
    interface = array.__array_interface__
    typestr, shape = interface["typestr"], interface["shape"]
    letter, size = typestr[1], int(typestr[2:].partition("[")[0])  # "<M8[s]" is a time in seconds
    named = _NAMED.get(str(getattr(array, "dtype", "")))
    kind: Optional[str] = None
    if letter in _INTEGERS and size <= 8:
        kind = f"{_INTEGERS[letter]}{8 * size}"
    elif letter == "f":
        kind = _FLOATS.get(size)
    elif letter == "c" and size // 2 in _FLOATS:
        kind = _FLOATS[size // 2]
    element = size // 2 if letter == "c" else size
    address, read_only = interface["data"]
    extent = _extent(shape, interface.get("strides") or _contiguous(shape, size), size, number)
    return _make(address, kind or named, element, extent, not read_only, array)


def _tensor_memory(tensor: Any, number: int) -> Memory:
    if tensor.device.type != "cpu":
        raise Invalid(
            f"the tensor is on {tensor.device}; pass a copy in the memory of the host, such as tensor.cpu()",
            "read argument",
            str(number),
        )
    size = tensor.element_size()
    strides = [size * stride for stride in tensor.stride()]
    kind = _NAMED.get(str(tensor.dtype).rpartition(".")[2])
    return _make(tensor.data_ptr(), kind, size, _extent(tensor.shape, strides, size, number), True, tensor)


def _buffer_memory(value: Any, number: int) -> Memory:
    """Returns the memory of a bytearray, an array.array or another object with Python's buffer protocol."""
    view = memoryview(value)
    if not view.contiguous:
        raise Invalid("the memory is not contiguous", "read argument", str(number))
    kind = {"f": "f32", "d": "f64", "e": "f16"}.get(view.format)
    if kind is None and view.format in tuple("bhilq"):
        kind = f"s{8 * view.itemsize}"
    elif kind is None and view.format in tuple("BHILQ"):
        kind = f"u{8 * view.itemsize}"
    if view.readonly:
        raise Invalid("the memory is read-only; pass a bytearray or an array", "read argument", str(number))
    owner = (c_char * view.nbytes).from_buffer(value)
    return _make(ctypes.addressof(owner), kind, view.itemsize, view.nbytes, True, owner)


def memory_of(value: Any, number: int) -> Optional[Memory]:
    """Returns the memory of an argument that is a buffer; None: it is a number or a text."""
    if hasattr(value, "__array_interface__"):
        # Scalars of NumPy have this interface as well, but unlike arrays without dimensions no member ctypes.
        is_array = value.__array_interface__["shape"] != () or hasattr(value, "ctypes")
        return _array_memory(value, number) if is_array else None
    if hasattr(value, "data_ptr") and hasattr(value, "element_size"):
        return _tensor_memory(value, number)
    if hasattr(value, "__cuda_array_interface__"):
        cause = "the array is in the memory of a GPU; pass a copy, such as array.get()"
        raise Invalid(cause, "read argument", str(number))
    if value is None or isinstance(value, (str, bytes, *_VALUES)):
        return None
    return _buffer_memory(value, number) if _has_buffer(value) else None


def _has_buffer(value: Any) -> bool:
    """Returns whether an object has Python's buffer protocol."""
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


def _number_text(value: Any) -> str:
    """Returns the text of a Python number, whose type is that of the parameter."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return repr(value)


def _text_of(value: Any, number: int) -> str:
    """Returns the text for fth_launch_argument of an argument that is not a buffer."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, (bytes, *_VALUES)):
        return "bytes:" + bytes(value).hex()
    if hasattr(value, "__array_interface__"):
        scalar = value.__array_interface__["typestr"]
        kind = _INTEGERS.get(scalar[1], "f" if scalar[1] == "f" else "u" if scalar[1] == "b" else None)
        if kind:
            return f"{kind}{8 * int(scalar[2:])}:{_number_text(value.item())}"
    if isinstance(value, (bool, int, float)):
        return _number_text(value)
    raise Invalid(
        f"a {type(value).__name__} cannot be an argument; pass a number, an array, None, bytes, or a text such as "
        "'i32:5' or 'ptr:f32[64]=random'",
        "read argument",
        str(number),
    )


def _dimensions(shape: Optional[Shape], what: str) -> tuple[int, int, int]:
    """Returns three dimensions; 0 where none is given."""
    given = [] if shape is None else _whole_numbers(shape)
    if given is None or len(given) > 3 or any(size < 1 or size > 0x7FFFFFFF for size in given):
        raise Invalid("expected one to three whole numbers from 1 on", what, str(shape))
    sizes = given + [0] * (3 - len(given))
    return sizes[0], sizes[1], sizes[2]


def _whole_numbers(shape: Any) -> Optional[list[int]]:
    """Returns the numbers of a shape; None if it has something else, such as a fraction."""
    try:
        return [operator.index(shape)]
    except TypeError:
        pass
    try:
        return [operator.index(size) for size in shape]
    except TypeError:
        return None


def _listed(args: Optional[Sequence[Any]]) -> Sequence[Any]:
    """Returns the arguments; refuses an array that is not in a list."""
    if args is None:
        return []
    if not isinstance(args, Sequence) or isinstance(args, (str, bytes)) or _has_buffer(args):
        raise Invalid("expected a list of the arguments, such as args=[x]", "args", type(args).__name__)
    return args


class Input:
    """An input of run(), trace() or model(): a file, or PTX as text, with the options of its launch."""

    _remove: Optional[Callable[[], Any]] = None

    def __init__(
        self,
        source: PathText,
        kernel: Optional[str] = None,
        *,
        grid: Optional[Shape] = None,
        block: Optional[Shape] = None,
        args: Optional[Sequence[Any]] = None,
        shared_bytes: int = 0,
        cluster: Optional[Shape] = None,
        sizes: Optional[Mapping[str, Any]] = None,
        variables: Optional[Mapping[str, str]] = None,
        seed: Optional[int] = None,
        allow_files: bool = False,
        kernels: Optional[str] = None,
        launches: Optional[tuple[int, int]] = None,
    ) -> None:
        values = _listed(args)
        self.memories = [memory_of(value, index + 1) for index, value in enumerate(values)]
        options = c.options(c.fth_launch_options, kernel=encode(kernel), shared_bytes=shared_bytes)
        options.grid[:] = _dimensions(grid, "grid")
        options.block[:] = _dimensions(block, "block")
        options.allow_files = allow_files
        options.kernels = encode(kernels)
        options.first_launch, options.end_launch = launches or (0, 0)
        if seed is not None:
            options.seed = ctypes.pointer(c_uint64(seed))
        if cluster is not None:
            options.cluster = (c_uint32 * 3)(*_dimensions(cluster, "cluster"))
        options.sizes, options.size_count = self._settings(sizes)
        options.variables, options.variable_count = self._settings(variables)
        options.arguments, options.argument_count = self._texts(values)
        addresses = [memory.address if memory and memory.count else None for memory in self.memories]
        options.contents = (c_void_p * max(len(addresses), 1))(*addresses)
        self.options = options
        self.path = self._place(source)

    @staticmethod
    def _settings(settings: Optional[Mapping[str, Any]]) -> tuple[Any, int]:
        items = [encode(f"{name}={value}") or b"" for name, value in (settings or {}).items()]
        return c.texts(items), len(items)

    def _texts(self, args: Sequence[Any]) -> tuple[Any, int]:
        items = []
        for index, (value, memory) in enumerate(zip(args, self.memories)):
            if memory is None:
                argument = _text_of(value, index + 1)
            else:  # a GPU has no memory for an empty array
                argument = f"ptr:{memory.type}[{memory.count}]" if memory.count else "null"
            items.append(encode(argument) or b"")
        return c.texts(items), len(items)

    def _place(self, source: PathText) -> bytes:
        """Returns the path of the input. PTX that is a text is written to a temporary file."""
        if not isinstance(source, str) or "\n" not in source or ".version" not in source:
            return encode(source) or b""
        folder = tempfile.mkdtemp(prefix="fathom-")
        self._remove = weakref.finalize(self, shutil.rmtree, folder, True)
        file = Path(folder) / "kernel.ptx"
        file.write_text(source, encoding="utf-8")
        return os.fsencode(file)

    def close(self) -> None:
        """Removes the temporary file, which otherwise disappears with this object."""
        if self._remove:
            self._remove()

    def __enter__(self) -> "Input":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def option_names(function: Callable[..., Any]) -> list[str]:
    """Returns the names of the parameters of a function that can only be given by name."""
    return [item.name for item in inspect.signature(function).parameters.values() if item.kind is item.KEYWORD_ONLY]


def check_options(function: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Refuses options that a function does not have, with the name of the function that the caller knows."""
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(known)}"
            raise TypeError(f"{function} has no option '{name}'; {hint}")
