/* Lines and points over two axes, which can be zoomed into down to single samples. */

/* Of each decade of a logarithmic axis as many as stand `room` pixels apart. */
function decadeTicks(scale, room) {
  const [low, high] = d3.extent(scale.domain()), decades = d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1);
  for (const kept of [[1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]]) {
    const ticks = decades.flatMap((power) => kept.map((m) => m * 10 ** power)).filter((t) => t >= low && t <= high);
    if (ticks.length > 1 && d3.min(d3.pairs(ticks), ([a, b]) => Math.abs(scale(b) - scale(a))) >= room) return ticks;
  }
  /* Many decades, or less than one: those of an even scale that fit, the largest first. */
  return d3.ticks(...(high / low < 10 ? [low, high, 4] : [Math.log10(low), Math.log10(high), 4])).map((t) => high / low < 10 ? t : 10 ** t).reverse()
    .reduce((kept, t) => kept.length && Math.abs(scale(kept[kept.length - 1]) - scale(t)) < room ? kept : [...kept, t], []);
}

/* Not more than stand `room` pixels apart. Of bytes, and of counts that double, powers of two or multiples of one. */
function ticksOf(scale, binary, room, whole = false) {
  const [low, high] = d3.extent(scale.domain()), [from, to] = d3.extent(scale.range()), count = Math.max(2, Math.floor((to - from) / room));
  if (binary && scale.base && high / low >= 8) {
    const first = Math.ceil(Math.log2(low)), last = Math.floor(Math.log2(high));
    return d3.range(first, last + 1, Math.max(1, Math.ceil((last - first) / count))).map((power) => 2 ** power);
  }
  if (binary) {
    const step = 2 ** Math.max(0, Math.ceil(Math.log2((high - low) / Math.min(count, 6))));
    return d3.range(Math.ceil(low / step) * step, high + step / 1e6, step);
  }
  const ticks = scale.base && high / low >= 2 ? decadeTicks(scale, room) : d3.ticks(low, high, Math.min(count, 8));
  return whole && ticks.some(Number.isInteger) ? ticks.filter(Number.isInteger) : ticks;
}

/* Large counts are shortened at an axis; the tip has them whole. */
function tickText(value, format) {
  return format === number && Math.abs(value) >= 1e5 && value % 1000 === 0 ? d3.format("~s")(value) : format(value);
}

/* `near`: an axis that need not begin at 0. */
function extentOf(values, log, near = false) {
  const usable = values.filter((v) => Number.isFinite(v) && (!log || v > 0));
  if (!usable.length) return log ? [1, 10] : [0, 1];
  let [low, high] = d3.extent(usable);
  if (low === high) { low *= 0.9; high = high * 1.1 || 1; }
  if (near && !log) return [low - 0.05 * (high - low), high + 0.05 * (high - low)];
  return log ? [low / 1.08, high * 1.12] : [Math.min(0, low), high * 1.06];
}

/* Texts that do not meet: each is put at the first of its places, [x, y, anchor], where there is room; where there is none it is left out. */
function labeller(layer) {
  const taken = [];
  return (text, places, style) => {
    const width = 6.4 * text.length;
    for (const [x, y, anchor] of places) {
      const left = anchor === "end" ? x - width : x, box = [left, y - 11, left + width, y + 3];
      if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) continue;
      taken.push(box);
      layer.append("text").attr("class", style).attr("x", x).attr("y", y).attr("text-anchor", anchor).text(text);
      return;
    }
  };
}

/* Points for a line: of several at the same place, which were measured again, the mean. */
function onePerPlace(points) {
  const places = groupsOf(points, (p) => p.x);
  return places.length === points.length ? points : places.map(([x, some]) => ({ x, y: d3.mean(some, (p) => p.y) }));
}

/* series: [{name, points: [{x, y, low?, high?, lines?, samples?}], off?}]; marks: hlines [{y, label}], vlines [{x, label}], to which the axes
   reach that `fit` names: "x", "y". With `step` a value holds until the next. */
