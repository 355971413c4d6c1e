/* What every chart uses: the documents, elements of the page, numbers for people, the tip, the frame of a chart with its table and
   its CSV. Texts of documents get into the page only through text nodes and attributes that are no code. */
const data = JSON.parse(document.getElementById("fathom-data").textContent);

const TITLES = {
  device: "Device", l1: "L1 data", texture: "Texture", readonly: "Read-only", constant_l1: "Constant L1", constant_l15: "Constant L1.5",
  instruction_l0: "Instruction L0", instruction_l1: "Instruction L1", instruction_l15: "Instruction L1.5", shared: "Shared memory",
  cluster_shared: "Cluster shared", l2: "L2", tlb_l1: "TLB L1", tlb_l2: "TLB L2", tlb_l3: "TLB L3", memory: "Device memory",
  registers: "Registers", noise: "Noise",
};
const ORDER = Object.keys(TITLES);
const PATHS = { ca: "through L1", cg: "past L1 (L2)", readonly: "read-only", texture: "texture", constant: "constants", shared: "shared memory", code: "code" };

function titleOf(name) {
  return field(TITLES, name) || name;
}

/* A text that is at most so long. */
function cut(text, most = 60) {
  const whole = String(text);
  return whole.length > most ? whole.slice(0, most - 1) + "…" : whole;
}

/* The same for a drawing, where it has so many pixels. */
function shorten(text, room) {
  return cut(text, Math.max(2, Math.floor(room / 6.3)));
}

/* Below this width, of a phone, drawings put less beside each other. */
const NARROW = 520;

/* What documents may have, or not: a field of an object, the objects of a list, a text. */
const field = (object, name) => object !== null && typeof object === "object" && Object.prototype.hasOwnProperty.call(object, name) ? object[name] : undefined;
const listOf = (value) => Array.isArray(value) ? value.filter((v) => v !== null && typeof v === "object") : [];
const textOf = (value) => value === undefined || value === null ? "" : String(value);

/* What has the same key, in the order of its first appearance: [[key, members], …]. */
function groupsOf(items, of) {
  const groups = new Map();
  for (const item of items) {
    const name = of(item);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(item);
  }
  return [...groups];
}

/* An element with attributes; children are elements or text. */
function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  for (const child of children) node.append(child instanceof Node ? child : String(child));
  return node;
}

/* ---- numbers for people ---- */

function number(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (typeof value !== "number") return cut(value, 400);
  if (value !== 0 && (Math.abs(value) >= 1e15 || Math.abs(value) < 1e-4)) return value.toExponential(2);
  return String(Number(value.toPrecision(Math.abs(value) >= 1000 && Number.isInteger(value) ? 16 : digits)));
}

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0, size = value;
  while (Math.abs(size) >= 1024 && unit < units.length - 1) { size /= 1024; unit++; }
  return `${Number(size.toFixed(2))} ${units[unit]}`;
}

function rate(value) {
  return value >= 1e12 ? `${(value / 1e12).toFixed(2)} TB/s` : `${(value / 1e9).toFixed(value >= 1e11 ? 0 : 1)} GB/s`;
}

/* By the unit in the name. */
function formatOf(name) {
  if (/_bytes$|^bytes$|^footprint$/.test(name)) return bytes;
  if (/bytes_per_s$/.test(name)) return rate;
  return number;
}

function unitOf(name) {
  const units = [[/gb_per_s$/, "GB/s"], [/bytes_per_s$/, "B/s"], [/_cycles$|^cycles$/, "cycles"], [/_ns$/, "ns"], [/_us$/, "µs"],
    [/percent$/, "%"], [/_mib$|^mib$/, "MiB"], [/_kib$|^kib$/, "KiB"], [/_bytes$/, "bytes"], [/per_cycle_per_sm$/, "operations a cycle and SM"],
    [/bytes_per_cycle$/, "bytes a cycle"], [/per_cycle$/, "operations a cycle"], [/^per_s$/, "10⁹ operations a second"], [/_words$/, "words"]];
  const found = units.find(([pattern]) => pattern.test(name));
  return found ? found[1] : "";
}

/* A name of a document as words. */
function wordsOf(name) {
  return name.replace(/_/g, " ").replace(/\b(cta|sm)(s?)\b/g, (_, word, plural) => word.toUpperCase() + plural).replace(/\bilp\b/g, "ILP");
}

