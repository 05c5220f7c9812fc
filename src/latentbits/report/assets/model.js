// ---- The model: cells, weights and components, and what the ratings make of them. No drawing here. ----

const MISSING = 2, UNKNOWN = 2;

const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const floatsOf = (text) => new Float64Array(bytesOf(text).buffer);

function unpackedCells({ bits, text }, n) {
  const packed = bytesOf(text), cells = new Uint8Array(n), each = 8 / bits, mask = (1 << bits) - 1;
  for (let i = 0; i < n; i++) cells[i] = (packed[Math.floor(i / each)] >> (bits * (i % each))) & mask;
  return cells;
}

// Names as they are shown; rows and columns without any are counted from 1.
function openNames({ what, n, at, shown, safe, own, unclear }) {
  at ??= Array.from({ length: n }, (_, i) => i);
  return { what, at, safe, own, unclear: new Set(unclear), named: shown !== null, shown: shown ?? at.map((i) => `${what} ${i + 1}`) };
}

function openBench(stored) {
  const [N, D] = stored.shape, n = N * D;
  const bench = {
    ...stored, N, D, K: stored.n_components,
    rows: openNames(stored.rows),
    columns: openNames(stored.columns),
    cells: unpackedCells(stored.cells, n),
    W: floatsOf(stored.weights),
    H: floatsOf(stored.components),
    P: new Float64Array(n),      // probability of a 1, by the ratings
    score: new Float64Array(n),  // suspicion
    clean: new Uint8Array(n),    // denoised
    changes: new Uint8Array(n),  // the same, with 2 where a 0 was filled, 3 where a 1 was removed
    settled: new Uint8Array(n),  // 1 where somebody had looked a cell up before the fit: neither suspected nor changed
    truth: new Uint8Array(n),    // what cells truly are that were looked up, before the fit or on this page; else UNKNOWN
  };
  for (const at of stored.settled) bench.settled[at] = 1;
  if (stored.rated) openAspects(bench, stored);
  else {
    const P = bytesOf(stored.reconstruction);
    for (let i = 0; i < n; i++) bench.P[i] = P[i] / 255;
  }
  return bench;
}

// What shares the responsibility for cells, and the suspects of the fit: its list, and a score for every cell.
function openAspects(bench, stored) {
  bench.causes = stored.causes
    ? Object.fromEntries(Object.entries(stored.causes).map(([part, text]) => [part, floatsOf(text)]))
    : { weights: bench.W, ones: bench.H, zeros: bench.H.map((value) => 1 - value) };
  bench.denoised = stored.denoised ? unpackedCells(stored.denoised, bench.cells.length) : bench.cells; // if no cell changes
  bench.consensus = bytesOf(stored.consensus);
  bench.fitted = Float64Array.from(bench.consensus, (steps) => steps / 200);
  bench.listed = new Uint8Array(bench.fitted.length);
  bench.lists = Object.fromEntries(Object.entries(stored.lists).map(([kind, list]) => {
    const score = floatsOf(list.score), phantom = floatsOf(list.phantom);
    const entries = list.rows.map((i, n) => ({ i, d: list.columns[n], score: score[n], phantom: phantom[n] }));
    for (const { i, d, score } of entries) {
      if (i >= bench.N || d >= bench.D) continue;  // outside the part of the data that the page holds
      bench.fitted[i * bench.D + d] = score;
      bench.listed[i * bench.D + d] = 1;
    }
    return [kind, { ...list, entries }];
  }));
}

// Whether the ratings are those that the fit itself begins with: no phantom, all else. Then suspects are the fit's own.
const asFitted = (bench, rated) => rated.ratings.every((rating, k) => rating === (bench.kinds[k] === "content" ? 1 : 0));

// Whether nothing was moved: then denoised cells are those of denoised.csv, by held-out cells and not by ratings.
const asDenoised = (bench, rated) => asFitted(bench, rated) && rated.threshold === 0.5 && rated.change === "auto";