function xyChart(frame, options) {
  const { series, xLog, yLog, xLabel, yLabel, xFormat = number, yFormat = number, hlines = [], vlines = [], height = 380, theory = [], join = true, step = false, fit = "", near = false } = options;
  const radius = options.dots !== undefined ? options.dots : series.some((s) => s.points.length > 400) ? 0 : 2.8;
  const all = series.flatMap((s) => s.points);
  const drawing = addDrawing(frame, height, `${frame.node.querySelector("h3").textContent}: ${yLabel} against ${xLabel}, ${series.length} curves, ${all.length} points. Arrow keys step through the points, plus and minus zoom.`);
  const { svg, width } = drawing;
  const edge = { left: 62, right: 18, top: 16, bottom: 44 };
  const whole = all.every((p) => Number.isInteger(p.x)), binary = xFormat === bytes || (xLog && all.every((p) => p.x > 0 && Number.isInteger(Math.log2(p.x))));
  const yValues = all.flatMap((p) => [p.y, p.low, p.high]).concat(theory.map((t) => t.y), fit.includes("y") ? hlines.map((h) => h.y) : []);
  const y0 = (yLog ? d3.scaleLog() : d3.scaleLinear()).domain(extentOf(yValues, yLog)).range([height - edge.bottom, edge.top]);
  const yTicks = (scale) => ticksOf(scale, yFormat === bytes, 17);
  edge.left = Math.max(edge.left, 34 + 6 * d3.max(yTicks(y0).concat(y0.domain()[1]), (v) => tickText(v, yFormat).length));
  const x0 = (xLog ? d3.scaleLog().base(xFormat === bytes ? 2 : 10) : d3.scaleLinear()).domain(extentOf(all.map((p) => p.x).concat(fit.includes("x") ? vlines.map((v) => v.x) : []), xLog, near)).range([edge.left, width - edge.right]);
  let x = x0, y = y0, transform = d3.zoomIdentity, samples = false;
  const shown = series.map((s) => !s.off);

  const clip = `clip-${frame.id}`;
  svg.append("clipPath").attr("id", clip).append("rect").attr("x", edge.left - 4).attr("y", edge.top - 4).attr("width", width - edge.left - edge.right + 8).attr("height", height - edge.top - edge.bottom + 8);
  const gridX = svg.append("g").attr("class", "gridline").attr("transform", `translate(0,${height - edge.bottom})`);
  const gridY = svg.append("g").attr("class", "gridline").attr("transform", `translate(${edge.left},0)`);
  const axisX = svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - edge.bottom})`);
  const axisY = svg.append("g").attr("class", "axis").attr("transform", `translate(${edge.left},0)`);
  svg.append("text").attr("class", "soft").attr("x", (edge.left + width - edge.right) / 2).attr("y", height - 8).attr("text-anchor", "middle").text(xLabel);
  svg.append("text").attr("class", "soft").attr("transform", `translate(14,${(edge.top + height - edge.bottom) / 2}) rotate(-90)`).attr("text-anchor", "middle").text(yLabel);
  const plot = svg.append("g").attr("clip-path", `url(#${clip})`);
  const marks = plot.append("g"), lines = plot.append("g"), dots = plot.append("g"), texts = plot.append("g").attr("pointer-events", "none");

  const visible = (p) => {
    const px = x(p.x), py = y(p.y);
    return px >= edge.left - 1 && px <= width - edge.right + 1 && py >= edge.top - 1 && py <= height - edge.bottom + 1;
  };
  const usable = (p) => Number.isFinite(p.x) && Number.isFinite(p.y) && (!xLog || p.x > 0) && (!yLog || p.y > 0);

  /* The text of a level stands above its line, or below, at the right end or, where others are there, farther left. */
  function besideLevel(at, onLeft) {
    const above = at - 4, below = at + 13, steps = onLeft ? [0] : [0, 0.22, 0.44, 0.66];
    const sides = above < edge.top + 10 ? [below] : below > height - edge.bottom ? [above] : [above, below];
    return steps.flatMap((part) => sides.map((level) => onLeft ? [edge.left + 6, level, "start"] : [width - edge.right - 4 - part * (width - edge.left), level, "end"]));
  }
  function besideColumn(at, text) {
    const room = 6.4 * text.length + 4, sides = [[at - 4, "end", at - room > edge.left], [at + 4, "start", at + room < width - edge.right]].filter(([, , fits]) => fits);
    return d3.range(10).flatMap((i) => sides.map(([from, anchor]) => [from, edge.top + 11 + 14 * i, anchor]));
  }
  function drawMarks() {
    marks.selectAll("*").remove();
    texts.selectAll("*").remove();
    const label = labeller(texts), inX = (v) => x(v) >= edge.left && x(v) <= width - edge.right, inY = (v) => y(v) >= edge.top && y(v) <= height - edge.bottom;
    const level = (mark, style) => marks.append("line").attr("class", style).attr("x1", edge.left).attr("x2", width - edge.right).attr("y1", y(mark.y)).attr("y2", y(mark.y));
    for (const mark of theory.filter((m) => inY(m.y))) {
      level(mark, "theory");
      label(cut(mark.label, 70), besideLevel(y(mark.y), true), "label");
    }
    for (const mark of hlines.filter((m) => inY(m.y))) {
      level(mark, "mark");
      label(cut(mark.label, 50), besideLevel(y(mark.y), false), "label soft");
    }
    for (const mark of vlines.filter((m) => inX(m.x))) {
      marks.append("line").attr("class", "mark").attr("y1", edge.top).attr("y2", height - edge.bottom).attr("x1", x(mark.x)).attr("x2", x(mark.x));
      label(cut(mark.label, 40), besideColumn(x(mark.x), cut(mark.label, 40)), "label soft");
    }
  }

  function draw() {
    const tx = ticksOf(x, binary, xFormat === bytes ? 56 : 40, whole), ty = yTicks(y);
    axisX.call(d3.axisBottom(x).tickValues(tx).tickFormat((v) => tickText(v, xFormat)));
    axisY.call(d3.axisLeft(y).tickValues(ty).tickFormat((v) => tickText(v, yFormat)));
    gridX.call(d3.axisBottom(x).tickValues(tx).tickSize(-(height - edge.top - edge.bottom)).tickFormat(""));
    gridY.call(d3.axisLeft(y).tickValues(ty).tickSize(-(width - edge.left - edge.right)).tickFormat(""));
    drawMarks();
    lines.selectAll("*").remove();
    dots.selectAll("*").remove();
    series.forEach((s, i) => {
      if (!shown[i]) return;
      const points = s.points.filter(usable);
      if (join && points.length > 1) lines.append("path").attr("fill", "none").attr("stroke", colour(i)).attr("stroke-width", 1.6).attr("d", d3.line().x((p) => x(p.x)).y((p) => y(p.y)).curve(step ? d3.curveStepAfter : d3.curveLinear)(onePerPlace(points)));
      const near = points.filter(visible);
      for (const p of near) {
        if (Number.isFinite(p.low) && Number.isFinite(p.high) && p.high > p.low && (!yLog || p.low > 0)) lines.append("line").attr("stroke", colour(i)).attr("opacity", 0.28).attr("x1", x(p.x)).attr("x2", x(p.x)).attr("y1", y(p.low)).attr("y2", y(p.high));
        if (radius) dots.append("circle").attr("class", "point").attr("cx", x(p.x)).attr("cy", y(p.y)).attr("r", radius).attr("fill", colour(i));
      }
      const inView = points.filter((p) => p.samples && x(p.x) >= edge.left && x(p.x) <= width - edge.right);
      if (samples || (transform.k >= 4 && inView.length <= 60)) drawSamples(inView, i);
    });
    drawing.svg.attr("data-zoom", transform.k.toFixed(2));
  }

  /* Each sample of a walk beside its footprint, a little apart so that equal ones are seen to be many. */
  function drawSamples(points, i) {
    let room = 6000;
    for (const p of points) {
      p.samples.forEach((value, j) => {
        if (room-- > 0 && (!yLog || value > 0)) dots.append("circle").attr("class", "sample").attr("cx", x(p.x) + ((j * 7) % 13 - 6) * 0.55).attr("cy", y(value)).attr("r", 1.3).attr("fill", colour(i)).attr("opacity", 0.4);
      });
    }
  }

  const zoom = d3.zoom().scaleExtent([1, 4000]).extent([[edge.left, edge.top], [width - edge.right, height - edge.bottom]])
    .translateExtent([[edge.left, edge.top], [width - edge.right, height - edge.bottom]])
    .filter(() => d3.event.type === "wheel" ? d3.event.ctrlKey || document.activeElement === svg.node() : !d3.event.button)
    .on("zoom", () => { transform = d3.event.transform; x = transform.rescaleX(x0); y = transform.rescaleY(y0); cursor.hide(); draw(); });
  const cursor = addCursor(drawing, () => series.flatMap((s, i) => !shown[i] ? [] : s.points.filter((p) => usable(p) && visible(p))
    .map((p) => ({ x: x(p.x), y: y(p.y), lines: p.lines || [s.name, `${xLabel}: ${xFormat(p.x)}`, `${yLabel}: ${yFormat(p.y)}`] }))));
  svg.call(zoom);
  svg.node().addEventListener("mousedown", () => svg.node().focus({ preventScroll: true }));
  const zoomBy = (factor) => svg.call(zoom.scaleBy, factor, cursor.place() || [(edge.left + width - edge.right) / 2, (edge.top + height - edge.bottom) / 2]);
  const reset = () => svg.call(zoom.transform, d3.zoomIdentity);
  svg.node().addEventListener("keydown", (event) => {
    if (event.key === "+" || event.key === "=") zoomBy(2);
    else if (event.key === "-") zoomBy(0.5);
    else if (event.key === "0") reset();
  });
  const button = (text, label, act) => {
    const node = el("button", { type: "button", "aria-label": label, title: label }, text);
    node.addEventListener("click", () => act(node));
    frame.tools.append(node);
    return node;
  };
  button("+", "Zoom in", () => zoomBy(2));
  button("−", "Zoom out", () => zoomBy(0.5));
  button("All", "Show all of it", reset);
  if (all.some((p) => p.samples)) button("Samples", "Show single samples", (node) => { samples = !samples; node.setAttribute("aria-pressed", samples); draw(); }).setAttribute("class", "toggle");
  if (series.length > 1) addLegend(frame, series, shown, draw);
  draw();
}

/* A button for each curve, which shows it or not. */
function addLegend(frame, series, shown, draw) {
  const legend = el("div", { class: series.length > 12 ? "legend many" : "legend", role: "group", "aria-label": "Curves" });
  series.forEach((s, i) => {
    const node = el("button", { type: "button", "aria-pressed": String(shown[i]) }, keyOf(cut(s.name, 60), i));
    node.addEventListener("click", () => { shown[i] = !shown[i]; node.setAttribute("aria-pressed", String(shown[i])); draw(); });
    legend.append(node);
  });
  frame.body.prepend(legend);
}
