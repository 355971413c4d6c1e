/* Charts of a description: one SM and the chip, both drawn to scale, then latency, bandwidth and structure. */

/* Tooltip lines for an element: its main figures, with the provenance of size and latency. */
function elementLines(gpu, element) {
  const lines = [titleOf(element)];
  for (const name of ["size_bytes", "latency_cycles", "far_latency_cycles", "read_bytes_per_s", "write_bytes_per_s", "line_bytes", "sets", "ways", "policy"]) {
    const figure = figureOf(gpu, element, name);
    if (figure) lines.push(...evidenceLines(name, figure).slice(0, name === "size_bytes" || name === "latency_cycles" ? 4 : 1));
  }
  const unknown = gpu.elements[element] && gpu.elements[element].unknown;
  if (unknown && unknown.size_bytes) lines.push(`size unknown: ${cut(unknown.size_bytes, 160)}`);
  return lines;
}

/* A summary of an element in one line: latency, throughput, and the confidence in its size. */
function brief(gpu, element) {
  const parts = [], cycles = valueOf(gpu, element, "latency_cycles"), read = valueOf(gpu, element, "read_bytes_per_s"), confidence = (figureOf(gpu, element, "size_bytes") || {}).confidence;
  const perInstruction = valueOf(gpu, element, "cycles_per_instruction");
  if (typeof cycles === "number") parts.push(`${number(cycles)} cycles`);
  if (typeof perInstruction === "number") parts.push(`${number(perInstruction)} cycles/instr.`);
  if (typeof read === "number") parts.push(rate(read));
  const each = valueOf(gpu, element, "sms_per_instance");
  if (each > 1) parts.push(`1 per ${number(each)} ${smWords(gpu).many}`);
  if (typeof confidence === "number") parts.push(`conf. ${number(confidence, 2)}`);
  return parts.join(" · ");
}

/* The colour of an element, as the suffix of a variable --fill-… in style.css. */
const FILLS = { l1: "cache", vector_l1: "cache", texture: "cache", readonly: "cache", shared: "shared", lds: "shared", scalar_l1: "constant", constant_l1: "constant", constant_l15: "constant",
  instruction_l0: "code", instruction_l1: "code", instruction_l15: "code", registers: "register" };

function sharesWithL1(gpu, element) {
  const list = valueOf(gpu, element, "shared_with");
  return Array.isArray(list) && list.includes("l1");
}

/* The possible divisions of an SM's unified storage between shared memory and L1, in bytes: [{shared, l1}]. Empty if they are unknown. */
function carveoutSplits(gpu) {
  const carveouts = valueOf(gpu, "shared", "carveout_bytes"), sizes = valueOf(gpu, "l1", "carveout_size_bytes");
  const l1 = valueOf(gpu, "l1", "size_bytes"), smallestL1 = valueOf(gpu, "l1", "default_size_bytes"), shared = valueOf(gpu, "shared", "size_bytes");
  if (Array.isArray(carveouts) && Array.isArray(sizes) && carveouts.length === sizes.length) return carveouts.map((c, i) => ({ shared: c, l1: sizes[i] }));
  const smallestShared = Array.isArray(carveouts) && carveouts.length ? Math.min(...carveouts) : 0;
  if (typeof l1 === "number" && typeof smallestL1 === "number" && typeof shared === "number" && smallestL1 < l1) return [{ shared: smallestShared, l1 }, { shared, l1: smallestL1 }];
  return [];
}

