/* The diagnosis of a kernel: the memory chart with the bytes that each level moves, before and after a change, the causes of misses, bank
   conflicts, hints, and the kernels on the roofline of each memory level. Documents of older versions have fewer fields; what they lack is left out. */

const numberOr = (value, fallback = null) => typeof value === "number" && Number.isFinite(value) ? value : fallback;
const kinds = (counts) => Array.isArray(counts) ? [0, 1, 2].map((i) => numberOr(counts[i], 0)) : [0, 0, 0];
const percent = (ratio, digits = 3) => `${number(100 * ratio, digits)} %`;

/* Bytes in few characters, for drawings and tables. */
function shortBytes(value) {
  if (value === null || value === undefined) return "–";
  const [size, unit] = bytes(value).split(" ");
  return `${number(Number(size), 3)} ${unit}`;
}

/* The main figures of a kernel: bytes between the levels, hit ratios, efficiency (bytes used per byte moved), floors in µs, and the bottleneck.
   null if the document has no counts. */
function trafficOf(kernel, model) {
  const counted = (level) => Array.isArray(field(kernel[level], "sectors"));
  if (!counted("l1") || !counted("l2")) return null;
  const sector = (level) => parameterOf(model, `${level}.sector_bytes`) || 32, moved = kernel.moved_bytes || {};
  const link = (level) => { const [read, write, atomic] = kinds(kernel[level].sectors).map((n) => n * sector(level)); return { read, write: write + atomic, total: numberOr(moved[level], read + write + atomic) }; };
  const ratio = (level, kind) => { const given = field(kernel.hit_ratios, `${level}_${kind ? "write" : "read"}`), sectors = kinds(kernel[level].sectors)[kind]; return given !== undefined ? numberOr(given) : sectors ? kinds(kernel[level].hits)[kind] / sectors : null; };
  const reads = numberOr(kernel.dram_read_sectors, 0) * sector("l2"), writes = numberOr(kernel.dram_write_sectors, 0) * sector("l2");
  const requested = Array.isArray(kernel.requested_bytes) ? d3.sum(kinds(kernel.requested_bytes)) : null, shared = kernel.shared || {};
  const l2Hits = kinds(kernel.l2.hits)[0], far = numberOr(kernel.l2_far_hits, 0);
  return { l1: link("l1"), l2: link("l2"), memory: { read: reads, write: writes, total: numberOr(moved.memory, reads + writes) }, requested, efficiency: kernel.efficiency || {}, floors: kernel.floors_us || {},
    hits: { l1: [ratio("l1", 0), ratio("l1", 1)], l2: [ratio("l2", 0), ratio("l2", 1)] }, far: parameterOf(model, "l2.sides") > 1 || far > 0 ? { sectors: far, share: l2Hits ? Math.min(1, far / l2Hits) : null } : null,
    wavefronts: numberOr(shared.wavefronts, 0), idealWavefronts: numberOr(shared.ideal_wavefronts, 0), sharedRequests: d3.sum(kinds(shared.requests)),
    bottleneck: textOf(kernel.bottleneck || kernel.limited_by), time: numberOr(kernel.time_us), floor: numberOr(kernel.time_floor_us, d3.max(Object.values(kernel.floors_us || {}).map((v) => numberOr(v, 0))) || null) };
}

const LEVEL_NAMES = { l1: "the L1 data cache", l2: "the L2 cache", memory: "device memory", dram: "device memory", shared: "shared memory", issue: "the issue of instructions", latency: "latency" };
/* The box of the chart that a bottleneck belongs to. */
const BOTTLENECK_BOX = { l1: "l1", l2: "l2", memory: "memory", dram: "memory", shared: "shared", issue: "sm", latency: "sm" };

