/* Tests reports in a browser: every chart is drawn, and the mouse, the keyboard, zooming, CSV downloads, themes and printing work. No text
   of a document may become markup or code. The expected figures come from the recordings of an H200 in tests/replay. Prints TAP. */
"use strict";
const assert = require("assert");
const { execFileSync } = require("child_process");
const fs = require("fs");
const path = require("path");
const { chromium } = require("playwright-core");

const root = path.resolve(__dirname, "../.."), work = process.env.WORK, fathom = process.env.FATHOM;
const data = (name) => path.join(__dirname, "data", name);
const measured = JSON.parse(fs.readFileSync(path.join(root, "tests/replay/h200.json"), "utf8")).elements;
const tests = [];
const test = (name, body) => tests.push({ name, body });

/* Writes a report of the files and returns its path. */
function report(name, ...files) {
  const file = path.join(work, `${name}.html`);
  execFileSync(fathom, ["report", ...files, "-o", file], { stdio: ["ignore", "inherit", "ignore"] });
  return file;
}

/* Opens a page. page.faults collects its errors, warnings, dialogs and network requests. */
async function open(browser, file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: "light", acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30000);
  page.faults = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) page.faults.push(message.text()); });
  page.on("pageerror", (error) => page.faults.push(error.stack));
  page.on("dialog", (dialog) => { page.faults.push(`dialog ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => { if (!/^(file|blob|data):/.test(request.url())) page.faults.push(`request ${request.url()}`); });
  await page.goto(`file://${file}`);
  return page;
}

/* The number of visible shapes in a chart. */
const shapeCount = (page, id) => page.evaluate((chart) => [...document.querySelectorAll(`#${chart} svg :is(rect, circle, path, line)`)].filter((node) => {
  const box = node.getBoundingClientRect();
  return box.width + box.height > 0;
}).length, id);

/* Asserts that each chart exists and has at least the given number of shapes. */
async function assertCharts(page, minimums) {
  for (const [id, minimum] of Object.entries(minimums)) {
    const count = await shapeCount(page, `chart-${id}`);
    assert.ok(count >= minimum, `chart-${id} has ${count} shapes; at least ${minimum} are required`);
  }
}

/* Lists texts that cannot be read: those that extend beyond their drawing, and labels of one axis or of one chart that overlap. */
const unreadable = (page) => page.evaluate(() => {
  const found = [], overlap = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const checkOverlaps = (nodes, where) => nodes.forEach((node, i) => nodes.slice(i + 1).forEach((other) => {
    if (overlap(node.getBoundingClientRect(), other.getBoundingClientRect())) found.push(`${where}: "${node.textContent}" overlaps "${other.textContent}"`);
  }));
  for (const svg of document.querySelectorAll("main svg")) {
    const id = svg.closest("figure").id, frame = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (box.width && (box.left < frame.left - 2 || box.right > frame.right + 2 || box.top < frame.top - 4 || box.bottom > frame.bottom + 4)) found.push(`${id}: "${text.textContent}" is cut off`);
    }
    for (const axis of svg.querySelectorAll(".axis")) checkOverlaps([...axis.querySelectorAll("text")], id);
    checkOverlaps([...svg.querySelectorAll("text.label")], id);
  }
  return found;
});

/* Lists charts that show no tip on an arrow key, do not announce it to screen readers, or offer no CSV. */
const inaccessible = (page) => page.evaluate(() => {
  const found = [], tip = document.getElementById("tip"), live = document.getElementById("live");
  for (const svg of document.querySelectorAll("main svg")) {
    const id = svg.closest("figure").id;
    tip.hidden = true;
    live.textContent = "";
    svg.focus();
    svg.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
    if (tip.hidden || !tip.innerText.trim() || !live.textContent) found.push(`${id} has no tip`);
    svg.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
    if (!tip.hidden) found.push(`${id} keeps its tip`);
  }
  for (const figure of document.querySelectorAll("figure")) if (!figure.querySelector("button.csv")) found.push(`${figure.id} has no CSV`);
  return found;
});

/* The documents that a report contains. */
function documentsIn(file) {
  return JSON.parse(/id="fathom-data">\s*([^]*?)\s*<\/script>/.exec(fs.readFileSync(file, "utf8"))[1]).documents;
}

const tipOf = (page) => page.evaluate(() => document.getElementById("tip").hidden ? "" : document.getElementById("tip").innerText);

/* The rows of a chart's CSV file, without the header. */
async function csvOf(page, id) {
  const waiting = page.waitForEvent("download"), file = path.join(work, `${id}.csv`);
  await page.locator(`#chart-${id} button.csv`).click();
  await (await waiting).saveAs(file);
  return fs.readFileSync(file, "utf8").trim().split("\n").slice(1).map((line) => line.split(","));
}

async function hover(page, target) {
  await target.scrollIntoViewIfNeeded();
  const box = await target.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
}

test("the report of an H200 is complete and smaller than 2 MB", async ({ h200, h200File }) => {
  await assertCharts(h200, { sm: 6, chip: 130, latency: 12, bandwidth: 16, "sm-to-l2-latency": 132, disturbance: 120, carveout: 9, "footprint-ca": 100, "footprint-cg-pages": 100, "footprint-constant": 30, "footprint-code": 60 });
  assert.ok(fs.statSync(h200File).size < 2e6, `${fs.statSync(h200File).size} bytes`);
  assert.strictEqual(await h200.textContent("#title"), "NVIDIA H200");
  assert.deepStrictEqual(h200.faults, []);
});

test("the page fits into wide and narrow windows", async ({ browser, h200File }) => {
  for (const width of [1280, 380]) {
    const page = await open(browser, h200File, { viewport: { width, height: 800 } });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `${wide} pixels in a window of ${width}`);
    assert.deepStrictEqual(await unreadable(page), []);
    assert.deepStrictEqual(page.faults, []);
    await page.context().close();
  }
});

