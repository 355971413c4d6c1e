/* Which document is shown by what, in which order; the page's own controls. */

/* Descriptions of one GPU (of its topology, of a dissection) are one: what an earlier one says stays. */
function mergeGpus(entries) {
  const merged = [];
  for (const { file, document: gpu } of entries) {
    const same = (a) => ["name", "uuid", "backend"].every((n) => valueOf(a, "device", n) === valueOf(gpu, "device", n));
    const known = merged.find((m) => same(m.gpu));
    if (!known) {
      merged.push({ files: [file], gpu: { ...gpu, elements: Object.fromEntries(Object.entries(gpu.elements || {}).map(([n, e]) => [n, { ...e }])) } });
      continue;
    }
    known.files.push(file);
    for (const [name, element] of Object.entries(gpu.elements || {})) known.gpu.elements[name] = { ...element, ...(known.gpu.elements[name] || {}) };
  }
  return merged;
}

function nameOf(gpu) {
  const name = valueOf(gpu, "device", "name", "GPU"), backend = valueOf(gpu, "device", "backend");
  return `${name}${backend === "simulated" ? ", simulated" : ""}`;
}

function showGpu({ gpu, files }, index) {
  const grid = addSection(`Topology: ${nameOf(gpu)}`, `gpu-${index}`);
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
  "fathom-bench": { title: "Bench", show: (grid, document_, gpu) => { roofline(grid, gpu, document_); showBench(grid, document_); } },
  "fathom-evidence": { title: "Samples", show: showEvidence },
  "fathom-series": { title: "Loads", show: showSeries },
  "fathom-model": { title: "Model", show: showModel },
  "fathom-explore": { title: "Exploration", show: showExplore },
  "fathom-comparison": { title: "Comparison", show: comparisonTable },
};

function start() {
  const entries = data.documents.filter((e) => e.document && typeof e.document === "object");
  const schemaOf = (e) => String(e.document.schema || "").split("/")[0];
  const gpus = mergeGpus(entries.filter((e) => schemaOf(e) === "fathom-gpu"));
  gpus.forEach(showGpu);
  const grids = new Map();
  entries.filter((e) => schemaOf(e) !== "fathom-gpu").forEach((entry, i) => {
    const kind = Object.prototype.hasOwnProperty.call(KINDS, schemaOf(entry)) ? KINDS[schemaOf(entry)] : null;
    const device = entry.document.device, wanted = device && typeof device === "object" ? device.name : undefined;
    /* The same GPU, and measured or simulated as it was: nothing is mixed. */
    const own = gpus.find((g) => wanted !== undefined && valueOf(g.gpu, "device", "name") === wanted && valueOf(g.gpu, "device", "backend") === (device.backend || null)) || (wanted === undefined && gpus.length === 1 ? gpus[0] : null);
    const title = `${kind ? kind.title : schemaOf(entry).replace(/^fathom-/, "")}: ${wanted !== undefined ? `${wanted}${device.backend === "simulated" ? ", simulated" : ""}` : schemaOf(entry) === "fathom-model" ? entry.document.gpu || "" : entry.file}`;
    /* Several results of a kind for the same GPU share a section. */
    const grid = grids.get(title) || addSection(title, `document-${i}`);
    const alike = entries.filter((e) => schemaOf(e) === "fathom-model" && e.document.gpu === entry.document.gpu);
    if (schemaOf(entry) === "fathom-model" && !grids.has(title) && alike.length > 1) modelOverview(grid, alike);
    grids.set(title, grid);
    if (kind) kind.show(grid, entry.document, own && own.gpu, entry.file);
    else showOther(grid, entry.document);
    if (!grid.children.length) grid.append(el("p", { class: "note" }, "There is nothing in this document that could be drawn."));
  });
  const first = gpus[0] && gpus[0].gpu;
  const title = first ? gpus.map((g) => nameOf(g.gpu)).join(", ") : "fathom report";
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
