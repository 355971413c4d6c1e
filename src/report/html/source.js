/* The annotated source: what each line of a kernel's source requests and moves, next to the line. The figures of an
   inlined function belong to the line in the kernel that calls it. That line also names the function and its position. */

const SOURCE_CONTEXT = 2; /* lines shown before and after a line with accesses; chosen */
const MAX_SOURCE_LINES = 400; /* lines shown per file; chosen */

/* The inlined function that contains an instruction, such as "load<float> (helper.cuh:2)"; its position alone if the name is unknown. */
function calleeOf(row) {
  const name = textOf(row.function);
  return name ? `${cut(name, 60)} (${positionOf(row)})` : positionOf(row);
}

/* The position in the kernel that an instruction counts to: the outermost call, or its own line. */
function callerOf(row) {
  const calls = listOf(row.inlined_at), outer = calls[calls.length - 1];
  return outer && outer.source_line ? { file: textOf(outer.source_file), line: outer.source_line, callee: calleeOf(row) } : { file: textOf(row.source_file), line: row.source_line || 0, callee: "" };
}

/* Adds up the instructions of each source line: [{file, line, callees, kinds, …}], in the order of files and lines. An instruction without a
   position in the source has line 0 and keeps its PTX line. */
function sumByLine(instructions) {
  const lines = new Map();
  for (const row of instructions) {
    const { file, line, callee } = callerOf(row), key = line ? `${file}\n${line}` : `\n${kernelOf(row)}\n${row.line}`;
    const sum = lines.get(key) || { file, line, ptx: row.line, kernels: new Set(), callees: new Set(), kinds: new Set(), requests: 0, sectors: 0, ideal: 0, hasIdeal: false, l1: [0, 0], l2: [0, 0], bytes: { l1: 0, l2: 0, memory: 0 }, misses: {}, shared: [0, 0, 0] };
    lines.set(key, sum);
    sum.kernels.add(kernelOf(row));
    if (callee) sum.callees.add(callee);
    if (row.kind) sum.kinds.add(textOf(row.kind));
    sum.requests += d3.sum(kinds(row.warp_requests));
    sum.sectors += d3.sum(kinds(field(row.l1, "sectors")));
    if (Array.isArray(row.ideal_sectors)) { sum.ideal += d3.sum(kinds(row.ideal_sectors)); sum.hasIdeal = true; }
    for (const level of ["l1", "l2"]) {
      sum[level][0] += kinds(field(row[level], "hits"))[0];
      sum[level][1] += kinds(field(row[level], "sectors"))[0];
      for (const [name] of MISS_CLASSES) sum.misses[`${level} ${name}`] = (sum.misses[`${level} ${name}`] || 0) + numberOr(field(row[`${level}_misses`], name), 0);
    }
    for (const level of ["l1", "l2", "memory"]) sum.bytes[level] += numberOr(field(row.moved_bytes, level), level === "memory" ? 0 : 32 * d3.sum(kinds(field(row[level], "sectors"))));
    sum.shared[0] += d3.sum(kinds(field(row.shared, "requests")));
    sum.shared[1] += numberOr(field(row.shared, "wavefronts"), 0);
    sum.shared[2] += numberOr(field(row.shared, "ideal_wavefronts"), 0);
  }
  return [...lines.values()].sort((a, b) => a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line || a.ptx - b.ptx);
}

/* The most frequent cause of misses of a line, such as "L1 capacity, 80 %"; "" if it has none. */
function mainCause(sum) {
  const total = d3.sum(Object.values(sum.misses)), [name, count] = Object.entries(sum.misses).sort((a, b) => b[1] - a[1])[0] || ["", 0];
  return total > 0 ? `${name.replace(/^l/, "L")}, ${percent(count / total, 2)}` : "";
}

const SOURCE_COLUMNS = ["warp requests", "sectors per request", "ideal sectors", "L1 reads hit", "L2 reads hit", "moved by L2", "moved by memory", "bank wavefronts (ideal)", "main cause of misses"];

/* The margin of a line: one text per column of SOURCE_COLUMNS. */
function marginOf(sum) {
  const each = (n) => sum.requests ? number(n / sum.requests, 3) : "", ratio = ([hits, sectors]) => sectors ? percent(hits / sectors) : "", amount = (n) => n ? shortBytes(n) : "";
  return [compact(sum.requests || sum.shared[0]), sum.sectors ? each(sum.sectors) : "", sum.hasIdeal && sum.sectors ? each(sum.ideal) : "", ratio(sum.l1), ratio(sum.l2), amount(sum.bytes.l2), amount(sum.bytes.memory), sum.shared[1] ? `${compact(sum.shared[1])} (${compact(sum.shared[2])})` : "", mainCause(sum)];
}

