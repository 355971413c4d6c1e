/* The judgement of a fleet (fathom-fleet/2): counts by verdict, the GPUs that are not healthy and why, groups, distributions, the heat map, and what
   could not be judged. fleet_charts.js draws the charts. */

/* Verdicts in the order in which they are listed: the name, and the colour of its mark. */
const VERDICTS = { failed: ["failed", "var(--bad)"], suspect: ["suspect", "var(--c1)"], not_judged: ["not judged", "var(--c7)"], healthy: ["healthy", "var(--c2)"] };

function verdictMark(verdict) {
  const [text, ink] = field(VERDICTS, textOf(verdict)) || [textOf(verdict), "var(--c7)"], node = el("span", { class: "badge" }, cut(text, 20));
  node.style.borderColor = ink;
  return node;
}

/* A cohort in words: model, backend, driver and board. */
function cohortTitle(cohort) {
  return cut([textOf(cohort.model) || "unknown model", cohort.simulated ? "simulated" : "", cohort.backend && cohort.backend !== "cuda" && !cohort.simulated ? textOf(cohort.backend) : "", cohort.driver ? `driver ${cohort.driver}` : "", cohort.board ? `board ${cohort.board}` : ""].filter(Boolean).join(", "), 160);
}

/* The cohorts, the largest first. */
const cohortsOf = (fleet) => listOf(fleet.cohorts).sort((a, b) => b.gpus - a.gpus);
const plural = (count, one) => `${countText(count)} ${one}${count === 1 ? "" : "s"}`;

/* ---- overview ---- */

/* The sentence at the top, and whether something is wrong. */
function fleetSentence(counts) {
  const bad = (counts.failed || 0) + (counts.suspect || 0), judged = counts.gpus - (counts.not_judged || 0), open = counts.not_judged ? ` ${plural(counts.not_judged, "GPU")} could not be judged.` : "";
  if (!(judged > 0)) return { text: "No GPU could be judged.", wrong: true };
  if (!bad) return { text: `${judged === 1 ? "The GPU that was judged is" : `All ${countText(judged)} GPUs that were judged are`} healthy.${open}`, wrong: false };
  return { text: `${countText(bad)} of ${plural(judged, "GPU")} ${bad === 1 ? "is" : "are"} not healthy: ${countText(counts.failed || 0)} failed, ${countText(counts.suspect || 0)} suspect.${open}`, wrong: true };
}

function fleetOverview(grid, fleet) {
  const counts = field(fleet, "counts") || {}, options = field(fleet, "options") || {}, cohorts = cohortsOf(fleet), sentence = fleetSentence(counts);
  const columns = ["cohort", "model", "backend", "simulated", "driver", "board", "gpus", "measurements", "healthy", "suspect", "failed", "not_judged", "reason"];
  const frame = addFigure(grid, { title: "Verdicts", name: "fleet-verdicts", wide: true, columns, rows: cohorts.map((c) => columns.map((name) => name === "cohort" ? c.id : field(c, name))) });
  const card = (title, text, note, ink) => { const node = el("div", { class: "card" }, el("dt", {}, title), el("dd", {}, text), el("dd", { class: "note" }, note)); node.style.borderColor = ink; return node; };
  frame.body.append(el("dl", { class: "cards narrow" }, card("GPUs", countText(counts.gpus), plural(counts.measurements, "measurement"), "var(--accent)"),
    ...Object.entries(VERDICTS).map(([key, [title, ink]]) => card(title, countText(counts[key] || 0), counts.gpus > 0 ? `${number(100 * (counts[key] || 0) / counts.gpus, 3)} %` : " ", ink))));
  frame.body.append(el("p", { class: sentence.wrong ? "verdict differs" : "verdict" }, sentence.text));
  const more = field(fleet.expected, "missing_left_out"), missing = listOf(field(fleet.expected, "missing")).length + (Number.isFinite(more) ? more : 0), expected = field(fleet.expected, "gpus");
  if (expected > counts.gpus - (counts.not_judged || 0) || missing) frame.body.append(el("p", { class: "verdict differs" }, `${expected > 0 ? `${plural(expected, "GPU")} were expected.` : ""}${missing ? ` Missing hosts and GPUs: ${countText(missing)}; the table of what was not judged names them.` : ""}`));
  frame.body.append(el("p", { class: "note" }, `A healthy GPU is reported with a probability of at most ${percentText(options.false_alarms)}. Differences of less than ${percentText(options.min_effect)} are ignored. Each GPU is compared with the others of its cohort:`));
  frame.body.append(tableOf(["model", "driver", "board", "GPUs", "healthy", "suspect", "failed", "not judged"], cohorts.map((c) => [`${cut(textOf(c.model) || "unknown", 80)}${c.simulated ? ", simulated" : c.backend === "cuda" ? "" : `, ${cut(textOf(c.backend), 20)}`}`, textOf(c.driver) || "–", textOf(c.board) || "–", c.gpus, c.healthy, c.suspect, c.failed, c.not_judged])));
  frame.node.querySelector("details")?.remove();
}