/* The boxes of the memory chart as [x, y, width, height]: from left to right or, in a narrow drawing, from top to bottom. */
function chartLayout(width, withShared) {
  if (width >= NARROW) {
    const w = Math.min(150, 0.19 * width), sm = Math.min(110, 0.15 * width), gap = (width - sm - 3 * w - 4) / 3, at = [2, 2 + sm + gap, 2 + sm + w + 2 * gap, 2 + sm + 2 * w + 3 * gap], h = 116;
    const height = withShared ? 2 * h + 34 : h + 20;
    return { height, across: true, sm: [at[0], 18, sm, height - 22], l1: [at[1], 18, w, h], shared: withShared ? [at[1], h + 34, w, h - 6] : null, l2: [at[2], 18, w, h], memory: [at[3], 18, w, h] };
  }
  const h = 108, gap = 62, w = withShared ? (width - 14) / 2 : width - 4, row = (i) => 18 + (i ? 58 + gap + (i - 1) * (h + gap) : 0);
  return { height: row(3) + h - 36, across: false, sm: [2, row(0), width - 4, 58], l1: [2, row(1), w, h], shared: withShared ? [w + 12, row(1), w, h] : null, l2: [2, row(2), w, h], memory: [2, row(3), w, h - 40] };
}

/* What the boxes show: title, lines, and the tooltip. */
function boxTexts(t) {
  const floor = (name) => numberOr(t.floors[name]) !== null ? [`≥ ${number(t.floors[name], 3)} µs`] : [], used = (name) => numberOr(t.efficiency[name]) !== null ? [`used/moved ${number(t.efficiency[name], 2)}`] : [];
  const hits = (level) => [[t.hits[level][0], "reads"], [t.hits[level][1], "writes"]].filter(([ratio]) => ratio !== null).map(([ratio, what]) => `${what} hit ${percent(ratio)}`);
  const floorText = (name) => numberOr(t.floors[name]) !== null ? [`takes at least ${number(t.floors[name])} µs at the measured rate`] : [];
  const usedText = (name) => numberOr(t.efficiency[name]) !== null ? [`${number(t.efficiency[name], 3)} bytes used per byte moved`] : [];
  const level = (title, name, extra = []) => ({ title, lines: [...(t.hits[name] ? hits(name) : []), ...extra, ...used(name), ...floor(name)], tip: [title, ...(t.hits[name] ? hits(name) : []), `${bytes(t[name].total)} moved`, ...extra, ...usedText(name), ...floorText(name)] });
  return { sm: { title: "SMs", lines: [...(t.requested !== null ? ["request", shortBytes(t.requested)] : []), ...floor("issue")], tip: ["SMs", ...(t.requested !== null ? [`threads request ${bytes(t.requested)}`] : []), ...floorText("issue")] },
    l1: level("L1 data", "l1"), l2: level("L2", "l2", t.far && t.far.share !== null ? [`far ${percent(t.far.share, 2)} of hits`] : []), memory: level("Memory", "memory"),
    shared: { title: "Shared", lines: [`${tickText(t.wavefronts, compact)} wavefronts`, `ideal ${tickText(t.idealWavefronts, compact)}`, ...floor("shared")], tip: ["Shared memory", `${number(t.wavefronts)} wavefronts, ${number(t.idealWavefronts)} without bank conflicts`, ...floorText("shared")] } };
}

const compact = (value) => value >= 1e4 ? d3.format(".3~s")(value) : number(value);

/* Draws one arrow. `from` and `to` are points; the width is proportional to the bytes. */
function drawArrow(svg, from, to, thick, ink) {
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]), head = Math.min(length * 0.45, 7 + thick * 0.6), along = [(to[0] - from[0]) / length, (to[1] - from[1]) / length], side = [-along[1], along[0]];
  const at = (distance, off) => `${from[0] + along[0] * distance + side[0] * off},${from[1] + along[1] * distance + side[1] * off}`, half = thick / 2, wide = half + 4;
  svg.append("path").attr("class", "arrow").attr("fill", ink).attr("d", `M${at(0, -half)}L${at(length - head, -half)}L${at(length - head, -wide)}L${at(length, 0)}L${at(length - head, wide)}L${at(length - head, half)}L${at(0, half)}Z`);
}

