// Single keys, which can be switched off: speech input and some hands press them by accident.
import { element, remember, remembered } from "./util.js";

const shown = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" };

// Where a key already means something.
const taken = (e) => {
  const t = e.target;
  if (t.closest?.("dialog, select, textarea") || t.isContentEditable) return true;
  if (t.type === "range") return e.key.length > 1; // a slider's own keys move it
  if (t.type === "checkbox") return e.key === " ";
  if (t.closest?.("input")) return true;
  return t.closest?.("button, a, summary") && (e.key === " " || e.key === "Enter");
};

// keys: [key, words, does]. list: the table body that lists them. box: the checkbox that disables
// them.
export const listen = (keys, list, box) => {
  box.checked = remembered("shortcuts", true) === true;
  box.addEventListener("change", () => remember("shortcuts", box.checked));
  const table = new Map(keys.map(([key, , does]) => [key === "Space" ? " " : key, does]));
  for (const [key, words] of keys) {
    const row = element("tr"), cell = element("td");
    cell.append(element("kbd", "", shown[key] || key));
    row.append(cell, element("td", "", words));
    list.append(row);
  }
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.altKey || e.metaKey || e.defaultPrevented || !box.checked || document.querySelector("dialog[open]")) return;
    if (document.getElementById("main").hidden || taken(e)) return;
    const does = table.get(e.key.length === 1 ? e.key.toLowerCase() : e.key) || (e.key === "=" ? table.get("+") : null);
    if (!does) return;
    e.preventDefault();
    does();
  });
};
