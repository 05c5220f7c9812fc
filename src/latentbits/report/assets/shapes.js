// ---- Small tools of drawing: elements, numbers, colours, plots. Names reach the page as text only. ----

const byId = (id) => document.getElementById(id);

function element(tag, settings = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(settings)) {
    if (name in made && name !== "list") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function svgElement(tag, settings = {}, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(settings)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
}

const named = (text) => element("bdi", {}, text);
const { format: count } = new Intl.NumberFormat("en-US");
const twoDigits = (value) => value.toFixed(2);
const percent = (value) => `${(100 * value).toFixed(1)} %`;
const plural = (n, what) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;

const CONTENT_COLOURS = PALETTE.series;

function colourOf(bench, k) {
  return PALETTE.noise[bench.kinds?.[k]] ?? CONTENT_COLOURS[k % CONTENT_COLOURS.length];
}

const styleColour = (name) => rgb(getComputedStyle(document.documentElement).getPropertyValue(name).trim());
const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const packed = ([red, green, blue]) => (255 << 24) | (blue << 16) | (green << 8) | red;

// 256 steps from one colour to another, as pixels.
function ramp(from, to) {
  return Uint32Array.from({ length: 256 }, (_, step) => packed(from.map((start, c) => Math.round(start + ((to[c] - start) * step) / 255))));
}

// Fill a canvas of width x height pixels.
function paint(canvas, width, height, pixelAt) {
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d"), image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < pixels.length; i++) pixels[i] = pixelAt(i);
  context.putImageData(image, 0, 0);
}

// A bar whose parts add up to at most 1, as one gradient with hard edges: a page has thousands of these.
function track(parts) {
  const made = element("span", { className: "track", ariaHidden: "true" });
  const stops = [];
  let end = 0;
  for (const [share, colour] of parts) {
    if (share < 0.002) continue;
    const start = end;
    end += 100 * share;
    stops.push(`${colour} ${start.toFixed(1)}% ${end.toFixed(1)}%`);
  }
  if (end < 99.9) stops.push(`transparent ${end.toFixed(1)}%`);
  made.style.backgroundImage = `linear-gradient(to right, ${stops.join(",")})`;
  return made;
}

const PLOT = { width: 420, height: 230, left: 62, right: 12, top: 14, bottom: 34 };

// A framed plot with the ends of both axes written; returns the svg and the two scales.
function framedPlot(label, [x0, x1], [y0, y1], xTitle, yTitle, digits = 4) {
  const { width, height, left, right, top, bottom } = PLOT;
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  const x = (value) => left + ((value - x0) / (x1 - x0 || 1)) * (width - left - right);
  const y = (value) => height - bottom - ((value - y0) / (y1 - y0 || 1)) * (height - top - bottom);
  const text = (value) => String(Number(value.toPrecision(digits)));
  svg.append(
    svgElement("path", { class: "axis", fill: "none", d: `M${left} ${top}V${height - bottom}H${width - right}` }),
    svgElement("text", { x: left - 5, y: y(y1) + 4, "text-anchor": "end" }, text(y1)),
    svgElement("text", { x: left - 5, y: y(y0) + 4, "text-anchor": "end" }, text(y1) !== text(y0) ? text(y0) : ""),
    svgElement("text", { x: left, y: height - bottom + 14, "text-anchor": "middle" }, text(x0)),
    svgElement("text", { x: width - right, y: height - bottom + 14, "text-anchor": "end" }, x1 > x0 ? text(x1) : ""),
    svgElement("text", { class: "quiet", x: (left + width - right) / 2, y: height - 5, "text-anchor": "middle" }, xTitle),
    svgElement("text", { class: "quiet", x: 12, y: height / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${height / 2})` }, yTitle),
  );
  return { svg, x, y };
}
