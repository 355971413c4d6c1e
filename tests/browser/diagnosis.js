/* Tests of the summary, the navigation, the diagnosis of kernels, several GPUs in one chart, and drawn dissections. The transposes are invented data in
   the form of 'fathom model --json --source'. */
"use strict";
const assert = require("assert");
const { execFileSync } = require("child_process");
const fs = require("fs");
const path = require("path");

module.exports = ({ test, open, report, written, data, root, work, fathom, csvOf, unreadable, inaccessible, hover, tipOf, pageCount }) => {
  const replayed = path.join(root, "tests/replay/h200.json"), published = path.join(root, "data/gpus/h200.json");
  const runs = () => ["transpose-naive.json", "transpose-tiled.json"].map(data);
  const read = (file) => JSON.parse(fs.readFileSync(file, "utf8"));
  const sizes = (page, selector) => page.locator(selector).evaluateAll((nodes) => nodes.map((node) => { const box = node.getBoundingClientRect(); return [box.width, box.height]; }));

  test("the summary has ten figures in words and a verdict against the published description", async ({ browser, h200 }) => {
    const titles = await h200.locator("#chart-summary .card dt").allTextContents(), values = await h200.locator("#chart-summary .card dt + dd").allTextContents(), measured = read(replayed);
    assert.strictEqual(titles.length, 10);
    assert.ok(titles.every((title) => !title.includes("_")));
    assert.strictEqual(values[titles.indexOf("L1 data cache, latency of a hit")], `${measured.elements.l1.latency_cycles.value} cycles`);
    assert.strictEqual(values[titles.indexOf("L2 cache, size")], "60 MiB");
    assert.strictEqual(values[titles.indexOf("Processors")], "132 SMs");
    /* 'fathom compare' finds the same differences. */
    const comparison = path.join(work, "verdict.json");
    try { execFileSync(fathom, ["compare", replayed, "h200", "--within", "5", "--json", "-o", comparison]); } catch (error) { assert.strictEqual(error.status, 5); }
    const { differences } = read(comparison), verdict = await h200.textContent("#chart-summary .verdict");
    assert.ok(differences.length > 0);
    const [, found, compared] = /^(\d+) of (\d+) figures differ by more than 5 % from the published description h200/.exec(verdict);
    assert.strictEqual(Number(found), differences.length);
    assert.ok(Number(compared) > 100, verdict);
    const rows = await h200.locator("#chart-summary .verdict + .scroll tbody tr").allInnerTexts();
    assert.strictEqual(rows.length, differences.length);
    assert.ok(rows.some((row) => /Instruction L0\s+size\s+23 KiB\s+32 KiB\s+25 %/.test(row)), rows.join("; "));
    assert.match(await h200.textContent("#chart-unknown li"), /L2: write policy – it does not accept writes clearly faster/);
    const same = await open(browser, report("published", published));
    assert.match(await same.textContent("#chart-summary .verdict"), /^This is the published description h200/);
    await same.context().close();
    const other = await open(browser, report("unpublished", written("own.json", { schema: "fathom-gpu/1", device: { name: "own", sms: 4 }, elements: { l2: { latency_cycles: 200, unknown: { size_bytes: "it was not overflowed" } } } })));
    assert.match(await other.textContent("#chart-summary .verdict"), /no published description/);
    assert.match(await other.locator("#chart-summary .card", { hasText: "L2 cache, size" }).innerText(), /unknown\s+it was not overflowed/);
    assert.deepStrictEqual(other.faults, []);
    await other.context().close();
  });

  test("the navigation lists the chapters, stays in view and follows the reader", async ({ browser, h200File }) => {
    for (const width of [1280, 390]) {
      const page = await open(browser, h200File, { viewport: { width, height: 800 } }), links = page.locator("nav a");
      assert.deepStrictEqual(await links.allTextContents(), ["Summary", "Topology", "Latency and bandwidth", "Structure", "All figures", "Samples"]);
      await page.evaluate(() => { document.documentElement.style.scrollBehavior = "auto"; });
      await links.nth(3).click();
      await page.waitForFunction(() => document.querySelectorAll("nav a")[3].getAttribute("aria-current") === "true");
      assert.strictEqual(await page.locator('nav a[aria-current="true"]').count(), 1);
      const nav = await page.locator("nav").boundingBox(), heading = await page.locator("#gpu-0-structure > h3").boundingBox();
      assert.ok(Math.abs(nav.y) < 1 && nav.height < 60, `the navigation is one line at the top: ${nav.y}, ${nav.height}`);
      assert.ok(heading.y >= nav.y + nav.height - 1, "the heading is below the navigation");
      assert.ok(await links.nth(3).evaluate((node) => { const a = node.getBoundingClientRect(); return a.left >= 0 && a.right <= window.innerWidth; }), "the link of the chapter is in view");
      await page.context().close();
    }
  });

  test("a kernel has a memory chart with bytes, hit ratios and the bottleneck", async ({ browser }) => {
    const [naive] = runs(), kernel = read(naive).kernels[0], page = await open(browser, report("kernel", naive)), chart = "#chart-memory-chart";
    const text = await page.locator(`${chart} svg`).textContent();
    for (const expected of ["L1 data", "L2", "Memory", "Shared", "reads hit 25 %", "used/moved 0.22", "≥ 61 µs", "far 25 % of hits", "bottleneck", "128 MiB"]) assert.ok(text.includes(expected), `${expected} in ${text}`);
    assert.deepStrictEqual(await page.locator(`${chart} .bottleneck`).evaluateAll((nodes) => nodes.map((node) => node.dataset.level)), [kernel.bottleneck]);
    assert.match(await page.locator(`${chart} .note`).first().innerText(), /Estimated time 92\.5 µs, at least 61 µs; the L2 cache is the bottleneck/);
    /* Arrows: reads and writes of L1, L2 and memory, and shared memory. A head is 8 pixels wider than its arrow. Writes at L1 move eight times the bytes of reads. */
    const arrows = await sizes(page, `${chart} .arrow`), scale = (await page.locator(`${chart} svg`).boundingBox()).width / Number((await page.locator(`${chart} svg`).getAttribute("viewBox")).split(" ")[2]);
    const thick = arrows.map(([, height]) => height / scale - 8);
    assert.strictEqual(arrows.length, 7);
    const widest = Math.max(...thick), flow = 128 * kernel.shared.wavefronts;
    assert.ok(Math.abs(widest - thick[6]) < 0.5, "shared memory moves most");
    assert.ok(Math.abs(thick[1] / widest - 32 * kernel.l1.sectors[1] / flow) < 0.05, thick.join(" "));
    const waiting = read(naive);
    waiting.kernels[0].bottleneck = "latency";
    waiting.kernels[0].l1_misses = { cold: 0, capacity: 0, conflict: 0, coherence: 0, sector: 0 };
    const latency = await open(browser, report("latency", written("latency.json", waiting)));
    assert.match(await latency.locator(`${chart} svg`).textContent(), /bottleneck: latency/);
    assert.match(await latency.locator(`${chart} .note`).first().innerText(), /no unit is busy for half of it; the rest is latency/);
    assert.match(await latency.locator("#chart-miss-classes").innerText(), /Data: 1 row/, "misses without a cause are not shown as none");
    await latency.context().close();
    await hover(page, page.locator(`${chart} rect.level`).nth(3));
    assert.match(await tipOf(page), /L2[^]*140 MiB moved[^]*0\.23 bytes used per byte moved[^]*bottleneck/);
    assert.deepStrictEqual(await unreadable(page), []);
    assert.deepStrictEqual(await inaccessible(page), []);
    assert.deepStrictEqual(page.faults, []);
    await page.context().close();
  });

  test("misses by cause, bank conflicts and the roofline of kernels are drawn", async ({ browser }) => {
    const [naive] = runs(), model = read(naive), kernel = model.kernels[0], page = await open(browser, report("causes", naive));
    const widths = (await sizes(page, "#chart-miss-classes rect.part")).map(([width]) => width), counts = Object.values(kernel.l1_misses).filter(Boolean);
    assert.strictEqual(widths.length, counts.length + Object.values(kernel.l2_misses).filter(Boolean).length);
    assert.ok(Math.abs(widths[0] / widths[1] - counts[0] / counts[1]) < 0.05, widths.join(" "));
    assert.match(await page.locator("#chart-miss-classes").innerText(), /cold: first read[^]*capacity: the cache is too small[^]*sector: line present/);
    assert.match(await page.locator("#chart-miss-classes svg").textContent(), /transpose L175 %|75 %/);
    assert.strictEqual(await page.locator("#chart-bank-conflicts circle.dot").count(), 6, "two instructions, three figures each");
    const conflicts = await csvOf(page, "bank-conflicts");
    assert.deepStrictEqual(conflicts[0], ["transpose", "transpose.cu:12 read", "131072", "4194304", "131072", "131072"]);
    const rows = await csvOf(page, "kernel-roofline"), requested = 32 * 2 ** 20;
    assert.deepStrictEqual(rows.map((row) => row[1]), ["L1", "L2", "memory"]);
    rows.forEach(([, level, x, y, part]) => {
      const name = level.toLowerCase();
      assert.ok(Math.abs(Number(x) / (requested / kernel.moved_bytes[name]) - 1) < 1e-6, level);
      assert.ok(Math.abs(Number(y) / (requested / (kernel.time_us * 1e-6)) - 1) < 1e-6, level);
      assert.ok(Math.abs(Number(part) / (kernel.moved_bytes[name] / (kernel.time_us * 1e-6) / Number(model.parameters[`${name}.bytes_per_s`].value)) - 1) < 1e-6, level);
    });
    assert.strictEqual(await page.locator("#chart-kernel-roofline circle.point").count(), 3);
    await page.context().close();
  });

  test("the source is annotated, and hints have evidence and effect", async ({ browser }) => {
    const page = await open(browser, report("source", runs()[0])), row = (line) => page.locator("#chart-source tbody tr", { has: page.locator("td:first-child", { hasText: new RegExp(`^${line}$`) }) });
    assert.match(await row(12).innerText(), /put\(out, n, x, y \+ i[^]*with inlined tile\.cuh:7[^]*131k\s+32\s+4\s/);
    assert.match(await row(9).innerText(), /tile\[threadIdx\.y \+ i\][^]*131k\s+4\s+4\s+25 %\s+16\.7 %\s+12 MiB/);
    assert.match(await row(12).innerText(), /4\.19M \(131k\)/, "bank conflicts of the line");
    assert.match(await row(12).getAttribute("class"), /wasteful/);
    assert.doesNotMatch(await row(9).getAttribute("class"), /wasteful/);
    assert.strictEqual(await row(1).count(), 0, "lines far from accesses are left out");
    const hints = await page.locator("#chart-hints li").allInnerTexts();
    assert.strictEqual(hints.length, 2);
    assert.match(hints[0], /uncoalesced · transpose · transpose\.cu:12[^]*Let consecutive threads[^]*Evidence: 32 sectors per request, 4 would do[^]*--what-if layout=55[^]*time\s+92\.5 µs\s+21\.4 µs\s+divided by 4\.32/);
    assert.match(hints[1], /The gain was not computed/);
    await page.context().close();
  });

  test("two runs are shown as before and after", async ({ browser }) => {
    const page = await open(browser, report("pair", ...runs())), chart = page.locator("#chart-before-after");
    assert.strictEqual(await chart.locator("svg").count(), 2);
    const [before, after] = await Promise.all([0, 1].map((i) => chart.locator("svg").nth(i).boundingBox()));
    assert.ok(Math.abs(before.y - after.y) < 2 && after.x > before.x + before.width - 2, "side by side");
    assert.match(await chart.locator("table").innerText(), /time, µs\s+92\.5\s+21\.4\s+divided by 4\.32[^]*bytes moved, L2\s+140 MiB\s+28 MiB\s+divided by 5/);
    assert.strictEqual(await page.locator("#chart-memory-chart").count(), 0, "a chart is not shown twice");
    assert.deepStrictEqual(await unreadable(page), []);
    const narrow = await open(browser, path.join(work, "pair.html"), { viewport: { width: 390, height: 800 } });
    assert.strictEqual(await narrow.evaluate(() => document.documentElement.scrollWidth), 390);
    assert.deepStrictEqual(await unreadable(narrow), []);
    await narrow.context().close();
    assert.deepStrictEqual(page.faults, []);
    await page.context().close();
    /* Kernels of different names: the first of each run. */
    const [first, second] = runs().map(read);
    for (const list of [second.kernels, second.instructions]) for (const row of list) row.kernel = row.demangled = "transpose_tiled";
    const renamed = await open(browser, report("renamed", written("a.json", first), written("b.json", second)));
    assert.strictEqual(await renamed.textContent("#chart-before-after h3"), "Before and after: transpose and transpose_tiled");
    await renamed.context().close();
  });

  test("documents without a diagnosis, and with a hostile one, are shown", async ({ browser }) => {
    const { hints, sources, ...rest } = read(runs()[0]), added = ["requested_bytes", "used_bytes", "ideal_sectors", "touched_bytes", "moved_bytes", "efficiency", "hit_ratios", "l1_misses", "l2_misses", "shared", "floors_us", "bottleneck", "warp_instructions"];
    for (const row of [...rest.kernels, ...rest.instructions]) for (const name of added) delete row[name];
    const old = await open(browser, report("old", written("old.json", rest)));
    assert.strictEqual(await old.locator("#chart-memory-chart .arrow").count(), 6, "the memory chart needs only sectors");
    assert.match(await old.locator("#chart-memory-chart svg").textContent(), /reads hit 25 %/);
    for (const id of ["miss-classes", "bank-conflicts", "source", "hints", "kernel-roofline"]) assert.strictEqual(await old.locator(`#chart-${id}`).count(), 0, id);
    assert.deepStrictEqual(old.faults, []);
    await old.context().close();
    const bad = '</script><img src=x onerror="window.hacked = 6">', model = read(runs()[0]);
    model.hints = [{ ...model.hints[0], text: bad, rule: bad, evidence: bad, what_if: bad, kernel: bad, demangled: bad, source_file: bad }, null, 5, { before: 7, after: "x" }];
    model.sources = [{ file: "/src/transpose.cu", lines: [bad, 7, null, bad, bad, bad, bad, bad, bad, bad, bad, bad, bad] }, { lines: 5 }, null];
    model.kernels[0].demangled = bad;
    model.kernels[0].bottleneck = "__proto__";
    model.kernels.push({ kernel: "x", l1: { sectors: [1], hits: null }, l2: { sectors: [], hits: 5 }, shared: 7, floors_us: "x", l1_misses: 3, hit_ratios: null, moved_bytes: [], requested_bytes: [bad] });
    model.instructions[0].inlined_at = [{ source_file: bad, source_line: 3, function: bad }];
    model.instructions[0].function = bad;
    const page = await open(browser, report("hostile-model", written("hostile-model.json", model)));
    await page.waitForTimeout(200);
    assert.deepStrictEqual(await page.evaluate(() => [window.hacked, document.querySelectorAll("img").length, document.documentElement.scrollWidth]), [undefined, 0, 1280]);
    assert.match(await page.locator("#chart-hints li").first().innerText(), /<\/script><img src=x/);
    assert.strictEqual(await page.locator("main p.note", { hasText: "does not match its schema" }).count(), 0);
    assert.deepStrictEqual(page.faults, []);
    await page.context().close();
  });

  test("the annotated source names inlined functions", async ({ browser }) => {
    const model = read(runs()[0]);
    for (const row of model.instructions.filter((r) => Array.isArray(r.inlined_at))) row.function = "put<float>";
    const page = await open(browser, report("functions", written("functions.json", model)));
    assert.match(await page.locator("#chart-source tbody").first().innerText(), /put\(out, n, x, y \+ i[^]*with inlined put<float> \(tile\.cuh:7\)/);
    assert.deepStrictEqual(page.faults, []);
    await page.context().close();
  });

  test("several GPUs share charts", async ({ browser }) => {
    const files = ["a100", "v100", "gtx980"].map((name) => path.join(root, "data/gpus", `${name}.json`)), gpus = files.map(read);
    const page = await open(browser, report("several", ...files, replayed, path.join(root, "tests/replay/h200.zst")));
    const value = (figure) => figure !== null && typeof figure === "object" ? figure.value : figure;
    const rows = await csvOf(page, "all-sizes"), l2 = rows.filter((row) => row[1] === "L2");
    assert.deepStrictEqual(l2.slice(0, 3).map((row) => [row[0], Number(row[2])]), gpus.map((gpu) => [value(gpu.device.name), value(gpu.elements.l2.size_bytes)]));
    assert.strictEqual(await page.locator("#chart-all-sizes circle.dot").count(), rows.length);
    for (const id of ["all-latency", "all-bandwidth"]) assert.ok(await page.locator(`#chart-${id} circle.dot`).count() >= 4, id);
    const legend = await page.locator("#chart-all-footprint .legend").innerText();
    for (const name of ["NVIDIA A100", "NVIDIA H200", "NVIDIA H200, measured"]) assert.ok(legend.includes(name), legend);
    assert.match(await page.locator("#chart-all-footprint svg").textContent(), /footprint, byteslatency, cycles/);
    assert.deepStrictEqual(await unreadable(page), []);
    assert.deepStrictEqual(page.faults, []);
    await page.context().close();
  });

  test("sets, ways and the order of eviction are drawn", async ({ browser }) => {
    const page = await open(browser, report("structure", published)), cells = (name) => page.locator(`#chart-structure-${name} rect.way`);
    const numbers = async (name) => (await page.locator(`#chart-structure-${name} svg text[text-anchor="middle"]`).allTextContents()).filter((text) => /^\d+$/.test(text)).map(Number);
    assert.strictEqual(await cells("constant_l1").count(), 4 * 4, "four of eight sets are drawn");
    /* Tree pseudo-LRU with four ways: after loads into the ways 1 to 4, it evicts the ways 1, 3, 2 and 4. */
    assert.deepStrictEqual((await numbers("constant_l1")).slice(0, 4), [1, 3, 2, 4]);
    assert.deepStrictEqual((await numbers("tlb_l1")), [...Array(16).keys()].map((i) => i + 1));
    assert.match(await page.locator("#chart-structure-l1").innerText(), /4 sets of 482 ways, lines of 128 bytes[^]*a hand sweeps over the rows of tags/);
    /* The set of the L1 is chosen by a hash of address bits; each mask has its bits. */
    const masks = read(published).elements.l1.set_masks, ones = (masks.value || masks).map((mask) => mask.toString(2).replace(/0/g, "").length);
    assert.strictEqual(await page.locator("#chart-structure-l1 rect.bit.used").count(), ones[0] + ones[1]);
    await page.context().close();
  });

  test("logarithmic charts have dots, and labels are words with units", async ({ h200, browser }) => {
    for (const id of ["latency", "bandwidth"]) {
      assert.strictEqual(await h200.locator(`#chart-${id} rect.bar`).count(), 0, id);
      assert.ok(await h200.locator(`#chart-${id} circle.dot`).count() >= 10, id);
    }
    const cells = await h200.locator("#chart-figures-0 tbody td:nth-child(-n + 3)").allTextContents();
    assert.deepStrictEqual(cells.filter((text) => /^[a-z0-9]+(_[a-z0-9]+)+$/.test(text) && !/^(l1|constant_l15|instruction_l1)/.test(text)), []);
    assert.ok(cells.includes("278.8 cycles") && cells.includes("read bandwidth") && cells.includes("60 MiB"));
    const bench = path.join(work, "labels.json");
    execFileSync(fathom, ["bench", "global", "--device", `replay:${path.join(root, "tests/replay/bench-memory-h200.zst")}`, "--json", "-o", bench], { stdio: ["ignore", "inherit", "ignore"] });
    const page = await open(browser, report("labels", bench)), text = await page.locator("main").innerText();
    assert.match(text, /bytes in flight needed, relative to latency × throughput \(Little's law\): [\d.]+ times/);
    assert.doesNotMatch(text, /needed of little/);
    await page.context().close();
  });

  test("everything that was measured on an H200 prints on at most 15 pages", async ({ browser }) => {
    const replay = (name, ...benches) => {
      const file = path.join(work, `print-${name}.json`);
      execFileSync(fathom, ["bench", ...benches, "--device", `replay:${path.join(root, "tests/replay", `${name}.zst`)}`, "--json", "-o", file], { stdio: ["ignore", "inherit", "ignore"] });
      return file;
    };
    const page = await open(browser, report("print", published, path.join(root, "tests/replay/h200.zst"), data("series-h200.zst"), replay("bench-caches-h200", "banks", "arith", "atomics", "shared", "scaling", "latency"), replay("bench-memory-h200", "global", "link", "stream")));
    const pages = pageCount(await page.pdf({ preferCSSPageSize: true }));
    assert.ok(pages >= 8 && pages <= 15, `${pages} pages`);
    await page.context().close();
  });
};