/* Draws the memories of one SM as boxes. The width of a box is proportional to its size. */
function drawSm(grid, gpu) {
  const splits = carveoutSplits(gpu);
  const rows = [];
  const unified = splits.length > 0;
  if (unified) rows.push({ unified: true });
  else for (const name of ["vector_l1", "l1", "shared", "lds"]) if (gpu.elements[name]) rows.push({ elements: [name] });
  if (gpu.elements.registers) rows.push({ elements: ["registers"] });
  const separate = ["texture", "readonly"].filter((name) => gpu.elements[name] && !sharesWithL1(gpu, name));
  if (separate.length) rows.push({ elements: separate });
  const code = ["instruction_l1", "instruction_l15", "instruction_l0"].filter((name) => gpu.elements[name]);
  if (code.length) rows.push({ elements: code });
  const constants = ["constant_l15", "constant_l1", "scalar_l1"].filter((name) => gpu.elements[name]);
  if (constants.length) rows.push({ elements: constants });
  if (!rows.length) return;
  const names = ["vector_l1", "l1", "texture", "readonly", "shared", "lds", "registers", ...code, ...constants].filter((n) => gpu.elements[n]);
  const columns = ["element", "size_bytes", "latency_cycles", "latency_ns", "read_bytes_per_s", "write_bytes_per_s", "line_bytes", "per_sm", "confidence", "source"];
  const table = names.map((n) => [n, ...columns.slice(1, 8).map((c) => valueOf(gpu, n, c)), (figureOf(gpu, n, "size_bytes") || {}).confidence, (figureOf(gpu, n, "size_bytes") || {}).source]);
  const { one } = smWords(gpu);
  const frame = addFigure(grid, { title: `One ${one}, to scale`, note: "The width of a box is proportional to its size. Hover over a box, or use the arrow keys, to see where its figures come from.", columns, rows: table, wide: true, name: "sm" });
  if (widthOf(frame) < NARROW) rows.splice(0, rows.length, ...rows.flatMap((row) => row.unified ? [row] : row.elements.map((name) => ({ elements: [name] }))));
  const total = unified ? Math.max(...splits.map((s) => s.shared + s.l1)) : 0;
  const sizes = rows.map((r) => r.unified ? total : d3.sum(r.elements, (n) => valueOf(gpu, n, "size_bytes") || 0));
  const rowHeight = 66, height = 34 + rows.length * rowHeight;
  const sms = valueOf(gpu, "device", "sms");
  let at = 0;
  const drawing = addDrawing(frame, height, `The memories of one ${one}; widths are proportional to sizes`);
  const { svg, width } = drawing;
  const scale = (width - 36) / Math.max(...sizes, 1);
  svg.append("rect").attr("class", "box").attr("x", 1).attr("y", 1).attr("width", width - 2).attr("height", height - 2).attr("rx", 6).attr("fill", "none");
  svg.append("text").attr("x", 14).attr("y", 19).style("font-weight", 600).text(`${one[0].toUpperCase()}${one.slice(1)}${sms ? ` ×${number(sms)}` : ""}`);
  const layer = svg.append("g");
  let items = [];
  /* Draws a box with its label. Returns the width of the label next to the box, 0 if the label is inside or below it. */
  function box(x, y, w, element, label, detail, { dashed = false, below = false } = {}) {
    layer.append("rect").attr("class", "box memory").attr("x", x).attr("y", y).attr("width", Math.max(2, w)).attr("height", 40).attr("fill", `var(--fill-${FILLS[element] || "cache"})`).attr("stroke-dasharray", dashed ? "4 3" : null);
    items.push({ x: x + Math.min(w, 200) / 2, y, lines: elementLines(gpu, element), box: [x, y, Math.max(8, w), 40] });
    const inside = w > 6.6 * Math.max(label.length, detail.length) + 10;
    if (below && !inside) {
      /* Another box follows on the right, so the label goes below, in one line. */
      const from = Math.min(x, width - 14 - 6.4 * label.length);
      layer.append("text").attr("x", Math.max(4, from)).attr("y", y + 54).text(label);
      return 0;
    }
    const tx = inside ? x + 8 : x + Math.max(2, w) + 6;
    layer.append("text").attr("x", tx).attr("y", y + 17).text(shorten(label, width - 8 - tx));
    layer.append("text").attr("class", "soft").attr("x", tx).attr("y", y + 33).text(shorten(detail, width - 8 - tx));
    return inside ? 0 : 6.8 * Math.max(label.length, detail.length) + 14;
  }
  function draw() {
    layer.selectAll("*").remove();
    items = [];
    rows.forEach((row, i) => {
      const y = 28 + i * rowHeight;
      let x = 18;
      if (row.unified) {
        const split = splits[at];
        const sharingL1 = ["texture", "readonly"].filter((n) => sharesWithL1(gpu, n)).map((n) => ({ texture: "texture", readonly: "read-only" })[n]);
        if (split.shared > 0) box(x, y, split.shared * scale, "shared", `Shared memory ${bytes(split.shared)}`, brief(gpu, "shared"), { below: true });
        box(x + split.shared * scale, y, split.l1 * scale, "l1", `L1${sharingL1.length ? ` + ${sharingL1.join(" + ")}` : ""} ${bytes(split.l1)}`, brief(gpu, "l1"), { below: true });
        return;
      }
      for (const name of row.elements) {
        const size = valueOf(gpu, name, "size_bytes"), known = typeof size === "number", w = known ? size * scale : 40;
        const labelWidth = box(x, y, w, name, `${titleOf(name)} ${known ? bytes(size) : "size ?"}`, brief(gpu, name), { dashed: !known });
        x += Math.max(w, 2) + labelWidth + 16;
      }
    });
  }
  if (splits.length > 1) {
    const range = el("input", { type: "range", min: "0", max: String(splits.length - 1), value: "0", step: "1", "aria-label": "Carve-out: shared memory or L1" });
    const valueText = el("span", { class: "note" });
    const showValue = () => { valueText.textContent = ` shared memory ${bytes(splits[at].shared)}, L1 ${bytes(splits[at].l1)}`; range.setAttribute("aria-valuetext", valueText.textContent); };
    range.addEventListener("input", () => { at = Number(range.value); showValue(); draw(); });
    showValue();
    frame.body.prepend(el("label", { class: "note" }, "Carve-out ", range, valueText));
  }
  draw();
  addCursor(drawing, () => items);
}

