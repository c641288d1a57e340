// The charts: an hour of history once, then every look as it comes. Bands are stretches with faults and switches.
import { brief, clock, day, known, shown } from "./words.js";

const HOUR = 3600;
const LEAST = 300; // a service that has just begun shows five minutes, not two seconds stretched over the screen
const NAMED = 8; // links that a legend has room for

export class Charts {
  constructor() {
    this.figures = [...document.querySelectorAll("figure[data-chart]")];
    this.links = [...new Set(this.figures.flatMap((figure) => figure.dataset.links.split(" ").filter(Boolean)))];
    this.history = new Map();
    this.bands = [];
    this.plots = [];
    this.hours = 1;
  }

  async begin() {
    if (!this.figures.length || !this.links.length) return;
    await this.reload();
    const range = document.getElementById("range");
    range?.addEventListener("change", () => { this.hours = Number(range.value); this.reload(); });
    setInterval(() => { if (this.hours > 1 && !document.hidden) this.reload(); }, 60_000);
    addEventListener("resize", () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  async reload() {
    if (!this.figures.length) return;
    const histories = await Promise.all(this.links.map(async (link) => {
      try {
        const answer = await fetch(`/v1/links/${encodeURIComponent(link)}/history?hours=${this.hours}`);
        return answer.ok ? await answer.json() : null;
      } catch { return null; } // the banner tells that nobody answers
    }));
    this.bands = [];
    histories.forEach((history, place) => {
      if (!history) return;
      this.history.set(this.links[place], history.samples);
      this.bands.push(...history.bands);
    });
    this.draw();
  }

  push(links) {
    if (!this.plots.length || this.hours > 1) return;
    for (const link of links) {
      const samples = this.history.get(link.link);
      if (!samples || !link.looked_ms || link.trouble || samples.at(-1)?.at_ms >= link.looked_ms) continue;
      samples.push({ ...link, at_ms: link.looked_ms, rpo_seconds: link.rpo?.age_seconds ?? null });
      while (samples[0].at_ms < link.looked_ms - HOUR * 1000) samples.shift();
    }
    for (const chart of this.plots) {
      chart.plot.setData(this.data(chart.metric, chart.links));
      this.tell(chart);
    }
  }

  data(metric, links) {
    const series = links.map((link) => (this.history.get(link) ?? []).map((s) => [s.at_ms / 1000, pick(s, metric)]));
    return uPlot.join(series.map((points) => [points.map((p) => p[0]), points.map((p) => p[1])]), series.map((points) => [[], points.map(() => 1)].slice(0, 2)));
  }

  // The newest numbers, or those under the pointer.
  tell(chart) {
    const { plot, metric, links, as } = chart;
    const place = plot.cursor.idx;
    const pointed = known(place) && known(plot.data[0][place]);
    const values = links.map((link, number) => (pointed ? plot.data[number + 1][place] : pick(this.history.get(link)?.at(-1), metric)));
    const there = values.filter(known);
    const sums = as === "rate";
    const total = there.length ? (sums ? there.reduce((a, b) => a + b, 0) : Math.max(...there)) : null;
    const word = links.length < 2 ? "" : sums ? "in all " : "worst ";
    const when = pointed ? `${clock(plot.data[0][place] * 1000)} · ` : "";
    const text = `${when}${word}${shown(as, total)}`;
    if (chart.output.textContent !== text) chart.output.textContent = text;
    if (!pointed) chart.place.setAttribute("aria-label", `${chart.title}, ${this.hours > 1 ? `last ${this.hours} hours` : "last hour"}; now ${word}${shown(as, total)}`);
    this.key(chart, values, pointed ? plot.data[0][place] * 1000 : null);
  }

  draw() {
    for (const chart of this.plots) chart.plot.destroy();
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    this.plots = [];
    for (const figure of this.figures) this.plots.push(this.plot(figure, colour));
    for (const chart of this.plots) this.tell(chart);
  }

  plot(figure, colour) {
    const place = figure.querySelector(".plot");
    const links = figure.dataset.links.split(" ").filter(Boolean);
    const { chart: metric, as } = figure.dataset;
    const chart = { metric, links, as, place, output: figure.querySelector("output"), legend: figure.querySelector(".legend"), title: figure.querySelector(".chart-title").textContent };
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), size: 5 }, font: "11px system-ui" };
    chart.plot = new uPlot({
      width: Math.max(120, place.clientWidth), height: place.clientHeight, legend: { show: false }, cursor: { points: { size: 6 }, drag: { x: false, y: false }, sync: { key: "charts" } },
      scales: {
        x: { range: (_, low, high) => [Math.min(low ?? 0, (high ?? 0) - LEAST), high ?? LEAST] },
        y: { range: (_, low, high) => [0, Math.max(1, (high ?? 1) * 1.15)] },
      },
      axes: [
        { ...axis, space: 56, size: 28, values: (_, ticks) => ticks.map((t) => (ticks[1] - ticks[0] >= 43_200 ? day(t * 1000) : clock(t * 1000, ticks[1] - ticks[0] < 60))) },
        { ...axis, space: 34, size: place.clientWidth < 240 ? 46 : 58, values: (_, ticks) => ticks.map((t) => brief(as, t)) },
      ],
      series: [{}, ...links.map((link) => ({ label: link, stroke: colour(this.shade(link)), width: 2, points: { show: false }, spanGaps: false }))],
      hooks: { drawClear: [(u) => this.shadeBands(u, colour)], setCursor: [() => { if (chart.plot) this.tell(chart); }] },
    }, this.data(metric, links), place);
    return chart;
  }

  shade(link) { return `--c${(this.links.indexOf(link) % 6) + 1}`; }

  shadeBands(u, colour) {
    const { left, top, width, height } = u.bbox;
    for (const band of this.bands) {
      const from = Math.max(left, u.valToPos(band.from_ms / 1000, "x", true));
      const until = Math.min(left + width, band.until_ms === null ? left + width : u.valToPos(band.until_ms / 1000, "x", true));
      if (!(until > from)) continue;
      // A faint ground for the time, a strong strip for the eye: lines stay readable through an hour of trouble.
      const wide = Math.max(3, until - from);
      u.ctx.fillStyle = colour(band.kind === "switch" ? "--band-switch" : "--band-fault");
      u.ctx.globalAlpha = 0.07;
      u.ctx.fillRect(from, top, wide, height);
      u.ctx.globalAlpha = 0.85;
      u.ctx.fillRect(from, top, wide, 4 * devicePixelRatio);
      u.ctx.globalAlpha = 1;
    }
  }

  // Which line is which link, with its number; and what a band under the pointer is.
  key({ legend, links, as }, values, at) {
    const keys = links.length < 2 ? [] : links.slice(0, NAMED).map((link, place) => [this.shade(link), `${link} ${shown(as, values[place])}`]);
    if (links.length > NAMED) keys.push(["--soft", `and ${links.length - NAMED} more`]);
    for (const band of at === null ? [] : this.bands) {
      if (band.from_ms <= at && (band.until_ms ?? at) >= at) keys.push([band.kind === "switch" ? "--band-switch" : "--band-fault", `${band.kind} ${band.thing}`]);
    }
    while (legend.children.length > keys.length) legend.lastChild.remove();
    while (legend.children.length < keys.length) legend.append(swatch());
    keys.forEach(([shade, text], place) => {
      const entry = legend.children[place];
      entry.firstChild.firstChild.setAttribute("fill", `var(${shade})`);
      if (entry.lastChild.textContent !== text) entry.lastChild.textContent = text;
    });
  }
}

// A link that was switched away has nothing to lose and nothing to catch up with.
function pick(sample, metric) {
  const moot = sample?.state === "SWITCHED" && (metric === "rpo_seconds" || metric === "lag_records");
  return moot ? null : sample?.[metric] ?? null;
}

function swatch() {
  const ns = "http://www.w3.org/2000/svg";
  const entry = document.createElement("span");
  entry.className = "key";
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("viewBox", "0 0 18 6");
  const line = document.createElementNS(ns, "rect");
  line.setAttribute("width", "18"); line.setAttribute("height", "4"); line.setAttribute("y", "1");
  svg.append(line);
  entry.append(svg, document.createElement("span"));
  return entry;
}
