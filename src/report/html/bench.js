/* Series of points, as benches have them: which chart fits is decided by their columns. And the roofline. */

const VALUE = /(gb_per_s|bytes_per_s|bytes_per_cycle|latency_cycles|_cycles|^cycles|per_cycle|per_cycle_per_sm|per_s|percent|ratio|^value|_ns|_us|hit_rate|hit_ratio|miss_ratio)$/;

function columnsOf(points) {
  const names = [];
  for (const point of points) for (const name of Object.keys(point)) if (!names.includes(name)) names.push(name);
  const isNumber = (name) => points.every((p) => p[name] === undefined || typeof p[name] === "number");
  const distinct = (name) => new Set(points.map((p) => p[name])).size;
  const numeric = names.filter(isNumber), texts = names.filter((n) => !isNumber(n) && points.every((p) => p[n] === undefined || typeof p[n] === "string"));
  return { names, texts, values: numeric.filter((n) => VALUE.test(n)), dims: numeric.filter((n) => !VALUE.test(n)), distinct };
}

/* The columns that tell points apart: one that follows from the others (blocks from threads, bytes under way from both) is left out,
   the last first. */
function independent(points, labels, varying) {
  const unique = (names) => new Set(points.map((p) => JSON.stringify(names.map((n) => p[n])))).size;
  const all = unique([...labels, ...varying]);
  let kept = varying.slice();
  for (const name of varying.slice().reverse()) {
    const rest = kept.filter((n) => n !== name);
    if (rest.length && unique([...labels, ...rest]) === all) kept = rest;
  }
  return kept;
}

/* What theory says, where a figure of the series is in the unit of the axis. */
function theoryOf(figures, unit) {
  return Object.entries(figures || {}).filter(([key, f]) => /theor|peak/.test(key) && unit && f && typeof f.value === "number" && f.unit === unit)
    .map(([key, f]) => ({ y: f.value, label: `${columnTitle(key).replace(/, .*/, "")} ${number(f.value)} ${unit}` }));
}

function seriesNote(series) {
  const figures = Object.entries(series.figures || {}).map(([key, f]) => `${key.replace(/_/g, " ")}: ${number(f.value)}${f.unit ? ` ${f.unit}` : ""}`);
  return cut([...figures, ...(series.missing || [])].join("; "), 1200);
}

/* Chooses and draws a chart for a list of points; a plain table where none fits. */
function chartPoints(grid, { title, name, points, figures, note }) {
  const { names, texts, values, dims, distinct } = columnsOf(points);
  const rows = points.map((p) => names.map((n) => p[n] === undefined ? null : p[n]));
  const frame = (more) => addFigure(grid, { title, name, note, columns: names, rows, ...more });
  const labels = texts.filter((n) => distinct(n) > 1), varying = independent(points, labels, dims.filter((n) => distinct(n) > 1));
  const value = values[0];
  if (!value || value === "value") return void frame({ wide: true }).body.append(tableOf(names, rows));
  if (values.includes("latency_cycles") && dims.includes("footprint_bytes")) return footprintPoints(frame({ wide: true }), points, labels, varying);
  if (labels.length && distinct(labels[0]) === points.length) return void labelledBars(grid, { title, name, note, names, rows, points, label: labels[0], values, figures, frame });
  const grids = varying.filter((n) => distinct(n) <= 40);
  if (!labels.length && grids.length === 2 && (/^banks/.test(name) || /cycles$/.test(value)) && points.length >= 0.5 * distinct(grids[0]) * distinct(grids[1])) {
    const [down, across] = grids, sorted = (n) => [...new Set(points.map((p) => p[n]))].sort((a, b) => a - b);
    return heatMap(frame({}), { xs: sorted(across), ys: sorted(down), xLabel: columnTitle(across), yLabel: columnTitle(down), unit: unitOf(value), cells: points.map((p) => ({ x: p[across], y: p[down], value: p[value] })) });
  }
  if (!varying.length) return void frame({ wide: true }).body.append(tableOf(names, rows));
  curves(frame({}), { points, values, varying, labels, distinct, figures });
}

function labelledBars(grid, { title, name, note, names, rows, points, label, values, figures, frame }) {
  const shown = values.filter((v) => !/median|spread|percent$|_ns$/.test(v)).slice(0, 3);
  (shown.length ? shown : values.slice(0, 1)).forEach((value, i) => {
    const usable = points.filter((p) => typeof p[value] === "number" && p[value] > 0);
    if (!usable.length) return;
    const extent = d3.extent(usable, (p) => p[value]);
    const where = i === 0 ? frame({ title: shown.length > 1 ? `${title}: ${columnTitle(value)}` : title }) : addFigure(grid, { title: `${title}: ${columnTitle(value)}`, name, note, columns: names, rows });
    barChart(where, { unit: unitOf(value), log: extent[1] / extent[0] > 100, theory: theoryOf(figures, unitOf(value)),
      rows: usable.map((p) => ({ label: p[label], value: p[value], lines: [String(p[label]), ...names.filter((n) => n !== label && p[n] !== undefined).map((n) => `${columnTitle(n)}: ${typeof p[n] === "number" ? formatOf(n)(p[n]) : cut(p[n], 80)}`)] })) });
  });
}

