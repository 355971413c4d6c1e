/* Charts of lines and points with two axes. The reader can zoom in until single samples become visible. */

/* Ticks of a logarithmic axis: the largest number per decade that keeps all ticks at least `spacing` pixels apart. */
function decadeTicks(scale, spacing) {
  const [low, high] = d3.extent(scale.domain()), decades = d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1);
  for (const kept of [[1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]]) {
    const ticks = decades.flatMap((power) => kept.map((m) => m * 10 ** power)).filter((t) => t >= low && t <= high);
    if (ticks.length > 1 && d3.min(d3.pairs(ticks), ([a, b]) => Math.abs(scale(b) - scale(a))) >= spacing) return ticks;
  }
  /* Many decades, or less than one: evenly distributed ticks. From the largest down, a tick too close to the previous one is dropped. */
  return d3.ticks(...(high / low < 10 ? [low, high, 4] : [Math.log10(low), Math.log10(high), 4])).map((t) => high / low < 10 ? t : 10 ** t).reverse()
    .reduce((kept, t) => kept.length && Math.abs(scale(kept[kept.length - 1]) - scale(t)) < spacing ? kept : [...kept, t], []);
}

/* Ticks of any axis, about `spacing` pixels apart or more. `binary`: powers of two or multiples of one, for sizes in bytes and for
   counts that are powers of two. `whole`: only integers, if there are any among the ticks. */
function ticksOf(scale, binary, spacing, whole = false) {
  const [low, high] = d3.extent(scale.domain()), [from, to] = d3.extent(scale.range()), count = Math.max(2, Math.floor((to - from) / spacing));
  if (binary && scale.base && high / low >= 8) {
    const first = Math.ceil(Math.log2(low)), last = Math.floor(Math.log2(high));
    return d3.range(first, last + 1, Math.max(1, Math.ceil((last - first) / count))).map((power) => 2 ** power);
  }
  if (binary) {
    const step = 2 ** Math.max(0, Math.ceil(Math.log2((high - low) / Math.min(count, 6))));
    return d3.range(Math.ceil(low / step) * step, high + step / 1e6, step);
  }
  const ticks = scale.base && high / low >= 2 ? decadeTicks(scale, spacing) : d3.ticks(low, high, Math.min(count, 8));
  return whole && ticks.some(Number.isInteger) ? ticks.filter(Number.isInteger) : ticks;
}

/* The text of a tick. Large counts are abbreviated (20k); the tooltip shows them in full. */
function tickText(value, format) {
  return format === number && Math.abs(value) >= 1e4 && value % 1000 === 0 ? d3.format("~s")(value) : format === rate ? rate(value).replace(/\.0+(?= )/, "") : format(value);
}

/* The range of values that an axis shows, with a margin. `tight`: a linear axis that need not include 0. */
function extentOf(values, log, tight = false) {
  const usable = values.filter((v) => Number.isFinite(v) && (!log || v > 0));
  if (!usable.length) return log ? [1, 10] : [0, 1];
  let [low, high] = d3.extent(usable);
  if (low === high) { low *= 0.9; high = high * 1.1 || 1; }
  if (tight && !log) return [low - 0.05 * (high - low), high + 0.05 * (high - low)];
  return log ? [low / 1.08, high * 1.12] : [Math.min(0, low), high * 1.06];
}

/* Returns a function that places labels without overlaps: each label goes to the first of its positions, [x, y, anchor], that is free. A
   label without a free position is left out. */
function labeller(layer) {
  const taken = [];
  return (text, positions, style) => {
    const width = 6.4 * text.length;
    for (const [x, y, anchor] of positions) {
      const left = anchor === "end" ? x - width : x, box = [left, y - 11, left + width, y + 3];
      if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) continue;
      taken.push(box);
      layer.append("text").attr("class", style).attr("x", x).attr("y", y).attr("text-anchor", anchor).text(text);
      return;
    }
  };
}

/* The points of a line. Several points with the same x are repeated measurements and become one point with their mean. */
function meanPerX(points) {
  const groups = groupsOf(points, (p) => p.x);
  return groups.length === points.length ? points : groups.map(([x, some]) => ({ x, y: d3.mean(some, (p) => p.y) }));
}

/* Positions for the label of a horizontal line: above or below the line, at its right end or farther left. `onLeft`: at its left end
   only. */
function horizontalLinePositions(area, at, onLeft) {
  const above = at - 4, below = at + 13, sides = above < area.top + 10 ? [below] : below > area.bottom ? [above] : [above, below];
  if (onLeft) return sides.map((level) => [area.left + 6, level, "start"]);
  return [0, 0.22, 0.44, 0.66].flatMap((part) => sides.map((level) => [area.right - 4 - part * (area.right - area.left), level, "end"]));
}

