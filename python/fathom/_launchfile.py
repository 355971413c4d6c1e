"""Writes a launch of a compiled Triton kernel as a launch file, with the contents of its buffers.

A launch file names the PTX, the buffers, the grid and the arguments (docs/launch-files.md). This
module knows how Triton passes arguments: which parameters of the Python function exist in the PTX,
what a tensor descriptor becomes, and which pointers Triton adds. The rules are those of Triton 3.6
(triton/backends/nvidia/driver.py); older 3.x versions differ only in the number of added pointers.
"""
from __future__ import annotations

import ctypes
import json
import math
import os
import re
import struct
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

from ._library import Invalid, Unsupported

# Types of Triton and their names in a launch file. fathom has no name for the others; buffers of
# these are bytes.
_TYPES = {"fp64": "f64", "fp32": "f32", "fp16": "f16", "bf16": "bf16", "fp8e4nv": "e4m3",
          "fp8e5": "e5m2", "i1": "u8", "u1": "u8", "i8": "i8", "i16": "i16", "i32": "i32",
          "i64": "i64", "u8": "u8", "u16": "u16", "u32": "u32", "u64": "u64"}
_SIZES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "e4m3": 1, "e5m2": 1, "i8": 1, "i16": 2,
          "i32": 4, "i64": 8, "u8": 1, "u16": 2, "u32": 4, "u64": 8}
# Names of element types in PyTorch and NumPy, and what Triton calls them.
_ELEMENTS = {"bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
             "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "float16": "fp16",
             "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "float8_e4m3fn": "fp8e4nv",
             "float8_e5m2": "fp8e5", "float8_e4m3fnuz": "fp8e4b8", "float8_e5m2fnuz": "fp8e5b16"}
# Bytes of the swizzle pattern, by the number that the driver gives it.
_SWIZZLES = (0, 32, 64, 128)
# Pointers that Triton adds after the arguments, in this order. Triton 3.4 and later have both, 3.3
# has the first one only.
_SCRATCH = ("global_scratch", "profile_scratch")


class Parameter(NamedTuple):
    """A parameter of a kernel in PTX."""

    bits: int
    """Size in bits; of an array, that of an element."""
    elements: Optional[int]
    """Number of elements of an array; None for a number."""


class Entry(NamedTuple):
    """The declaration of a kernel in PTX."""

    name: str
    parameters: List[Parameter]
    threads: Optional[int]
    """Threads per block that the kernel requires (`.reqntid`); None if it does not state them."""


def element_type(value: Any) -> str:
    """Returns what Triton calls the element type of an array or tensor, such as "fp32"."""
    name = str(value.dtype).rsplit(".", maxsplit=1)[-1]
    if name not in _ELEMENTS:
        raise Unsupported(f"fathom does not know the type {value.dtype} of the elements")
    return _ELEMENTS[name]


def is_array(value: Any) -> bool:
    """Returns whether a value is a NumPy array. NumPy's scalars, such as numpy.int32(5), are
    numbers: they cannot be assigned to."""
    return (hasattr(value, "__array_interface__") and hasattr(value, "__setitem__")
            and hasattr(value, "flags"))


def is_buffer(value: Any) -> bool:
    """Returns whether a value is an argument that becomes a pointer: a tensor or a NumPy array."""
    return hasattr(value, "data_ptr") or is_array(value)


def is_descriptor(value: Any) -> bool:
    """Returns whether a value is a tensor descriptor (triton.tools.tensor_descriptor)."""
    return all(hasattr(value, name) for name in ("base", "shape", "strides", "block_shape"))


def find_entry(ptx: str, name: Optional[str] = None) -> Entry:
    """Returns the declaration of a kernel in PTX: the one with this name, or the first one."""
    found = None
    for match in re.finditer(r"\.entry\s+([\w$]+)\s*\((.*?)\)(.*?)\{", ptx, re.S):
        if found is None or match[1] == name:
            found = match
    if found is None:
        raise Invalid("the PTX of the Triton kernel has no .entry")
    parameters = []
    for text in re.sub(r"//[^\n]*", "", found[2]).split(","):
        if not text.strip():
            continue
        bits = re.search(r"\.[a-z](8|16|32|64)\b", text)
        if bits is None:
            raise Unsupported(f"the parameter '{text.strip()}' of {found[1]}")
        array = re.search(r"\[(\d+)\]", text)
        parameters.append(Parameter(int(bits[1]), int(array[1]) if array else None))
    threads = re.search(r"\.reqntid\s+(\d+)", found[3])
    return Entry(found[1], parameters, int(threads[1]) if threads else None)


class _Copy(NamedTuple):
    """A copy in host memory: where it is, and what must stay alive as long as it is used."""

    address: int
    owners: Any


