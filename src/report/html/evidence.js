/* The measurements behind the figures: the samples of a recording and the loads of a dissection. */

/* Latency levels (hlines) and change points (vlines) of a path, taken from the description. `largest`: the L1 was measured at its largest size,
   so its size at the largest carve-out is left out. */
function marksOf(gpu, path, largest = false) {
  const hlines = [], vlines = [];
  if (!gpu) return { hlines, vlines };
  const levels = { ca: ["l1", "l2", "memory"], cg: ["l2", "memory"], readonly: ["readonly", "l2"], texture: ["texture", "l2"], constant: ["constant_l1", "constant_l15"], shared: ["shared"], code: [] }[path] || [];
  for (const name of levels) {
    const cycles = valueOf(gpu, name, "latency_cycles"), far = valueOf(gpu, name, "far_latency_cycles");
    if (typeof cycles === "number") hlines.push({ y: cycles, label: `${titleOf(name)} ${number(cycles)}` });
    if (typeof far === "number") hlines.push({ y: far, label: `${titleOf(name)}, far ${number(far)}` });
    for (const [attribute, label] of [["size_bytes", "size"], ["default_size_bytes", "size at largest carve-out"], ["onset_bytes", "onset of misses"], ["full_miss_bytes", "no hit"]].filter(([attribute]) => !largest || attribute !== "default_size_bytes")) {
      const size = valueOf(gpu, name, attribute);
      const known = vlines.some((line) => Math.abs(line.x / size - 1) < 0.01);
      if (typeof size === "number" && name !== "memory" && !known) vlines.push({ x: size, label: `${titleOf(name)} ${label} ${bytes(size)}` });
    }
  }
  if (path === "code") for (const name of ["instruction_l0", "instruction_l1", "instruction_l15"]) {
    const cycles = valueOf(gpu, name, "cycles_per_instruction");
    if (typeof cycles === "number") hlines.push({ y: cycles, label: `${titleOf(name)} ${number(cycles)}` });
  }
  return { hlines, vlines };
}

/* One chart per path, with at most 12 curves, those with the most points. */
function showEvidence(grid, document_, gpu) {
  const curves = listOf(document_.curves);
  for (const [path, all] of groupsOf(curves, (c) => c.path)) {
    /* Curves with strides of 64 KiB or more access one line per page. They show TLBs instead of caches and get a chart of their own. */
    for (const paged of [false, true]) {
      const some = all.filter((c) => (c.stride_bytes >= 1 << 16) === paged).sort((a, b) => b.points.length - a.points.length).slice(0, 12);
      if (some.length) footprintChart(grid, path, some, paged, paged ? null : gpu);
    }
  }
}

function footprintChart(grid, path, curves, paged, gpu) {
  const code = path === "code", xLabel = code ? "instructions" : "footprint";
  const rows = [];
  const series = curves.map((c, i) => {
    const name = [c.stride_bytes && `stride ${bytes(c.stride_bytes)}`, c.carveout_percent !== undefined && `carve-out ${c.carveout_percent} %`, c.timed === "passes" && !code && "timed per pass"].filter(Boolean).join(", ") || PATHS[path] || path;
    const points = c.points.slice().sort((a, b) => a.footprint - b.footprint).map((p) => {
      rows.push([name, p.footprint, p.mean, p.p05, p.median, p.p95, p.count, p.sm]);
      return { x: p.footprint, y: p.mean, low: p.p05, high: p.p95, samples: p.samples, lines: [name, `${xLabel} ${code ? number(p.footprint) : bytes(p.footprint)}`, `mean ${number(p.mean)} cycles${code ? " per instruction" : ""}`, `5 % ${number(p.p05)}, median ${number(p.median)}, 95 % ${number(p.p95)}`, `${p.count} samples on SM ${p.sm}`] };
    });
    return { name, points, off: i >= 6 };
  });
  const title = code ? "Cycles per instruction against code length" : paged ? `Latency against footprint, one line per page, ${PATHS[path] || path}` : `Latency against footprint, ${PATHS[path] || path}`;
  const frame = addFigure(grid, { title, wide: true, name: `footprint-${path}${paged ? "-pages" : ""}`, columns: ["curve", code ? "instructions" : "footprint_bytes", "mean", "p05", "median", "p95", "samples", "sm"], rows,
    note: `Points are means of ${code ? "individually timed passes" : "individually timed loads, including the cost of reading the clock"}; vertical lines extend from the 5th to the 95th percentile. Zoom in, or press Samples, to see single samples.${gpu ? " Dashed lines: latencies (without the cost of the clock) and change points from the description." : ""}` });
  /* Levels far outside the measured range are left out. */
  const { hlines, vlines } = marksOf(gpu, path), [low, high] = d3.extent(series.flatMap((s) => s.points), (p) => p.y);
  xyChart(frame, { series, xLog: true, yLog: true, xLabel, yLabel: code ? "cycles per instruction" : "cycles", xFormat: code ? number : bytes, height: 430, fit: "y", vlines, hlines: hlines.filter((h) => h.y > low / 2 && h.y < 1.3 * high) });
}

/* The loads of 'fathom dissect --series': passes over one line more than a cache holds, or over one page more than a TLB holds. Shows at most
   16 passes. */
function showSeries(grid, document_) {
  for (const [name, loads] of Object.entries(document_.elements || {})) {
    const tlb = name.startsWith("tlb_"), unit = tlb ? "page" : "line", count = d3.max(loads.index) + 1, passes = [];
    loads.miss.forEach((miss, i) => { const pass = Math.floor(i / count); (passes[pass] = passes[pass] || []).push(miss); });
    const shown = passes.slice(0, 16);
    const frame = addFigure(grid, { title: `${titleOf(name)}: loads that miss`, wide: true, name: `strip-${name}`, note: `${passes.length} passes over ${count} ${unit}s, one more than the ${tlb ? "TLB" : "cache"} holds. The first pass is cold.`, columns: ["load", "index", "cycles", "miss"], rows: loads.index.map((v, i) => [i, v, loads.cycles[i], loads.miss[i]]) });
    stripChart(frame, { rows: shown, unit, labels: shown.map((_, i) => `pass ${i + 1}`), describe: (pass, from, to, miss) => {
      const cycles = loads.cycles.slice(pass * count + from, pass * count + to + 1);
      return [miss ? "miss" : "hit", from === to ? `${unit} ${from + 1}` : `${unit}s ${from + 1} to ${to + 1}`, `${number(d3.median(cycles))} cycles`, `pass ${pass + 1}`];
    } });
  }
}
