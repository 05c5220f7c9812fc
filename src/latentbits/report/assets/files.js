// ---- Files that leave the page, and ratings that come in. ----

const FORMAT = "latentbits-ratings";

const safeName = (names, i) => names.safe[i] ?? names.shown[i];
const csvField = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const csvLine = (fields) => fields.map(String).map(csvField).join(",") + "\n";

function denoisedCsv({ bench }) {
  const { N, D, clean } = bench;
  const lines = [csvLine([bench.row_label, ...bench.columns.shown.map((_, d) => safeName(bench.columns, d))])];
  for (let i = 0; i < N; i++) lines.push(csvLine([safeName(bench.rows, i), ...clean.subarray(i * D, (i + 1) * D)]));
  return lines.join("");
}

function suspectsCsv({ bench, rated }) {
  const lines = [csvLine(["row", "column", "kind", "score", "phantom", "all_restarts"])];
  for (const [value, kind] of [[0, "absence"], [1, "presence"]]) {
    if (kind === "presence" && !onesMayChange(bench, rated)) continue;
    for (const at of mostSuspected(bench, value, bench.n_suspects)) {
      const i = Math.floor(at / bench.D), d = at % bench.D;
      const scores = [bench.score[at], phantomPart(bench, i, d), twoDigits(consensusOf(bench, at))];
      lines.push(csvLine([safeName(bench.rows, i), safeName(bench.columns, d), kind, ...scores]));
    }
  }
  return lines.join("");
}

function ratingsJson({ content, rated }) {
  const { ratings, names, threshold, change } = rated;
  const saved = { format: FORMAT, version: 1, model: content.model, components: content.components_fingerprint, threshold, change, ratings, names };
  return JSON.stringify(saved, null, 2) + "\n";
}

const isShare = (value) => typeof value === "number" && value >= 0 && value <= 1;

// Take over saved ratings, or say why not.
function loadRatings(page, text) {
  let saved;
  try { saved = JSON.parse(text); } catch { return "This file holds no ratings: it is not JSON."; }
  if (saved?.format !== FORMAT) return "This file holds no ratings; choose a ratings.json that a report has saved.";
  const good = Array.isArray(saved.ratings) && saved.ratings.length === page.bench.K &&
    saved.ratings.every(isShare) && saved.ratings.some((rating) => rating > 0);
  if (!good) return `These ratings are not for this model, which has ${page.bench.K} components.`;
  if (saved.components !== page.content.components_fingerprint) return "These ratings are of the components of another fit.";
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
  byId("save-denoised").addEventListener("click", () => download(`${part}denoised.csv`, "text/csv", denoisedCsv(page)));
  byId("save-suspects").addEventListener("click", () => download(`${part}suspects.csv`, "text/csv", suspectsCsv(page)));
  byId("save-ratings").addEventListener("click", () => { download("ratings.json", "application/json", ratingsJson(page)); page.unsaved = false; });
  byId("load-ratings").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    const refused = await file.text().then((text) => loadRatings(page, text), () => "This file can't be read.");
    event.target.value = "";
    if (refused) say(refused); else { page.unsaved = false; page.renamed(); page.rerated(); }
  });
}

const say = (text) => { byId("message").textContent = text; };
