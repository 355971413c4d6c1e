"""Loads libfathom, calls its functions, and turns its errors into exceptions.

The library is the first of these that exists: the file that the environment variable FATHOM_LIBRARY names, the
copy in the package (`lib/libfathom.so.0`, in wheels), and what the loader of the system finds.
"""

from __future__ import annotations

import ctypes
import logging
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Optional, TypeVar, Union

from . import _structs as c

NAME = "libfathom.so.0"
logger = logging.getLogger("fathom")
PathText = Union[str, "os.PathLike[str]"]
ProgressFunction = Callable[[str, float], None]
T = TypeVar("T")


# ---- errors ----


class Error(Exception):
    """A failure that libfathom reports. The message is that of the library."""

    def __init__(self, cause: str, operation: str = "", argument: str = "", excerpt: str = "") -> None:
        where = f"{operation} '{argument}': " if operation and argument else f"{operation}: " if operation else ""
        super().__init__(where + cause + ("\n" + excerpt if excerpt else ""))
        self.operation = operation  #: What failed, such as "read".
        self.argument = argument  #: What it failed on, such as a path.
        self.cause = cause  #: Why it failed.
        self.excerpt = excerpt  #: For errors in PTX: the line, and a caret on the next line.


class OutOfMemory(Error, MemoryError):
    """The host is out of memory."""


class SystemFailure(Error):
    """The operating system refused: disk full, permission, broken pipe."""


class Invalid(Error, ValueError):
    """The input is wrong: malformed file, unknown option, faulty kernel, contradiction."""


class NotFound(Error, LookupError):
    """There is no such name, file or device."""


class Unsupported(Error):
    """This build, driver or device lacks the function."""


class Unavailable(Error):
    """Supported, but not possible now: no driver, GPU memory full."""


class Inconclusive(Error):
    """It was measured, but the samples do not support an answer."""


class Interrupted(Error):
    """The operation was stopped."""


class LibraryMissing(Error, ImportError):
    """libfathom was not found, or is older than this package."""


_EXCEPTIONS = {
    c.NO_MEMORY: OutOfMemory,
    c.IO: SystemFailure,
    c.INVALID: Invalid,
    c.NOT_FOUND: NotFound,
    c.UNSUPPORTED: Unsupported,
    c.UNAVAILABLE: Unavailable,
    c.INCONCLUSIVE: Inconclusive,
    c.INTERRUPTED: Interrupted,
}


# ---- functions ----

