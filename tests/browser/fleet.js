/* Tests the page of a fleet (fathom-fleet/2): what it says about each GPU, the charts, searching, printing, and its size for 10,000 GPUs. */
"use strict";
const assert = require("assert");
const fs = require("fs");

/* Returns a judgement of GPUs on hosts with eight each. Every `every`-th GPU has less memory bandwidth and is listed. The values vary like normal
   distributed numbers (sums of twelve uniform ones), from a fixed seed. */
function fleetOf(gpuCount, every) {
  let seed = 1;
  const uniform = () => { seed = (seed * 48271) % 2147483647; return seed / 2147483647; };
  const normal = () => { let sum = -6; for (let i = 0; i < 12; i++) sum += uniform(); return sum; };
  const elements = ["memory", "l2", "l1", "shared", "texture", "readonly", "constant_l1", "cluster_shared"], names = elements.flatMap((e) => ["read_bytes_per_s", "write_bytes_per_s", "copy_bytes_per_s", "latency_cycles", "far_latency_cycles"].map((n) => `${e}.${n}`));
  const scores = Array.from({ length: gpuCount }, (_, g) => names.map((name) => normal() + (g % every === 0 && name.startsWith("memory.") && name.endsWith("_per_s") ? 12 : 0)));
  const usual = (name) => name.endsWith("_per_s") ? 4.5e12 : 300, kind = (name) => name.endsWith("_per_s") ? "rate" : "time", effect = (name, z) => (name.endsWith("_per_s") ? -0.005 : 0.005) * z;
  const host = (g) => `node${String(Math.floor(g / 8)).padStart(4, "0")}`, uuid = (g) => `GPU-${(0x10000000 + g * 7919).toString(16)}-dec0-722e-a8e2-9e43cd23${String(g).padStart(4, "0")}`;
  const figures = names.map((name, f) => {
    const bins = new Array(40).fill(0), from = usual(name) * 0.97, to = usual(name) * 1.03;
    for (const own of scores) { const bin = Math.floor(40 * (usual(name) * (1 + effect(name, own[f])) - from) / (to - from)); if (bin >= 0 && bin < 40) bins[bin]++; }
    return { figure: name, kind: kind(name), gpus: gpuCount, median: usual(name), spread: 0.005, noise: 0.0045, low: from, high: to, detectable: 0.0312345, usual: null, reason: null, from, to, bins };
  });
  const gpus = scores.flatMap((own, g) => g % every ? [] : [{ gpu: uuid(g), host: host(g), slot: `0000:${(16 + g % 8).toString(16)}:00.0`, group: `rack${Math.floor(g / 64)}`, cohort: 0, verdict: "failed", measurements: 1, cause: "Memory bandwidth is lower.", reason: null,
    context: { "device.temperature_c": 38, "device.power_w": 112.5, "device.throttling": "none" },
    findings: names.flatMap((name, f) => own[f] < 6 ? [] : [{ figure: name, kind: kind(name), value: usual(name) * (1 + effect(name, own[f])), usual: usual(name), effect: effect(name, own[f]), worse: true, distance: -own[f], p: 1e-9, measurements: 1, deviating: 1, severe: true }]) }]);
  const rows = Array.from({ length: Math.ceil(gpuCount / 8) }, (_, h) => ({ name: host(8 * h), gpus: 8, cells: names.map((_n, f) => String(Math.max(0, Math.min(9, Math.floor(Math.max(...scores.slice(8 * h, 8 * h + 8).map((own) => own[f]))))))).join("") }));
  const far = (row) => [...row.cells].filter((c) => c === "9").length, failed = gpus.length;
  rows.sort((a, b) => far(b) - far(a));
  const counts = { gpus: gpuCount, measurements: gpuCount, healthy: gpuCount - failed, suspect: 0, failed, not_judged: 0 };
  return { schema: "fathom-fleet/2", options: { false_alarms: 0.001, min_effect: 0.02 }, counts, problems: [], cohorts: [{ id: 0, model: "NVIDIA H200", backend: "cuda", simulated: false, driver: "580.1", board: "692", ...counts, reason: null, figures }], gpus, groups: [], heat_map: { figures: names, rows } };
}

