// Parts of the page that are fetched again must not disturb whoever reads them: scrolling, focus and marked text stay.
const polls = (element) => element.getAttribute("hx-trigger")?.startsWith("every ");

function keep(target) {
  const active = target.contains(document.activeElement) ? document.activeElement : null;
  return {
    target,
    scrolled: [...target.querySelectorAll(".scroll")].map((one) => one.scrollLeft),
    open: [...target.querySelectorAll("details")].map((one) => one.open),
    href: active?.getAttribute("href"),
    label: active?.getAttribute("aria-label"),
  };
}

function restore({ target, scrolled, open, href, label }) {
  target.querySelectorAll(".scroll").forEach((one, place) => { one.scrollLeft = scrolled[place] ?? 0; });
  target.querySelectorAll("details").forEach((one, place) => { if (place in open) one.open = open[place]; });
  const same = (one) => (href && one.getAttribute("href") === href) || (label && one.getAttribute("aria-label") === label);
  if (href || label) [...target.querySelectorAll("a, [tabindex]")].find(same)?.focus({ preventScroll: true });
}

// On a telephone a row is a card, and each cell carries its column's title; the roles keep it a table for readers.
function title(within) {
  for (const table of within.querySelectorAll("table")) {
    const titles = [...table.querySelectorAll("thead th")].map((one) => one.textContent.replace(/[↑↓]/u, "").trim());
    table.setAttribute("role", "table");
    for (const part of table.querySelectorAll("thead, tbody")) part.setAttribute("role", "rowgroup");
    for (const row of table.rows) {
      row.setAttribute("role", "row");
      [...row.cells].forEach((cell, place) => {
        const heads = cell.tagName === "TH";
        cell.setAttribute("role", heads ? (cell.scope === "col" ? "columnheader" : "rowheader") : "cell");
        if (!heads && cell.colSpan === 1) cell.dataset.label = titles[place] ?? "";
      });
    }
  }
}

export function beginSwaps(live) {
  let kept = null;
  let opened = [];
  document.body.addEventListener("htmx:oobBeforeSwap", () => { opened = [...document.querySelectorAll("details[id]")].map((one) => [one.id, one.open]); });
  document.body.addEventListener("htmx:oobAfterSwap", () => {
    for (const [id, open] of opened) { const one = document.getElementById(id); if (one) one.open = open; }
    title(document);
  });
  title(document);
  document.body.addEventListener("htmx:beforeRequest", (event) => {
    if (polls(event.detail.elt) && (live.paused || document.hidden)) event.preventDefault();
  });
  const failed = (says) => (event) => {
    if (polls(event.detail.elt)) return; // what was there is still there, and the banner tells of a service that is gone
    const told = document.createElement("p");
    told.className = "alarm";
    told.setAttribute("role", "alert");
    told.textContent = says;
    event.detail.target.replaceChildren(told);
  };
  document.body.addEventListener("htmx:responseError", failed("The service could not answer this; its log says why. Reload the page to ask again."));
  document.body.addEventListener("htmx:sendError", failed("The service does not answer. Reload the page to ask again."));
  document.body.addEventListener("htmx:configRequest", (event) => {
    const form = event.detail.elt;
    if (!form.matches("form.filters")) return;
    // What is filtered can be reloaded, and sent to a colleague.
    const wanted = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
    history.replaceState(null, "", `${location.pathname}${wanted.size ? `?${wanted}` : ""}`);
  });
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    const marked = getSelection();
    const reading = polls(event.detail.elt) && marked && !marked.isCollapsed && event.detail.target.contains(marked.anchorNode);
    const typing = polls(event.detail.elt) && document.activeElement?.matches("input, textarea") && event.detail.target.contains(document.activeElement);
    if (reading || typing) event.detail.shouldSwap = false;
    kept = keep(event.detail.target);
  });
  document.body.addEventListener("htmx:afterSwap", (event) => {
    title(event.detail.target);
    if (kept) restore(kept);
    kept = null;
  });
}