_TEXT = [POINTER(c_char_p), POINTER(c_size_t)]  # char **text, size_t *size
LIST_DEVICE = ctypes.CFUNCTYPE(None, c_void_p, POINTER(c.fth_device_info))
# The parameters of functions that return a status, without the error at the end.
_FALLIBLE: dict[str, list[Any]] = {
    "fth_catalogue_open": [POINTER(c_void_p)],
    "fth_catalogue_read": [c_void_p, c_char_p, POINTER(c.fth_log), POINTER(c_void_p)],
    "fth_device_finish": [c_void_p],
    "fth_device_list": [LIST_DEVICE, c_void_p],
    "fth_device_open_with": [c_char_p, POINTER(c.fth_device_options), POINTER(c_void_p)],
    "fth_device_record": [c_void_p, c_char_p],
    "fth_discover": [c_void_p, POINTER(c.fth_discover_options), POINTER(c_void_p)],
    "fth_file_write": [c_char_p, c_char_p, c_size_t],
    "fth_gpu_read_text": [c_char_p, c_char_p, c_size_t, POINTER(c.fth_log), POINTER(c_void_p)],
    "fth_gpu_write_text": [c_void_p, *_TEXT],
    "fth_hints_create": [c_void_p, c_void_p, c_void_p, POINTER(c.fth_hints_options), POINTER(c_void_p)],
    "fth_launch_copy": [c_void_p, c_size_t, POINTER(c.fth_launch_view), c_void_p, c_size_t],
    "fth_launch_counter": [c_void_p, c_size_t, c_size_t, POINTER(c_uint64)],
    "fth_launch_open": [c_char_p, POINTER(c.fth_launch_options), POINTER(c_void_p)],
    "fth_launch_run": [c_void_p, POINTER(c.fth_run_options), POINTER(c.fth_launch_totals)],
    "fth_launch_verify": [c_void_p, c_size_t, POINTER(c.fth_verdict)],
    "fth_model_params_create": [c_void_p, POINTER(c_void_p)],
    "fth_model_run": [c_void_p, c_void_p, POINTER(c.fth_model_options), POINTER(c_void_p)],
    "fth_model_set": [c_void_p, c_char_p, c_char_p],
    "fth_report_diagnosis": [
        c_char_p,
        c_int,
        c_void_p,
        c_void_p,
        POINTER(c.fth_model_report),
        POINTER(c.fth_report_options),
        *_TEXT,
    ],
    "fth_report_gpu": [c_char_p, c_void_p, POINTER(c.fth_report_options), *_TEXT],
    "fth_report_html": [POINTER(c_char_p), c_size_t, POINTER(c.fth_log), *_TEXT],
    "fth_trace_cursor_open": [c_void_p, c_size_t, c_uint64, c_uint64, POINTER(c_void_p)],
    "fth_trace_edit": [c_void_p, POINTER(c_char_p), c_size_t, POINTER(c.fth_log), POINTER(c_void_p)],
    "fth_trace_next": [c_void_p, POINTER(POINTER(c.fth_trace_access))],
    "fth_trace_obtain": [c_char_p, POINTER(c.fth_trace_options), POINTER(c_void_p)],
    "fth_trace_stats_create": [c_void_p, POINTER(c.fth_log), POINTER(c_void_p)],
}
# Other functions: the result and the parameters.
_PLAIN: dict[str, tuple[Any, list[Any]]] = {
    "fth_catalogue_close": (None, [c_void_p]),
    "fth_catalogue_count": (c_size_t, [c_void_p]),
    "fth_catalogue_name": (c_char_p, [c_void_p, c_size_t]),
    "fth_counter_name": (c_char_p, [c_size_t]),
    "fth_device_close": (None, [c_void_p]),
    "fth_free": (None, [c_void_p]),
    "fth_gpu_destroy": (None, [c_void_p]),
    "fth_hints_destroy": (None, [c_void_p]),
    "fth_interrupted_by_flag": (c_bool, [c_void_p]),
    "fth_launch_buffer_count": (c_size_t, [c_void_p]),
    "fth_launch_destroy": (None, [c_void_p]),
    "fth_launch_expectation_count": (c_size_t, [c_void_p]),
    "fth_launch_kernel": (c_char_p, [c_void_p, c_size_t]),
    "fth_launch_seconds": (c_double, [c_void_p, c_size_t]),
    "fth_launch_step_count": (c_size_t, [c_void_p]),
    "fth_model_params_destroy": (None, [c_void_p]),
    "fth_model_result_destroy": (None, [c_void_p]),
    "fth_trace_bytes": (c_uint64, [c_void_p]),
    "fth_trace_close": (None, [c_void_p]),
    "fth_trace_cursor_close": (None, [c_void_p]),
    "fth_trace_edit_known": (c_bool, [c_char_p]),
    "fth_trace_instruction_at": (POINTER(c.fth_trace_instruction), [c_void_p, c_size_t]),
    "fth_trace_kind_name": (c_char_p, [POINTER(c.fth_trace_instruction)]),
    "fth_trace_launch_at": (POINTER(c.fth_trace_launch), [c_void_p, c_size_t]),
    "fth_trace_launch_count": (c_size_t, [c_void_p]),
    "fth_trace_stats_destroy": (None, [c_void_p]),
    "fth_trace_stats_row": (POINTER(c.fth_trace_row), [c_void_p, c_size_t]),
    "fth_trace_truncated": (c_char_p, [c_void_p]),
    "fth_version": (c_char_p, []),
}

_lock = threading.Lock()
_loaded: Optional[ctypes.CDLL] = None


def path() -> Optional[Path]:
    """Returns the file of the library that is loaded, or None if the loader of the system finds it."""
    named = os.environ.get("FATHOM_LIBRARY")
    if named:
        return Path(named)
    bundled = Path(__file__).resolve().parent / "lib" / NAME
    return bundled if bundled.exists() else None


def _load() -> ctypes.CDLL:
    file = path()
    try:
        loaded = ctypes.CDLL(str(file or NAME))
    except OSError as why:
        raise LibraryMissing(
            f"{why}. Install fathom, or set FATHOM_LIBRARY to the path of {NAME}", "load library", str(file or NAME)
        ) from None
    functions = {name: (c_int, [*types, POINTER(c.fth_error)]) for name, types in _FALLIBLE.items()}
    for name, (result, types) in {**functions, **_PLAIN}.items():
        function = getattr(loaded, name, None)
        if function is None:
            raise LibraryMissing(
                f"it has no function {name}, so it is older than this package; install the same version of both",
                "load library",
                str(file or NAME),
            )
        function.restype, function.argtypes = result, types
    return loaded


def library() -> ctypes.CDLL:
    """Returns the library, and loads it before the first use."""
    global _loaded
    with _lock:
        if _loaded is None:
            _loaded = _load()
        return _loaded


def version() -> str:
    """Returns the version of the library, such as "0.2.0"."""
    return text(library().fth_version())


# ---- calls ----


def text(value: Optional[bytes]) -> str:
    """Decodes a text of the library."""
    return (value or b"").decode("utf-8", "replace")


def optional_text(value: Optional[bytes]) -> Optional[str]:
    """Decodes a text that can be NULL."""
    return None if value is None else text(value)


def encode(value: Optional[PathText]) -> Optional[bytes]:
    """Encodes a text or a path for the library; None stays None."""
    if value is None:
        return None
    encoded = os.fsencode(value)
    if b"\0" in encoded:
        raise Invalid("it contains a NUL character", "read", repr(value))
    return encoded


