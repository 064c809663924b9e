"use strict";
// Numbers as people read them.

function exact(bytes) {
  return `${bytes.toLocaleString("en-US")} B`;
}

function round(bytes) {
  for (const [unit, factor] of [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
    if (bytes >= factor) {
      const size = bytes / factor;
      return `${size >= 100 ? size.toFixed(0) : size.toFixed(1)} ${unit}`;
    }
  }
  return `${Math.round(bytes)} B`;
}

function both(bytes) {
  return bytes < 1024 ? exact(bytes) : `${exact(bytes)} (${round(bytes)})`;
}

function percent(part, whole) {
  return whole ? `${((100 * part) / whole).toFixed(1)}%` : "–";
}

// A long text with its middle left out.
function shorten(text, most) {
  if (text.length <= most) return text;
  const tail = Math.floor((most - 1) / 2);
  return `${text.slice(0, most - 1 - tail)}…${text.slice(text.length - tail)}`;
}

// The tick distance that leaves about `room` pixels between ticks: 1, 2 or 5 times a power of ten, never below 1.
function niceSteps(perPixel, room) {
  const least = Math.max(1, perPixel * room);
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least);
}

// The same for bytes, in powers of two: whole KiB and MiB are what memories come in.
function niceBytes(perPixel, room) {
  return 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(1, perPixel * room))));
}
