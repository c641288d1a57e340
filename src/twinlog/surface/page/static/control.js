// Orders to a running link: limits, topics that come first, pauses. The service decides; a form only asks.
import { write } from "./words.js";

const refresh = () => { if (document.querySelector("#control > div")) window.htmx.trigger("#control > div", "refresh"); };

// The answer shows the service's last look at the link; the order is in the next one.
const again = () => { for (const ms of [0, 1000, 2500]) setTimeout(refresh, ms); };

async function patch(address, body, said) {
  try {
    const answer = await fetch(address, {
      method: "PATCH",
      headers: { "Content-Type": "application/json", "X-Twinlog-CSRF": document.documentElement.dataset.csrf ?? "" },
      body: JSON.stringify(body),
    });
    const told = await answer.json();
    if (answer.ok) {
      write(said, body.dry_run ? `It would cost: ${told.cost.says}.` : told.changed ? "Ordered; the link follows within seconds." : "As before; nothing was changed.");
      again();
    } else {
      const why = told.message ?? (Array.isArray(told.detail) ? told.detail.map((problem) => problem.msg).join("; ") : `refused (${answer.status})`);
      write(said, `${why} ${told.remedy ?? ""}`.replaceAll("`", ""));
    }
  } catch {
    write(said, "The service does not answer. Nothing was ordered, or it is not known.");
  }
}

function wish(form) {
  if (form.elements.topic) {
    const place = { topic: form.elements.topic.value.trim() };
    if (form.elements.partition.value.trim()) place.partition = Number(form.elements.partition.value);
    return { pause: [place] };
  }
  const body = {};
  for (const field of form.querySelectorAll("input")) {
    const text = field.value.trim();
    if ("number" in field.dataset) body[field.name] = text === "" ? null : Number(text);
    else if ("list" in field.dataset) body[field.name] = text === "" ? null : text === "-" ? [] : text.split(",").map((word) => word.trim()).filter(Boolean);
    else body[field.name] = text;
  }
  return body;
}

export function beginControl() {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form.order")) return;
    event.preventDefault();
    const body = wish(form);
    if (body.pause && !window.confirm(`Stop copying ${body.pause[0].topic}? A failover would lose what is not copied.`)) return;
    patch(form.dataset.patch, body, form.querySelector(".said"));
  });
  document.addEventListener("click", (event) => {
    const cost = event.target.closest?.("[data-cost]");
    if (cost) patch(cost.form.dataset.patch, { ...wish(cost.form), dry_run: true }, cost.form.querySelector(".said"));
    const resume = event.target.closest?.("[data-resume]");
    const hold = event.target.closest?.("[data-hold]");
    const button = resume ?? hold;
    if (!button) return;
    const place = { topic: button.dataset.topic };
    if (button.dataset.partition) place.partition = Number(button.dataset.partition);
    if (hold && !window.confirm(`Stop copying ${place.topic}? A failover would lose what is not copied.`)) return;
    const said = button.parentElement.querySelector(".said") ?? document.querySelector("form.order .said");
    patch(button.dataset.resume ?? button.dataset.hold, resume ? { resume: [place] } : { pause: [place] }, said);
  });
}
