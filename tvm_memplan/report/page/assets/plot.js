// Draws a pool on a canvas: the pressure curve above, the memory map below, on one time axis.
//
//   +--------+---------------------------------------+
//   |        |  pressure, planned, bound, capacity   |  curve
//   +--------+---------------------------------------+
//   | offset |  a rectangle per buffer               |  map
//   +--------+---------------------------------------+
//            |  steps                                |
//
// `view` is what of the map is visible: steps [t0, t1) and bytes [y0, y1). The curve always shows all bytes.

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif';

class Plot {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.readColours();
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    const names = ["card", "ink", "muted", "line", "grid", "accent", "bad", "idle", "hatch", "on", "edge", "mark", "bound"];
    this.colour = Object.fromEntries([...names, ...report.kinds].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    this.pattern = null;
  }

  // Where things are, in CSS pixels.
  measure() {
    const box = this.canvas.getBoundingClientRect();
    const density = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(box.width * density), Math.round(box.height * density)];
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    this.context.setTransform(density, 0, 0, density, 0, 0);
    const curveHeight = Math.round(Math.min(140, box.height * 0.26));
    this.left = 66;
    this.right = box.width - 8;
    this.curveTop = 20;
    this.curveBottom = curveHeight;
    this.top = curveHeight + 16;
    this.bottom = box.height - 34;
    this.width = box.width;
    this.height = box.height;
  }

  // The whole pool; its capacity belongs to the picture unless the plan would be a thin line in it.
  whole(pool) {
    let top = Math.max(pool.planned, 1);
    for (const buffer of pool.buffers) top = Math.max(top, buffer.end);
    if (pool.capacity !== null && pool.capacity > top && pool.capacity <= 1.5 * top) top = pool.capacity;
    return { t0: time.start, t1: time.stop, y0: 0, y1: top * 1.03 };
  }

  x(step) { return this.left + ((step - this.view.t0) / (this.view.t1 - this.view.t0)) * (this.right - this.left); }
  y(byte) { return this.bottom - ((byte - this.view.y0) / (this.view.y1 - this.view.y0)) * (this.bottom - this.top); }
  step(x) { return this.view.t0 + ((x - this.left) / (this.right - this.left)) * (this.view.t1 - this.view.t0); }
  byte(y) { return this.view.y0 + ((this.bottom - y) / (this.bottom - this.top)) * (this.view.y1 - this.view.y0); }
  inMap(x, y) { return x >= this.left && x <= this.right && y >= this.top && y <= this.bottom; }

  spans(buffer) {
    return buffer.spans.length ? buffer.spans : [[time.start, time.stop]];
  }

  // What lies at a point; of buffers that share bytes there, the one drawn last. Very thin ones are met from 3 pixels away.
  hit(pool, x, y, shown) {
    if (!this.inMap(x, y)) return null;
    const slackT = (3 * (this.view.t1 - this.view.t0)) / (this.right - this.left);
    const slackY = (3 * (this.view.y1 - this.view.y0)) / (this.bottom - this.top);
    const [step, byte] = [this.step(x), this.byte(y)];
    let near = null;
    for (let i = pool.buffers.length - 1; i >= 0; i--) {
      const buffer = pool.buffers[i];
      if (!shown(buffer)) continue;
      for (const [a, b] of this.spans(buffer)) {
        if (a <= step && step < b && buffer.offset <= byte && byte < buffer.end) return buffer;
        const close = a - slackT <= step && step < b + slackT && buffer.offset - slackY <= byte && byte < buffer.end + slackY;
        if (close && near === null) near = buffer;
      }
    }
    return near;
  }

  draw(pool, state) {
    this.measure();
    const { context, colour } = this;
    this.view = state.view;
    context.clearRect(0, 0, this.width, this.height);
    context.font = FONT;
    context.lineWidth = 1;
    this.drawGrid();
    this.drawCurve(pool);
    this.drawIdle(pool);
    context.save();
    context.beginPath();
    context.rect(this.left, this.top, this.right - this.left, this.bottom - this.top);
    context.clip();
    this.drawBuffers(pool, state);
    this.drawLimits(pool);
    context.restore();
    this.drawMarker(pool, state);
    context.strokeStyle = colour.line;
    context.strokeRect(this.left - 0.5, this.top - 0.5, this.right - this.left + 1, this.bottom - this.top + 1);
  }

  drawGrid() {
    const { context, colour, view } = this;
    context.fillStyle = colour.muted;
    context.strokeStyle = colour.grid;
    context.textBaseline = "middle";
    context.textAlign = "right";
    const bytes = niceBytes((view.y1 - view.y0) / (this.bottom - this.top), 44);
    for (let n = Math.ceil(view.y0 / bytes) * bytes; n <= view.y1; n += bytes) {
      const y = Math.round(this.y(n)) + 0.5;
      context.beginPath();
      context.moveTo(this.left - 4, y);
      context.lineTo(this.right, y);
      context.stroke();
      if (y > this.top + 5 || n === 0) context.fillText(this.byteLabel(n, bytes), this.left - 8, y);
    }
    context.textBaseline = "top";
    context.textAlign = "center";
    const steps = niceSteps((view.t1 - view.t0) / (this.right - this.left), 70);
    for (let n = Math.ceil(view.t0 / steps) * steps; n <= view.t1; n += steps) {
      const x = Math.round(this.x(n)) + 0.5;
      context.beginPath();
      context.moveTo(x, this.curveTop);
      context.lineTo(x, this.curveBottom);
      context.moveTo(x, this.bottom);
      context.lineTo(x, this.bottom + 4);
      context.stroke();
      const half = context.measureText(n.toLocaleString("en-US")).width / 2;
      if (x + half <= this.width && x - half >= this.left - 20) context.fillText(n.toLocaleString("en-US"), x, this.bottom + 6);
    }
    context.fillText("step", (this.left + this.right) / 2, this.bottom + 20);
  }

  // In the largest unit of which ticks are whole multiples, or with as many digits as keep neighbours apart.
  byteLabel(n, distance) {
    for (const [unit, factor] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
      if (n >= factor && (distance >= factor || (n % factor === 0 && distance * 8 >= factor))) return `${+(n / factor).toFixed(3)} ${unit}`;
      if (distance * 4 >= factor && n >= factor) return `${+(n / factor).toFixed(2)} ${unit}`;
    }
    return n < 10000 ? `${n} B` : `${+(n / 1024).toFixed(2)} KiB`;
  }

  drawCurve(pool) {
    const { context, colour } = this;
    const top = Math.max(pool.planned, pool.bound, 1);
    const capacityShown = pool.capacity !== null && pool.capacity <= 1.5 * top;
    const most = (capacityShown ? Math.max(top, pool.capacity) : top) * 1.04;
    const y = (byte) => this.curveBottom - (byte / most) * (this.curveBottom - this.curveTop);
    context.save();
    context.beginPath();
    context.rect(this.left, this.curveTop - 2, this.right - this.left, this.curveBottom - this.curveTop + 3);
    context.clip();
    context.beginPath();
    context.moveTo(this.left, this.curveBottom);
    let i = Math.max(0, momentAt(pool, this.view.t0));
    let last = this.curveBottom;
    for (; i < pool.moments.length && pool.moments[i] <= this.view.t1; i++) {
      const x = Math.max(this.left, this.x(pool.moments[i]));
      context.lineTo(x, last);
      last = y(pool.held[i]);
      context.lineTo(x, last);
    }
    context.lineTo(this.right, last);
    context.lineTo(this.right, this.curveBottom);
    context.closePath();
    context.fillStyle = colour.activation;
    context.globalAlpha = 0.45;
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = colour.accent;
    context.stroke();
    context.restore();
    context.strokeStyle = colour.line;
    context.beginPath();
    context.moveTo(this.left, this.curveBottom + 0.5);
    context.lineTo(this.right, this.curveBottom + 0.5);
    context.stroke();
    const lines = [
      { at: pool.planned, name: "planned", paint: colour.ink, dash: [] },
      { at: pool.bound, name: "bound", paint: colour.bound, dash: [5, 4] },
    ];
    if (capacityShown) lines.push({ at: pool.capacity, name: "capacity", paint: colour.bad, dash: [2, 3] });
    for (const line of lines) {
      context.strokeStyle = line.paint;
      context.setLineDash(line.dash);
      context.beginPath();
      context.moveTo(this.left, Math.round(y(line.at)) + 0.5);
      context.lineTo(this.right, Math.round(y(line.at)) + 0.5);
      context.stroke();
    }
    context.setLineDash([]);
    this.drawKey(lines, capacityShown || pool.capacity === null ? "" : `capacity ${round(pool.capacity)}, above the scale`);
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillStyle = colour.muted;
    context.fillText(round(top), this.left - 8, y(top));
    context.fillText("0", this.left - 8, this.curveBottom);
    context.fillText("in use", this.left - 8, (y(top) + this.curveBottom) / 2);
  }

  // One line above the curve that names its lines; what does not fit the width is left out from the end.
  drawKey(lines, more) {
    const { context, colour } = this;
    context.textAlign = "left";
    context.textBaseline = "middle";
    let x = this.left;
    const narrow = this.width < 480;
    for (const line of lines) {
      const text = `${line.name} ${narrow ? round(line.at) : exact(line.at)}`;
      const width = 22 + context.measureText(text).width + 12;
      if (x + width > this.right + 12) return;
      context.strokeStyle = line.paint;
      context.setLineDash(line.dash);
      context.beginPath();
      context.moveTo(x, 8.5);
      context.lineTo(x + 17, 8.5);
      context.stroke();
      context.setLineDash([]);
      context.fillStyle = colour.ink;
      context.fillText(text, x + 22, 8.5);
      x += width;
    }
    context.fillStyle = colour.muted;
    if (more && x + context.measureText(more).width <= this.right) context.fillText(more, x, 8.5);
  }

  // Bytes of the arena that nothing holds: hatched, and covered by the buffers.
  drawIdle(pool) {
    const { context, colour } = this;
    if (!this.pattern) {
      const tile = document.createElement("canvas");
      tile.width = tile.height = 8;
      const brush = tile.getContext("2d");
      brush.fillStyle = colour.idle;
      brush.fillRect(0, 0, 8, 8);
      brush.strokeStyle = colour.hatch;
      brush.beginPath();
      for (const shift of [-8, 0, 8]) {
        brush.moveTo(shift, 8);
        brush.lineTo(shift + 8, 0);
      }
      brush.stroke();
      this.pattern = context.createPattern(tile, "repeat");
    }
    const top = Math.max(this.top, this.y(pool.planned)), bottom = Math.min(this.bottom, this.y(0));
    const left = Math.max(this.left, this.x(time.start)), right = Math.min(this.right, this.x(time.stop));
    if (bottom <= top || right <= left) return;
    context.fillStyle = this.pattern;
    context.fillRect(left, top, right - left, bottom - top);
  }

  drawBuffers(pool, state) {
    const { context, colour, view } = this;
    const labels = [];
    for (const buffer of pool.buffers) {
      if (buffer.end <= view.y0 || buffer.offset >= view.y1 || !state.shown(buffer)) continue;
      const y0 = this.y(buffer.end), y1 = this.y(buffer.offset), faded = state.faded(buffer);
      for (const [a, b] of this.spans(buffer)) {
        if (b <= view.t0 || a >= view.t1) continue;
        const x0 = this.x(a), x1 = this.x(b);
        const width = Math.max(x1 - x0, 0.75), height = Math.max(y1 - y0, 0.75);
        // Neighbours of one kind differ a little.
        context.globalAlpha = faded ? 0.16 : [1, 0.82, 0.66][buffer.index % 3];
        context.fillStyle = colour[report.kinds[buffer.kind]];
        context.fillRect(x0, y0, width, height);
        if (width > 3 && height > 3) {
          context.strokeStyle = colour.edge;
          context.strokeRect(x0 + 0.5, y0 + 0.5, width - 1, height - 1);
        }
        // A label ends where the bytes are taken over in place: there the taker's own begins.
        const until = buffer.takenFrom > a ? Math.min(x1, this.x(buffer.takenFrom)) : x1;
        const left = Math.max(x0, this.left), right = Math.min(until, this.right);
        const top = Math.max(y0, this.top), bottom = Math.min(y1, this.bottom);
        if (!faded && Math.min(right - left, bottom - top) >= 15 && Math.max(right - left, bottom - top) > 34) labels.push({ buffer, left, right, top, bottom });
      }
    }
    context.globalAlpha = 1;
    context.fillStyle = colour.on;
    context.textAlign = "left";
    context.textBaseline = "middle";
    labels.slice(0, 1500).forEach((label) => this.drawLabel(label));
    this.drawOutlines(pool, state);
  }

  // A name, and the size under it where there is room; upright where the rectangle is.
  drawLabel({ buffer, left, right, top, bottom }) {
    const { context } = this;
    const [width, height] = [right - left, bottom - top];
    const whole = label(buffer);
    const name = this.fit(whole, width - 8);
    const upright = name === "" || (name !== whole && height > 2 * width);
    const [along, across] = upright ? [height, width] : [width, height];
    const text = upright ? this.fit(whole, along - 8) : name;
    if (!text || across < 15) return;
    const size = round(buffer.size);
    const two = across >= 32 && context.measureText(size).width <= along - 8;
    context.save();
    context.translate(upright ? (left + right) / 2 : left + 4, upright ? bottom - 4 : (top + bottom) / 2);
    if (upright) context.rotate(-Math.PI / 2);
    context.fillText(text, 0, two ? -7 : 0);
    if (two) context.fillText(size, 0, 8);
    context.restore();
  }

  // Of a name like a path the last parts say most; the very last, often the operator, too little.
  fit(text, room) {
    const parts = text.includes(" ") ? [text] : text.split("/");
    for (let from = 0; from < Math.max(1, parts.length - 1); from++) {
      const shorter = from ? `…/${parts.slice(from).join("/")}` : text;
      if (this.context.measureText(shorter).width <= room) return shorter;
    }
    return this.clip(text, room);
  }

  // Names are cut in the middle, since they differ at either end.
  clip(text, room) {
    const { context } = this;
    if (context.measureText(text).width <= room) return text;
    let low = 1, high = Math.min(text.length - 1, 200);
    const cut = (n) => `${text.slice(0, Math.ceil(n / 2))}…${text.slice(text.length - Math.floor(n / 2))}`;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (context.measureText(cut(middle)).width <= room) low = middle; else high = middle - 1;
    }
    return low > 5 && context.measureText(cut(low)).width <= room ? cut(low) : "";
  }

  drawOutlines(pool, state) {
    const { colour } = this;
    const picked = buffers[state.picked];
    if (picked && picked.pool === pool.index) {
      const partners = buffers.filter((other) => other.index === picked.inPlaceOf || other.inPlaceOf === picked.index);
      for (const partner of partners) this.outline(partner, colour.mark, 1.5, [4, 3]);
      this.outline(picked, colour.mark, 2.5, []);
    }
    const under = buffers[state.under];
    if (under && under !== picked && under.pool === pool.index) this.outline(under, colour.ink, 1.5, []);
  }

  outline(buffer, paint, width, dash) {
    const { context } = this;
    context.strokeStyle = paint;
    context.lineWidth = width;
    context.setLineDash(dash);
    const y0 = this.y(buffer.end), y1 = this.y(buffer.offset);
    for (const [a, b] of this.spans(buffer)) {
      context.strokeRect(this.x(a), y0, Math.max(2, this.x(b) - this.x(a)), Math.max(2, y1 - y0));
    }
    context.setLineDash([]);
    context.lineWidth = 1;
  }

  drawLimits(pool) {
    const { context, colour } = this;
    for (const [at, paint, dash] of [[pool.planned, colour.ink, []], [pool.capacity, colour.bad, [2, 3]]]) {
      if (at === null || at > this.view.y1) continue;
      context.strokeStyle = paint;
      context.setLineDash(dash);
      context.beginPath();
      context.moveTo(this.left, Math.round(this.y(at)) + 0.5);
      context.lineTo(this.right, Math.round(this.y(at)) + 0.5);
      context.stroke();
    }
    context.setLineDash([]);
  }

  // The step of the slider, over curve and map: as wide as a step is, or a line.
  drawMarker(pool, state) {
    const { context, colour } = this;
    const x0 = this.x(state.step), x1 = this.x(state.step + 1);
    if (x1 < this.left || x0 > this.right) return;
    const left = Math.max(this.left, x0), right = Math.min(this.right, x1);
    context.fillStyle = colour.mark;
    for (const [top, bottom] of [[this.curveTop, this.curveBottom], [this.top, this.bottom]]) {
      context.globalAlpha = 0.13;
      if (right - left > 3) context.fillRect(left, top, right - left, bottom - top);
      context.globalAlpha = 1;
      if (x0 >= this.left - 1) context.fillRect(Math.round(left), top, 1.5, bottom - top);
    }
  }

  // A small picture of a pool, for its card.
  thumbnail(canvas, pool) {
    const density = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth || 260, canvas.clientHeight || 44];
    canvas.width = width * density;
    canvas.height = height * density;
    const brush = canvas.getContext("2d");
    brush.scale(density, density);
    const all = this.whole(pool);
    for (const buffer of pool.buffers) {
      brush.fillStyle = this.colour[report.kinds[buffer.kind]];
      for (const [a, b] of this.spans(buffer)) {
        const x = ((a - all.t0) / (all.t1 - all.t0)) * width;
        const y = height - (buffer.end / all.y1) * height;
        brush.fillRect(x, y, Math.max(0.6, ((b - a) / (all.t1 - all.t0)) * width - 0.3), Math.max(0.6, (buffer.size / all.y1) * height - 0.3));
      }
    }
  }
}
