/* The results of 'fathom explore' as small multiples: one figure per study with a small chart per kernel, which shows the percentage of hits
   against the parameter that varies. */

const HIT_COLUMNS = [["l1_read_hit_percent", "L1 reads"], ["l2_hit_percent", "L2"], ["l2_read_hit_percent_l1_off", "L2 reads, L1 off"]];
const MAX_PANELS = 48; /* small charts drawn per study; heuristic */

/* A size such as 16K as a number (16384). NaN for a text that is no size. */
function sizeOf(text) {
  const found = /^([0-9]+(?:\.[0-9]+)?)([kmgtp])?(?:i?b)?$/i.exec(text.trim());
  return found ? Number(found[1]) * 1024 ** (found[2] ? "kmgtp".indexOf(found[2].toLowerCase()) + 1 : 0) : NaN;
}

/* The axes of a study: the parameters that vary. Parameters that vary together are one axis. A list from 'fathom explore --json' has no
   description of its studies; its parameters are the columns with a dot in their name.
   of(row): the value of a row on the axis. alike: the parameters of the axis have equal values in every row. */
function axesOf(study, rows) {
  const vary = listOf(field(study, "vary")).map((axis) => Array.isArray(axis.names) ? axis.names.map(String) : []).filter((names) => names.length);
  const named = study ? vary : [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => name.includes(".")).map((name) => [name]);
  const gpus = new Set(rows.map((row) => textOf(field(row, "gpu")))).size > 1 ? [["gpu"]] : []; /* several GPUs are one more axis */
  return named.concat(gpus).map((names) => {
    const parts = (row) => names.map((name) => textOf(field(row, name))), alike = rows.every((row) => new Set(parts(row)).size === 1);
    const of = (row) => alike ? parts(row)[0] : parts(row).join("+");
    const values = [...new Set(rows.map(of))], numbers = values.map(sizeOf);
    return { names, title: names.join(" + "), of, alike, values, numeric: numbers.every(Number.isFinite), numbers };
  });
}

/* The value of an axis where it does not vary: from --set, from the study, or from the base configuration (the GPU's), in this order. null if
   it is unknown. */
function baselineOf(document_, study, axis) {
  const settings = [...listOf(field(study, "set")), ...listOf(document_.set)];
  const values = axis.names.map((name) => {
    const set = settings.filter((s) => field(s, name) !== undefined).pop();
    return set ? field(set, name) : field(document_.base, name);
  });
  if (values.some((v) => v === undefined || v === "")) return null;
  return axis.alike && new Set(values).size === 1 ? String(values[0]) : values.map(String).join("+");
}

/* How the values of an axis are placed: sizes, and numbers that span a factor of 8 or more, on a logarithmic scale; other numbers on a linear
   scale; names next to each other. at(text): the position on the scale. show(text): the value for display. mark: the baseline to mark, or
   null. joined: whether points are connected by lines. */
function placementOf(axis, baseline) {
  const marked = baseline === null ? NaN : sizeOf(baseline), isBytes = axis.names.every((name) => /_bytes$/.test(name));
  const [low, high] = d3.extent(axis.numbers), log = axis.numeric && low > 0 && (isBytes || high / low >= 8);
  const show = (text) => axis.numeric && isBytes && Number.isFinite(sizeOf(text)) ? bytes(sizeOf(text)) : text;
  if (!axis.numeric) return { scale: d3.scalePoint().domain(axis.values).padding(0.5), at: (text) => text, show, mark: axis.values.includes(baseline) ? baseline : null, joined: false };
  /* A baseline so far away that it would take more than half of the axis is not marked; the note gives it. */
  const length = (from, to) => log ? Math.log(to / from) : to - from, near = (!log || marked > 0) && length(Math.min(low, marked), Math.max(high, marked)) <= 2 * length(low, high);
  const [from, to] = d3.extent(near ? axis.numbers.concat(marked) : axis.numbers), same = from === to;
  const domain = log ? [from / (same ? 2 : 1), to * (same ? 2 : 1)] : [from - (same ? 1 : 0), to + (same ? 1 : 0)];
  return { scale: (log ? d3.scaleLog().base(2) : d3.scaleLinear()).domain(domain), at: sizeOf, show, mark: near ? baseline : null, joined: true };
}

/* Draws small charts next to each other, each with percentages from 0 to 100 against the values of one axis.
   panels: [{title, series: [{name, points: [{x, y, lines}]}]}], with the same series in the same order in all of them. */
