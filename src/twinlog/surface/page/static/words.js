// Numbers and times as people read them; the same rules as words.py. Unknown values are shown as unknown, never as 0.
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });
const offset = Number(document.documentElement.dataset.offsetMinutes ?? 0) * 60_000;

const count = (value) => (value >= 100 || Number.isInteger(value) ? whole : fine).format(value);
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
const rate = (value) => `${whole.format(value)}/s`;
const ms = (value) => (value >= 1000 ? duration(value / 1000) : `${(value < 10 ? fine : whole).format(value)} ms`);
const waits = "records not copied yet";
const forms = { count, size, duration, rate, bytes_rate: (v) => `${size(v)}/s`, ms, catch_up: (v) => (v ? `caught up in ${duration(v)}` : waits) };

const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

// For the side of a chart, where there is little room.
export const brief = (as, value) => (as === "count" ? compact.format(value) : as === "rate" ? `${compact.format(value)}/s` : shown(as, value));
export const known = (value) => value !== null && value !== undefined;
const things = (as, value) => `${known(value) ? count(value) : "unknown"} ${as.slice(2)}${value === 1 ? "" : "s"}`; // n:record
export const shown = (as, value) => as.startsWith("n:") ? things(as, value) : (known(value) ? (forms[as] ?? String)(value) : as === "catch_up" ? waits : "unknown");
// The server's zone, as everywhere on the page, whatever the browser's is.
export const clock = (ms, seconds = true) => new Date(ms + offset).toISOString().slice(11, seconds ? 19 : 16);
export const day = (ms) => new Date(ms + offset).toISOString().slice(5, 10);
export const ago = (ms) => `${duration(Math.max(0, Math.round((Date.now() - ms) / 1000)))} ago`;
export const write = (element, text) => { if (element.textContent !== text) element.textContent = text; };
