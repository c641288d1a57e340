// Forms that act, through /v1, and filters. The service decides; a form only asks.
import { write } from "./words.js";

const key = () => (crypto.randomUUID ? crypto.randomUUID() : Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join(""));

// The same key for the same press, so that a repeated request begins nothing twice.
async function act(form, body) {
  const said = form.querySelector(".said");
  const button = form.querySelector("button");
  form.dataset.key ??= key();
  button.disabled = true;
  try {
    const answer = await fetch(form.dataset.post, {
      method: "POST", headers: { "Content-Type": "application/json", "Idempotency-Key": form.dataset.key, "X-Twinlog-CSRF": document.documentElement.dataset.csrf ?? "" }, body: JSON.stringify(body),
    });
    const told = await answer.json();
    if (answer.ok && form.dataset.refresh) {
      delete form.dataset.key;
      write(said, told.message);
      htmx.trigger(form.dataset.refresh, "refresh");
      return;
    }
    if (answer.status === 202) { location.assign(`/ui/operations/${told.id}`); return; }
    delete form.dataset.key;
    const why = told.message ?? (Array.isArray(told.detail) ? told.detail.map((problem) => problem.msg).join("; ") : `refused (${answer.status})`);
    write(said, `${why} ${told.remedy ?? ""}`.replaceAll("`", ""));
  } catch {
    write(said, "The service does not answer. Pressing again is safe: it begins nothing twice.");
  }
  button.disabled = false;
}

function filterRows(fields) {
  const text = fields.find((field) => field.matches("input"))?.value.toLowerCase() ?? "";
  const kind = fields.find((field) => field.matches("select"))?.value ?? "";
  for (const row of document.querySelectorAll(`${fields[0].dataset.filters} tbody tr`)) {
    row.hidden = !row.textContent.toLowerCase().includes(text) || (kind !== "" && row.dataset.kind !== kind);
  }
}

function onInput(event) {
  const form = event.target.closest?.("form.confirm");
  if (form) form.querySelector("button").disabled = event.target.value.trim() !== form.dataset.confirm;
  if (event.target.matches?.("[data-filters]")) filterRows([...event.target.form.querySelectorAll("[data-filters]")]);
}

function bodyOf(form) {
  const body = {};
  for (const field of form.querySelectorAll("input, select, textarea")) {
    if ("list" in field.dataset) body[field.name] = [field.value];
    else if (field.matches("textarea")) { if (field.value !== field.defaultValue) body[field.name] = field.value; }
    else if (field.value.trim()) body[field.name] = "number" in field.dataset ? Number(field.value) : field.value.trim();
  }
  return body;
}

function onSubmit(event) {
  const form = event.target;
  if (form.matches(".confirm")) {
    event.preventDefault();
    const body = { confirm: form.elements.confirm.value.trim() };
    if (form.dataset.command) body.command = form.dataset.command;
    act(form, body);
  } else if (form.matches(".act")) {
    event.preventDefault();
    if (form.dataset.sure && !window.confirm(form.dataset.sure)) return;
    act(form, bodyOf(form));
  } else if (form.matches("form[hx-get], form[role=search]")) {
    event.preventDefault(); // Enter in a filter: the rows are there already
  }
}

export function beginForms() {
  document.addEventListener("input", onInput);
  document.addEventListener("submit", onSubmit);
}
