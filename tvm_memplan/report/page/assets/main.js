// What the reader does, and the state that it changes; every change ends in `refresh`, drawn once per frame.

const $ = (id) => document.getElementById(id);
const PAGE_ROWS = 25;
const SIZE = COLUMNS.findIndex(([head]) => head === "Size B");

const state = {
  pool: pools.reduce((best, pool, i) => (weight(pool) > weight(pools[best] ?? pool) ? i : best), 0),
  view: null,
  step: time.start,
  picked: -1,
  under: -1,
  query: "",
  hidden: new Set(),
  sorting: { column: SIZE, down: true },
  rows: PAGE_ROWS,
  shown: (buffer) => !state.hidden.has(buffer.kind),
  faded: (buffer) => state.query !== "" && !matches(buffer),
};
const plot = new Plot($("map"));
const canvas = $("map");

// The pool that says most comes first: not the weights, of which nothing is shared.
function weight(pool) {
  return pool.buffers.some((buffer) => report.kinds[buffer.kind] !== "weights") ? pool.planned : -1;
}

function pool() {
  return pools[state.pool];
}

function matches(buffer) {
  return state.query.split(/\s+/).every((word) => buffer.text.includes(word));
}

let waiting = false;
function refresh() {
  if (waiting || !pools.length) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    plot.draw(pool(), state);
  });
}

function choosePool(index) {
  state.pool = index;
  state.view = plot.whole(pool());
  document.querySelectorAll(".pool").forEach((card, i) => card.setAttribute("aria-pressed", String(i === index)));
  const peak = pool().peak;
  goTo(peak ? peak.step : time.start);
  $("holdersBox").hidden = !peak;
  if (peak) {
    $("holdersHead").textContent = `Peak: ${round(pool().bound)} at step ${peak.step.toLocaleString("en-US")}${peak.operator ? `, ${shorten(peak.operator, 60)}` : ""}`;
    $("holdersHead").title = peak.operator;
    fillRows($("holders"), peak.holders.map((i) => buffers[i]), 8, state, pick);
  }
  $("peak").disabled = !peak;
  zoomed();
}

function goTo(step) {
  state.step = Math.max(time.start, Math.min(time.stop - 1, Math.round(step)));
  $("step").value = state.step;
  const alive = aliveAt(pool(), state.step);
  const held = heldAt(pool(), state.step), idle = Math.max(0, pool().planned - held);
  const name = operatorAt(state.step);
  $("now").replaceChildren(element("b", {}, `Step ${state.step.toLocaleString("en-US")}`), `${name ? `, ${shorten(name, 90)}` : ""}: `,
    `${exact(held)} in use by ${alive.length.toLocaleString("en-US")} buffer${alive.length === 1 ? "" : "s"}, `,
    `${exact(idle)} of the arena idle (${percent(idle, pool().planned)})`);
  $("now").title = name;
  $("step").setAttribute("aria-valuetext", `step ${state.step} ${name}`);
  $("aliveHead").textContent = `Alive at step ${state.step.toLocaleString("en-US")}`;
  fillRows($("alive"), alive, 10, state, pick);
  refresh();
}

// The next or previous step at which something is born or dies.
function hop(direction) {
  const { moments } = pool(), i = momentAt(pool(), state.step);
  const last = moments.length - 2;  // at the last moment nothing is alive any more
  if (direction > 0) goTo(moments[Math.min(i + 1, last)] ?? state.step);
  else goTo(moments[Math.max(0, moments[i] === state.step ? i - 1 : i)] ?? state.step);
  reveal(state.step, state.step + 1);
}

function pick(buffer, move = true) {
  state.picked = buffer ? buffer.index : -1;
  if (buffer && buffer.pool >= 0 && buffer.pool !== state.pool) choosePool(buffer.pool);
  if (buffer && move && buffer.spans.length && !buffer.spans.some(([a, b]) => a <= state.step && state.step < b)) state.step = buffer.spans[0][0];
  fillPicked($("picked"), buffer, pick, () => zoomTo(buffer), () => pick(null));
  if (pools.length) goTo(state.step);
  list();
  if (buffer && move && buffer.spans.length) reveal(buffer.spans[0][0], buffer.spans.at(-1)[1], buffer.offset, buffer.end);
}

