// The log of a job, in a dialog.
import { $, clean } from "./util.js";
import { ask } from "./actions.js";

export const showLog = async (id, name, button) => {
  const r = await ask("api/jobs/" + encodeURIComponent(id) + "/log", button, { method: "GET" });
  if (!r) return;
  const text = await r.text();
  $("log").querySelector("h2").textContent = "Log of " + clean(name);
  $("log").querySelector("pre").textContent = text.split("\n").map(clean).join("\n") || "its processes have said nothing";
  $("log").showModal();
};
