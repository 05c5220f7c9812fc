// ---- Marks of cells, and what the browser keeps of them and of the ratings until the page is opened again. ----

const MARKS = ["confirm", "reject", "unsure"];
const SIGNS = { confirm: "\u2713", reject: "\u2717", unsure: "?" };

const markOf = (page, { i, d }) => page.marks.get(`${i},${d}`);

function markButtons(page, cell) {
  const { rows, columns } = page.bench, mark = markOf(page, cell);
  const place = `${rows.shown[cell.i]}, ${columns.shown[cell.d]}`;
  return element("span", { className: "marks" }, ...MARKS.map((word) =>
    element("button", { type: "button", "data-mark": word, "aria-pressed": word === mark, "aria-label": `${word} ${place}`, title: word }, SIGNS[word])));
}

// Mark a cell; the same mark again takes it off.
function markCell(page, cell, word, line) {
  const key = `${cell.i},${cell.d}`;
  if (page.marks.get(key) === word) page.marks.delete(key); else page.marks.set(key, word);
  for (const button of line.querySelectorAll("[data-mark]")) button.setAttribute("aria-pressed", button.dataset.mark === page.marks.get(key));
  page.marked();
}

// How a row or column is known outside the page: by its name or, without one of its own, by its position from 0.
const labelOf = (names, place) => (names.named && !names.unclear.has(place) ? names.shown[place] : names.at[place]);

function savedMarks({ bench, marks, otherMarks }) {
  const known = Array.from(marks, ([key, mark]) => {
    const [i, d] = key.split(",").map(Number);
    return { row: labelOf(bench.rows, i), column: labelOf(bench.columns, d), mark };
  });
  return [...known, ...otherMarks];
}

const isLabel = (value) => typeof value === "string" || (Number.isInteger(value) && value >= 0);
const areMarks = (marks) => Array.isArray(marks) &&
  marks.every((one) => isLabel(one?.row) && isLabel(one.column) && MARKS.includes(one.mark));

function placesByLabel(names) {
  const places = new Map();
  names.at.forEach((at, place) => { places.set(at, place); places.set(names.shown[place], place); });
  return places;
}

const isName = (names, place, label) => names.named && !names.unclear.has(place) && names.shown[place] === label;

// Take over marks. Those of other data count where names are the same; a position says nothing there.
// Those of cells that the page doesn't hold, of the same data, are kept for saving. Returns how many are left out.
function takeMarks(page, marks, fingerprint) {
  const same = (fingerprint ?? page.content.data_fingerprint) === page.content.data_fingerprint;
  const [rows, columns] = [page.bench.rows, page.bench.columns].map(placesByLabel);
  page.marks = new Map();
  page.otherMarks = [];
  let left = 0;
  for (const { row, column, mark } of marks) {
    const i = rows.get(row), d = columns.get(column);
    const trusted = same || (isName(page.bench.rows, i, row) && (isName(page.bench.columns, d, column) || !page.bench.columns.named));
    if (i !== undefined && d !== undefined && trusted) page.marks.set(`${i},${d}`, mark);
    else if (same) page.otherMarks.push({ row, column, mark });
    else left++;
  }
  return left;
}

// ---- the browser's memory ----

// Reports of the same fit and data share it, unless they were written with other ratings.
function storageKey({ content }) {
  const begin = JSON.stringify((content.workbench ?? content.ensemble).rated);
  let sum = 0;
  for (let i = 0; i < begin.length; i++) sum = (Math.imul(sum, 31) + begin.charCodeAt(i)) | 0;
  return `latentbits:${content.components_fingerprint ?? content.model}:${content.data_fingerprint}:${sum >>> 0}`;
}

// Some browsers keep nothing for files, and say so by an exception.
const memory = {
  read: (key) => { try { return localStorage.getItem(key); } catch { return null; } },
  write: (key, text) => { try { localStorage.setItem(key, text); return true; } catch { return false; } },
  remove: (key) => { try { localStorage.removeItem(key); } catch { /* nothing was kept */ } },
};

function makeMemory(page) {
  const key = storageKey(page);
  page.keep = () => {
    page.undo = null;
    page.changed = true;
    page.kept = memory.write(key, ratingsJson(page));
    page.unsaved = !page.kept;
    showKept(page);
  };
  byId("forget").addEventListener("click", () => {
    const text = ratingsJson(page);
    memory.remove(key);
    begin(page);
    page.changed = page.kept = page.unsaved = false;
    page.undo = text;
    page.refresh();
  });
  byId("undo").addEventListener("click", () => { loadRatings(page, page.undo); page.refresh(); page.keep(); });
  const text = memory.read(key);
  if (text !== null) page.changed = page.kept = loadRatings(page, text) === "";
}

const warnUnsaved = (page) => addEventListener("beforeunload", (event) => { if (page.unsaved) event.preventDefault(); });

// The state that the page was written with.
function begin(page) {
  page.rated = structuredClone((page.content.workbench ?? page.content.ensemble).rated);
  takeMarks(page, areMarks(page.rated.marks) ? page.rated.marks : [], page.rated.data);
}

function showKept(page) {
  const words = { confirm: "confirmed", reject: "rejected", unsure: "unsure" };
  const all = savedMarks(page).map(({ mark }) => mark);
  const numbers = MARKS.map((word) => [words[word], all.filter((mark) => mark === word).length]).filter(([, n]) => n);
  const parts = all.length ? [numbers.map(([word, n]) => `${count(n)} ${word}`).join(", ") + ". "] : [];
  if (page.kept) parts.push(`This browser keeps marks${page.content.ensemble ? "" : " and ratings"}.`);
  else if (page.unsaved) parts.push("This browser keeps nothing for this file: save ratings.json.");
  else if (page.undo) parts.push("Cleared.");
  byId("kept").textContent = parts.join("");
  byId("save-marks").hidden = !all.length;
  byId("forget").hidden = !page.changed;
  byId("undo").hidden = !page.undo;
}
