// The table of batches.
import { $, element, say, set } from "./util.js";
import { buttons } from "./actions.js";

const rows = new Map(); // by ID

const newRow = (id) => {
  const tr = element("tr"), cell = (kind) => tr.appendChild(element("td", kind));
  const r = { tr, name: cell(), state: cell(), owner: cell(), does: buttons("batch", id) };
  r.facts = r.state.appendChild(element("span"));
  r.why = r.state.appendChild(element("span", "why"));
  set(r.name, id);
  cell("does").append(...r.does.all);
  return r;
};

export const drawBatches = (batches, more) => {
  const gone = new Set(rows.keys());
  const all = batches.map((b) => {
    gone.delete(b.id);
    if (!rows.has(b.id)) rows.set(b.id, newRow(b.id));
    const r = rows.get(b.id);
    set(r.facts, b.facts);
    say(r.why, b.why);
    set(r.owner, b.user || "");
    r.does.show(b, "batch " + b.id);
    return r.tr;
  });
  for (const id of gone) rows.delete(id);
  const now = [...$("batches").children];
  if (all.length !== now.length || all.some((tr, i) => tr !== now[i])) $("batches").replaceChildren(...all); // else the focus stays
  $("more-batches").hidden = more === 0;
  set($("more-batches"), "and " + more + " more");
};
