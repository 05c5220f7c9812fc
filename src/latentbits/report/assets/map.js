// ---- Where the rows are: a map to colour, point at and click; responses to covariates, and what explains columns. ----

const MAP_WIDTH = 640, MAP_MARGIN = 14;

function makeMap(page, stored) {
  const [x, y] = [stored.x, stored.y].map(floatsOf), n = x.length;
  const map = { ...stored, x, y, n, names: openNames(stored.rows), at: 0, chosen: -1 };
  map.chances = stored.chances && { ...stored.chances, values: Uint8Array.from(atob(stored.chances.values), (letter) => letter.charCodeAt(0)) };
  map.layers = stored.layers.map(({ title, values }) => ({ title, values: floatsOf(values) }));
  page.map = map;
  const choice = byId("map-layer");
  choice.append(...map.layers.map(({ title }, k) => element("option", { value: k }, title)));
  if (map.chances) choice.append(element("optgroup", { label: "probability of a 1 in" }, ...map.chances.columns.map((name, d) => element("option", { value: `p${d}` }, name))));
  const low = (values) => values.reduce((a, b) => Math.min(a, b), Infinity), high = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
  const [x0, x1, y0, y1] = [low(x), high(x), low(y), high(y)], squeeze = stored.squeeze;
  const wide = (x1 - x0) * squeeze || 1, tall = (y1 - y0) || 1, height = Math.min(Math.max(MAP_WIDTH * tall / wide, 160), 620);
  const scale = Math.min((MAP_WIDTH - 2 * MAP_MARGIN) / wide, (height - 2 * MAP_MARGIN) / tall);
  const left = (MAP_WIDTH - wide * scale) / 2, top = (height - tall * scale) / 2;
  const radius = Math.min(7, Math.max(2, 90 / Math.sqrt(n)));
  const svg = svgElement("svg", { viewBox: `0 0 ${MAP_WIDTH} ${Math.round(height)}`, class: "map", role: "application", tabindex: 0, "aria-label": `Map of ${n} rows; arrow keys move from row to row, Enter chooses one` });
  map.dots = Array.from({ length: n }, (_, i) => svgElement("circle", { cx: (left + (x[i] - x0) * squeeze * scale).toFixed(1), cy: (top + (y1 - y[i]) * scale).toFixed(1), r: radius, "data-row": i }));
  map.order = Array.from({ length: n }, (_, i) => i).sort((a, b) => x[a] - x[b] || y[a] - y[b]);
  map.svg = svg;
  byId("map-view").replaceChildren(svg);
  choice.addEventListener("input", () => drawMap(page));
  svg.addEventListener("pointerover", ({ target }) => { if (target.dataset.row) readMap(page, Number(target.dataset.row)); });
  svg.addEventListener("click", ({ target }) => { if (target.dataset.row) chooseSite(page, Number(target.dataset.row)); });
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (step) { event.preventDefault(); map.at = Math.min(n - 1, Math.max(0, map.at + step)); readMap(page, map.order[map.at]); }
    if (event.key === "Enter" && map.pointed !== undefined) chooseSite(page, map.pointed);
  });
  byId("save-geojson").addEventListener("click", () => download("rows.geojson", "application/geo+json", sitesGeojson(page)));
  const cells = byId("save-suspects-geojson");
  cells.hidden = !content.ensemble;
  cells.addEventListener("click", () => download("suspects.geojson", "application/geo+json", suspectsGeojson(page)));
  drawMap(page);
}

function mapValues({ map }) {
  const chosen = byId("map-layer").value;
  if (!chosen.startsWith("p")) return map.layers[Number(chosen)];
  const d = Number(chosen.slice(1)), D = map.chances.columns.length;
  return { title: map.chances.columns[d], values: Float64Array.from({ length: map.n }, (_, i) => map.chances.values[i * D + d] / 255) };
}

function drawMap(page) {
  const { map } = page, { values, title } = mapValues(page), chance = byId("map-layer").value.startsWith("p");
  const low = values.reduce((a, b) => Math.min(a, b), chance ? 0 : Infinity), high = values.reduce((a, b) => Math.max(a, b), chance ? 1 : -Infinity);
  const from = styleColour("--zero"), to = styleColour("--value");
  const colour = (share) => `rgb(${from.map((start, c) => Math.round(start + (to[c] - start) * share)).join(" ")})`;
  map.dots.forEach((dot, i) => {
    dot.setAttribute("fill", colour((values[i] - low) / (high - low || 1)));
    dot.classList.toggle("chosen", i === map.chosen);
  });
  map.svg.append(...[...map.dots].map((dot, i) => [values[i], dot]).sort(([a], [b]) => a - b).map(([, dot]) => dot));  // the largest on top
  const box = (share) => { const made = element("i"); made.style.background = colour(share); return made; };
  byId("map-legend").replaceChildren(named(title), ": ", box(0), number(low), " ", box(0.5), number((low + high) / 2), " ", box(1), number(high));
  if (map.pointed !== undefined) readMap(page, map.pointed);
}

const number = (value) => String(Number(value.toPrecision(3)));

