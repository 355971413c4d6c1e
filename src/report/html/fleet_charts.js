/* Charts of a fleet: the distribution of each figure, with the GPUs that are not healthy, and the heat map of hosts and figures. */

/* The title of a figure such as "memory.read_bytes_per_s": "Device memory, read bandwidth". Latencies are measured in cycles and in ns. */
function fleetFigure(name) {
  const text = textOf(name), dot = text.indexOf("."), title = `${figureName(text.slice(dot + 1))}${text.endsWith("_ns") ? " in ns" : ""}`;
  return dot < 0 ? title : `${titleOf(text.slice(0, dot))}, ${title}`;
}

/* The part of a figure's name after the element, which determines its unit. */
const attributeOf = (name) => textOf(name).split(".").pop();

/* The value of a figure as text with its unit. */
function fleetValue(name, value) {
  const attribute = attributeOf(name), units = { mhz: "MHz", w: "W", c: "°C" }, unit = typeof value === "number" ? field(units, attribute.split("_").pop()) : undefined;
  return unit ? `${number(value)} ${unit}` : figureText(attribute, value);
}

/* A fraction as a percentage. signed: with + or −. */
function percentText(fraction, signed = false) {
  if (!Number.isFinite(fraction)) return "–";
  return `${!signed ? "" : fraction < 0 ? "−" : "+"}${number(100 * Math.abs(fraction), 3)} %`;
}

const countText = (value) => Number.isFinite(value) ? d3.format(",")(value) : "–";

/* A GPU for labels: its host and the beginning of its UUID, or else its name. */
function fleetGpuLabel(gpu, maxLength = 40) {
  const uuid = /^GPU-([0-9a-f]{8})-/.exec(textOf(gpu.gpu)), name = uuid ? uuid[1] : textOf(gpu.gpu);
  return cut([textOf(gpu.host), name].filter(Boolean).join(" "), maxLength);
}

/* ---- distributions ---- */

const PANEL = { width: 265, height: 172, top: 38, base: 142 }; /* of a small chart, in pixels; base: the axis */

/* The GPUs of a cohort with a finding for a figure, the farthest first: [{gpu, finding}]. */
function markedGpus(gpus, cohort, figure) {
  return gpus.flatMap((gpu) => gpu.cohort !== cohort.id ? [] : listOf(gpu.findings).filter((f) => f.figure === figure.figure && Number.isFinite(f.value)).map((finding) => ({ gpu, finding })))
    .sort((a, b) => Math.abs(b.finding.distance || 0) - Math.abs(a.finding.distance || 0));
}

/* The values that a panel shows: those of the histogram, of the marked GPUs and of the smallest detectable effect. Values farther away than three
   times the width of the histogram are drawn at the edge. */
function panelScale(figure, marked, left, right) {
  const span = figure.to - figure.from || Math.abs(figure.from) || 1, limit = (v) => Math.max(figure.from - 3 * span, Math.min(figure.to + 3 * span, v));
  const [low, high] = d3.extent([figure.from, figure.to, detectableValue(figure), ...marked.map((m) => m.finding.value)].filter(Number.isFinite).map(limit)), margin = 0.04 * (high - low || span);
  return d3.scaleLinear().domain([low - margin, high + margin]).range([left, right]).clamp(true);
}

/* The value beyond which a GPU is usually found: below the median for rates, above it for times. */
const detectableValue = (figure) => Number.isFinite(figure.detectable) && Number.isFinite(figure.median) ? figure.median * (1 + (figure.kind === "time" ? 1 : -1) * figure.detectable) : NaN;

/* Draws the axis of a panel, with at most four ticks. Bandwidths are in TB/s or GB/s. */
function panelAxis(layer, x, name) {
  const [low, high] = x.domain(), factor = !/bytes_per_s$/.test(name) ? 1 : Math.abs(high) >= 1e12 ? 1e12 : 1e9, ticks = d3.ticks(low / factor, high / factor, 3), text = d3.tickFormat(low / factor, high / factor, 3);
  layer.append("g").attr("class", "axis").attr("transform", `translate(0,${PANEL.base})`).call(d3.axisBottom(x).tickValues(ticks.map((t) => t * factor)).tickSize(4).tickFormat((v) => Math.abs(v / factor) >= 1e4 ? d3.format("~s")(v / factor) : text(v / factor)));
}

