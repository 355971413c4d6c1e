/* Functions that every chart uses: access to the documents, page elements, formatting of numbers, the tooltip, and the frame of a
   chart with its data table and CSV download. Text from documents enters the page only as text nodes and attribute values, never as
   markup or code. */
const data = JSON.parse(document.getElementById("fathom-data").textContent);

/* Titles of the elements and other sections of a description, in the order in which they are listed. */
const TITLES = {
  device: "Device", l1: "L1 data", vector_l1: "Vector L1", scalar_l1: "Scalar L1", texture: "Texture", readonly: "Read-only", constant_l1: "Constant L1", constant_l15: "Constant L1.5",
  instruction_l0: "Instruction L0", instruction_l1: "Instruction L1", instruction_l15: "Instruction L1.5", shared: "Shared memory",
  lds: "LDS", cluster_shared: "Cluster shared", l2: "L2", l3: "L3", tlb_l1: "TLB L1", tlb_l2: "TLB L2", tlb_l3: "TLB L3", memory: "Device memory",
  registers: "Registers", tma: "Copy engine", noise: "Noise",
};
const ORDER = Object.keys(TITLES);
/* Names of the paths by which loads reach memory. */
const PATHS = { ca: "through L1", cg: "past L1 (L2)", readonly: "read-only", texture: "texture", constant: "constant memory", shared: "shared memory", code: "code" };

/* The title of an element; its JSON key where it has none. */
function titleOf(name) {
  return field(TITLES, name) || name;
}

/* What the SMs of a device are called: a CPU has cores, a GPU of NVIDIA or of an unknown vendor SMs, any other device compute units. */
function smWords(gpu) {
  if (valueOf(gpu, "device", "kind") === "cpu") return { one: "core", many: "cores" };
  const vendor = valueOf(gpu, "device", "vendor");
  return typeof vendor !== "string" || vendor.startsWith("NVIDIA") ? { one: "SM", many: "SMs" } : { one: "compute unit", many: "compute units" };
}

/* The element that the device has for an element of NVIDIA's GPUs: AMD's vector L1 for the L1, and LDS for shared memory. */
function elementFor(gpu, name) {
  const other = { l1: "vector_l1", shared: "lds" }[name];
  return other && gpu.elements[other] ? other : name;
}

/* Limits a text to `maxLength` characters. The end of a longer text is replaced by an ellipsis. */
function cut(text, maxLength = 60) {
  const whole = String(text);
  return whole.length > maxLength ? whole.slice(0, maxLength - 1) + "…" : whole;
}

/* Limits texts to `maxLength` characters so that different texts stay different. The middle of a longer text is replaced by an ellipsis. Where
   this makes two texts equal, the beginning of their difference is shown, too, and if they are still equal, they are numbered. */
function cutDistinct(texts, maxLength) {
  const whole = texts.map(String), different = [...new Set(whole)], shown = new Map(), used = new Set();
  const middle = (text) => text.length <= maxLength ? text : `${text.slice(0, Math.ceil(maxLength / 2) - 1)}…${text.slice(text.length - Math.floor(maxLength / 2))}`;
  const alike = new Map(groupsOf(different, middle));
  for (const text of different) {
    const same = alike.get(middle(text));
    let short = middle(text);
    if (same.length > 1) {
      let from = 0;
      while (same.every((other) => other[from] === text[from])) from++;
      const end = Math.floor(0.4 * maxLength), start = Math.max(4, from - 2);
      short = `${text.slice(0, 4)}…${text.slice(start, start + maxLength - end - 6)}…${text.slice(text.length - end)}`;
    }
    for (let i = 2; used.has(short); i++) short = `${cut(short.replace(/ #[0-9]+$/, ""), maxLength - 5)} #${i}`;
    used.add(short);
    shown.set(text, short);
  }
  return whole.map((text) => shown.get(text));
}

/* Limits a text in a drawing to about `width` pixels. A character is taken as 6.3 pixels wide, roughly the average of the 12-pixel
   font in style.css. */
function shorten(text, width) {
  return cut(text, Math.max(2, Math.floor(width / 6.3)));
}

