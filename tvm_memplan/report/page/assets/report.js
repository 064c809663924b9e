// The report that was put into the page, and questions about it. `data.py` describes its form.

const report = JSON.parse(document.getElementById("report").textContent);

const buffers = report.buffers.map((row, index) => ({
  index,
  name: row[0],
  operator: report.operators[row[1]],
  kind: row[2],
  pool: row[3],
  offset: row[4],
  size: row[5],
  end: row[4] + row[5],
  alignment: row[6],
  spans: pairs(row[7]),
  tensor: row[8],
  scope: row[9],
  inPlaceOf: row[10],
  aliases: row[11],
  title: row[12],
  layers: row[13].map((layer) => report.layers[layer]),
  source: row[14],
  text: [row[0], row[12], row[14], ...row[13].map((layer) => report.layers[layer]), report.operators[row[1]], row[8], report.kinds[row[2]], ...row[11].map((alias) => alias[0])]
    .join("\n").toLowerCase(),
}));

// From which step on another buffer has the bytes of one that is still alive.
for (const buffer of buffers) {
  const source = buffers[buffer.inPlaceOf];
  if (source && buffer.spans.length) source.takenFrom = Math.min(source.takenFrom ?? Infinity, buffer.spans[0][0]);
}

const pools = report.pools.map((pool, index) => {
  const own = buffers.filter((buffer) => buffer.pool === index);
  return { ...pool, index, buffers: own, timeless: own.filter((buffer) => !buffer.spans.length) };
});

// All pools share one time axis, so that they can be compared.
const time = (() => {
  let start = Infinity, stop = -Infinity;
  for (const buffer of buffers) {
    for (const [a, b] of buffer.spans) {
      start = Math.min(start, a);
      stop = Math.max(stop, b);
    }
  }
  if (start === Infinity) [start, stop] = [0, Math.max(1, report.steps.length)];
  return { start, stop };
})();

function pairs(flat) {
  const found = [];
  for (let i = 0; i < flat.length; i += 2) found.push([flat[i], flat[i + 1]]);
  return found;
}

// What happens at a step: the layer, where it is known, and the operator.
function operatorAt(step) {
  const operator = step in report.steps ? report.operators[report.steps[step]] : "";
  const layer = report.layers[report.stepLayers[step]] ?? "";
  return layer && operator && layer !== operator ? `${layer} (${operator})` : layer || operator;
}

function aliveAt(pool, step) {
  return pool.buffers.filter((buffer) => buffer.spans.some(([a, b]) => a <= step && step < b));
}

// The index of the last moment of a pool that is not after `step`, or -1.
function momentAt(pool, step) {
  let low = 0, high = pool.moments.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (pool.moments[middle] <= step) low = middle + 1; else high = middle;
  }
  return low - 1;
}

function heldAt(pool, step) {
  const i = momentAt(pool, step);
  return i < 0 ? 0 : pool.held[i];
}

function title(buffer) {
  if (buffer.title) return buffer.title;
  const known = !buffer.operator || report.kinds[buffer.kind] === "input" || buffer.name.startsWith(buffer.operator);
  return known ? buffer.name : `${buffer.name} of ${buffer.operator}`;
}

// What stands in a rectangle or a heading: the layer where one is known.
function label(buffer) {
  return buffer.title || buffer.name;
}

function lifetime(buffer) {
  return buffer.spans.map(([a, b]) => `[${a}, ${b})`).join(" ") || "unknown";
}