// Moves the view, without zooming, until some of the given steps and bytes are in it.
function reveal(t0, t1, y0 = null, y1 = null) {
  const view = state.view, width = view.t1 - view.t0, height = view.y1 - view.y0;
  if (t1 <= view.t0 || t0 >= view.t1) show((t0 + t1 - width) / 2, (t0 + t1 + width) / 2, view.y0, view.y1);
  if (y0 !== null && (y1 <= view.y0 || y0 >= view.y1)) show(state.view.t0, state.view.t1, (y0 + y1 - height) / 2, (y0 + y1 + height) / 2);
  refresh();
}

// Makes steps [t0, t1) and bytes [y0, y1) the view, as far as there is something to see.
function show(t0, t1, y0, y1) {
  const all = plot.whole(pool());
  const within = (low, high, least, most, smallest) => {
    const width = Math.min(most - least, Math.max(smallest, high - low));
    const start = Math.max(least, Math.min(most - width, (low + high - width) / 2));
    return [start, start + width];
  };
  const [a, b] = within(t0, t1, all.t0, all.t1, Math.min(2, all.t1 - all.t0));
  const [c, d] = within(y0, y1, all.y0, all.y1, Math.min(32, all.y1));
  state.view = { t0: a, t1: b, y0: c, y1: d };
  zoomed();
}

function zoomed() {
  const all = plot.whole(pool()), view = state.view;
  const part = view.t1 - view.t0 < 0.999 * (all.t1 - all.t0) || view.y1 - view.y0 < 0.999 * all.y1;
  canvas.classList.toggle("zoomed", part);
  $("out").disabled = $("fit").disabled = !part;
  refresh();
}

// Zooms by `factor`, keeping what lies at a point (the middle, when none is given) where it is.
function zoom(factor, x = (plot.left + plot.right) / 2, y = (plot.top + plot.bottom) / 2) {
  const { t0, t1, y0, y1 } = state.view;
  const t = plot.step(x), b = plot.byte(y);
  show(t + (t0 - t) / factor, t + (t1 - t) / factor, b + (y0 - b) / factor, b + (y1 - b) / factor);
}

function zoomTo(buffer) {
  if (buffer.pool !== state.pool) choosePool(buffer.pool);
  const [a, b] = buffer.spans.length ? [buffer.spans[0][0], buffer.spans.at(-1)[1]] : [time.start, time.stop];
  const padT = Math.max(1, (b - a) * 0.8), padY = Math.max(16, buffer.size * 0.8);
  show(a - padT, b + padT, buffer.offset - padY, buffer.end + padY);
  canvas.scrollIntoView({ block: "nearest" });
}

function pan(dx, dy) {
  const { t0, t1, y0, y1 } = state.view;
  const t = (dx * (t1 - t0)) / (plot.right - plot.left), b = (dy * (y1 - y0)) / (plot.bottom - plot.top);
  show(t0 - t, t1 - t, y0 + b, y1 + b);
}

function list() {
  const { column, down } = state.sorting, key = COLUMNS[column][3];
  const found = buffers.filter((buffer) => state.shown(buffer) && !state.faded(buffer)).sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    return ((x > y) - (x < y)) * (down ? -1 : 1) || a.index - b.index;
  });
  const all = found.length === buffers.length;
  $("allHead").textContent = all
    ? `${buffers.length.toLocaleString("en-US")} buffers`
    : `${found.length.toLocaleString("en-US")} of ${buffers.length.toLocaleString("en-US")} buffers`;
  fillHeads($("heads"), state.sorting, (i) => {
    state.sorting = { column: i, down: state.sorting.column === i ? !state.sorting.down : i === SIZE };
    list();
  });
  fillTable($("rows"), found.slice(0, state.rows), state, pick);
  const left = found.length - state.rows;
  $("more").hidden = left <= 0;
  $("more").textContent = `Show ${Math.min(left, 4 * PAGE_ROWS)} more`;
  return found;
}

