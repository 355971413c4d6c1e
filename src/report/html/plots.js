/* Bar and dot charts, stacked bars, heat maps, strips of hits and misses, and small multiples of columns. */

const MAX_LABEL = 40; /* characters of a bar's label; longer labels are cut in the middle */

/* Draws horizontal bars; on a logarithmic axis, where the length of a bar means nothing, dots instead. rows: [{label, value, low?, high?, more?: [{value, label}], lines?, colour?}]. low and high are drawn as a
   whisker, `more` as diamonds; `lines` is the tooltip. The longest label determines where the bars start. `axisEnd`: the upper end of the
   axis, by default a little beyond the longest bar. theory: [{y, label}], vertical lines. */
function barChart(frame, { rows, log, format = number, unit = "", theory = [], axisEnd = null }) {
  const rowHeight = rows.length > 24 ? 18 : 24, height = 30 + rows.length * rowHeight + 26;
  const drawing = addDrawing(frame, height, `${frame.node.querySelector("h3").textContent}: ${rows.length} ${log ? "dots" : "bars"}, ${unit}`);
  const { svg, width } = drawing;
  const wanted = 24 + 6.6 * d3.max(rows, (r) => Math.min(MAX_LABEL, String(r.label).length)), left = Math.min(width * (width < 460 ? 0.58 : 0.4), wanted);
  const maxCharacters = left < wanted ? Math.floor((left - 12) / 7.6) : MAX_LABEL;
  const values = rows.flatMap((r) => [r.value, r.high, ...(r.more || []).map((m) => m.value)]).concat(theory.map((t) => t.y)).filter((v) => Number.isFinite(v) && v > 0);
  const lowest = Math.min(...rows.flatMap((r) => [r.value, r.low]).filter((v) => v > 0));
  const x = log ? d3.scaleLog().domain([10 ** Math.floor(Math.log10(lowest * 0.8)), d3.max(values) * 1.1]) : d3.scaleLinear().domain([0, axisEnd || d3.max(values) * 1.18 || 1]);
  /* On a logarithmic axis, numbers are to the right of their dots. */
  x.range([left, width - 14 - (log ? 6.6 * d3.max(rows, (r) => format(r.value).length) : 0)]);
  const tickLabel = (v) => tickText(v, format).replace(/\.0+(?= )/, ""), ticks = ticksOf(x, false, format === rate ? 58 : 44).filter((v) => x(v) + 3 * tickLabel(v).length < width);
  svg.append("g").attr("class", "gridline").attr("transform", `translate(0,${height - 26})`).call(d3.axisBottom(x).tickValues(ticks).tickSize(-(height - 40)).tickFormat(""));
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - 26})`).call(d3.axisBottom(x).tickValues(ticks).tickFormat(tickLabel));
  const items = [], labels = cutDistinct(rows.map((r) => r.label), maxCharacters);
  rows.forEach((r, i) => {
    const top = 14 + i * rowHeight, bar = rowHeight - 6, end = x(Math.max(r.value, x.domain()[0]));
    svg.append("text").attr("x", left - 6).attr("y", top + bar / 2 + 4).attr("text-anchor", "end").text(labels[i]);
    if (log) svg.append("line").attr("class", "guide").attr("x1", left).attr("x2", width - 14).attr("y1", top + bar / 2).attr("y2", top + bar / 2);
    else svg.append("rect").attr("class", "bar").attr("x", left).attr("y", top).attr("width", Math.max(1, end - left)).attr("height", bar).attr("fill", r.colour || colour(0)).attr("opacity", 0.8);
    if (Number.isFinite(r.low) && Number.isFinite(r.high) && r.high > r.low) {
      const from = x(Math.max(r.low, x.domain()[0]));
      svg.append("path").attr("stroke", "var(--ink)").attr("fill", "none").attr("d", `M${from},${top + 3}v${bar - 6}M${from},${top + bar / 2}H${x(r.high)}M${x(r.high)},${top + 3}v${bar - 6}`);
    }
    if (log) svg.append("circle").attr("class", "dot").attr("cx", end).attr("cy", top + bar / 2).attr("r", 5).attr("fill", r.colour || colour(0));
    for (const m of r.more || []) {
      svg.append("path").attr("d", d3.symbol().type(d3.symbolDiamond).size(48)()).attr("transform", `translate(${x(m.value)},${top + bar / 2})`).attr("fill", colour(1));
      items.push({ x: x(m.value), y: top + bar / 2, lines: [String(r.label), `${m.label}: ${format(m.value)} ${unit}`.trim()], box: [x(m.value) - 5, top, 10, bar] });
    }
    /* The number is drawn inside the bar if it fits, because whiskers and diamonds may be next to the end of the bar. */
    const inside = !log && end - left > 9 * format(r.value).length + 12;
    const ends = Math.max(end, Number.isFinite(r.high) ? x(r.high) : 0, ...(r.more || []).map((m) => x(m.value) + 4));
    const from = inside && r.low > 0 ? Math.min(end, x(Math.max(r.low, x.domain()[0]))) : end;
    svg.append("text").attr("class", inside ? "inside" : "soft").attr("x", inside ? from - 6 : ends + (log ? 9 : 5)).attr("y", top + bar / 2 + 4).attr("text-anchor", inside ? "end" : "start").text(format(r.value));
    items.push({ x: end, y: top + bar / 2, lines: r.lines || [String(r.label), `${format(r.value)} ${unit}`.trim()], box: [0, top, width, bar] });
  });
  for (const mark of theory) {
    svg.append("line").attr("class", "theory").attr("x1", x(mark.y)).attr("x2", x(mark.y)).attr("y1", 10).attr("y2", height - 26);
    svg.append("text").attr("x", x(mark.y) - 4).attr("y", 11).attr("text-anchor", "end").text(cut(mark.label, 60));
  }
  svg.append("text").attr("class", "soft").attr("x", width - 14).attr("y", height - 30).attr("text-anchor", "end").text(unit);
  addCursor(drawing, () => items);
}

/* Draws rows of dots on one axis. rows: [{label, dots: [{value, low?, high?, colour, lines}]}]. `colour` is an index; the dots of a row share its
   line. Dots without a positive value are left out if the axis is logarithmic. */
function dotChart(frame, { rows, names, log = true, format = number, unit = "" }) {
  const shown = rows.map((r) => ({ ...r, dots: r.dots.filter((d) => Number.isFinite(d.value) && (!log || d.value > 0)) })).filter((r) => r.dots.length);
  const rowHeight = 26, height = 16 + shown.length * rowHeight + 42;
  frame.body.append(el("div", { class: "legend" }, ...names.map((name, i) => legendKey(cut(name, 60), i))));
  const drawing = addDrawing(frame, height, `${frame.node.querySelector("h3").textContent}: ${shown.length} rows of dots, ${unit}`), { svg, width } = drawing;
  const wanted = 20 + 6.6 * d3.max(shown, (r) => Math.min(MAX_LABEL, r.label.length)), left = Math.min(width * (width < NARROW ? 0.45 : 0.4), wanted), values = shown.flatMap((r) => r.dots.map((d) => d.value));
  const [low, high] = d3.extent(values), x = (log ? d3.scaleLog().base(format === bytes ? 2 : 10).domain([low / 1.4, high * 1.4]) : d3.scaleLinear().domain([0, high * 1.1])).range([left, width - 20]);
  const ticks = ticksOf(x, format === bytes, format === number ? 44 : 62), bottom = height - 42;
  svg.append("g").attr("class", "gridline").attr("transform", `translate(0,${bottom})`).call(d3.axisBottom(x).tickValues(ticks).tickSize(-(bottom - 8)).tickFormat(""));
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${bottom})`).call(d3.axisBottom(x).tickValues(ticks).tickFormat((v) => tickText(v, format).replace(/\.0+(?= )/, "")));
  svg.append("text").attr("class", "soft").attr("x", (left + width - 20) / 2).attr("y", height - 6).attr("text-anchor", "middle").text(unit);
  const items = [], labels = cutDistinct(shown.map((r) => r.label), left < wanted ? Math.floor((left - 10) / 7.2) : MAX_LABEL);
  shown.forEach((r, i) => {
    const y = 16 + (i + 0.5) * rowHeight;
    svg.append("text").attr("x", left - 8).attr("y", y + 4).attr("text-anchor", "end").text(labels[i]);
    svg.append("line").attr("class", "guide").attr("x1", left).attr("x2", width - 20).attr("y1", y).attr("y2", y);
    r.dots.forEach((d) => {
      /* Dots of equal value lie side by side, so that none hides another. */
      const same = r.dots.filter((o) => Math.abs(x(o.value) - x(d.value)) < 3), at = y + (same.indexOf(d) - (same.length - 1) / 2) * Math.min(7, 20 / same.length);
      svg.append("circle").attr("class", "dot").attr("cx", x(d.value)).attr("cy", at).attr("r", same.length > 2 ? 3.4 : 4.6).attr("fill", colour(d.colour));
      items.push({ x: x(d.value), y: at, lines: d.lines });
    });
  });
  addCursor(drawing, () => items);
}

