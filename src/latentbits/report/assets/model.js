// ---- The model: cells, weights and components, and what the ratings make of them. No drawing here. ----

const MISSING = 2;

const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const floatsOf = (text) => new Float64Array(bytesOf(text).buffer);

function unpackedCells(text, n) {
  const packed = bytesOf(text), cells = new Uint8Array(n);
  for (let i = 0; i < n; i++) cells[i] = (packed[i >> 2] >> (2 * (i & 3))) & 3;
  return cells;
}

function openBench(stored) {
  const [N, D] = stored.shape, n = N * D;
  const bench = {
    ...stored, N, D, K: stored.n_components,
    cells: unpackedCells(stored.cells, n),
    W: floatsOf(stored.weights),
    H: floatsOf(stored.components),
    P: new Float64Array(n),      // probability of a 1, by the ratings
    score: new Float64Array(n),  // suspicion
    clean: new Uint8Array(n),    // denoised
    changes: new Uint8Array(n),  // the same, with 2 where a 0 was filled, 3 where a 1 was removed
  };
  if (stored.causes) {
    bench.causes = Object.fromEntries(Object.entries(stored.causes).map(([part, text]) => [part, floatsOf(text)]));
    bench.consensus = bytesOf(stored.consensus);
  } else {
    const P = bytesOf(stored.reconstruction);
    for (let i = 0; i < n; i++) bench.P[i] = P[i] / 255;
  }
  return bench;
}

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

// The mean suspicion of all restarts, which the page knows in steps of 1/256.
const consensusOf = (bench, at) => (bench.consensus[at] + 0.5) / 256;

// Reconstruction, suspicion and denoised cells by the ratings; returns what is worth counting.
function recompute(bench, rated) {
  const { cells, P, score, clean, changes, consensus, suspected } = bench;
  const counts = { filled: 0, removed: 0, absence: 0, presence: 0, agreed: 0, lost: 0 };
  if (!rated) {
    for (let i = 0; i < cells.length; i++) score[i] = cells[i] === 0 ? P[i] : cells[i] === 1 ? 1 - P[i] : 0;
    return counts;
  }
  const parts = prepared(bench, rated.ratings), change = changeOf(bench, rated);
  const { weights, lost } = reweighted(bench, parts);
  counts.lost = lost;
  product(weights, bench, P);
  product(leaned(bench, parts), bench, score);
  const keepZeros = change === "presence" || change === "nothing", keepOnes = change === "absence" || change === "nothing";
  for (let i = 0; i < cells.length; i++) {
    const cell = cells[i], says = score[i] > 1 ? 1 : score[i];
    const one = P[i] >= rated.threshold ? 1 : 0;
    clean[i] = (cell === 0 && keepZeros) || (cell === 1 && keepOnes) ? cell : one;
    changes[i] = cell === MISSING || cell === clean[i] ? clean[i] : cell === 0 ? 2 : 3;
    score[i] = cell === 0 ? says : cell === 1 ? 1 - says : 0;
    if (cell === 0) {
      counts.filled += clean[i];
      if (score[i] >= suspected) { counts.absence++; if (consensus[i] >= 128) counts.agreed++; }
    } else if (cell === 1) {
      counts.removed += 1 - clean[i];
      if (score[i] >= suspected) counts.presence++;
    }
  }
  return counts;
}

// The cells of a value with the highest scores, ties in reading order. Scores are binned first: sorting all is slow.
function mostSuspected(bench, value, top) {
  const { cells, score } = bench, bins = new Uint32Array(1025);
  for (let i = 0; i < cells.length; i++) if (cells[i] === value) bins[Math.floor(score[i] * 1024)]++;
  let least = 1024, seen = bins[1024];
  while (least > 0 && seen < top) seen += bins[--least];
  const found = [];
  for (let i = 0; i < cells.length; i++) if (cells[i] === value && score[i] * 1024 >= least) found.push(i);
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
