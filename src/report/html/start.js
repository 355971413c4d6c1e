/* Selects the charts for each document and their order, and connects the controls of the page. */

/* Merges the descriptions of the same GPU (for example of its topology and of a dissection) into one. Where several have the same figure, the
   first one is kept. Returns [{files, gpu, verdicts}]; the verdicts are the comparisons with the published description, one per file. */
function mergeGpus(entries) {
  const merged = [];
  for (const { file, document: gpu, published } of entries) {
    const device = deviceOf(gpu), known = merged.find((m) => ["name", "uuid", "backend"].every((n) => deviceOf(m.gpu)[n] === device[n]));
    if (!known) {
      merged.push({ files: [file], verdicts: published ? [published] : [], gpu: { ...gpu, elements: Object.fromEntries(Object.entries(gpu.elements || {}).map(([n, e]) => [n, { ...e }])) } });
      continue;
    }
    known.files.push(file);
    if (published) known.verdicts = [joinVerdicts(known.verdicts[0], published)];
    for (const [name, element] of Object.entries(gpu.elements || {})) known.gpu.elements[name] = { ...element, ...(known.gpu.elements[name] || {}) };
  }
  return merged;
}

/* The comparisons of two descriptions of the same GPU as one. A difference that both have counts once. */
function joinVerdicts(a, b) {
  if (!a) return b;
  const key = (d) => `${d.section} ${d.attribute}`, known = new Set(listOf(a.differences).map(key));
  return { ...a, identical: a.identical && b.identical, compared: Math.max(a.compared, b.compared), differences: [...listOf(a.differences), ...listOf(b.differences).filter((d) => !known.has(key(d)))] };
}

/* The GPU that a document belongs to, {name, uuid, backend}. What the document does not state is undefined. */
function deviceOf(document_) {
  const device = field(document_, "device");
  if (device === null || typeof device !== "object") return {};
  const text = (name) => { const raw = field(device, name), value = raw !== null && typeof raw === "object" ? raw.value : raw; return typeof value === "string" ? value : undefined; };
  return { name: text("name"), uuid: text("uuid"), backend: text("backend") };
}

/* The display name of a GPU, with its UUID if several GPUs have the same name. */
function nameOf({ name, uuid, backend }) {
  const alike = data.documents.map((e) => ({ ...deviceOf(e.document), isGpu: schemaOf(e) === "fathom-gpu" })).filter((d) => d.name === name && d.backend === backend && (d.uuid || d.isGpu));
  const several = new Set(alike.map((d) => d.uuid)).size > 1;
  return `${name === undefined ? "GPU" : name}${backend === "simulated" ? ", simulated" : ""}${several && uuid ? ` (${uuid.slice(0, 12)}…)` : ""}`;
}

/* The chapters of a description: title, suffix of the id, and a function that returns the charts. A page only has the scripts that its
   documents need (page/html.c), so functions of other scripts are only named inside functions, here and in KINDS. */
const CHAPTERS = [
  ["Summary", "summary", () => [(grid, gpu, { verdicts }) => showSummary(grid, gpu, verdicts)]],
  ["Topology", "topology", () => [drawSm, drawChip]],
  ["Latency and bandwidth", "speed", () => [latencyBars, bandwidthBars, spectrum]],
  ["Structure", "structure", () => [structures, smMap, l1ByCarveout, tlbOverflows, sliceMap, evictionsByWarp]],
  ["All figures", "figures", () => [(grid, gpu, { index }) => figureTable(grid, gpu, index)]],
];

function showGpu({ gpu, files, verdicts }, index) {
  const grid = addSection(nameOf(deviceOf(gpu)), `gpu-${index}`);
  for (const [title, suffix, charts] of CHAPTERS) {
    const inner = addChapter(grid, title, `gpu-${index}-${suffix}`);
    for (const draw of charts()) draw(inner, gpu, { index, verdicts });
    dropEmptyChapter(inner);
  }
  grid.parentNode.querySelector("h2").title = files.join(", ");
}

