/* Charts of benchmark series, which are lists of points, and the roofline. The columns of the points determine the kind of chart. */

/* Columns that hold measured values. All other numeric columns are parameters of the measurement. */
const VALUE = /(gb_per_s|bytes_per_s|bytes_per_cycle|latency_cycles|_cycles|^cycles|per_cycle|per_cycle_per_sm|per_s|percent|ratio|^value|_ns|_us|hit_rate|hit_ratio|miss_ratio)$/;

/* The columns of a list of points: all names, those with text, measured values, and parameters (dims). distinct(name): the number of
   different values in a column. */
function columnsOf(points) {
  const names = [];
  for (const point of points) for (const name of Object.keys(point)) if (!names.includes(name)) names.push(name);
  const isNumber = (name) => points.every((p) => p[name] === undefined || typeof p[name] === "number");
  const distinct = (name) => new Set(points.map((p) => p[name])).size;
  const numeric = names.filter(isNumber), texts = names.filter((n) => !isNumber(n) && points.every((p) => p[n] === undefined || typeof p[n] === "string"));
  return { names, texts, values: numeric.filter((n) => VALUE.test(n)), dims: numeric.filter((n) => !VALUE.test(n)), distinct };
}

/* The columns that identify a point. A column that follows from the others (blocks from threads, bytes in flight from both) is left out,
   the last one first. */
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

/* The value of a figure if it is a positive number, otherwise null. */
function figureIn(figures, key) {
  const figure = field(figures, key);
  return figure && typeof figure.value === "number" && figure.value > 0 ? figure.value : null;
}

/* Theoretical peaks of a series in GB/s, as marks [{y, label}]. They come from the figures of the series itself (a peak, or a measured rate
   with its fraction of the peak), from other series of the benchmark, or from the description. Peaks within 1 % of each other are one. */
function theoryOf(name, series, bench, gpu) {
  const all = bench.series || {}, own = series.figures || {}, found = [];
  for (const key of Object.keys(own)) {
    const share = figureIn(own, key.replace(/_tb_per_s$/, "_of_theory"));
    if (/_tb_per_s$/.test(key) && share) found.push([1000 * figureIn(own, key) / share, "theoretical peak"]);
  }
  const add = (value, title) => { if (value) found.push([value, title]); };
  if (/^(stream|global|scaling\.memory)/.test(name)) add(figureIn(all.stream && all.stream.figures, "theoretical_gb_per_s") || (gpu && memoryPeak(gpu).peak / 1e9), "memory peak");
  if (/^link(?!\.managed)/.test(name)) add(figureIn(all.link && all.link.figures, "pcie_gb_per_s"), "PCI Express, one direction");
  if (/^shared\.peak/.test(name)) add(((all["shared.theory"] && all["shared.theory"].points || []).find((p) => p && /^W_SM/.test(p.quantity)) || {}).value, "theoretical peak");
  for (const [key, figure] of Object.entries(own)) if (/theor|peak/.test(key) && figure && figure.unit === "GB/s") add(figureIn(own, key), "theoretical peak");
  return found.filter(([value], i) => found.findIndex(([other]) => Math.abs(other / value - 1) < 0.01) === i).map(([value, title]) => ({ y: value, label: `${title}: ${number(value)} GB/s` }));
}