/* ---- GPUs that are not healthy ---- */

const MAX_BAR = 20; /* standard deviations of a full bar. Chosen */

/* The distance of a value from the median as a bar with its number. */
function distanceBar(finding) {
  if (!Number.isFinite(finding.distance)) return "–";
  const bar = el("span", { class: "bar" }), far = Math.abs(finding.distance);
  bar.style.width = `${Math.max(2, 70 * Math.min(1, far / MAX_BAR))}px`;
  bar.style.background = finding.severe ? "var(--bad)" : "var(--c1)";
  return el("span", { class: "distance", title: `${number(far, 3)} robust standard deviations from the median` }, bar, number(far, 3));
}

function findingTable(gpu) {
  const repeats = (f) => f.measurements > 1 ? `${countText(f.deviating)} of ${countText(f.measurements)}` : "1";
  return tableOf(["figure", "value", "usual value", "effect", "distance", "probability", "measurements"], listOf(gpu.findings).map((f) => [`${fleetFigure(f.figure)}${f.worse === false ? " (better)" : ""}${f.note ? ` (${cut(f.note, 200)})` : ""}`, fleetValue(f.figure, f.value), `${fleetValue(f.figure, f.usual)}${f.history ? " before" : ""}`, percentText(f.effect, true), distanceBar(f), f.p > 0 ? number(f.p, 2) : "–", repeats(f)]));
}

/* The main finding of a GPU in a few words. */
function mainFinding(gpu) {
  const [first] = listOf(gpu.findings);
  if (!first) return "";
  return Number.isFinite(first.effect) ? `${fleetFigure(first.figure)} ${percentText(first.effect, true)}` : `${fleetFigure(first.figure)}: ${cut(fleetValue(first.figure, first.value), 60)} instead of ${cut(fleetValue(first.figure, first.usual), 60)}`;
}

/* A value of the context in words: "temperature", "Device memory, ECC correctable". */
function contextName(name) {
  const element = textOf(name).split(".")[0], short = { cuda: "CUDA", pcie: "PCIe", ecc: "ECC", nvlink: "NVLink", nvlinks: "NVLinks" };
  const words = figureName(attributeOf(name)).split(" ").map((word) => field(short, word) || word).join(" ");
  return element === "device" || element === name ? words : `${titleOf(element)}, ${words}`;
}

/* What explains a slow GPU most often comes first. */
const contextRank = (name) => { const rank = [/temperature/, /power/, /throttl/, /clock/].findIndex((pattern) => pattern.test(name)); return rank < 0 ? 4 : rank; };

function gpuDetails(gpu, cohorts) {
  const cohort = cohorts.find((c) => c.id === gpu.cohort), context = Object.entries(field(gpu, "context") || {}).sort(([a], [b]) => contextRank(a) - contextRank(b)), nodes = [findingTable(gpu)];
  if (gpu.more_findings) nodes.push(el("p", { class: "note" }, `${plural(gpu.more_findings, "further finding")} ${gpu.more_findings === 1 ? "is" : "are"} left out of this page.`));
  nodes.push(el("p", { class: "note" }, [textOf(gpu.gpu), plural(gpu.measurements, "measurement"), cohort ? cohortTitle(cohort) : ""].filter(Boolean).join(" · ")));
  if (context.length) nodes.push(el("ul", { class: "context" }, ...context.map(([name, value]) => el("li", {}, `${contextName(name)}: `, el("strong", {}, cut(fleetValue(name, value), 200))))));
  return nodes;
}

