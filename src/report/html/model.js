/* The results of 'fathom model': hit ratios by kernel and by source line, times, profiles of reuse distances, and miss curves, which show the misses
   of caches of other sizes. */

/* A parameter of the model if it is a positive number, otherwise null. */
function parameterOf(model, name) {
  const parameter = model.parameters && model.parameters[name];
  return parameter && Number(parameter.value) > 0 ? Number(parameter.value) : null;
}

/* The metrics of a bar chart: key, what it counts, and where its number of sectors is: in `metrics`, or in a level by kind of access. Documents
   of older versions have no ratio of reads alone; L2_Hit is that of all accesses. */
const METRICS = [["L1_R_Hit", "L1 reads", (row) => row.metrics.L1_R_Trans], ["L2_R_Hit", "L2 reads", (row) => sectorsOf(row, 0)],
  ["L2_W_Hit", "L2 writes", (row) => sectorsOf(row, 1)], ["L2_A_Hit", "L2 atomics", (row) => sectorsOf(row, 2)],
  ["L2_Hit", "L2, all accesses", (row) => row.metrics.L2_Trans], ["L2_Hit_L1B", "L2, L1 off", (row) => row.metrics.L2_Trans_L1B]];

const sectorsOf = (row, kind) => row.l2 && Array.isArray(row.l2.sectors) ? row.l2.sectors[kind] : null;

/* Draws the hit ratios of kernels or source lines, with one bar per metric, in one bar chart. */
function hitRatios(grid, { title, name, note, rows, labelOf, wide = false }) {
  const bars = [], table = [];
  for (const row of rows) METRICS.forEach(([key, what, sectors], i) => {
    const value = row.metrics && row.metrics[key];
    if (typeof value !== "number" || (key === "L2_Hit" && "L2_R_Hit" in row.metrics)) return;
    const traffic = sectors(row);
    bars.push({ label: `${labelOf(row)} ${what}`, value: 100 * value, colour: colour(i), lines: [`${labelOf(row)}: ${what}`, `${number(100 * value)} % hit`, `${number(traffic)} sectors`, ...(textOf(row.function) ? [`function ${cut(textOf(row.function), 60)}`] : []), ...listOf(row.calls).map((call) => `inlined at ${positionOf(call)}${textOf(call.function) ? ` in ${cut(textOf(call.function), 60)}` : ""}`), ...(typeof row.access_cycles === "number" ? [`${number(row.access_cycles)} cycles per access on average`] : [])] });
    table.push([labelOf(row), what, value, traffic]);
  });
  if (!bars.length) return;
  const frame = addFigure(grid, { title, name, note, wide, columns: ["name", "cache", "hit_ratio", "sectors"], rows: table });
  barChart(frame, { rows: bars, unit: "% of sectors", axisEnd: 104 });
}

const TIMES = [["time_us", "estimate"], ["time_floor_us", "floor"]];
const WIDE_TIMES = 50; /* longest divided by shortest time from which the axis is logarithmic; chosen */

/* The estimated time of each kernel next to its time floor. A run without time has no estimates. */
function times(grid, model) {
  const bars = [];
  for (const kernel of listOf(model.kernels)) TIMES.forEach(([key, what], i) => {
    const value = field(kernel, key);
    if (typeof value === "number" && value > 0) bars.push({ label: `${kernelOf(kernel)} ${what}`, value, colour: colour(i), kernel: kernelOf(kernel), what,
      lines: [`${kernelOf(kernel)}: ${what}`, `${number(value)} µs`, ...(key === "time_floor_us" && kernel.limited_by ? [`limited by ${textOf(kernel.limited_by)}`] : [])] });
  });
  if (!bars.length) return;
  const estimated = bars.some((bar) => bar.what === "estimate"), [low, high] = d3.extent(bars, (bar) => bar.value);
  const frame = addFigure(grid, { title: estimated ? "Estimated time by kernel" : "Time floor by kernel", name: "model-times", columns: ["kernel", "time", "us"], rows: bars.map((bar) => [bar.kernel, bar.what, bar.value]),
    note: `${estimated ? "Estimate: of the model with time, for all launches of the kernel. " : ""}Floor: the time that the traffic takes at full bandwidth, which no kernel can fall below.` });
  barChart(frame, { rows: bars, unit: "µs", log: high / low > WIDE_TIMES });
}

/* A position in the source: the name of the file without its folders, and the line. */
function positionOf(position) {
  const file = textOf(position.source_file).split("/").pop();
  return file ? `${file}:${position.source_line}` : `line ${position.source_line}`;
}