// Up and down walk through what is alive at the step, by offset.
function walk(direction) {
  const alive = aliveAt(pool(), state.step).filter(state.shown).sort((a, b) => a.offset - b.offset || a.index - b.index);
  if (!alive.length) return;
  const at = alive.findIndex((buffer) => buffer.index === state.picked);
  pick(alive[at < 0 ? (direction > 0 ? 0 : alive.length - 1) : Math.max(0, Math.min(alive.length - 1, at + direction))]);
}

function showTip(buffer, x, y) {
  const tip = $("tip");
  tip.hidden = !buffer;
  if (!buffer) return;
  const lines = [buffer.operator, buffer.tensor, `${report.kinds[buffer.kind]}, ${both(buffer.size)}`,
    `bytes [${buffer.offset.toLocaleString("en-US")}, ${buffer.end.toLocaleString("en-US")})`, `alive ${lifetime(buffer)}`];
  if (buffers[buffer.inPlaceOf]) lines.push(`in place of ${label(buffers[buffer.inPlaceOf])}`);
  if (buffer.source) lines.push(`written at ${buffer.source}`);
  tip.replaceChildren(element("b", {}, label(buffer)), ...lines.filter(Boolean).map((line) => element("span", {}, line)));
  const [width, height] = [tip.offsetWidth, tip.offsetHeight];
  tip.style.left = `${Math.max(0, Math.min(plot.width - width, x + 14))}px`;
  tip.style.top = `${y + 16 + height < plot.height ? y + 16 : Math.max(0, y - height - 10)}px`;
}

// One pointer drags or clicks, two pinch.
function listenToPointers() {
  const down = new Map();
  let moved = false;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  canvas.addEventListener("pointerdown", (event) => {
    moved = down.size > 0;
    down.set(event.pointerId, at(event));
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = at(event), before = down.get(event.pointerId);
    if (!before) {
      const buffer = event.pointerType === "mouse" ? plot.hit(pool(), now.x, now.y, state.shown) : null;
      showTip(buffer, now.x, now.y);
      if ((buffer ? buffer.index : -1) !== state.under) {
        state.under = buffer ? buffer.index : -1;
        canvas.style.cursor = buffer ? "pointer" : "";
        refresh();
      }
      return;
    }
    if (!moved && Math.hypot(now.x - before.x, now.y - before.y) < 4) return;
    moved = true;
    showTip(null);
    if (down.size === 1) pan(now.x - before.x, now.y - before.y);
    else {
      const other = [...down].find(([id]) => id !== event.pointerId)[1];
      const factor = Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y));
      zoom(Math.max(0.5, Math.min(2, factor)), (now.x + other.x) / 2, (now.y + other.y) / 2);
    }
    down.set(event.pointerId, now);
  });
  canvas.addEventListener("pointerup", (event) => {
    const now = at(event);
    if (down.delete(event.pointerId) && !moved) {
      const buffer = plot.hit(pool(), now.x, now.y, state.shown);
      if (now.x >= plot.left && now.x <= plot.right) state.step = Math.max(time.start, Math.min(time.stop - 1, Math.floor(plot.step(now.x))));
      pick(buffer, false);
    }
  });
  canvas.addEventListener("pointercancel", (event) => down.delete(event.pointerId));
  canvas.addEventListener("pointerleave", () => {
    showTip(null);
    state.under = -1;
    refresh();
  });
  canvas.addEventListener("dblclick", (event) => {
    const now = at(event);
    if (plot.inMap(now.x, now.y)) zoom(2.5, now.x, now.y);
  });
  // Without Ctrl the wheel scrolls the page, as everywhere else.
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const now = at(event);
    zoom(Math.exp(-Math.max(-80, Math.min(80, event.deltaY)) / 160), now.x, now.y);
  }, { passive: false });
}

