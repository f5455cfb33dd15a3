// The table of jobs.
import { $, element, say, set } from "./util.js";
import { maySeeLogs } from "./session.js";
import { buttons } from "./actions.js";
import { showLog } from "./log.js";

const rank = { running: 0, failed: 1, quarantined: 1, queued: 2, cancelled: 3, done: 4 };

export class Jobs {
  #jobs = new Map(); // by ID
  #rows = new Map();
  #shown = 500;
  #workers = [];

  // Forgets all jobs, and shows at most a number of them.
  start(shown) {
    this.#shown = shown;
    this.#jobs.clear();
    this.#rows.clear();
    $("jobs").replaceChildren();
  }

  take(jobs) { for (const j of jobs) this.#jobs.set(j.id, j); }

  // Draws the jobs; total is how many there are with those that the page was not sent.
  draw(workers, total) {
    this.#workers = workers;
    const all = [...this.#jobs.values()].sort((a, b) => this.#compare(a, b));
    for (const j of all.splice(this.#shown)) { // jobs that are not shown are not kept
      this.#jobs.delete(j.id);
      this.#rows.get(j.id)?.tr.remove();
      this.#rows.delete(j.id);
    }
    let next = $("jobs").firstElementChild;
    for (const j of all) {
      if (!this.#rows.has(j.id)) this.#rows.set(j.id, this.#row(j.id));
      const r = this.#rows.get(j.id);
      this.#fill(r, j);
      if (r.tr === next) next = next.nextElementSibling;
      else $("jobs").insertBefore(r.tr, next);
    }
    while (next) {
      const gone = next;
      next = next.nextElementSibling;
      gone.remove();
    }
    const more = Math.max(0, total - all.length);
    $("more").hidden = more === 0;
    if (more > 0) $("more").firstChild.data = "and " + more + " more: see ";
  }

  #row(id) {
    const tr = element("tr"), cell = (kind) => tr.appendChild(element("td", kind));
    const r = { tr, state: cell().appendChild(element("span", "state")) };
    const output = cell();
    r.name = output.appendChild(element("span", "name"));
    r.about = output.appendChild(element("span", "about"));
    const done = cell();
    r.bar = done.appendChild(element("progress"));
    r.bar.max = 1;
    r.percent = done.appendChild(element("span"));
    const progress = cell();
    r.facts = progress.appendChild(element("span"));
    r.why = progress.appendChild(element("span", "why"));
    r.where = cell();
    r.does = buttons("job", id);
    r.log = element("button", "", "log");
    r.log.type = "button";
    r.log.addEventListener("click", () => showLog(id, this.#jobs.get(id).title, r.log));
    cell("does").append(...r.does.all, r.log);
    return r;
  }

  #fill(r, j) {
    r.tr.dataset.state = j.state;
    set(r.state, j.state);
    set(r.name, j.words.name);
    say(r.about, j.words.about);
    r.bar.hidden = j.part === null;
    if (j.part !== null) r.bar.value = j.part;
    r.bar.setAttribute("aria-label", "done of " + j.words.name);
    set(r.percent, " " + j.words.percent);
    set(r.facts, j.words.facts);
    say(r.why, this.#alone(j) ? document.body.dataset.unserved : j.words.why);
    set(r.where, j.words.where);
    r.does.show(j, j.words.name);
    r.log.hidden = !maySeeLogs();
    r.log.setAttribute("aria-label", "log of " + j.words.name);
  }

  // No worker has its files.
  #alone(j) { return !j.ended && !this.#workers.some((w) => !w.draining && w.sites.includes(j.site)); }

  #compare(a, b) {
    if (this.#alone(a) !== this.#alone(b)) return this.#alone(a) ? 1 : -1;
    if (a.state !== b.state) return rank[a.state] - rank[b.state];
    if (a.ended && b.ended) return Date.parse(b.ended) - Date.parse(a.ended);
    return Date.parse(a.submitted) - Date.parse(b.submitted);
  }
}