/* Drawings narrower than this many pixels, as on a phone, use a layout with fewer things next to each other. Heuristic. */
const NARROW = 520;

/* Access to documents, in which anything may be missing or of the wrong type. field: a property of an object itself (not of its
   prototype), or undefined. listOf: the objects of a list. textOf: a value as text, "" if it is missing. kernelOf: a row's kernel, by its C++ name;
   documents of older versions only have the name in the PTX file. */
const field = (object, name) => object !== null && typeof object === "object" && Object.prototype.hasOwnProperty.call(object, name) ? object[name] : undefined;
const listOf = (value) => Array.isArray(value) ? value.filter((v) => v !== null && typeof v === "object") : [];
const textOf = (value) => value === undefined || value === null ? "" : String(value);
const kernelOf = (row) => textOf(field(row, "demangled") || field(row, "kernel"));

/* Groups items with the same key, in the order in which the keys first appear: [[key, members], …]. */
function groupsOf(items, key) {
  const groups = new Map();
  for (const item of items) {
    const name = key(item);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(item);
  }
  return [...groups];
}

/* Creates an element with attributes. The children are elements or text. */
function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  for (const child of children) node.append(child instanceof Node ? child : String(child));
  return node;
}

/* ---- formatting of numbers ---- */

/* A number with `digits` significant digits. Integers from 1000 on are shown in full. A dash stands for a missing value; a value that
   is not a number is shown as text. */
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

/* The function that formats values of a column or attribute, selected by the unit in its name. */
function formatOf(name) {
  if (/_bytes$|^bytes$|^footprint$/.test(name)) return bytes;
  if (/bytes_per_s$/.test(name)) return rate;
  return number;
}

/* The unit of a column or attribute for display; "" if its name has no unit. */
function unitOf(name) {
  const units = [[/gb_per_s$/, "GB/s"], [/bytes_per_s$/, "B/s"], [/_cycles$|^cycles$/, "cycles"], [/_ns$/, "ns"], [/_us$/, "µs"],
    [/percent$/, "%"], [/_mib$|^mib$/, "MiB"], [/_kib$|^kib$/, "KiB"], [/_bytes$/, "bytes"], [/per_cycle_per_sm$/, "operations per cycle and SM"],
    [/bytes_per_cycle$/, "bytes per cycle"], [/per_cycle$/, "operations per cycle"], [/^per_s$/, "10⁹ operations per second"], [/_words$/, "words"]];
  const found = units.find(([pattern]) => pattern.test(name));
  return found ? found[1] : "";
}

/* A JSON key as words: underscores become spaces, and CTA, SM and ILP are capitalised. */
function wordsOf(name) {
  return name.replace(/_/g, " ").replace(/\b(cta|sm)(s?)\b/g, (_, word, plural) => word.toUpperCase() + plural).replace(/\bilp\b/g, "ILP");
}

/* The title of a column: its name as words, followed by its unit. */
function columnTitle(name) {
  const unit = unitOf(name), short = name.replace(/_(gb_per_s|bytes_per_s|cycles|ns|us|percent|mib|kib|bytes|words)$/, "");
  return unit && short !== name ? `${wordsOf(short)}, ${unit}` : unit || wordsOf(name);
}

/* ---- descriptions ---- */

/* A figure of a description as {value, low, high, …}. The document has either this object or the value alone. null if the figure is
   missing. */
function figureOf(gpu, section, name) {
  const where = section === "device" || section === "noise" ? gpu[section] : gpu.elements && gpu.elements[section];
  if (!where || !Object.prototype.hasOwnProperty.call(where, name) || name === "unknown") return null;
  const raw = where[name];
  return raw !== null && typeof raw === "object" && !Array.isArray(raw) ? raw : { value: raw };
}

function valueOf(gpu, section, name, fallback = null) {
  const figure = figureOf(gpu, section, name);
  return figure ? figure.value : fallback;
}

