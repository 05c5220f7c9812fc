// ---- The suspects: a list to sort, search and mark, and which rows and columns have most of them. ----

const N_SHOWN_SUSPECTS = 50;
const KINDS = ["absence", "presence"];  // by the value of their cells
const byName = new Intl.Collator("en", { numeric: true });

const chosenValue = () => Number(byId("suspect-kind").value);

function makeSuspects(page) {
  page.sorting = { by: page.rated ? "score" : "surprise", down: true };
  const fromTop = () => { page.wholeList = false; showSuspects(page); };
  byId("suspect-kind").addEventListener("input", fromTop);
  byId("suspect-search").addEventListener("input", fromTop);
  byId("suspect-table").addEventListener("click", ({ target }) => {
    const button = target.closest("button"), line = button?.closest("tbody tr");
    if (button?.dataset.sort) sortSuspects(page, button.dataset.sort);
    else if (button?.dataset.mark) markCell(page, page.shownSuspects[line.rowIndex - 1], button.dataset.mark, line);
    else if (line && button) page.list.explain(page, page.shownSuspects[line.rowIndex - 1]);
  });
}

// The list ends with a whole line, not with a sliced one.
function showWholeLines() {
  const list = byId("suspect-table").firstChild;
  list?.style.removeProperty("--whole-lines");
  if (!list || list.scrollHeight <= list.clientHeight) return;
  const top = list.getBoundingClientRect().top - list.scrollTop;
  const ends = [...list.querySelectorAll("tbody tr")].map((line) => line.getBoundingClientRect().bottom - top).filter((end) => end <= list.clientHeight);
  if (ends.length) list.style.setProperty("--whole-lines", `${ends.at(-1)}px`);
}

// The most suspected cells of a value, best first: those of the fit, or by the ratings once one is moved.
function suspectsOf(page, value) {
  const { bench } = page;
  if (page.asFitted) return bench.lists[KINDS[value]].entries;
  return mostSuspected(bench, value, bench.n_suspects).map((at) => {
    const i = Math.floor(at / bench.D), d = at % bench.D;
    return { i, d, score: bench.score[at] };
  });
}

const phantomOf = (page, cell) => (cell.phantom ??= phantomPart(page.bench, cell.i, cell.d));

function suspectColumns(page) {
  const { bench } = page, at = ({ i, d }) => i * bench.D + d;
  const columns = [
    { name: "row", text: true, value: ({ i }) => bench.rows.shown[i], show: (cell) => rowLink(page, cell) },
    { name: "column", text: true, value: ({ d }) => bench.columns.shown[d], show: ({ d }) => named(bench.columns.shown[d]) },
    { name: page.rated ? "score" : "surprise", value: ({ score }) => score, show: ({ score }) => twoDigits(score) },
  ];
  if (!page.rated) return columns;
  if (!page.asFitted) columns.push({ name: "all restarts", value: (cell) => bench.consensus[at(cell)], show: (cell) => consensusText(bench, at(cell)) });
  return [...columns,
    { name: "phantom", value: (cell) => phantomOf(page, cell), show: (cell) => twoDigits(phantomOf(page, cell)) },
    markColumn(page),
  ];
}

const markColumn = (page) => ({ name: "mark", value: (cell) => [...MARKS].reverse().indexOf(markOf(page, cell)), show: (cell) => markButtons(page, cell) });

// A suspect's row can be explained if the page holds it.
function rowLink({ bench }, { i, d }) {
  const name = named(bench.rows.shown[i]);
  if (i < bench.N && d < bench.D) return element("button", { type: "button", className: "link" }, name);
  name.title = "Not among the cells that this page holds; latentbits explain does it.";
  return name;
}

function sortSuspects(page, name) {
  const { text } = page.list.columns(page).find((column) => column.name === name);
  page.sorting = { by: name, down: page.sorting.by === name ? !page.sorting.down : !text };
  showSuspects(page);
  byId("suspect-table").querySelector(`[data-sort="${name}"]`).focus();
}

// By the chosen column; equal ones stay in the order of the list.
function sorted(cells, columns, { by, down }) {
  const column = columns.find(({ name }) => name === by);
  if (!column || (by === "score" && down)) return cells;
  const keyed = cells.map((cell) => [column.value(cell), cell]), sign = down ? -1 : 1;
  return keyed.sort(([a], [b]) => sign * (column.text ? byName.compare(a, b) : a - b)).map(([, cell]) => cell);
}

// Cells whose row or column has the text in its name; in quotes it is the whole name.
function matching(page, cells) {
  const wanted = byId("suspect-search").value.trim().toLocaleLowerCase(), { rows, columns } = page.bench;
  const whole = wanted.length > 2 && wanted.startsWith('"') && wanted.endsWith('"') ? wanted.slice(1, -1) : null;
  const has = (text) => (whole === null ? text.toLocaleLowerCase().includes(wanted) : text.toLocaleLowerCase() === whole);
  return wanted ? cells.filter(({ i, d }) => has(rows.shown[i]) || has(columns.shown[d])) : cells;
}

