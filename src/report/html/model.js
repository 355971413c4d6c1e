/* What 'fathom model' says of kernels in caches: hit ratios by kernel and by line of the source, profiles of distances, and how many loads
   caches of other sizes would miss. */

function parameterOf(model, name) {
  const parameter = model.parameters && model.parameters[name];
  return parameter && Number(parameter.value) > 0 ? Number(parameter.value) : null;
}

const METRICS = [["L1_R_Hit", "L1, reads"], ["L2_Hit", "L2"], ["L2_Hit_L1B", "L2, with L1 off"]];

/* Two or three bars a row of the model, as rows of one bar chart. */
function hitRatios(grid, { title, name, note, rows, labelOf }) {
  const bars = [], table = [];
  for (const row of rows) METRICS.forEach(([key, what], i) => {
    const value = row.metrics && row.metrics[key];
    if (typeof value !== "number") return;
    const traffic = key === "L1_R_Hit" ? row.metrics.L1_R_Trans : row.metrics.L2_Trans;
    bars.push({ label: `${cut(labelOf(row), 24)} ${what}`, value: 100 * value, colour: colour(i), lines: [`${labelOf(row)}: ${what}`, `${number(100 * value)} % hit`, `${number(traffic)} sectors`, ...(typeof row.access_cycles === "number" ? [`${number(row.access_cycles)} cycles an access, on average`] : [])] });
    table.push([labelOf(row), what, value, traffic]);
  });
  if (!bars.length) return;
  const frame = addFigure(grid, { title, name, note, columns: ["what", "cache", "hit_ratio", "sectors"], rows: table });
  barChart(frame, { rows: bars, unit: "%" });
}

/* Instructions of one line of the source are one: hits and sectors are sums, [reads, writes, atomics] of each level. */
function bySourceLine(instructions) {
  const lines = new Map();
  for (const row of instructions) {
    const counted = row.l1 && row.l2 && Array.isArray(row.l1.sectors) && Array.isArray(row.l2.sectors);
    const name = `${row.kernel}:${row.source_line || `PTX ${row.line}`} ${row.kind || ""}`.trim();
    if (!counted) { lines.set(`${name} ${lines.size}`, { ...row, called: name }); continue; }
    const line = lines.get(name) || { called: name, sums: [0, 0, 0, 0] };
    line.sums[0] += row.l1.hits[0];
    line.sums[1] += row.l1.sectors[0];
    line.sums[2] += d3.sum(row.l2.hits);
    line.sums[3] += d3.sum(row.l2.sectors);
    lines.set(name, line);
  }
  return [...lines.values()].map((line) => !line.sums ? line : { called: line.called, metrics: { L1_R_Hit: line.sums[1] ? line.sums[0] / line.sums[1] : null, L1_R_Trans: line.sums[1], L2_Hit: line.sums[3] ? line.sums[2] / line.sums[3] : null, L2_Trans: line.sums[3] } });
}

/* How many sectors were found at which distance in their set. */
function profiles(grid, model, file) {
  const kinds = [["C1R", "L1 reads"], ["C1W", "L1 writes"], ["C2R", "L2 reads"], ["C2W", "L2 writes"]];
  for (const kernel of model.kernels || []) {
    const series = kinds.map(([key, name]) => ({ name, points: (Array.isArray(kernel[key]) ? kernel[key] : []).map((count, distance) => ({ x: distance, y: count, lines: [name, `distance ${distance}`, `${number(count)} sectors`] })) }))
      .map((s) => ({ ...s, points: s.points.filter((p) => p.y > 0) })).filter((s) => s.points.length);
    if (!series.length) continue;
    const frame = addFigure(grid, { title: `${cut(file, 40)}: distances of ${cut(kernel.kernel, 40)}`, name: "model-profile", note: "Sectors by the number of other lines of their set used since; as many as there are ways is a miss.", columns: ["profile", "distance", "sectors"], rows: series.flatMap((s) => s.points.map((p) => [s.name, p.x, p.y])) });
    xyChart(frame, { series, xLabel: "distance in the set", yLabel: "sectors", height: 300, join: false, yLog: true });
  }
}

/* The share of reads that fully associative LRU caches of each size miss, today's size marked. */
function missCurves(grid, model, file) {
  for (const level of ["l1", "l2"]) {
    const curve = model[`${level}_curve`], line = parameterOf(model, `${level}.line_bytes`) || 1, size = parameterOf(model, `${level}.size_bytes`);
    if (!curve || !Array.isArray(curve.distances) || !curve.distances.length) continue;
    const pairs = curve.distances.filter((p) => Array.isArray(p) && p.length === 2), total = d3.sum(pairs, (p) => p[1]) + (curve.new || 0);
    let hits = 0;
    const points = pairs.map(([distance, count]) => {
      hits += count;
      const bytes_ = (distance + 1) * line, miss = 1 - hits / total;
      return { x: bytes_, y: 100 * miss, lines: [bytes(bytes_), `${number(100 * miss)} % miss`] };
    });
    const frame = addFigure(grid, { title: `${cut(file, 40)}: misses of an ${level.toUpperCase()} of any size`, name: `model-curve-${level}`, note: "Fully associative, LRU. Dashed: the size of today.", columns: ["bytes", "miss_percent"], rows: points.map((p) => [p.x, p.y]) });
    xyChart(frame, { series: [{ name: level.toUpperCase(), points }], xLog: true, xLabel: "size", yLabel: "reads that miss, %", xFormat: bytes, height: 320, fit: true, vlines: size ? [{ x: size, label: `${level.toUpperCase()} ${bytes(size)}` }] : [] });
  }
}

/* Kernels of several runs beside each other. */
function modelOverview(grid, entries) {
  hitRatios(grid, { title: "Hits by kernel, all runs", name: "model-all", note: "Share of sectors that hit.", labelOf: (row) => row.called,
    rows: entries.flatMap((e) => (Array.isArray(e.document.kernels) ? e.document.kernels : []).map((k) => ({ ...k, called: `${cut(e.file.replace(/\.json$/, ""), 16)} ${cut(k.kernel, 20)}` }))) });
}

function showModel(grid, model, gpu, file) {
  hitRatios(grid, { title: `${cut(file, 40)}: hits by kernel`, name: "model-kernels", note: "Share of sectors that hit.", rows: model.kernels || [], labelOf: (row) => row.kernel });
  hitRatios(grid, { title: `${cut(file, 40)}: hits by line`, name: "model-lines", note: "By line of the source, or of the PTX where the source is not known.", rows: bySourceLine(model.instructions || []).slice(0, 40), labelOf: (row) => row.called });
  profiles(grid, model, file);
  missCurves(grid, model, file);
}