function columnTitle(name) {
  const unit = unitOf(name), short = name.replace(/_(gb_per_s|bytes_per_s|cycles|ns|us|percent|mib|kib|bytes|words)$/, "");
  return unit && short !== name ? `${wordsOf(short)}, ${unit}` : unit || wordsOf(name);
}

/* ---- descriptions ---- */

/* A figure as {value, low, high, …}, from either form; null where it is not there. */
function figureOf(gpu, section, name) {
  const where = section === "device" || section === "noise" ? gpu[section] : gpu.elements && gpu.elements[section];
  if (!where || !Object.prototype.hasOwnProperty.call(where, name) || name === "unknown") return null;
  const raw = where[name];
  return raw !== null && typeof raw === "object" && !Array.isArray(raw) ? raw : { value: raw };
}

function valueOf(gpu, section, name, absent = null) {
  const figure = figureOf(gpu, section, name);
  return figure ? figure.value : absent;
}

/* Lines for the tip: the figure, and how it was got. */
function evidenceLines(name, figure) {
  const format = formatOf(name), unit = format === number ? unitOf(name) : "";
  const shown = Array.isArray(figure.value) ? figure.value.slice(0, 12).map((v) => number(v)).join(" ") + (figure.value.length > 12 ? " …" : "")
    : typeof figure.value === "number" ? format(figure.value) : cut(figure.value, 200);
  const lines = [`${name.replace(/_/g, " ")}: ${shown}${unit && typeof figure.value === "number" ? ` ${unit}` : ""}`];
  if (figure.low !== undefined && figure.high !== undefined) lines.push(`interval ${format(figure.low)} to ${format(figure.high)}`);
  const from = [figure.source, figure.confidence !== undefined && `confidence ${number(figure.confidence, 3)}`,
    figure.samples !== undefined && `${number(figure.samples)} samples`].filter(Boolean);
  if (from.length) lines.push(from.join(", "));
  if (figure.method) lines.push(cut(figure.method, 300));
  if (figure.note) lines.push(cut(figure.note, 300));
  return lines;
}

/* ---- the tip ---- */

const tip = document.getElementById("tip");
const live = document.getElementById("live");

function showTip(x, y, lines, aloud) {
  tip.replaceChildren(...lines.map((line) => el("div", {}, line)));
  tip.hidden = false;
  const width = tip.offsetWidth, height = tip.offsetHeight;
  const left = Math.min(x + 14, window.scrollX + document.documentElement.clientWidth - width - 8);
  const above = y - height - 12;
  tip.style.left = `${Math.max(window.scrollX + 4, left)}px`;
  tip.style.top = `${above > window.scrollY ? above : y + 16}px`;
  if (aloud) live.textContent = lines.join(". ");
}

function hideTip() {
  tip.hidden = true;
}

/* ---- sections and frames ---- */

const sections = [];

function addSection(title, id) {
  const grid = el("div", { class: "grid" });
  const node = el("section", { id, "aria-label": cut(title, 200) }, el("h2", {}, title), grid);
  document.getElementById("main").append(node);
  sections.push({ title, id, node, grid });
  return grid;
}