def call(name: str, *arguments: Any) -> None:
    """Calls a function that returns a status; raises the exception of its error."""
    error = c.fth_error()
    status = getattr(library(), name)(*arguments, byref(error))
    if status != c.OK:
        parts = [text(part) for part in (error.cause, error.operation, error.argument, error.excerpt)]
        raise _EXCEPTIONS.get(status, Error)(*parts)


def call_text(name: str, *arguments: Any) -> str:
    """Calls a function whose last parameters are `char **text, size_t *size, struct fth_error *error`."""
    pointer, size = c_char_p(), c_size_t()
    call(name, *arguments, byref(pointer), byref(size))
    return _take(pointer, size)


def _take(pointer: c_char_p, size: c_size_t) -> str:
    """Returns a text that the library allocated, and frees it."""
    address = ctypes.cast(pointer, c_void_p)
    try:
        return text(ctypes.string_at(address, size.value))
    finally:
        library().fth_free(address)


class Handle:
    """An object of the library, which is released with the Python object or by close()."""

    def __init__(self, pointer: c_void_p, destroy: str) -> None:
        self._as_parameter_ = pointer
        self.keeps: tuple[Any, ...] = ()  # what the object borrows from, which is released after it
        self._finalizer = weakref.finalize(self, getattr(library(), destroy), c_void_p(pointer.value))

    def exists(self) -> bool:
        """Returns False if the function succeeded without an object, such as a trace that was written to a pipe."""
        return bool(self._as_parameter_.value)

    def close(self) -> None:
        """Releases the object."""
        self._finalizer()

    def __enter__(self) -> "Handle":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def create(name: str, destroy: str, *arguments: Any) -> Handle:
    """Calls a function whose last parameters are `T **object, struct fth_error *error`."""
    pointer = c_void_p()
    try:
        call(name, *arguments, byref(pointer))
    except Error:
        if pointer.value:  # an interrupted measurement leaves an object
            getattr(library(), destroy)(pointer)
        raise
    return Handle(pointer, destroy)


# ---- messages, progress and interruption ----

_LEVELS = {c.LOG_ERROR: logging.ERROR, c.LOG_WARNING: logging.WARNING, c.LOG_INFO: logging.INFO}


class Operation:
    """The callbacks of one call. Messages go to the logger "fathom", progress to a function of the caller."""

    def __init__(self, progress: Optional[ProgressFunction] = None) -> None:
        self._flag = c_int(0)
        self._progress = progress
        self.failure: Optional[BaseException] = None
        interrupted = ctypes.cast(library().fth_interrupted_by_flag, c.Interrupted)
        self._callbacks = (c.Message(self._on_message), c.Progress(self._on_progress) if progress else c.Progress(0))
        self.struct = c.fth_log(*self._callbacks, interrupted, ctypes.addressof(self._flag))
        self.log = ctypes.pointer(self.struct)

    def stop(self) -> None:
        """Lets the library stop as soon as possible."""
        self._flag.value = 1

    def _on_message(self, _: Any, level: int, message: bytes) -> None:
        try:
            logger.log(_LEVELS.get(level, logging.DEBUG), "%s", text(message))
        except BaseException as why:  # an exception cannot pass through the library
            self.failure = self.failure or why
            self.stop()

    def _on_progress(self, _: Any, what: bytes, fraction: float) -> None:
        try:
            if self._progress and not self.failure:
                self._progress(text(what), fraction)
        except BaseException as why:
            self.failure = self.failure or why
            self.stop()

    def run(self, function: Callable[[], T]) -> T:
        """Calls a function that uses the library with this object's log, so that Ctrl-C stops it.

        Python handles signals only in its main thread, and only between instructions of Python. In the main
        thread, the function therefore runs in another thread while the main thread waits.
        """
        if threading.current_thread() is not threading.main_thread():
            return self._guard(function)
        done = threading.Event()
        results: list[T] = []
        failures: list[BaseException] = []

        def work() -> None:
            try:
                results.append(self._guard(function))
            except BaseException as why:
                failures.append(why)
            finally:
                done.set()

        thread = threading.Thread(target=work, name="fathom", daemon=True)
        try:
            thread.start()
            done.wait()
        except BaseException:  # KeyboardInterrupt, or what another signal handler raises
            self.stop()
            self._await(thread)
            raise
        if failures:
            raise failures[0]
        return results[0]

    def _guard(self, function: Callable[[], T]) -> T:
        try:
            result = function()
        except Error:
            if self.failure:
                raise self.failure from None
            raise
        if self.failure:
            raise self.failure
        return result

    @staticmethod
    def _await(thread: threading.Thread) -> None:
        """Waits until the library has stopped, because it uses memory of the caller."""
        while thread.is_alive():
            try:
                thread.join()
            except BaseException:  # a further Ctrl-C
                pass


# ---- reports ----


def report_html(paths: Sequence[PathText]) -> str:
    """Returns one self-contained HTML page with the charts of files, as 'fathom report' writes it.

    Raises Unsupported if the library was built without D3, which draws the charts.
    """
    operation = Operation()
    files = c.texts([encode(item) or b"" for item in paths])
    return operation.run(lambda: call_text("fth_report_html", files, len(paths), operation.log))