/* Draws the chip: one tile per SM for its L1 and shared memory, the L2 with its partitions or all its instances, and the L3. All these areas
   have the same scale; device memory is drawn cut off. */
function drawChip(grid, gpu) {
  const sms = valueOf(gpu, "device", "sms"), instances = Math.max(1, valueOf(gpu, "l2", "instances", 1)), one = valueOf(gpu, "l2", "size_bytes");
  const l2 = typeof one === "number" ? one * instances : null, l3 = valueOf(gpu, "l3", "size_bytes", 0), words = smWords(gpu);
  if (typeof sms !== "number" || sms < 1 || sms > 4096 || typeof l2 !== "number") return;
  const splits = carveoutSplits(gpu), l1Name = elementFor(gpu, "l1"), sharedName = elementFor(gpu, "shared"), l1 = valueOf(gpu, l1Name, "size_bytes", 0);
  const shared = valueOf(gpu, sharedName, "size_bytes", 0) / Math.max(1, valueOf(gpu, sharedName, "sms_per_instance", 1));
  const stored = sharedName === "lds" ? "vector L1 and LDS" : gpu.elements.shared ? "L1 and shared memory" : "L1";
  const smBytes = splits.length ? splits[0].shared + splits[0].l1 : l1 + shared;
  if (!(smBytes > 0)) return;
  const parts = Math.max(1, Math.min(16, instances > 1 && instances <= 16 ? instances : valueOf(gpu, "l2", "partitions", 1))), part = instances > 1 ? "instance" : "partition";
  const latency = valueOf(gpu, "l2", "latency_by_sm_cycles"), near = valueOf(gpu, "l2", "partition_by_sm");
  const timed = Array.isArray(latency) && latency.length === sms, partitioned = Array.isArray(near) && near.length === sms && parts > 1;
  const memory = valueOf(gpu, "memory", "size_bytes");
  const rows = d3.range(sms).map((i) => [i, timed ? latency[i] : null, partitioned ? near[i] : null]);
  const frame = addFigure(grid, { title: "The chip, to scale", wide: true, name: "chip", columns: ["sm", "l2_latency_cycles", "partition"], rows,
    note: `Areas are proportional to sizes. A tile stands for the ${bytes(smBytes)} of ${stored} of one ${words.one}${timed ? `; its colour is the latency of an L2 hit from that ${words.one}` : ""}. Device memory is not to scale.` });
  const width = widthOf(frame), inner = width - 28;
  const side = Math.sqrt((inner * 250) / (sms + (l2 + l3) / smBytes));
  const groups = partitioned ? d3.range(parts).map((p) => d3.range(sms).filter((i) => near[i] === p)) : [d3.range(sms)];
  const groupWidth = inner / groups.length - (groups.length > 1 ? 6 : 0);
  const across = Math.max(1, Math.floor(groupWidth / side)), tileRows = Math.max(...groups.map((g) => Math.ceil(g.length / across)));
  const l2Top = 40 + tileRows * side + 14, l2Height = ((l2 / parts / smBytes) * side * side) / (inner / parts - 6), l3Top = l2Top + l2Height + 14;
  const l3Height = ((l3 / smBytes) * side * side) / inner, memoryTop = l3 ? l3Top + Math.max(24, l3Height) + 14 : l3Top;
  const height = memoryTop + (memory ? 58 : 0);
  const drawing = addDrawing(frame, Math.ceil(height), `The chip: ${sms} ${words.many}, an L2 of ${bytes(l2)} in ${parts} ${part}${parts > 1 ? "s" : ""}${l3 ? `, an L3 of ${bytes(l3)}` : ""}`);
  const { svg } = drawing;
  svg.append("rect").attr("class", "box").attr("x", 1).attr("y", 1).attr("width", width - 2).attr("height", memoryTop - 4).attr("rx", 6).attr("fill", "none");
  if (width >= NARROW || !timed) svg.append("text").attr("x", 14).attr("y", 22).style("font-weight", 600).text(`${sms} ${words.many}`);
  const items = [];
  const shade = timed ? d3.scaleSequential(d3.interpolateViridis).domain(d3.extent(latency)) : null;
  groups.forEach((group, g) => group.forEach((sm, i) => {
    const x = 14 + g * (groupWidth + 6) + (i % across) * side, y = 34 + Math.floor(i / across) * side;
    svg.append("rect").attr("class", "tile").attr("x", x).attr("y", y).attr("width", Math.max(1, side - 2)).attr("height", Math.max(1, side - 2)).attr("rx", 2).attr("fill", timed ? shade(latency[sm]) : "var(--fill-cache)").attr("stroke", "var(--line)");
    const lines = [`${words.one} ${sm}`, `${bytes(smBytes)} of ${stored}`];
    if (timed) lines.push(`L2 hit ${number(latency[sm])} cycles`);
    if (partitioned) lines.push(`near partition ${near[sm]}`);
    items.push({ x: x + side / 2, y, lines, box: [x, y, side - 2, side - 2] });
  }));
  if (timed) {
    const [low, high] = d3.extent(latency), left = Math.max(100, width - 340);
    for (let i = 0; i < 40; i++) svg.append("rect").attr("x", left + i * 3).attr("y", 12).attr("width", 3.2).attr("height", 10).attr("fill", shade(low + ((high - low) * i) / 39));
    svg.append("text").attr("class", "soft").attr("x", left - 6).attr("y", 21).attr("text-anchor", "end").text(`L2 hit ${number(low)}`);
    svg.append("text").attr("class", "soft").attr("x", left + 126).attr("y", 21).text(`${number(high)} cycles`);
  }
  for (let p = 0; p < parts; p++) {
    const w = inner / parts - 6, x = 14 + p * (w + 6);
    svg.append("rect").attr("class", "box memory").attr("x", x).attr("y", l2Top).attr("width", w).attr("height", l2Height).attr("fill", "var(--fill-l2)");
    svg.append("text").attr("x", x + 10).attr("y", l2Top + 20).text(shorten(parts > 1 ? `L2 ${part} ${p}, ${bytes(l2 / parts)}` : `L2 ${bytes(l2)}`, w - 12));
    if (p === 0 && l2Height > 40) svg.append("text").attr("class", "soft").attr("x", x + 10).attr("y", l2Top + 37).text(shorten(brief(gpu, "l2"), w - 12));
    const far = valueOf(gpu, "l2", "far_latency_cycles");
    if (p === 1 && typeof far === "number") svg.append("text").attr("class", "soft").attr("x", x + 10).attr("y", l2Top + 37).text(shorten(`${number(far)} cycles to the far partition`, w - 12));
    items.push({ x: x + 40, y: l2Top + 10, lines: elementLines(gpu, "l2"), box: [x, l2Top, w, l2Height] });
  }
  if (l3) {
    svg.append("rect").attr("class", "box memory").attr("x", 14).attr("y", l3Top).attr("width", inner - 6).attr("height", Math.max(24, l3Height)).attr("fill", "var(--fill-l2)");
    svg.append("text").attr("x", 24).attr("y", l3Top + 17).text(shorten(`L3 ${bytes(l3)} · ${brief(gpu, "l3")}`, inner - 24));
    items.push({ x: 60, y: l3Top + 10, lines: elementLines(gpu, "l3"), box: [14, l3Top, inner - 6, Math.max(24, l3Height)] });
  }
  if (memory) {
    const zigzag = d3.range(0, width - 2, 14).map((x, i) => `${x + 1},${memoryTop + 48 + (i % 2) * 6}`).join(" L");
    svg.append("path").attr("class", "box memory").attr("fill", "var(--fill-memory)").attr("d", `M1,${memoryTop} H${width - 1} L${width - 1},${memoryTop + 48} L${zigzag.split(" L").reverse().join(" L")} Z`);
    svg.append("text").attr("x", 14).attr("y", memoryTop + 18).text(`Device memory ${bytes(memory)}`);
    svg.append("text").attr("class", "soft").attr("x", 14).attr("y", memoryTop + 35).text(shorten(`${brief(gpu, "memory")} · at this scale and width, it would be ${number(Math.round((memory / smBytes) * side * side / inner), 3)} pixels high`, width - 24));
    items.push({ x: 60, y: memoryTop, lines: elementLines(gpu, "memory"), box: [1, memoryTop, width - 2, 46] });
  }
  addCursor(drawing, () => items);
}

