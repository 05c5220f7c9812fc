// ---- One row cell by cell, and the weights of all rows. ----

const N_ROW_LINES = 60;

function makeRows(page) {
  const { bench } = page;
  const names = bench.rows.shown.slice(0, bench.N);
  byId("row-names").append(...names.map((name) => element("option", { value: name })));
  byId("row-name").addEventListener("change", (event) => {
    const wanted = event.target.value, i = names.indexOf(wanted);
    if (i >= 0) chooseRow(page, i);
    byId("row-message").textContent = i >= 0 ? "" : `No row is called "${wanted}".`;
  });
  const step = (by) => {
    const y = (bench.row_order.indexOf(page.row) + by + bench.N) % bench.N;
    chooseRow(page, bench.row_order[y]);
  };
  byId("previous").addEventListener("click", () => step(-1));
  byId("next").addEventListener("click", () => step(1));
  byId("row-filter").addEventListener("input", () => showRow(page));
  byId("weight-of").addEventListener("input", () => drawWeights(page));
}

function chooseRow(page, i) {
  page.row = i;
  byId("row-name").value = page.bench.rows.shown[i];
  pointAt(page, page.bench.row_order.indexOf(i), page.x);
  follow(page);
  showRow(page);
  for (const point of byId("weight-plot").querySelectorAll(".point")) point.classList.toggle("chosen", Number(point.dataset.row) === i);
}

function table(label, heads, lines) {
  const head = element("thead", {}, element("tr", {}, ...heads.map((head) => (head instanceof Element ? head : element("th", { scope: "col" }, head)))));
  return element("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: label },
    element("table", {}, head, element("tbody", {}, ...lines.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell)))))));
}

function showRow(page) {
  const { bench } = page, i = page.row, { D, K } = bench, view = byId("row-view");
  const wanted = byId("row-filter").value;
  const columns = bench.column_order.filter((d) => wanted === "all" || bench.cells[i * D + d] === Number(wanted));
  const shown = columns.map((d) => [bench.score[i * D + d], d]).sort((a, b) => b[0] - a[0]).slice(0, page.wholeRow ? D : N_ROW_LINES);
  const heads = ["attribute", "value", "P(1)", page.rated ? "suspicion" : "surprise", ...(bench.causes ? ["caused by", ""] : [])];
  const lines = shown.map(([, d]) => {
    const at = i * D + d, cell = bench.cells[at];
    const line = [named(bench.columns.shown[d]), valueWord(cell), twoDigits(bench.P[at]), cell === MISSING ? "" : scoreText(page, at)];
    if (bench.causes) {
      const causes = causesOf(bench, i, d), k = causes.indexOf(Math.max(...causes));
      line.push(track(Array.from(causes, (q, j) => [q, colourOf(bench, j)])), element("span", {}, named(nameOf(page, k)), ` ${percent(causes[k])}`));
    }
    return line;
  });
  const weights = Array.from({ length: K }, (_, k) => [bench.W[i * K + k], k]).filter(([weight]) => Math.abs(weight) >= 0.005).sort((a, b) => b[0] - a[0]);
  const summary = element("p", {}, named(bench.rows.shown[i]), `: ${plural(bench.ones[i], "one")} in ${plural(bench.observed[i], "observed cell")}; weights: `,
    ...weights.flatMap(([weight, k], n) => [n ? ", " : "", named(nameOf(page, k)), ` ${twoDigits(weight)}`]), ".");
  const parts = [summary];
  for (const { name, levels, codes } of bench.metadata) summary.append(" ", named(name), ": ", named(levels[codes[i]]), ".");
  if (bench.grid) parts.push(rowImages(page, i));
  if (lines.length < columns.length) {
    const more = element("button", { type: "button" }, `show all ${count(columns.length)}`);
    more.addEventListener("click", () => { page.wholeRow = true; showRow(page); view.focus(); });
    parts.push(element("p", { className: "hint" }, `The ${count(lines.length)} most surprising cells; `, more));
  }
  parts.push(lines.length ? table("the cells of the row", heads, lines) : element("p", {}, "No such cell in this row."));
  view.replaceChildren(...parts);
  const chosen = shown.findIndex(([, d]) => d === bench.column_order[page.x]);
  view.querySelectorAll("tbody tr")[chosen]?.classList.add("chosen");
}

// The row as images: what is there, what the model makes of it, and who caused each pixel.
function rowImages(page, i) {
  const { bench } = page, [high, wide] = bench.grid, { D } = bench;
  const views = ["data", "P", ...(page.rated ? ["clean", "score"] : [])].map((what) => {
    const { codes, palette } = viewOf(page, what);
    return [what, (at) => palette[codes[at]]];
  });
  const titles = { data: "data", P: "reconstruction", clean: "denoised", score: "suspects" };
  if (bench.causes) {
    const colours = Array.from({ length: bench.K }, (_, k) => packed(rgb(colourOf(bench, k))));
    views.push(["causes", (at) => { const q = causesOf(bench, i, at - i * D); return colours[q.indexOf(Math.max(...q))]; }]);
    titles.causes = "likeliest cause";
  }
  return element("div", { className: "images" }, ...views.map(([what, pixel]) => {
    const canvas = element("canvas", { role: "img", ariaLabel: `row as an image: ${titles[what]}` });
    paint(canvas, wide, high, (d) => pixel(i * D + d));
    return element("figure", {}, canvas, element("figcaption", {}, titles[what]));
  }));
}

function showWeightChoices(page) {
  const choice = byId("weight-of"), { bench } = page;
  const phantom = bench.kinds ? bench.kinds.indexOf("white") : -1;
  const chosen = choice.options.length ? choice.selectedIndex : Math.max(phantom, 0);
  choice.replaceChildren(...Array.from({ length: bench.K }, (_, k) => element("option", { value: k, selected: k === chosen }, nameOf(page, k))));
}

function drawWeights(page) {
  const { bench } = page, { N, K, W, ones } = bench, k = byId("weight-of").selectedIndex;
  const weights = Array.from({ length: N }, (_, i) => W[i * K + k]);
  const most = ones.reduce((a, b) => Math.max(a, b), 1);
  const low = weights.reduce((a, b) => Math.min(a, b), 0), high = weights.reduce((a, b) => Math.max(a, b), bench.kinds ? 1 : 1e-9);
  const { svg, x, y } = framedPlot(`Weight of ${nameOf(page, k)} against the number of ones in each of ${N} rows`, [0, most], [low, high], "ones in the row", "weight");
  for (let i = 0; i < N; i++) {
    const point = svgElement("circle", { class: i === page.row ? "point chosen" : "point", cx: x(ones[i]).toFixed(1), cy: y(weights[i]).toFixed(1), r: 3, "data-row": i });
    svg.append(point);
  }
  svg.addEventListener("click", (event) => { if (event.target.dataset?.row) chooseRow(page, Number(event.target.dataset.row)); });
  byId("weight-plot").replaceChildren(svg);
}
