// What moves on the page: numbers from the stream, charts, forms that act. No inline code, no eval: the policy forbids both.
import { Charts } from "./charts.js";

const unknown = "unknown";
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });

const plain = (value) => (value >= 100 || Number.isInteger(value) ? whole : fine).format(value);
const size = (value) => {
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (Math.abs(value) < 1000) return `${unit === "B" ? whole.format(value) : fine.format(value)} ${unit}`;
    value /= 1000;
  }
  return `${fine.format(value)} TB`;
};
const duration = (seconds) => {
  if (seconds < 120) return `${seconds < 10 ? fine.format(seconds) : whole.format(seconds)} s`;
  if (seconds < 7200) return `${whole.format(seconds / 60)} min`;
  return seconds < 172800 ? `${whole.format(seconds / 3600)} h` : `${whole.format(seconds / 86400)} days`;
};
const forms = {
  count: plain, duration, bytes_rate: (v) => `${size(v)}/s`, rate: (v) => `${whole.format(v)}/s`, ms: (v) => `${whole.format(v)} ms`,
};
const tones = { RUNNING: "good", CATCHING_UP: "warn", STOPPED: "idle", SWITCHED: "idle" };
const write = (element, text) => { if (element.textContent !== text) element.textContent = text; };
const shown = (as, value) => (value === null || value === undefined ? unknown : (forms[as] ?? String)(value));

function show(links) {
  const byName = new Map(links.map((link) => [link.link, link]));
  for (const element of document.querySelectorAll("[data-live][data-link]")) {
    const link = byName.get(element.dataset.link);
    if (!link) continue;
    const value = link[element.dataset.live];
    if (element.dataset.live === "state") {
      write(element, value);
      element.className = `badge ${tones[value] ?? "bad"}`;
    } else write(element, shown(element.dataset.as, value));
  }
  const known = (pick) => links.map(pick).filter((value) => value !== null && value !== undefined);
  const sum = (values, all) => (all && values.length < links.length ? null : values.reduce((a, b) => a + b, 0));
  const risks = known((link) => link.rpo?.seconds);
  const latencies = known((link) => link.latency_ms);
  const totals = {
    rpo: risks.length === links.length && links.length ? Math.max(...risks) : null,
    lag: sum(known((link) => link.lag_records), true),
    throughput: sum(known((link) => link.records_per_second)),
    bytes: sum(known((link) => link.bytes_per_second)),
    latency: latencies.length ? Math.max(...latencies) : null,
    faults: sum(links.map((link) => link.faults)),
  };
  for (const element of document.querySelectorAll("[data-live]:not([data-link])")) {
    write(element, shown(element.dataset.as, totals[element.dataset.live]));
  }
}

const charts = new Charts(shown);
let told = 0;

function listen() {
  const stream = new EventSource("/v1/stream");
  const words = document.getElementById("live-words");
  const dot = document.querySelector("#live .dot");
  const say = (text, tone) => { write(words, text); dot.className = `dot ${tone}`; };
  stream.addEventListener("links", (message) => {
    const links = JSON.parse(message.data);
    told = Date.now();
    show(links);
    charts.push(links);
    say("live", "good");
  });
  stream.addEventListener("event", (message) => { if (JSON.parse(message.data).kind !== "operation") charts.reload(); });
  stream.onerror = () => say(told ? `not live: last heard at ${new Date(told).toLocaleTimeString()}` : "not live: the service does not answer", "bad");
  addEventListener("pagehide", () => stream.close());
}

// A form that acts: the same key for the same press, so that a repeated request begins nothing twice.
async function act(form, body) {
  const said = form.querySelector(".said");
  const button = form.querySelector("button");
  form.dataset.key ??= crypto.randomUUID ? crypto.randomUUID() : Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
  button.disabled = true;
  try {
    const answer = await fetch(form.dataset.post, {
      method: "POST", headers: { "Content-Type": "application/json", "Idempotency-Key": form.dataset.key }, body: JSON.stringify(body),
    });
    const told = await answer.json();
    if (answer.status === 202) { location.assign(`/ui/operations/${told.id}`); return; }
    delete form.dataset.key;
    const why = told.message ?? (Array.isArray(told.detail) ? told.detail.map((one) => one.msg).join("; ") : `refused (${answer.status})`);
    if (said) write(said, `${why} ${told.remedy ?? ""}`);
  } catch {
    if (said) write(said, "The service does not answer. Pressing again is safe: it begins nothing twice.");
  }
  button.disabled = false;
}

document.addEventListener("input", (event) => {
  const form = event.target.closest?.("form.confirm");
  if (form) form.querySelector("button").disabled = event.target.value.trim() !== form.dataset.confirm;
  if (event.target.matches?.("[data-filters]")) {
    const needle = event.target.value.toLowerCase();
    for (const row of document.querySelectorAll(`${event.target.dataset.filters} tbody tr`)) {
      row.hidden = !row.textContent.toLowerCase().includes(needle);
    }
  }
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.matches(".confirm")) {
    event.preventDefault();
    const body = { confirm: form.elements.confirm.value.trim() };
    if (form.dataset.command) body.command = form.dataset.command;
    act(form, body);
  } else if (form.matches(".act")) {
    event.preventDefault();
    const body = {};
    for (const field of form.querySelectorAll("input, select")) {
      if (field.value.trim()) body[field.name] = "number" in field.dataset ? Number(field.value) : field.value.trim();
    }
    act(form, body);
  } else if (form.matches("form[hx-get], form[role=search]")) {
    event.preventDefault(); // Enter in a filter: the rows are there already
  }
});

function theme() {
  const button = document.getElementById("theme");
  const dark = () => document.documentElement.dataset.theme === "dark" || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  const name = () => write(button, dark() ? "Light" : "Dark");
  button.addEventListener("click", () => {
    const next = dark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    try { localStorage.setItem("twinlog-theme", next); } catch { /* nothing is kept; the click still counts */ }
    name();
    charts.draw();
  });
  name();
}

theme();
charts.begin();
listen();
