// The form that checks a job file and submits it as a batch.
import { $, clean, set } from "./util.js";
import { headers, may } from "./session.js";

const form = $("submit").querySelector("form");
let chosen = ""; // name of a file

// The name that stands for the file in errors. JSON is also YAML, but not the reverse.
const nameOf = (text) => (chosen.endsWith(".json") && !text.trimStart().startsWith("{") ? "" : chosen) || "jobs.yaml";

export const drawSubmit = () => { $("submit").hidden = !may("submit"); };

// Selects the line that an error names.
const point = (error) => {
  const line = Number(/^[^ ]*:(\d+):/.exec(error)?.[1] ?? 0);
  if (line === 0) return;
  const lines = $("document").value.split("\n"), start = lines.slice(0, line - 1).join("\n").length + Math.min(1, line - 1);
  $("document").focus();
  $("document").setSelectionRange(start, start + lines[line - 1].length);
};

$("file").addEventListener("change", async () => {
  const file = $("file").files[0];
  if (!file) return;
  chosen = file.name;
  $("document").value = await file.text();
  set($("submitted"), "");
});

form.addEventListener("submit", async (e) => {
  e.preventDefault();
  const button = e.submitter;
  button.disabled = true;
  try {
    const path = "api/batches?name=" + encodeURIComponent(nameOf($("document").value)) + (button.value === "check" ? "&check" : "");
    const r = await fetch(path, { method: "POST", headers: headers(), body: $("document").value });
    const text = (await r.text()).trim();
    set($("submitted"), text.split("\n").map(clean).join("\n"));
    $("submitted").className = r.ok ? "" : "trouble";
    if (!r.ok) point(text);
  } catch (err) {
    set($("submitted"), clean(err.message));
    $("submitted").className = "trouble";
  }
  button.disabled = false;
});