test("plateaus and change points are marked", async ({ h200 }) => {
  const chart = h200.locator("#chart-footprint-ca");
  assert.ok(await chart.locator("line.mark").count() >= 4);
  const texts = await chart.locator("text.label").allTextContents();
  for (const expected of [/^L1 data 32$/, new RegExp(`^L2 ${measured.l2.latency_cycles.value}$`), /^L1 data size 241 KiB$/, /no hit 320 KiB/]) assert.ok(texts.some((text) => expected.test(text)), `${expected} in ${texts.join("; ")}`);
});

test("hovering shows the provenance of a figure", async ({ h200 }) => {
  await hover(h200, h200.locator("#chart-latency svg circle.dot").nth(3));
  const tip = await tipOf(h200);
  assert.match(tip, /cycles/);
  assert.match(tip, /measured/);
  assert.match(tip, /whole passes over two chains/);
  await hover(h200, h200.locator("#chart-sm svg rect.memory").nth(1));
  assert.match(await tipOf(h200), /L1 data[^]*241 KiB[^]*without a miss/);
  await h200.mouse.move(5, 5);
  assert.strictEqual(await tipOf(h200), "");
});

test("the keyboard steps through a chart, and screen readers are informed", async ({ h200 }) => {
  await h200.focus("#chart-sm-to-l2-latency svg");
  await h200.keyboard.press("ArrowRight");
  await h200.keyboard.press("ArrowRight");
  assert.match(await tipOf(h200), /SM 1\n/);
  assert.match(await h200.textContent("#live"), /SM 1\. .*cycles/);
  await h200.keyboard.press("End");
  assert.match(await tipOf(h200), /SM 131/);
  await h200.keyboard.press("Escape");
  assert.strictEqual(await tipOf(h200), "");
});

test("zooming in shows single samples; resetting restores the chart", async ({ h200 }) => {
  const chart = h200.locator("#chart-footprint-ca"), zoomOf = async () => Number(await chart.locator("svg").getAttribute("data-zoom"));
  const ticks = () => chart.locator(".axis").first().textContent();
  const before = await ticks();
  assert.strictEqual(await chart.locator("circle.sample").count(), 0);
  /* Zooming is centred on the point that was hovered last. */
  await hover(h200, chart.locator("circle.point").nth(30));
  for (let i = 0; i < 3; i++) await chart.getByRole("button", { name: "Zoom in" }).click();
  assert.strictEqual(await zoomOf(), 8);
  assert.ok(await chart.locator("circle.sample").count() > 50);
  await hover(h200, chart.locator("circle.sample").nth(20));
  assert.match(await tipOf(h200), /stride [^]*footprint [^]*one sample: \d+ cycles/);
  assert.notStrictEqual(await ticks(), before);
  await chart.getByRole("button", { name: "Reset zoom" }).click();
  assert.strictEqual(await zoomOf(), 1);
  assert.strictEqual(await ticks(), before);
  await chart.locator("svg").focus();
  await h200.keyboard.press("+");
  assert.strictEqual(await zoomOf(), 2);
  await hover(h200, chart.locator("svg"));
  await h200.mouse.wheel(0, -300);
  assert.ok(await zoomOf() > 2);
  await h200.keyboard.press("0");
  assert.strictEqual(await zoomOf(), 1);
  await chart.getByRole("button", { name: "Show single samples" }).click();
  assert.ok(await chart.locator("circle.sample").count() > 1000);
  await chart.getByRole("button", { name: "Show single samples" }).click();
});

test("curves can be hidden", async ({ h200 }) => {
  const chart = h200.locator("#chart-footprint-ca"), before = await chart.locator("circle.point").count();
  const button = chart.locator(".legend button").first();
  await button.click();
  assert.strictEqual(await button.getAttribute("aria-pressed"), "false");
  assert.ok(await chart.locator("circle.point").count() < before);
  await button.click();
  assert.strictEqual(await chart.locator("circle.point").count(), before);
});

test("the slider changes the carve-out", async ({ h200 }) => {
  const text = () => h200.locator("#chart-sm svg").textContent(), slider = h200.getByRole("slider");
  assert.match(await text(), /L1 \+ texture \+ read-only 241 KiB/);
  await slider.focus();
  await h200.keyboard.press("End");
  assert.match(await text(), /Shared memory 228 KiB/);
  assert.match(await text(), /21 KiB/);
  await h200.keyboard.press("Home");
});

