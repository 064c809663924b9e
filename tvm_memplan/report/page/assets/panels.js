// Everything beside the map. Text of the report goes in as text, never as markup.

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") made.addEventListener("click", value);
    else if (value !== null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function swatch(kind) {
  const made = element("i", { "aria-hidden": "true" });
  made.style.background = `var(--${report.kinds[kind]})`;
  return made;
}

// A text of which the end stays to be seen where the whole has no room.
function ends(text) {
  const parts = text.length > 24 ? [["start", text.slice(0, -10)], ["tail", text.slice(-10)]] : [["start", text]];
  return element("span", { class: "label" }, ...parts.map(([style, part]) => element("span", { class: style }, part)));
}

function fact(list, name, value, style = null) {
  list.append(element("div", {}, element("dt", {}, name), element("dd", { class: style }, value)));
}

function poolCard(pool, onclick) {
  const over = pool.capacity !== null && pool.planned > pool.capacity;
  const scale = Math.max(pool.planned, pool.capacity ?? 0, 1);
  const meter = element("div", { class: over ? "meter over" : "meter", "aria-hidden": "true" });
  for (const [name, bytes] of [["planned", pool.planned], ["bound", Math.min(pool.bound, over ? pool.capacity : pool.bound)]]) {
    const part = element("i", { class: name });
    part.style.width = `${(100 * bytes) / scale}%`;
    meter.append(part);
  }
  const facts = element("dl", { class: "facts" });
  fact(facts, `bound (${pool.boundKind})`, exact(pool.bound));
  fact(facts, "over the bound", `${exact(pool.planned - pool.bound)}, ${percent(pool.planned - pool.bound, pool.bound)}`,
    pool.planned > pool.bound ? null : "good");
  fact(facts, "without sharing", round(pool.naive));
  if (pool.moments.length > 1) fact(facts, "idle on average", percent(Math.max(0, pool.planned - pool.mean), pool.planned));
  if (pool.capacity === null) fact(facts, "capacity", "no limit");
  else if (over) fact(facts, `capacity ${round(pool.capacity)}`, `over by ${exact(pool.planned - pool.capacity)}`, "bad");
  else fact(facts, `capacity ${round(pool.capacity)}`, `${percent(pool.planned, pool.capacity)} used`);
  return element("button", { type: "button", class: "pool", "aria-pressed": "false", onclick },
    element("div", { class: "head" }, element("span", { class: "name" }, pool.name),
      element("span", { class: "big", title: exact(pool.planned) }, round(pool.planned))),
    element("canvas", { "aria-hidden": "true" }), meter, facts);
}

// A list of buffers, largest first, of which the first few are shown.
function fillRows(list, found, most, state, pick) {
  const sorted = [...found].sort((a, b) => b.size - a.size || a.index - b.index);
  const shown = sorted.slice(0, most);
  list.replaceChildren(...shown.map((buffer) => element("li", {},
    element("button", { type: "button", class: "row", title: title(buffer), "aria-current": String(buffer.index === state.picked), onclick: () => pick(buffer) },
      swatch(buffer.kind), ends(title(buffer)), element("span", { class: "size" }, round(buffer.size))))));
  const rest = sorted.slice(most);
  if (rest.length) {
    const bytes = rest.reduce((sum, buffer) => sum + buffer.size, 0);
    list.append(element("li", { class: "rest" }, `and ${rest.length.toLocaleString("en-US")} more of ${round(bytes)}`,
      element("button", { type: "button", onclick: () => fillRows(list, found, most + 50, state, pick) }, "Show more")));
  }
  if (!sorted.length) list.append(element("li", { class: "rest" }, "nothing"));
}

function fillPicked(box, buffer, pick, zoomTo, close) {
  box.hidden = !buffer;
  if (!buffer) return;
  const link = (other) => element("button", { type: "button", class: "link", onclick: () => pick(other) }, label(other));
  const facts = element("dl");
  const say = (name, ...value) => facts.append(element("dt", {}, name), element("dd", {}, ...value));
  if (buffer.title && buffer.title !== buffer.name) say("name", buffer.name);
  if (buffer.layers.length) say(buffer.layers.length === 1 ? "layer" : "layers", buffer.layers.join(", "));
  if (buffer.source) say("written at", buffer.source);
  if (buffer.operator) say("operator", buffer.operator);
  say("kind", swatch(buffer.kind), ` ${report.kinds[buffer.kind]}${buffer.scope === "global" ? "" : `, scope ${buffer.scope}`}`);
  if (buffer.tensor) say("tensor", buffer.tensor);
  say("size", both(buffer.size));
  say("pool", pools[buffer.pool]?.name ?? "none of the report's");
  say("bytes", `[${buffer.offset.toLocaleString("en-US")}, ${buffer.end.toLocaleString("en-US")}), from 0x${buffer.offset.toString(16)}`);
  say("alignment", exact(buffer.alignment));
  say("alive", `${lifetime(buffer)}${buffer.spans.length ? `, ${lifeLength(buffer)}` : ""}`);
  const [first, last] = [buffer.spans[0]?.[0], buffer.spans.at(-1)?.[1] - 1];
  if (operatorAt(first)) say("from", operatorAt(first));
  if (operatorAt(last) && last !== first) say("until", operatorAt(last));
  const source = buffers[buffer.inPlaceOf];
  if (source) say("in place of", link(source));
  for (const other of buffers) if (other.inPlaceOf === buffer.index) say("taken by", link(other));
  for (const [name, offset, size] of buffer.aliases) say("alias", `${name}: ${exact(size)} at byte ${offset.toLocaleString("en-US")} of it`);
  box.replaceChildren(
    element("div", { class: "head" }, element("h2", {}, label(buffer)),
      element("button", { type: "button", onclick: zoomTo }, "Zoom to"),
      element("button", { type: "button", "aria-label": "Close", onclick: close }, "×")),
    facts);
}

function lifeLength(buffer) {
  const steps = buffer.spans.reduce((sum, [a, b]) => sum + b - a, 0);
  return `${steps.toLocaleString("en-US")} step${steps === 1 ? "" : "s"}`;
}

// The columns of the table: head, class, what a cell shows, and what it is sorted by.
const COLUMNS = [
  ["Buffer", "", null, label],
  ["Operator", "wide", (b) => b.operator, (b) => b.operator],
  ["Tensor", "wide", (b) => b.tensor, (b) => b.tensor],
  ["Kind", "wide", (b) => report.kinds[b.kind], (b) => b.kind],
  ["Pool", "wide", (b) => pools[b.pool]?.name ?? "–", (b) => b.pool],
  ["Offset B", "num wide", (b) => b.offset.toLocaleString("en-US"), (b) => b.offset],
  ["Size B", "num", (b) => b.size.toLocaleString("en-US"), (b) => b.size],
  ["Alive", "num", lifetime, (b) => b.spans[0]?.[0] ?? -1],
].filter(([head]) => !(head === "Operator" && buffers.every((b) => !b.operator)) && !(head === "Tensor" && buffers.every((b) => !b.tensor)));

function fillHeads(row, sorting, onclick) {
  row.replaceChildren(...COLUMNS.map(([head, style], i) => element("th",
    { class: style, scope: "col", "aria-sort": i === sorting.column ? (sorting.down ? "descending" : "ascending") : null },
    element("button", { type: "button", onclick: () => onclick(i) }, `${head}${i === sorting.column ? (sorting.down ? " ↓" : " ↑") : ""}`))));
}

function fillTable(body, found, state, pick) {
  body.replaceChildren(...found.map((buffer) => {
    const row = element("tr", { "aria-current": buffer.index === state.picked ? "true" : null });
    for (const [, style, text] of COLUMNS) {
      row.append(text
        ? element("td", { class: style, title: text(buffer) }, style.includes("num") ? text(buffer) : ends(text(buffer)))
        : element("td", { class: style, title: label(buffer) }, element("div", { class: "cell" }, swatch(buffer.kind),
          element("button", { type: "button", onclick: () => pick(buffer) }, ends(label(buffer))))));
    }
    return row;
  }));
}
