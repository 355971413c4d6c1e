/* Several GPUs in one chart: sizes, latencies, bandwidths, and latency by footprint. */

const COMMON = ["l1", "shared", "scalar_l1", "constant_l1", "l2", "l3", "memory"];

/* One dot per GPU and row. rowsOf: [label, (gpu) => figure, attribute name]. */
function severalDots(grid, gpus, { title, name, note, unit, format }, rowsOf) {
  const names = gpus.map(({ gpu }) => nameOf(deviceOf(gpu))), table = [];
  const rows = rowsOf.map(([label, section, attribute]) => ({ label, dots: gpus.map(({ gpu }, i) => {
    const figure = figureOf(gpu, elementFor(gpu, section), attribute), value = figure && typeof figure.value === "number" ? figure.value : NaN;
    if (value > 0) table.push([names[i], label, value, figure.low, figure.high, figure.source]);
    return { value, colour: i, lines: figure ? [names[i], label, ...evidenceLines(attribute, figure)] : [] };
  }) })).filter((row) => row.dots.some((d) => d.value > 0));
  if (!rows.length) return;
  const frame = addFigure(grid, { title, name, note, columns: ["gpu", "figure", formatColumn(format), "low", "high", "source"], rows: table });
  dotChart(frame, { rows, names, unit, format });
}

const formatColumn = (format) => format === bytes ? "bytes" : format === rate ? "bytes_per_s" : "cycles";

/* The latency that each footprint has according to a description: that of the smallest cache that holds it. */
function latencySteps(gpu) {
  const levels = ["vector_l1", "l1", "l2", "l3", "memory"].map((name) => ({ name, size: valueOf(gpu, name, "size_bytes"), cycles: valueOf(gpu, name, "latency_cycles") })).filter((l) => typeof l.cycles === "number");
  const points = [];
  let from = 1024;
  for (const [i, level] of levels.entries()) {
    const last = i === levels.length - 1, end = last ? Math.max(4 * from, 1 << 28) : level.size, lines = [nameOf(deviceOf(gpu)), `${titleOf(level.name)}${last ? "" : `, up to ${bytes(end)}`}`, `${number(level.cycles)} cycles`];
    if (!last && !(end > from)) continue;
    points.push({ x: from, y: level.cycles, lines });
    if (last) points.push({ x: end, y: level.cycles, lines });
    from = end;
  }
  return levels.length > 1 ? points : [];
}

const rangeOf = (curve) => { const [low, high] = d3.extent(listOf(curve.points), (p) => p.footprint); return low > 0 ? high / low : 0; };

/* The measured curve of loads through the L1 with the widest range of footprints, if a recording of this GPU is in the report. */
function measuredCurve(gpu, entries) {
  const { name, uuid, backend } = deviceOf(gpu), own = entries.filter((e) => schemaOf(e) === "fathom-evidence").filter((e) => { const d = deviceOf(e.document); return d.name === name && d.uuid === uuid && d.backend === backend; });
  const curves = own.flatMap((e) => listOf(e.document.curves)).filter((c) => c.path === "ca" && !(c.stride_bytes >= 1 << 16)).sort((a, b) => rangeOf(b) - rangeOf(a));
  return curves.length ? listOf(curves[0].points).map((p) => ({ x: p.footprint, y: p.mean, lines: [nameOf(deviceOf(gpu)), `footprint ${bytes(p.footprint)}`, `${number(p.mean)} cycles measured`] })).sort((a, b) => a.x - b.x) : [];
}

function severalFootprints(grid, gpus, entries) {
  const steps = gpus.map(({ gpu }, i) => ({ name: nameOf(deviceOf(gpu)), colour: i, step: true, dots: 3, points: latencySteps(gpu) })).filter((s) => s.points.length);
  if (!steps.length) return;
  const measured = gpus.map(({ gpu }, i) => ({ name: `${nameOf(deviceOf(gpu))}, measured`, colour: i, join: false, dots: 2, points: measuredCurve(gpu, entries) })).filter((s) => s.points.length), series = [...steps, ...measured];
  const frame = addFigure(grid, { title: "Latency by footprint, all GPUs", name: "all-footprint", note: `Lines: the latency of the smallest cache that holds the footprint, from the sizes and latencies of the descriptions.${measured.length ? " Dots without lines: measured loads, with the cost of reading the clock." : ""}`,
    columns: ["gpu", "footprint_bytes", "cycles"], rows: series.flatMap((s) => s.points.map((p) => [s.name, p.x, p.y])) });
  xyChart(frame, { series, xLog: true, yLog: true, xLabel: "footprint, bytes", yLabel: "latency, cycles", xFormat: bytes, height: 330 });
}

const MANY_GPUS = 8; /* with more, the page recommends 'fathom fleet judge'. Chosen */

/* The section that shows all GPUs of the report together. */
function showSeveral(gpus, entries) {
  const grid = addSection("All GPUs", "all-gpus");
  if (gpus.length > MANY_GPUS) grid.append(el("p", { class: "note wide" }, `This page shows ${gpus.length} GPUs one below the other. To find those that differ from the others of their model, judge them as a fleet: fathom fleet judge FILE... --json -o fleet.json, then fathom report fleet.json -o fleet.html.`));
  const rows = (attribute, title) => COMMON.map((name) => [`${titleOf(name)}${title}`, name, attribute]);
  severalDots(grid, gpus, { title: "Sizes, all GPUs", name: "all-sizes", note: "Of one instance: an L1, shared memory and a constant L1 belong to an SM, or to what other devices have instead. Of AMD's GPUs, L1 is the vector L1, and shared memory LDS.", unit: "bytes", format: bytes }, rows("size_bytes", ""));
  severalDots(grid, gpus, { title: "Latency, all GPUs", name: "all-latency", note: "Cycles of a hit, or of a load from memory.", unit: "cycles", format: number }, [...rows("latency_cycles", ""), ["L2, far partition", "l2", "far_latency_cycles"]]);
  severalDots(grid, gpus, { title: "Bandwidth, all GPUs", name: "all-bandwidth", note: "Bytes per second of the whole device.", unit: "bytes per second", format: rate }, COMMON.flatMap((name) => ["read", "write"].map((kind) => [`${titleOf(name)}, ${kind}`, name, `${kind}_bytes_per_s`])));
  severalFootprints(grid, gpus, entries);
  if (!grid.querySelector("figure")) grid.append(el("p", { class: "note" }, "The descriptions have no figures that can be compared."));
}