/* Draws the memory chart of a kernel into `host`. `maxBytes`: the bytes of the widest arrow, the same for charts that are compared. */
function drawMemoryChart(frame, host, t, maxBytes, label) {
  const probe = Math.round(host === frame.body ? widthOf(frame) : host.clientWidth || 560), withShared = t.wavefronts > 0, place = chartLayout(Math.max(300, probe), withShared);
  const drawing = addDrawing(frame, place.height, label, host), { svg } = drawing, texts = boxTexts(t), items = [], WIDEST = 22, worst = field(BOTTLENECK_BOX, t.bottleneck);
  const thickness = (n) => Math.max(1.5, WIDEST * n / maxBytes);
  const links = [["sm", "l1", t.l1], ["l1", "l2", t.l2], ["l2", "memory", t.memory]];
  if (withShared) links.push(["sm", "shared", null]);
  for (const [near, far, flow] of links) {
    const a = place[near], b = place[far], names = { sm: "the SMs", l1: "L1", l2: "L2", memory: "memory", shared: "shared memory" };
    const lanes = flow ? [["read", flow.read, 0.36, 0], ["written", flow.write, 0.66, 1]] : [["shared", t.wavefronts * 128, 0.5, 2]];
    for (const [what, amount, part, ink] of lanes) {
      if (!(amount > 0)) continue;
      const thick = thickness(amount), back = what === "read", text = flow ? shortBytes(amount) : "";
      const start = place.across ? [a[0] + a[2] + 2, b[1] + b[3] * part] : [b[0] + b[2] * part, a[1] + a[3] + 2], end = place.across ? [b[0] - 2, start[1]] : [start[0], b[1] - 2];
      drawArrow(svg, back ? end : start, back ? start : end, thick, colour(ink));
      const middle = [(start[0] + end[0]) / 2, (start[1] + end[1]) / 2];
      const [tx, ty, anchor] = place.across ? [middle[0], back ? middle[1] - thick / 2 - 7 : middle[1] + thick / 2 + 15, "middle"] : back ? [middle[0] - thick / 2 - 8, middle[1] + 4, "end"] : [middle[0] + thick / 2 + 8, middle[1] + 4, "start"];
      svg.append("text").attr("class", "flow").attr("x", tx).attr("y", ty).attr("text-anchor", anchor).text(text);
      items.push({ x: middle[0], y: middle[1], lines: flow ? [back ? `${names[far]} to ${names[near]}` : `${names[near]} to ${names[far]}`, `${bytes(amount)} ${what}`] : texts.shared.tip, box: place.across ? [start[0], start[1] - thick / 2 - 3, end[0] - start[0], thick + 6] : [start[0] - thick / 2 - 3, start[1], thick + 6, end[1] - start[1]] });
    }
  }
  for (const name of ["sm", "l1", "shared", "l2", "memory"]) {
    const box = place[name];
    if (!box) continue;
    const [x, y, w, h] = box, { title, lines, tip } = texts[name], isWorst = name === worst;
    svg.append("rect").attr("class", isWorst ? "box level bottleneck" : "box level").attr("data-level", name).attr("x", x).attr("y", y).attr("width", w).attr("height", h).attr("rx", 4).attr("fill", isWorst ? "var(--fill-bottleneck)" : `var(--fill-${{ sm: "register", l1: "cache", shared: "shared", l2: "l2", memory: "memory" }[name]})`);
    svg.append("text").attr("x", x + 8).attr("y", y + 17).style("font-weight", 600).text(shorten(title, w - 10));
    const shown = name === "sm" && !place.across ? [lines.join(" ").replace(" ≥", ", ≥")] : lines;
    shown.forEach((line, i) => svg.append("text").attr("class", "small").attr("x", x + 8).attr("y", y + 34 + 15 * i).text(line));
    if (isWorst) svg.append("text").attr("class", "worst").attr("x", place.across ? x + 1 : x + w - 6).attr("y", place.across ? y - 5 : y + 17).attr("text-anchor", place.across ? "start" : "end").text(t.bottleneck === "latency" ? "bottleneck: latency" : "bottleneck");
    if (name === "l2" && t.far && t.far.share !== null) {
      /* The near and the far partition, as wide as their shares of the hits. */
      const near = (w - 16) * (1 - t.far.share);
      svg.append("rect").attr("class", "near").attr("x", x + 8).attr("y", y + h - 10).attr("width", near).attr("height", 5).attr("fill", colour(0));
      svg.append("rect").attr("class", "far").attr("x", x + 8 + near).attr("y", y + h - 10).attr("width", w - 16 - near).attr("height", 5).attr("fill", colour(4));
    }
    items.push({ x: x + w / 2, y, lines: isWorst ? [...tip, "the bottleneck of this kernel"] : tip, box });
  }
  addCursor(drawing, () => items);
}

