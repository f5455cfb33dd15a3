"use strict";
// Keeps the page up to date from /events. Text is set only by textContent, since file names are
// untrusted.
(() => {
  const $ = (id) => document.getElementById(id);
  const jobs = new Map(); // by ID
  const rows = new Map();
  const rank = { running: 0, failed: 1, quarantined: 1, queued: 2, cancelled: 3, done: 4 };
  const page = document.body.dataset;
  let shown = 500, total = 0, workers = [];
  let readOnly = page.readonly !== "false", canRetry = page.canretry === "true";
  const locked = page.locked === "true";
  let token = sessionStorage.getItem("token") || "";

  // Makes control characters and direction marks visible.
  const clean = (s) => String(s).replace(/[\p{Cc}\p{Bidi_C}\u2028\u2029\ufffd]/gu, (c) => "\\u" + c.codePointAt(0).toString(16).padStart(4, "0"));

  const set = (node, text) => { if (node.textContent !== text) node.textContent = text; };
  const say = (node, text) => { set(node, text); node.hidden = text === ""; };
  const element = (name, kind) => {
    const e = document.createElement(name);
    if (kind) e.className = kind;
    return e;
  };

  const newRow = (id) => {
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
    const does = cell("does");
    r.cancel = does.appendChild(element("button"));
    r.retry = does.appendChild(element("button"));
    for (const act of ["pause", "resume", "log"]) r[act] = does.appendChild(element("button"));
    for (const act of ["cancel", "retry", "pause", "resume", "log"]) {
      r[act].type = "button";
      r[act].textContent = act;
      r[act].addEventListener("click", () => ask(id, act, r[act]));
    }
    return r;
  };

  const fill = (r, j) => {
    r.tr.dataset.state = j.state;
    set(r.state, j.state);
    set(r.name, j.words.name);
    say(r.about, j.words.about);
    r.bar.hidden = j.part === null;
    if (j.part !== null) r.bar.value = j.part;
    set(r.percent, " " + j.words.percent);
    set(r.facts, j.words.facts);
    say(r.why, alone(j) ? page.unserved : j.words.why);
    set(r.where, j.words.where);
    const may = token !== "" && !readOnly;
    r.cancel.hidden = !may || !(j.state === "queued" || j.state === "running");
    r.pause.hidden = r.cancel.hidden || j.paused === true;
    r.resume.hidden = r.cancel.hidden || j.paused !== true;
    r.log.hidden = !may;
    r.retry.hidden = !may || !canRetry || !["failed", "quarantined", "cancelled"].includes(j.state);
  };

  // No worker has its files.
  const alone = (j) => !j.ended && !workers.some((w) => !w.draining && w.sites.includes(j.site));
  const order = (a, b) => {
    if (alone(a) !== alone(b)) return alone(a) ? 1 : -1;
    if (a.state !== b.state) return rank[a.state] - rank[b.state];
    if (a.ended && b.ended) return Date.parse(b.ended) - Date.parse(a.ended);
    return Date.parse(a.submitted) - Date.parse(b.submitted);
  };

  const draw = () => {
    const all = [...jobs.values()].sort(order);
    for (const j of all.splice(shown)) { // jobs that are not shown are not kept
      jobs.delete(j.id);
      if (rows.has(j.id)) rows.get(j.id).tr.remove();
      rows.delete(j.id);
    }
    let next = $("jobs").firstElementChild;
    for (const j of all) {
      if (!rows.has(j.id)) rows.set(j.id, newRow(j.id));
      const r = rows.get(j.id);
      fill(r, j);
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
  };

  const drawWorkers = (all) => {
    const body = element("tbody");
    for (const w of all) {
      const tr = body.appendChild(element("tr"));
      const sites = (w.any ? ["any"] : []).concat(w.sites);
      for (const text of [w.name, w.busy + "/" + w.slots + (w.held ? ", held: " + w.held : ""), w.gpus.join(", "), sites.join(", ")]) {
        tr.appendChild(element("td")).textContent = clean(text);
      }
    }
    $("workers").replaceChildren(...body.children);
  };

  const events = {
    start: (e) => {
      shown = e.shown;
      jobs.clear();
      rows.clear();
      $("jobs").replaceChildren();
    },
    jobs: (e) => { for (const j of e.jobs) jobs.set(j.id, j); },
    whole: (e) => {
      readOnly = e.read_only;
      canRetry = e.can_retry;
      total = e.totals.jobs - e.totals.waiting; // a list has only submitted jobs
      $("bar").value = e.totals.part || 0;
      set($("percent"), e.words.percent);
      set($("summary"), e.words.facts);
      say($("note"), clean(e.note));
      say($("trouble"), clean(e.trouble));
      document.title = (e.words.percent + " vidfilter").trim();
      workers = e.workers || [];
      drawWorkers(workers);
      sign();
      draw();
    },
  };

  const sign = () => {
    $("sign").hidden = readOnly && !locked;
    $("token").hidden = token !== "";
    $("sign").querySelector("label").hidden = token !== "";
    $("sign").querySelector("[type=submit]").hidden = token !== "";
    $("forget").hidden = token === "";
  };
  const remember = (t) => {
    token = t;
    if (t) sessionStorage.setItem("token", t);
    else sessionStorage.removeItem("token");
    sign();
    draw();
  };
  const headers = () => (token ? { Authorization: "Bearer " + token } : {});

  const ask = async (id, act, button) => {
    button.disabled = true;
    try {
      const r = await fetch("api/jobs/" + encodeURIComponent(id) + "/" + act, { method: act === "log" ? "GET" : "POST", headers: headers() });
      if (r.status === 401) remember("");
      if (r.ok && act === "log") {
        $("log").querySelector("h2").textContent = "Log of " + clean(jobs.get(id).title);
        $("log").querySelector("pre").textContent = (await r.text()).split("\n").map(clean).join("\n") || "its processes have said nothing";
        $("log").showModal();
      }
      say($("answer"), r.ok ? "" : clean((await r.text()).trim()));
    } catch (err) {
      say($("answer"), clean(err.message));
    }
    button.disabled = false;
  };

  // An EventSource cannot send the token, so parse the stream here: event and data lines up to an
  // empty one.
  const read = async (body) => {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let buffer = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      buffer += value;
      for (let end; (end = buffer.indexOf("\n\n")) >= 0; buffer = buffer.slice(end + 2)) {
        const [event, data] = buffer.slice(0, end).split("\n");
        const handle = events[event.slice("event: ".length)];
        if (handle) handle(JSON.parse(data.slice("data: ".length)));
      }
    }
  };

  let stop = new AbortController();
  const watch = async () => {
    for (;;) {
      stop = new AbortController();
      // Something arrives every five seconds: after twenty the connection is dead.
      try {
        const r = await fetch("events", { headers: headers(), signal: stop.signal });
        if (r.status === 401) {
          set($("live"), token ? "this is not the token" : "the token is needed");
          remember("");
          await new Promise((go) => $("sign").addEventListener("submit", go, { once: true }));
          continue;
        }
        if (!r.ok) throw new Error((await r.text()).trim());
        set($("live"), "live");
        let last = Date.now();
        const dead = setInterval(() => { if (Date.now() - last > 20000) stop.abort(); }, 5000);
        const alive = new TransformStream({ transform: (chunk, out) => { last = Date.now(); out.enqueue(chunk); } });
        try {
          await read(r.body.pipeThrough(alive));
        } finally {
          clearInterval(dead);
        }
        set($("live"), "connecting again");
      } catch (err) {
        set($("live"), "not connected: " + clean(err.message));
      }
      await new Promise((go) => setTimeout(go, 2000));
    }
  };

  $("sign").addEventListener("submit", (e) => {
    e.preventDefault();
    remember($("token").value.trim());
    $("token").value = "";
  });
  $("log").querySelector("button").addEventListener("click", () => $("log").close());
  $("forget").addEventListener("click", () => {
    remember("");
    if (locked) stop.abort();
  });
  sign();
  watch();
})();