/* One bar per element with a latency, and per TLB with a miss penalty. */
function latencyBars(grid, gpu) {
  const rows = [], table = [];
  for (const name of ORDER) {
    const figure = figureOf(gpu, name, name.startsWith("tlb_") ? "miss_penalty_cycles" : "latency_cycles");
    if (!figure || typeof figure.value !== "number" || !(figure.value > 0)) continue;
    const more = [["far_latency_cycles", "far"], ["cold_latency_cycles", "with cold TLBs"]]
      .map(([n, label]) => ({ value: valueOf(gpu, name, n), label })).filter((m) => typeof m.value === "number");
    const label = name.startsWith("tlb_") ? `${titleOf(name)} miss adds` : titleOf(name);
    rows.push({ label, value: figure.value, low: figure.low, high: figure.high, more, lines: [label, ...evidenceLines(name.startsWith("tlb_") ? "miss_penalty_cycles" : "latency_cycles", figure)], colour: `var(--c${name.startsWith("tlb_") ? 7 : 0})` });
    table.push([label, figure.value, figure.low, figure.high, valueOf(gpu, name, "latency_ns"), valueOf(gpu, name, "far_latency_cycles"), figure.confidence, figure.source]);
  }
  if (!rows.length) return;
  rows.sort((a, b) => a.value - b.value);
  const frame = addFigure(grid, { title: "Latency", note: "Cycles per load of a pointer chase, with intervals. Diamonds: accesses to the far partition or SM, and loads with cold TLBs.", columns: ["element", "cycles", "low", "high", "ns", "far_cycles", "confidence", "source"], rows: table });
  barChart(frame, { rows, log: true, unit: "cycles" });
}