class _Storage:
    """A piece of memory that arguments point into, and its contents before the launch."""

    def __init__(self, size_bytes: int, contents: _Copy) -> None:
        self.size_bytes = size_bytes
        self.contents = contents
        self.kinds: List[str] = []
        self.offsets: List[int] = []
        self.name = ""

    def type(self) -> str:
        """Returns the type of the elements: that of the arguments if they agree, otherwise u8."""
        kind = self.kinds[0] if len(set(self.kinds)) == 1 else "u8"
        size = _SIZES[kind]
        return "u8" if any(number % size for number in [self.size_bytes, *self.offsets]) else kind

    def write(self, path: str) -> None:
        """Writes the contents to a file."""
        data = (ctypes.c_char * self.size_bytes).from_address(self.contents.address)
        with open(path, "wb") as file:
            file.write(memoryview(data))


def _unwrap(value: Any) -> Any:
    """Returns the tensor below a wrapper such as that of triton.reinterpret."""
    while not hasattr(value, "untyped_storage") and not is_array(value) and hasattr(value, "base"):
        value = value.base
    return value


def _locate(value: Any) -> Tuple[int, int, int, Any]:
    """Returns address, size in bytes, the offset of the argument in bytes, and the owner."""
    if is_array(value):
        owner = value
        while is_array(owner.base):
            owner = owner.base
        if not (owner.flags.c_contiguous or owner.flags.f_contiguous):
            raise Unsupported("a NumPy array without a contiguous base; pass numpy.ascontiguousarray")
        start = owner.__array_interface__["data"][0]
        return start, owner.nbytes, value.__array_interface__["data"][0] - start, owner
    tensor = _unwrap(value)
    if not hasattr(tensor, "untyped_storage"):
        raise Unsupported(f"fathom cannot read an argument of type {type(value).__name__}; pass a "
                          "PyTorch tensor or a NumPy array")
    storage = tensor.untyped_storage()
    start = storage.data_ptr()
    return start, storage.nbytes(), value.data_ptr() - start, storage


def offset_of(value: Any) -> int:
    """Returns the offset of a tensor or array in its storage, in bytes."""
    return _locate(value)[2]


class Memory:
    """Contents of the buffers of a launch, copied to host memory.

    Arguments that share storage share one buffer: a view is an offset into it. The whole storage
    is copied, also the part in front of and behind the view, because kernels compute addresses.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._total_bytes = 0
        self._storages: Dict[int, _Storage] = {}

    def add(self, value: Any) -> None:
        """Copies the storage of an argument, unless it has been copied. Looks into tuples, and
        ignores arguments that are no buffers."""
        if isinstance(value, (tuple, list)):
            for part in value:
                self.add(part)
        elif is_descriptor(value):
            self.add(value.base)
        elif is_buffer(value):
            start, size_bytes, _, owner = _locate(value)
            if size_bytes and start not in self._storages:
                self._copy(start, size_bytes, owner)

    def _copy(self, start: int, size_bytes: int, owner: Any) -> None:
        self._total_bytes += size_bytes
        if self._total_bytes > self._max_bytes:
            raise Unsupported(f"the buffers of this launch have more than {self._max_bytes} bytes; "
                              "max_bytes= raises the limit")
        if is_array(owner):
            copy = _Copy(start, owner)
        else:
            host = owner.cpu()
            if host.data_ptr() == start:  # memory of the host, such as pinned memory, is not copied
                host = owner.clone()
            # The original is kept as well, so that no other storage can get its address.
            copy = _Copy(host.data_ptr(), (host, owner))
        self._storages[start] = _Storage(size_bytes, copy)

    def place(self, value: Any, kind: str) -> Optional[Tuple[_Storage, int]]:
        """Returns the storage of an argument and its offset in bytes; None if it has no elements.
        `kind` is Triton's name of its element type."""
        self.add(value)
        start, size_bytes, offset, _ = _locate(value)
        if not size_bytes:
            return None
        storage = self._storages[start]
        storage.kinds.append(_TYPES.get(kind, "u8"))
        storage.offsets.append(offset)
        return storage, offset

    def buffers(self, folder: str) -> Dict[str, str]:
        """Writes the contents of the buffers that have names, and returns their descriptions."""
        described = {}
        for storage in self._storages.values():
            if storage.name:
                storage.write(os.path.join(folder, storage.name + ".bin"))
                kind = storage.type()
                described[storage.name] = (f"{kind}[{storage.size_bytes // _SIZES[kind]}]="
                                           f"file:{storage.name}.bin")
        return described


