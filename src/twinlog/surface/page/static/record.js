// One record and its copy, next to each other. Everything is written as text: producers wrote it.
import { clock, write } from "./words.js";

const make = (name, text, className) => {
  const one = document.createElement(name);
  if (text !== undefined) one.textContent = text;
  if (className) one.className = className;
  return one;
};

function payload(title, data) {
  const part = make("div");
  part.append(make("h4", `${title}: ${data.form}${data.size === null ? "" : `, ${data.size} bytes`}${data.whole ? "" : ", the beginning"}`));
  if (data.text && data.form !== "null") part.append(make("pre", data.text));
  if (data.hex) {
    const more = make("details");
    more.append(make("summary", "Bytes"), make("pre", data.hex));
    part.append(more);
  }
  return part;
}

function side(title, record) {
  const card = make("section", undefined, "card");
  card.setAttribute("aria-label", title);
  card.append(make("h3", title));
  card.append(make("p", `${record.topic}, partition ${record.partition}, offset ${record.offset}, ${new Date(record.timestamp_ms).toISOString()}`, "hint"));
  card.append(payload("Key", record.key), payload("Value", record.value));
  for (const [name, value] of record.headers) card.append(make("p", `Header ${name}: ${value}`, "hint"));
  return card;
}

async function show(form) {
  const said = form.querySelector(".said");
  const place = document.querySelector(".pair");
  const wish = new URLSearchParams({ topic: form.dataset.topic, partition: form.elements.partition.value, offset: form.elements.offset.value });
  write(said, "Both clusters are asked.");
  try {
    const answer = await fetch(`${form.dataset.record}?${wish}`);
    const told = await answer.json();
    if (!answer.ok) {
      place.hidden = true;
      write(said, `${told.message ?? `refused (${answer.status})`} ${told.remedy ?? ""}`.replaceAll("`", ""));
      return;
    }
    const verdict = told.equal === null ? told.missing : told.equal ? "Equal: key, value, headers and time." : "Not equal.";
    write(said, `${clock(Date.now())}: ${verdict}`);
    place.replaceChildren(side("Source", told.source), ...(told.target ? [side("Copy", told.target)] : []));
    place.hidden = false;
  } catch {
    write(said, "The service does not answer.");
  }
}

export function beginRecord() {
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form.record")) return;
    event.preventDefault();
    show(event.target);
  });
}