/* The peak bandwidth of device memory in bytes per second: the published one, or else two transfers per clock over the width of the bus.
   peak is null if neither is known. */
function memoryPeak(gpu) {
  const clock = valueOf(gpu, "device", "memory_clock_mhz"), bus = valueOf(gpu, "device", "memory_bus_bits"), stated = valueOf(gpu, "memory", "peak_bytes_per_s");
  if (stated) return { peak: stated, label: "published peak" };
  return { peak: clock && bus ? (clock * 1e6 * 2 * bus) / 8 : null, label: "peak, from memory clock and bus width" };
}

function bandwidthBars(grid, gpu) {
  const rows = [], table = [], { peak, label: peakLabel } = memoryPeak(gpu);
  for (const name of ORDER) for (const kind of ["read", "write", "copy"]) {
    const figure = figureOf(gpu, name, `${kind}_bytes_per_s`);
    if (!figure || typeof figure.value !== "number" || !(figure.value > 0)) continue;
    const label = `${titleOf(name)} ${kind}`;
    rows.push({ label, value: figure.value, low: figure.low, high: figure.high, lines: [label, ...evidenceLines(`${kind}_bytes_per_s`, figure)], colour: colour({ read: 0, write: 1, copy: 2 }[kind]),
      more: name === "memory" && kind === "read" && peak ? [{ value: peak, label: peakLabel }] : [] });
    table.push([label, figure.value, figure.low, figure.high, figure.source]);
  }
  if (!rows.length) return;
  const frame = addFigure(grid, { title: "Bandwidth", note: "Bytes per second of the whole device, the best of several launch shapes. The whisker extends to the median. The diamond is the peak of the memory.", columns: ["element", "bytes_per_s", "low", "high", "source"], rows: table });
  barChart(frame, { rows, log: true, format: rate });
}

