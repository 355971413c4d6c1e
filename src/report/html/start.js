/* Selects the charts for each document and their order, and connects the controls of the page. */

/* Merges the descriptions of the same GPU (for example of its topology and of a dissection) into one. Where several have the same figure, the
   first one is kept. Returns [{files, gpu}]. */
function mergeGpus(entries) {
  const merged = [];
  for (const { file, document: gpu } of entries) {
    const device = deviceOf(gpu), known = merged.find((m) => ["name", "uuid", "backend"].every((n) => deviceOf(m.gpu)[n] === device[n]));
    if (!known) {
      merged.push({ files: [file], gpu: { ...gpu, elements: Object.fromEntries(Object.entries(gpu.elements || {}).map(([n, e]) => [n, { ...e }])) } });
      continue;
    }
    known.files.push(file);
    for (const [name, element] of Object.entries(gpu.elements || {})) known.gpu.elements[name] = { ...element, ...(known.gpu.elements[name] || {}) };
  }
  return merged;
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
  const several = new Set(data.documents.map((e) => deviceOf(e.document)).filter((d) => d.name === name && d.backend === backend && d.uuid).map((d) => d.uuid)).size > 1;
  return `${name === undefined ? "GPU" : name}${backend === "simulated" ? ", simulated" : ""}${several && uuid ? ` (${uuid.slice(0, 12)}…)` : ""}`;
}

function showGpu({ gpu, files }, index) {
  const grid = addSection(`Topology: ${nameOf(deviceOf(gpu))}`, `gpu-${index}`);
  drawSm(grid, gpu);
  drawChip(grid, gpu);
  latencyBars(grid, gpu);
  bandwidthBars(grid, gpu);
  smMap(grid, gpu);
  sliceMap(grid, gpu);
  evictionsByWarp(grid, gpu);
  spectrum(grid, gpu);
  l1ByCarveout(grid, gpu);
  tlbOverflows(grid, gpu);
  figureTable(grid, gpu, index);
  grid.parentNode.querySelector("h2").title = files.join(", ");
}

/* Title and drawing function of each kind of document, by the name of its schema. Other kinds are drawn by showOther. */
const KINDS = {
  "fathom-bench": { title: "Benchmarks", show: (grid, document_, gpus) => { roofline(grid, gpus, document_); showBench(grid, document_, gpus[0]); } },
  "fathom-evidence": { title: "Samples", show: (grid, document_, gpus) => showEvidence(grid, document_, gpus[0]) },
  "fathom-series": { title: "Loads", show: showSeries },
  "fathom-model": { title: "Model", show: (grid, document_, gpus, file) => showModel(grid, document_, file) },
  "fathom-explore": { title: "Exploration", show: showExplore },
  "fathom-comparison": { title: "Comparison", show: comparisonTable },
  "fathom-fleet": { title: "Fleet", show: fleetTable },
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
    if (!grids.has(title) && alike.length > 1) modelOverview(grid, alike);
    grids.set(title, grid);
    guarded(grid, entry.file, () => kind ? kind.show(grid, entry.document, findGpus(gpus, deviceOf(entry.document)), entry.file) : showOther(grid, entry.document));
    if (!grid.children.length) grid.append(el("p", { class: "note" }, "This document contains nothing that can be drawn."));
  });
}

/* The main facts about a GPU, in one line. */
function factsOf(gpu) {
  return [["architecture", ""], ["compute_capability", "compute capability "], ["sms", "", " SMs"], ["clock_mhz", "", " MHz"], ["driver", "driver "]]
    .map(([name, before, after = ""]) => { const v = valueOf(gpu, "device", name); return v === null ? null : `${before}${v}${after}`; }).filter(Boolean).join(" · ");
}

function showHead(gpus) {
  const first = gpus[0] && gpus[0].gpu, title = first ? gpus.map(({ gpu }) => nameOf(deviceOf(gpu))).join(", ") : "fathom report";
  document.getElementById("title").textContent = title;
  document.title = `${cut(title, 80)} · fathom`;
  /* One line per GPU. GPUs with the same facts share a line. */
  const lines = groupsOf(gpus, ({ gpu }) => factsOf(gpu)).map(([facts, members]) => [members.map(({ gpu }) => nameOf(deviceOf(gpu))).join(", "), facts]);
  document.getElementById("facts").replaceChildren(...lines.map(([names, facts]) => el("div", {}, lines.length > 1 ? `${names}: ${facts}` : facts)));
  document.getElementById("nav").append(...sections.map((s) => el("a", { href: `#${s.id}` }, cut(s.title, 80))));
  document.getElementById("footer").textContent = `Generated by fathom ${data.fathom} from ${data.documents.map((d) => cut(d.file, 80)).join(", ")}. Charts: D3 ${d3.version}, © Mike Bostock, BSD licence.`;
}

function start() {
  const entries = data.documents.filter((e) => e.document && typeof e.document === "object"), isGpu = (entry) => schemaOf(entry) === "fathom-gpu";
  const gpus = mergeGpus(entries.filter(isGpu));
  gpus.forEach(showGpu);
  showEntries(entries.filter((entry) => !isGpu(entry)), gpus);
  showHead(gpus);
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