/* Places the names of marked GPUs above the histogram, without overlaps. Names without a free place are left out; the tooltip has them. */
function panelNames(layer, x, marked, left, right) {
  const taken = [];
  for (const { gpu, finding } of marked.slice(0, 12)) {
    const text = fleetGpuLabel(gpu, 24), width = 6.1 * text.length, at = x(finding.value);
    const places = d3.range(3).flatMap((row) => [[at + 4, row], [at - 4 - width, row]]).filter(([from]) => from >= left - 4 && from + width <= right + 4);
    const free = places.find(([from, row]) => !taken.some(([a, b, other]) => row === other && from < b + 4 && a - 4 < from + width));
    if (!free) continue;
    const y = PANEL.top + 11 + 13 * free[1];
    taken.push([free[0], free[0] + width, free[1]]);
    layer.append("line").attr("stroke", "var(--bad)").attr("opacity", 0.6).attr("x1", at).attr("x2", at).attr("y1", PANEL.base - 5).attr("y2", y - 8);
    layer.append("text").attr("class", "label small").attr("x", free[0]).attr("y", y).text(text);
  }
}

/* Draws the distribution of one figure. Returns the items for the cursor; the marked GPUs come first. */
function drawPanel(layer, place, figure, marked) {
  const left = 8, right = place.width - 14, x = panelScale(figure, marked, left, right), bins = figure.bins, step = (figure.to - figure.from) / bins.length, most = d3.max(bins) || 1, title = fleetFigure(figure.figure);
  const y = d3.scaleSqrt().domain([0, most]).range([PANEL.base, PANEL.top + 44]), value = (v) => fleetValue(figure.figure, Number(v.toPrecision(5))), items = [], found = detectableValue(figure);
  const item = (at, width, from, lines) => ({ x: place.x + at + width / 2, y: place.y + from, lines, box: [place.x + at, place.y + from, width, PANEL.base - from] });
  const lines = [title, `median ${value(figure.median)} of ${countText(figure.gpus)} GPUs`, `spread ${percentText(figure.spread)}${Number.isFinite(figure.noise) ? `, from run to run ${percentText(figure.noise)}` : ""}`, Number.isFinite(found) ? `found in 99 % of cases: ${percentText(figure.detectable)} worse, ${value(found)}` : textOf(figure.reason)];
  layer.append("text").attr("x", 0).attr("y", 13).text(shorten(title, place.width - 12));
  layer.append("text").attr("class", "soft small").attr("x", 0).attr("y", 28).text(shorten(`${value(figure.median)} ± ${percentText(figure.spread)}${Number.isFinite(found) ? `, finds ${percentText(figure.kind === "time" ? figure.detectable : -figure.detectable, true)}` : ""}`, place.width));
  bins.forEach((count, i) => {
    if (!(count > 0)) return;
    const from = x(figure.from + i * step), width = Math.max(1, x(figure.from + (i + 1) * step) - from), top = Math.min(y(count), PANEL.base - 1);
    layer.append("rect").attr("class", "bar").attr("x", from).attr("y", top).attr("width", Math.max(0.8, width - 0.6)).attr("height", PANEL.base - top).attr("fill", colour(0)).attr("opacity", 0.75);
    items.push(item(from, width, PANEL.top + 44, [title, `${value(figure.from + i * step)} to ${value(figure.from + (i + 1) * step)}: ${countText(count)} GPU${count === 1 ? "" : "s"}`, ...lines.slice(1)]));
  });
  for (const [style, at] of [["median", figure.median], ["theory", found]]) if (Number.isFinite(at)) layer.append("line").attr("class", style).attr("x1", x(at)).attr("x2", x(at)).attr("y1", PANEL.top + 40).attr("y2", PANEL.base);
  panelNames(layer, x, marked, left, right);
  const dots = marked.slice(0, 200).map(({ gpu, finding }) => {
    const at = x(finding.value);
    layer.append("circle").attr("class", "outlier").attr("cx", at).attr("cy", PANEL.base - 5).attr("r", 4).attr("fill", "var(--bad)").attr("stroke", "var(--panel)");
    return item(at - 5, 10, PANEL.base - 12, [fleetGpuLabel(gpu, 60), `${title}: ${value(finding.value)}, ${percentText(finding.effect, true)}`, `median ${value(figure.median)}`, textOf(gpu.gpu)]);
  });
  panelAxis(layer, x, figure.figure);
  return [...dots, ...items];
}

