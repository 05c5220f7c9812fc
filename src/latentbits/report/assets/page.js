// ---- The page: its state, what happens when it changes, and what never does. ----

const content = JSON.parse(byId("content").textContent);
const page = { content, bench: null, rated: null, row: 0, x: 0, y: 0, milliseconds: 0 };

// What the ratings change; everything at once, as it takes a few milliseconds.
function update() {
  const start = performance.now();
  page.counts = recompute(page.bench, page.rated);
  drawHeats(page);
  showSuspects(page);
  showRow(page);
  pointAt(page, page.y, page.x);
  if (page.rated) showCounts();
  page.milliseconds = performance.now() - start;
}

function showCounts() {
  const { filled, removed, absence, presence, agreed, lost } = page.counts, { bench } = page;
  const parts = [bench.sampled ? "In the part shown, by" : "By", ` these ratings ${plural(filled, "zero")} become${filled === 1 ? "s" : ""} 1 and ${plural(removed, "one")} become${removed === 1 ? "s" : ""} 0. `,
    `${plural(absence, "zero")} ${absence === 1 ? "is" : "are"} suspected`];
  if (bench.n_restarts > 1) parts.push(` by the best run, ${count(agreed)} of them also by the mean of the random starts`);
  if (onesMayChange(bench, page.rated)) parts.push(`, and ${plural(presence, "one")}`);
  parts.push(".");
  if (changeOf(bench, page.rated) === "nothing") parts.push(" There is no phantom, so no observed cell changes unless you say which may.");
  if (lost) parts.push(` ${plural(lost, "row")} ${lost === 1 ? "has" : "have"} nothing left and get${lost === 1 ? "s" : ""} the average.`);
  byId("counts").textContent = parts.join("");
}

page.rerated = () => {
  showRatings(page);
  byId("change").value = page.rated.change;
  if (document.activeElement !== byId("threshold")) byId("threshold").value = page.rated.threshold;  // not while it is typed
  const something = Math.max(...page.rated.ratings) > 0;
  say(something ? "" : "Rate at least one component above 0: something has to be content.");
  for (const button of document.querySelectorAll(".downloads button")) button.disabled = !something;
  if (something) update();
};

// A change by the reader, which would be lost with the page.
page.edited = () => { page.unsaved = true; page.rerated(); };

page.renamed = () => {
  showRatings(page);
  showWeightChoices(page);
  drawWeights(page);
  showRow(page);
};

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
  redraw();
}

function redraw() {
  if (page.bench) { drawImages(page); drawHeats(page, true); showRow(page); }
}

// Paper is light: so are the pictures on it.
function printInLight() {
  let theme;
  addEventListener("beforeprint", () => { theme = document.documentElement.dataset.theme; setTheme("light"); });
  addEventListener("afterprint", () => setTheme(theme));
}

function makeWorkbench() {
  page.bench = openBench(content.workbench);
  page.rated = content.workbench.rated ? structuredClone(content.workbench.rated) : null;
  page.hasMissing = page.bench.cells.includes(MISSING);
  page.row = page.bench.row_order[0];
  byId("row-name").value = page.bench.rows.shown[page.row];
  makeCards(page);
  makeHeats(page);
  makeRows(page);
  showWeightChoices(page);
  drawBars(page);
  drawEdges(page);
  drawImages(page);
  drawWeights(page);
  if (!page.rated) { update(); return; }
  makeDownloads(page);
  byId("change").addEventListener("input", (event) => { page.rated.change = event.target.value; page.edited(); });
  byId("threshold").addEventListener("input", (event) => {
    const value = event.target.valueAsNumber;
    if (isShare(value)) { page.rated.threshold = value; page.edited(); }
    else say(`A probability is from 0 to 1; ${page.rated.threshold} is still in use.`);
  });
  byId("reset").addEventListener("click", () => {
    const ratings = page.bench.kinds.map((kind) => (kind === "content" ? 1 : 0));
    Object.assign(page.rated, { ratings, names: ratings.map(() => ""), threshold: 0.5, change: "auto" });
    page.renamed();
    page.edited();
  });
  addEventListener("beforeunload", (event) => { if (page.unsaved) event.preventDefault(); });
  showRatings(page);
  page.rerated();
}

// ---- how sure ----

function restartsPlot({ objective, iterations }) {
  const n = objective.length, low = objective[n - 1], high = objective[0];
  const made = framedPlot(`Objective of ${n} restarts, from ${high} down to ${low}`, [1, Math.max(n, 2)], [low, high], "restarts, the best first", "objective", 6);
  objective.forEach((value, rank) => {
    const dot = svgElement("circle", { class: rank ? "dot" : "best", cx: made.x(rank + 1), cy: made.y(value), r: 4 });
    dot.append(svgElement("title", {}, `${value.toPrecision(9)} after ${iterations[rank]} iterations`));
    made.svg.append(dot);
  });
  return ["Objective of each random start", made.svg];
}

function stabilityPlot(stability) {
  const lines = stability.map((value, k) => element("li", {},
    element("span", { className: "label" }, `component ${k}`),
    track([[Math.max(value, 0), "var(--strong)"]]),
    element("span", { className: "value" }, twoDigits(value))));
  return ["How well the next best starts find each component again (1: the same)", element("ul", { className: "bars" }, ...lines)];
}

function selectionPlot({ criterion, better, x, y, error, best }) {
  const spread = y.map((value, i) => (error ? error[i] : 0));
  const low = Math.min(...y.map((value, i) => value - spread[i])), high = Math.max(...y.map((value, i) => value + spread[i]));
  const made = framedPlot(`${criterion} for ${x.join(", ")} components; best ${x[best]}`, [x[0], x[x.length - 1]], [low, high], "number of components", "", 5);
  made.svg.append(svgElement("path", { class: "curve", d: "M" + x.map((value, i) => `${made.x(value)} ${made.y(y[i])}`).join("L") }));
  x.forEach((value, i) => {
    if (spread[i]) made.svg.append(svgElement("path", { class: "curve", d: `M${made.x(value)} ${made.y(y[i] - spread[i])}V${made.y(y[i] + spread[i])}` }));
    const dot = svgElement("circle", { class: i === best ? "best" : "dot", cx: made.x(value), cy: made.y(y[i]), r: i === best ? 6 : 4 });
    dot.append(svgElement("title", {}, `${value}: ${y[i].toPrecision(7)}`));
    made.svg.append(dot);
  });
  const bars = error ? "; bars: standard error of the distance from the best" : "";
  return [`${criterion} (${better} is better${bars}): best with ${x[best]}`, made.svg];
}

function makeSure() {
  const plots = content.restarts ? [restartsPlot(content.restarts)] : [];
  if (content.stability && content.restarts.objective.length > 1) plots.push(stabilityPlot(content.stability));
  for (const curve of content.selection ?? []) plots.push(selectionPlot(curve));
  byId("sure-plots").append(...plots.map(([title, drawing]) => element("div", {}, element("h3", {}, title), drawing)));
}

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
setTheme(prefersDark.matches ? "dark" : "light");
prefersDark.addEventListener("change", () => setTheme(prefersDark.matches ? "dark" : "light"));
byId("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
byId("print").addEventListener("click", () => print());
printInLight();
makeSure();
if (content.workbench) makeWorkbench();
page.causes = (row, column) => causesOf(page.bench, row, column);
window.latentbits = page;
