// ---- Linked heatmaps: the data, what the model makes of them, and what is suspected. ----

function makeHeats(page) {
  const views = page.rated
    ? [["data", "The data"], ["P", "Reconstruction, by your ratings"], ["clean", "Denoised"], ["score", "Suspects"]]
    : [["data", "The data"], ["P", "Reconstruction"], ["score", "Surprising cells"]];
  page.heats = views.map(([what, title]) => makeHeat(page, what, title));
  const heats = byId("heats");
  heats.append(...page.heats.map((view) => view.heat));
  heats.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (step) {
      event.preventDefault();
      const clamp = (value, n) => Math.min(n - 1, Math.max(0, value));
      pointAt(page, clamp(page.y + step[0], page.bench.N), clamp(page.x + step[1], page.bench.D));
      follow(page);
    } else if (event.key === "Enter") chooseRow(page, page.bench.row_order[page.y]);
  });
  const resize = () => {
    for (const { field, side } of page.heats) {
      const square = (field.clientWidth / page.bench.D) * page.bench.N;
      field.style.height = side.parentNode.style.height = `${Math.round(Math.min(Math.max(square, 180), 480))}px`;
    }
  };
  new ResizeObserver(resize).observe(heats);
  resize();
  makeZoom(page);
  makeGrouping(page);
}

function makeHeat(page, what, title) {
  const canvas = element("canvas", { role: "img", ariaLabel: `${title}, ${page.bench.N} rows by ${page.bench.D} columns` });
  const across = element("div", { className: "cross across" }), down = element("div", { className: "cross down" });
  const field = element("div", { className: "field" }, canvas, across, down);
  const [top, side] = ["top", "side"].map((edge) => element("canvas", { className: edge, ariaHidden: "true" }));
  const frame = element("div", { className: "frame" }, ...[top, side].map((edge) => element("div", { className: `strip of-${edge.className}` }, edge)), field);
  const heat = element("div", { className: "heat" }, element("h3", {}, title), frame, element("p", { className: "legend" }));
  field.addEventListener("pointermove", (event) => { if (!event.buttons) pointAt(page, ...cellUnder(page, field, event)); });
  field.addEventListener("click", (event) => {
    if (page.zoom.dragged) return;
    pointAt(page, ...cellUnder(page, field, event));
    chooseRow(page, page.bench.row_order[page.y]);
  });
  return { what, heat, field, canvas, top, side, across, down };
}

// Rows in groups of what is known of them, or by their strongest component; the colours at the edge follow.
function makeGrouping(page) {
  const { bench } = page, choice = byId("row-grouping");
  bench.own_order = bench.row_order;
  choice.append(element("option", { value: -1 }, "strongest component"), ...bench.metadata.map(({ name }, n) => element("option", { value: n }, name)));
  choice.parentNode.hidden = !bench.metadata.length;
  choice.addEventListener("input", () => {
    page.grouping = bench.metadata[Number(choice.value)] ?? null;
    const codes = page.grouping?.codes;
    bench.row_order = codes ? [...bench.own_order].sort((a, b) => codes[a] - codes[b]) : bench.own_order;
    page.order = null;
    drawHeats(page, true);
    drawEdges(page);
    byId("groups").replaceChildren(...(page.grouping?.levels ?? []).flatMap((level, code) => [swatch(CONTENT_COLOURS[code % CONTENT_COLOURS.length]), named(level)]));
    pointAt(page, bench.row_order.indexOf(page.row), page.x);
  });
}

function swatch(colour) {
  const box = element("i");
  box.style.background = colour;
  return box;
}