function showSuspects(page) {
  const value = chosenValue(), columns = page.list.columns(page), all = suspectsOf(page, value);
  const found = sorted(matching(page, all), columns, page.sorting);
  page.shownSuspects = page.wholeList ? found : found.slice(0, N_SHOWN_SUSPECTS);
  const heads = columns.map(({ name }) => {
    const button = element("button", { type: "button", className: "sort", "data-sort": name }, name);
    const order = page.sorting.by === name ? { "aria-sort": page.sorting.down ? "descending" : "ascending" } : {};
    return element("th", { scope: "col", ...order }, button);
  });
  const lines = page.shownSuspects.map((cell) => columns.map(({ show }) => show(cell)));
  byId("suspect-table").replaceChildren(table("the most suspected cells", heads, lines));
  showWholeLines();
  showMatches(page, found.length, all.length);
  page.list.beside(page, value);
  if (page.rated) page.list.describe(page, value);
  if (page.overview) drawOverview(page);
}

function showMatches(page, n, nAll) {
  const parts = [], line = byId("suspect-matches");
  if (!nAll) parts.push("There are no such cells.");
  else if (byId("suspect-search").value.trim()) parts.push(`${count(n)} of the ${count(nAll)} listed cells match. `);
  if (n > page.shownSuspects.length) {
    const more = element("button", { type: "button" }, `show all ${count(n)}`);
    more.addEventListener("click", () => { page.wholeList = true; showSuspects(page); byId("suspect-table").firstChild.focus(); });
    parts.push(`The first ${count(page.shownSuspects.length)}; `, more);
  }
  line.replaceChildren(...parts);
}

// Whether the fit suspects no cell of the value, so that its list is a ranking and no finding.
function suspectsNone(page, value) {
  return Boolean(page.counts) && page.asFitted && !page.counts[KINDS[value]];
}

// Which list this is, and how many suspects there are by its definition.
function showWhoseList(page, value) {
  const { bench, counts } = page, what = value ? "one" : "zero", n = counts[KINDS[value]];
  const many = `${plural(n, what)} become${n === 1 ? "s" : ""} ${1 - value}`;
  byId("suspect-title").textContent = suspectsNone(page, value) ? `No suspects: the ${what}s that are least like their rows` : "Suspects";
  const where = bench.sampled ? ", in the part of the data shown" : "";
  byId("suspect-list").textContent = page.asFitted
    ? `${page.content.fitted ? "The fit's own list, as in suspects.csv" : "The list of the fitted model for these rows"}${bench.n_restarts > 1 ? `: the mean of the ${bench.mean_of}` : ""}.${page.content.predicts ? ` ${plural(n, what)} more likely false than not by held-out cells.` : ""}`
    : `By your ratings, of the best run alone${where}: ${many}. Reset brings the fit's own list back.`;
  byId("suspect-list").classList.toggle("rated", !page.asFitted);
  showMarkMeaning(value);
}

function showMarkMeaning(value) {
  byId("mark-meaning").textContent = value ? "confirm: the 1 is true; reject: it should be a 0." : "confirm: it hides a 1; reject: it is a true 0.";
}

function showTotals(page, value) {
  const { bench } = page, what = value ? "ones" : "zeros";
  const totals = [0, 1].map((side) => (page.asFitted ? bench.lists[KINDS[value]].totals[side] : suspectTotals(bench, value, side)));
  [bench.rows, bench.columns].forEach((names, side) => {
    const [places, suspects, cells] = totals[side];
    const lines = places.map((place, n) => [totalLink(page, side, place), count(suspects[n]), count(cells[n])]);
    byId(`totals-${names.what}`).replaceChildren(element("h3", {}, `${names.what === "row" ? "Rows" : "Columns"} with most ${page.rated ? "suspects" : "surprises"}`),
      lines.length ? table(`${names.what}s with most suspects`, [names.what, page.rated ? "suspects" : "surprises", `of ${what}`], lines) : element("p", { className: "hint" }, "None has any."));
  });
}

// A row is explained; a column is searched for.
function totalLink(page, side, place) {
  const { bench } = page, names = side ? bench.columns : bench.rows, name = named(names.shown[place]);
  if (!side && place >= bench.N) return name;
  const link = element("button", { type: "button", className: "link" }, name);
  link.addEventListener("click", () => {
    if (!side) { explainCell(page, place); return; }
    byId("suspect-search").value = `"${names.shown[place]}"`;
    byId("suspect-search").dispatchEvent(new Event("input"));
  });
  return link;
}

const workbenchList = { columns: suspectColumns, explain: (page, { i, d }) => explainCell(page, i, d), beside: showTotals, describe: showWhoseList };

// Go to a row's view, with one of its cells chosen.
function explainCell(page, i, d = page.bench.column_order[page.x]) {
  page.x = page.bench.column_order.indexOf(d);
  byId("row-filter").value = "all";
  chooseRow(page, i);
  byId("row").scrollIntoView();
  byId("row-view").focus({ preventScroll: true });
}
