// ---- Zooming into the maps: buttons, keys, and the wheel with Ctrl; all maps move together. ----

const LEAST_CELLS = 8;  // on each side of the part shown

// How often each side of the table is longer than the part shown; a short side is shown whole.
const scales = ({ bench: { N, D }, zoom: { level } }) => [N, D].map((n) => Math.max(1, Math.min(level, n / LEAST_CELLS)));

function makeZoom(page) {
  page.zoom = { level: 1, top: 0, left: 0, dragged: false };
  byId("zoom-in").addEventListener("click", () => zoomTo(page, page.zoom.level * 2));
  byId("zoom-out").addEventListener("click", () => zoomTo(page, page.zoom.level / 2));
  byId("zoom-whole").addEventListener("click", () => zoomTo(page, 1));
  byId("heats").addEventListener("keydown", ({ key, ctrlKey, metaKey }) => {
    const factor = { "+": 2, "=": 2, "-": 0.5, 0: 0 }[key];
    if (factor !== undefined && !ctrlKey && !metaKey) zoomTo(page, page.zoom.level * factor);
  });
  for (const { field } of page.heats) makeDrag(page, field);
  zoomTo(page, 1);
}

function makeDrag(page, field) {
  let from = null;
  field.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    pointAt(page, ...cellUnder(page, field, event));
    zoomTo(page, page.zoom.level * (event.deltaY < 0 ? 1.25 : 0.8));
  }, { passive: false });
  field.addEventListener("pointerdown", ({ clientX, clientY }) => {
    from = { clientX, clientY, ...page.zoom };
    page.zoom.dragged = false;
  });
  field.addEventListener("pointermove", (event) => {
    if (!from || !event.buttons || page.zoom.level === 1) return;
    const dx = event.clientX - from.clientX, dy = event.clientY - from.clientY, [high, wide] = scales(page);
    if (Math.hypot(dx, dy) > 4 && !page.zoom.dragged) { page.zoom.dragged = true; field.setPointerCapture(event.pointerId); }
    if (page.zoom.dragged) moveTo(page, from.top - dy / field.clientHeight / high, from.left - dx / field.clientWidth / wide);
  });
}

// Zoom, and keep the cell that is pointed at in the middle as far as the table reaches.
function zoomTo(page, level) {
  const { bench, zoom } = page, most = Math.max(1, Math.max(bench.N, bench.D) / LEAST_CELLS);
  zoom.level = Math.min(Math.max(level, 1), most);
  const [high, wide] = scales(page);
  moveTo(page, (page.y + 0.5) / bench.N - 0.5 / high, (page.x + 0.5) / bench.D - 0.5 / wide);
  byId("zoom-in").disabled = zoom.level >= most;
  byId("zoom-out").disabled = byId("zoom-whole").disabled = zoom.level <= 1;
  byId("heats").classList.toggle("zoomed", zoom.level > 1);
}

// Show the part that begins at these shares of the table.
function moveTo(page, top, left) {
  const [high, wide] = scales(page), { zoom } = page;
  zoom.top = Math.min(Math.max(top, 0), 1 - 1 / high);
  zoom.left = Math.min(Math.max(left, 0), 1 - 1 / wide);
  const across = { width: `${100 * wide}%`, left: `${-100 * zoom.left * wide}%` }, down = { height: `${100 * high}%`, top: `${-100 * zoom.top * high}%` };
  for (const view of page.heats) {
    Object.assign(view.canvas.style, across, down);
    Object.assign(view.top.style, across);
    Object.assign(view.side.style, down);
  }
  placeCross(page);
}

// Bring the cell that is pointed at into the part shown.
function follow(page) {
  const [high, wide] = scales(page), { bench, zoom } = page;
  const moved = (from, at, scale) => Math.min(Math.max(from, at - 0.95 / scale), at - 0.05 / scale);
  if (zoom.level > 1) moveTo(page, moved(zoom.top, (page.y + 0.5) / bench.N, high), moved(zoom.left, (page.x + 0.5) / bench.D, wide));
}

function placeCross(page) {
  const [high, wide] = scales(page), { bench, zoom } = page;
  for (const { across, down } of page.heats) {
    across.style.top = `${100 * high * ((page.y + 0.5) / bench.N - zoom.top)}%`;
    down.style.left = `${100 * wide * ((page.x + 0.5) / bench.D - zoom.left)}%`;
  }
}

// The row and column, in the order of display, under the pointer.
function cellUnder(page, field, { clientX, clientY }) {
  const box = field.getBoundingClientRect(), [high, wide] = scales(page), { bench, zoom } = page;
  const inside = (share, n) => Math.min(n - 1, Math.max(0, Math.floor(share * n)));
  return [
    inside(zoom.top + (clientY - box.top) / box.height / high, bench.N),
    inside(zoom.left + (clientX - box.left) / box.width / wide, bench.D),
  ];
}