const FIRST_PANELS = 12; /* figures without findings are shown up to this number; a button shows all. Chosen */

function drawPanels(frame, panels) {
  const outer = widthOf(frame), across = Math.max(1, Math.floor(outer / PANEL.width)), each = outer / across, down = Math.ceil(panels.length / across);
  const drawing = addDrawing(frame, down * PANEL.height, `${frame.node.querySelector("h3").textContent}: ${panels.length} histograms. The table below has the numbers.`), items = [];
  drawing.svg.classed("tall", true);
  panels.forEach(({ figure, marked }, i) => {
    const place = { x: (i % across) * each, y: Math.floor(i / across) * PANEL.height, width: each };
    items.push(...drawPanel(drawing.svg.append("g").attr("class", "panel").attr("transform", `translate(${place.x},${place.y})`), place, figure, marked));
  });
  addCursor(drawing, () => items, 0);
}

/* The order of figures without findings: bandwidths and latencies of device memory and the L2 first. */
function panelRank({ figure }) {
  const element = textOf(figure.figure).split(".")[0], first = ["memory", "l2", "l1", "shared"].indexOf(element);
  return (first < 0 ? 4 : first) + (figure.kind === "rate" ? 0 : 0.5);
}

/* The histograms of a cohort. Those with marked GPUs come first. */
function distributions(grid, fleet, cohort) {
  const usable = listOf(cohort.figures).filter((f) => Array.isArray(f.bins) && f.bins.length && Number.isFinite(f.from) && Number.isFinite(f.to) && Number.isFinite(f.median));
  const panels = usable.map((figure) => ({ figure: { ...figure, bins: figure.bins.map(Number) }, marked: markedGpus(listOf(fleet.gpus), cohort, figure) })).sort((a, b) => b.marked.length - a.marked.length || panelRank(a) - panelRank(b));
  if (!panels.length) return;
  const first = Math.max(FIRST_PANELS, panels.filter((p) => p.marked.length).length), columns = ["figure", "kind", "gpus", "median", "spread_percent", "run_to_run_percent", "low", "high", "detectable_percent", "from", "to", "gpus_per_bin", "marked_gpus"];
  const percent = (v) => Number.isFinite(v) ? Number((100 * v).toPrecision(6)) : null;
  const frame = addFigure(grid, { title: `Distributions: ${cohortTitle(cohort)}`, name: "fleet-distributions", wide: true, columns,
    note: "Bars: GPUs per value; their height grows with the square root of the number, so that few GPUs stay visible. Red dots: GPUs with a finding. Below each title: the median ± the spread (robust standard deviation), and the smallest effect that one measurement finds in 99 % of cases, drawn as a dashed red line. Solid line: median.",
    rows: panels.map(({ figure: f, marked }) => [f.figure, f.kind, f.gpus, f.median, percent(f.spread), percent(f.noise), f.low, f.high, percent(f.detectable), f.from, f.to, f.bins, marked.map((m) => textOf(m.gpu.gpu))]) });
  frame.node.classList.add("long");
  const show = (all) => { frame.body.replaceChildren(); drawPanels(frame, all ? panels : panels.slice(0, first)); };
  if (panels.length > first) {
    let all = false;
    const node = addTool(frame, `All ${panels.length} figures`, `Show all ${panels.length} figures`, () => { all = !all; node.setAttribute("aria-pressed", String(all)); show(all); });
    node.setAttribute("class", "toggle");
  }
  show(false);
}

/* ---- the heat map ---- */

const MAP = { rows: 56, rowHeight: 12, height: 890, title: 36, minTitle: 9 }; /* rows with names; sizes in pixels; title: characters of a column's title; minTitle: width of a column with a title */

const distanceText = (level) => level === "." ? "no value" : level === "0" ? "less than 1 standard deviation worse than the median, or better" : level === "9" ? "9 or more standard deviations worse than the median" : `${level} to ${Number(level) + 1} standard deviations worse than the median`;
/* Opacity of each distance, 0 to 9, over the colour of a cell that has a value. Distances up to 3 are common among many figures and stay pale. */
const MAP_OPACITY = [0, 0.06, 0.1, 0.18, 0.34, 0.48, 0.62, 0.76, 0.88, 1];

