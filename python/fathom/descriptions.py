"""Descriptions of GPUs: measured ones, those that come with fathom, and those in files.

    gpu = fathom.topo(device="cuda:0")
    gpu.l2.size_bytes / 2**20       # the value of an attribute, used directly
    gpu.l2.latency_cycles.source    # its provenance
    gpu.l1.unknown                  # what could not be measured, and why

docs/gpu-description.md of fathom explains all sections and attributes.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterator, Mapping
from ctypes import byref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _library
from . import _structs as c
from ._library import Operation, PathText, ProgressFunction, call, call_text, create, encode, library

_PROVENANCE = ("source", "method", "reference", "note", "confidence", "samples", "low", "high")


class Attribute:
    """An attribute of a description: a value with its provenance.

    It can be used like its value: in arithmetic, comparisons, formats, and as an index or a list.
    """

    __slots__ = ("name", "value", *_PROVENANCE)
    name: str  #: Such as "size_bytes"; the unit is part of it.
    value: Any  #: A number, a text, or a list of numbers or texts.
    source: Optional[str]  #: "measured", "driver", "derived", "published" or "simulated"; None: not stated.
    method: Optional[str]  #: How the value was obtained, in words.
    reference: Optional[str]  #: Keys of Description.references, with locators.
    note: Optional[str]
    confidence: Optional[float]  #: How certain the value is, 0 to 1.
    samples: Optional[int]  #: Number of raw samples that the value is based on.
    low: Optional[float]  #: Lower end of the interval that the number stands for.
    high: Optional[float]  #: Upper end of this interval.

    def __init__(self, name: str, document: Any) -> None:
        stated = document if isinstance(document, dict) and "value" in document else {"value": document}
        self.name = name
        self.value = stated["value"]
        for key in _PROVENANCE:
            setattr(self, key, stated.get(key))

    def provenance(self) -> dict[str, Any]:
        """Returns what the description states about the origin of the value."""
        return {key: getattr(self, key) for key in _PROVENANCE if getattr(self, key) is not None}

    def __repr__(self) -> str:
        origin = f", source={self.source!r}" if self.source else ""
        return f"<{self.name}={self.value!r}{origin}>"

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, form: str) -> str:
        return format(self.value, form)

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def __getitem__(self, index: Any) -> Any:
        return self.value[index]

    def __hash__(self) -> int:
        return hash(self.value)

    if TYPE_CHECKING:  # _forward defines them

        def __add__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __floordiv__(self, other: Any) -> Any: ...
        def __mod__(self, other: Any) -> Any: ...
        def __pow__(self, other: Any) -> Any: ...
        def __divmod__(self, other: Any) -> Any: ...
        def __radd__(self, other: Any) -> Any: ...
        def __rsub__(self, other: Any) -> Any: ...
        def __rmul__(self, other: Any) -> Any: ...
        def __rtruediv__(self, other: Any) -> Any: ...
        def __rfloordiv__(self, other: Any) -> Any: ...
        def __rmod__(self, other: Any) -> Any: ...
        def __rpow__(self, other: Any) -> Any: ...
        def __rdivmod__(self, other: Any) -> Any: ...
        def __lt__(self, other: Any) -> bool: ...
        def __le__(self, other: Any) -> bool: ...
        def __gt__(self, other: Any) -> bool: ...
        def __ge__(self, other: Any) -> bool: ...
        def __neg__(self) -> Any: ...
        def __pos__(self) -> Any: ...
        def __abs__(self) -> Any: ...
        def __round__(self, digits: Optional[int] = None) -> Any: ...


def _value(operand: Any) -> Any:
    return operand.value if isinstance(operand, Attribute) else operand


def _forward(name: str, function: Any, reflected: bool) -> None:
    """Lets attributes take part in an operation with their values."""
    if reflected:
        setattr(Attribute, f"__r{name}__", lambda self, other: function(_value(other), self.value))
    setattr(Attribute, f"__{name}__", lambda self, other: function(self.value, _value(other)))


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    _forward(_name, getattr(operator, _name), True)
_forward("divmod", divmod, True)
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    _forward(_name, getattr(operator, _name), False)
for _name in ("neg", "pos", "abs"):
    setattr(Attribute, f"__{_name}__", lambda self, function=getattr(operator, _name): function(self.value))
setattr(Attribute, "__round__", lambda self, digits=None: round(self.value, digits))


class Section(Mapping[str, Attribute]):
    """A section of a description: "device", "noise", or an element of the memory system such as "l2".

    Attributes are members (`gpu.l2.size_bytes`) and items (`gpu.l2["size_bytes"]`). `unknown` has the
    attributes that could not be determined, each with the reason.
    """

    def __init__(self, title: str, document: dict[str, Any]) -> None:
        self._title = title
        self.unknown: dict[str, str] = dict(document.get("unknown", {}))
        self._attributes = {name: Attribute(name, value) for name, value in document.items() if name != "unknown"}

    def _explain(self, name: str) -> str:
        reason = self.unknown.get(name)
        return f"{self._title}.{name} is unknown: {reason}" if reason else f"'{self._title}' has no attribute '{name}'"

    def __getattr__(self, name: str) -> Attribute:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._attributes[name]
        except KeyError:
            raise AttributeError(self._explain(name)) from None

    def __getitem__(self, name: str) -> Attribute:
        try:
            return self._attributes[name]
        except KeyError:
            raise KeyError(self._explain(name)) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._attributes]

    def __repr__(self) -> str:
        return f"<{self._title}: {len(self)} attributes, {len(self.unknown)} unknown>"


class Description:
    """A description of a GPU: a document `fathom-gpu/1`, with its sections as members."""

    def __init__(self, text: str, *, log: Any = None) -> None:
        """Reads and checks the JSON text of a description."""
        encoded = text.encode()
        with create("fth_gpu_read_text", "fth_gpu_destroy", b"description", encoded, len(encoded), log) as handle:
            self._text = call_text("fth_gpu_write_text", handle)
        self._document = json.loads(self._text)
        elements = self._document.get("elements", {})
        self._sections = {
            name: Section(name, self._document[name]) for name in ("device", "noise") if name in self._document
        }
        self._sections.update({name: Section(name, element) for name, element in elements.items()})
        self.elements: list[str] = list(elements)  #: Names of the elements, in the order of the document.
        self.references: dict[str, Any] = self._document.get("references", {})  #: Explains Attribute.reference.

    @property
    def name(self) -> str:
        """The name that the driver reports, such as "NVIDIA H200"."""
        return str(self._sections["device"].get("name", "unknown GPU")) if "device" in self._sections else "unknown GPU"

    def __getattr__(self, name: str) -> Section:
        sections: dict[str, Section] = self.__dict__.get("_sections", {})
        if name in sections:
            return sections[name]
        raise AttributeError(f"the description has no section '{name}'; it has {', '.join(sections)}")

    def __getitem__(self, name: str) -> Section:
        return self._sections[name]

    def __contains__(self, name: object) -> bool:
        return name in self._sections

    def __iter__(self) -> Iterator[str]:
        return iter(self._sections)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._sections]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Description) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> Any:
        return Description, (self._text,)

    def __repr__(self) -> str:
        return f"<fathom.Description of {self.name}: {', '.join(self._sections)}>"

    def to_json(self) -> str:
        """Returns the document `fathom-gpu/1`, as 'fathom topo --json' prints it."""
        return self._text

    def to(self, format: str, *, width: int = 80) -> str:
        """Returns the description in a format of 'fathom topo --format', such as "text", "csv" or "hwloc"."""
        report = c.options(c.fth_report_options, utf8=True, width=width, columns=width)
        with self._handle() as handle:
            return call_text("fth_report_gpu", encode(format), handle, byref(report))

    def summary(self, *, width: int = 80) -> str:
        """Returns the text with the drawing of the memory hierarchy that 'fathom topo' prints."""
        return self.to("text", width=width)

    def save(self, path: PathText) -> None:
        """Writes the document to a file, atomically."""
        encoded = self._text.encode()
        call("fth_file_write", encode(path), encoded, len(encoded))

    def records(self) -> list[dict[str, Any]]:
        """Returns one dict per attribute, with section, name, value and provenance, for pandas.DataFrame.

        Unknown attributes are included, with the value None and the reason as note.
        """
        rows: list[dict[str, Any]] = []
        for title, section in self._sections.items():
            for name, attribute in section.items():
                origin = {key: getattr(attribute, key) for key in _PROVENANCE}
                rows.append({"section": title, "attribute": name, "value": attribute.value, **origin})
            for name, reason in section.unknown.items():
                origin = {**dict.fromkeys(_PROVENANCE), "source": "unknown", "note": reason}
                rows.append({"section": title, "attribute": name, "value": None, **origin})
        return rows

    def _handle(self) -> _library.Handle:
        """Makes the object of the library; the caller closes it."""
        encoded = self._text.encode()
        return create("fth_gpu_read_text", "fth_gpu_destroy", b"description", encoded, len(encoded), None)

    def _repr_html_(self) -> str:
        return html(self._text, self.summary)


def html(document: str, fallback: Callable[[], str]) -> str:
    """Returns the charts of a document for a notebook, or its text where the charts are not available."""
    from . import notebook  # imported here, because it is only needed in notebooks

    return notebook.frame(document, fallback=fallback)


def read(path: PathText) -> Description:
    """Reads a description from a file; files compressed with zstd are recognised."""
    return gpu(path)


def gpus() -> list[str]:
    """Returns the names of the descriptions that come with fathom, for gpu() and model()."""
    with create("fth_catalogue_open", "fth_catalogue_close") as catalogue:
        count = library().fth_catalogue_count(catalogue)
        return [_library.text(library().fth_catalogue_name(catalogue, index)) for index in range(count)]


def gpu(name: Union[PathText, Description]) -> Description:
    """Returns a description by its name in the catalogue, such as "h200", or from a file."""
    if isinstance(name, Description):
        return name
    operation = Operation()
    with create("fth_catalogue_open", "fth_catalogue_close") as catalogue:
        found = create("fth_catalogue_read", "fth_gpu_destroy", catalogue, encode(name), operation.log)
    with found:
        return Description(call_text("fth_gpu_write_text", found))


@dataclass(frozen=True)
class Device:
    """A device that can be measured, or a backend that cannot be used."""

    backend: str  #: "cuda" or "opencl".
    id: Optional[str]  #: For topo(), such as "cuda:0"; None: the backend cannot be used.
    name: Optional[str]  #: Such as "NVIDIA H200".
    detail: Optional[str]  #: Further facts; without an id, why the backend cannot be used.


def devices() -> list[Device]:
    """Lists the GPUs of this computer, CPUs with an OpenCL driver, and backends that cannot be used."""
    found: list[Device] = []

    def each(_: Any, device: Any) -> None:
        info = device.contents
        fields = [_library.optional_text(item) for item in (info.id, info.name, info.detail)]
        found.append(Device(_library.text(info.backend), *fields))

    call("fth_device_list", _library.LIST_DEVICE(each), None)
    return found


def topo(
    device: Optional[str] = None,
    *,
    only: Optional[Union[str, list[str]]] = None,
    quick: bool = False,
    thorough: bool = False,
    full: bool = False,
    require_gpu: bool = False,
    record: Optional[PathText] = None,
    progress: Optional[ProgressFunction] = None,
) -> Description:
    """Measures the memory system of a GPU, as 'fathom topo' does.

    device: "cuda:0", "opencl:0", "sim:h200" (a GPU simulated from a description), or "replay:FILE". None is the
        first real GPU or, if the computer has none, "sim:h200", unless require_gpu is set.
    only: elements to measure, such as "l1,l2" or ["l1", "l2"].
    quick: only latencies and a few bandwidths.  thorough: repeat bandwidths more often.  full: also dissect.
    record: file for the requests and answers, which "replay:FILE" repeats.
    progress: called with the current step and the completed fraction.

    Attributes that could not be measured are in the member `unknown` of their section.
    """
    operation = Operation(progress)
    names = ",".join(only) if isinstance(only, (list, tuple)) else only
    opening = c.options(c.fth_device_options, log=operation.log, require_gpu=require_gpu)
    measuring = c.options(
        c.fth_discover_options, only=encode(names), log=operation.log, quick=quick, thorough=thorough, full=full
    )

    def measure() -> str:
        # One thread uses the device from its opening to its closing: a CUDA context belongs to a thread.
        with create("fth_device_open_with", "fth_device_close", encode(device), byref(opening)) as opened:
            if record is not None:
                call("fth_device_record", opened, encode(record))
            with create("fth_discover", "fth_gpu_destroy", opened, byref(measuring)) as found:
                call("fth_device_finish", opened)
                return call_text("fth_gpu_write_text", found)

    return Description(operation.run(measure))