function lineMultiples(frame, { panels, names, axis, place, label }) {
  const outer = widthOf(frame), across = Math.max(1, Math.min(panels.length, Math.floor(outer / 250)));
  const each = Math.min(outer / across, 420), edge = { left: 44, right: 14, top: 26, bottom: axis.numeric ? 44 : 57 }, rowHeight = 134 + edge.bottom;
  const drawing = addDrawing(frame, Math.ceil(panels.length / across) * rowHeight, label), { svg } = drawing;
  const shown = names.map(() => true);
  let items = [];
  const inner = each - edge.left - edge.right;
  /* As many values as fit get a tick. Names that do not fit in the first line are put into a second one. */
  const widest = d3.max(axis.values, (v) => Math.min(12, place.show(v).length)) * 6.4 + 8;
  const sorted = axis.numeric ? axis.values.slice().sort((a, b) => place.at(a) - place.at(b)) : axis.values;
  function fitting(values, x) {
    const kept = [];
    for (const value of values) if (!kept.length || x(place.at(value)) - x(place.at(kept[kept.length - 1])) >= widest) kept.push(value);
    return kept;
  }
  function ticks(x) {
    const first = fitting(sorted, x), second = axis.numeric ? [] : fitting(sorted.filter((value) => !first.includes(value)), x);
    return [...first.map((value) => [value, 0]), ...second.map((value) => [value, 13])];
  }

  function drawPanel(panel, i) {
    const group = svg.append("g").attr("class", "panel"), left = (i % across) * each + edge.left, top = Math.floor(i / across) * rowHeight + edge.top, bottom = top + rowHeight - edge.top - edge.bottom;
    const x = place.scale.copy().range([left + 8, left + inner - 8]), y = d3.scaleLinear().domain([0, 100]).range([bottom, top]);
    group.append("text").attr("x", left).attr("y", top - 10).text(cut(panel.title, Math.floor(inner / 6.6))).append("title").text(cut(panel.title, 400));
    for (const level of [0, 50, 100]) {
      group.append("g").attr("class", "gridline").append("line").attr("x1", left).attr("x2", left + inner).attr("y1", y(level)).attr("y2", y(level));
      group.append("text").attr("class", "soft").attr("x", left - 5).attr("y", y(level) + 4).attr("text-anchor", "end").text(`${level} %`);
    }
    for (const [value, down] of ticks(x)) {
      group.append("g").attr("class", "axis").append("line").attr("x1", x(place.at(value))).attr("x2", x(place.at(value))).attr("y1", bottom).attr("y2", bottom + 4 + down);
      group.append("text").attr("class", "soft").attr("x", x(place.at(value))).attr("y", bottom + 17 + down).attr("text-anchor", "middle").text(cut(place.show(value), 12));
    }
    group.append("text").attr("class", "soft").attr("x", left + inner / 2).attr("y", bottom + (axis.numeric ? 33 : 46)).attr("text-anchor", "middle").text(cut(axis.title, Math.floor(inner / 6.6)));
    if (place.mark !== null) group.append("line").attr("class", "mark").attr("x1", x(place.at(place.mark))).attr("x2", x(place.at(place.mark))).attr("y1", top - 4).attr("y2", bottom);
    /* Earlier curves are wider, so that curves with equal values remain visible. */
    panel.series.forEach((s, k) => {
      if (!shown[k]) return;
      const points = place.joined ? s.points.slice().sort((a, b) => place.at(a.x) - place.at(b.x)) : s.points;
      const later = panel.series.length - k - 1;
      if (place.joined && points.length > 1) group.append("path").attr("fill", "none").attr("stroke", colour(k)).attr("stroke-width", Math.min(6, 1.4 + 1.7 * later)).attr("stroke-linejoin", "round").attr("d", d3.line().x((p) => x(place.at(p.x))).y((p) => y(p.y))(points));
      for (const p of points) {
        group.append("circle").attr("class", "point").attr("cx", x(place.at(p.x))).attr("cy", y(p.y)).attr("r", Math.min(7, 2.6 + 1.5 * later)).attr("fill", colour(k));
        items.push({ x: x(place.at(p.x)), y: y(p.y), lines: p.lines });
      }
    });
  }
  function draw() {
    svg.selectAll("g.panel").remove();
    items = [];
    panels.forEach(drawPanel);
  }
  draw();
  const cursor = addCursor(drawing, () => items, 24);
  addLegend(frame, names.map((name) => ({ name })), shown, () => { cursor.hide(); draw(); });
}

/* Assigns the axes of a study: one to the x axis, a second one with at most six values to curves, and the others to separate panels. */
function chooseAxes(axes) {
  const varied = axes.filter((axis) => axis.values.length > 1), x = varied.find((axis) => axis.numeric) || varied[0] || axes[0];
  const second = varied.find((axis) => axis !== x && axis.values.length <= 6);
  return { x, second, others: varied.filter((axis) => axis !== x && axis !== second) };
}

