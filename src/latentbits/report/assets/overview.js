// ---- The large picture of the first screen: the table, with the listed cells ringed; tabs where there is a map as well. ----

const N_RINGS = 30, RING = 4.5, NEAR = 9;  // pixels: the least half width of a ring, and how far beside it a click still counts

// What the picture needs of either kind of page: cells, orders, names, and where a listed cell is.
function openOverview(page) {
  const { bench, content } = page;
  if (content.workbench) {
    const inside = ({ i, d }) => (i < bench.N && d < bench.D ? [i, d] : null);
    return { N: bench.N, D: bench.D, cells: bench.cells, rows: bench.rows, columns: bench.columns, row_order: bench.row_order, column_order: bench.column_order, placeOf: inside };
  }
  const { table } = content.ensemble, [N, D] = table.shape;
  const rows = openNames(table.rows), columns = openNames(table.columns);
  const [rowAt, columnAt] = [rows, columns].map(({ at }) => new Map(at.map((place, n) => [place, n])));
  const placeOf = ({ i, d }) => {
    const place = [rowAt.get(bench.rows.at[i]), columnAt.get(bench.columns.at[d])];
    return place.includes(undefined) ? null : place;
  };
  return { N, D, cells: unpackedCells(table.cells, N * D), rows, columns, row_order: table.row_order, column_order: table.column_order, placeOf };
}

function makeOverview(page) {
  const view = openOverview(page), field = byId("overview");
  view.yOf = new Uint32Array(view.N);
  view.xOf = new Uint32Array(view.D);
  view.row_order.forEach((i, y) => { view.yOf[i] = y; });
  view.column_order.forEach((d, x) => { view.xOf[d] = x; });
  view.canvas = element("canvas", { role: "img" });
  field.replaceChildren(view.canvas);
  byId("of-missing").hidden = !view.cells.includes(MISSING);
  page.overview = view;
  field.addEventListener("pointermove", (event) => readOverview(page, event));
  field.addEventListener("click", (event) => {
    const { near, i, d } = underPointer(page, event);
    if (near) page.list.explain(page, near);
    else if (content.workbench) explainCell(page, i, d);
  });
  new ResizeObserver(() => drawOverview(page)).observe(field);
}

function drawOverview(page) {
  const view = page.overview, { canvas, N, D } = view, wide = canvas.parentNode.clientWidth, high = canvas.parentNode.clientHeight;
  if (!wide || !high) return;
  const zoom = window.devicePixelRatio || 1, table = document.createElement("canvas");
  const colours = ["--zero", "--one", "--missing"].map((name) => packed(styleColour(name)));
  paint(table, D, N, (at) => colours[view.cells[view.row_order[Math.floor(at / D)] * D + view.column_order[at % D]]]);
  canvas.width = Math.round(wide * zoom);
  canvas.height = Math.round(high * zoom);
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = N > canvas.height || D > canvas.width;
  context.drawImage(table, 0, 0, canvas.width, canvas.height);
  context.scale(zoom, zoom);
  view.wide = wide / D;
  view.high = high / N;
  const ringed = suspectsNone(page, chosenValue()) ? [] : page.shownSuspects ?? [];
  for (const part of document.querySelectorAll(".of-rings")) part.hidden = !ringed.length;
  canvas.ariaLabel = `${content.headline} ${plural(N, "row")} by ${plural(D, "column")}${ringed.length ? "; the listed cells are ringed" : ""}`;
  view.rings = ringed.slice(0, N_RINGS).flatMap((cell) => {
    const place = view.placeOf(cell);
    return place ? [{ cell, x: (view.xOf[place[1]] + 0.5) * view.wide, y: (view.yOf[place[0]] + 0.5) * view.high }] : [];
  });
  const [paper, ring] = ["--paper", "--found"].map((name) => getComputedStyle(document.documentElement).getPropertyValue(name));
  for (const [colour, line] of [[paper, 4], [ring, 2]]) for (const { cell, x, y } of view.rings) {
    const [w, h] = [Math.max(view.wide / 2 + 1, RING), Math.max(view.high / 2 + 1, RING)], own = cell === page.chosen ? 1.5 : 0;
    context.strokeStyle = colour;
    context.lineWidth = line + own;
    const [left, top, right, bottom] = [Math.max(x - w, 3), Math.max(y - h, 3), Math.min(x + w, wide - 3), Math.min(y + h, high - 3)];  // whole at the edges too
    context.strokeRect(left, top, right - left, bottom - top);
  }
}

// The cell under the pointer, and the listed cell that is nearest to it, if one is near.
function underPointer(page, { clientX, clientY }) {
  const view = page.overview, box = view.canvas.getBoundingClientRect(), x = clientX - box.left, y = clientY - box.top;
  const within = (value, n) => Math.min(n - 1, Math.max(0, Math.floor(value)));
  let near = null, least = Infinity;
  for (const ring of view.rings ?? []) {
    const away = Math.max(Math.abs(ring.x - x) - view.wide / 2, Math.abs(ring.y - y) - view.high / 2);
    if (away < Math.min(least, NEAR)) { least = away; near = ring.cell; }
  }
  return { near, i: view.row_order[within(y / view.high, view.N)], d: view.column_order[within(x / view.wide, view.D)] };
}

function readOverview(page, event) {
  const { near, i, d } = underPointer(page, event), view = page.overview, [row, column] = (near && view.placeOf(near)) || [i, d];
  const words = [named(view.rows.shown[row]), ", ", named(view.columns.shown[column]), `: ${valueWord(view.cells[row * view.D + column])}`];
  if (near) words.push(`, listed with score ${twoDigits(near.score)}`);
  byId("overview-readout").replaceChildren(...words, ".");
}

// ---- Tabs of the large picture, the menu, and copying. ----

function makeTabs() {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const choose = (chosen) => {
    for (const tab of tabs) {
      const own = tab === chosen;
      tab.setAttribute("aria-selected", own);
      tab.tabIndex = own ? 0 : -1;
      byId(tab.getAttribute("aria-controls")).hidden = !own;
    }
  };
  tabs.forEach((tab, n) => {
    tab.addEventListener("click", () => choose(tab));
    tab.addEventListener("keydown", ({ key }) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
      if (step) { const next = tabs[(n + step + tabs.length) % tabs.length]; choose(next); next.focus(); }
    });
  });
}

// A link of the menu opens what is folded; the section that is in sight is marked.
function makeMenu() {
  const links = [...document.querySelectorAll("nav a")];
  const open = () => {
    const target = location.hash.length > 1 ? byId(decodeURIComponent(location.hash.slice(1))) : null;
    const fold = target?.closest("details");
    if (fold && !fold.open) { fold.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", open);
  for (const link of links) link.addEventListener("click", () => setTimeout(open));
  open();
  const inSight = new Map();
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) inSight.set(target.id, isIntersecting);
    const first = links.find((link) => inSight.get(link.hash.slice(1)));
    for (const link of links) link.toggleAttribute("aria-current", link === first);
  }, { rootMargin: "-60px 0px -40% 0px" });
  for (const link of links) if (byId(link.hash.slice(1))) watch.observe(byId(link.hash.slice(1)));
}

function makeCopy() {
  const button = byId("copy-methods");
  button?.addEventListener("click", async () => {
    const text = byId("methods-text");
    try { await navigator.clipboard.writeText(text.textContent); } catch {
      getSelection().selectAllChildren(text);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
}
