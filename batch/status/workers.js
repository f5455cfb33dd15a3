// The table of workers, and the pauses of workers.
import { $, clean, element } from "./util.js";
import { may } from "./session.js";
import { ask } from "./actions.js";

let drawn = "";

const button = (label, verb, name) => {
  const b = element("button", "", label);
  b.type = "button";
  b.setAttribute("aria-label", verb + " the workers of " + name);
  b.addEventListener("click", () => ask("api/workers/" + encodeURIComponent(name) + "/" + verb, b));
  return b;
};

const row = (w, paused) => {
  const tr = element("tr");
  const sites = (w.any ? ["any"] : []).concat(w.sites);
  for (const text of [w.name, w.busy + "/" + w.slots + (w.held ? ", held: " + w.held : ""), w.gpus.join(", "), sites.join(", ")]) {
    tr.append(element("td", "", clean(text)));
  }
  const does = tr.appendChild(element("td", "does"));
  if (may("workers") && w.credential && !paused.includes(w.credential)) does.append(button("pause", "pause", w.credential));
  return tr;
};

const pause = (name) => {
  const li = element("li", "held", name === "all" ? "The queue is paused. " : "The workers of " + clean(name) + " are paused. ");
  if (may("workers")) li.append(button("resume", "resume", name));
  return li;
};

export const drawWorkers = (workers, paused) => {
  const now = JSON.stringify([workers.map((w) => ({ ...w, seen: "" })), paused, may("workers")]);
  if (now === drawn) return; // the focus stays
  drawn = now;
  $("workers").replaceChildren(...workers.map((w) => row(w, paused)));
  $("paused").replaceChildren(...paused.map(pause));
  $("pause-all").hidden = !may("workers") || paused.includes("all");
};

$("pause-all").addEventListener("click", () => ask("api/workers/all/pause", $("pause-all")));
