/* The top of a description's report: the main figures, the comparison with the published description of the same model, and what is unknown and
   why. */

/* Names of figures in words. Other figures are named after their key (wordsOf). */
const FIGURE_NAMES = {
  size_bytes: "size", latency_cycles: "latency", latency_ns: "latency", far_latency_cycles: "latency, far", cold_latency_cycles: "latency with cold TLBs",
  read_bytes_per_s: "read bandwidth", write_bytes_per_s: "write bandwidth", copy_bytes_per_s: "copy bandwidth", peak_bytes_per_s: "peak bandwidth",
  line_bytes: "line size", sector_bytes: "sector size", fill_bytes: "fetched per miss", per_sm: "caches per SM", instances: "instances", sms_per_instance: "SMs or compute units that share one", onset_bytes: "first misses at a footprint of",
  full_miss_bytes: "no hit from a footprint of", resident_bytes: "resident at each footprint", default_size_bytes: "size at the largest carve-out",
  carveout_bytes: "shared memory at each carve-out", carveout_size_bytes: "size at each carve-out", policy: "replacement policy", index: "set index function",
  periodic: "evictions repeat in every pass", shared_with: "shares storage with", scope: "scope", page_bytes: "page size", reach_bytes: "reach",
  miss_penalty_cycles: "penalty of a miss", cycles_per_instruction: "cycles per instruction", partitions: "partitions", sms: "SMs", clock_mhz: "clock",
  max_block_bytes: "maximum per block", latency_by_sm_cycles: "latency from each SM", partition_by_sm: "near partition of each SM",
  disturbed_by_warp: "part of the lines that each warp evicts", write_policy: "write policy", unified_bytes: "storage shared by L1 and shared memory",
};

/* The name of a figure in words, without its unit. */
function figureName(name) {
  return field(FIGURE_NAMES, name) || wordsOf(name.replace(/_(gb_per_s|bytes_per_s|cycles|ns|us|percent|mib|kib|bytes|words|mhz|w|c)$/, ""));
}

/* The value of a figure as text, with its unit. Long lists are cut. */
function figureText(name, value) {
  if (Array.isArray(value)) {
    const format = formatOf(name) === bytes ? bytes : number, unit = format === number ? unitOf(name) : "";
    return cut(value.map((v) => typeof v === "number" ? format(v) : v).join(", "), 300) + (unit ? ` ${unit}` : "");
  }
  if (typeof value !== "number") return value === null || value === undefined ? "" : cut(value, 2000);
  const format = formatOf(name), unit = format === number ? unitOf(name) : "";
  return format === number ? `${number(value, Number.isInteger(value) ? 16 : 4)}${unit ? ` ${unit}` : ""}` : format(value);
}

/* The main figures: title, section, attribute, and what is added to the value. */
const MAIN_FIGURES = [
  ["Processors", "device", "sms", (gpu) => { const clock = valueOf(gpu, "device", "clock_mhz"); return clock === null ? "" : `at up to ${number(clock)} MHz`; }, "SMs"],
  ["L1 data cache, size per SM", "l1", "size_bytes", (gpu) => shareText(gpu)],
  ["L1 data cache, latency of a hit", "l1", "latency_cycles", (gpu) => nanoseconds(gpu, elementFor(gpu, "l1"))],
  ["Shared memory, size per SM", "shared", "size_bytes", (gpu) => latencyText(gpu, elementFor(gpu, "shared"))],
  ["L2 cache, size", "l2", "size_bytes", (gpu) => l2Text(gpu)],
  ["L2 cache, latency of a hit", "l2", "latency_cycles", (gpu) => { const far = valueOf(gpu, "l2", "far_latency_cycles"); return typeof far === "number" ? `far partition ${number(far)} cycles` : nanoseconds(gpu, "l2"); }],
  ["L2 cache, read bandwidth", "l2", "read_bytes_per_s", () => ""],
  ["L3 cache, size", "l3", "size_bytes", (gpu) => latencyText(gpu, "l3")],
  ["Device memory, size", "memory", "size_bytes", () => ""],
  ["Device memory, latency", "memory", "latency_cycles", (gpu) => nanoseconds(gpu, "memory")],
  ["Device memory, read bandwidth", "memory", "read_bytes_per_s", (gpu) => peakText(gpu)],
];

function l2Text(gpu) {
  const parts = valueOf(gpu, "l2", "partitions"), instances = valueOf(gpu, "l2", "instances"), each = valueOf(gpu, "l2", "sms_per_instance");
  if (instances > 1) return `${number(instances)} of these${each > 1 ? `, one per ${number(each)} ${smWords(gpu).many}` : ""}`;
  return parts > 1 ? `in ${number(parts)} partitions` : "";
}

function shareText(gpu) {
  const smallest = valueOf(gpu, "l1", "default_size_bytes");
  return typeof smallest === "number" ? `${bytes(smallest)} at the largest carve-out` : "";
}

function nanoseconds(gpu, element) {
  const value = valueOf(gpu, element, "latency_ns");
  return typeof value === "number" ? `${number(value, 3)} ns` : "";
}

function latencyText(gpu, element) {
  const value = valueOf(gpu, element, "latency_cycles");
  return typeof value === "number" ? `latency ${number(value)} cycles` : "";
}