module.exports = ({ test, open, report, written, data, csvOf, unreadable, inaccessible, hover, tipOf, assertCharts, contrast }) => {
  const fleetFile = () => report("fleet", data("fleet.json")), fleet = JSON.parse(fs.readFileSync(data("fleet.json"), "utf8"));
  const bad = fleet.gpus.filter((g) => g.verdict !== "not_judged"), { counts } = fleet, cohort = fleet.cohorts.find((c) => !c.reason), numbers = cohort.figures.filter((f) => f.bins.length);

  test("a fleet is shown with its verdicts, the worst GPUs, a heat map and distributions", async ({ browser }) => {
    const page = await open(browser, fleetFile());
    assert.strictEqual(await page.textContent("#title"), `Fleet of ${counts.gpus} GPUs`);
    assert.match(await page.textContent("#facts"), new RegExp(`^${bad.length} of ${counts.gpus - counts.not_judged} GPUs are not healthy: ${counts.failed} failed, ${counts.suspect} suspect\\. ${counts.not_judged} GPU`));
    const cards = await page.locator("#chart-fleet-verdicts .card dd:not(.note)").allTextContents();
    assert.deepStrictEqual(cards.map(Number), [counts.gpus, counts.failed, counts.suspect, counts.not_judged, counts.healthy]);
    assert.match(await page.locator("#chart-fleet-verdicts").innerText(), /probability of at most 0\.1 %.*less than 2 % are ignored[^]*580\.159\.04/);
    await assertCharts(page, { "fleet-heat-map": 4, "fleet-distributions": 100 });
    const entries = page.locator("#chart-fleet-gpus details.gpu");
    assert.strictEqual(await entries.count(), bad.length);
    const first = await entries.first().innerText();
    for (const text of [bad[0].host, bad[0].slot, bad[0].group, bad[0].cause, bad[0].gpu, "failed"]) assert.ok(first.includes(text), `${text} in ${first}`);
    const slow = bad.findIndex((g) => g.findings.some((f) => f.figure === "memory.read_bytes_per_s")), entry = entries.nth(slow), power = bad[slow].context["device.power_w"];
    assert.match(await entry.innerText(), /Device memory, read bandwidth\s+4\.\d+ TB\/s\s+4\.\d+ TB\/s\s+−7\.\d+ %\s+\d/);
    assert.match(await entry.innerText(), new RegExp(`temperature: ${bad[slow].context["device.temperature_c"]} °C[^]*power: ${Number(power.toPrecision(4))} W`));
    const widths = await entry.locator(".distance .bar").evaluateAll((bars) => bars.map((b) => b.getBoundingClientRect().width)), distances = bad[slow].findings.map((f) => Math.abs(f.distance));
    assert.strictEqual(widths.length, distances.length);
    widths.forEach((width, i) => assert.ok(Math.abs(width - 70 * Math.min(20, distances[i]) / 20) < 0.5, `a bar of ${width} pixels for a distance of ${distances[i]}`));
    const rest = await page.locator("#chart-fleet-not-judged").innerText();
    for (const problem of [...fleet.problems.map((p) => p.file), fleet.cohorts.find((c) => c.reason).driver, "Texture, latency in ns"]) assert.ok(rest.includes(problem), problem);
    assert.deepStrictEqual(page.faults, []);
    await page.context().close();
  });

  test("the GPUs of a fleet can be searched and opened, and are exported as CSV", async ({ browser }) => {
    const page = await open(browser, fleetFile()), entries = page.locator("#chart-fleet-gpus details.gpu"), search = page.getByRole("searchbox");
    await search.fill("l2 slower");
    assert.strictEqual(await entries.count(), 1);
    assert.match(await entries.first().innerText(), /The L2 is slower/);
    await search.fill(bad[0].gpu);
    assert.strictEqual(await entries.count(), 1);
    await search.fill("nothing of this");
    assert.strictEqual(await entries.count(), 0);
    await search.fill("");
    assert.strictEqual(await entries.count(), bad.length);
    await entries.first().locator("summary").click();
    assert.strictEqual(await entries.first().getAttribute("open"), null);
    await entries.first().locator("summary").click();
    assert.ok(await entries.first().locator("table").isVisible());
    const rows = await csvOf(page, "fleet-gpus"), findings = bad.flatMap((g) => g.findings.map((f) => [g.gpu, f.figure, f.value]));
    assert.strictEqual(rows.length, findings.length);
    findings.forEach(([gpu, figure, value], i) => assert.ok(rows[i][0] === gpu && rows[i].includes(figure) && rows[i].some((cell) => Math.abs(Number(cell) - value) <= 1e-5 * value), rows[i].join(",")));
    assert.strictEqual((await csvOf(page, "fleet-distributions")).length, numbers.length);
    const cells = await csvOf(page, "fleet-heat-map");
    assert.deepStrictEqual(cells[0], [fleet.heat_map.rows[0].name, String(fleet.heat_map.rows[0].gpus), ...[...fleet.heat_map.rows[0].cells].map((c) => c === "." ? "" : c)]);
    assert.deepStrictEqual(page.faults, []);
    await page.context().close();
  });

  test("charts of a fleet name the GPUs that differ", async ({ browser }) => {
    const page = await open(browser, fleetFile()), chart = page.locator("#chart-fleet-distributions");
    const marked = bad.flatMap((g) => g.findings.filter((f) => numbers.some((c) => c.figure === f.figure))).length;
    assert.strictEqual(await chart.locator("circle.outlier").count(), marked);
    const labels = await chart.locator("text.label").allTextContents();
    for (const g of bad.filter((gpu) => gpu.findings.some((f) => f.kind !== "exact"))) assert.ok(labels.some((text) => text === `${g.host} ${g.gpu.slice(4, 12)}`), `${g.host} in ${labels.join("; ")}`);
    await hover(page, chart.locator("circle.outlier").first());
    assert.match(await tipOf(page), /^node\d+ [0-9a-f]{8}\n.*TB\/s, −\d[^]*median [^]*GPU-/);
    const before = await chart.locator("g.panel").count();
    assert.strictEqual(before, 12);
    await chart.locator("button.toggle").click();
    assert.strictEqual(await chart.locator("g.panel").count(), numbers.length);
    await chart.locator("button.toggle").click();
    await page.focus("#chart-fleet-heat-map svg");
    await page.keyboard.press("ArrowRight");
    assert.match(await tipOf(page), new RegExp(`^${fleet.heat_map.rows[0].name}\n.*\n.* standard deviations worse than the median\nthe worst of 4 GPUs`));
    await page.context().close();
  });

  test("the page of a fleet fits narrow windows, dark colours and paper, and screen readers", async ({ browser }) => {
    for (const [width, colorScheme] of [[1280, "light"], [1280, "dark"], [380, "dark"]]) {
      const page = await open(browser, fleetFile(), { viewport: { width, height: 800 }, colorScheme });
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= width);
      assert.deepStrictEqual(await unreadable(page), []);
      assert.deepStrictEqual(await inaccessible(page), []);
      for (const where of ["h1", ".note", ".badge", "details.gpu .soft"]) assert.ok(await contrast(page, where) >= 4.5, `contrast of ${where}`);
      const shades = await page.evaluate(() => [...document.querySelectorAll("#chart-fleet-heat-map path.cells")].map((p) => Number(p.getAttribute("fill-opacity"))).slice(1));
      assert.deepStrictEqual(shades, shades.slice().sort((a, b) => a - b), "a larger distance has a stronger colour");
      if (width === 380) assert.match(await page.locator("#chart-fleet-heat-map").innerText(), /The \d+ of \d+ figures with the largest distances/);
      await page.emulateMedia({ media: "print" });
      assert.ok(!(await page.locator("#chart-fleet-gpus input").isVisible()));
      assert.ok(await page.locator("#chart-fleet-gpus details.gpu").last().isVisible(), "closed GPUs are printed, too");
      assert.deepStrictEqual(page.faults, []);
      await page.context().close();
    }
  });

  test("the page of 10,000 GPUs has at most 1 MB", async ({ browser }) => {
    const large = { ...fleetOf(10000, 100), notes: ["A card was moved."], groups: [{ kind: "group", name: "rack2", figure: "l2.copy_bytes_per_s", gpus: 8, value: 7.41e12, usual: 7.64e12, effect: -0.0301, p: 2e-6 }] }, file = report("large-fleet", written("large-fleet.json", large)), size = fs.statSync(file).size;
    assert.ok(size <= 1e6, `${size} bytes`);
    const page = await open(browser, file), map = page.locator("#chart-fleet-heat-map"), height = async () => (await map.locator("svg").boundingBox()).height;
    assert.strictEqual(await page.textContent("#title"), "Fleet of 10,000 GPUs");
    assert.ok(await page.evaluate(() => document.documentElement.scrollHeight) < 10000);
    assert.strictEqual(await page.locator("#chart-fleet-gpus details.gpu").count(), 30);
    await page.locator("#chart-fleet-gpus button.more").click();
    assert.strictEqual(await page.locator("#chart-fleet-gpus details.gpu").count(), 100);
    assert.ok(await height() <= 930, `${await height()} pixels`);
    assert.strictEqual(await map.locator("svg text").count(), 56 + 40);
    await map.locator("button.toggle").click();
    assert.ok(await height() <= 900, `${await height()} pixels`);
    const cells = await map.locator("path.level-value").getAttribute("d");
    assert.strictEqual(cells.split("M").length - 1, 1250 * 40, "all rows are drawn");
    await map.locator("svg").scrollIntoViewIfNeeded();
    const box = await map.locator("svg").boundingBox();
    await page.mouse.move(box.x + 3, box.y + await map.locator("path.level-value").evaluate((path) => path.getBBox().y) + 1);
    assert.match(await tipOf(page), new RegExp(`^${large.heat_map.rows[0].name}\nDevice memory, read bandwidth\n9 or more`));
    assert.strictEqual((await csvOf(page, "fleet-heat-map")).length, 1250);
    assert.match(await page.locator("#chart-fleet-groups").innerText(), /group\s+rack2\s+L2, copy bandwidth\s+8\s+7\.41 TB\/s\s+7\.64 TB\/s\s+−3\.01 %/);
    assert.match(await page.locator("#chart-fleet-notes").innerText(), /A card was moved/);
    assert.deepStrictEqual(await unreadable(page), []);
    assert.deepStrictEqual(page.faults, []);
    await page.context().close();
  });

  test("healthy, empty and hostile fleets are shown", async ({ browser }) => {
    const text = '</script><img src=x onerror="window.hacked = 6">', healthy = fleetOf(40, 1000);
    healthy.gpus = [];
    Object.assign(healthy.counts, { healthy: 40, failed: 0 });
    const hostile = { schema: "fathom-fleet/2", options: text, counts: { gpus: text, failed: 1 }, problems: [null, 5, { file: text, reason: text }], notes: [text, null, { a: 1 }], cohorts: [null, { id: 0, model: text, figures: [{ figure: text, bins: [1, text, null], from: 1, to: 2, median: 1 }, { figure: 5, reason: text }] }],
      gpus: [7, { gpu: text, host: {}, verdict: text, cohort: 0, cause: text, context: { [text]: text, constructor: [1] }, findings: [null, { figure: text, value: text, usual: null, effect: text, distance: 1e300 }, { figure: text, value: 1.5, distance: 3 }] }], groups: [{ kind: text, name: text, figure: null }], heat_map: { figures: [text, null, 3], rows: [{ name: text, cells: "9x" }, null, { cells: 5 }] } };
    healthy.expected = { gpus: 48, missing: [{ host: "node0005", gpu: null }], missing_left_out: 0 };
    hostile.expected = { gpus: text, missing: [null, { host: {}, gpu: text }], missing_left_out: text };
    const page = await open(browser, report("fleets", written("healthy.json", healthy), written("hostile-fleet.json", hostile), written("empty-fleet.json", { schema: "fathom-fleet/2" })));
    await page.waitForTimeout(200);
    const seen = await page.evaluate(() => ({ hacked: window.hacked, images: document.querySelectorAll("img").length, scripts: document.querySelectorAll("script").length, wide: document.documentElement.scrollWidth }));
    assert.deepStrictEqual(seen, { hacked: undefined, images: 0, scripts: 3, wide: 1280 });
    assert.match(await page.locator("#chart-fleet-verdicts").first().innerText(), /48 GPUs were expected\. Missing hosts and GPUs: 1;/);
    assert.match(await page.locator("#chart-fleet-not-judged").first().innerText(), /node0005[^]*expected, but not measured/);
    assert.match(await page.locator("#facts").innerText(), /All 40 GPUs that were judged are healthy/);
    assert.strictEqual(await page.locator("#fleet-0-gpus").count(), 0, "no list of GPUs where all are healthy");
    assert.match(await page.locator("#chart-fleet-gpus").innerText(), /<\/script><img src=x/);
    assert.strictEqual(await page.locator("section").count(), 3);
    assert.match(await page.locator("#chart-fleet-notes").innerText(), /Changes since earlier[^]*<img src=x/);
    assert.deepStrictEqual(page.faults, []);
    await page.context().close();
  });
};