/* Title and drawing function of each kind of document, by the name of its schema. Other kinds are drawn by showOther. */
const KINDS = {
  "fathom-bench": { title: "Benchmarks", show: (grid, document_, gpus) => { roofline(grid, gpus, document_); showBench(grid, document_, gpus[0]); } },
  "fathom-evidence": { title: "Samples", show: (grid, document_, gpus) => showEvidence(grid, document_, gpus[0]) },
  "fathom-series": { title: "Loads", show: (...all) => showSeries(...all) },
  "fathom-model": { title: "Model", show: (grid, document_, gpus, file, alike) => showModel(grid, document_, file, alike.length === 2 ? kernelPairs(alike).flat() : []) },
  "fathom-explore": { title: "Exploration", show: (...all) => showExplore(...all) },
  "fathom-comparison": { title: "Comparison", show: (...all) => comparisonTable(...all) },
  /* Documents of versions before 2 have a list of differences. */
  "fathom-fleet": { title: "Fleet", show: (grid, document_, gpus, file) => Array.isArray(document_.differences) ? fleetTable(grid, document_) : showFleet(grid, document_, gpus, file) },
};

const schemaOf = (entry) => textOf(field(entry.document, "schema")).split("/")[0];

/* The descriptions that belong to a document: first that of the same card, then those of other cards with the same name and backend. For a
   document that does not name its GPU: the only description, if there is just one. */
function findGpus(gpus, { name, uuid, backend }) {
  const all = gpus.map(({ gpu }) => gpu), same = (gpu) => deviceOf(gpu).uuid === uuid;
  if (name === undefined) return all.length === 1 ? all : [];
  const alike = all.filter((gpu) => deviceOf(gpu).name === name && deviceOf(gpu).backend === backend);
  return [...alike.filter(same), ...alike.filter((gpu) => !same(gpu))];
}

function titleOfEntry(entry, kind) {
  const device = deviceOf(entry.document), what = kind ? kind.title : schemaOf(entry).replace(/^fathom-/, "");
  return `${what}: ${device.name !== undefined ? nameOf(device) : schemaOf(entry) === "fathom-model" ? textOf(entry.document.gpu) : entry.file}`;
}

/* Catches errors, so that a document that does not match its schema does not prevent the others from being drawn. */
function guarded(grid, file, show) {
  try {
    show();
  } catch (error) {
    grid.append(el("p", { class: "note wide" }, `${cut(file, 80)} does not match its schema; part of it could not be drawn: ${cut(error.message, 200)}`));
  }
}

/* Draws the documents that are not descriptions. Results of the same kind for the same GPU share a section. */
function showEntries(entries, gpus) {
  const grids = new Map();
  entries.forEach((entry, i) => {
    const kind = field(KINDS, schemaOf(entry)), title = titleOfEntry(entry, kind), isModel = schemaOf(entry) === "fathom-model";
    const grid = grids.get(title) || addSection(title, `document-${i}`), alike = isModel ? entries.filter((e) => schemaOf(e) === "fathom-model" && e.document.gpu === entry.document.gpu) : [];
    if (!grids.has(title) && alike.length) guarded(grid, entry.file, () => modelOverview(grid, alike));
    grids.set(title, grid);
    guarded(grid, entry.file, () => kind ? kind.show(grid, entry.document, findGpus(gpus, deviceOf(entry.document)), entry.file, alike) : showOther(grid, entry.document));
    if (!grid.children.length) grid.append(el("p", { class: "note" }, "This document contains nothing that can be drawn."));
  });
}

/* The main facts about a GPU, in one line. */
function factsOf(gpu) {
  return [["architecture", ""], ["compute_capability", "compute capability "], ["sms", "", ` ${smWords(gpu).many}`], ["clock_mhz", "", " MHz"], ["driver", "driver "]]
    .map(([name, before, after = ""]) => { const v = valueOf(gpu, "device", name); return v === null ? null : `${before}${v}${after}`; }).filter(Boolean).join(" · ");
}