// How a view turns cells into colours: a code for each cell, and the colour of each code.
function viewOf(page, what) {
  const { cells, changes, P, score } = page.bench;
  if (what === "data" || what === "clean") {
    const others = what === "data" ? [["missing", "--missing"]] : [["filled", "--filled"], ["removed", "--below"]];
    const legend = [["0", "--zero"], ["1", "--one"], ...others];
    const palette = Uint32Array.from(legend, ([, name]) => packed(styleColour(name)));
    return { codes: what === "data" ? cells : changes, palette, legend: what === "data" && !page.hasMissing ? legend.slice(0, 2) : legend };
  }
  const [values, end, words] = what === "P" ? [P, "--value", ["0", "1"]] : [score, "--found", ["not", "strongly"]];
  const palette = ramp(styleColour("--zero"), styleColour(end));
  return { codes: steps(values), palette, legend: [[words[0], "--zero"], [words[1], end]] };
}

// Numbers from 0 to 1 as 256 steps.
function steps(values) {
  const codes = new Uint8Array(values.length);
  for (let i = 0; i < codes.length; i++) codes[i] = 255 * values[i] + 0.5;
  return codes;
}

// Where each pixel's cell is: rows and columns in the order of display.
function displayOrder({ N, D, row_order: rows, column_order: columns }) {
  const order = new Uint32Array(N * D);
  for (let y = 0, at = 0; y < N; y++) for (let x = 0; x < D; x++) order[at++] = rows[y] * D + columns[x];
  return order;
}

// Draw the views; the data themselves change with the colours only.
function drawHeats(page, all = false) {
  const { N, D } = page.bench;
  page.order ??= displayOrder(page.bench);
  for (const view of page.heats) {
    if (view.what === "data" && view.image && !all) continue;
    const { codes, palette, legend } = viewOf(page, view.what), { order } = page;
    if (!view.image) {
      view.canvas.width = D;
      view.canvas.height = N;
      view.context = view.canvas.getContext("2d");
      view.image = view.context.createImageData(D, N);
      view.pixels = new Uint32Array(view.image.data.buffer);
      view.heat.querySelector(".legend").replaceChildren(...legend.flatMap(([word, name]) => [swatch(`var(${name})`), word]));
    }
    const { pixels } = view;
    for (let at = 0; at < pixels.length; at++) pixels[at] = palette[codes[order[at]]];
    view.context.putImageData(view.image, 0, 0);
  }
}

// Colours at the edges: the strongest component with content of each row and column, or the rows' groups.
function drawEdges(page) {
  const { bench } = page, { N, D, K, W, H } = bench;
  const strongest = (value) => {
    let best = -1, most = -1;
    for (let k = 0; k < K; k++) if ((bench.kinds?.[k] ?? "content") === "content" && Math.abs(value(k)) > most) { most = Math.abs(value(k)); best = k; }
    return packed(rgb(colourOf(bench, Math.max(best, 0))));
  };
  const codes = page.grouping?.codes, group = codes && ((i) => packed(rgb(CONTENT_COLOURS[codes[i] % CONTENT_COLOURS.length])));
  for (const { top, side } of page.heats) {
    paint(side, 1, N, (y) => (group ? group(bench.row_order[y]) : strongest((k) => W[bench.row_order[y] * K + k])));
    paint(top, D, 1, (x) => strongest((k) => H[k * D + bench.column_order[x]]));
  }
}

function pointAt(page, y, x) {
  page.y = y;
  page.x = x;
  placeCross(page);
  const { bench } = page;
  const i = bench.row_order[y], d = bench.column_order[x], at = i * bench.D + d;
  const parts = [named(bench.rows.shown[i]), ", ", named(bench.columns.shown[d]), `: ${valueWord(bench.cells[at])}, probability of a 1 ${twoDigits(bench.P[at])}`];
  if (bench.cells[at] !== MISSING) parts.push(`, ${page.rated ? "suspicion" : "surprise"} ${scoreText(page, at)}`);
  if (bench.causes) {
    const causes = causesOf(bench, i, d), k = causes.indexOf(Math.max(...causes));
    parts.push(`, most likely caused by `, named(nameOf(page, k)), ` (${percent(causes[k])})`);
  }
  byId("readout").replaceChildren(...parts, ".");
}

const valueWord = (cell) => (cell === MISSING ? "missing" : String(cell));