// Only the proportion of ratings counts. `average` is what remains of the average weights.
function prepared(bench, ratings) {
  const top = Math.max(...ratings);
  const kept = ratings.map((rating) => rating / top);
  let average = kept.map((rating, k) => rating * bench.shares[k]);
  let total = average.reduce((a, b) => a + b, 0);
  if (total <= 0) { average = kept; total = kept.reduce((a, b) => a + b, 0); }
  return { kept, average: average.map((value) => value / total) };
}

// W'_ik = W_ik r_k / sum_k' W_ik' r_k' (eq. 13 of the Beta-source paper); rows of which nothing is left get the average.
function reweighted(bench, { kept, average }) {
  const { W, N, K } = bench, out = new Float64Array(N * K);
  let lost = 0;
  for (let i = 0; i < N; i++) {
    let total = 0;
    for (let k = 0; k < K; k++) total += out[i * K + k] = W[i * K + k] * kept[k];
    if (total <= 1e-12) { lost++; for (let k = 0; k < K; k++) out[i * K + k] = average[k]; }
    else for (let k = 0; k < K; k++) out[i * K + k] /= total;
  }
  return { weights: out, lost };
}

// As many cells of the row as speak for each component, and a few cells of the average row.
function leaned(bench, { kept, average }) {
  const { W, N, K, observed, lean } = bench, out = new Float64Array(N * K);
  for (let i = 0; i < N; i++) {
    let total = 0;
    for (let k = 0; k < K; k++) total += out[i * K + k] = W[i * K + k] * kept[k] * observed[i] + lean * average[k];
    for (let k = 0; k < K; k++) out[i * K + k] /= total;
  }
  return out;
}

function product(weights, bench, out) {
  const { H, N, D, K } = bench;
  out.fill(0);
  for (let i = 0; i < N; i++) {
    for (let k = 0; k < K; k++) {
      const weight = weights[i * K + k];
      if (weight === 0) continue;
      for (let d = 0, to = i * D, from = k * D; d < D; d++) out[to + d] += weight * H[from + d];
    }
  }
}

// Which observed cells may change: what the phantoms found can have falsified, unless the analyst says otherwise.
function changeOf(bench, rated) {
  if (rated.change !== "auto") return rated.change;
  const found = Object.keys(bench.noise_of).filter((kind) => bench.kinds.includes(bench.noise_of[kind]));
  return ["nothing", found[0], "both"][found.length];
}

const onesMayChange = (bench, rated) => ["presence", "both"].includes(changeOf(bench, rated));

// The mean suspicion of all restarts with two digits: the page knows it in steps of 1/200, rounded down.
const consensusText = (bench, at) => twoDigits(Math.floor((bench.consensus[at] + 1) / 2) / 100);

// A score with two digits, the same as in the list and in Python.
const scoreText = (page, at) => (page.asFitted && !page.bench.listed[at] ? consensusText(page.bench, at) : twoDigits(page.bench.score[at]));

function setTruth({ N, D, cells, settled, truth }, marks) {
  for (let i = 0; i < truth.length; i++) truth[i] = settled[i] ? cells[i] : UNKNOWN;
  for (const [key, mark] of marks) {
    const [i, d] = key.split(",").map(Number);
    if (mark !== "unsure" && i < N && d < D) truth[i * D + d] = mark === "confirm" ? 1 : 0;
  }
}

// Reconstruction and denoised cells by ratings and marks; returns what is worth counting.
function recompute(bench, rated, marks) {
  const { cells, P, clean, changes, truth } = bench;
  if (!rated) { setScores(bench, P); return countSuspects(bench, (at) => bench.score[at] >= bench.suspected); }
  setTruth(bench, marks);
  const parts = prepared(bench, rated.ratings), change = changeOf(bench, rated);
  const { weights, lost } = reweighted(bench, parts);
  product(weights, bench, P);
  const whole = asDenoised(bench, rated);
  const keepZeros = change === "presence" || change === "nothing", keepOnes = change === "absence" || change === "nothing";
  for (let i = 0; i < cells.length; i++) {
    const cell = cells[i], one = P[i] >= rated.threshold ? 1 : 0;
    clean[i] = truth[i] !== UNKNOWN ? truth[i] : whole ? bench.denoised[i] : (cell === 0 && keepZeros) || (cell === 1 && keepOnes) ? cell : one;
    changes[i] = cell === MISSING || cell === clean[i] ? clean[i] : cell === 0 ? 2 : 3;
  }
  const counts = countSuspects(bench, (at) => changes[at] > 1), changed = { filled: counts.absence, removed: counts.presence, lost };
  if (asFitted(bench, rated)) {  // suspicion is that of the fit, the mean of its random starts
    bench.score.set(bench.fitted);
    return { ...changed, absence: bench.lists.absence.n_suspected, presence: bench.lists.presence.n_suspected };
  }
  product(leaned(bench, parts), bench, bench.score);
  setScores(bench, bench.score);
  return { ...changed, ...counts };
}