const widestFlow = (list) => d3.max(list.flatMap((t) => [t.l1.read, t.l1.write, t.l2.read, t.l2.write, t.memory.read, t.memory.write, t.wavefronts * 128])) || 1;

/* One sentence about a kernel: its time, and what limits it. */
function timeSentence(t) {
  const limit = t.bottleneck === "latency" ? "no unit is busy for half of it; the rest is latency, contention for single addresses, or the launch" : t.bottleneck ? `${field(LEVEL_NAMES, t.bottleneck) || t.bottleneck} is the bottleneck` : "no bottleneck is known";
  return t.time !== null ? `Estimated time ${number(t.time)} µs${t.floor !== null ? `, at least ${number(t.floor)} µs` : ""}; ${limit}.` : t.floor !== null ? `Takes at least ${number(t.floor)} µs; ${limit}.` : `${limit[0].toUpperCase()}${limit.slice(1)}.`;
}

const TRAFFIC_COLUMNS = ["level", "read_bytes", "written_bytes", "moved_bytes", "used_part", "reads_hit", "writes_hit", "floor_us"];
const trafficRows = (t) => ["l1", "l2", "memory"].map((level) => [level, t[level].read, t[level].write, t[level].total, numberOr(t.efficiency[level]), t.hits[level] ? t.hits[level][0] : null, t.hits[level] ? t.hits[level][1] : null, numberOr(t.floors[level])])
  .concat(t.wavefronts ? [["shared", null, null, null, t.idealWavefronts / t.wavefronts, null, null, numberOr(t.floors.shared)]] : []);

const arrowLegend = (t) => el("div", { class: "legend" }, legendKey("read", 0), legendKey("written, with atomics", 1), ...(t.wavefronts ? [legendKey("shared memory, 128 bytes per wavefront", 2)] : []), ...(t.far && t.far.share !== null ? [legendKey("bar in the L2: hits in the near partition", 0), legendKey("in the far partition", 4)] : []));

function memoryChart(grid, kernel, model) {
  const t = trafficOf(kernel, model);
  if (!t) return;
  const name = cut(kernelOf(kernel), 60), frame = addFigure(grid, { title: `Memory chart: ${name}`, name: "memory-chart", note: `${timeSentence(t)} The width of an arrow is proportional to its bytes.${Object.keys(t.efficiency).length ? " used/moved: bytes that the threads use per byte moved; more than 1 if data is reused." : ""}`, columns: TRAFFIC_COLUMNS, rows: trafficRows(t) });
  frame.body.append(arrowLegend(t));
  drawMemoryChart(frame, frame.body, t, widestFlow([t]), `Memory chart of ${name}. ${timeSentence(t)}`);
}