/* The latency of an L2 hit from each SM, as a heat map with 12 SMs per row. */
function smMap(grid, gpu) {
  const latency = valueOf(gpu, "l2", "latency_by_sm_cycles"), near = valueOf(gpu, "l2", "partition_by_sm");
  if (!Array.isArray(latency) || latency.length < 2) return;
  const across = 12, rows = latency.map((v, i) => [i, v, Array.isArray(near) ? near[i] : null]);
  const frame = addFigure(grid, { title: "SM to L2 latency", note: `Cycles of an L2 hit from each SM, in the order of SM indices.${Array.isArray(near) ? " The edge of a cell shows which L2 partition is near." : ""}`, columns: ["sm", "cycles", "partition"], rows });
  if (Array.isArray(near)) frame.body.append(el("div", { class: "legend" }, ...[...new Set(near)].sort().map((side) => legendKey(`partition ${number(side)}`, side))));
  heatMap(frame, { xs: d3.range(across), ys: d3.range(0, latency.length, across), square: true, unit: "cycles", xLabel: "SM index within the row", yLabel: "first SM of the row",
    cells: latency.map((value, i) => ({ x: i % across, y: i - (i % across), value, side: Array.isArray(near) ? near[i] : undefined, lines: [`SM ${i}`, `${number(value)} cycles`, ...(Array.isArray(near) ? [`near partition ${near[i]}`] : [])] })) });
}

/* The latency of an L2 hit by slice and group of SMs, as a heat map. */
function sliceMap(grid, gpu) {
  const cycles = valueOf(gpu, "l2", "slice_latency_cycles"), groups = valueOf(gpu, "l2", "slice_group_by_sm");
  const slices = valueOf(gpu, "l2", "slices", 0) / valueOf(gpu, "l2", "partitions", 1);
  if (!Array.isArray(cycles) || !Array.isArray(groups) || !Number.isInteger(slices) || slices < 2 || cycles.length % slices) return;
  const first = d3.range(cycles.length / slices).map((group) => groups.indexOf(group));
  if (first.includes(-1)) return;
  const at = (i) => ({ sm: first[Math.floor(i / slices)], slice: i % slices });
  const frame = addFigure(grid, { title: "SM to L2 slice latency", wide: true, name: "slices", note: "Cycles of a hit in each slice of the near partition. A row is a group of SMs with equal latencies.", columns: ["first_sm", "slice", "cycles"], rows: cycles.map((value, i) => [at(i).sm, at(i).slice, value]) });
  heatMap(frame, { xs: d3.range(slices), ys: first, unit: "cycles", xLabel: "slice", yLabel: "first SM of the group",
    cells: cycles.map((value, i) => ({ x: at(i).slice, y: at(i).sm, value, lines: [`SM ${at(i).sm} and others of its group`, `slice ${at(i).slice}`, `${number(value)} cycles`] })) });
}

