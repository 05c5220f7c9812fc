// ---- How sure: plots of the restarts, of stability, and of criteria by the number of components. ----

function restartsPlot({ objective, iterations }) {
  const n = objective.length, low = objective[n - 1], high = objective[0];
  const made = framedPlot(`Objective of ${n} restarts, from ${high} down to ${low}`, [1, Math.max(n, 2)], [low, high], "restarts, the best first", "objective", 6);
  objective.forEach((value, rank) => {
    const dot = svgElement("circle", { class: rank ? "dot" : "best", cx: made.x(rank + 1), cy: made.y(value), r: 4 });
    dot.append(svgElement("title", {}, `${value.toPrecision(9)} after ${iterations[rank]} iterations`));
    made.svg.append(dot);
  });
  return ["Objective of each restart", made.svg];
}

function stabilityPlot(stability) {
  const lines = stability.map((value, k) => element("li", {},
    element("span", { className: "label" }, `component ${k + 1}`),
    track([[Math.max(value, 0), "var(--value)"]]),
    element("span", { className: "value" }, twoDigits(value))));
  return ["Stability of each component across restarts (1: the same)", element("ul", { className: "bars" }, ...lines)];
}

function selectionPlot({ criterion, better, x, y, error, best }) {
  const spread = y.map((value, i) => (error ? error[i] : 0));
  const low = Math.min(...y.map((value, i) => value - spread[i])), high = Math.max(...y.map((value, i) => value + spread[i]));
  const made = framedPlot(`${criterion} for ${x.join(", ")} components; best ${x[best]}`, [x[0], x[x.length - 1]], [low, high], "number of components", "", 5);
  made.svg.append(svgElement("path", { class: "curve", d: "M" + x.map((value, i) => `${made.x(value)} ${made.y(y[i])}`).join("L") }));
  x.forEach((value, i) => {
    if (spread[i]) made.svg.append(svgElement("path", { class: "curve", d: `M${made.x(value)} ${made.y(y[i] - spread[i])}V${made.y(y[i] + spread[i])}` }));
    const dot = svgElement("circle", { class: i === best ? "best" : "dot", cx: made.x(value), cy: made.y(y[i]), r: i === best ? 6 : 4 });
    dot.append(svgElement("title", {}, `${value}: ${y[i].toPrecision(7)}`));
    made.svg.append(dot);
  });
  const bars = error ? "; bars: standard error of the distance from the best" : "";
  return [`${criterion} (${better} is better${bars}): best with ${x[best]}`, made.svg];
}

function makeSure(content) {
  const plots = content.restarts ? [restartsPlot(content.restarts)] : [];
  if (content.stability && content.restarts.objective.length > 1) plots.push(stabilityPlot(content.stability));
  if (content.ensemble) plots.push(...(content.ensemble.reliability ? [reliabilityPlot(content.ensemble.reliability)] : []), membersPlot(content.ensemble.members));
  for (const curve of content.selection ?? []) plots.push(selectionPlot(curve));
  byId("sure-plots")?.append(...plots.map(([title, drawing]) => element("div", {}, element("h3", {}, title), drawing)));
}