/* The kernels of two runs in pairs: those of the same name or, if no name occurs in both, the first of each. */
function kernelPairs([before, after]) {
  const [a, b] = [before, after].map((e) => listOf(e.document.kernels)), pairs = a.map((k) => [k, b.find((o) => kernelOf(o) === kernelOf(k))]).filter(([, o]) => o);
  return pairs.length || !a.length || !b.length ? pairs : [[a[0], b[0]]];
}

/* The rows of the table of a change: [what, before, after, after divided by before]. */
function changeRows(a, b) {
  const rows = [["time, µs", a.time, b.time], ["time floor, µs", a.floor, b.floor], ["bytes requested", a.requested, b.requested], ["bytes moved, L1", a.l1.total, b.l1.total], ["bytes moved, L2", a.l2.total, b.l2.total], ["bytes moved, memory", a.memory.total, b.memory.total], ["shared-memory wavefronts", a.wavefronts || null, b.wavefronts || null]];
  return rows.filter(([, x, y]) => x !== null || y !== null).map(([what, x, y]) => [what, x, y, x > 0 && y !== null ? y / x : null]);
}

const changeText = (ratio) => ratio === null ? "–" : ratio === 1 ? "same" : ratio < 1 ? ratio ? `divided by ${number(1 / ratio, 3)}` : "none left" : `times ${number(ratio, 3)}`;

/* Two runs side by side. */
function beforeAfter(grid, entries) {
  for (const [first, second] of kernelPairs(entries)) {
    const t = [trafficOf(first, entries[0].document), trafficOf(second, entries[1].document)];
    if (!t[0] || !t[1]) continue;
    const rows = changeRows(...t), show = (what, v) => v === null ? "–" : /^bytes/.test(what) ? bytes(v) : number(v), same = kernelOf(first) === kernelOf(second);
    const frame = addFigure(grid, { title: `Before and after: ${cut(kernelOf(first), 40)}${same ? "" : ` and ${cut(kernelOf(second), 40)}`}`, name: "before-after", wide: true, columns: ["figure", "before", "after", "ratio"], rows, note: "Arrows have the same scale in both charts." });
    const hosts = t.map((part, i) => { const host = el("div", {}); return { part, host, node: el("div", {}, el("p", { class: "note" }, `${i ? "After" : "Before"}: ${runName(entries[i].file)}. ${timeSentence(part)}`), host) }; });
    frame.body.append(arrowLegend(t[0].wavefronts ? t[0] : t[1]), el("div", { class: "sides" }, ...hosts.map((h) => h.node)));
    for (const { part, host } of hosts) drawMemoryChart(frame, host, part, widestFlow(t), `Memory chart. ${timeSentence(part)}`);
    frame.body.append(tableOf(["figure", "before", "after", "change"], rows.map(([what, x, y, ratio]) => [what, show(what, x), show(what, y), changeText(ratio)])));
    frame.node.querySelector("details").remove();
  }
}

const MISS_CLASSES = [["cold", "cold: first read"], ["capacity", "capacity: the cache is too small"], ["conflict", "conflict: sets or replacement"], ["coherence", "coherence: a write removed the line"], ["sector", "sector: line present, sector not fetched"]];

/* Why reads miss, as a percentage of the read sectors of a level. `rows`: [{label, row, level}]. */
function missClasses(grid, title, rows) {
  const shown = rows.map(({ label, row, level }) => {
    const misses = row[`${level}_misses`], counts = MISS_CLASSES.map(([key]) => numberOr(field(misses, key), 0)), sectors = Math.max(kinds(field(row[level], "sectors"))[0], d3.sum(counts));
    /* Reads that miss without a cause: the causes were not computed. */
    const unexplained = !d3.sum(counts) && kinds(field(row[level], "hits"))[0] < sectors;
    return !misses || !sectors || unexplained ? null : { label, counts, sectors, parts: MISS_CLASSES.map(([, what], k) => ({ value: 100 * counts[k] / sectors, lines: [label, what, `${number(counts[k])} sectors`, `${percent(counts[k] / sectors)} of the read sectors`] })) };
  }).filter(Boolean);
  if (!shown.length) return;
  const frame = addFigure(grid, { title, name: "miss-classes", note: "The part of the read sectors that miss, by cause.", columns: ["level", "read_sectors", ...MISS_CLASSES.map(([key]) => `${key}_sectors`)], rows: shown.map((r) => [r.label, r.sectors, ...r.counts]) });
  stackedBars(frame, { rows: shown, names: MISS_CLASSES.map(([, what]) => what), unit: "read sectors that miss, %", top: Math.min(100, 1.05 * d3.max(shown, (r) => d3.sum(r.parts, (p) => p.value)) || 1) });
}