/* Combines the instructions of one source line, and of the same calls if it is in an inlined function, by adding up their hits and sectors. Each
   level counts [reads, writes, atomics]; the L1 ratio is that of reads only. An instruction without counts stays separate. */
function bySourceLine(instructions) {
  const lines = new Map();
  for (const row of instructions) {
    const counted = row.l1 && row.l2 && Array.isArray(row.l1.sectors) && Array.isArray(row.l2.sectors);
    const calls = listOf(row.inlined_at), place = row.source_line ? positionOf(row) : `PTX line ${row.line}`;
    const name = `${kernelOf(row)} ${place}${calls.length ? ` @ ${positionOf(calls[calls.length - 1])}` : ""} ${row.kind || ""}`.trim();
    if (!counted) { lines.set(`${name} ${lines.size}`, { ...row, label: name, calls }); continue; }
    /* The chart shows the outermost call only, so the key has all of them, and the whole names of the files. */
    const key = JSON.stringify([row.kernel, row.source_file, place, row.inlined_at, row.kind]);
    const line = lines.get(key) || { label: name, function: row.function, calls, l1: { hits: 0, sectors: 0 }, l2: { hits: [0, 0, 0], sectors: [0, 0, 0] } };
    line.l1.hits += row.l1.hits[0];
    line.l1.sectors += row.l1.sectors[0];
    for (let kind = 0; kind < 3; kind++) {
      line.l2.hits[kind] += row.l2.hits[kind];
      line.l2.sectors[kind] += row.l2.sectors[kind];
    }
    lines.set(key, line);
  }
  const ratio = (hits, sectors) => sectors ? hits / sectors : null;
  return [...lines.values()].map((line) => !line.l1 ? line : { ...line, metrics: { L1_R_Hit: ratio(line.l1.hits, line.l1.sectors), L1_R_Trans: line.l1.sectors, L2_R_Hit: ratio(line.l2.hits[0], line.l2.sectors[0]),
    L2_W_Hit: ratio(line.l2.hits[1], line.l2.sectors[1]), L2_A_Hit: ratio(line.l2.hits[2], line.l2.sectors[2]), L2_Trans: d3.sum(line.l2.sectors) } });
}

/* The number of sectors found at each reuse distance within their set. The last entry of a profile counts the misses. */
function profiles(grid, model) {
  const kinds = [["C1R", "L1 reads"], ["C1W", "L1 writes"], ["C2R", "L2 reads"], ["C2W", "L2 writes"]];
  for (const kernel of listOf(model.kernels)) {
    const series = kinds.map(([key, name]) => {
      const counts = Array.isArray(kernel[key]) ? kernel[key] : [], last = counts.length - 1;
      return { name, points: counts.map((count, distance) => ({ x: distance, y: count, lines: [name, distance < last ? `distance ${distance}` : `miss: not in any of the ${last} ways`, `${number(count)} sectors`] })).filter((p) => p.y > 0) };
    }).filter((s) => s.points.length);
    if (!series.length) continue;
    const misses = [["C1R", "L1"], ["C2R", "L2"]].filter(([key]) => Array.isArray(kernel[key]) && kernel[key].length > 1).map(([key, level]) => ({ x: kernel[key].length - 1, label: `${level} misses` }));
    const frame = addFigure(grid, { title: `Reuse distances: ${cut(kernelOf(kernel), 40)}`, name: "model-profile", note: "Sectors by the number of other lines of the same set that were accessed since their last use.", columns: ["profile", "distance", "sectors"], rows: series.flatMap((s) => s.points.map((p) => [s.name, p.x, p.y])) });
    xyChart(frame, { series, xLabel: "reuse distance within the set, lines", yLabel: "sectors", height: 300, join: false, yLog: true, fit: "x", vlines: misses });
  }
}

/* The percentage of read sectors that a fully associative LRU cache misses, by its size, with the current size marked. Distances are counted in
   sectors of the L1, for both levels. */