function showHead(gpus) {
  const fleets = gpus.length ? [] : data.documents.filter((e) => schemaOf(e) === "fathom-fleet" && field(e.document, "counts"));
  const title = gpus.length ? gpus.map(({ gpu }) => nameOf(deviceOf(gpu))).join(", ") : fleets.length === 1 ? `Fleet of ${plural(fleets[0].document.counts.gpus, "GPU")}` : "fathom report";
  document.getElementById("title").textContent = title;
  document.title = `${cut(title, 80)} · fathom`;
  /* One line per GPU. GPUs with the same facts share a line. */
  const lines = groupsOf(gpus, ({ gpu }) => factsOf(gpu)).map(([facts, members]) => [members.map(({ gpu }) => nameOf(deviceOf(gpu))).join(", "), facts]);
  document.getElementById("facts").replaceChildren(...fleets.map((e) => el("div", {}, fleetSentence(e.document.counts).text)), ...lines.map(([names, facts]) => el("div", {}, lines.length > 1 ? `${names}: ${facts}` : facts)));
  document.getElementById("footer").textContent = `Generated by fathom ${data.fathom} from ${data.documents.map((d) => cut(d.file, 80)).join(", ")}. Charts: D3 ${d3.version}, © Mike Bostock, BSD licence.`;
}

const MAX_LINKS = 16; /* links to chapters in the navigation; with more, it lists sections only. Chosen */

/* The navigation lists the chapters of each section. With several GPUs or very many chapters, it lists the sections, and each section begins
   with links to its chapters. */
function showNavigation(gpus) {
  const link = (target, title) => el("a", { href: `#${target.id}` }, cut(title, 60)), plain = (title) => gpus.length === 1 ? title.replace(`: ${nameOf(deviceOf(gpus[0].gpu))}`, "") : title, links = [];
  const few = gpus.length < 2 && d3.sum(sections, (s) => s.chapters.length || 1) <= MAX_LINKS;
  for (const section of sections) {
    const open = section.chapters.length && (few || (gpus.length === 1 && section.id === "gpu-0"));
    if (!open || section.id !== "gpu-0") links.push(link(section, plain(section.title)));
    if (open) links.push(...section.chapters.map((c) => link(c, c.title)));
    else if (section.chapters.length > 1) section.node.querySelector("h2").after(el("p", { class: "contents" }, ...section.chapters.map((c) => link(c, c.title))));
  }
  document.getElementById("nav").append(...links);
  followScrolling(links);
}

/* Marks the link of the chapter that is in view, and keeps it visible where the links do not fit. */
function followScrolling(links) {
  const nav = document.getElementById("nav"), targets = links.map((a) => document.getElementById(a.getAttribute("href").slice(1)));
  const observer = new IntersectionObserver((changes) => {
    const seen = changes.filter((c) => c.isIntersecting).map((c) => targets.indexOf(c.target)).sort((a, b) => a - b)[0];
    if (seen === undefined) return;
    links.forEach((a, i) => { if (i === seen) a.setAttribute("aria-current", "true"); else a.removeAttribute("aria-current"); });
    const a = links[seen];
    if (a.offsetLeft < nav.scrollLeft || a.offsetLeft + a.offsetWidth > nav.scrollLeft + nav.clientWidth) nav.scrollLeft = a.offsetLeft - 40;
  }, { rootMargin: "-15% 0px -75% 0px" });
  for (const target of targets) observer.observe(target);
}

function start() {
  const entries = data.documents.filter((e) => e.document && typeof e.document === "object"), isGpu = (entry) => schemaOf(entry) === "fathom-gpu";
  const gpus = mergeGpus(entries.filter(isGpu));
  if (gpus.length > 1) showSeveral(gpus, entries);
  gpus.forEach(showGpu);
  showEntries(entries.filter((entry) => !isGpu(entry)), gpus);
  showHead(gpus);
  showNavigation(gpus);
}

function controls() {
  const themes = ["auto", "light", "dark"], button = document.getElementById("theme");
  let at = 0;
  button.addEventListener("click", () => {
    at = (at + 1) % themes.length;
    if (themes[at] === "auto") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.setAttribute("data-theme", themes[at]);
    button.textContent = `Theme: ${themes[at]}`;
  });
  document.getElementById("print").addEventListener("click", () => window.print());
}

controls();
start();
