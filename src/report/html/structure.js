/* What a dissection found: the sets and ways of each cache and TLB, the order in which ways are evicted, and the address bits that select the
   set. */

const POLICIES = { lru: "LRU: evicts the line that was not used for the longest time", fifo: "FIFO: evicts the line that was loaded first", lfu: "LFU: evicts the line that was used least often",
  plru: "tree pseudo-LRU: bits in a binary tree point to the half that was used less recently", random: "random: every way is equally likely", weighted: "random, with a different probability for each way",
  clock: "clock: a hand sweeps over the rows of tags and evicts one line of each row" };
const MAX_DRAWN_SETS = 4, MAX_DRAWN_WAYS = 16; /* sets and ways drawn of each cache; more would be too small to read */

/* The ways in the order in which tree pseudo-LRU evicts them, after lines were loaded into the ways from left to right. `ways` is a power of two. */
function plruOrder(ways) {
  const bits = new Array(Math.max(1, ways)).fill(0), order = [];
  const use = (way) => { for (let node = 1, low = 0, size = ways; size > 1; size /= 2) { const right = way >= low + size / 2; bits[node] = right ? 0 : 1; node = 2 * node + (right ? 1 : 0); if (right) low += size / 2; } };
  const victim = () => { let node = 1, way = 0; for (let size = ways; size > 1; size /= 2) { if (bits[node]) way += size / 2; node = 2 * node + bits[node]; } return way; };
  for (let way = 0; way < ways; way++) use(way);
  for (let i = 0; i < ways; i++) { const way = victim(); order.push(way); use(way); }
  return order;
}

/* For each way, when it is evicted (1: first) after lines were loaded into the ways from left to right and not used again. [] if this is not
   determined. */
function victimOrder(policy, ways) {
  if (policy === "lru" || policy === "fifo") return d3.range(1, ways + 1);
  if (policy === "plru" && Number.isInteger(Math.log2(ways))) { const rank = []; plruOrder(ways).forEach((way, i) => { rank[way] = i + 1; }); return rank; }
  return [];
}

/* Whether bit `bit` of a mask is set; masks may have more than 32 bits. */
const hasBit = (mask, bit) => Math.floor(mask / 2 ** bit) % 2 === 1;

/* The address bits that select the set, one list per bit of the number of the set, lowest first. [] if they are unknown or no such bits exist. */
function indexBits(gpu, name) {
  const masks = valueOf(gpu, name, "set_masks"), index = textOf(valueOf(gpu, name, "index")), sets = valueOf(gpu, name, "sets"), unit = valueOf(gpu, name, "line_bytes") || valueOf(gpu, name, "page_bytes");
  if (Array.isArray(masks) && masks.every((m) => typeof m === "number")) return masks.map((mask) => d3.range(48).filter((bit) => hasBit(mask, bit)));
  const listed = /^bits:\[([0-9, ]+)\]$/.exec(index);
  if (listed) return listed[1].split(",").map((bit) => [Number(bit)]);
  const shift = index === "mod" ? 0 : /^shift:[0-9]+$/.test(index) ? Number(index.slice(6)) : NaN, first = Math.log2(unit), count = Math.log2(sets);
  return Number.isInteger(first) && Number.isInteger(count) && shift >= 0 ? d3.range(count).map((i) => [first + shift + i]) : [];
}

/* Draws the address bits as a strip per bit of the set number. Returns its height. */
function drawIndexBits(svg, items, lists, lineBits, left, top, width) {
  const highest = d3.max(lists.flat()), cell = Math.min(14, (width - left - 4) / (highest + 1));
  lists.forEach((bits, row) => {
    const y = top + row * 15;
    svg.append("text").attr("class", "soft small").attr("x", left - 6).attr("y", y + 10).attr("text-anchor", "end").text(`set bit ${row}`);
    for (let bit = 0; bit <= highest; bit++) {
      const x = left + (highest - bit) * cell, used = bits.includes(bit);
      svg.append("rect").attr("class", used ? "bit used" : "bit").attr("x", x).attr("y", y).attr("width", cell - 1).attr("height", 12).attr("fill", used ? colour(0) : bit < lineBits ? "var(--line)" : "var(--grid)");
    }
    items.push({ x: left + 20, y, lines: [`bit ${row} of the number of the set`, bits.length === 1 ? `address bit ${bits[0]}` : `XOR of the address bits ${bits.join(", ")}`], box: [left, y, (highest + 1) * cell, 12] });
  });
  const bottom = top + lists.length * 15 + 11;
  svg.append("text").attr("class", "soft small").attr("x", left).attr("y", bottom).text(`address bit ${highest}`);
  svg.append("text").attr("class", "soft small").attr("x", left + (highest + 1) * cell).attr("y", bottom).attr("text-anchor", "end").text("0");
  return lists.length * 15 + 16;
}