test("every chart offers its data as CSV and as a table", async ({ h200 }) => {
  const charts = await h200.locator("figure").count();
  assert.strictEqual(await h200.locator("figure button.csv").count(), charts);
  const waiting = h200.waitForEvent("download");
  await h200.locator("#chart-sm-to-l2-latency button.csv").click();
  const download = await waiting, file = path.join(work, "sm.csv");
  assert.strictEqual(download.suggestedFilename(), "sm-to-l2-latency.csv");
  await download.saveAs(file);
  const lines = fs.readFileSync(file, "utf8").trim().split("\n");
  assert.strictEqual(lines[0], "sm,cycles,partition");
  assert.strictEqual(lines.length, 133);
  assert.strictEqual(lines[1], `0,${measured.l2.latency_by_sm_cycles.value[0]},`);
  await h200.locator("#chart-sm-to-l2-latency summary").click();
  // The page fills the table after the event "toggle", which follows the click.
  await h200.locator("#chart-sm-to-l2-latency tbody tr").first().waitFor({ state: "attached" });
  assert.strictEqual(await h200.locator("#chart-sm-to-l2-latency tbody tr").count(), 132);
  await h200.locator("#chart-sm-to-l2-latency summary").click();
});

test("cells of CSV files are not formulas", async ({ browser }) => {
  const file = path.join(work, "formulas.json");
  const texts = { a: "=1+1", b: "-2+3", c: "@x", d: '+"a",b', e: "-5", f: "-1 2 -3" };
  fs.writeFileSync(file, JSON.stringify({ schema: "fathom-gpu/1", device: { name: "x", sms: 1 }, elements: { l1: texts } }));
  const page = await open(browser, report("formulas", file)), id = "figures-0";
  const waiting = page.waitForEvent("download"), csv = path.join(work, "formulas.csv");
  await page.locator(`#chart-${id} button.csv`).click();
  await (await waiting).saveAs(csv);
  const lines = fs.readFileSync(csv, "utf8");
  for (const cell of [`"'=1+1"`, `"'-2+3"`, `"'@x"`, `"'+""a"",b"`, ",-5", ",-1 2 -3"]) assert.ok(lines.includes(cell), `${cell} in ${lines}`);
  assert.deepStrictEqual(page.faults, []);
});

test("figures can be searched by words", async ({ h200 }) => {
  const rows = h200.locator("#chart-figures-0 tbody tr"), all = await rows.count();
  await h200.getByRole("searchbox").fill("l2 far latency");
  assert.strictEqual(await rows.count(), 1);
  assert.ok((await rows.first().innerText()).includes(`${measured.l2.far_latency_cycles.value}`));
  await h200.getByRole("searchbox").fill("");
  assert.strictEqual(await rows.count(), all);
});

test("charts and controls have descriptions for screen readers", async ({ h200 }) => {
  const faults = await h200.evaluate(() => {
    const found = [];
    for (const svg of document.querySelectorAll("main svg")) if (svg.getAttribute("role") !== "img" || !svg.getAttribute("aria-label")) found.push(`svg of ${svg.closest("figure").id}`);
    for (const node of document.querySelectorAll("button, input")) if (!(node.textContent.trim() || node.getAttribute("aria-label"))) found.push(node.outerHTML);
    for (const figure of document.querySelectorAll("figure")) if (!figure.querySelector("figcaption h3").textContent) found.push(figure.id);
    const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
    return found.concat(ids.filter((id, i) => ids.indexOf(id) !== i));
  });
  assert.deepStrictEqual(faults, []);
  assert.strictEqual(await h200.getByRole("heading", { level: 1 }).count(), 1);
});

/* The contrast ratio of an element's text and the page's background, from their relative luminances (WCAG 2). */
const contrast = (page, selector) => page.evaluate((where) => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\d.]+/g).map(Number).map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ink = light(getComputedStyle(document.querySelector(where)).color), paper = light(getComputedStyle(document.body).backgroundColor);
  return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
}, selector);

test("the theme follows the system and can be switched", async ({ browser, h200, h200File }) => {
  const paper = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await open(browser, h200File, { colorScheme: "dark" });
  assert.notStrictEqual(await paper(dark), await paper(h200));
  for (const page of [dark, h200]) for (const where of ["h1", "#facts", "nav a", ".note"]) assert.ok(await contrast(page, where) >= 4.5, `contrast of ${where}`);
  await dark.screenshot({ path: path.join(work, "dark.png") });
  await dark.click("#theme");
  assert.strictEqual(await paper(dark), await paper(h200));
  await dark.context().close();
});

/* The number of pages of a PDF file. */
const pageCount = (pdf) => (pdf.toString("latin1").match(/\/Type\s*\/Page\b/g) || []).length;

test("the printed page has no buttons and fits the paper", async ({ browser, h200File }) => {
  const page = await open(browser, h200File, { colorScheme: "dark" });
  await page.emulateMedia({ media: "print" });
  assert.ok(!(await page.locator("nav").isVisible()));
  assert.ok(!(await page.locator("button.csv").first().isVisible()));
  assert.strictEqual(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
  const pdf = await page.pdf({ preferCSSPageSize: true }), [, width, height] = /MediaBox \[0 0 ([\d.]+) ([\d.]+)\]/.exec(pdf.toString("latin1"));
  assert.ok(pdf.length > 50000);
  assert.ok(Number(height) > Number(width), "the paper is in portrait format");
  const sheets = pageCount(pdf);
  assert.ok(sheets >= 3 && sheets <= 15, `${sheets} pages`);
  await page.setViewportSize({ width: 703, height: 1069 });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 703, "the page fits A4 in portrait format");
  assert.deepStrictEqual(await unreadable(page), []);
  await page.context().close();
});