class _Address(NamedTuple):
    """An argument that is an address in a buffer."""

    storage: _Storage
    offset: int

    def text(self) -> str:
        """Returns the form of a launch file."""
        elements = self.offset // _SIZES[self.storage.type()]
        return self.storage.name + (f"+{elements}" if elements else "")


class _TensorMap(NamedTuple):
    """An argument that is a tensor map of the copy engine."""

    place: _Address
    fields: Dict[str, Any]


_Argument = Union[str, _Address, _TensorMap]


class Arguments:
    """The arguments of a launch, in the order of the parameters of the PTX."""

    def __init__(self, memory: Memory, entry: Entry, maps: Sequence[Dict[str, Any]]) -> None:
        self._memory = memory
        self._entry = entry
        self._maps = list(maps)
        self._list: List[_Argument] = []
        self._names: Set[str] = set()

    def __len__(self) -> int:
        return len(self._list)

    def _next(self, name: str) -> Parameter:
        """Returns the parameter of the next argument."""
        if len(self._list) >= len(self._entry.parameters):
            raise Unsupported(f"the kernel {self._entry.name} has {len(self._entry.parameters)} "
                              f"parameters in PTX, too few for the argument {name}")
        return self._entry.parameters[len(self._list)]

    def add(self, name: str, kind: Any, value: Any) -> None:
        """Appends what an argument of the Python function becomes. `kind` is its type in Triton's
        signature: "constexpr" has no parameter, and a tuple has one for each of its members."""
        if isinstance(kind, (tuple, list)):
            for index, (part, member) in enumerate(zip(kind, value)):
                self.add(f"{name}_{index}", part, member)
        elif kind == "constexpr":
            return
        elif kind.startswith("tensordesc"):
            self._add_descriptor(name, value)
        elif kind.startswith("*"):
            self._add_pointer(name, kind.lstrip("*").lstrip("k"), value)
        elif kind in _TYPES:
            self._list.append(number(kind, self._next(name).bits, value))
        else:
            raise Unsupported(f"the argument {name} of type {kind}")

    def add_text(self, name: str, text: str) -> None:
        """Appends an argument in the form of a launch file."""
        self._next(name)
        self._list.append(text)

    def _add_pointer(self, name: str, kind: str, value: Any) -> None:
        self._next(name)
        if value is None:
            self._list.append("null")
        elif is_buffer(value):
            place = self._address(name, value, kind)
            self._list.append(place if place else "null")
        else:
            raise Unsupported(f"the argument {name}, a pointer given as {type(value).__name__}: "
                              "fathom needs the buffer; pass a tensor or a NumPy array")

    def _address(self, name: str, value: Any, kind: str) -> Optional[_Address]:
        """Returns the address of a buffer, and names the buffer after its first argument."""
        place = self._memory.place(value, kind)
        if place is None:
            return None
        if not place[0].name:
            place[0].name = self._unused(name)
        return _Address(*place)

    def _unused(self, name: str) -> str:
        """Returns a name for a buffer that no other has and that is no word of a launch file."""
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.A) or name in _SIZES or name in (
                "null", "bytes", "s8", "s16", "s32", "s64", "i", "ptr", *_SCRATCH):
            name = "arg_" + re.sub(r"\W", "_", name, flags=re.A)
        while name in self._names:
            name += "_"
        self._names.add(name)
        return name

    def _add_descriptor(self, name: str, value: Any) -> None:
        """Appends a tensor map, its shape and its strides, as Triton passes a descriptor."""
        if self._next(name).elements is None or not self._maps:
            raise Unsupported(f"the tensor descriptor {name}: Triton has not compiled it to a "
                              "tensor map")
        meta = self._maps.pop(0)
        if meta.get("fp4_padded") or meta.get("is_im2col"):
            raise Unsupported(f"the tensor descriptor {name}: padded fp4 and im2col")
        kind = element_type(value.base)
        place = self._address(name, value.base, kind)
        if place is None:
            raise Unsupported(f"the tensor descriptor {name} of an empty tensor")
        # fathom calls 8-bit floats u8 in a tensor map, as the driver does. The dimensions are in
        # the order of memory, the opposite of PyTorch's.
        words = _TYPES.get(kind, "u8")
        size = _SIZES[words]
        fields = {"type": {"i8": "u8", "e4m3": "u8", "e5m2": "u8", "i16": "u16", "i32": "s32",
                           "i64": "s64"}.get(words, words),
                  "sizes": [int(extent) for extent in reversed(value.shape)],
                  "strides": [int(stride) * size for stride in reversed(value.strides)][1:],
                  "box": [int(extent) for extent in reversed(meta["block_size"])],
                  "swizzle": _SWIZZLES[int(meta["swizzle"])],
                  # Triton's fill_tma_descriptor always asks for this.
                  "l2_promotion": 128}
        if getattr(value, "padding", "zero") == "nan":
            fields["fill"] = "nan"
        self._list.append(_TensorMap(place, fields))
        for extent in value.shape:
            self._list.append(number("i32", self._next(name).bits, extent))
        for stride in value.strides:
            self._list.append(number("i64", self._next(name).bits, stride))

    def texts(self) -> List[Any]:
        """Returns the arguments in the form of a launch file."""
        result: List[Any] = []
        for argument in self._list:
            if isinstance(argument, _TensorMap):
                result.append({"tensormap": argument.place.text(), **argument.fields})
            else:
                result.append(argument.text() if isinstance(argument, _Address) else argument)
        return result


