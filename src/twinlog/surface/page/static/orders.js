// Pause, resume, restart and stop of links and pipelines, through Kafka Connect's interface. A paused link is not looked at, so the
// list comes from the connectors, not from the links that are measured. The service decides; a button only asks.
import { write } from "./words.js";

const ORDERS = [
  ["pause", "PUT", "Pause", "Move no records until it is resumed?"],
  ["resume", "PUT", "Resume", ""],
  ["restart", "POST", "Restart", "Restart it? It continues at its positions."],
  ["stop", "PUT", "Stop", "Stop it until it is resumed?"],
];
const COPIES = /(MirrorSourceConnector|ReplicatorSourceConnector)$/;
const OF_LINKS = /(Mirror\w+|Replicator\w+)Connector$/; // sync jobs belong to their link
const EVERY_MS = 5000;

const kindOf = (name) => (COPIES.test(name) ? "link" : OF_LINKS.test(name) ? "sync job" : "pipeline");

const linkOf = (name, config) =>
  config["source.cluster.alias"] && config["target.cluster.alias"] ? `${config["source.cluster.alias"]}->${config["target.cluster.alias"]}` : name.replace(/\.MirrorSourceConnector$/, "");

// A switch holds a link without an order: Connect has no other word for it than PAUSED. The reason tells them apart.
const HELD = "RUNNING, held by a switch";
const ordered = (connector) => (connector.state === "PAUSED" && connector.trace ? HELD : connector.state);

function fits(order, state) {
  if (order === "resume") return state === "PAUSED" || state === "STOPPED";
  if (order === "pause" || order === "stop") return state !== "PAUSED" && state !== "STOPPED";
  return state !== "PAUSED" && state !== "STOPPED";
}

async function give(place, connector, [order, method, , question]) {
  const said = place.querySelector(".said");
  if (question && !window.confirm(`${connector}: ${question}`)) return;
  try {
    const answer = await fetch(`/connectors/${encodeURIComponent(connector)}/${order}`, {
      method, headers: { "X-Twinlog-CSRF": document.documentElement.dataset.csrf ?? "" },
    });
    if (answer.ok) write(said, `${connector}: ${order} was ordered.`);
    else write(said, (await answer.json()).message ?? `refused (${answer.status})`);
  } catch {
    write(said, "The service does not answer. Nothing was ordered, or it is not known.");
  }
  await draw(place);
}

function row(place, name, link, state) {
  const line = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  head.className = "name";
  head.textContent = link;
  const told = document.createElement("td");
  told.textContent = state;
  const cell = document.createElement("td");
  for (const order of ORDERS) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = order[2];
    button.setAttribute("aria-label", `${order[2]} ${link}`);
    button.disabled = "locked" in place.dataset || !fits(order[0], state);
    button.addEventListener("click", () => give(place, name, order));
    cell.append(button, " ");
  }
  line.append(head, told, cell);
  return line;
}

async function draw(place) {
  let found;
  try {
    const answer = await fetch("/connectors?expand=info&expand=status");
    if (!answer.ok) return;
    found = await answer.json();
  } catch {
    return; // the header says that the service does not answer
  }
  const rows = Object.entries(found)
    .filter(([, one]) => kindOf(one.info.config["connector.class"] ?? "") === place.dataset.orders)
    .map(([name, one]) => [name, linkOf(name, one.info.config), ordered(one.status.connector)])
    .filter(([, link]) => !place.dataset.link || place.dataset.link === link)
    .sort((a, b) => a[1].localeCompare(b[1]));
  place.querySelector("tbody").replaceChildren(...rows.map(([name, link, state]) => row(place, name, link, state)));
  place.hidden = rows.length === 0;
}

export function beginOrders() {
  for (const place of document.querySelectorAll("[data-orders]")) {
    draw(place);
    setInterval(() => { if (!document.hidden && !place.contains(document.activeElement)) draw(place); }, EVERY_MS);
  }
}
