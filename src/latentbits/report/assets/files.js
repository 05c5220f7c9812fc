// ---- Files that leave the page, and ratings that come in. ----

const FORMAT = "latentbits-ratings";

// As Python's files have it.
const safeName = (names, i) => names.safe[i] ?? names.shown[i];
const csvField = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const tenDigits = (value) => Number(value.toPrecision(10));  // as in Python's files
const csvLine = (fields) => fields.map(String).map(csvField).join(",") + "\n";

function denoisedCsv({ bench }) {
  const { N, D, clean } = bench;
  const lines = [csvLine([bench.row_label, ...Array.from({ length: D }, (_, d) => safeName(bench.columns, d))])];
  for (let i = 0; i < N; i++) lines.push(csvLine([bench.rows.own[i] ?? safeName(bench.rows, i), ...clean.subarray(i * D, (i + 1) * D)]));
  return lines.join("");
}

// The fit's own list as in its folder; by ratings, with the score of all restarts beside it; with the marks, if any.
function suspectsCsv(page) {
  const { bench } = page, marked = page.marks.size > 0;
  const heads = ["row", "column", "kind", "score", "phantom", ...(page.asFitted ? [] : ["all_restarts"]), ...(marked ? ["mark"] : [])];
  const lines = [csvLine(heads)];
  KINDS.forEach((kind, value) => {
    if (kind === "presence" && !onesMayChange(bench, page.rated)) return;
    for (const cell of suspectsOf(page, value)) {
      const fields = [safeName(bench.rows, cell.i), safeName(bench.columns, cell.d), kind, tenDigits(cell.score), tenDigits(phantomOf(page, cell))];
      if (!page.asFitted) fields.push(consensusText(bench, cell.i * bench.D + cell.d));
      if (marked) fields.push(markOf(page, cell) ?? "");
      lines.push(csvLine(fields));
    }
  });
  return lines.join("");
}

// An ensemble has no components to rate: of it the file holds marks alone.
function ratingsJson(page) {
  const { ratings, names, threshold, change } = page.rated, { content } = page;
  const rated = content.ensemble ? {} : { components: content.components_fingerprint, threshold, change, ratings, names };
  const saved = { format: FORMAT, version: 1, model: content.model, data: content.data_fingerprint, ...rated, marks: savedMarks(page) };
  return JSON.stringify(saved, null, 2) + "\n";
}

const isShare = (value) => typeof value === "number" && value >= 0 && value <= 1;

// Take over saved ratings, or say why not.
function loadRatings(page, text) {
  let saved;
  try { saved = JSON.parse(text); } catch { return "This file holds no ratings: it is not JSON."; }
  if (saved?.format !== FORMAT) return "This file holds no ratings; choose a ratings.json that a report has saved.";
  const refused = page.content.ensemble ? "" : takeRatings(page, saved);
  if (refused) return refused;
  if (!areMarks(saved.marks ?? [])) return "The marks in this file can't be read; choose a ratings.json that a report has saved.";
  page.leftOut = takeMarks(page, saved.marks ?? [], saved.data);
  return "";
}

function takeRatings(page, saved) {
  const good = Array.isArray(saved.ratings) && saved.ratings.length === page.bench.K &&
    saved.ratings.every(isShare) && saved.ratings.some((rating) => rating > 0);
  if (!good) return `These ratings are not for this model, which has ${page.bench.K} components.`;
  if (saved.components !== page.content.components_fingerprint) return "These ratings are of the components of another fit.";
  if (!areMarks(saved.marks ?? [])) return "The marks in this file can't be read; choose a ratings.json that a report has saved.";
  page.rated.ratings = [...saved.ratings];
  page.rated.names = page.rated.names.map((_, k) => (typeof saved.names?.[k] === "string" ? saved.names[k] : ""));
  if (isShare(saved.threshold)) page.rated.threshold = saved.threshold;
  if (["auto", "absence", "presence", "both"].includes(saved.change)) page.rated.change = saved.change;
  return "";
}

function download(name, type, text) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function makeDownloads(page) {
  const part = page.bench.sampled ? "sample-" : "";
  const saveRatings = () => { download("ratings.json", "application/json", ratingsJson(page)); page.unsaved = false; showKept(page); };
  byId("save-denoised")?.addEventListener("click", () => download(`${part}denoised.csv`, "text/csv", denoisedCsv(page)));
  byId("save-suspects").addEventListener("click", () => download(`${page.asFitted ? "" : part}suspects.csv`, "text/csv", page.content.ensemble ? ensembleCsv(page) : suspectsCsv(page)));
  byId("save-ratings").addEventListener("click", saveRatings);
  byId("save-marks").addEventListener("click", saveRatings);
  byId("load-ratings").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    const refused = await file.text().then((text) => loadRatings(page, text), () => "This file can't be read.");
    event.target.value = "";
    if (refused) { say(refused); return; }
    page.refresh();
    page.keep();
    page.unsaved = false;
    if (page.leftOut) say(`${plural(page.leftOut, "mark")} of other data ${page.leftOut === 1 ? "is" : "are"} left out: no cell here has ${page.leftOut === 1 ? "its" : "their"} names.`);
  });
}

const say = (text) => { byId("message").textContent = text; };
