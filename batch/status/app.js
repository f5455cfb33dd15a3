// Keeps the page up to date from /events.
import { $, clean, say, set } from "./util.js";
import { allow, onToken } from "./session.js";
import { follow } from "./stream.js";
import { Jobs } from "./jobs.js";
import { drawBatches } from "./batches.js";
import { drawWorkers } from "./workers.js";
import { drawHistory } from "./charts.js";
import { drawSubmit } from "./submit.js";

const jobs = new Jobs();
let whole = null;

const draw = () => {
  if (!whole) return;
  const workers = whole.workers || [];
  $("bar").value = whole.totals.part || 0;
  set($("percent"), whole.words.percent);
  set($("summary"), whole.words.facts);
  say($("note"), clean(whole.note));
  say($("trouble"), clean(whole.trouble));
  document.title = (whole.words.percent + " vidfilter").trim();
  drawBatches(whole.batches || [], whole.more_batches);
  drawSubmit();
  drawWorkers(workers, whole.paused || []);
  jobs.draw(workers, whole.totals.jobs - whole.totals.waiting); // a list has only submitted jobs
};

const events = {
  start: (e) => jobs.start(e.shown),
  jobs: (e) => jobs.take(e.jobs),
  whole: (e) => {
    whole = e;
    allow(e);
    draw();
  },
  history: drawHistory,
};

for (const close of document.querySelectorAll("#log button")) close.addEventListener("click", () => $("log").close());
onToken(draw);
follow((event, data) => events[event]?.(data));