/* Positions for the label of a vertical line: on either side of the line, from the top down. */
function verticalLinePositions(area, at, text) {
  const width = 6.4 * text.length + 4, sides = [[at - 4, "end", at - width > area.left], [at + 4, "start", at + width < area.right]].filter(([, , fits]) => fits);
  return d3.range(10).flatMap((i) => sides.map(([from, anchor]) => [from, area.top + 11 + 14 * i, anchor]));
}

/* Draws the lines for theoretical peaks, latency levels and change points that are in view. */
function drawMarks(layer, label, area, { x, y }, { theory, hlines, vlines }) {
  const inX = (v) => x(v) >= area.left && x(v) <= area.right, inY = (v) => y(v) >= area.top && y(v) <= area.bottom;
  const line = (style, from, to) => layer.append("line").attr("class", style).attr("x1", from[0]).attr("y1", from[1]).attr("x2", to[0]).attr("y2", to[1]);
  for (const mark of theory.filter((m) => inY(m.y))) {
    line("theory", [area.left, y(mark.y)], [area.right, y(mark.y)]);
    label(cut(mark.label, 70), horizontalLinePositions(area, y(mark.y), true), "label");
  }
  for (const mark of hlines.filter((m) => inY(m.y))) {
    line("mark", [area.left, y(mark.y)], [area.right, y(mark.y)]);
    label(cut(mark.label, 50), horizontalLinePositions(area, y(mark.y), false), "label soft");
  }
  for (const mark of vlines.filter((m) => inX(m.x))) {
    line("mark", [x(mark.x), area.top], [x(mark.x), area.bottom]);
    label(cut(mark.label, 40), verticalLinePositions(area, x(mark.x), cut(mark.label, 40)), "label soft");
  }
}

/* Draws the samples of points, at most 6000 of them, with small horizontal offsets so that equal samples do not hide each other. Returns
   the items for the cursor. */
function drawSamples(layer, points, area, { x, y }, describe, fill) {
  const items = points.flatMap((p) => p.samples.map((value, i) => ({ x: x(p.x) + ((i * 7) % 13 - 6) * 0.55, y: y(value), lines: describe(p, value) }))).filter((item) => item.y >= area.top && item.y <= area.bottom).slice(0, 6000);
  for (const item of items) layer.append("circle").attr("class", "sample").attr("cx", item.x).attr("cy", item.y).attr("r", 1.3).attr("fill", fill).attr("opacity", 0.4);
  return items;
}

/* Adds zooming by wheel, drag, keys and buttons, around the position that `place` returns. Calls `zoomed` with each new transform. The
   wheel zooms only with Ctrl or while the chart has the focus, so that it scrolls the page otherwise. */
function addZoom(frame, svg, area, place, zoomed) {
  const corners = [[area.left, area.top], [area.right, area.bottom]];
  const zoom = d3.zoom().scaleExtent([1, 4000]).extent(corners).translateExtent(corners)
    .filter(() => d3.event.type === "wheel" ? d3.event.ctrlKey || document.activeElement === svg.node() : !d3.event.button)
    .on("zoom", () => zoomed(d3.event.transform));
  const zoomBy = (factor) => svg.call(zoom.scaleBy, factor, place() || [(area.left + area.right) / 2, (area.top + area.bottom) / 2]);
  const reset = () => svg.call(zoom.transform, d3.zoomIdentity);
  svg.call(zoom);
  svg.node().addEventListener("mousedown", () => svg.node().focus({ preventScroll: true }));
  svg.node().addEventListener("keydown", (event) => {
    if (event.key === "+" || event.key === "=") zoomBy(2);
    else if (event.key === "-") zoomBy(0.5);
    else if (event.key === "0") reset();
  });
  addTool(frame, "+", "Zoom in", () => zoomBy(2));
  addTool(frame, "−", "Zoom out", () => zoomBy(0.5));
  addTool(frame, "Reset", "Reset zoom", reset);
}

/* Adds a button to the frame of a chart. */
function addTool(frame, text, label, act) {
  const node = el("button", { type: "button", "aria-label": label, title: label }, text);
  node.addEventListener("click", () => act(node));
  frame.tools.append(node);
  return node;
}