/* One GPU: a line that opens to its findings and the state of the GPU. The details are made when they are opened. */
function gpuEntry(gpu, cohorts, open) {
  const place = [gpu.slot ? `slot ${gpu.slot}` : "", gpu.group ? `group ${gpu.group}` : ""].filter(Boolean).map((t) => cut(t, 40)).join(" · "), main = mainFinding(gpu);
  const node = el("details", { class: "gpu" }, el("summary", {}, verdictMark(gpu.verdict), el("strong", {}, fleetGpuLabel(gpu, 60)), el("span", { class: "soft" }, place), el("span", { class: "why" }, cut(textOf(gpu.cause) || textOf(gpu.reason), 300), main ? el("span", { class: "soft" }, ` ${main}`) : "")));
  const fill = () => { if (node.children.length === 1) node.append(...gpuDetails(gpu, cohorts)); };
  node.addEventListener("toggle", () => { if (node.open) fill(); });
  if (open) { node.open = true; fill(); }
  return node;
}

const FIRST_GPUS = 30, OPEN_GPUS = 3; /* listed at first; of these, opened. Chosen */

/* The searchable list of GPUs, the worst first. The words are searched in everything that the document has about a GPU. */
function gpuList(grid, fleet) {
  const gpus = listOf(fleet.gpus).filter((g) => g.verdict !== "not_judged"), cohorts = listOf(fleet.cohorts), columns = ["gpu", "host", "slot", "group", "cohort", "verdict", "cause", "figure", "value", "usual", "effect_percent", "distance", "p", "measurements", "deviating", "severe"];
  if (!gpus.length) return;
  const percent = (v) => Number.isFinite(v) ? Number((100 * v).toPrecision(6)) : null, yes = (v) => v === undefined ? null : v ? "yes" : "no";
  const rows = gpus.flatMap((g) => { const own = [g.gpu, g.host, g.slot, g.group, g.cohort, g.verdict, g.cause], found = listOf(g.findings); return found.length ? found.map((f) => [...own, f.figure, f.value, f.usual, percent(f.effect), f.distance, f.p, f.measurements, f.deviating, yes(f.severe)]) : [[...own, ...columns.slice(7).map(() => null)]]; });
  const left = fleet.gpus_left_out ? ` ${plural(fleet.gpus_left_out, "further GPU")} ${fleet.gpus_left_out === 1 ? "is" : "are"} left out of this page.` : "";
  const frame = addFigure(grid, { title: `GPUs that are not healthy: ${countText(gpus.length + (fleet.gpus_left_out || 0))}`, name: "fleet-gpus", wide: true, columns, rows, note: `The worst first. Click a GPU for its findings and its state during the measurement.${left}` });
  frame.node.classList.add("long");
  frame.node.querySelector("details")?.remove();
  const search = el("input", { type: "search", class: "search", placeholder: "Search, for example: rack3 bandwidth", "aria-label": "Search the GPUs" }), place = el("div", { class: "gpus" }), status = el("p", { class: "note", "aria-live": "polite" });
  const texts = gpus.map((g) => [JSON.stringify(g), textOf(field(VERDICTS, g.verdict)), ...listOf(g.findings).map((f) => fleetFigure(f.figure))].join(" ").toLowerCase());
  let limit = FIRST_GPUS;
  const more = el("button", { type: "button", class: "more" }, "Show all");
  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean), some = gpus.filter((_, i) => words.every((word) => texts[i].includes(word)));
    place.replaceChildren(...some.slice(0, limit).map((g, i) => gpuEntry(g, cohorts, i < OPEN_GPUS && limit === FIRST_GPUS)));
    status.textContent = some.length > limit ? `${limit} of ${plural(some.length, "GPU")} are listed.` : words.length ? `${plural(some.length, "GPU")} found.` : "";
    more.hidden = some.length <= limit;
  };
  search.addEventListener("input", show);
  more.addEventListener("click", () => { limit = Infinity; show(); });
  frame.body.append(search, place, status, more);
  show();
}