test("benchmarks, dissections, series of loads and documents of other kinds are shown", async ({ browser }) => {
  const series = path.join(work, "series.csv"), bench = path.join(work, "bench.json");
  execFileSync(fathom, ["dissect", "constant_l1", "--device", "sim:gtx560ti", "--series", series, "-o", path.join(work, "dissect.txt")]);
  execFileSync(fathom, ["bench", "banks", "--device", "sim:rtx2060", "--json", "-o", bench]);
  const page = await open(browser, report("mixed", data("dissected.json"), data("curves.json"), bench, series, data("model.json"), data("model.json"), data("other.json")));
  await assertCharts(page, { "spectrum-l1": 3, "overflow-tlb_l1": 4, chip: 6, roofline: 6, "bench-stream": 3, "bench-stream-sizes": 6, "bench-scaling": 6, "bench-latency": 4, "bench-banks-4": 40, "strip-constant_l1": 10, "model-all": 6, "model-kernels": 3, "model-kernels-2": 3, "model-lines": 3, "model-times": 3, "model-times-2": 3, "model-profile": 5, "model-curve-l1": 4, "other-runs": 2 });
  assert.ok(await page.locator("#chart-bench-stream .theory").count() === 1, "STREAM shows its theoretical maximum");
  assert.match(await page.locator("#chart-bench-empty").innerText(), /the device cannot/);
  assert.match(await page.locator("#chart-bench-global").innerText(), /Achieved/);
  const lines = await page.locator("#chart-model-lines svg").textContent();
  assert.match(lines, /rows line 12 read L1 reads50/, "two instructions of a line are combined: 100 of 200 hit");
  assert.match(lines, /rows line 12 read L2 reads10/, "10 of 100 hit");
  assert.match(await page.locator("#chart-model-times").innerText(), /Estimated time by kernel/);
  assert.deepStrictEqual(await csvOf(page, "model-times"), [["rows", "estimate", "12.5"], ["rows", "floor", "4.25"], ["columns", "estimate", "3"]]);
  assert.deepStrictEqual(await unreadable(page), []);
  await page.screenshot({ path: path.join(work, "mixed.png"), fullPage: true });
  assert.deepStrictEqual(page.faults, []);
  await page.context().close();
});