/* Figures of benches whose keys say too little: what they are, in words, and their unit where the document has none. */
const BENCH_FIGURES = {
  needed_of_little: ["bytes in flight needed, relative to latency × throughput (Little's law)", "times"], efficiency: ["highest throughput, relative to the peak of memory", "fraction"],
  fma_f32_of_theory: ["fp32 fma rate, relative to the number of cores", "fraction"], copy_of_theory: ["best copy, relative to the theoretical peak", "fraction"], copy_of_driver_copy: ["best copy, relative to the driver's copy", "fraction"],
  least_copy_of_driver_copy: ["lowest ratio to the driver's copy over all sizes", "fraction"], worst_shared_over_best_l2: ["slowest load from shared memory, relative to the fastest from L2", "times"],
  own_tb_per_s: ["L2, each line read by one SM", "TB/s"], shared_tb_per_s: ["L2, each line read by several SMs", "TB/s"], pcie_gb_per_s: ["PCI Express, one direction", "GB/s"], theoretical_gb_per_s: ["theoretical peak", "GB/s"],
  fault_us: ["time of a page fault", "µs"], page_kib: ["size of a page that a fault moves", "KiB"], kib_per_fault: ["moved per fault", "KiB"], efficient_bytes: ["smallest part of a stride read at 90 % of the full rate", "bytes"],
  warps_needed: ["warps needed per SM (Little's law)", "warps"], scope_effect_percent: ["largest difference between scopes", "%"], slowest_write_percent: ["share of writes with the lowest bandwidth", "%"],
  in_flight_bytes: ["bytes in flight needed for 95 % of the highest rate", "bytes"], min_load_cycles: ["fastest load", "cycles"], max_load_cycles: ["slowest load", "cycles"], bytes_per_cycle: ["highest rate per SM", "bytes per cycle"],
};

/* The figures of a series, and the reasons why something is missing, as one text. */
function seriesNote(series) {
  const figures = Object.entries(series.figures || {}).filter(([, f]) => f && typeof f === "object").map(([key, f]) => {
    const [words, unit] = field(BENCH_FIGURES, key) || [figureName(key).replace(/ (gb|tb) per s$/, ""), ""];
    return `${words}: ${unit === "fraction" ? percent(f.value, 4) : `${number(f.value)}${unit || f.unit ? ` ${unit || f.unit}` : ""}`}`;
  });
  return cut([...figures, ...(series.missing || [])].join("; "), 1200);
}

/* Selects and draws a chart for a list of points, or a plain table if no chart fits. */
function chartPoints(grid, { title, name, points, theory = [], note, marks }) {
  const { names, texts, values, dims, distinct } = columnsOf(points);
  const rows = points.map((p) => names.map((n) => p[n] === undefined ? null : p[n]));
  const frame = (more) => addFigure(grid, { title, name, note, columns: names, rows, ...more });
  const labels = texts.filter((n) => distinct(n) > 1), varying = independent(points, labels, dims.filter((n) => distinct(n) > 1));
  const value = values[0];
  if (!value || value === "value") return void frame({ wide: true }).body.append(tableOf(names, rows));
  if (values.includes("latency_cycles") && dims.includes("footprint_bytes")) return footprintPoints(frame({ wide: true }), points, labels, varying, marks);
  if (labels.length && distinct(labels[0]) === points.length) return void labelledBars(grid, { title, name, note, names, rows, points, label: labels[0], values, theory, frame });
  const grids = varying.filter((n) => distinct(n) <= 40);
  if (!labels.length && grids.length === 2 && (/^banks/.test(name) || /cycles$/.test(value)) && points.length >= 0.5 * distinct(grids[0]) * distinct(grids[1])) {
    const [down, across] = grids, sorted = (n) => [...new Set(points.map((p) => p[n]))].sort((a, b) => a - b);
    return heatMap(frame({}), { xs: sorted(across), ys: sorted(down), xLabel: columnTitle(across), yLabel: columnTitle(down), unit: unitOf(value), cells: points.map((p) => ({ x: p[across], y: p[down], value: p[value] })) });
  }
  if (!varying.length) return void frame({ wide: true }).body.append(tableOf(names, rows));
  curves(frame({}), { points, values, varying, labels, distinct, theory, others: dims.filter((n) => distinct(n) > 1 && !varying.includes(n)) });
}