def _bits16(value: float, kind: str) -> int:
    """Returns the 16 bits of an infinite value or a NaN."""
    sign = 0x8000 if math.copysign(1, value) < 0 else 0
    return sign | (0x7C00 if kind == "fp16" else 0x7F80) | (
        (0x200 if kind == "fp16" else 0x40) if math.isnan(value) else 0)


def number(kind: str, bits: int, value: Any) -> str:
    """Returns a number in the form of a launch file. `kind` is its type in Triton's signature,
    `bits` the size of the parameter in the PTX."""
    if not kind.startswith(("fp", "bf")):
        return f"{'u' if kind.startswith('u') else 'i'}{bits}:{int(value)}"
    value = float(value)
    if kind == "fp64":
        whole = struct.unpack("<Q", struct.pack("<d", value))[0]
    elif kind == "fp32":
        try:
            whole = struct.unpack("<I", struct.pack("<f", value))[0]
        except OverflowError:
            whole = 0xFF800000 if value < 0 else 0x7F800000
        if math.isfinite(value):
            value = struct.unpack("<f", struct.pack("<I", whole))[0]
    else:
        whole = 0 if math.isfinite(value) else _bits16(value, kind)
    return f"{_TYPES[kind]}:{value!r}" if math.isfinite(value) else f"u{bits}:{whole}"


def _cluster(metadata: Any) -> Tuple[int, ...]:
    """Returns the blocks per cluster in x, y and z."""
    count = int(getattr(metadata, "num_ctas", 1) or 1)
    shape = tuple(int(extent) for extent in getattr(metadata, "cluster_dims", None) or ())
    return shape if math.prod(shape) == count and shape else (count, 1, 1)


def write(folder: str, compiled: Any, grid: Sequence[int], values: Dict[str, Any],
          memory: Memory) -> str:
    """Writes a launch of a compiled kernel to `folder`: launch.json, kernel.ptx and the contents of
    the buffers. `values` has the value of every parameter of the Python function. Returns the path
    to launch.json."""
    ptx = compiled.asm["ptx"]
    metadata = compiled.metadata
    entry = find_entry(ptx, getattr(metadata, "name", None))
    arguments = Arguments(memory, entry, getattr(metadata, "tensordesc_meta", None) or [])
    for name, kind in compiled.src.signature.items():
        arguments.add(name, kind, values[name])
    cluster = _cluster(metadata)
    blocks = [int(extent) * int(factor) for extent, factor in zip([*grid, 1, 1][:3], cluster)]
    if min(blocks) < 1:
        raise Unsupported(f"the grid {list(grid)} of {entry.name}: it has no blocks")
    scratch = {}
    for name in _SCRATCH[:len(entry.parameters) - len(arguments)]:
        size_bytes = int(getattr(metadata, name + "_size", 0) or 0) * math.prod(blocks)
        if size_bytes:
            scratch[name] = f"u8[{size_bytes}]"
        arguments.add_text(name, name if size_bytes else "null")
    if len(arguments) != len(entry.parameters):
        raise Unsupported(f"the kernel {entry.name}: {len(entry.parameters)} parameters in PTX, "
                          f"{len(arguments)} arguments")
    launch: Dict[str, Any] = {"kernel": entry.name, "grid": blocks,
                              "block": entry.threads or 32 * int(metadata.num_warps),
                              "shared": int(metadata.shared), "args": arguments.texts()}
    if math.prod(cluster) > 1:
        launch["cluster"] = list(cluster)
    with open(os.path.join(folder, "kernel.ptx"), "w", encoding="utf-8") as file:
        file.write(ptx)
    path = os.path.join(folder, "launch.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schema": "fathom-launch/1", "about": f"Triton kernel {entry.name}",
                   "ptx": "kernel.ptx", "buffers": {**memory.buffers(folder), **scratch},
                   "launches": [launch]}, file, indent=1)
        file.write("\n")
    return path