function peakText(gpu) {
  const { peak } = memoryPeak(gpu), value = valueOf(gpu, "memory", "read_bytes_per_s");
  return peak && typeof value === "number" ? `${number(100 * value / peak, 3)} % of the peak, ${rate(peak)}` : "";
}

/* One of the main figures as {title, value, unit, text, detail, figure}. A figure that is missing gets the reason, if the description has one. */
function mainFigure(gpu, [words, usual, name, more, unit]) {
  const section = elementFor(gpu, usual), figure = figureOf(gpu, section, name);
  const title = (section === "lds" ? words.replace("Shared memory", "LDS") : words).replace("SM", smWords(gpu).one);
  if (figure && typeof figure.value === "number") return { title, section, name, figure, text: unit ? `${number(figure.value)} ${smWords(gpu).many}` : figureText(name, figure.value), detail: more(gpu) };
  const where = section === "device" ? gpu.device : gpu.elements[section], why = field(field(where, "unknown"), name);
  return { title, section, name, figure: null, text: "unknown", detail: why ? cut(why, 120) : "not measured" };
}

/* The sentence that tells how the description compares with the published one, and the figures that differ. */
function verdictOf(published, gpu) {
  const differences = listOf(published.differences), compared = published.compared, simulated = deviceOf(gpu).backend === "simulated";
  const name = cut(textOf(published.name), 60), within = `${number(100 * published.within)} %`;
  if (published.identical) return { differences, text: `This is the published description ${name}, which comes with fathom.` };
  const text = !compared ? `The published description ${name} of this GPU model has no figure in common with this one.`
    : !differences.length ? `Like the published description ${name} of this GPU model: all ${compared} figures that both have agree within ${within}.`
      : `${differences.length} of ${compared} figures differ by more than ${within} from the published description ${name} of this GPU model.`;
  return { differences, text: simulated ? `${text} This GPU is simulated.` : text };
}

/* The figures that differ from the published description, the largest gap first; figures that are no numbers come last. */
function differenceTable(differences) {
  const side = (d, s) => s ? figureText(d.attribute, s.value) : "–";
  const rows = differences.slice().sort((a, b) => (b.apart || 0) - (a.apart || 0)).map((d) => [titleOf(textOf(d.section)), figureName(textOf(d.attribute)), side(d, d.a), side(d, d.b), typeof d.apart === "number" ? `${number(100 * d.apart, 3)} %` : "–"]);
  return tableOf(["memory", "figure", "this GPU", "published", "gap"], rows);
}

/* Unknown figures as [figures, reason]. Figures with the same reason are listed together. */
function unknownsOf(gpu) {
  const all = [];
  for (const [section, where] of [...ORDER.filter((n) => n !== "device").map((n) => [n, gpu.elements[n]]), ["device", gpu.device]])
    for (const [name, why] of Object.entries(field(where, "unknown") || {})) all.push({ section, name, why: textOf(why) });
  return groupsOf(all, (u) => u.why).map(([why, members]) => [groupsOf(members, (u) => u.name).map(([name, some]) => `${some.map((u) => titleOf(u.section)).join(", ")}: ${figureName(name)}`).join("; "), why]);
}

function showSummary(grid, gpu, verdicts) {
  const cards = MAIN_FIGURES.filter(([, section]) => section !== "l3" || gpu.elements.l3).map((figure) => mainFigure(gpu, figure)), unknowns = unknownsOf(gpu);
  const part = (c, key) => c.figure ? c.figure[key] : null;
  const frame = addFigure(grid, { title: cards.length === 10 ? "Ten figures" : "Main figures", name: "summary", wide: true, columns: ["figure", "element", "attribute", "value", "low", "high", "source"],
    rows: cards.map((c) => [c.title, c.section, c.name, part(c, "value"), part(c, "low"), part(c, "high"), part(c, "source")]) });
  frame.body.append(el("dl", { class: "cards" }, ...cards.map((c) => el("div", { class: c.figure ? "card" : "card unknown", title: c.figure ? evidenceLines(c.name, c.figure).join("\n") : c.detail },
    el("dt", {}, c.title), el("dd", {}, c.text), el("dd", { class: "note" }, c.detail || (c.figure && c.figure.source ? textOf(c.figure.source) : " "))))));
  for (const published of verdicts) {
    const verdict = verdictOf(published, gpu);
    frame.body.append(el("p", { class: verdict.differences.length ? "verdict differs" : "verdict" }, verdict.text));
    if (verdict.differences.length) frame.body.append(differenceTable(verdict.differences));
  }
  if (!verdicts.length) frame.body.append(el("p", { class: "verdict" }, "fathom has no published description of this GPU model to compare with."));
  if (!unknowns.length) return;
  const list = addFigure(grid, { title: `Unknown: ${unknowns.length} reason${unknowns.length === 1 ? "" : "s"}`, name: "unknown", wide: true, note: "Figures that fathom could not determine, and why.", columns: ["figures", "reason"], rows: unknowns });
  list.node.querySelector("details").remove();
  list.body.append(el("ul", { class: "unknowns" }, ...unknowns.map(([figures, why]) => el("li", {}, el("strong", {}, cut(figures, 400)), ` – ${cut(why, 600)}`))));
}