/* A line is marked if it needs at least twice the ideal sectors or wavefronts. The factor is chosen. */
function isWasteful(sum) {
  return (sum.hasIdeal && sum.ideal > 0 && sum.sectors >= 2 * sum.ideal) || (sum.shared[2] > 0 && sum.shared[1] >= 2 * sum.shared[2]);
}

/* The rows of a file: lines with accesses and a few lines around them. null stands for lines that are left out. */
function linesOfFile(lines, sums) {
  const wanted = new Set(sums.flatMap((s) => d3.range(s.line - SOURCE_CONTEXT, s.line + SOURCE_CONTEXT + 1))), rows = [];
  if (!lines) return sums.map((sum) => ({ number: sum.line, text: "", sum }));
  for (let n = 1; n <= lines.length && rows.length < MAX_SOURCE_LINES; n++) {
    const sum = sums.find((s) => s.line === n);
    if (wanted.has(n)) rows.push({ number: n, text: textOf(lines[n - 1]), sum });
    else if (rows.length && rows[rows.length - 1] !== null) rows.push(null);
  }
  if (rows[rows.length - 1] === null) rows.pop();
  return rows;
}

/* The table of a file. Columns that are empty in all lines are left out. */
function sourceTable(rows) {
  const margins = rows.map((row) => row && row.sum ? marginOf(row.sum) : []), kept = SOURCE_COLUMNS.map((_, c) => c).filter((c) => margins.some((m) => m[c]));
  const head = el("tr", {}, el("th", { scope: "col", class: "number" }, "line"), el("th", { scope: "col" }, "source"), ...kept.map((c) => el("th", { scope: "col", class: "number" }, SOURCE_COLUMNS[c])));
  const body = rows.map((row, i) => {
    if (row === null) return el("tr", { class: "gap" }, el("td", { colspan: String(2 + kept.length) }, "⋯"));
    const inlined = row.sum && row.sum.callees.size ? el("span", { class: "note" }, ` with inlined ${[...row.sum.callees].join(", ")}`) : "";
    return el("tr", { class: row.sum ? isWasteful(row.sum) ? "counted wasteful" : "counted" : "" }, el("td", { class: "number" }, row.number || ""), el("td", { class: "code" }, el("code", {}, cut(row.text, 200)), inlined), ...kept.map((c) => el("td", { class: [1, 7].includes(c) ? "number spent" : "number" }, margins[i][c] || "")));
  });
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Annotated source" }, el("table", { class: "source" }, el("thead", {}, head), el("tbody", {}, ...body)));
}

/* One table per source file with accesses. Without the text of the file, the lines show the kinds of their accesses. */
function annotatedSource(grid, model) {
  const sums = sumByLine(listOf(model.instructions)), sources = listOf(model.sources);
  if (!sums.some((s) => s.hasIdeal || s.shared[1])) return; /* a document of an older version; hitRatios shows its lines */
  for (const [file, members] of groupsOf(sums, (s) => s.file)) {
    const found = sources.find((s) => s.file === file) || sources.find((s) => file && textOf(s.file).split("/").pop() === file.split("/").pop()), lines = found && Array.isArray(found.lines) ? found.lines : null;
    const rows = linesOfFile(file ? lines : null, members).map((row) => row && !row.text && row.sum ? { ...row, text: row.sum.line ? `(${[...row.sum.kinds].join(", ")})` : `${[...row.sum.kernels][0]}, PTX line ${row.sum.ptx} (${[...row.sum.kinds].join(", ")})` } : row);
    const frame = addFigure(grid, { title: `Annotated source: ${file ? cut(file.split("/").pop(), 60) : "code without source lines"}`, name: "source", wide: true,
      note: `What each line requests and moves. A line is marked if it needs at least twice the sectors or wavefronts of an ideal access.${lines || !file ? "" : " The text of the file is not in the document; fathom model --source adds it."}`,
      columns: ["line", "ptx_line", "inlined", "requests", "sectors", "ideal_sectors", "l1_read_hits", "l1_read_sectors", "l2_read_hits", "l2_read_sectors", "l2_bytes", "memory_bytes", "shared_wavefronts", "ideal_wavefronts"],
      rows: members.map((s) => [s.line, s.ptx, [...s.callees].join(", "), s.requests, s.sectors, s.hasIdeal ? s.ideal : null, ...s.l1, ...s.l2, s.bytes.l2, s.bytes.memory, s.shared[1], s.shared[2]]) });
    frame.node.classList.add("long");
    frame.node.querySelector("details").remove();
    frame.body.append(sourceTable(rows));
  }
}