// How far each observed cell is from the probability of a 1.
function setScores({ cells, score, settled }, probability) {
  for (let at = 0; at < cells.length; at++) {
    const cell = cells[at], says = probability[at] > 1 ? 1 : probability[at];
    score[at] = settled[at] ? 0 : cell === 0 ? says : cell === 1 ? 1 - says : 0;
  }
}

// How many zeros and ones are suspects, also in each row and column.
function countSuspects(bench, isSuspect) {
  const { N, D, cells } = bench, found = bench.suspects = [0, 1].map(() => [new Uint32Array(N), new Uint32Array(D)]);
  const counts = [0, 0];
  for (let i = 0, at = 0; i < N; i++) {
    for (let d = 0; d < D; d++, at++) {
      if (cells[at] === MISSING || !isSuspect(at)) continue;
      found[cells[at]][0][i]++;
      found[cells[at]][1][d]++;
      counts[cells[at]]++;
    }
  }
  return { absence: counts[0], presence: counts[1] };
}

// The rows (side 0) or columns (side 1) with most suspects of a value: places, how many they have, of how many cells.
function suspectTotals(bench, value, side) {
  const { D, cells, n_totals: most } = bench, suspects = bench.suspects[value][side];
  const places = Array.from(suspects.keys()).filter((place) => suspects[place]).sort((a, b) => suspects[b] - suspects[a] || a - b).slice(0, most);
  const has = places.map((place) => {
    let n = 0;
    for (let at = side ? place : place * D; at < (side ? cells.length : (place + 1) * D); at += side ? D : 1) n += cells[at] === value;
    return n;
  });
  return [places, places.map((place) => suspects[place]), has];
}

// The cells of a value with the highest scores, ties in reading order. Scores are binned first: sorting all is slow.
function mostSuspected(bench, value, top) {
  const { cells, score, settled } = bench, bins = new Uint32Array(1025);
  const asked = (i) => cells[i] === value && !settled[i];
  for (let i = 0; i < cells.length; i++) if (asked(i)) bins[Math.floor(score[i] * 1024)]++;
  let least = 1024, seen = bins[1024];
  while (least > 0 && seen < top) seen += bins[--least];
  const found = [];
  for (let i = 0; i < cells.length; i++) if (asked(i) && score[i] * 1024 >= least) found.push(i);
  return found.sort((a, b) => score[b] - score[a] || a - b).slice(0, top);
}

// Who caused the cell: the posterior of each component; for a missing cell the row's weights.
function causesOf(bench, i, d) {
  const { K, D, W, causes } = bench, cell = bench.cells[i * D + d];
  const q = new Float64Array(K);
  let total = 0;
  for (let k = 0; k < K; k++) {
    q[k] = cell === MISSING ? W[i * K + k] : causes.weights[i * K + k] * (cell === 1 ? causes.ones : causes.zeros)[k * D + d];
    total += q[k];
  }
  return q.map((value) => value / total);
}

// The probability that a phantom which makes such cells caused this one.
function phantomPart(bench, i, d) {
  const noise = bench.noise_of[bench.cells[i * bench.D + d] === 1 ? "presence" : "absence"];
  return causesOf(bench, i, d).reduce((sum, q, k) => sum + (bench.kinds[k] === noise ? q : 0), 0);
}