/* Draws cells as one path per distance, because a map can have tens of thousands of cells. */
function drawCells(layer, cells) {
  const paths = { value: [] };
  for (const level of "123456789") paths[level] = [];
  for (const { level, box: [x, y, width, height] } of cells) {
    if (level === ".") continue;
    const gapX = width > 5 ? 1 : 0, gapY = height > 5 ? 1 : 0, path = `M${x.toFixed(1)},${y.toFixed(1)}h${(width - gapX).toFixed(1)}v${(height - gapY).toFixed(1)}h${(gapX - width).toFixed(1)}z`;
    paths.value.push(path);
    if (level !== "0") paths[level].push(path);
  }
  for (const key of ["value", ..."123456789"]) if (paths[key].length) layer.append("path").attr("class", `cells level-${key}`).attr("fill", key === "value" ? "var(--grid)" : "var(--bad)").attr("fill-opacity", key === "value" ? 1 : MAP_OPACITY[key]).attr("d", paths[key].join(""));
}

/* The columns that fit: all, or those with the largest distances, in the order of the document. */
function mapColumns(map, rows, fits) {
  const all = map.figures.map((name, i) => ({ name, i }));
  if (all.length <= fits) return all;
  const weight = (c) => d3.sum(rows, (r) => Number(r.cells[c.i]) ** 2 || 0), kept = new Set(all.slice().sort((a, b) => weight(b) - weight(a)).slice(0, fits));
  return all.filter((c) => kept.has(c));
}

/* Draws the rows with their names below the titles of the columns. */
function drawNamedMap(frame, map, rows) {
  const outer = widthOf(frame), longest = d3.max(rows, (r) => Math.min(22, textOf(r.name).length)), left = Math.min(outer * 0.36, 14 + 6.6 * longest), columns = mapColumns(map, rows, Math.floor((outer - left - 4) / 13)), cellWidth = Math.min(40, (outer - left - 4) / columns.length);
  const titles = columns.map((c) => cut(fleetFigure(c.name), MAP.title)), top = 14 + 6 * d3.max(titles, (t) => t.length), names = cutDistinct(rows.map((r) => textOf(r.name)), Math.max(5, Math.floor((left - 8) / 6.6)));
  const drawing = addDrawing(frame, top + rows.length * MAP.rowHeight + 6, `Heat map of ${rows.length} rows and ${columns.length} figures. The table below has the numbers.`), cells = [];
  titles.forEach((title, i) => drawing.svg.append("text").attr("class", "soft small").attr("transform", `translate(${left + (i + 0.5) * cellWidth + 4},${top - 6}) rotate(-90)`).text(title));
  rows.forEach((row, i) => {
    const y = top + i * MAP.rowHeight;
    drawing.svg.append("text").attr("class", "small").attr("x", left - 6).attr("y", y + 9.5).attr("text-anchor", "end").text(names[i]);
    columns.forEach((c, k) => cells.push(mapCell(row, c, [left + k * cellWidth, y, cellWidth, MAP.rowHeight])));
  });
  finishMap(drawing, cells);
  if (columns.length < map.figures.length) frame.body.append(el("p", { class: "note" }, `The ${columns.length} of ${map.figures.length} figures with the largest distances are shown, because the window is narrow.`));
}

/* Draws all rows without names, in several parts side by side if there are many, and not higher than MAP.height. The columns have titles where
   these fit. */
function drawWholeMap(frame, map, rows) {
  const outer = widthOf(frame), columns = map.figures.map((name, i) => ({ name, i })), titles = columns.map((c) => cut(fleetFigure(c.name), MAP.title));
  const fits = Math.floor(outer / (MAP.minTitle * columns.length + 12)), wanted = Math.ceil(2 * rows.length / MAP.height), parts = Math.max(1, Math.min(wanted, fits || Math.floor(outer / (2 * columns.length + 12))));
  const each = Math.ceil(rows.length / parts), width = outer / parts - 12, cellWidth = Math.min(40, width / columns.length), font = Math.min(11, cellWidth - 0.5), top = fits ? 10 + 0.55 * font * d3.max(titles, (t) => t.length) : 4, rowHeight = Math.min(MAP.rowHeight, (MAP.height - top) / each);
  const drawing = addDrawing(frame, Math.ceil(top + each * rowHeight) + 4, `Heat map of ${rows.length} rows and ${columns.length} figures. The table below has the numbers.`), cells = [];
  for (const part of fits ? d3.range(parts) : []) titles.forEach((title, i) => drawing.svg.append("text").attr("class", "soft").style("font-size", `${font}px`).attr("transform", `translate(${part * (width + 12) + (i + 0.5) * cellWidth + 0.35 * font},${top - 4}) rotate(-90)`).text(title));
  rows.forEach((row, i) => columns.forEach((c, k) => cells.push(mapCell(row, c, [Math.floor(i / each) * (width + 12) + k * cellWidth, top + (i % each) * rowHeight, cellWidth, rowHeight]))));
  finishMap(drawing, cells);
}

