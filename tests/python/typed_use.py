"""Uses the module as a typed program does. mypy checks it (scripts/lint); it is not executed.

A line with "type: ignore" must have the stated fault: mypy reports comments that are not needed.
"""

import fathom

description = fathom.topo(device="sim:h200", only=["l1", "l2"], quick=True)
mebibytes: float = description.l2.size_bytes / 2**20
source: "str | None" = description.l2.size_bytes.source
reasons: dict[str, str] = description.l1.unknown

done: fathom.RunResult = fathom.run("kernel.ptx", grid=4, block=(16, 16), args=[1, 2.0, bytearray(64)])
times: "list[float | None]" = done.seconds

with fathom.trace("kernel.ptx", grid=4, sizes={"N": 64}, launches=(0, 2)) as trace:
    result: fathom.ModelResult = fathom.model(trace, gpu=description, set={"l1.size_bytes": "32K"}, hints=True)
text: str = result.summary()
rows: "list[dict[str, object]]" = list(result.records("levels"))


@fathom.model(gpu="h200", show=False)
def decorated() -> None: ...


fathom.run("kernel.ptx", grd=4)  # type: ignore[call-arg]
fathom.trace("kernel.ptx", grd=4)  # type: ignore[call-arg]
fathom.model("kernel.ptx", grd=4)  # type: ignore[call-overload]
fathom.model("kernel.ptx", grid="4")  # type: ignore[arg-type]
fathom.topo(device=0)  # type: ignore[arg-type]
fathom.gpu("h200").save(1)  # type: ignore[arg-type]