/* The scales and ticks of both axes, and the area between the axes. A wide label on the y axis makes the area narrower. */
function scalesOf(all, width, height, { xLog, yLog, xFormat, yFormat, fit, tight, theory, hlines, vlines }) {
  const area = { left: 62, right: width - 18, top: 16, bottom: height - 44 };
  const yValues = all.flatMap((p) => [p.y, p.low, p.high]).concat(theory.map((t) => t.y), fit.includes("y") ? hlines.map((h) => h.y) : []);
  const y = (yLog ? d3.scaleLog() : d3.scaleLinear()).domain(extentOf(yValues, yLog)).range([area.bottom, area.top]);
  const yTicks = (scale) => ticksOf(scale, yFormat === bytes, 17);
  area.left = Math.max(area.left, 34 + 6 * d3.max(yTicks(y).concat(y.domain()[1]), (v) => tickText(v, yFormat).length));
  const xValues = all.map((p) => p.x).concat(fit.includes("x") ? vlines.map((v) => v.x) : []);
  const x = (xLog ? d3.scaleLog().base(xFormat === bytes ? 2 : 10) : d3.scaleLinear()).domain(extentOf(xValues, xLog, tight)).range([area.left, area.right]);
  const whole = all.every((p) => Number.isInteger(p.x)), binary = xFormat === bytes || (xLog && all.every((p) => p.x > 0 && Number.isInteger(Math.log2(p.x))));
  return { x, y, area, yTicks, xTicks: (scale) => ticksOf(scale, binary, xFormat === bytes ? 56 : 40, whole) };
}

/* Adds the layers of a chart (grid, axes, and the plotted content, which is clipped to the area) and the titles of the axes. */
function layersOf(svg, area, frame, height, xLabel, yLabel) {
  const group = (style, x, y) => svg.append("g").attr("class", style).attr("transform", `translate(${x},${y})`);
  const layers = { gridX: group("gridline", 0, area.bottom), gridY: group("gridline", area.left, 0), axisX: group("axis", 0, area.bottom), axisY: group("axis", area.left, 0) };
  svg.append("clipPath").attr("id", `clip-${frame.id}`).append("rect").attr("x", area.left - 4).attr("y", area.top - 4).attr("width", area.right - area.left + 8).attr("height", area.bottom - area.top + 8);
  svg.append("text").attr("class", "soft").attr("x", (area.left + area.right) / 2).attr("y", height - 8).attr("text-anchor", "middle").text(xLabel);
  svg.append("text").attr("class", "soft").attr("transform", `translate(14,${(area.top + area.bottom) / 2}) rotate(-90)`).attr("text-anchor", "middle").text(yLabel);
  const plot = svg.append("g").attr("clip-path", `url(#clip-${frame.id})`);
  for (const name of ["marks", "lines", "dots", "texts"]) layers[name] = plot.append("g");
  return layers;
}

function drawAxes(layers, area, { x, y, xTicks, yTicks, xFormat, yFormat }) {
  const across = xTicks(x), up = yTicks(y);
  layers.axisX.call(d3.axisBottom(x).tickValues(across).tickFormat((v) => tickText(v, xFormat)));
  layers.axisY.call(d3.axisLeft(y).tickValues(up).tickFormat((v) => tickText(v, yFormat)));
  layers.gridX.call(d3.axisBottom(x).tickValues(across).tickSize(area.top - area.bottom).tickFormat(""));
  layers.gridY.call(d3.axisLeft(y).tickValues(up).tickSize(area.left - area.right).tickFormat(""));
}

/* Default options of xyChart. */
const XY = { xFormat: number, yFormat: number, hlines: [], vlines: [], theory: [], height: 380, join: true, step: false, fit: "", tight: false };

/* Draws a chart of curves.
   series: [{name, points: [{x, y, low?, high?, lines?, samples?, label?}], off?, join?, step?, dots?, colour?}]. `lines` is the tooltip, `label` is drawn
   next to the point; an `off` curve is hidden at first. `join`, `step` and `dots` of a curve override those of the chart; `colour` is an index.
   hlines [{y, label}], vlines [{x, label}], theory [{y, label}]: lines to mark. `fit` names the axes ("x", "y") that are extended to show them.
   join: connect the points. step: a value holds until the next point. dots: radius of the points, 0 for none. */