/* Lines for the tooltip: a figure and its provenance. */
function evidenceLines(name, figure) {
  const format = formatOf(name), unit = format === number ? unitOf(name) : "";
  const shown = Array.isArray(figure.value) ? figure.value.slice(0, 12).map((v) => number(v)).join(" ") + (figure.value.length > 12 ? " …" : "")
    : typeof figure.value === "number" ? format(figure.value) : cut(figure.value, 200);
  const lines = [`${wordsOf(name)}: ${shown}${unit && typeof figure.value === "number" ? ` ${unit}` : ""}`];
  if (figure.low !== undefined && figure.high !== undefined) lines.push(`interval ${format(figure.low)} to ${format(figure.high)}`);
  const from = [figure.source, figure.confidence !== undefined && `confidence ${number(figure.confidence, 3)}`,
    figure.samples !== undefined && `${number(figure.samples)} samples`].filter(Boolean);
  if (from.length) lines.push(from.join(", "));
  if (figure.method) lines.push(cut(figure.method, 300));
  if (figure.note) lines.push(cut(figure.note, 300));
  return lines;
}

/* ---- the tooltip ---- */

const tip = document.getElementById("tip");
const live = document.getElementById("live");

/* Shows the tooltip at a position of the page. `announce`: screen readers read it out, too. */
function showTip(x, y, lines, announce) {
  tip.replaceChildren(...lines.map((line) => el("div", {}, line)));
  tip.hidden = false;
  const width = tip.offsetWidth, height = tip.offsetHeight;
  const left = Math.min(x + 14, window.scrollX + document.documentElement.clientWidth - width - 8);
  const above = y - height - 12;
  tip.style.left = `${Math.max(window.scrollX + 4, left)}px`;
  tip.style.top = `${above > window.scrollY ? above : y + 16}px`;
  if (announce) live.textContent = lines.join(". ");
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
  sections.push({ title, id, node, grid, chapters: [] });
  return grid;
}

/* Adds a chapter to the section of a grid: a heading, which the navigation lists, and a grid of its own. */
function addChapter(grid, title, id) {
  const section = sections.find((s) => s.node.contains(grid)), inner = el("div", { class: "grid" }), node = el("div", { class: "chapter wide", id }, el("h3", {}, title), inner);
  grid.append(node);
  if (section) section.chapters.push({ title, id, node });
  return inner;
}

/* Removes a chapter in which nothing was drawn. */
function dropEmptyChapter(inner) {
  if (inner.children.length) return;
  for (const section of sections) section.chapters = section.chapters.filter((c) => c.node !== inner.parentNode);
  inner.parentNode.remove();
}

