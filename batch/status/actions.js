// Requests that change something, and their buttons.
import { $, clean, element, say } from "./util.js";
import { headers, may, remember } from "./session.js";

const live = (j) => j.state === "queued" || j.state === "running";

const waits = (b) => b.request === "queued" || b.request === "running"; // an agent takes or runs it

// When jobs and batches have which button.
const verbs = [
  { label: "cancel", verb: "cancel", job: live, batch: (b) => b.open > 0 || waits(b) },
  { label: "pause", verb: "pause", job: (j) => live(j) && !j.paused, batch: (b) => b.open > b.paused || (waits(b) && !b.held) },
  { label: "resume", verb: "resume", job: (j) => live(j) && j.paused, batch: (b) => b.paused > 0 || (waits(b) && b.held) },
  { label: "first", verb: "priority", value: 1, job: (j) => live(j) && !j.priority, batch: (b) => b.open > b.first },
  { label: "in turn", verb: "priority", value: 0, job: (j) => live(j) && j.priority > 0, batch: (b) => b.first > 0 },
  { label: "retry", verb: "retry", job: (j) => !live(j) && j.state !== "done", batch: (b) => b.failed + b.cancelled > 0 || b.request === "failed" || b.request === "cancelled" },
  { label: "remove", verb: "remove", job: () => true, batch: () => true },
];
const hints = {
  first: "its tasks come before those of jobs in turn",
  "in turn": "its tasks come in turn with those of other jobs",
};

// Sends a request, shows why it failed, and returns the answer if it did not.
export const ask = async (path, button, options = { method: "POST" }) => {
  button.disabled = true;
  let answer = null;
  try {
    const r = await fetch(path, { ...options, headers: headers() });
    if (r.status === 401) remember("");
    if (r.ok) answer = r;
    say($("answer"), r.ok ? "" : clean((await r.text()).trim()));
  } catch (err) {
    say($("answer"), clean(err.message));
  }
  button.disabled = false;
  return answer;
};

// Asks whether to remove something.
const sure = (name) => new Promise((decide) => {
  const dialog = $("sure");
  dialog.querySelector("p").textContent = "Remove " + name + " from the queue, with its files there? This cannot be undone.";
  dialog.returnValue = "";
  const closed = () => {
    if (dialog.open) return; // the event of an earlier question came late
    dialog.removeEventListener("close", closed);
    decide(dialog.returnValue === "remove");
  };
  dialog.addEventListener("close", closed);
  dialog.showModal();
});

// Returns the buttons for a job or a batch, and a function that shows those that apply to it now.
export const buttons = (kind, id) => {
  let name = id;
  const all = verbs.map((v) => {
    const b = element("button", "", v.label);
    b.type = "button";
    if (hints[v.label]) b.title = hints[v.label];
    b.addEventListener("click", async () => {
      if (v.verb === "remove" && !(await sure(name))) return;
      const path = "api/" + (kind === "job" ? "jobs/" : "batches/") + encodeURIComponent(id) + "/" + v.verb;
      await ask(path + (v.value === undefined ? "" : "?value=" + v.value), b);
    });
    return b;
  });
  const show = (of, called) => {
    name = called;
    verbs.forEach((v, i) => {
      all[i].hidden = !may(v.verb) || !v[kind](of);
      all[i].setAttribute("aria-label", v.label + " " + called);
    });
  };
  return { all, show };
};
