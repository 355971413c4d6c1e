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
  "fathom-bench": { title: "Bench", show: (grid, document_, gpu) => { roofline(grid, gpu, document_); showBench(grid, document_, gpu); } },
  "fathom-evidence": { title: "Samples", show: showEvidence },
  "fathom-series": { title: "Loads", show: showSeries },
  "fathom-model": { title: "Model", show: showModel },
  "fathom-explore": { title: "Exploration", show: showExplore },
  "fathom-comparison": { title: "Comparison", show: comparisonTable },
};

const schemaOf = (entry) => textOf(field(entry.document, "schema")).split("/")[0];

/* The description that belongs to a document: of the same card, else of another of its name, measured or simulated as it was; nothing is
   mixed. Where the document does not say, the only one there is. */
function findGpu(gpus, { name, uuid, backend }) {
  if (name === undefined) return gpus.length === 1 ? gpus[0].gpu : null;
  const alike = gpus.filter(({ gpu }) => deviceOf(gpu).name === name && deviceOf(gpu).backend === backend);
  const found = alike.find(({ gpu }) => deviceOf(gpu).uuid === uuid) || alike[0];
  return found ? found.gpu : null;
}

function titleOfEntry(entry, kind) {
  const device = deviceOf(entry.document), what = kind ? kind.title : schemaOf(entry).replace(/^fathom-/, "");
  return `${what}: ${device.name !== undefined ? nameOf(device) : schemaOf(entry) === "fathom-model" ? textOf(entry.document.gpu) : entry.file}`;
}

/* Several results of a kind for the same GPU share a section. */
function showEntries(entries, gpus) {
  const grids = new Map();
  entries.forEach((entry, i) => {
    const kind = field(KINDS, schemaOf(entry)), title = titleOfEntry(entry, kind), isModel = schemaOf(entry) === "fathom-model";
    const grid = grids.get(title) || addSection(title, `document-${i}`), alike = isModel ? entries.filter((e) => schemaOf(e) === "fathom-model" && e.document.gpu === entry.document.gpu) : [];
    if (!grids.has(title) && alike.length > 1) modelOverview(grid, alike);
    grids.set(title, grid);
    if (kind) kind.show(grid, entry.document, findGpu(gpus, deviceOf(entry.document)), entry.file);
    else showOther(grid, entry.document);
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