function csvText(columns, rows) {
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    const text = Array.isArray(value) ? value.join(" ") : String(value);
    // A spreadsheet would evaluate a text that begins with one of these characters and is not a number.
    const formula = /^[=+\-@\t\r]/.test(text) && !text.split(" ").every((word) => word !== "" && isFinite(word));
    const safe = formula ? `'${text}` : text;
    return formula || /[",\n\r]/.test(text) ? `"${safe.replace(/"/g, '""')}"` : text;
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

/* A table of at most `maxRows` rows. The CSV always has all rows. The limit is a heuristic. */
function tableOf(columns, rows, maxRows = 2000) {
  const numeric = columns.map((_, c) => rows.length > 0 && rows.every((row) => row[c] === null || row[c] === undefined || typeof row[c] === "number"));
  const head = el("tr", {}, ...columns.map((name, c) => el("th", { scope: "col", class: numeric[c] ? "number" : "" }, columnTitle(name))));
  const body = rows.slice(0, maxRows).map((row) => el("tr", {}, ...row.map((value, c) =>
    el("td", { class: numeric[c] ? "number" : "" }, numeric[c] ? number(value, 6) : el("div", {}, value === null || value === undefined ? "–" : Array.isArray(value) ? value.join(" ") : value)))));
  const table = el("table", {}, el("thead", {}, head), el("tbody", {}, ...body));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Data table" }, table);
}

const usedNames = new Map();

/* Adds the frame of a chart to a grid: title, note, buttons, and the data as a table and as CSV. The chart itself is drawn into `body` of
   the returned object. The id is made from `name`, or else from the title, with a number where it is not unique. */
function addFigure(grid, { title, note, columns, rows, wide, name }) {
  const wanted = (name || title.toLowerCase()).replace(/[^A-Za-z0-9_]+/g, "-").slice(0, 60);
  const uses = (usedNames.get(wanted) || 0) + 1;
  usedNames.set(wanted, uses);
  const id = uses > 1 ? `${wanted}-${uses}` : wanted;
  const tools = el("div", { class: "tools" });
  const body = el("div", { class: "body" });
  const node = el("figure", { id: `chart-${id}`, class: wide ? "wide" : "" }, el("figcaption", {}, el("h3", {}, title), tools));
  if (note) node.append(el("p", { class: "note" }, note));
  node.append(body);
  if (columns && rows.length) {
    const csv = el("button", { type: "button", class: "csv", title: "Download the data of this chart as CSV" }, "CSV");
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

/* The width of the drawing in a frame, in pixels. All frames of a grid have the same width, except wide ones. The width is measured once
   per grid, because each measurement makes the browser compute the layout of the page again. */
function widthOf(frame) {
  const grid = frame.node.parentNode, kind = frame.node.classList.contains("wide") ? "wide" : "plain", known = widths.get(grid) || {};
  if (!known[kind]) known[kind] = Math.max(320, Math.round(frame.body.clientWidth || 640));
  widths.set(grid, known);
  return known[kind];
}

/* Adds an empty drawing that is as wide as its frame, or as the part `host` of the frame. `label` describes it to screen readers. */
function addDrawing(frame, height, label, host = frame.body) {
  const width = host === frame.body ? widthOf(frame) : Math.max(300, Math.round(host.clientWidth || 560)), svg = d3.select(host).append("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("role", "img").attr("tabindex", 0)
    .attr("aria-label", cut(label, 300));
  return { svg, width, height };
}

/* Shows the tooltip of the item under the mouse, or of the item that the arrow keys select. `items(forMouse)` returns
   [{x, y, lines, box?}] in the drawing's units. For the mouse, further items may follow those that the arrow keys select. An item
   without a box is found within `maxDistance` units. */
function addCursor(drawing, items, maxDistance = 40) {
  const node = drawing.svg.node();
  const mark = drawing.svg.append("g").attr("class", "cursor").style("display", "none");
  let at = -1, place = null;
  function show(all, index, announce) {
    if (!all.length) return;
    at = Math.max(0, Math.min(all.length - 1, index));
    const item = all[at];
    place = [item.x, item.y];
    mark.style("display", null).selectAll("*").remove();
    if (item.box) mark.append("rect").attr("x", item.box[0]).attr("y", item.box[1]).attr("width", Math.max(1, item.box[2])).attr("height", Math.max(1, item.box[3]));
    else mark.append("circle").attr("cx", item.x).attr("cy", item.y).attr("r", 6);
    mark.raise();
    const rect = node.getBoundingClientRect(), scale = rect.width / drawing.width;
    showTip(window.scrollX + rect.left + item.x * scale, window.scrollY + rect.top + item.y * scale, item.lines, announce);
  }
  function hide() {
    mark.style("display", "none");
    hideTip();
  }
  node.addEventListener("mousemove", (event) => {
    const rect = node.getBoundingClientRect(), scale = drawing.width / rect.width;
    const x = (event.clientX - rect.left) * scale, y = (event.clientY - rect.top) * scale;
    const all = items(true);
    let best = -1, smallest = maxDistance * maxDistance;
    all.forEach((item, i) => {
      const inside = item.box && x >= item.box[0] && x <= item.box[0] + item.box[2] && y >= item.box[1] && y <= item.box[1] + item.box[3];
      /* Squared distance. An item whose box contains the mouse wins over the others, the smallest box first. */
      const distance = inside ? -1 / (1 + item.box[2] * item.box[3]) - 1 : item.box ? Infinity : (item.x - x) ** 2 + (item.y - y) ** 2;
      if (distance < smallest) { smallest = distance; best = i; }
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
  /* place(): the current or last position of the cursor, null before the first one. */
  return { hide, place: () => place };
}

function colour(index) {
  return `var(--c${index % 8})`;
}

/* An entry of a legend: a swatch with its label. */
function legendKey(text, index) {
  const swatch = el("span", { class: "swatch" });
  swatch.style.background = colour(index);
  return el("span", { class: "key" }, swatch, text);
}