/* How many of the first warp's lines each warp evicts: shows which warps share a cache. */
function evictionsByWarp(grid, gpu) {
  const multiples = Object.keys(gpu.elements).map((name) => ({ name, values: valueOf(gpu, name, "disturbed_by_warp") })).filter((m) => Array.isArray(m.values) && m.values.length);
  if (!multiples.length) return;
  const frame = addFigure(grid, { title: "Evictions between warps", wide: multiples.length > 2, name: "disturbance", note: "The fraction of the first warp's lines that each warp of a block evicts. Warps that evict them share a cache with the first warp; if some do not, the SM has several caches.",
    columns: ["element", "warp", "fraction"], rows: multiples.flatMap((m) => m.values.map((v, i) => [m.name, i, v])) });
  columnMultiples(frame, { xLabel: "warp", yLabel: "fraction evicted", multiples: multiples.map((m) => ({ title: `${titleOf(m.name)}: ${number(valueOf(gpu, m.name, "per_sm"))} per SM`, values: m.values, lines: (i) => [titleOf(m.name), `warp ${i}`, `${number(100 * m.values[i], 3)} % of the lines evicted`] })) });
}

/* The latency spectrum: the access patterns P1 to P6 of Mei and Chu (2017, Fig. 14). */
function spectrum(grid, gpu) {
  const meaning = { P1: "cache hit, page in the first-level TLB", P2: "cache hit, page in the second-level TLB", P3: "cache hit, page in no TLB", P4: "cache miss, page in the first-level TLB", P5: "cache miss, page in no TLB", P6: "cache miss, page in no TLB, page table not active" };
  const short = { P1: "cache hit, TLB L1 hit", P2: "cache hit, TLB L2 hit", P3: "cache hit, TLB miss", P4: "cache miss, TLB L1 hit", P5: "cache miss, TLB miss", P6: "P5, inactive page table" };
  for (const name of ["l1", "vector_l1", "l2"]) {
    const patterns = valueOf(gpu, name, "spectrum_patterns"), cycles = valueOf(gpu, name, "spectrum_cycles");
    if (!Array.isArray(patterns) || !Array.isArray(cycles) || patterns.length !== cycles.length || !cycles.length) continue;
    const frame = addFigure(grid, { title: `Latency spectrum, loads ${name === "l2" ? "past L1" : "through L1"}`, name: `spectrum-${name}`, note: "One bar for each combination of cache and TLB hits and misses that was found.", columns: ["pattern", "cycles", "meaning"], rows: patterns.map((p, i) => [p, cycles[i], meaning[p]]) });
    barChart(frame, { unit: "cycles", rows: patterns.map((p, i) => ({ label: short[p] ? `${p}: ${short[p]}` : p, value: cycles[i], lines: [`${p}: ${number(cycles[i])} cycles`, meaning[p] || ""] })) });
  }
}

function l1ByCarveout(grid, gpu) {
  const splits = carveoutSplits(gpu);
  if (splits.length < 3) return;
  const frame = addFigure(grid, { title: "L1 size by carve-out", name: "carveout", columns: ["shared_bytes", "l1_bytes"], rows: splits.map((s) => [s.shared, s.l1]) });
  xyChart(frame, { xLabel: "shared memory per SM", yLabel: "L1", xFormat: bytes, yFormat: bytes, height: 300, series: [{ name: "L1", points: splits.map((s) => ({ x: s.shared, y: s.l1 })) }] });
}

/* The number of pages that miss a TLB, for walks over more and more pages. */
function tlbOverflows(grid, gpu) {
  for (const name of ["tlb_l1", "tlb_l2", "tlb_l3"]) {
    const pages = valueOf(gpu, name, "overflow_pages"), missed = valueOf(gpu, name, "overflow_missed");
    if (!Array.isArray(pages) || !Array.isArray(missed) || pages.length !== missed.length || pages.length < 2) continue;
    const frame = addFigure(grid, { title: `${titleOf(name)}: pages that miss`, name: `overflow-${name}`, note: "Number of pages that miss in a walk over a given number of pages.", columns: ["pages", "missed"], rows: pages.map((p, i) => [p, missed[i]]) });
    xyChart(frame, { xLabel: "pages in the walk", yLabel: "pages that miss", height: 300, tight: true, series: [{ name: titleOf(name), points: pages.map((p, i) => ({ x: p, y: missed[i] })) }] });
  }
}