function csvText(columns, rows) {
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    const text = Array.isArray(value) ? value.join(" ") : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function tableOf(columns, rows, most = 2000) {
  const numeric = columns.map((_, c) => rows.length > 0 && rows.every((row) => row[c] === null || row[c] === undefined || typeof row[c] === "number"));
  const head = el("tr", {}, ...columns.map((name, c) => el("th", { scope: "col", class: numeric[c] ? "number" : "" }, name.replace(/_/g, " "))));
  const body = rows.slice(0, most).map((row) => el("tr", {}, ...row.map((value, c) =>
    el("td", { class: numeric[c] ? "number" : "" }, numeric[c] ? number(value, 6) : el("div", {}, value === null || value === undefined ? "–" : Array.isArray(value) ? value.join(" ") : value)))));
  const table = el("table", {}, el("thead", {}, head), el("tbody", {}, ...body));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of the data" }, table);
}

const usedNames = new Map();

/* A chart's frame in a grid: title, note, tools, and the data as table and CSV. `body` is where the chart goes. */
function addFigure(grid, { title, note, columns, rows, wide, name }) {
  const wanted = (name || title.toLowerCase()).replace(/[^A-Za-z0-9_]+/g, "-").slice(0, 60);
  const times = (usedNames.get(wanted) || 0) + 1;
  usedNames.set(wanted, times);
  const id = times > 1 ? `${wanted}-${times}` : wanted;
  const tools = el("div", { class: "tools" });
  const body = el("div", { class: "body" });
  const node = el("figure", { id: `chart-${id}`, class: wide ? "wide" : "" }, el("figcaption", {}, el("h3", {}, title), tools));
  if (note) node.append(el("p", { class: "note" }, note));
  node.append(body);
  if (columns && rows.length) {
    const csv = el("button", { type: "button", class: "csv", title: "The data of this chart, as CSV" }, "CSV");
    csv.addEventListener("click", () => download(`${id}.csv`, csvText(columns, rows)));
    tools.append(csv);
    const details = el("details", {}, el("summary", {}, `Data: ${rows.length} row${rows.length === 1 ? "" : "s"}`));
    details.addEventListener("toggle", () => { if (details.open && details.children.length === 1) details.append(tableOf(columns, rows)); });
    node.append(details);
  }
  grid.append(node);
  return { node, body, tools, id };
}

const widths = new Map();

/* How wide a drawing in a frame is. The frames of a grid are alike, and to ask each would have the page laid out anew for every chart. */
function widthOf(frame) {
  const grid = frame.node.parentNode, kind = frame.node.classList.contains("wide") ? "wide" : "plain", known = widths.get(grid) || {};
  if (!known[kind]) known[kind] = Math.max(320, Math.round(frame.body.clientWidth || 640));
  widths.set(grid, known);
  return known[kind];
}

/* Room for a drawing, as wide as its frame. */
function addDrawing(frame, height, label) {
  const width = widthOf(frame), svg = d3.select(frame.body).append("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("role", "img").attr("tabindex", 0)
    .attr("aria-label", cut(label, 300));
  return { svg, width, height };
}

/* Hover with the mouse and step with the arrow keys through what is drawn. `items(pointed)` gives {x, y, lines, box?} in the drawing's
   units; for the mouse, which points, there may be more behind those of the keys. */
function addCursor(drawing, items, reach = 40) {
  const node = drawing.svg.node();
  const mark = drawing.svg.append("g").attr("class", "cursor").style("display", "none");
  let at = -1, place = null;
  function show(all, index, aloud) {
    if (!all.length) return;
    at = Math.max(0, Math.min(all.length - 1, index));
    const item = all[at];
    place = [item.x, item.y];
    mark.style("display", null).selectAll("*").remove();
    if (item.box) mark.append("rect").attr("x", item.box[0]).attr("y", item.box[1]).attr("width", Math.max(1, item.box[2])).attr("height", Math.max(1, item.box[3]));
    else mark.append("circle").attr("cx", item.x).attr("cy", item.y).attr("r", 6);
    mark.raise();
    const rect = node.getBoundingClientRect(), scale = rect.width / drawing.width;
    showTip(window.scrollX + rect.left + item.x * scale, window.scrollY + rect.top + item.y * scale, item.lines, aloud);
  }
  function hide() {
    mark.style("display", "none");
    hideTip();
  }
  node.addEventListener("mousemove", (event) => {
    const rect = node.getBoundingClientRect(), scale = drawing.width / rect.width;
    const x = (event.clientX - rect.left) * scale, y = (event.clientY - rect.top) * scale;
    const all = items(true);
    let best = -1, least = reach * reach;
    all.forEach((item, i) => {
      const inside = item.box && x >= item.box[0] && x <= item.box[0] + item.box[2] && y >= item.box[1] && y <= item.box[1] + item.box[3];
      const apart = inside ? -1 / (1 + item.box[2] * item.box[3]) - 1 : item.box ? Infinity : (item.x - x) ** 2 + (item.y - y) ** 2;
      if (apart < least) { least = apart; best = i; }
    });
    if (best >= 0) show(all, best, false); else hide();
  });
  node.addEventListener("mouseleave", hide);
  node.addEventListener("blur", hide);
  node.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "Escape") hide();
    if (step === undefined) return;
    event.preventDefault();
    const all = items(false);
    show(all, Number.isFinite(step) ? at + step : step < 0 ? 0 : all.length - 1, true);
  });
  /* Where it is, or was last. */
  return { hide, place: () => place };
}

function colour(index) {
  return `var(--c${index % 8})`;
}

/* A swatch with what it stands for. */
function keyOf(text, index) {
  const swatch = el("span", { class: "swatch" });
  swatch.style.background = colour(index);
  return el("span", { class: "key" }, swatch, text);
}