function missCurves(grid, model) {
  const sector = parameterOf(model, "l1.sector_bytes") || parameterOf(model, "l1.line_bytes");
  for (const level of sector ? ["l1", "l2"] : []) {
    const curve = model[`${level}_curve`], size = parameterOf(model, `${level}.size_bytes`);
    if (!curve || !Array.isArray(curve.distances) || !curve.distances.length) continue;
    const pairs = curve.distances.filter((p) => Array.isArray(p) && p.length === 2), total = d3.sum(pairs, (p) => p[1]) + (curve.new || 0);
    let hits = 0;
    const points = pairs.map(([distance, count]) => {
      hits += count;
      const cacheBytes = (distance + 1) * sector, miss = 1 - hits / total;
      return { x: cacheBytes, y: 100 * miss, lines: [bytes(cacheBytes), `${number(100 * miss)} % miss`] };
    });
    const frame = addFigure(grid, { title: `${level.toUpperCase()} misses by cache size`, name: `model-curve-${level}`, note: "For a fully associative LRU cache, all kernels together. Dashed line: the current size.", columns: ["bytes", "miss_percent"], rows: points.map((p) => [p.x, p.y]) });
    const last = points.length ? points[points.length - 1] : null, end = last && size > last.x ? [{ ...last, x: 1.3 * size }] : [];
    xyChart(frame, { series: [{ name: level.toUpperCase(), points: [{ x: sector / 2, y: 100, lines: ["no cache", "100 % miss"] }, ...points, ...end] }], xLog: true, xLabel: "cache size", yLabel: "read sectors that miss, %", xFormat: bytes, height: 320, fit: "x", step: true, dots: 0, vlines: size ? [{ x: size, label: `${level.toUpperCase()} ${bytes(size)}` }] : [] });
  }
}

/* A run is named after its file. */
function runName(file) {
  return cut(file.replace(/(\.json)?(\.zst)?$/, ""), 40);
}

/* The charts of several runs together: the roofline, two runs as before and after, and the hit ratios of all kernels. */
function modelOverview(grid, entries) {
  kernelRoofline(grid, entries);
  if (entries.length === 2) beforeAfter(grid, entries);
  if (entries.length < 2) return;
  hitRatios(grid, { title: "Hit ratio by kernel, all runs", name: "model-all", wide: true, note: "Percentage of sectors that hit.", labelOf: (row) => row.label,
    rows: entries.flatMap((e) => listOf(e.document.kernels).map((k) => ({ ...k, label: `${runName(e.file)} ${kernelOf(k)}` }))) });
}

/* At most `limit` lines, those with the most sectors, in the order of the source. */
function busiest(lines, limit) {
  const sectors = (line) => ((line.metrics && line.metrics.L1_R_Trans) || 0) + ((line.metrics && line.metrics.L2_Trans) || 0);
  const minSectors = lines.length > limit ? lines.map(sectors).sort((a, b) => b - a)[limit - 1] : 0;
  return lines.filter((line) => sectors(line) >= minSectors).slice(0, limit);
}

/* The diagnosis of the kernels of one run (kernel.js, source.js). `compared`: kernels whose memory chart is already shown, before and after a
   change. */
function diagnosis(grid, model, compared) {
  for (const kernel of listOf(model.kernels).filter((k) => !compared.includes(k))) memoryChart(grid, kernel, model);
  missClasses(grid, "Why reads miss", listOf(model.kernels).flatMap((k) => ["l1", "l2"].map((level) => ({ row: k, level, label: `${kernelOf(k)} ${level.toUpperCase()}` }))));
  bankConflicts(grid, model);
  showHints(grid, model);
  annotatedSource(grid, model);
}

/* The charts of one run. The smaller ones follow the diagnosis, because a report may have many runs. */
function showModel(grid, model, file, compared) {
  const large = addChapter(grid, runName(file), `run-${sections.flatMap((s) => s.chapters).length}`), inner = el("div", { class: "grid small" }), lines = bySourceLine(listOf(model.instructions)), shown = busiest(lines, 40);
  large.parentNode.classList.add("run");
  diagnosis(large, model, compared);
  large.after(inner);
  hitRatios(inner, { title: "Hit ratio by kernel", name: "model-kernels", note: "Percentage of sectors that hit.", rows: listOf(model.kernels), labelOf: kernelOf });
  hitRatios(inner, { title: "Hit ratio by source line", name: "model-lines", rows: shown, labelOf: (row) => row.label,
    note: `Kernel, position in the source (or PTX line where it is unknown) and, after @, the call in the kernel if the code is inlined.${shown.length < lines.length ? ` The ${shown.length} of ${lines.length} lines with the most sectors.` : ""}` });
  times(inner, model);
  profiles(inner, model);
  missCurves(inner, model);
  if (!inner.children.length && !large.children.length) inner.append(el("p", { class: "note" }, "This document contains nothing that can be drawn."));
}