/* Hosts, racks, drivers and boards whose GPUs differ together. */
function groupTable(grid, fleet) {
  const groups = listOf(fleet.groups), columns = ["kind", "name", "figure", "gpus", "value", "usual", "effect_percent", "p"];
  if (!groups.length) return;
  const frame = addFigure(grid, { title: "Groups that differ as a whole", name: "fleet-groups", wide: true, columns, rows: groups.map((g) => [g.kind, g.name, g.figure, g.gpus, g.value, g.usual, Number.isFinite(g.effect) ? 100 * g.effect : null, g.p]),
    note: `The GPUs of these hosts, groups, drivers or boards differ together from the others, even if no single one is reported.${fleet.groups_left_out ? ` ${countText(fleet.groups_left_out)} more are left out of this page.` : ""}` });
  frame.body.append(tableOf(["kind", "name", "figure", "GPUs", "value", "usual value", "effect", "probability"], groups.map((g) => [textOf(g.kind), textOf(g.name), fleetFigure(g.figure), g.gpus, fleetValue(g.figure, g.value), fleetValue(g.figure, g.usual), percentText(g.effect, true), Number.isFinite(g.p) ? number(g.p, 2) : "–"])));
  frame.node.querySelector("details")?.remove();
}

/* Swapped and moved cards, which the comparison with earlier measurements finds. */
function noteList(grid, fleet) {
  const notes = Array.isArray(fleet.notes) ? fleet.notes.map(textOf) : [];
  if (!notes.length) return;
  const frame = addFigure(grid, { title: "Changes since earlier measurements", name: "fleet-notes", wide: true, columns: ["note"], rows: notes.map((n) => [n]), note: fleet.notes_left_out ? `${countText(fleet.notes_left_out)} more are left out of this page.` : "" });
  frame.body.append(el("ul", { class: "unknowns" }, ...notes.map((n) => el("li", {}, cut(n, 400)))));
  frame.node.querySelector("details")?.remove();
}

/* ---- what could not be judged ---- */

function notJudged(grid, fleet) {
  const cohorts = listOf(fleet.cohorts), rows = [];
  for (const c of cohorts) if (c.reason) rows.push(["cohort", cohortTitle(c), textOf(c.reason)]);
  for (const c of cohorts.filter((cohort) => !cohort.reason)) for (const [reason, figures] of groupsOf(listOf(c.figures).filter((f) => f.reason), (f) => textOf(f.reason))) rows.push(["figure", `${figures.map((f) => fleetFigure(f.figure)).join("; ")}${cohorts.length > 1 ? ` (${cohortTitle(c)})` : ""}`, reason]);
  for (const g of listOf(fleet.gpus).filter((gpu) => gpu.verdict === "not_judged")) rows.push(["GPU", [textOf(g.gpu), textOf(g.host)].filter(Boolean).join(", "), textOf(g.reason)]);
  for (const m of listOf(field(fleet.expected, "missing"))) rows.push([m.gpu ? "GPU" : "host", [textOf(m.gpu), textOf(m.host)].filter(Boolean).join(", "), "expected, but not measured"]);
  for (const p of listOf(fleet.problems)) rows.push(["file", textOf(p.file), textOf(p.reason)]);
  const unlisted = field(fleet.counts, "problems") - listOf(fleet.problems).length || fleet.problems_left_out;
  for (const [count, kind] of [[unlisted, "file"], [fleet.cohorts_left_out, "cohort"]]) if (count > 0) rows.push([kind, `${countText(count)} more`, "left out of this page"]);
  for (const c of cohorts) if (c.figures_left_out) rows.push(["distributions", cohortTitle(c), `${plural(c.figures_left_out, "figure")} left out of this page, so that it stays small`]);
  if (!rows.length) return;
  const frame = addFigure(grid, { title: "Not judged, and files without a measurement", name: "fleet-not-judged", wide: true, columns: ["kind", "name", "reason"], rows });
  frame.body.append(tableOf(["what", "name", "reason"], rows.map(([kind, name, reason]) => [kind, cut(name, 2000), cut(reason, 600)])));
  frame.node.querySelector("details")?.remove();
}

let fleetCount = 0;

function showFleet(grid, fleet, gpus, file) {
  const index = fleetCount++;
  for (const [title, suffix, parts] of [
    ["Overview", "overview", [fleetOverview]],
    ["GPUs that are not healthy", "gpus", [gpuList, groupTable, noteList]],
    ["Heat map", "map", [(inner) => fleetMap(inner, fleet.heat_map)]],
    ["Distributions", "figures", cohortsOf(fleet).filter((c) => !c.reason).map((c) => (inner) => distributions(inner, fleet, c))],
    ["Not judged", "not-judged", [notJudged]],
  ]) {
    const inner = addChapter(grid, title, `fleet-${index}-${suffix}`);
    for (const draw of parts) guarded(inner, file, () => draw(inner, fleet));
    dropEmptyChapter(inner);
  }
}