/* The points of one curve: the column `key`, called `what`, of the rows against the axis x. */
function pointsOf(rows, key, what, x, place, title) {
  return rows.filter((row) => typeof field(row, key) === "number").map((row) => ({ x: x.of(row), y: field(row, key), lines: [title, `${x.title}: ${place.show(x.of(row))}`, `${what}: ${number(field(row, key))} % hit`] }));
}

/* One panel per kernel. Its curves are the hit columns or, with a second axis, the values of that axis, with one panel per hit column. */
function panelsOf(rows, { x, second, others }, place, hitColumns) {
  const panels = [], manyTraces = new Set(rows.map((row) => field(row, "trace"))).size > 1;
  const panelName = (row) => [manyTraces ? textOf(field(row, "trace")).replace(/\.(json|trace)$/, "") : "", kernelOf(row), ...others.map((axis) => `${axis.title} ${axis.of(row)}`)].filter(Boolean).join(" · ");
  for (const [title, members] of groupsOf(rows, panelName)) {
    if (!second) {
      panels.push({ title, series: hitColumns.map(([key, what]) => ({ name: what, points: pointsOf(members, key, what, x, place, title) })) });
      continue;
    }
    for (const [key, what] of hitColumns) panels.push({ title: `${what}: ${title}`, series: second.values.map((value) => ({ name: `${second.title} ${value}`, points: pointsOf(members.filter((row) => second.of(row) === value), key, what, x, place, `${title}, ${second.title} ${value}`) })) });
  }
  return panels.filter((panel) => panel.series.some((s) => s.points.length));
}

/* Whether a row belongs to a study: a study may select one kernel of a trace. */
function isSelected(study, row) {
  const traces = listOf(field(study, "traces")).filter((trace) => field(trace, "name") === field(row, "trace"));
  return !traces.length || traces.some((trace) => field(trace, "kernel") === undefined || field(trace, "kernel") === field(row, "kernel"));
}

function showStudy(grid, document_, name, found) {
  const study = listOf(document_.studies).find((s) => field(s, "name") === name), rows = found.filter((row) => isSelected(study, row)), axes = axesOf(study, rows);
  const chosen = chooseAxes(axes.length ? axes : [{ names: [], title: "configuration", of: () => "", values: [""], numeric: false, numbers: [] }]), { x, second } = chosen;
  const baseline = x.names.length ? baselineOf(document_, study, x) : null, place = placementOf(x, baseline);
  const hitColumns = HIT_COLUMNS.filter(([key]) => rows.some((row) => typeof field(row, key) === "number"));
  const panels = panelsOf(rows, chosen, place, hitColumns);
  if (!panels.length) return;
  const notes = ["Percentage of sectors that hit."];
  if (place.mark !== null) notes.push(`Dashed line: ${place.show(baseline)}, the value in studies that do not vary it.`);
  else if (baseline !== null) notes.push(`In studies that do not vary it, ${cut(x.title, 60)} is ${cut(place.show(baseline), 60)}.`);
  const timed = rows.filter((row) => field(row, "timed") === "yes").length;
  if (timed && timed < rows.length) notes.push("Some points were computed with time, others without: their differences are partly those of the two models.");
  if (panels.length > MAX_PANELS) notes.push(`Only the first ${MAX_PANELS} of ${panels.length} charts are shown; the data table has all values.`);
  const title = `${name ? `${cut(name, 60)}: ` : ""}hit percentage by ${cut(x.title, 60)}${second ? ` and ${cut(second.title, 60)}` : ""}`;
  const frame = addFigure(grid, { title, name: "explore", wide: true, note: notes.join(" "), columns: ["trace", "kernel", ...axes.map((axis) => axis.names.join("+")), "l1_read_sectors", ...hitColumns.map(([key]) => key), "l2_sectors", ...(timed ? ["timed", "time_us"] : [])],
    rows: rows.map((row) => [field(row, "trace"), kernelOf(row), ...axes.map((axis) => axis.of(row)), field(row, "l1_read_sectors"), ...hitColumns.map(([key]) => field(row, key)), field(row, "l2_sectors"), ...(timed ? [field(row, "timed"), field(row, "time_us")] : [])]) });
  const all = panels.flatMap((panel) => panel.series.flatMap((s) => s.points)), [low, high] = d3.extent(all, (p) => p.y);
  lineMultiples(frame, { panels: panels.slice(0, MAX_PANELS), names: panels[0].series.map((s) => s.name), axis: x, place,
    label: `${title}: ${Math.min(MAX_PANELS, panels.length)} small charts, ${all.length} points from ${number(low)} to ${number(high)} %. Arrow keys step through the points.` });
}

function showExplore(grid, document_) {
  for (const [name, rows] of groupsOf(listOf(document_.rows), (row) => textOf(field(row, "study")))) showStudy(grid, document_, name, rows);
}
