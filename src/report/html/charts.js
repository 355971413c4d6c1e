/* Lines and points over two axes, which can be zoomed into down to single samples. */

/* Not more than fit. Ticks of bytes are powers of two or multiples of one; of a logarithmic axis 1, 2 and 5 of each decade, or fewer. */
function ticksOf(scale, isBytes, count) {
  const [low, high] = d3.extent(scale.domain());
  if (isBytes && scale.base && high / low >= 8) {
    const first = Math.ceil(Math.log2(low)), last = Math.floor(Math.log2(high));
    return d3.range(first, last + 1, Math.max(1, Math.ceil((last - first) / count))).map((power) => 2 ** power);
  }
  if (isBytes) {
    const step = 2 ** Math.max(0, Math.ceil(Math.log2((high - low) / Math.min(count, 6))));
    return d3.range(Math.ceil(low / step) * step, high + step / 1e6, step);
  }
  if (!scale.base || high / low < 10) return d3.ticks(low, high, Math.min(count, 8));
  for (const kept of [[1, 2, 5], [1, 3], [1]]) {
    const ticks = scale.ticks(99).filter((t) => kept.includes(Math.round(t / 10 ** Math.floor(Math.log10(t) + 1e-9))));
    if (ticks.length <= count || kept.length === 1) return ticks;
  }
  return [];
}

function extentOf(values, log) {
  const usable = values.filter((v) => Number.isFinite(v) && (!log || v > 0));
  if (!usable.length) return log ? [1, 10] : [0, 1];
  let [low, high] = d3.extent(usable);
  if (low === high) { low *= 0.9; high = high * 1.1 || 1; }
  return log ? [low / 1.08, high * 1.12] : [Math.min(0, low), high * 1.06];
}