/* Draws sets as rows and ways as columns. Numbers and shades give the order of eviction. */
function drawStructure(grid, gpu, name) {
  const sets = valueOf(gpu, name, "sets"), ways = valueOf(gpu, name, "ways"), policy = textOf(valueOf(gpu, name, "policy")), unit = valueOf(gpu, name, "line_bytes") || valueOf(gpu, name, "page_bytes"), tlb = name.startsWith("tlb_");
  const weights = valueOf(gpu, name, "way_weights"), rowWays = policy === "clock" ? valueOf(gpu, name, "row_ways", 4) : null, bits = indexBits(gpu, name);
  const shape = `${number(sets)} set${sets === 1 ? "" : "s"}${ways ? ` of ${number(ways)} ways` : ""}${unit ? `, ${tlb ? "pages" : "lines"} of ${unit < 1024 ? `${unit} bytes` : bytes(unit)}` : ""}`;
  const unknown = field(field(gpu.elements[name], "unknown"), "policy"), rule = policy ? field(POLICIES, policy) || policy : `unknown${unknown ? `: ${cut(unknown, 200)}` : ""}`;
  const order = ways ? victimOrder(policy, ways) : [], numbered = order.length ? " Numbers: the order of eviction after lines were loaded from left to right." : policy === "clock" ? " Columns are rows of tags; numbers: the order in which the hand visits them." : "";
  const frame = addFigure(grid, { title: `${titleOf(name)}`, name: `structure-${name}`, note: `${shape[0].toUpperCase()}${shape.slice(1)}. Replacement: ${rule}.${numbered}`, columns: ["figure", "value"], rows: [["sets", sets], ["ways", ways], ["line_bytes", unit], ["policy", policy || "unknown"], ["victim_order", order.join(" ")], ["index_bits", bits.map((list) => list.join("^")).join(" ")]] });
  frame.node.querySelector("details").remove();
  const drawnRows = rowWays ? Math.min(rowWays, 4) : Math.min(sets, MAX_DRAWN_SETS), total = rowWays ? valueOf(gpu, name, "rows", Math.ceil((ways || 1) / rowWays)) : ways || 1, columns = Math.min(total, MAX_DRAWN_WAYS);
  const width = widthOf(frame), left = 62, cell = Math.min(28, (width - left - 30) / columns), high = 18, extra = bits.length ? bits.length * 15 + 30 : 0, bottom = 22 + drawnRows * high;
  const drawing = addDrawing(frame, bottom + 18 + extra, `${titleOf(name)}: ${shape}. Replacement: ${rule}`), { svg } = drawing, items = [], share = Array.isArray(weights) && weights.length === ways ? d3.sum(weights) : 0;
  svg.append("text").attr("class", "soft small").attr("x", left).attr("y", 13).text(rowWays ? `${number(total)} rows of ${number(rowWays)} tags per set` : ways ? `${number(ways)} ways` : "number of ways unknown");
  for (let row = 0; row < drawnRows; row++) {
    const last = row === drawnRows - 1 && !rowWays && sets > drawnRows, y = 20 + row * high;
    svg.append("text").attr("class", "soft small").attr("x", left - 6).attr("y", y + 12).attr("text-anchor", "end").text(rowWays ? row ? "" : "one set" : `set ${last ? sets - 1 : row}`);
    for (let column = 0; column < columns; column++) {
      if (total > columns && column === columns - 2) {
        svg.append("text").attr("class", "soft").attr("x", left + (column + 0.5) * cell - 1).attr("y", y + 12).attr("text-anchor", "middle").text("⋯");
        continue;
      }
      const way = column === columns - 1 && total > columns ? total - 1 : column, rank = rowWays ? row ? null : way + 1 : order[way], part = share ? weights[way] / share : null;
      const strength = rank ? 1 - 0.8 * (rank - 1) / Math.max(1, rowWays ? total : ways) : part !== null ? part : 0.12;
      svg.append("rect").attr("class", "way").attr("x", left + column * cell).attr("y", y).attr("width", cell - 2).attr("height", high - 3).attr("fill", colour(0)).attr("fill-opacity", 0.15 + 0.5 * strength);
      const text = rank ? String(rank) : part !== null ? `${Math.round(100 * part)}%` : "";
      if (6.2 * text.length < cell - 2) svg.append("text").attr("class", "small").attr("x", left + column * cell + (cell - 2) / 2).attr("y", y + 12).attr("text-anchor", "middle").text(text);
      items.push({ x: left + column * cell + cell / 2, y, lines: [rowWays ? `row ${way + 1} of ${total}, tag ${row + 1}` : `set ${last ? sets - 1 : row}, way ${way + 1}`, rank ? rowWays ? `the hand visits this row as number ${rank}` : `evicted as number ${rank}` : part !== null ? `evicted with a probability of ${percent(part)}` : policy === "random" ? "all ways are equally likely to be evicted" : "order of eviction unknown"], box: [left + column * cell, y, cell - 2, high - 3] });
    }
  }
  if (!rowWays && sets > drawnRows) svg.append("text").attr("class", "soft small").attr("x", left).attr("y", bottom + 10).text(`${number(sets)} sets; the last one is at the bottom`);
  else if (rowWays && sets > 1) svg.append("text").attr("class", "soft small").attr("x", left).attr("y", bottom + 10).text(`one of ${number(sets)} sets`);
  if (bits.length) drawIndexBits(svg, items, bits, Math.log2(unit || 1), left, bottom + 20, width);
  addCursor(drawing, () => items);
}

/* All elements with sets, in small figures. A cache that shares the storage of the L1 is not drawn again. */
function structures(grid, gpu) {
  const names = ORDER.filter((name) => valueOf(gpu, name, "sets") >= 1 && !(name !== "l1" && sharesWithL1(gpu, name)));
  if (!names.length) return;
  const inner = el("div", { class: "grid small" });
  grid.append(el("div", { class: "wide" }, inner));
  for (const name of names) drawStructure(inner, gpu, name);
}