/* One bar chart per measured value, at most three, with one bar per point. `label` is the column that names the bars. */
function labelledBars(grid, { title, name, note, names, rows, points, label, values, theory, frame }) {
  const shown = values.filter((v) => !/median|spread|percent$|_ns$/.test(v)).slice(0, 3);
  (shown.length ? shown : values.slice(0, 1)).forEach((value, i) => {
    const usable = points.filter((p) => typeof p[value] === "number" && p[value] > 0);
    if (!usable.length) return;
    const extent = d3.extent(usable, (p) => p[value]);
    const where = i === 0 ? frame({ title: shown.length > 1 ? `${title}: ${columnTitle(value)}` : title }) : addFigure(grid, { title: `${title}: ${columnTitle(value)}`, name, note, columns: names, rows });
    barChart(where, { unit: unitOf(value), log: extent[1] / extent[0] > 100, theory: unitOf(value) === "GB/s" ? theory : [],
      rows: usable.map((p) => ({ label: p[label], value: p[value], lines: [String(p[label]), ...names.filter((n) => n !== label && p[n] !== undefined).map((n) => `${columnTitle(n)}: ${typeof p[n] === "number" ? formatOf(n)(p[n]) : cut(p[n], 80)}`)] })) });
  });
}

/* Groups points into curves by their name. The first eight curves are shown, the others are hidden at first. */
function seriesOf(points) {
  return groupsOf(points, (p) => p.name).map(([name, list], i) => ({ name, points: list.sort((a, b) => a.x - b.x), off: i >= 8 }));
}

/* Whether a column both rises and falls along a curve (one SM, all SMs, one SM). Then it does not follow from x, and each of its values
   needs a curve of its own. */
function risesAndFalls(points, by, x, name) {
  return groupsOf(points, (p) => JSON.stringify(by.map((n) => p[n]))).some(([, some]) => {
    const steps = d3.pairs(some.slice().sort((a, b) => a[x] - b[x]).map((p) => p[name])).map(([a, b]) => Math.sign(b - a));
    return steps.includes(1) && steps.includes(-1);
  });
}

/* Draws the measured values against the column with the most different values, with one curve per combination of the other columns. */
function curves(frame, { points, values, varying, labels, distinct, theory, others }) {
  const x = varying.slice().sort((a, b) => distinct(b) - distinct(a) || varying.indexOf(a) - varying.indexOf(b))[0];
  const unit = unitOf(values[0]);
  const ys = values.filter((v) => unitOf(v) === unit && !/median|spread|small/.test(v)).slice(0, /best/.test(values[0]) ? 1 : 4);
  const main = [...labels, ...varying.filter((n) => n !== x)], by = [...main, ...others.filter((n) => risesAndFalls(points, main, x, n))].filter((n) => distinct(n) <= 60);
  const drawn = points.flatMap((p) => ys.filter((y) => typeof p[y] === "number" && typeof p[x] === "number").map((y) => {
    const name = [...by.map((n) => typeof p[n] === "number" ? `${wordsOf(n)} ${formatOf(n)(p[n])}` : /^(yes|no)$/.test(p[n]) ? `${p[n] === "no" ? "not " : ""}${n.replace(/_/g, " ")}` : p[n]), ys.length > 1 ? columnTitle(y) : ""].filter(Boolean).join(", ") || columnTitle(y);
    return { name, x: p[x], y: p[y], lines: [cut(name, 80), `${columnTitle(x)}: ${formatOf(x)(p[x])}`, `${columnTitle(y)}: ${number(p[y])}`] };
  }));
  const series = seriesOf(drawn);
  const xs = points.map((p) => p[x]).filter((v) => v > 0), all = series.flatMap((s) => s.points.map((p) => p.y)).filter((v) => v > 0);
  xyChart(frame, { series, xLog: d3.max(xs) / d3.min(xs) >= 16, yLog: d3.max(all) / d3.min(all) > 100, xLabel: columnTitle(x), yLabel: ys.length > 1 ? unit || "value" : columnTitle(ys[0]), xFormat: formatOf(x), theory: unit === "GB/s" ? theory : [] });
}

function footprintPoints(frame, points, labels, varying, marks = {}) {
  const by = [...labels, ...varying.filter((n) => n === "stride_bytes" && !labels.includes("curve"))];
  const drawn = points.map((p) => {
    const name = by.map((n) => n === "stride_bytes" ? `stride ${p[n] ? bytes(p[n]) : "random"}` : p[n]).filter(Boolean).join(", ") || "latency";
    return { name, x: p.footprint_bytes, y: p.latency_cycles, lines: [cut(name, 80), bytes(p.footprint_bytes), `${number(p.latency_cycles)} cycles`] };
  });
  xyChart(frame, { series: seriesOf(drawn), xLog: true, yLog: true, xLabel: "footprint", yLabel: "cycles", xFormat: bytes, height: 430, ...marks });
}