/* series: [{name, points: [{x, y, low?, high?, lines?, samples?}], off?}]; marks: hlines [{y, label}], vlines [{x, label}]. */
function xyChart(frame, options) {
  const { series, xLog, yLog, xLabel, yLabel, xFormat = number, yFormat = number, hlines = [], vlines = [], height = 380, theory = [], join = true, fit = false } = options;
  const radius = options.dots !== undefined ? options.dots : series.some((s) => s.points.length > 400) ? 0 : 2.8;
  const all = series.flatMap((s) => s.points);
  const drawing = addDrawing(frame, height, `${frame.node.querySelector("h3").textContent}: ${yLabel} against ${xLabel}, ${series.length} curves, ${all.length} points. Arrow keys step through the points, plus and minus zoom.`);
  const { svg, width } = drawing;
  const edge = { left: 62, right: 18, top: 16, bottom: 44 };
  const x0 = (xLog ? d3.scaleLog().base(xFormat === bytes ? 2 : 10) : d3.scaleLinear()).domain(extentOf(all.map((p) => p.x).concat(fit ? vlines.map((v) => v.x) : []), xLog)).range([edge.left, width - edge.right]);
  const yValues = all.flatMap((p) => [p.y, p.low, p.high]).concat(theory.map((t) => t.y));
  const y0 = (yLog ? d3.scaleLog() : d3.scaleLinear()).domain(extentOf(yValues, yLog)).range([height - edge.bottom, edge.top]);
  let x = x0, y = y0, transform = d3.zoomIdentity, samples = false;
  const shown = series.map((s) => !s.off);

  const clip = `clip-${frame.id}`;
  svg.append("clipPath").attr("id", clip).append("rect").attr("x", edge.left).attr("y", edge.top).attr("width", width - edge.left - edge.right).attr("height", height - edge.top - edge.bottom);
  const gridX = svg.append("g").attr("class", "gridline").attr("transform", `translate(0,${height - edge.bottom})`);
  const gridY = svg.append("g").attr("class", "gridline").attr("transform", `translate(${edge.left},0)`);
  const axisX = svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - edge.bottom})`);
  const axisY = svg.append("g").attr("class", "axis").attr("transform", `translate(${edge.left},0)`);
  svg.append("text").attr("class", "soft").attr("x", (edge.left + width - edge.right) / 2).attr("y", height - 8).attr("text-anchor", "middle").text(xLabel);
  svg.append("text").attr("class", "soft").attr("transform", `translate(14,${(edge.top + height - edge.bottom) / 2}) rotate(-90)`).attr("text-anchor", "middle").text(yLabel);
  const plot = svg.append("g").attr("clip-path", `url(#${clip})`);
  const marks = plot.append("g"), lines = plot.append("g"), dots = plot.append("g");

  const visible = (p) => {
    const px = x(p.x), py = y(p.y);
    return px >= edge.left - 1 && px <= width - edge.right + 1 && py >= edge.top - 1 && py <= height - edge.bottom + 1;
  };
  const usable = (p) => Number.isFinite(p.x) && Number.isFinite(p.y) && (!xLog || p.x > 0) && (!yLog || p.y > 0);

  /* The text of a line stands above it, or below where the frame ends. */
  const beside = (level) => y(level) + (y(level) < edge.top + 14 ? 13 : -4);
  function drawMarks() {
    marks.selectAll("*").remove();
    for (const mark of hlines) {
      if (yLog && !(mark.y > 0)) continue;
      marks.append("line").attr("class", "mark").attr("x1", edge.left).attr("x2", width - edge.right).attr("y1", y(mark.y)).attr("y2", y(mark.y));
      marks.append("text").attr("class", "soft").attr("x", width - edge.right - 4).attr("y", beside(mark.y)).attr("text-anchor", "end").text(cut(mark.label, 50));
    }
    for (const mark of theory) {
      marks.append("line").attr("class", "theory").attr("x1", edge.left).attr("x2", width - edge.right).attr("y1", y(mark.y)).attr("y2", y(mark.y));
      marks.append("text").attr("x", edge.left + 6).attr("y", beside(mark.y)).text(cut(mark.label, 70));
    }
    let level = 0;
    for (const mark of vlines) {
      if (xLog && !(mark.x > 0)) continue;
      marks.append("line").attr("class", "mark").attr("y1", edge.top).attr("y2", height - edge.bottom).attr("x1", x(mark.x)).attr("x2", x(mark.x));
      marks.append("text").attr("class", "soft").attr("x", x(mark.x) - 4).attr("y", edge.top + 11 + 13 * (level++ % 4)).attr("text-anchor", "end").text(cut(mark.label, 40));
    }
  }

  function draw() {
    const tx = ticksOf(x, xFormat === bytes, Math.max(3, width / 70)), ty = ticksOf(y, yFormat === bytes, 9);
    axisX.call(d3.axisBottom(x).tickValues(tx).tickFormat((v) => xFormat(v)));
    axisY.call(d3.axisLeft(y).tickValues(ty).tickFormat((v) => yFormat(v)));
    gridX.call(d3.axisBottom(x).tickValues(tx).tickSize(-(height - edge.top - edge.bottom)).tickFormat(""));
    gridY.call(d3.axisLeft(y).tickValues(ty).tickSize(-(width - edge.left - edge.right)).tickFormat(""));
    drawMarks();
    lines.selectAll("*").remove();
    dots.selectAll("*").remove();
    series.forEach((s, i) => {
      if (!shown[i]) return;
      const points = s.points.filter(usable);
      if (join && points.length > 1) lines.append("path").attr("fill", "none").attr("stroke", colour(i)).attr("stroke-width", 1.6).attr("d", d3.line().x((p) => x(p.x)).y((p) => y(p.y))(points));
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
  const legend = el("div", { class: "legend", role: "group", "aria-label": "Curves" });
  series.forEach((s, i) => {
    const swatch = el("span", { class: "swatch" });
    swatch.style.background = colour(i);
    const node = el("button", { type: "button", "aria-pressed": String(shown[i]) }, swatch, cut(s.name, 60));
    node.addEventListener("click", () => { shown[i] = !shown[i]; node.setAttribute("aria-pressed", String(shown[i])); draw(); });
    legend.append(node);
  });
  frame.body.prepend(legend);
}