/* Writes a document and returns its path. */
function written(name, content) {
  const file = path.join(work, name);
  fs.writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

test("labels stay different, inlined code names its call, and TLBs have pages", async ({ browser }) => {
  const levels = { l1: { sectors: [8, 8, 8], hits: [2, 4, 0] }, l2: { sectors: [6, 8, 8], hits: [3, 6, 1] } };
  const metrics = { L1_R_Hit: 0.25, L2_Hit: 0.5, L2_R_Hit: 0.5, L2_W_Hit: 0.75, L1_R_Trans: 8, L2_Trans: 22 };
  /* The names differ only in their middle, or only at their end. */
  const kernels = ["_Z9transposeILi32ELi0EEvPKfPfiiiiiiiiiiiiiiiiiiiiiiiiiiiiii", "_Z9transposeILi32ELi1EEvPKfPfiiiiiiiiiiiiiiiiiiiiiiiiiiiiii", `${"x".repeat(80)}1`, `${"x".repeat(80)}2`, `a${"y".repeat(90)}`, `a${"y".repeat(91)}`, "short"];
  const call = (line) => ({ source_file: "/src/kernel.cu", source_line: line });
  const instructions = [
    { kernel: "k", line: 1, source_file: "/include/helper.cuh", source_line: 112, inlined_at: [call(13)], kind: "read", ...levels },
    { kernel: "k", line: 2, source_file: "/include/helper.cuh", source_line: 112, inlined_at: [call(13)], kind: "read", ...levels },
    { kernel: "k", line: 3, source_file: "/include/helper.cuh", source_line: 112, inlined_at: [call(14)], kind: "read", ...levels },
    { kernel: "k", line: 4, source_file: "/other/helper.cuh", source_line: 112, inlined_at: [call(13)], kind: "read", ...levels },
    { kernel: "k", line: 5, ...call(15), kind: "write", ...levels },
  ];
  const model = written("names.json", { schema: "fathom-model/1", gpu: "made up", parameters: {}, kernels: kernels.map((kernel) => ({ kernel, launches: 1, metrics, ...levels })), launches: [], instructions });
  const passes = (element) => [0, 1, 2, 0, 1, 2].map((index, load) => `${element},${load},${index},${30 + index},${load < 3 ? "miss" : "hit"}\n`).join("");
  const series = written("tlb.csv", `element,load,index,cycles,result\n${passes("tlb_l1")}${passes("l1")}`);
  const fleet = written("fleet.json", { schema: "fathom-fleet/1", gpus: 500, differences: [{ gpu: "node7.json", element: "memory", attribute: "read_bytes_per_s", value: 3.2e12, usual: 4e12, apart_percent: 20 }, { gpu: "node8.json", element: "l1", attribute: "policy", value: "fifo", usual: "lru" }] });
  const page = await open(browser, report("names", model, series, fleet, data("dissected.json"), path.join(root, "data/gpus/k20c.json")));
  const bars = await page.locator("#chart-model-kernels svg > text").allTextContents(), labels = bars.filter((text) => / (L1|L2) (reads|writes)$| #[0-9]+$/.test(text));
  assert.strictEqual(labels.length, 3 * kernels.length, labels.join("; "));
  assert.strictEqual(new Set(labels).size, labels.length, labels.join("; "));
  assert.ok(labels.every((label) => label.length <= 40), labels.join("; "));
  for (const size of ["Li0E", "Li1E"]) assert.strictEqual(labels.filter((label) => label.includes(size)).length, 3, labels.join("; "));
  await page.locator("#chart-model-lines details summary").click();
  await page.locator("#chart-model-lines details td").first().waitFor({ state: "attached" });
  const lines = await page.locator("#chart-model-lines details td:first-child").allTextContents();
  const inlined = "k helper.cuh:112 @ kernel.cu:13 read";
  assert.deepStrictEqual([...new Set(lines)], [inlined, "k helper.cuh:112 @ kernel.cu:14 read", "k kernel.cu:15 write"]);
  assert.strictEqual(lines.filter((name) => name === inlined).length, 2 * 4, "two instructions of one line, file and call are combined; those of another file are not");
  assert.match(await page.locator("#chart-strip-tlb_l1").innerText(), /2 passes over 3 pages, one more than the TLB holds/);
  assert.match(await page.locator("#chart-strip-tlb_l1 svg").textContent(), /page 1page 3/);
  assert.match(await page.locator("#chart-strip-l1").innerText(), /2 passes over 3 lines, one more than the cache holds/);
  assert.match(await page.locator("#chart-strip-l1 svg").textContent(), /line 1line 3/);
  const table = await page.locator("#chart-fleet").innerText();
  for (const expected of [/500 GPUs were compared/, /node7\.json\s+Device memory\s+read bandwidth\s+3\.20 TB\/s\s+4\.00 TB\/s\s+20 %/, /node8\.json\s+L1 data\s+replacement policy\s+fifo\s+lru/]) assert.match(table, expected);
  const facts = await page.locator("#facts > div").allTextContents();
  assert.strictEqual(facts.length, 2, "one line of facts per GPU");
  assert.ok(facts.some((text) => /^Tesla K20c: .*Kepler.* 13 SMs/.test(text)), facts.join("; "));
  assert.deepStrictEqual(await unreadable(page), []);
  assert.deepStrictEqual(page.faults, []);
  await page.context().close();
});

/* All recorded measurements of an H200, and the results of the cache model for the eighteen workloads at the sizes of the paper (make-models). */
test("one report shows all results of an H200", async ({ browser }) => {
  const replay = (name, ...benches) => {
    const file = path.join(work, `${name}.json`);
    execFileSync(fathom, ["bench", ...benches, "--device", `replay:${path.join(root, "tests/replay", `${name}.zst`)}`, "--json", "-o", file], { stdio: ["ignore", "inherit", "ignore"] });
    return file;
  };
  const benches = [replay("bench-caches-h200", "banks", "arith", "atomics", "shared", "scaling", "latency"), replay("bench-memory-h200", "global", "link", "stream")];
  const models = fs.readdirSync(data("models")).map((name) => data(path.join("models", name)));
  assert.strictEqual(models.length, 18);
  const file = report("full", path.join(root, "tests/replay/h200.json"), path.join(root, "tests/replay/h200.zst"), data("dissect-h200.json"), data("series-h200.zst"), ...benches, ...models);
  assert.ok(fs.statSync(file).size < 2e6, `${fs.statSync(file).size} bytes`);
  const page = await open(browser, file);
  await assertCharts(page, { sm: 6, chip: 130, roofline: 6, "spectrum-l1": 3, "spectrum-l2": 5, "overflow-tlb_l2": 10, "bench-banks-4": 40, "bench-shared-peak4": 20, "bench-scaling-l2": 60, "bench-latency": 100, "bench-global-vector": 40, "bench-link-sizes": 5, "bench-stream-sizes": 40, "strip-l1": 60, "strip-constant_l1": 20, "model-all": 70, "model-kernels-18": 2, "model-lines-18": 2, "model-times-18": 2, "model-profile-35": 5, "model-curve-l1-18": 3, "model-curve-l2-18": 3 });
  assert.deepStrictEqual(await page.locator(".run > h3").allTextContents(), models.map((model) => path.basename(model, ".zst")));
  for (const id of ["bench-stream-sizes", "bench-stream-threads", "bench-global-vector", "bench-scaling-memory", "bench-scaling-l1", "bench-shared-peak4", "bench-link-sizes"]) assert.strictEqual(await page.locator(`#chart-${id} line.theory`).count(), 1, `${id} shows its theoretical maximum`);
  assert.match(await page.locator("#chart-bench-stream-sizes svg").textContent(), /memory peak: 4814 GB\/s/);
  assert.match(await page.locator("#chart-bench-latency svg").textContent(), /L1 data size 241 KiB/);
  assert.match(await page.locator("#chart-bench-atomics .legend").innerText(), /contended, SMs 132/, "one SM and all SMs have separate curves");
  /* Two cards with the same name are distinguished by UUID. The samples belong to the first card. */
  assert.match(await page.textContent("#title"), /^NVIDIA H200 \(GPU-[0-9a-f]+…\), NVIDIA H200 \(GPU-[0-9a-f]+…\)$/);
  assert.ok(await page.locator("#chart-footprint-ca line.mark").count() >= 4);
  /* Distances count sectors of 32 bytes. A fully associative L1 of the GPU's size has about the miss ratio of the GPU's L1. */
  const conv = documentsIn(file).find((d) => d.file === "2dconv-N4096.zst").document, rows = await csvOf(page, "model-curve-l1");
  assert.strictEqual(Number(rows[0][0]), 32 * (conv.l1_curve.distances[0][0] + 1));
  const atGpuSize = rows.filter((row) => Number(row[0]) <= Number(conv.parameters["l1.size_bytes"].value)).pop();
  assert.ok(Math.abs(Number(atGpuSize[1]) - 100 * (1 - conv.kernels[0].metrics.L1_R_Hit)) < 1, `${atGpuSize}`);
  assert.deepStrictEqual(await unreadable(page), []);
  assert.deepStrictEqual(await inaccessible(page), []);
  const narrow = await open(browser, file, { viewport: { width: 390, height: 800 } });
  assert.deepStrictEqual(await unreadable(narrow), []);
  assert.strictEqual(await narrow.evaluate(() => document.documentElement.scrollWidth), 390);
  await narrow.context().close();
  /* The page is tall. Its screenshot is only made if the results are kept. */
  if (process.env.KEEP) await page.screenshot({ path: path.join(work, "full.png"), fullPage: true, timeout: 60000 });
  assert.deepStrictEqual(page.faults, []);
  await page.context().close();
});

test("the stored model results are those of the current model", async () => {
  for (const name of ["cfd-N193536", "hspot-N1024"]) {
    const model = path.join(work, "model.json");
    execFileSync(fathom, ["model", path.join(root, `examples/workloads/${name.replace(/-.*/, "")}.json`), "--gpu", "h200", "--curve", "--json", "-o", model], { stdio: ["ignore", "inherit", "ignore"] });
    const [computed, stored] = [model, data(`models/${name}.zst`)].map((file) => documentsIn(report("model", file))[0].document);
    assert.deepStrictEqual(computed, stored, `${name}: run 'tests/browser/make-models build/fathom' to update the stored results`);
  }
});

/* Runs an exploration with four studies of two small kernels. With -o it writes a file of points, whose header has the base parameters; with
   --json it prints a list without a header. */
function explore(...options) {
  const spec = path.join(work, "studies.json"), traces = [path.join(root, "examples/workloads/atax.json")];
  fs.writeFileSync(spec, JSON.stringify({ schema: "fathom-exploration/1", set: { "gpu.sms": 2, "l1.size_bytes": "16K" }, studies: [
    { name: "capacity", traces, vary: { "l1.size_bytes": ["4K", "8K", "16K"] }, l1_off: true },
    { name: "policies", traces, vary: { "l1.policy": ["lru", "fifo"], "l1.size_bytes": ["4K", "8K", "16K"] } },
    { name: "index", traces: [`${traces[0]} rows`], vary: { "l1.index": ["mod", "shift:1", "shift:2", "shift:4", "xor", "prime"] } },
    { name: "shape", traces, vary: { "l2.partitions+l2.banks": ["1+1", "2+1", "2+2"] } }] }));
  return execFileSync(fathom, ["explore", "--file", spec, "--set", "N=64", "--threads", "1", ...options], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}

test("explorations are shown as small multiples", async ({ browser }) => {
  const points = path.join(work, "points.jsonl"), list = path.join(work, "points.json");
  fs.rmSync(points, { force: true });
  explore("-o", points);
  fs.writeFileSync(list, explore("--json"));
  const page = await open(browser, report("explore", points, list));
  const circles = (id) => page.locator(`#chart-${id} circle.point`).count(), panels = (id) => page.locator(`#chart-${id} g.panel`).count();
  assert.strictEqual(await page.locator("section").count(), 2);
  /* [chart, panels, points]. capacity: 2 kernels × 3 sizes × 3 ratios; policies: 2 kernels × 3 sizes × 2 policies × 2 ratios; index: 1 kernel ×
     6 functions × 2 ratios; shape: 2 kernels × 3 shapes × 2 ratios. The last two are charts of the list. */
  for (const [id, charts, dots] of [["explore", 2, 18], ["explore-2", 4, 24], ["explore-3", 1, 12], ["explore-4", 2, 12], ["explore-5", 2, 18], ["explore-6", 4, 24]]) {
    assert.strictEqual(await panels(id), charts, id);
    assert.strictEqual(await circles(id), dots, id);
  }
  assert.strictEqual(await page.locator("#chart-explore g.panel path").count(), 6, "points of sizes are joined by lines");
  assert.strictEqual(await page.locator("#chart-explore-3 g.panel path").count(), 0, "points of names are not");
  assert.match(await page.locator("#chart-explore-3 svg").textContent(), /mod.*shift:2.*xor/);
  assert.strictEqual(await page.locator("#chart-explore line.mark").count(), 2);
  assert.match(await page.locator("#chart-explore .note").innerText(), /Dashed line: 16 KiB/);
  assert.strictEqual(await page.locator("#chart-explore-5 line.mark").count(), 0, "a list does not contain the base parameters");
  /* The second point from the left has the second size and the value of the list. */
  const row = JSON.parse(fs.readFileSync(list)).find((r) => r.study === "capacity" && r.kernel === "rows" && r["l1.size_bytes"] === "8K");
  await page.focus("#chart-explore svg");
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  assert.strictEqual(await tipOf(page), `rows\nl1.size_bytes: 8 KiB\nL1 reads: ${row.l1_read_hit_percent} % hit`);
  await page.keyboard.press("Escape");
  await page.locator("#chart-explore .legend button").first().click();
  assert.strictEqual(await circles("explore"), 12);
  await page.locator("#chart-explore .legend button").first().click();
  const waiting = page.waitForEvent("download"), file = path.join(work, "explore.csv");
  await page.locator("#chart-explore-2 button.csv").click();
  await (await waiting).saveAs(file);
  const lines = fs.readFileSync(file, "utf8").trim().split("\n");
  assert.strictEqual(lines[0], "trace,kernel,l1.policy,l1.size_bytes,l1_read_sectors,l1_read_hit_percent,l2_hit_percent,l2_sectors");
  assert.strictEqual(lines.length, 13);
  assert.match(await page.locator("#chart-explore svg").getAttribute("aria-label"), /2 small charts, 18 points from [\d.]+ to [\d.]+ %/);
  assert.deepStrictEqual(await unreadable(page), []);
  await page.screenshot({ path: path.join(work, "explore.png"), fullPage: true });
  assert.deepStrictEqual(page.faults, []);
  await page.context().close();
});

/* FNV-1a, the checksum in each line of a file of points. The name of an exploration is such a checksum, too. */
const checksum = (text) => Buffer.from(text).reduce((state, byte) => BigInt.asUintN(64, (state ^ BigInt(byte)) * 0x100000001b3n), 0xcbf29ce484222325n).toString(16).padStart(16, "0");
const plain = (line) => JSON.stringify(line).slice(0, -1).replace('{"schema":"', '{"schema": "').replace('{"point":', '{"point": ');

/* Returns a line with its checksum. The name in a header is the checksum of the text before it. */
function seal({ check, exploration, shard, ...line }) {
  const named = exploration ? `${plain(line)},"exploration":"${checksum(plain(line))}"` : plain(line);
  const text = shard ? `${named},"shard":"${shard}"` : named;
  return `${text},"check":"${checksum(text)}"}`;
}

test("texts of hostile explorations are not interpreted", async ({ browser }) => {
  const bad = '</script><img src=x onerror="window.hacked = 5">', long = "<b>".repeat(3000), points = path.join(work, "hostile.jsonl"), list = path.join(work, "hostile-list.json");
  fs.rmSync(path.join(work, "plain.jsonl"), { force: true });
  explore("-o", path.join(work, "plain.jsonl"));
  const lines = fs.readFileSync(path.join(work, "plain.jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line));
  lines[0].base = { ...lines[0].base, "l1.index": bad };
  for (const study of lines[0].studies) { study.name = bad + study.name; study.vary[0].names[0] += bad; study.set = [{ [study.vary[0].names[0]]: bad }, null, 7]; }
  for (const line of lines.slice(1)) {
    line.study = bad + line.study;
    line.trace = long;
    line.values = Object.fromEntries(Object.entries(line.values).flatMap(([name, value]) => [[name, value], [name + bad, value + bad]]));
    for (const row of line.rows) row.kernel = bad + row.kernel;
  }
  fs.writeFileSync(points, lines.map((line) => `${seal(line)}\n`).join(""));
  fs.writeFileSync(list, JSON.stringify([{ point: 0, study: "__proto__", trace: bad, kernel: long, ["l1." + bad]: bad, l1_read_hit_percent: 50, l2_hit_percent: 1 }, null, 5, { study: {}, "a.b": [bad], l1_read_hit_percent: 7, trace: null }, { study: "", "a.b": null, l2_hit_percent: bad }]));
  const page = await open(browser, report("hostile-explore", points, list));
  await page.waitForTimeout(200);
  const seen = await page.evaluate(() => ({ hacked: window.hacked, images: document.querySelectorAll("img, iframe, b, object, embed").length, scripts: document.querySelectorAll("script").length, wide: document.documentElement.scrollWidth, polluted: {}.title }));
  assert.deepStrictEqual(seen, { hacked: undefined, images: 0, scripts: 3, wide: 1280, polluted: undefined });
  await assertCharts(page, { explore: 10, "explore-2": 10, "explore-3": 10, "explore-4": 10, "explore-5": 3, "explore-6": 3 });
  assert.match(await page.locator("#chart-explore svg").textContent(), /<\/script><img src=x/);
  await page.screenshot({ path: path.join(work, "hostile-explore.png"), fullPage: true });
  assert.deepStrictEqual(page.faults, []);
  await page.context().close();
});

test("two GPUs are shown with their differences", async ({ browser }) => {
  const files = ["a100", "v100"].map((name) => path.join(root, "data/gpus", `${name}.json`)), comparison = path.join(work, "comparison.json");
  try { execFileSync(fathom, ["compare", ...files, "--json", "-o", comparison]); } catch (error) { assert.strictEqual(error.status, 5); }
  const page = await open(browser, report("two", ...files, comparison));
  assert.deepStrictEqual(await page.locator("section > h2").allTextContents(), ["All GPUs", "NVIDIA A100", "Tesla V100", "Comparison: comparison.json"]);
  assert.doesNotMatch(await page.locator("main").innerText(), /fathom fleet judge/);
  assert.match(await page.locator("#chart-what-differs").innerText(), /L1 data\s+size\s/);
  assert.deepStrictEqual(page.faults, []);
  await page.context().close();
});

test("every description of the catalogue can be shown", async ({ browser }) => {
  const folder = path.join(root, "data/gpus");
  const page = await open(browser, report("all", ...fs.readdirSync(folder).map((name) => path.join(folder, name))));
  assert.strictEqual(await page.locator("section").count(), fs.readdirSync(folder).length + 1, "one section per GPU, and one for all together");
  assert.match(await page.locator("#all-gpus .note").first().innerText(), /shows \d+ GPUs one below the other.*fathom fleet judge/, "many descriptions are better judged as a fleet");
  assert.ok(await page.locator("figure svg").count() > 30);
  assert.deepStrictEqual(page.faults, []);
  await page.context().close();
});

test("texts of hostile documents are not interpreted", async ({ browser }) => {
  const file = path.join(work, "</h1><img src=x>.json".replace(/\//g, "_")), long = "A<b>\\\"".repeat(1700);
  fs.writeFileSync(file, fs.readFileSync(data("hostile.json"), "utf8").replace(/@LONG@/g, JSON.stringify(long).slice(1, -1)));
  const broken = [["series", { elements: { l1: {} } }], ["evidence", { curves: [{ path: "ca", points: 5 }] }], ["bench", { series: { a: null, b: { points: 7 } } }], ["model", { kernels: 5, instructions: [null, { kernel: {} }] }], ["comparison", { differences: 5 }], ["explore", { rows: 7, studies: [5] }]].map(([kind, document_]) => {
    const where = path.join(work, `broken-${kind}.json`);
    fs.writeFileSync(where, JSON.stringify({ schema: `fathom-${kind}/1`, ...document_ }));
    return where;
  });
  const page = await open(browser, report("hostile", file, data("hostile-bench.json"), ...broken));
  await page.waitForTimeout(200);
  const seen = await page.evaluate(() => ({ hacked: window.hacked, images: document.querySelectorAll("img, iframe, b, object, embed").length, scripts: document.querySelectorAll("script").length, title: document.getElementById("title").textContent, wide: document.documentElement.scrollWidth, polluted: {}.title }));
  assert.strictEqual(seen.hacked, undefined);
  assert.strictEqual(seen.images, 0);
  assert.strictEqual(seen.scripts, 3);
  assert.strictEqual(seen.polluted, undefined);
  assert.ok(seen.title.startsWith("</script><script>window.hacked = 1</script><img src=x onerror=\"window.hacked = 2\">'\"&amp;"));
  assert.ok(seen.title.length > 10000);
  assert.ok(seen.wide <= 1280, `${seen.wide} wide`);
  await assertCharts(page, { sm: 2, latency: 2, "sm-to-l2-latency": 4 });
  await hover(page, page.locator("#chart-sm svg rect.memory").first());
  assert.match(await tipOf(page), /<img src=x onerror=window\.hacked=4>/);
  await page.screenshot({ path: path.join(work, "hostile.png") });
  assert.deepStrictEqual(page.faults, []);
  await page.context().close();
});

require("./fleet.js")({ test, open, report, written, data, csvOf, unreadable, inaccessible, hover, tipOf, assertCharts, contrast });
require("./diagnosis.js")({ test, open, report, written, data, root, work, fathom, csvOf, unreadable, inaccessible, hover, tipOf, pageCount });

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.BROWSER, headless: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
  const h200File = report("h200", path.join(root, "tests/replay/h200.json"), path.join(root, "tests/replay/h200.zst"));
  const h200 = await open(browser, h200File);
  await h200.screenshot({ path: path.join(work, "h200.png"), fullPage: true });
  console.log(`1..${tests.length}`);
  let failed = 0;
  for (const [i, { name, body }] of tests.entries()) {
    try {
      await body({ browser, h200, h200File });
      console.log(`ok ${i + 1} - ${name}`);
    } catch (error) {
      failed++;
      console.log(`not ok ${i + 1} - ${name}\n${String(error.stack).replace(/^/gm, "# ")}`);
    }
  }
  await browser.close();
  process.exitCode = failed ? 1 : 0;
})();
