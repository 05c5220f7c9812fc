// ---- Cards of the components: picture or ranked attributes, name, rating. ----

const N_BARS = 8;

const nameOf = (page, k) => page.rated?.names[k] || `component ${k + 1}`;

function makeCards(page) {
  const { bench, rated } = page;
  page.cards = Array.from({ length: bench.K }, (_, k) => {
    const card = element("article", { className: "card", ariaLabel: `component ${k + 1}` });
    card.style.setProperty("--colour", colourOf(bench, k));
    const details = [];
    if (bench.kinds) details.push(...({ content: [], extinct: ["extinct"] }[bench.kinds[k]] ?? [`${bench.kinds[k]} phantom`]), `${percent(bench.row_shares[k])} of these rows`);
    if (page.content.stability) details.push(`stability ${twoDigits(page.content.stability[k])}`);
    if (rated) {
      const name = element("input", { className: "name", placeholder: `component ${k + 1}`, ariaLabel: `Name of component ${k + 1}`, dir: "auto", maxLength: 200 });
      name.addEventListener("input", () => { page.rated.names[k] = name.value; page.keep(); page.renamed(); });
      card.append(name);
    } else card.append(element("h3", {}, `component ${k + 1}`));
    card.append(element("p", { className: "details" }, details.join(" · ")));
    if (bench.grid) card.append(element("canvas", { className: "image", role: "img", ariaLabel: `component ${k + 1} as an image` }));
    card.append(element("ul", { className: "bars" }));
    if (rated) {
      const slider = element("input", { type: "range", min: 0, max: 1, step: 0.01, ariaLabel: `Rating of component ${k + 1}` });
      slider.addEventListener("input", () => { page.rated.ratings[k] = slider.valueAsNumber; page.edited(); });
      card.append(element("label", { className: "rating" }, "keep", slider, element("output")));
    }
    return card;
  });
  byId("cards").append(...cardOrder(bench).map((k) => page.cards[k]));
  for (const control of ["search", "ranking"]) byId(control).addEventListener("input", () => drawBars(page));
}

// The mean of an attribute over all components but one, by their shares.
function otherMean({ K, D, H, shares }, k, d) {
  let sum = 0, weight = 0;
  for (let j = 0; j < K; j++) if (j !== k) { const share = shares?.[j] ?? 1; sum += share * H[j * D + d]; weight += share; }
  return weight ? sum / weight : 0;
}

// How much a component differs from the mean of the others, on average over the attributes.
function distinctness(bench, k) {
  let sum = 0;
  for (let d = 0; d < bench.D; d++) sum += Math.abs(bench.H[k * bench.D + d] - otherMean(bench, k, d));
  return sum / bench.D;
}

// The most distinct first, phantoms last; components that are no probabilities stay in the model's order.
function cardOrder(bench) {
  const order = Array.from({ length: bench.K }, (_, k) => k);
  if (!bench.kinds) return order;
  const apart = order.map((k) => (bench.kinds[k] === "content" ? 1 : 0) + distinctness(bench, k) / 2);
  return order.sort((a, b) => apart[b] - apart[a] || a - b);
}

// Put names and sliders where the state says.
function showRatings(page) {
  page.cards.forEach((card, k) => {
    const name = card.querySelector(".name"), slider = card.querySelector("[type=range]");
    if (name && name.value !== page.rated.names[k]) name.value = page.rated.names[k];
    if (!slider) return;
    if (slider.valueAsNumber !== page.rated.ratings[k]) slider.value = page.rated.ratings[k];
    const rating = page.rated.ratings[k];
    card.querySelector("output").textContent = rating > 0 && rating < 0.005 ? "> 0" : twoDigits(rating);
  });
}

// The length of a full bar: 1, or more where components are no probabilities.
const largestOf = (H) => H.reduce((largest, value) => Math.max(largest, Math.abs(value)), 1);

function drawBars(page) {
  const { bench } = page, { D, H } = bench;
  const wanted = byId("search").value.trim().toLocaleLowerCase();
  const apart = byId("ranking").value === "apart";
  const matching = bench.columns.shown.slice(0, D).map((_, d) => d).filter((d) => !wanted || bench.columns.shown[d].toLocaleLowerCase().includes(wanted));
  const largest = largestOf(H);
  page.cards.forEach((card, k) => {
    const rank = (d) => (apart ? H[k * D + d] - otherMean(bench, k, d) : Math.abs(H[k * D + d]));
    const list = card.querySelector(".bars");
    if (bench.grid && !wanted) { list.replaceChildren(); return; }
    const best = matching.map((d) => [rank(d), d]).sort((a, b) => b[0] - a[0]).slice(0, N_BARS);
    list.replaceChildren(...best.map(([, d]) => {
      const value = H[k * D + d];
      return element("li", {},
        element("span", { className: "label", title: bench.columns.shown[d] }, named(bench.columns.shown[d])),
        track([[Math.abs(value) / largest, value < 0 ? "var(--below)" : colourOf(bench, k)]]),
        element("span", { className: "value" }, twoDigits(value)));
    }));
    if (!best.length) list.append(element("li", {}, "no attribute matches"));
  });
}

function drawImages(page) {
  const { bench } = page;
  if (!bench.grid) return;
  const [high, wide] = bench.grid, shades = ramp(styleColour("--zero"), styleColour("--one"));
  const largest = largestOf(bench.H);
  page.cards.forEach((card, k) => paint(card.querySelector("canvas"), wide, high, (i) => shades[Math.round((255 * Math.abs(bench.H[k * bench.D + i])) / largest)]));
}
