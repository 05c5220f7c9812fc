// ---- An ensemble: its list of suspects, what the members say about a cell, and what speaks for a 1 there. ----

function openEnsemble(stored) {
  const { list, members } = stored, K = members.length;
  const [score, probability, votes] = [list.score, list.probability, list.votes].map(floatsOf);
  const entries = list.rows.map((i, n) => ({
    i, d: list.columns[n], score: score[n], probability: probability[n],
    votes: votes.subarray(n * K, (n + 1) * K), why: stored.why[n] ?? null,
  }));
  return { ...stored, rows: openNames(stored.rows), columns: openNames(stored.columns), lists: { [stored.kind]: { entries } } };
}

function makeEnsemble(page) {
  const { content } = page;
  page.bench = openEnsemble(content.ensemble);
  page.asFitted = true;
  page.tables = [];
  page.chosen = page.bench.lists[page.bench.kind].entries[0] ?? null;
  page.list = { columns: ensembleColumns, explain: chooseSuspect, beside: showWhy, describe: describeEnsemble };
  page.marked = () => page.keep();
  page.refresh = () => { showSuspects(page); showKept(page); };
  begin(page);
  makeMemory(page);
  makeSuspects(page);
  makeOverview(page);
  makeDownloads(page);
  warnUnsaved(page);
  page.refresh();
}

function ensembleColumns(page) {
  const { bench } = page, { rows, columns } = bench;
  return [
    { name: "row", text: true, value: ({ i }) => rows.shown[i], show: ({ i }) => element("button", { type: "button", className: "link" }, named(rows.shown[i])) },
    { name: "column", text: true, value: ({ d }) => columns.shown[d], show: ({ d }) => named(columns.shown[d]) },
    { name: "score", value: ({ score }) => score, show: ({ score }) => twoDigits(score) },
    { name: bench.probability, value: ({ probability }) => probability, show: ({ probability }) => twoDigits(probability) },
    markColumn(page),
  ];
}

function describeEnsemble(page, value) {
  const { bench, content } = page, n = bench.lists[bench.kind].entries.length;
  const part = bench.n_listed > n ? `The first ${count(n)} of ${count(bench.n_listed)} cells of ` : "The cells of ";
  byId("suspect-list").textContent = content.fitted ? `${part}suspects.csv.` : "The list of the fitted ensemble for these rows.";
  showMarkMeaning(value);
}

function chooseSuspect(page, cell) {
  page.chosen = cell;
  showWhy(page);
  byId("why").scrollIntoView({ block: "nearest" });  // in a narrow window it stands below the list
}

// A bar a line: what, how much of the whole bar, in which colour, and the number.
const barList = (lines) => element("ul", { className: "bars" }, ...lines.map(([label, share, colour, value]) =>
  element("li", {}, element("span", { className: "label", title: label.textContent }, label), track([[share, colour]]), element("span", { className: "value" }, value))));

function showWhy(page) {
  drawOverview(page);
  const { bench, chosen } = page, view = byId("why");
  const at = chosen ? page.shownSuspects.indexOf(chosen) : -1;
  byId("suspect-table").querySelectorAll("tbody tr").forEach((line, n) => line.classList.toggle("chosen", n === at));
  if (!chosen) { view.replaceChildren(); return; }
  const place = [named(bench.rows.shown[chosen.i]), ", ", named(bench.columns.shown[chosen.d])];
  const votes = bench.members.map(({ member, weight }, k) =>
    [named(member), chosen.votes[k], weight < 0.01 ? "var(--edge)" : "var(--value)", twoDigits(chosen.votes[k])]);
  view.replaceChildren(
    element("h3", {}, "Why ", ...place),
    element("p", { className: "hint" }, "What each member says: its probability of a 1 (grey: it has no weight)."), barList(votes),
    ...speaking(chosen.why, "column", `Columns of this row that speak for a 1, or against it${begins(chosen.why)}`),
    ...speaking([...(chosen.why ?? [])].map(([what, ...others]) => [what === "space" ? "covariate" : what, ...others]), "covariate", "What is known of the row: what it adds to the log odds of a 1, against its mean"),
    ...speaking(chosen.why, "neighbour", "The nearest rows, and whether they have a 1 there or a 0"),
    ...speaking(chosen.why, "row", "Rows most like it that have a 1 there, or a 0"),
    ...(chosen.why ? [] : [element("p", { className: "hint" }, "This page explains the first suspects only; latentbits explain DIR FILE --cell does it.")]));
}

