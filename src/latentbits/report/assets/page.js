// ---- The page: its state, what happens when it changes, and what never does. ----

const content = JSON.parse(byId("content").textContent);
const page = { content, bench: null, rated: null, asFitted: false, marks: new Map(), otherMarks: [], row: 0, x: 0, y: 0, milliseconds: 0 };

// A table that is out of sight follows when it comes into sight, or when nothing has moved for a moment: laying it out
// takes longer than everything else that follows a slider.
function patient(id, show) {
  let inSight = true, timer = 0;
  const now = () => { clearTimeout(timer); timer = 0; show(page); };
  const settle = () => { if (timer) now(); };
  new IntersectionObserver((entries) => { inSight = entries.at(-1).isIntersecting; if (inSight) settle(); }).observe(byId(id));
  return { settle, show: () => { clearTimeout(timer); if (inSight) now(); else timer = setTimeout(now, 150); } };
}

// What the ratings change; everything at once, as it takes a few milliseconds.
function update() {
  const start = performance.now();
  const { bench, rated } = page;
  if (rated && page.asFitted !== asFitted(bench, rated)) { page.asFitted = !page.asFitted; page.wholeList = false; }
  page.counts = recompute(bench, rated, page.marks);
  drawHeats(page);
  for (const { show } of page.tables) show();
  pointAt(page, page.y, page.x);
  if (rated) showCounts();
  page.milliseconds = performance.now() - start;
}

// Marks change the denoised cells; the list stays as it is while one works on it.
page.marked = () => {
  page.keep();
  page.counts = recompute(page.bench, page.rated, page.marks);
  drawHeats(page);
  showCounts();
};

page.settle = () => { for (const { settle } of page.tables ?? []) settle(); };

function showCounts() {
  const { filled, removed, lost } = page.counts, { bench } = page;
  const by = asDenoised(bench, page.rated) ? "held-out cells" : "these ratings";
  const parts = [bench.sampled ? "In the part shown, by" : "By", ` ${by}${page.marks.size ? " and marks" : ""} ${plural(filled, "zero")} become${filled === 1 ? "s" : ""} 1 and ${plural(removed, "one")} become${removed === 1 ? "s" : ""} 0.`];
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

// A change by the reader, which would be lost with the page if the browser didn't keep it.
page.edited = () => { page.keep(); page.rerated(); };

page.renamed = () => {
  showRatings(page);
  showWeightChoices(page);
  drawWeights(page);
  showRow(page);
};

// Ratings, names and marks are others.
page.refresh = () => { page.renamed(); page.rerated(); showKept(page); };

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
  redraw();
}

function redraw() {
  if (page.overview) drawOverview(page);
  if (page.map) drawMap(page);
  if (page.bench && content.workbench) { drawImages(page); drawHeats(page, true); showRow(page); }
}

// Paper is light: so are the pictures on it.
function printInLight() {
  let theme;
  addEventListener("beforeprint", () => { page.settle(); theme = document.documentElement.dataset.theme; setTheme("light"); });
  addEventListener("afterprint", () => setTheme(theme));
}

function makeWorkbench() {
  page.bench = openBench(content.workbench);
  page.hasMissing = page.bench.cells.includes(MISSING);
  if (content.workbench.rated) { begin(page); makeMemory(page); }
  page.row = page.bench.row_order[0];
  byId("row-name").value = page.bench.rows.shown[page.row];
  makeCards(page);
  makeHeats(page);
  makeRows(page);
  page.list = workbenchList;
  makeSuspects(page);
  makeOverview(page);
  page.tables = [patient("suspects", showSuspects), patient("row", showRow)];
  showWeightChoices(page);
  drawBars(page);
  drawEdges(page);
  drawImages(page);
  drawWeights(page);
  if (!page.rated) { update(); return; }
  makeDownloads(page);
  makeControls();
  page.rerated();
  showKept(page);
}

function makeControls() {
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
  warnUnsaved(page);
}

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
setTheme(prefersDark.matches ? "dark" : "light");
prefersDark.addEventListener("change", () => setTheme(prefersDark.matches ? "dark" : "light"));
byId("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
byId("print").addEventListener("click", () => print());
printInLight();
makeTabs();
makeMenu();
makeCopy();
makeSure(content);
if (content.workbench) makeWorkbench();
if (content.ensemble) makeEnsemble(page);
if (content.map) makeMap(page, content.map);
if (content.responses) makeResponses(content.responses);
if (content.variation) makeVariation(content.variation);
page.causes = (row, column) => causesOf(page.bench, row, column);
page.explain = (row) => chooseRow(page, row);
window.latentbits = page;
