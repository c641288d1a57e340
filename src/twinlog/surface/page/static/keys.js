// Theme and keys. Single keys can be switched off: who speaks to a computer, or slips, must not press them by accident.
import { write } from "./words.js";

const themes = ["auto", "light", "dark"];
const stored = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
const store = (name, value) => { try { localStorage.setItem(name, value); } catch { /* nothing is kept; the click still counts */ } };

export function beginTheme(redraw) {
  const button = document.getElementById("theme");
  const now = () => document.documentElement.dataset.theme ?? "auto";
  const tell = () => write(button, `Theme: ${now()}`);
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(now()) + 1) % themes.length];
    if (next === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    store("twinlog-theme", next);
    tell();
    redraw();
  });
  tell();
}

const press = (selector) => { const button = document.querySelector(selector); button?.click(); return Boolean(button); };
const keys = {
  "/": () => { const field = document.querySelector("main input[type=search]"); field?.focus(); return Boolean(field); },
  o: () => press(".top nav a[href='/ui/']"),
  l: () => press(".top nav a[href='/ui/pipelines']"),
  e: () => press(".top nav a[href='/ui/events']"),
  p: () => press("#pause"),
  t: () => press("#theme"),
  "?": () => press("#keys"),
};

export function beginKeys() {
  const dialog = document.getElementById("help");
  const on = document.getElementById("keys-on");
  on.checked = stored("twinlog-keys") !== "off";
  on.addEventListener("change", () => store("twinlog-keys", on.checked ? "on" : "off"));
  document.getElementById("keys").addEventListener("click", () => dialog.showModal());
  document.addEventListener("keydown", (event) => {
    if (!on.checked || event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    if (event.target.matches?.("input, select, textarea, [contenteditable]")) return;
    const tab = /^[1-9]$/.test(event.key) && document.querySelectorAll(".tabs a")[Number(event.key) - 1];
    if (tab ? (tab.click(), true) : keys[event.key]?.()) event.preventDefault();
  });
}