function showBench(grid, bench, gpu) {
  for (const [name, series] of Object.entries(bench.series || {})) {
    const points = listOf(series && series.points), title = cut(series.title || name, 200), id = `bench-${name.replace(/[^a-z0-9]+/gi, "-")}`, note = seriesNote(series);
    const marked = name === "latency" && gpu;
    if (points.length) chartPoints(grid, { title, name: id, points, theory: theoryOf(name, series, bench, gpu), marks: marked ? marksOf(gpu, "ca", true) : {}, note: [note, marked ? "Dashed lines: latencies and change points from the description." : ""].filter(Boolean).join("; ") });
    else addFigure(grid, { title, name: id, note: note || "This series has no points." });
  }
}

/* Draws the roofline: measured bandwidths as slopes, measured arithmetic throughput as ceilings. An fma counts as two operations. */
function roofline(grid, gpus, bench) {
  const arithmetic = listOf(bench.series && bench.series.arith && bench.series.arith.points);
  const ceilings = arithmetic.filter((p) => /^(fma|mma)/.test(p.operation || "") && p.per_s > 0).map((p) => ({ label: p.operation, flops: p.per_s * (/^fma/.test(p.operation) ? 2 : 1) * 1e9 }))
    .sort((a, b) => b.flops - a.flops);
  const slopesOf = (gpu) => ["shared", "l1", "l2", "memory"].map((name) => ({ name, rate: valueOf(gpu, name, "read_bytes_per_s") })).filter((s) => typeof s.rate === "number" && s.rate > 0);
  const gpu = gpus.find((g) => slopesOf(g).length), slopes = gpu ? slopesOf(gpu) : [];
  if (!ceilings.length || !slopes.length) return;
  const other = deviceOf(gpu).uuid === deviceOf(bench).uuid ? "" : " The bandwidths were measured on another card with the same name.";
  const roofs = [];
  for (const c of ceilings) {
    const same = roofs.find((r) => Math.abs(r.flops / c.flops - 1) < 0.02);
    if (same) same.label += `, ${c.label}`; else roofs.push({ ...c });
  }
  /* A rate above the theoretical maximum is drawn as measured; the note warns about it. */
  const excess = figureIn(bench.series.arith.figures, "fma_f32_of_theory"), warning = excess > 1.05 ? ` The measured fp32 fma rate is ${number(excess, 3)} times the theoretical maximum of the cores, so this ceiling is not reliable.` : "";
  const top = ceilings[0].flops, intensities = d3.range(-2, 3.01, 0.1).map((e) => 10 ** e);
  const series = slopes.map((s) => ({ name: `${titleOf(s.name)} ${rate(s.rate)}`, points: intensities.concat([top / s.rate]).sort((a, b) => a - b).map((x) => ({ x, y: Math.min(top, x * s.rate) / 1e9, lines: [titleOf(s.name), `${number(x, 3)} operations per byte`, `at most ${number(Math.min(top, x * s.rate) / 1e9)} × 10⁹ per second`] })) }));
  const frame = addFigure(grid, { title: "Roofline", wide: true, note: `The upper bound of the throughput: each slope is the measured bandwidth of a memory, the ceilings are the measured arithmetic throughput.${other}${warning}`, columns: ["roof", "operations_per_byte", "gigaoperations_per_s"], rows: series.flatMap((s) => s.points.map((p) => [s.name, p.x, p.y])) });
  xyChart(frame, { series, xLog: true, yLog: true, xLabel: "operations per byte", yLabel: "10⁹ operations per second", height: 420, dots: 0, hlines: roofs.slice(0, 6).map((c) => ({ y: c.flops / 1e9, label: `${c.label} ${number(c.flops / 1e9)}` })) });
}