/* One value over the column with the most steps; a curve for each combination of the others. */
function curves(frame, { points, values, varying, labels, distinct, figures }) {
  const x = varying.slice().sort((a, b) => distinct(b) - distinct(a) || varying.indexOf(a) - varying.indexOf(b))[0];
  const unit = unitOf(values[0]);
  const ys = values.filter((v) => unitOf(v) === unit && !/median|spread|small/.test(v)).slice(0, /best/.test(values[0]) ? 1 : 4);
  const by = [...labels, ...varying.filter((n) => n !== x)].filter((n) => distinct(n) <= 60);
  const groups = new Map();
  for (const p of points) for (const y of ys) {
    if (typeof p[y] !== "number" || typeof p[x] !== "number") continue;
    const name = [...by.map((n) => typeof p[n] === "number" ? `${n.replace(/_/g, " ")} ${formatOf(n)(p[n])}` : /^(yes|no)$/.test(p[n]) ? `${p[n] === "no" ? "not " : ""}${n.replace(/_/g, " ")}` : p[n]), ys.length > 1 ? columnTitle(y) : ""].filter(Boolean).join(", ") || columnTitle(y);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push({ x: p[x], y: p[y], lines: [cut(name, 80), `${columnTitle(x)}: ${formatOf(x)(p[x])}`, `${columnTitle(y)}: ${number(p[y])}`] });
  }
  const series = [...groups].map(([name, list], i) => ({ name, points: list.sort((a, b) => a.x - b.x), off: i >= 8 }));
  const xs = points.map((p) => p[x]).filter((v) => v > 0), all = series.flatMap((s) => s.points.map((p) => p.y)).filter((v) => v > 0);
  xyChart(frame, { series, xLog: d3.max(xs) / d3.min(xs) >= 16, yLog: d3.max(all) / d3.min(all) > 100, xLabel: columnTitle(x), yLabel: ys.length > 1 ? unit || "value" : columnTitle(ys[0]), xFormat: formatOf(x), theory: theoryOf(figures, unit) });
}

function footprintPoints(frame, points, labels, varying) {
  const by = [...labels, ...varying.filter((n) => n === "stride_bytes" && !labels.includes("curve"))];
  const groups = new Map();
  for (const p of points) {
    const name = by.map((n) => n === "stride_bytes" ? `stride ${p[n] ? bytes(p[n]) : "random"}` : p[n]).filter(Boolean).join(", ") || "latency";
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push({ x: p.footprint_bytes, y: p.latency_cycles, lines: [cut(name, 80), bytes(p.footprint_bytes), `${number(p.latency_cycles)} cycles`] });
  }
  xyChart(frame, { series: [...groups].map(([name, list], i) => ({ name, points: list.sort((a, b) => a.x - b.x), off: i >= 8 })), xLog: true, yLog: true, xLabel: "footprint", yLabel: "cycles", xFormat: bytes, height: 430 });
}

function showBench(grid, bench) {
  for (const [name, series] of Object.entries(bench.series || {})) {
    const points = (series.points || []).filter((p) => p && typeof p === "object");
    if (points.length) chartPoints(grid, { title: series.title || name, name: `bench-${name.replace(/[^a-z0-9]+/gi, "-")}`, points, figures: series.figures, note: seriesNote(series) });
    else addFigure(grid, { title: series.title || name, name: `bench-${name.replace(/[^a-z0-9]+/gi, "-")}`, note: seriesNote(series) || "no points" });
  }
}

/* Bandwidths as slopes, arithmetic as ceilings. fma counts two operations, as usual. */
function roofline(grid, gpu, bench) {
  const arithmetic = bench.series && bench.series.arith && bench.series.arith.points;
  if (!gpu || !Array.isArray(arithmetic)) return;
  const ceilings = arithmetic.filter((p) => /^(fma|mma)/.test(p.operation || "") && p.per_s > 0).map((p) => ({ label: p.operation, flops: p.per_s * (/^fma/.test(p.operation) ? 2 : 1) * 1e9 }))
    .sort((a, b) => b.flops - a.flops);
  const slopes = ["shared", "l1", "l2", "memory"].map((name) => ({ name, rate: valueOf(gpu, name, "read_bytes_per_s") })).filter((s) => typeof s.rate === "number" && s.rate > 0);
  if (!ceilings.length || !slopes.length) return;
  const roofs = [];
  for (const c of ceilings) {
    const same = roofs.find((r) => Math.abs(r.flops / c.flops - 1) < 0.02);
    if (same) same.label += `, ${c.label}`; else roofs.push({ ...c });
  }
  const top = ceilings[0].flops, intensities = d3.range(-2, 3.01, 0.1).map((e) => 10 ** e);
  const series = slopes.map((s) => ({ name: `${titleOf(s.name)} ${rate(s.rate)}`, points: intensities.concat([top / s.rate]).sort((a, b) => a - b).map((x) => ({ x, y: Math.min(top, x * s.rate) / 1e9, lines: [titleOf(s.name), `${number(x, 3)} operations a byte`, `at most ${number(Math.min(top, x * s.rate) / 1e9)} × 10⁹ a second`] })) }));
  const frame = addFigure(grid, { title: "Roofline", wide: true, note: "What can be reached at most: the slope of each memory's measured bandwidth up to the ceiling of measured arithmetic.", columns: ["roof", "operations_per_byte", "gigaoperations_per_s"], rows: series.flatMap((s) => s.points.map((p) => [s.name, p.x, p.y])) });
  xyChart(frame, { series, xLog: true, yLog: true, xLabel: "operations a byte", yLabel: "10⁹ operations a second", height: 420, dots: 0, hlines: roofs.slice(0, 6).map((c) => ({ y: c.flops / 1e9, label: `${c.label} ${number(c.flops / 1e9)}` })) });
}