const MAX_CONFLICTS = 24; /* instructions in the chart of bank conflicts, those with the most additional wavefronts; chosen */

/* Wavefronts per request of the instructions that access shared memory, next to those without conflicts. */
function bankConflicts(grid, model) {
  const all = listOf(model.instructions).map((row) => ({ row, n: d3.sum(kinds(field(row.shared, "requests"))), s: row.shared || {} })).filter(({ n, s }) => n > 0 && s.wavefronts > 0).sort((a, b) => (b.s.wavefronts - b.s.ideal_wavefronts) - (a.s.wavefronts - a.s.ideal_wavefronts));
  if (!all.length) return;
  const shown = all.slice(0, MAX_CONFLICTS), names = ["wavefronts per request", "without bank conflicts", "with one element of padding per row"];
  const place = (row) => `${row.source_line ? positionOf(row) : `PTX line ${row.line}`} ${textOf(row.kind).replace("shared ", "")}`;
  const frame = addFigure(grid, { title: "Bank conflicts", name: "bank-conflicts", note: `Shared-memory wavefronts per request of each instruction.${shown.length < all.length ? ` The ${shown.length} of ${all.length} instructions with the most conflicts.` : ""}`, columns: ["kernel", "instruction", "requests", "wavefronts", "ideal_wavefronts", "padded_wavefronts"], rows: all.map(({ row, n, s }) => [kernelOf(row), place(row), n, s.wavefronts, s.ideal_wavefronts, numberOr(s.padded_wavefronts)]) });
  dotChart(frame, { names, unit: "wavefronts per request", rows: shown.map(({ row, n, s }) => ({ label: place(row), dots: [s.wavefronts, s.ideal_wavefronts, s.padded_wavefronts].map((value, i) => ({ value: numberOr(value, NaN) / n, colour: i, lines: [`${kernelOf(row)} ${place(row)}`, `${number(value / n)} ${names[i].replace(/^wavefronts/, "wavefronts")}`, `${number(n)} requests`] })) })) });
}

const HINT_FIGURES = [["time_us", "time", (v) => `${number(v)} µs`], ["l1_bytes", "bytes moved, L1", bytes], ["l2_bytes", "bytes moved, L2", bytes], ["memory_bytes", "bytes moved, memory", bytes], ["shared_wavefronts", "shared-memory wavefronts", number]];

