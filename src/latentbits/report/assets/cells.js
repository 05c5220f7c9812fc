// ---- Linked heatmaps: the data, what the model makes of them, and what is suspected. ----

function makeHeats(page) {
  const views = page.rated
    ? [["data", "The data"], ["P", "Reconstruction, by your ratings"], ["clean", "Denoised"], ["score", "Suspects"]]
    : [["data", "The data"], ["P", "Reconstruction"], ["score", "Surprising cells"]];
  page.heats = views.map(([what, title]) => {
    const canvas = element("canvas", { role: "img", ariaLabel: `${title}, ${page.bench.N} rows by ${page.bench.D} columns` });
    const across = element("div", { className: "cross across" }), down = element("div", { className: "cross down" });
    const field = element("div", { className: "field" }, canvas, across, down);
    const top = element("canvas", { className: "top", ariaHidden: "true" }), side = element("canvas", { className: "side", ariaHidden: "true" });
    const frame = element("div", { className: "frame" }, top, side, field);
    const heat = element("div", { className: "heat" }, element("h3", {}, title), frame, element("p", { className: "legend" }));
    const at = (event) => {
      const box = field.getBoundingClientRect();
      const inside = (share, n) => Math.min(n - 1, Math.max(0, Math.floor(share * n)));
      return [inside((event.clientY - box.top) / box.height, page.bench.N), inside((event.clientX - box.left) / box.width, page.bench.D)];
    };
    field.addEventListener("pointermove", (event) => pointAt(page, ...at(event)));
    field.addEventListener("click", (event) => { pointAt(page, ...at(event)); chooseRow(page, page.bench.row_order[page.y]); });
    return { what, heat, field, canvas, top, side, across, down };
  });
  const heats = byId("heats");
  heats.append(...page.heats.map((view) => view.heat));
  heats.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (step) {
      event.preventDefault();
      const clamp = (value, n) => Math.min(n - 1, Math.max(0, value));
      pointAt(page, clamp(page.y + step[0], page.bench.N), clamp(page.x + step[1], page.bench.D));
    } else if (event.key === "Enter") chooseRow(page, page.bench.row_order[page.y]);
  });
  const resize = () => {
    for (const { field, side } of page.heats) {
      const square = (field.clientWidth / page.bench.D) * page.bench.N;
      field.style.height = side.style.height = `${Math.round(Math.min(Math.max(square, 180), 480))}px`;
    }
  };
  new ResizeObserver(resize).observe(heats);
  resize();
}

// How a view turns cells into colours: a code for each cell, and the colour of each code.
function viewOf(page, what) {
  const { cells, changes, P, score } = page.bench;
  if (what === "data" || what === "clean") {
    const others = what === "data" ? [["missing", "--missing"]] : [["filled", "--doubt"], ["removed", "--removed"]];
    const legend = [["0", "--zero"], ["1", "--ink"], ...others];
    const palette = Uint32Array.from(legend, ([, name]) => packed(styleColour(name)));
    return { codes: what === "data" ? cells : changes, palette, legend: what === "data" && !page.hasMissing ? legend.slice(0, 2) : legend };
  }
  const [values, end, words] = what === "P" ? [P, "--strong", ["0", "1"]] : [score, "--doubt", ["not", "strongly"]];
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
      view.heat.querySelector(".legend").replaceChildren(...legend.flatMap(([word, name]) => {
        const box = element("i");
        box.style.background = `var(${name})`;
        return [box, word];
      }));
    }
    const { pixels } = view;
    for (let at = 0; at < pixels.length; at++) pixels[at] = palette[codes[order[at]]];
    view.context.putImageData(view.image, 0, 0);
  }
}

// Colours at the edges: the strongest component with content of each row and column.
function drawEdges(page) {
  const { bench } = page, { N, D, K, W, H } = bench;
  const strongest = (value) => {
    let best = -1, most = -1;
    for (let k = 0; k < K; k++) if ((bench.kinds?.[k] ?? "content") === "content" && Math.abs(value(k)) > most) { most = Math.abs(value(k)); best = k; }
    return packed(rgb(colourOf(bench, Math.max(best, 0))));
  };
  for (const { top, side } of page.heats) {
    paint(side, 1, N, (y) => strongest((k) => W[bench.row_order[y] * K + k]));
    paint(top, D, 1, (x) => strongest((k) => H[k * D + bench.column_order[x]]));
  }
}

function pointAt(page, y, x) {
  page.y = y;
  page.x = x;
  const { bench } = page;
  for (const { across, down } of page.heats) {
    across.style.top = `${(100 * (y + 0.5)) / bench.N}%`;
    down.style.left = `${(100 * (x + 0.5)) / bench.D}%`;
  }
  const i = bench.row_order[y], d = bench.column_order[x], at = i * bench.D + d;
  const parts = [named(bench.rows.shown[i]), ", ", named(bench.columns.shown[d]), `: ${valueWord(bench.cells[at])}, probability of a 1 ${twoDigits(bench.P[at])}`];
  if (bench.cells[at] !== MISSING) parts.push(`, ${page.rated ? "suspicion" : "surprise"} ${twoDigits(bench.score[at])}`);
  if (bench.causes) {
    const causes = causesOf(bench, i, d), k = causes.indexOf(Math.max(...causes));
    parts.push(`, most likely caused by `, named(nameOf(page, k)), ` (${percent(causes[k])})`);
  }
  byId("readout").replaceChildren(...parts, ".");
}

const valueWord = (cell) => (cell === MISSING ? "missing" : String(cell));