function listenToKeys() {
  const keys = {
    ArrowLeft: () => hop(-1), ArrowRight: () => hop(1), ArrowUp: () => walk(1), ArrowDown: () => walk(-1),
    "+": () => zoom(1.6), "=": () => zoom(1.6), "-": () => zoom(1 / 1.6), "0": () => $("fit").click(), Escape: () => pick(null),
    Enter: () => { if (buffers[state.picked]) zoomTo(buffers[state.picked]); },
  };
  const shifted = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.shiftKey && event.key in shifted) pan(...shifted[event.key]);
    else if (event.key in keys) keys[event.key]();
    else return;
    event.preventDefault();
  });
}

function start() {
  $("model").textContent = report.model || "Memory plan";
  $("how").textContent = `planned with ${report.planner || "an unknown planner"}${report.target ? ` for ${report.target}` : ""}`;
  if (matchMedia("(prefers-color-scheme: dark)").matches) document.documentElement.dataset.theme = "dark";
  const cards = pools.map((one, i) => poolCard(one, () => choosePool(i)));
  $("pools").replaceChildren(...cards);
  const thumbnails = () => cards.forEach((card, i) => plot.thumbnail(card.querySelector("canvas"), pools[i]));
  $("theme").addEventListener("click", () => {
    const root = document.documentElement;
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    plot.readColours();
    thumbnails();
    refresh();
  });
  plot.readColours();
  thumbnails();
  const used = report.kinds.map((_, kind) => kind).filter((kind) => buffers.some((buffer) => buffer.kind === kind));
  $("kinds").replaceChildren(...used.map((kind) => {
    const button = element("button", { type: "button", "aria-pressed": "true", onclick: () => {
      if (!state.hidden.delete(kind)) state.hidden.add(kind);
      button.setAttribute("aria-pressed", String(!state.hidden.has(kind)));
      list();
      refresh();
    } }, swatch(kind), report.kinds[kind]);
    return button;
  }));
  const lines = [...report.notes, ...report.leftAlone.map((left) => `left alone: ${left.name} in ${left.function} (${left.scope}, ` +
    `${left.size === null ? "unknown size" : exact(left.size)}): ${left.reason}`)];
  if (pools.some((one) => one.timeless.length)) lines.push("Buffers whose life is not known are drawn over the whole time and are not in the curve.");
  $("notes").hidden = !lines.length;
  $("noteList").replaceChildren(...lines.map((line) => element("li", {}, line)));
  $("search").addEventListener("input", () => {
    state.query = $("search").value.trim().toLowerCase();
    state.rows = PAGE_ROWS;
    list();
    refresh();
  });
  $("search").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    const [first] = list();
    if (first) pick(first);
  });
  $("more").addEventListener("click", () => {
    state.rows += 4 * PAGE_ROWS;
    list();
  });
  if (!pools.length) {
    $("chart").hidden = true;
    document.querySelector("aside").hidden = true;
    list();
    return;
  }
  Object.assign($("step"), { min: time.start, max: time.stop - 1 });
  $("step").addEventListener("input", () => {
    goTo(Number($("step").value));
    reveal(state.step, state.step + 1);
  });
  $("back").addEventListener("click", () => hop(-1));
  $("next").addEventListener("click", () => hop(1));
  $("peak").addEventListener("click", () => {
    goTo(pool().peak.step);
    reveal(state.step, state.step + 1);
  });
  $("in").addEventListener("click", () => zoom(1.6));
  $("out").addEventListener("click", () => zoom(1 / 1.6));
  $("fit").addEventListener("click", () => {
    state.view = plot.whole(pool());
    zoomed();
  });
  listenToPointers();
  listenToKeys();
  new ResizeObserver(() => {
    thumbnails();
    refresh();
  }).observe(canvas);
  choosePool(state.pool);
  list();
}

start();