/* Draws stacked horizontal bars. rows: [{label, parts: [{value, lines}]}], with the parts in the order of `names`. */
function stackedBars(frame, { rows, names, unit, top }) {
  const rowHeight = 28, height = 12 + rows.length * rowHeight + 42;
  frame.body.append(el("div", { class: "legend" }, ...names.map((name, i) => legendKey(name, i))));
  const drawing = addDrawing(frame, height, `${frame.node.querySelector("h3").textContent}: ${rows.length} stacked bars, ${unit}`), { svg, width } = drawing;
  const wanted = 20 + 6.6 * d3.max(rows, (r) => Math.min(MAX_LABEL, r.label.length)), left = Math.min(width * 0.42, wanted), bottom = height - 42;
  const x = d3.scaleLinear().domain([0, top]).range([left, width - 58]), ticks = ticksOf(x, false, 50);
  svg.append("g").attr("class", "gridline").attr("transform", `translate(0,${bottom})`).call(d3.axisBottom(x).tickValues(ticks).tickSize(-(bottom - 8)).tickFormat(""));
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${bottom})`).call(d3.axisBottom(x).tickValues(ticks).tickFormat((v) => tickText(v, number)));
  svg.append("text").attr("class", "soft").attr("x", (left + width - 58) / 2).attr("y", height - 6).attr("text-anchor", "middle").text(shorten(unit, width - 20));
  const items = [], labels = cutDistinct(rows.map((r) => r.label), left < wanted ? Math.floor((left - 10) / 7.2) : MAX_LABEL);
  rows.forEach((r, i) => {
    const y = 12 + i * rowHeight;
    let from = 0;
    svg.append("text").attr("x", left - 6).attr("y", y + 14).attr("text-anchor", "end").text(labels[i]);
    r.parts.forEach((part, k) => {
      if (!(part.value > 0)) return;
      svg.append("rect").attr("class", "part").attr("x", x(from)).attr("y", y).attr("width", Math.max(0.5, x(from + part.value) - x(from))).attr("height", rowHeight - 8).attr("fill", colour(k));
      items.push({ x: x(from + part.value / 2), y, lines: part.lines, box: [x(from), y, Math.max(3, x(from + part.value) - x(from)), rowHeight - 8] });
      from += part.value;
    });
    if (!from) items.push({ x: left, y, lines: [r.label, "no misses"], box: [left, y, 40, rowHeight - 8] });
    svg.append("text").attr("class", "soft").attr("x", x(from) + 5).attr("y", y + 14).text(`${number(from, 3)} %`);
  });
  addCursor(drawing, () => items);
}

/* Draws a heat map. cells: [{x, y, value, lines?, side?}] with x and y from the lists xs and ys. `side` is an index that selects the colour of
   the lower edge of the cell. Values that span more than a factor of 20 are coloured on a logarithmic scale. */
function heatMap(frame, { xs, ys, cells, xLabel, yLabel, unit = "", format = number, square = false }) {
  const outer = widthOf(frame), left = 62, right = 16, top = 8;
  const cellWidth = Math.min(square ? 46 : 90, (outer - left - right) / xs.length);
  const cellHeight = square ? cellWidth : Math.max(16, Math.min(30, 360 / ys.length));
  const height = top + ys.length * cellHeight + 44 + 34;
  const drawing = addDrawing(frame, height, `${frame.node.querySelector("h3").textContent}: heat map of ${cells.length} cells, ${unit}. The table below has the numbers.`);
  const { svg } = drawing;
  const values = cells.map((c) => c.value).filter(Number.isFinite);
  const [low, high] = d3.extent(values);
  const log = low > 0 && high / low > 20;
  const fraction = (v) => high === low ? 0.5 : log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low);
  const shade = (v) => d3.interpolateViridis(0.08 + 0.9 * fraction(v));
  const items = [];
  const column = new Map(xs.map((v, i) => [v, i])), row = new Map(ys.map((v, i) => [v, i]));
  for (const c of cells) {
    if (!Number.isFinite(c.value)) continue;
    const cx = left + column.get(c.x) * cellWidth, cy = top + row.get(c.y) * cellHeight;
    svg.append("rect").attr("class", "cell").attr("x", cx + 0.5).attr("y", cy + 0.5).attr("width", cellWidth - 1).attr("height", cellHeight - 1).attr("fill", shade(c.value));
    if (Number.isFinite(c.side)) svg.append("rect").attr("x", cx + 0.5).attr("y", cy + cellHeight - 4.5).attr("width", cellWidth - 1).attr("height", 4).attr("fill", colour(c.side)).attr("stroke", "var(--panel)").attr("stroke-width", 0.7);
    if (cellWidth >= 34 && cellHeight >= 14) svg.append("text").attr("x", cx + cellWidth / 2).attr("y", cy + cellHeight / 2 + 4).attr("text-anchor", "middle").style("font-size", "11px").style("fill", fraction(c.value) > 0.62 ? "#111" : "#fff").text(number(c.value, 4));
    items.push({ x: cx + cellWidth / 2, y: cy, lines: c.lines || [`${format(c.value)} ${unit}`.trim(), `${xLabel}: ${number(c.x)}`, `${yLabel}: ${number(c.y)}`], box: [cx, cy, cellWidth, cellHeight] });
  }
  const bottom = top + ys.length * cellHeight;
  const every = Math.ceil(34 / cellWidth);
  if (xLabel) {
    xs.forEach((v, i) => { if (i % every === 0) svg.append("text").attr("class", "soft").attr("x", left + (i + 0.5) * cellWidth).attr("y", bottom + 14).attr("text-anchor", "middle").text(number(v)); });
    svg.append("text").attr("class", "soft").attr("x", left + xs.length * cellWidth / 2).attr("y", bottom + 32).attr("text-anchor", "middle").text(xLabel);
  }
  ys.forEach((v, i) => svg.append("text").attr("class", "soft").attr("x", left - 6).attr("y", top + (i + 0.5) * cellHeight + 4).attr("text-anchor", "end").text(number(v)));
  if (yLabel) svg.append("text").attr("class", "soft").attr("transform", `translate(12,${(top + bottom) / 2}) rotate(-90)`).attr("text-anchor", "middle").text(shorten(yLabel, bottom - top));
  /* The colour scale. */
  const piece = outer < NARROW ? 1.5 : 3;
  for (let i = 0; i < 60; i++) svg.append("rect").attr("x", left + i * piece).attr("y", height - 26).attr("width", piece + 0.2).attr("height", 10).attr("fill", d3.interpolateViridis(0.08 + 0.9 * i / 59));
  svg.append("text").attr("class", "soft").attr("x", left - 6).attr("y", height - 17).attr("text-anchor", "end").text(format(low));
  svg.append("text").attr("class", "soft").attr("x", left + 60 * piece + 6).attr("y", height - 17).text(`${format(high)} ${unit}${!log ? "" : outer < NARROW ? ", log" : " (log scale)"}`);
  addCursor(drawing, () => items);
}

/* Draws rows of hits (0) and misses (1) of `unit`, which is "line" or "page". Equal neighbours are drawn as one piece. describe(row, first, last, miss) returns the tooltip of a
   piece. */
function stripChart(frame, { rows, labels, unit, describe }) {
  const height = 20 + rows.length * 20 + 22;
  const drawing = addDrawing(frame, height, `${frame.node.querySelector("h3").textContent}: ${rows.length} passes as strips of hits and misses`);
  const { svg, width } = drawing;
  const left = 66, count = d3.max(rows, (r) => r.length), scale = (width - left - 62 - 7 * String(count).length) / count;
  const items = [];
  rows.forEach((row, i) => {
    const top = 10 + i * 20;
    svg.append("text").attr("class", "soft").attr("x", left - 6).attr("y", top + 12).attr("text-anchor", "end").text(labels[i]);
    svg.append("rect").attr("x", left).attr("y", top).attr("width", row.length * scale).attr("height", 15).attr("fill", "var(--grid)");
    let begin = 0;
    for (let j = 1; j <= row.length; j++) {
      if (j < row.length && row[j] === row[begin]) continue;
      if (row[begin]) svg.append("rect").attr("class", "miss").attr("x", left + begin * scale).attr("y", top).attr("width", Math.max(0.6, (j - begin) * scale)).attr("height", 15).attr("fill", colour(1));
      items.push({ x: left + (begin + j) / 2 * scale, y: top, lines: describe(i, begin, j - 1, row[begin]), box: [left + begin * scale, top, (j - begin) * scale, 15] });
      begin = j;
    }
    const misses = d3.sum(row);
    svg.append("text").attr("class", "soft").attr("x", left + row.length * scale + 6).attr("y", top + 12).text(`${misses} miss${misses === 1 ? "" : "es"}`);
  });
  svg.append("rect").attr("x", left + count * scale / 2 - 40).attr("y", height - 16).attr("width", 12).attr("height", 11).attr("fill", colour(1));
  svg.append("text").attr("class", "soft").attr("x", left + count * scale / 2 - 22).attr("y", height - 6).text("miss");
  svg.append("text").attr("class", "soft").attr("x", left).attr("y", height - 6).text(`${unit} 1`);
  svg.append("text").attr("class", "soft").attr("x", left + count * scale).attr("y", height - 6).attr("text-anchor", "end").text(`${unit} ${count}`);
  addCursor(drawing, () => items);
}

/* Draws small multiples of column charts. multiples: [{title, values, lines(i)}], with one column per value. `top`: upper end of the y axes. */
function columnMultiples(frame, { multiples, xLabel, yLabel, top = 1 }) {
  const outer = widthOf(frame), across = Math.max(1, Math.min(multiples.length, Math.floor(outer / 260)));
  const each = outer / across, down = Math.ceil(multiples.length / across), rowHeight = 130;
  const drawing = addDrawing(frame, down * rowHeight, `${frame.node.querySelector("h3").textContent}: ${multiples.length} small charts, ${yLabel} by ${xLabel}`);
  const { svg, width } = drawing;
  const items = [];
  multiples.forEach((m, i) => {
    const left = (i % across) * each + 40, base = Math.floor(i / across) * rowHeight + 100, inner = Math.min(each, width) - 56;
    const y = d3.scaleLinear().domain([0, top]).range([base, base - 76]);
    svg.append("text").attr("x", left).attr("y", base - 84).text(cut(m.title, 34));
    svg.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`).call(d3.axisLeft(y).ticks(3));
    if (i % across === 0) svg.append("text").attr("class", "soft").attr("transform", `translate(${left - 28},${base - 38}) rotate(-90)`).attr("text-anchor", "middle").style("font-size", "10px").text(yLabel);
    const step = inner / m.values.length;
    m.values.forEach((v, j) => {
      svg.append("rect").attr("class", "bar").attr("x", left + j * step + 0.5).attr("y", y(v)).attr("width", Math.max(1, step - 1)).attr("height", Math.max(0.5, base - y(v))).attr("fill", colour(i));
      items.push({ x: left + (j + 0.5) * step, y: y(v), lines: m.lines(j), box: [left + j * step, base - 76, step, 76] });
    });
    svg.append("line").attr("x1", left).attr("x2", left + inner).attr("y1", base).attr("y2", base).attr("stroke", "var(--line)");
    svg.append("text").attr("class", "soft").attr("x", left).attr("y", base + 14).text(`${xLabel} 0`);
    svg.append("text").attr("class", "soft").attr("x", left + inner).attr("y", base + 14).attr("text-anchor", "end").text(m.values.length - 1);
  });
  addCursor(drawing, () => items);
}
