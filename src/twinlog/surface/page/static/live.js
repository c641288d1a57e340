// Numbers as the service tells them, and the truth about how old they are.
import { ago, clock, known, shown, write } from "./words.js";

const QUIET_MS = 10_000; // after this long without news the service is asked whether it lives
const AGAIN_MS = 3_000;
const tones = { RUNNING: "good", CATCHING_UP: "warn", STOPPED: "idle", SWITCHED: "idle", LOOKING: "idle" };
const at = (link, path) => path.split(".").reduce((value, part) => value?.[part], link);
const title = document.title;
// A link that was switched away has nothing to lose and nothing to catch up with.
const moot = new Set(["rpo.age_seconds", "rpo.records", "rpo.bytes", "lag_records"]);

export class Live {
  constructor(charts) {
    this.charts = charts;
    this.heard = 0;
    this.answered = Date.now();
    this.gone = false;
    this.paused = false;
    this.seen = new Map(); // when each link was last looked at without trouble
  }

  begin() {
    this.words = document.getElementById("live-words");
    this.dot = document.querySelector("#live .dot");
    this.banner = document.getElementById("gone");
    this.open();
    setInterval(() => this.watch(), 1000);
    addEventListener("pagehide", () => this.stream.close());
    document.getElementById("pause").addEventListener("click", () => this.pause());
  }

  open() {
    this.stream?.close();
    this.stream = new EventSource("/v1/stream");
    this.stream.addEventListener("links", (message) => this.hear(JSON.parse(message.data)));
    this.stream.addEventListener("event", (message) => { if (!this.paused && JSON.parse(message.data).kind !== "operation") this.charts.reload(); });
    this.stream.onerror = () => this.ask();
  }

  hear(links) {
    this.heard = this.answered = Date.now();
    if (this.gone) this.back();
    if (this.paused) return;
    show(links, this.seen);
    this.follow(links);
    this.charts.push(links);
    this.say("live", "good");
  }

  // A state that changed is told everywhere at once: two answers on one page are worse than an old one.
  follow(links) {
    const now = JSON.stringify(links.map((link) => [link.link, link.state, link.reason, link.faults, link.active, link.switch_open]));
    if (this.states && this.states !== now) for (const part of document.querySelectorAll("[data-follows]")) htmx.trigger(part, "refresh");
    this.states = now;
  }

  say(text, tone) {
    write(this.words, text);
    this.dot.className = `dot ${tone}`;
  }

  pause() {
    this.paused = !this.paused;
    const button = document.getElementById("pause");
    button.setAttribute("aria-pressed", String(this.paused));
    write(button, this.paused ? "Unfreeze view" : "Freeze view");
    if (this.paused) this.say(`paused at ${clock(Date.now())}`, "warn");
    else { this.say("connecting", "idle"); this.charts.reload(); this.open(); }
  }

  // A stream can hang without an error: the process is frozen, the network lost its memory.
  watch() {
    if (this.gone) this.tell();
    if (Date.now() - Math.max(this.heard, this.answered) > QUIET_MS) this.ask();
  }

  async ask() {
    if (this.asking) return;
    this.asking = true;
    let status = 0;
    try {
      status = (await fetch("/livez", { cache: "no-store", signal: AbortSignal.timeout(4000) })).status;
    } catch { /* no answer is the answer */ }
    if (status === 200) {
      this.answered = Date.now();
      if (this.stream.readyState === EventSource.CLOSED) this.open();
      if (!this.gone && !this.paused && this.heard && Date.now() - this.heard > QUIET_MS) this.say(`no look at the links for ${ago(this.heard).replace(" ago", "")}`, "warn");
    } else {
      this.gone = true;
      document.body.classList.add("stale");
      this.say("not live", "bad");
      this.tell();
    }
    setTimeout(() => { this.asking = false; if (this.gone) this.ask(); }, AGAIN_MS);
    if (this.gone && status === 200) this.open();
  }

  tell() {
    const since = this.heard ? ` What you see is from ${clock(this.heard)}, ${ago(this.heard)}: it may be wrong by now.` : "";
    write(this.banner, `The service does not answer.${since} Copying may still continue: \`twinlog status\` asks the clusters themselves.`.replaceAll("`", ""));
    this.banner.hidden = false;
  }

  back() {
    this.gone = false;
    this.banner.hidden = true;
    document.body.classList.remove("stale");
    this.charts.reload();
  }
}

function show(links, seen) {
  const byName = new Map(links.map((link) => [link.link, link]));
  for (const element of document.querySelectorAll("[data-live][data-link]")) {
    const link = byName.get(element.dataset.link);
    if (!link) continue;
    if (element.dataset.live === "state") {
      const state = link.looked_ms ? link.state : "LOOKING";
      write(element, state);
      element.className = `badge ${tones[state] ?? "bad"}`;
    } else write(element, link.state === "SWITCHED" && moot.has(element.dataset.live) ? "–" : shown(element.dataset.as, at(link, element.dataset.live)));
    if (element.dataset.live === "faults") {
      element.closest(".number")?.classList.toggle("bad", link.faults > 0);
      if (element.matches(".count")) element.hidden = !link.faults;
    }
  }
  for (const element of document.querySelectorAll("[data-open]")) element.hidden = !byName.get(element.dataset.open)?.switch_open;
  for (const element of document.querySelectorAll("[data-kept]")) {
    const kept = byName.get(element.dataset.kept)?.rpo?.kept;
    element.classList.toggle("good", kept === "kept");
    element.classList.toggle("bad", kept === "broken");
  }
  for (const element of document.querySelectorAll("[data-reason]")) reason(element, byName.get(element.dataset.reason), seen);
  totals(links);
  const bad = links.some((link) => link.looked_ms && !tones[link.state]);
  document.title = bad ? `✕ ${title}` : title;
}

function reason(element, link, seen) {
  if (!link) return;
  element.hidden = !link.reason || !link.looked_ms;
  element.className = tones[link.state] ? "note" : "alarm";
  write(element.querySelector(".why"), link.reason.replaceAll("`", ""));
  if (!link.trouble) seen.set(link.link, link.looked_ms);
  const from = link.trouble && link.state !== "SWITCHED" && seen.get(link.link);
  // What the server wrote at first is better than nothing.
  if (!link.trouble || from || link.state === "SWITCHED") write(element.querySelector(".remedy"), `${link.remedy}${from ? ` The numbers below are from ${clock(from)}.` : ""}`.replaceAll("`", ""));
}

function totals(every) {
  const links = every.filter((link) => link.state !== "SWITCHED");
  const all = (pick) => links.map(pick).filter(known);
  const sum = (values, complete) => (complete && values.length < links.length ? null : values.reduce((a, b) => a + b, 0));
  const risks = all((link) => link.rpo?.age_seconds);
  const latencies = all((link) => link.copied_p99_ms);
  const rates = all((link) => link.records_per_second);
  const bytes = all((link) => link.bytes_per_second);
  const found = {
    rpo: risks.length === links.length && links.length ? Math.max(...risks) : null,
    lag: links.length ? sum(all((link) => link.lag_records), true) : null,
    throughput: rates.length ? sum(rates) : null,
    bytes: bytes.length ? sum(bytes) : null,
    latency: latencies.length ? Math.max(...latencies) : null,
    faults: sum(every.map((link) => link.faults)),
  };
  for (const element of document.querySelectorAll("[data-live]:not([data-link])")) {
    const idle = !links.length && every.length && element.dataset.live !== "faults";
    write(element, idle ? "–" : shown(element.dataset.as, found[element.dataset.live]));
  }
}