/* One cell, as an item for the cursor. The lines are only made for the cell under the cursor. */
function mapCell(row, column, box) {
  const level = row.cells[column.i];
  return { level, box, x: box[0] + box[2] / 2, y: box[1], get lines() { return [cut(row.name, 80), fleetFigure(column.name), distanceText(level), row.gpus > 1 ? `the worst of ${countText(row.gpus)} GPUs` : ""].filter(Boolean); } };
}

/* Draws the cells. The arrow keys step through those with a distance of 4 or more; the mouse finds all. */
function finishMap(drawing, cells) {
  drawing.svg.classed("tall", true);
  drawCells(drawing.svg.append("g"), cells);
  const far = cells.filter((c) => c.level >= "4"), keys = far.length ? far : cells.slice(0, 1), selected = new Set(keys), all = [...keys, ...cells.filter((c) => !selected.has(c))];
  addCursor(drawing, (forMouse) => forMouse ? all : keys, 0);
}

function mapLegend() {
  const key = (level, text) => {
    const swatch = el("span", { class: "swatch" }), inner = el("span", { class: "shade" });
    swatch.style.background = level === "." ? "none" : "var(--grid)";
    if (level === ".") swatch.style.outline = "1px solid var(--line)";
    inner.style.background = "var(--bad)";
    inner.style.opacity = level === "." ? 0 : MAP_OPACITY[level];
    swatch.append(inner);
    return el("span", { class: "key" }, swatch, text);
  };
  return el("div", { class: "legend" }, key(".", "no value"), key(0, "as usual or better"), key(3, "3"), key(5, "5"), key(7, "7"), key(9, "9 or more standard deviations worse"));
}

function fleetMap(grid, map) {
  const figures = Array.isArray(field(map, "figures")) ? map.figures.map(textOf) : [], rows = listOf(field(map, "rows")).map((r) => ({ name: textOf(r.name), gpus: r.gpus, cells: [...textOf(r.cells)].map((c) => /[0-9]/.test(c) ? c : ".").slice(0, figures.length) }));
  for (const row of rows) while (row.cells.length < figures.length) row.cells.push(".");
  if (!figures.length || !rows.length) return;
  const shown = rows.slice(0, MAP.rows), more = rows.length > shown.length, frame = addFigure(grid, { title: "Heat map: hosts and figures", name: "fleet-heat-map", wide: true,
    note: `One row per host, or per GPU whose host is unknown, the worst first${more ? `; ${countText(rows.length)} rows, of which the first ${shown.length} are shown with their names` : ""}. Each cell is the worst of the row's GPUs: its distance from the median of its cohort, in robust standard deviations, if it is worse than the median.${map.rows_left_out ? ` ${countText(map.rows_left_out)} more rows are left out of this page.` : ""}`,
    columns: ["name", "gpus", ...figures], rows: rows.map((r) => [r.name, r.gpus, ...r.cells.map((c) => c === "." ? null : Number(c))]) });
  frame.node.classList.add("long");
  const whole = { figures, rows }, draw = (all) => { frame.body.replaceChildren(mapLegend()); if (all) drawWholeMap(frame, whole, rows); else drawNamedMap(frame, whole, shown); };
  if (more) {
    let all = false;
    const node = addTool(frame, `All ${countText(rows.length)} rows`, `Show all ${countText(rows.length)} rows`, () => { all = !all; node.setAttribute("aria-pressed", String(all)); draw(all); });
    node.setAttribute("class", "toggle");
  }
  draw(false);
}
