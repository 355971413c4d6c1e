"""Results of the model: figures per kernel, launch and instruction."""

from __future__ import annotations

import json
import os
from ctypes import byref, c_char_p
from typing import Any, Optional, Union, cast

from . import _structs as c
from . import descriptions
from ._arguments import Input
from ._library import Handle, Invalid, Operation, call_text, create, encode

_VIEWS = {
    "summary": c.VIEW_SUMMARY,
    "kernels": c.VIEW_KERNELS,
    "launches": c.VIEW_LAUNCH_SUMMARY,
    "lines": c.VIEW_SOURCE_LINES,
    "source": c.VIEW_SOURCE,
    "profile": c.VIEW_PROFILE,
    "curve": c.VIEW_CURVE,
    "parameters": c.VIEW_PARAMETERS,
}
_KINDS = ("read", "write", "atomic")
# Histograms, which are no figures of a row.
_HISTOGRAMS = {"C1R", "C1W", "C2R", "C2W"}
# The traffic of a level in the columns of records("levels").
_LEVELS = ("l1", "l2", "memory")


class Record(dict[str, Any]):
    """An object of a JSON document whose keys are also attributes: row["l1"]["hits"] and row.l1.hits."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no '{name}'; there are {', '.join(self)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


def _flatten(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Makes one column of every number: l1.hits[0] becomes l1_hits_read."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if key in _HISTOGRAMS:
            continue
        if isinstance(value, dict):
            flat.update(_flatten(value, f"{prefix}{key}_"))
        elif isinstance(value, list) and len(value) == len(_KINDS) and not isinstance(value[0], (list, dict)):
            flat.update({f"{prefix}{key}_{kind}": item for kind, item in zip(_KINDS, value)})
        else:
            flat[f"{prefix}{key}"] = value
    return flat


class ModelResult:
    """The result of model(). The members are those of the JSON document that 'fathom model --json' prints:

    gpu: the name of the GPU.  timed: whether the model ran with time.
    parameters: every parameter of the model, with value and source.
    kernels, launches, instructions: lists of records, such as result.kernels[0].hit_ratios.l1_read.
    """

    def __init__(self, trace: Handle, params: Handle, result: Handle, source: Optional[Input], threads: int) -> None:
        result.keeps = (trace, params)
        self._source = source  # has the temporary file of PTX text, for the lines of kernels without source
        # The objects of the library; None after release().
        self._trace: Optional[Handle] = trace
        self._params: Optional[Handle] = params
        self._result: Optional[Handle] = result
        self._threads = threads
        self._hints: Optional[Handle] = None
        self._has_hints = False
        self._path = source.path if source else None
        self._texts: dict[Any, str] = {}
        self._document: Optional[Record] = None

    # ---- reports of the library ----

    def _report(self, format: str, view: str, width: int = 80, colour: bool = False) -> str:
        key = (format, view, width, colour, self._has_hints)
        if key not in self._texts:
            if view not in _VIEWS:
                raise Invalid(f"expected one of {', '.join(_VIEWS)}", "view", str(view))
            self._check_complete(f"{format} {view}")
            folder = os.path.dirname(self._path) if self._path else b""
            more = c.options(c.fth_model_report, sources=view == "source")
            more.folders = (c_char_p * 3)(folder or b".", b".", None)
            more.ptx = self._path if self._path and self._path.endswith(b".ptx") else None
            more.hints = self._hints._as_parameter_ if self._hints else None
            options = c.options(c.fth_report_options, utf8=True, colour=colour, columns=width, width=width)
            arguments = (self._result, self._params, byref(more), byref(options))
            self._texts[key] = call_text("fth_report_diagnosis", encode(format), _VIEWS[view], *arguments)
        return self._texts[key]

    def summary(self, *, width: int = 80) -> str:
        """Returns the text that 'fathom model' prints: a row per kernel, and figures per level."""
        return self._report("text", "summary", width)

    def text(self, view: str = "summary", *, width: int = 80, colour: bool = False) -> str:
        """Returns a view as text: "summary", "launches", "lines", "source", "profile", "curve", "parameters" or
        "kernels" (the wide table with all counts)."""
        return self._report("text", view, width, colour)

    def to_json(self) -> str:
        """Returns the document `fathom-model/1`, as 'fathom model --json' prints it."""
        return self._report("json", "summary")

    def to_csv(self, view: str = "kernels") -> str:
        """Returns a view as CSV."""
        return self._report("csv", view)

    def release(self) -> None:
        """Closes the trace, which is an open file, and frees the memory of the model.

        What to_json() and summary() return is kept, and so are the members that come from it. Other views, and hints
        that were not computed before, then raise Invalid.
        """
        if self._result is not None:
            self.to_json()
            self.summary()
            self._hints = self._result = self._params = self._trace = self._source = None

    def _check_complete(self, what: str) -> None:
        if self._result is None:
            raise Invalid("release() was called for this result, which kept only to_json() and summary()", "show", what)

    # ---- members ----

    def document(self) -> Record:
        """Returns the content of to_json()."""
        if self._document is None:
            self._document = json.loads(self.to_json(), object_hook=Record)
        return self._document

    def _rows(self, name: str) -> list[Record]:
        return cast("list[Record]", self.document().get(name, []))

    @property
    def gpu(self) -> Optional[str]:
        """The name of the GPU; None for generic parameters."""
        return self.document().get("gpu")

    @property
    def timed(self) -> bool:
        """Whether the model ran with time."""
        return bool(self.document()["timed"])

    @property
    def parameters(self) -> Record:
        """Every parameter by its name, with value and source."""
        return cast(Record, self.document()["parameters"])

    @property
    def kernels(self) -> list[Record]:
        """The figures of each kernel, over all its launches."""
        return self._rows("kernels")

    @property
    def launches(self) -> list[Record]:
        """The figures of each launch."""
        return self._rows("launches")

    @property
    def instructions(self) -> list[Record]:
        """The figures of each memory instruction, over all launches of its kernel."""
        return self._rows("instructions")

    @property
    def hints(self) -> list[Record]:
        """What to change in the kernels, each with the figures that the model computes for the change.

        They are computed at the first access, unless model() was called with hints=True. The model runs again
        for each change that is tried.
        """
        if not self._has_hints:
            self._check_complete("hints")
            operation = Operation()
            operation.run(lambda: self._find_hints(operation))
        return self._rows("hints")

    def _find_hints(self, operation: Operation) -> None:
        options = c.options(c.fth_hints_options, threads=self._threads, log=operation.log)
        arguments = (self._trace, self._params, self._result, byref(options))
        self._hints = create("fth_hints_create", "fth_hints_destroy", *arguments)
        self._hints.keeps = (self._result,)
        self._has_hints = True
        self._document = None

    def records(self, rows: str = "kernels") -> list[dict[str, Any]]:
        """Returns flat dicts for pandas.DataFrame.

        rows: "kernels", "launches" or "instructions": one row each, with one column per figure, such as
            hit_ratios_l1_read and l1_sectors_write; "levels": one row per kernel and level of the memory system;
            "hints".
        """
        if rows == "levels":
            return [_level(kernel, level) for kernel in self.kernels for level in _LEVELS]
        if rows not in ("kernels", "launches", "instructions", "hints"):
            raise ValueError(f"rows is kernels, launches, instructions, levels or hints, not '{rows}'")
        return [_flatten(row) for row in getattr(self, rows)]

    def __repr__(self) -> str:
        names = [str(kernel["demangled"]) for kernel in self.kernels]
        return f"<fathom.ModelResult of {', '.join(names)} on {self.gpu or 'generic parameters'}>"

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return descriptions.html(self.to_json(), self.summary)


def _level(kernel: Record, level: str) -> dict[str, Any]:
    """Returns the figures of a kernel at one level of the memory system."""
    ratios: Union[Record, dict[str, Any]] = kernel.get("hit_ratios", {})
    return {
        "kernel": kernel["kernel"],
        "demangled": kernel["demangled"],
        "launches": kernel["launches"],
        "level": level,
        "bytes": kernel.get("moved_bytes", {}).get(level),
        "efficiency": kernel.get("efficiency", {}).get(level),
        "read_hit_ratio": ratios.get(f"{level}_read"),
        "write_hit_ratio": ratios.get(f"{level}_write"),
        "floor_us": kernel.get("floors_us", {}).get(level),
        "is_bottleneck": kernel.get("bottleneck") == level,
        "time_us": kernel.get("time_us"),
    }
