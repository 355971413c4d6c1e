/* A searchable table of all figures of a description, the table of a comparison, and documents of unknown kinds. */

function figureTable(grid, gpu, id) {
  const columns = ["element", "figure", "value", "low", "high", "source", "confidence", "samples", "method", "note"], rows = [];
  const add = (section, attributes) => {
    for (const name of Object.keys(attributes)) {
      if (name === "unknown") {
        for (const [what, why] of Object.entries(attributes.unknown)) rows.push([section, what, "unknown", null, null, null, null, null, why, null]);
        continue;
      }
      const raw = attributes[name], f = raw !== null && typeof raw === "object" && !Array.isArray(raw) ? raw : { value: raw };
      rows.push([section, name, f.value, f.low, f.high, f.source, f.confidence, f.samples, f.method, f.note]);
    }
  };
  for (const name of ORDER.filter((n) => gpu.elements[n]).concat(Object.keys(gpu.elements).filter((n) => !ORDER.includes(n)))) add(name, gpu.elements[name]);
  add("device", gpu.device || {});
  const frame = addFigure(grid, { title: "All figures", wide: true, name: `figures-${id}`, columns, rows });
  frame.node.classList.add("long");
  const details = frame.node.querySelector("details");
  if (details) details.remove();
  const search = el("input", { type: "search", class: "search", placeholder: "Search, for example: l1 latency", "aria-label": "Search the figures" });
  const place = el("div", { class: "figures" });
  frame.body.append(search, place, el("p", { class: "note onpaper" }, "Intervals, sources, methods and notes are in the file, not on paper."));
  const titles = ["memory", "figure", "value", "interval", "source", "confidence", "samples", "method", "note"];
  const texts = rows.map(([section, name, value, low, high, source, confidence, samples, method, note]) => [titleOf(section), figureName(name), figureText(name, value),
    low !== undefined && low !== null && high !== undefined && low !== high ? `${figureText(name, low)} to ${figureText(name, high)}` : "", textOf(source), confidence === undefined || confidence === null ? "" : number(confidence, 3), samples === undefined || samples === null ? "" : number(samples), cut(textOf(method), 2000), cut(textOf(note), 2000)]);
  /* The words are searched in what the table shows and in the keys of the document. */
  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const some = texts.filter((row, i) => { const all = [...row, ...rows[i].map(textOf)].join(" ").toLowerCase(); return words.every((word) => all.includes(word)); });
    place.replaceChildren(tableOf(titles, some));
  };
  search.addEventListener("input", show);
  show();
}

function comparisonTable(grid, comparison) {
  const side = (s) => !s ? null : s.low !== undefined && s.low !== s.high ? `${number(s.value)} (${number(s.low)}..${number(s.high)})` : number(s.value, 6);
  const rows = (comparison.differences || []).map((d) => [d.section, d.attribute, side(d.a), side(d.b), typeof d.apart === "number" ? Number((100 * d.apart).toFixed(1)) : null]);
  const columns = ["element", "attribute", cut(comparison.a, 60), cut(comparison.b, 60), "difference_percent"];
  const frame = addFigure(grid, { title: "Differences", name: "what-differs", wide: true, note: rows.length ? "" : "No figures differ beyond their intervals.", columns, rows });
  const shown = (d, s) => !s ? "–" : `${figureText(textOf(d.attribute), s.value)}${s.low !== undefined && s.low !== s.high ? ` (${figureText(textOf(d.attribute), s.low)} to ${figureText(textOf(d.attribute), s.high)})` : ""}`;
  frame.body.append(tableOf(["memory", "figure", columns[2], columns[3], "gap"], listOf(comparison.differences).map((d) => [titleOf(textOf(d.section)), figureName(textOf(d.attribute)), shown(d, d.a), shown(d, d.b), typeof d.apart === "number" ? `${number(100 * d.apart, 3)} %` : "–"])));
  frame.node.querySelector("details")?.remove();
}

/* The table of 'fathom compare --fleet': the figures in which a GPU differs from most others of its name. */
function fleetTable(grid, fleet) {
  const text = (value) => Array.isArray(value) ? cut(value.join(" "), 300) : typeof value === "number" ? number(value, 6) : textOf(value);
  const columns = ["gpu", "element", "attribute", "value", "usual", "apart_percent"];
  const rows = listOf(fleet.differences).map((d) => columns.map((c) => c === "value" || c === "usual" ? text(d[c]) : field(d, c)));
  const frame = addFigure(grid, { title: "GPUs that differ from most others", name: "fleet", wide: true, columns, rows,
    note: `${number(fleet.gpus)} GPUs were compared, each with the others of the same name.${rows.length ? "" : " None differs."}` });
  const shown = (d, value) => Array.isArray(value) ? text(value) : figureText(textOf(d.attribute), value);
  frame.body.append(tableOf(["GPU", "memory", "figure", "value", "usual value", "gap"], listOf(fleet.differences).map((d) => [textOf(d.gpu), titleOf(textOf(d.element)), figureName(textOf(d.attribute)), shown(d, d.value), shown(d, d.usual), typeof d.apart_percent === "number" ? `${number(d.apart_percent)} %` : "–"])));
  frame.node.querySelector("details")?.remove();
}

/* Draws a document of an unknown kind: lists of objects become charts or tables, everything else a table of names and values. Objects are
   followed to a depth of three. */
function showOther(grid, document_, depth = 0, path = "") {
  const plain = [];
  for (const [name, value] of Object.entries(document_)) {
    const title = path ? `${path}: ${name}` : name;
    const isList = Array.isArray(value) && value.length > 0 && value.every((v) => v !== null && typeof v === "object" && !Array.isArray(v));
    if (isList) chartPoints(grid, { title: cut(title, 80), name: `other-${cut(title, 30).replace(/[^a-z0-9]+/gi, "-")}`, points: value.map(flat) });
    else if (value !== null && typeof value === "object" && !Array.isArray(value) && depth < 3 && Object.keys(value).length) showOther(grid, value, depth + 1, title);
    else plain.push([name, Array.isArray(value) ? value.join(" ") : value === null ? "–" : typeof value === "object" ? JSON.stringify(value) : value]);
  }
  if (plain.length) addFigure(grid, { title: path || "Summary", columns: ["name", "value"], rows: plain }).body.append(tableOf(["name", "value"], plain.map(([n, v]) => [n, typeof v === "number" ? number(v, 6) : cut(v, 2000)])));
}

/* Replaces objects inside a point, which a chart cannot show, with their JSON text. */
function flat(point) {
  return Object.fromEntries(Object.entries(point).map(([n, v]) => [n, v !== null && typeof v === "object" ? JSON.stringify(v) : v === null ? undefined : v]));
}