function xyChart(frame, given) {
  const options = { ...XY, ...given }, { series, xLog, yLog, xLabel, yLabel, xFormat, yFormat, height } = options;
  const radius = options.dots !== undefined ? options.dots : series.some((s) => s.points.length > 400) ? 0 : 2.8;
  const all = series.flatMap((s) => s.points);
  const drawing = addDrawing(frame, height, `${frame.node.querySelector("h3").textContent}: ${yLabel} against ${xLabel}, ${series.length} curve${series.length === 1 ? "" : "s"}, ${all.length} points. Arrow keys step through the points, plus and minus zoom.`);
  const { svg, width } = drawing, { x: x0, y: y0, area, xTicks, yTicks } = scalesOf(all, width, height, options), layers = layersOf(svg, area, frame, height, xLabel, yLabel);
  svg.classed("curves", true);
  let view = { x: x0, y: y0 }, scale = 1, everySample = false, drawnSamples = [];
  const shown = series.map((s) => !s.off);
  const inView = (p) => view.x(p.x) >= area.left - 1 && view.x(p.x) <= area.right + 1 && view.y(p.y) >= area.top - 1 && view.y(p.y) <= area.bottom + 1;
  const usable = (p) => Number.isFinite(p.x) && Number.isFinite(p.y) && (!xLog || p.x > 0) && (!yLog || p.y > 0);
  const linesOf = (s, p) => p.lines || [s.name, `${xLabel}: ${xFormat(p.x)}`, `${yLabel}: ${yFormat(p.y)}`];

  function drawCurve(s, i, label) {
    const points = s.points.filter(usable), { x, y } = view, ink = colour(colourIndex(s, i)), size = s.dots === undefined ? radius : s.dots;
    const join = s.join === undefined ? options.join : s.join, step = s.step === undefined ? options.step : s.step;
    if (join && points.length > 1) layers.lines.append("path").attr("fill", "none").attr("stroke", ink).attr("stroke-width", 1.6).attr("d", d3.line().x((p) => x(p.x)).y((p) => y(p.y)).curve(step ? d3.curveStepAfter : d3.curveLinear)(meanPerX(points)));
    for (const p of points.filter(inView)) {
      if (Number.isFinite(p.low) && Number.isFinite(p.high) && p.high > p.low && (!yLog || p.low > 0)) layers.lines.append("line").attr("stroke", ink).attr("opacity", 0.28).attr("x1", x(p.x)).attr("x2", x(p.x)).attr("y1", y(p.low)).attr("y2", y(p.high));
      if (size) layers.dots.append("circle").attr("class", "point").attr("cx", x(p.x)).attr("cy", y(p.y)).attr("r", size).attr("fill", ink);
      if (p.label) label(cut(p.label, 40), [[x(p.x) + 8, y(p.y) + 4, "start"], [x(p.x) - 8, y(p.y) + 4, "end"], [x(p.x) + 8, y(p.y) - 9, "start"], [x(p.x) + 8, y(p.y) + 17, "start"]].filter(([at, , anchor]) => anchor === "end" ? at - 6.6 * p.label.length > area.left : at + 6.6 * p.label.length < area.right), "label");
    }
    const walks = points.filter((p) => p.samples && x(p.x) >= area.left && x(p.x) <= area.right);
    if (everySample || (scale >= 4 && walks.length <= 60)) drawnSamples.push(...drawSamples(layers.dots, walks, area, view, (p, value) => [...linesOf(s, p).slice(0, 2), `one sample: ${yFormat(value)} ${yLabel}`], ink));
  }
  function draw() {
    for (const name of ["marks", "lines", "dots", "texts"]) layers[name].selectAll("*").remove();
    drawnSamples = [];
    drawAxes(layers, area, { ...view, xTicks, yTicks, xFormat, yFormat });
    const label = labeller(layers.texts);
    drawMarks(layers.marks, label, area, view, options);
    series.forEach((s, i) => { if (shown[i]) drawCurve(s, i, label); });
    svg.attr("data-zoom", scale.toFixed(2));
  }

  /* The arrow keys step from point to point; the mouse also finds samples. */
  const cursor = addCursor(drawing, (forMouse) => series.flatMap((s, i) => !shown[i] ? [] : s.points.filter((p) => usable(p) && inView(p)).map((p) => ({ x: view.x(p.x), y: view.y(p.y), lines: linesOf(s, p) }))).concat(forMouse ? drawnSamples : []));
  /* The samples of one footprint are hits and misses, far from each other and from their mean. The y axis is not zoomed, so that all stay
     in view. */
  const sampled = all.some((p) => p.samples);
  addZoom(frame, svg, area, cursor.place, (transform) => { scale = transform.k; view = { x: transform.rescaleX(x0), y: sampled ? y0 : transform.rescaleY(y0) }; cursor.hide(); draw(); });
  if (sampled) addTool(frame, "Samples", "Show single samples", (node) => { everySample = !everySample; node.setAttribute("aria-pressed", everySample); draw(); }).setAttribute("class", "toggle");
  if (series.length > 1) addLegend(frame, series, shown, draw);
  draw();
}

const colourIndex = (series, index) => series.colour === undefined ? index : series.colour;

/* Adds one button per curve that shows or hides it. */
function addLegend(frame, series, shown, draw) {
  const legend = el("div", { class: series.length > 12 ? "legend many" : "legend", role: "group", "aria-label": "Curves" });
  series.forEach((s, i) => {
    const node = el("button", { type: "button", "aria-pressed": String(shown[i]) }, legendKey(cut(s.name, 60), colourIndex(s, i)));
    node.addEventListener("click", () => { shown[i] = !shown[i]; node.setAttribute("aria-pressed", String(shown[i])); draw(); });
    legend.append(node);
  });
  frame.body.prepend(legend);
}
