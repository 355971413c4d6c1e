/* Which document is shown by what, in which order; the page's own controls. */

/* Descriptions of one GPU (of its topology, of a dissection) are one: what an earlier one says stays. */
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

/* Which GPU a document is of, {name, uuid, backend}; undefined what it does not say. */
function deviceOf(document_) {
  const device = field(document_, "device");
  if (device === null || typeof device !== "object") return {};
  const text = (name) => { const raw = field(device, name), value = raw !== null && typeof raw === "object" ? raw.value : raw; return typeof value === "string" ? value : undefined; };
  return { name: text("name"), uuid: text("uuid"), backend: text("backend") };
}

/* What a GPU is called; its UUID, too, where there are several of that name. */
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
  disturbances(grid, gpu);
  spectrum(grid, gpu);
  carveouts(grid, gpu);
  overflows(grid, gpu);
  figureTable(grid, gpu, index);
  grid.parentNode.querySelector("h2").title = files.join(", ");
}

/* By the schema's name. A kind of document that is not here is shown by showOther. */
const KINDS = {
  "fathom-bench": { title: "Bench", show: (grid, document_, gpus) => { roofline(grid, gpus, document_); showBench(grid, document_, gpus[0]); } },
  "fathom-evidence": { title: "Samples", show: (grid, document_, gpus) => showEvidence(grid, document_, gpus[0]) },
  "fathom-series": { title: "Loads", show: showSeries },
  "fathom-model": { title: "Model", show: (grid, document_, gpus, file) => showModel(grid, document_, file) },
  "fathom-explore": { title: "Exploration", show: showExplore },
  "fathom-comparison": { title: "Comparison", show: comparisonTable },
};

const schemaOf = (entry) => textOf(field(entry.document, "schema")).split("/")[0];

/* The descriptions that belong to a document: that of the same card, then those of others of its name, measured or simulated as it was.
   Where the document does not say which it is of, the only one there is. */
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

/* A document that is not what its schema says does not take the others with it. */
function guarded(grid, file, show) {
  try {
    show();
  } catch (error) {
    grid.append(el("p", { class: "note wide" }, `${cut(file, 80)} is not what its schema says, and not all of it could be drawn: ${cut(error.message, 200)}`));
  }
}

/* Several results of a kind for the same GPU share a section. */
function showEntries(entries, gpus) {
  const grids = new Map();
  entries.forEach((entry, i) => {
    const kind = field(KINDS, schemaOf(entry)), title = titleOfEntry(entry, kind), isModel = schemaOf(entry) === "fathom-model";
    const grid = grids.get(title) || addSection(title, `document-${i}`), alike = isModel ? entries.filter((e) => schemaOf(e) === "fathom-model" && e.document.gpu === entry.document.gpu) : [];
    if (!grids.has(title) && alike.length > 1) modelOverview(grid, alike);
    grids.set(title, grid);
    guarded(grid, entry.file, () => kind ? kind.show(grid, entry.document, findGpus(gpus, deviceOf(entry.document)), entry.file) : showOther(grid, entry.document));
    if (!grid.children.length) grid.append(el("p", { class: "note" }, "There is nothing in this document that could be drawn."));
  });
}

function showHead(gpus) {
  const first = gpus[0] && gpus[0].gpu, title = first ? gpus.map(({ gpu }) => nameOf(deviceOf(gpu))).join(", ") : "fathom report";
  document.getElementById("title").textContent = title;
  document.title = `${cut(title, 80)} · fathom`;
  if (first) {
    const facts = [["architecture", ""], ["compute_capability", "compute capability "], ["sms", "", " SMs"], ["clock_mhz", "", " MHz"], ["driver", "driver "]]
      .map(([name, before, after = ""]) => { const v = valueOf(first, "device", name); return v === null ? null : `${before}${v}${after}`; }).filter(Boolean);
    document.getElementById("facts").textContent = facts.join(" · ");
  }
  document.getElementById("nav").append(...sections.map((s) => el("a", { href: `#${s.id}` }, cut(s.title, 80))));
  document.getElementById("footer").textContent = `Made by fathom ${data.fathom} from ${data.documents.map((d) => cut(d.file, 80)).join(", ")}. Charts: D3 ${d3.version}, © Mike Bostock, BSD licence.`;
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
