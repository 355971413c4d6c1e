"""The structs and constants of libfathom's public headers that this package uses.

tests/python/test_layout.py compares every member with the C compiler's layout. Structs of options begin with
their size, by which the library knows which members the caller has; make them with `options`.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_int, c_size_t, c_uint, c_uint32, c_uint64, c_void_p
from typing import Any, TypeVar

# enum fth_status
OK, NO_MEMORY, IO, INVALID, NOT_FOUND, UNSUPPORTED, UNAVAILABLE, INCONCLUSIVE, INTERRUPTED = range(9)
# enum fth_level
LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG = range(4)
# enum fth_model_view
(
    VIEW_KERNELS,
    VIEW_LAUNCHES,
    VIEW_LINES,
    VIEW_PROFILE,
    VIEW_CURVE,
    VIEW_PARAMETERS,
    VIEW_SUMMARY,
    VIEW_LAUNCH_SUMMARY,
    VIEW_SOURCE_LINES,
    VIEW_SOURCE,
) = range(10)

Message = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)
Progress = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_double)
Interrupted = ctypes.CFUNCTYPE(c_bool, c_void_p)
Print = ctypes.CFUNCTYPE(None, c_void_p, POINTER(c_char), c_size_t)


class fth_error(Structure):
    _fields_ = [
        ("status", c_int),
        ("operation", c_char * 64),
        ("argument", c_char * 256),
        ("cause", c_char * 512),
        ("excerpt", c_char * 256),
    ]


class fth_log(Structure):
    _fields_ = [("message", Message), ("progress", Progress), ("interrupted", Interrupted), ("user", c_void_p)]


class fth_device_info(Structure):
    _fields_ = [("backend", c_char_p), ("id", c_char_p), ("name", c_char_p), ("detail", c_char_p)]


class fth_device_options(Structure):
    _fields_ = [("size", c_size_t), ("log", POINTER(fth_log)), ("max_instructions", c_uint64), ("require_gpu", c_bool)]


class fth_discover_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("only", c_char_p),
        ("log", POINTER(fth_log)),
        ("thorough", c_bool),
        ("full", c_bool),
        ("quick", c_bool),
    ]


class fth_launch_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("sizes", POINTER(c_char_p)),
        ("size_count", c_size_t),
        ("kernel", c_char_p),
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("shared_bytes", c_size_t),
        ("arguments", POINTER(c_char_p)),
        ("argument_count", c_size_t),
        ("seed", POINTER(c_uint64)),
        ("allow_files", c_bool),
        ("cluster", POINTER(c_uint32)),
        ("all_kernels", c_bool),
        ("kernels", c_char_p),
        ("first_launch", c_uint64),
        ("end_launch", c_uint64),
        ("max_memory_bytes", c_uint64),
        ("variables", POINTER(c_char_p)),
        ("variable_count", c_size_t),
        ("contents", POINTER(c_void_p)),
        ("no_spills", c_bool),
    ]


class fth_run_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("threads", c_uint),
        ("log", POINTER(fth_log)),
        ("device", c_char_p),
        ("max_instructions", c_uint64),
        ("max_seconds", c_double),
        ("print", Print),
        ("print_user", c_void_p),
        ("copy_order", c_int),
        ("copy_seed", c_uint64),
        ("check_async", c_bool),
        ("counts", c_bool),
        ("check_races", c_bool),
    ]


class fth_launch_totals(Structure):
    _fields_ = [("warp_instructions", c_uint64), ("thread_instructions", c_uint64)]


class fth_launch_view(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("number", c_size_t),
        ("type", c_char_p),
        ("element_bytes", c_size_t),
        ("count", c_uint64),
    ]


class fth_verdict(Structure):
    _fields_ = [("buffer", c_char_p), ("matches", c_bool), ("text", c_char * 192)]


class fth_trace_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("launch", POINTER(fth_launch_options)),
        ("output", c_char_p),
        ("threads", c_uint),
        ("log", POINTER(fth_log)),
        ("traced", POINTER(c_void_p)),
        ("max_instructions", c_uint64),
    ]


class fth_trace_launch(Structure):
    _fields_ = [
        ("kernel", c_char_p),
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("longest", c_uint64),
        ("accesses", c_uint64),
        ("shared", c_uint64),
        ("local", c_uint64),
        ("constant", c_uint64),
        ("texture", c_uint64),
        ("shared_bytes", c_uint64),
        ("local_bytes", c_uint64),
    ]


class fth_trace_instruction(Structure):
    _fields_ = [
        ("line", c_uint32),
        ("source_file", c_uint32),
        ("source_line", c_uint32),
        ("index", c_uint32),
        ("kind", c_int),
        ("bytes", c_uint32),
        ("cache_op", c_uint32),
        ("source", c_void_p),
        ("hints", c_uint32),
        ("wait", c_uint32),
    ]


class fth_trace_access(Structure):
    _fields_ = [
        ("number", c_uint64),
        ("block", c_uint64),
        ("warp", c_uint32),
        ("instruction", c_uint32),
        ("mask", c_uint32),
        ("threads", c_uint32),
        ("addresses", c_uint64 * 32),
    ]


class fth_trace_row(Structure):
    _fields_ = [
        ("kernel", c_char_p),
        ("instruction", POINTER(fth_trace_instruction)),
        ("launches", c_uint64),
        ("longest", c_uint64),
        ("requests", c_uint64 * 3),
        ("accesses", c_uint64 * 3),
        ("sectors", c_uint64 * 3),
        ("lines", c_uint64 * 3),
        ("footprint_bytes", c_uint64 * 3),
        ("footprint_all_bytes", c_uint64),
        ("local_requests", c_uint64 * 3),
        ("local_sectors", c_uint64 * 3),
        ("texture_requests", c_uint64 * 3),
        ("texture_sectors", c_uint64 * 3),
        ("requested_bytes", c_uint64 * 3),
        ("used_bytes", c_uint64 * 3),
        ("ideal_sectors", c_uint64 * 3),
        ("touched_bytes", c_uint64 * 3),
        ("touched_all_bytes", c_uint64),
    ]


class fth_model_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("threads", c_uint),
        ("bypassed", c_bool),
        ("curves", c_bool),
        ("kernel", c_char_p),
        ("log", POINTER(fth_log)),
        ("orders", c_uint),
        ("sample", c_uint),
        ("diagnose", c_bool),
    ]


class fth_hints_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("max_hints", c_uint),
        ("max_accesses", c_uint64),
        ("kernel", c_char_p),
        ("threads", c_uint),
        ("log", POINTER(fth_log)),
    ]


class fth_model_report(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("folders", POINTER(c_char_p)),
        ("ptx", c_char_p),
        ("sources", c_bool),
        ("hints", c_void_p),
    ]


class fth_report_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("utf8", c_bool),
        ("colour", c_bool),
        ("width", c_uint),
        ("replayed", c_bool),
        ("columns", c_uint),
        ("drop", POINTER(c_char_p)),
        ("all", c_bool),
    ]


#: Every struct above, by its name in the headers.
STRUCTS = {name: kind for name, kind in list(globals().items()) if name.startswith("fth_")}

S = TypeVar("S", bound=Structure)


def options(kind: type[S], **members: Any) -> S:
    """Makes a struct of options with its size set."""
    made = kind(**members)
    made.size = ctypes.sizeof(kind)
    return made


def texts(items: list[bytes]) -> Any:
    """Makes an array of C texts."""
    return (c_char_p * max(len(items), 1))(*items)