const signed = (says) => `${says > 0 ? "+" : "\u2212"}${Math.abs(says).toPrecision(2)}`;

// Where the sum of the columns begins, and what those that aren't listed add to it.
function begins(why) {
  const [base, rest] = ["base", "rest"].map((kind) => (why ?? []).find(([what]) => what === kind));
  return base ? `; how common it is alone says ${signed(base[3])}, all other columns ${signed(rest[3])}` : "";
}

function speaking(why, kind, title) {
  const lines = (why ?? []).filter(([what]) => what === kind);
  if (!lines.length) return [];
  const most = Math.max(...lines.map(([, , , says]) => Math.abs(says)));
  return [element("p", { className: "hint" }, title), barList(lines.map(([, name, value, says]) =>
    [element("span", {}, value !== null ? `${value} ` : kind === "covariate" ? "" : "? ", named(name)), Math.abs(says) / most, says > 0 ? "var(--value)" : "var(--below)", signed(says)]))];
}

// Where the row of a cell is, if that is known.
function placeOf({ bench, content }, { i }) {
  if (!bench.places.length) return [];
  bench.placed ??= [content.map.x, content.map.y].map(floatsOf);
  const at = bench.rows.at?.[i] ?? i;
  return bench.placed.map((side) => side[at]);
}

// The fit's own list, as in its folder, with the marks, if any.
function ensembleCsv(page) {
  const { bench } = page, marked = page.marks.size > 0;
  const heads = ["row", "column", "kind", "score", bench.probability, ...bench.members.map(({ member }) => member), ...bench.places, ...(marked ? ["mark"] : [])];
  const lines = bench.lists[bench.kind].entries.map((cell) => [safeName(bench.rows, cell.i), safeName(bench.columns, cell.d), bench.kind,
    ...[cell.score, cell.probability, ...cell.votes, ...placeOf(page, cell)].map(tenDigits), ...(marked ? [markOf(page, cell) ?? ""] : [])]);
  return [heads, ...lines].map(csvLine).join("");
}

function reliabilityPlot({ predicted, observed, count: cells }) {
  const total = cells.reduce((a, b) => a + b, 0);
  const made = framedPlot(`Share of ones against predicted probability of ${total} hidden cells`, [0, 1], [0, 1], "predicted probability of a 1", "share of ones");
  const points = predicted.map((p, n) => `${made.x(p).toFixed(1)} ${made.y(observed[n]).toFixed(1)}`);
  made.svg.append(svgElement("path", { class: "axis", d: `M${made.x(0)} ${made.y(0)}L${made.x(1)} ${made.y(1)}` }), svgElement("path", { class: "curve", d: `M${points.join("L")}` }));
  predicted.forEach((p, n) => {
    const dot = svgElement("circle", { class: "best", cx: made.x(p), cy: made.y(observed[n]), r: 4 });
    dot.append(svgElement("title", {}, `predicted ${twoDigits(p)}, found ${twoDigits(observed[n])}, ${plural(cells[n], "cell")}`));
    // At the right edge the number stands to the left of its dot, where there is room.
    const beside = p > 0.85 ? { x: made.x(p) - 8, "text-anchor": "end" } : { x: made.x(p) + 6 };
    made.svg.append(dot, svgElement("text", { class: "quiet", y: made.y(observed[n]) + 13, ...beside }, count(cells[n])));
  });
  return ["Hidden cells: predicted probability and share of ones (beside each dot the number of cells)", made.svg];
}

function membersPlot(members) {
  const most = Math.max(...members.map(({ weight }) => weight), 1e-9);
  const lines = members.map(({ member, weight }) => [named(member), weight / most, "var(--value)", twoDigits(weight)]);
  return ["Weights of the members' log odds", barList(lines)];
}