/* What would help, with the evidence and the effect that the model computes. */
function showHints(grid, model) {
  const hints = listOf(model.hints);
  if (!hints.length) return;
  const place = (hint) => hint.source_line ? positionOf(hint) : hint.line ? `PTX line ${hint.line}` : "";
  const frame = addFigure(grid, { title: "Hints", name: "hints", wide: true, note: "What to change, the most useful first, with the evidence. Before and after are figures of the model.", columns: ["kernel", "rule", "position", "text", "evidence", "what_if", ...HINT_FIGURES.flatMap(([key]) => [`before_${key}`, `after_${key}`])],
    rows: hints.map((h) => [kernelOf(h), h.rule, place(h), h.text, h.evidence, h.what_if, ...HINT_FIGURES.flatMap(([key]) => [field(h.before, key), field(h.after, key)])]) });
  frame.node.querySelector("details").remove();
  frame.body.append(el("ol", { class: "hints" }, ...hints.map((h) => {
    const node = el("li", {}, el("strong", {}, [wordsOf(textOf(h.rule)), kernelOf(h), place(h)].filter(Boolean).join(" · ")), el("p", {}, cut(textOf(h.text), 1000)), el("p", { class: "note" }, `Evidence: ${cut(textOf(h.evidence), 400)}${h.what_if ? `. Tried with --what-if ${cut(textOf(h.what_if), 100)}` : ""}`));
    const rows = HINT_FIGURES.map(([key, what, format]) => [what, numberOr(field(h.before, key)), numberOr(field(h.after, key)), format]).filter(([, x, y]) => x !== null && y !== null && (x || y));
    if (rows.length) node.append(tableOf(["figure", "before", "after", "change"], rows.map(([what, x, y, format]) => [what, format(x), format(y), changeText(x > 0 ? y / x : null)])));
    else if (!h.after) node.append(el("p", { class: "note" }, "The gain was not computed."));
    return node;
  })));
}

/* The kernels of all runs on the rooflines of the memory levels. */
function kernelRoofline(grid, entries) {
  const model = entries[0].document, levels = [["l1", "L1"], ["l2", "L2"], ["memory", "memory"]].map(([level, title]) => ({ level, title, bandwidth: parameterOf(model, `${level}.bytes_per_s`) })).filter((l) => l.bandwidth);
  const kernels = entries.flatMap((e) => listOf(e.document.kernels).map((k) => ({ t: trafficOf(k, e.document), label: entries.length > 1 ? `${runName(e.file)} ${kernelOf(k)}` : kernelOf(k) }))).filter(({ t }) => t && t.requested > 0 && (t.time || t.floor) > 0);
  if (!levels.length || !kernels.length) return;
  const estimated = kernels.every(({ t }) => t.time !== null), rows = [], few = kernels.length <= 8;
  const dots = levels.map(({ level, title, bandwidth }, i) => ({ name: `kernels, ${title}`, colour: i, join: false, dots: 5, points: kernels.filter(({ t }) => t[level].total > 0).map(({ t, label }) => {
    const x = t.requested / t[level].total, y = t.requested / ((estimated ? t.time : t.floor) * 1e-6), reached = y / (x * bandwidth);
    rows.push([label, title, x, y, reached]);
    return { x, y, label: few && level === levels[levels.length - 1].level ? cut(label, 30) : "", lines: [label, `${title}: ${number(x, 3)} bytes requested per byte moved`, `${rate(y)} requested`, `${percent(reached)} of the bandwidth of ${title}`] };
  }) }));
  const [low, high] = d3.extent(dots.flatMap((s) => s.points), (p) => p.x);
  const roofs = levels.map(({ title, bandwidth }, i) => ({ name: `${title} ${rate(bandwidth)}`, colour: i, join: true, dots: 0, points: [low / 5, high * 3].map((x) => ({ x, y: x * bandwidth, lines: [`${title}: ${rate(bandwidth)}`] })) }));
  const frame = addFigure(grid, { title: "Kernels on the roofline of each memory level", name: "kernel-roofline", wide: true, columns: ["kernel", "level", "requested_per_moved_byte", "requested_bytes_per_s", "part_of_bandwidth"], rows,
    note: `Each kernel has one dot per memory level: across, the bytes that its threads request per byte that the level moves; up, the bytes that they request per second of ${estimated ? "estimated time" : "its time floor"}. Each line is the measured bandwidth of a level; the closer the dot of its colour is to it, the more this level limits the kernel.` });
  xyChart(frame, { series: [...roofs, ...dots], xLog: true, yLog: true, xLabel: "bytes requested per byte moved", yLabel: "requested bytes per second", yFormat: rate, height: 400 });
}