function readMap(page, i) {
  const { map } = page, { title, values } = mapValues(page);
  map.pointed = i;
  map.dots.forEach((dot, at) => dot.classList.toggle("pointed", at === i));
  byId("map-readout").replaceChildren(named(map.names.shown[i]), ` (${number(map.x[i])}, ${number(map.y[i])}): `, named(title), ` ${number(values[i])}.`);
}

// A click shows the row: its suspects in an ensemble's list, its cells where the page has them.
function chooseSite(page, i) {
  const { map } = page;
  map.chosen = i;
  drawMap(page);
  readMap(page, i);
  if (page.bench?.kinds || content.workbench) {
    const at = page.bench.rows.shown.indexOf(map.names.shown[i]);
    if (at >= 0 && at < page.bench.N) explainCell(page, at);
  } else if (content.ensemble) {
    byId("suspect-search").value = `"${map.names.shown[i]}"`;
    byId("suspect-search").dispatchEvent(new Event("input"));
  }
}

const feature = (x, y, properties) => ({ type: "Feature", geometry: { type: "Point", coordinates: [x, y] }, properties });
const collection = (features) => JSON.stringify({ type: "FeatureCollection", features }) + "\n";

function sitesGeojson({ map }) {
  return collection(Array.from({ length: map.n }, (_, i) => feature(map.x[i], map.y[i], { row: map.names.shown[i], ...Object.fromEntries(map.layers.map(({ title, values }) => [title, values[i]])) })));
}

// The list as it is shown, a point for each cell.
function suspectsGeojson(page) {
  const { bench, map } = page, at = new Map(map.names.shown.map((name, i) => [name, i]));
  return collection(bench.lists[bench.kind].entries.map((cell) => {
    const i = at.get(bench.rows.shown[cell.i]);
    return feature(map.x[i], map.y[i], { row: bench.rows.shown[cell.i], column: bench.columns.shown[cell.d], score: tenDigits(cell.score), probability: tenDigits(cell.probability), mark: markOf(page, cell) ?? null });
  }));
}

// ---- Responses to a covariate, in the columns where they are strongest or whose name is searched for. ----

const N_CURVES = 12;

function makeResponses(stored) {
  const choice = byId("response-of");
  choice.append(...stored.map(({ covariate }, n) => element("option", { value: n }, covariate)));
  const draw = () => {
    const chosen = stored[Number(choice.value)], wanted = byId("response-search").value.trim().toLocaleLowerCase();
    const range = (p) => Math.max(...p) - Math.min(...p);
    const found = chosen.columns.filter(({ name }) => name.toLocaleLowerCase().includes(wanted)).sort((a, b) => range(b.p) - range(a.p)).slice(0, N_CURVES);
    byId("response-view").replaceChildren(...found.map((column) => element("div", {}, element("h3", {}, named(column.name)), responsePlot(chosen, column))));
  };
  choice.addEventListener("input", draw);
  byId("response-search").addEventListener("input", draw);
  draw();
}

function responsePlot({ covariate, values, is_number, what, range }, { name, p, lower, upper }) {
  const ends = is_number ? [values[0], values.at(-1)] : [-0.5, values.length - 0.5];
  const made = framedPlot(`${name}: ${what} by ${covariate}`, ends, range, covariate, what, 3);
  const place = (n) => made.x(is_number ? values[n] : n).toFixed(1), point = (n, v) => `${place(n)} ${made.y(v).toFixed(1)}`;
  if (is_number) {
    const band = [...upper.map((v, n) => point(n, v)), ...lower.map((v, n) => point(n, v)).reverse()];
    made.svg.append(svgElement("path", { class: "band", d: `M${band.join("L")}Z` }), svgElement("path", { class: "curve", d: `M${p.map((v, n) => point(n, v)).join("L")}` }));
    return made.svg;
  }
  for (const text of [...made.svg.querySelectorAll("text")].slice(2, 4)) text.remove();  // the ends of an axis of categories
  values.forEach((value, n) => made.svg.append(
    svgElement("path", { class: "curve", d: `M${point(n, lower[n])}L${point(n, upper[n])}` }),
    svgElement("circle", { class: "best", cx: place(n), cy: made.y(p[n]), r: 4 }),
    svgElement("text", { x: place(n), y: made.y(range[0]) + 14, "text-anchor": "middle" }, value)));
  return made.svg;
}

function makeVariation({ columns, shares }) {
  const kinds = Object.keys(PALETTE.shares);
  byId("variation-legend").replaceChildren(...kinds.flatMap((kind) => [swatch(PALETTE.shares[kind]), `${kind} `]));
  const order = columns.map((_, d) => d).sort((a, b) => shares.unexplained[a] - shares.unexplained[b]);
  byId("variation-view").replaceChildren(element("ul", { className: "bars wide" }, ...order.map((d) => element("li", {},
    element("span", { className: "label", title: columns[d] }, named(columns[d])),
    track(kinds.map((kind) => [shares[kind][d], PALETTE.shares[kind]])),
    element("span", { className: "value" }, percent(1 - shares.unexplained[d]))))));
}
