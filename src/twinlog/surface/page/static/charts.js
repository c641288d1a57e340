// The charts: an hour of history once, then every look as it comes. Bands are stretches with faults and switches.
const HOUR = 3600;
const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString("en-GB");

export class Charts {
  constructor(shown) {
    this.shown = shown;
    this.figures = [...document.querySelectorAll("figure[data-chart]")];
    this.links = [...new Set(this.figures.flatMap((figure) => figure.dataset.links.split(" ").filter(Boolean)))];
    this.history = new Map();
    this.bands = [];
    this.plots = [];
  }

  async begin() {
    if (!this.figures.length || !this.links.length) return;
    await this.reload();
    addEventListener("resize", () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  async reload() {
    if (!this.figures.length) return;
    const found = await Promise.all(this.links.map(async (link) => {
      try {
        const answer = await fetch(`/v1/links/${encodeURIComponent(link)}/history`);
        return answer.ok ? await answer.json() : null;
      } catch { return null; }
    }));
    this.bands = [];
    found.forEach((history, place) => {
      if (!history) return;
      this.history.set(this.links[place], history.samples);
      this.bands.push(...history.bands);
    });
    this.draw();
  }

  push(links) {
    if (!this.plots.length) return;
    for (const link of links) {
      const samples = this.history.get(link.link);
      if (!samples || !link.looked_ms || samples.at(-1)?.at_ms >= link.looked_ms) continue;
      samples.push({ ...link, at_ms: link.looked_ms, rpo_seconds: link.rpo?.seconds ?? null });
      while (samples[0].at_ms < link.looked_ms - HOUR * 1000) samples.shift();
    }
    for (const one of this.plots) {
      one.plot.setData(this.data(one.metric, one.links));
      this.tell(one);
    }
  }

  data(metric, links) {
    const series = links.map((link) => (this.history.get(link) ?? []).map((s) => [s.at_ms / 1000, s[metric] ?? null]));
    return uPlot.join(series.map((points) => [points.map((p) => p[0]), points.map((p) => p[1])]), series.map((points) => [[], points.map(() => 1)].slice(0, 2)));
  }

  tell(one) {
    const last = one.links.map((link) => this.history.get(link)?.at(-1)?.[one.metric]).filter((v) => v !== null && v !== undefined);
    const text = last.length ? `${this.shown("count", Math.max(...last))}${one.unit}` : "unknown";
    if (one.output.textContent !== text) one.output.textContent = text;
    one.place.setAttribute("aria-label", `${one.title}, last hour; now ${text}`);
  }

  draw() {
    for (const one of this.plots) one.plot.destroy();
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    this.plots = this.figures.map((figure) => this.plot(figure, colour));
    for (const one of this.plots) this.tell(one);
    this.key(colour);
  }

  plot(figure, colour) {
    const place = figure.querySelector(".plot");
    const caption = figure.querySelector("figcaption");
    let output = caption.querySelector("output");
    const title = output ? caption.firstChild.textContent : caption.textContent;
    if (!output) { output = document.createElement("output"); caption.append(output); }
    const links = figure.dataset.links.split(" ").filter(Boolean);
    const metric = figure.dataset.chart;
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") }, font: "12px system-ui" };
    const plot = new uPlot({
      width: Math.max(200, place.clientWidth), height: 170, legend: { show: false }, cursor: { points: { size: 6 } },
      scales: { y: { range: (_, low, high) => [0, Math.max(1, (high ?? 1) * 1.15)] } },
      axes: [{ ...axis, space: 80, size: 34, values: (_, ticks) => ticks.map(clock) }, { ...axis, size: 62, values: (_, ticks) => ticks.map((t) => this.shown("count", t)) }],
      series: [{}, ...links.map((link) => ({ label: link, stroke: colour(this.shade(link)), width: 2, points: { show: false }, spanGaps: false }))],
      hooks: { drawClear: [(u) => this.shadeBands(u, colour)] },
    }, this.data(metric, links), place);
    return { plot, metric, links, place, output, title, unit: figure.dataset.unit };
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

  key() {
    const legend = document.getElementById("legend");
    if (!legend) return;
    const ns = "http://www.w3.org/2000/svg";
    legend.replaceChildren(...this.links.map((link) => {
      const one = document.createElement("span");
      one.className = "key";
      const svg = document.createElementNS(ns, "svg");
      svg.setAttribute("aria-hidden", "true");
      svg.setAttribute("viewBox", "0 0 18 6");
      const line = document.createElementNS(ns, "rect");
      line.setAttribute("width", "18"); line.setAttribute("height", "4"); line.setAttribute("y", "1");
      line.setAttribute("fill", `var(${this.shade(link)})`);
      svg.append(line);
      one.append(svg, link);
      return one;
    }));
  }
}
