// The line of figures: the server's measurements, and the time from a picture's arrival to its
// display.
import { $, median, say, set } from "./util.js";
import { age, readStamp } from "./stamp.js";

const kept = 600; // raw latencies
const window_ = 1000; // ms that the median is of
const bars = 120; // of the graph, two a second

const ms = (x) => (x === null || x === undefined ? "" : (x < 10 ? x.toFixed(1) : x.toFixed(0)) + " ms");
const rate = (x) => (x >= 1e6 ? (x / 1e6).toFixed(1) + " Mbit/s" : (x / 1e3).toFixed(0) + " kbit/s");
const count = (x) => (x ?? 0).toLocaleString("en");

export class Figures {
  latencies = [];
  stampErrors = 0;
  drawn = 0;
  stats = null;
  #recent = []; // {at, value} of the last second
  #times = []; // of the last drawn pictures
  #history = [];
  #graph;

  constructor(graph) {
    this.#graph = graph;
    setInterval(() => this.#tick(), 500);
  }

  // A picture was drawn just now. at: its stamp, by the stamp's clock; null if unknown.
  async count(picture, at) {
    const time = performance.now();
    this.drawn++;
    this.#times.push(time);
    const stamp = await readStamp(picture);
    if (!stamp) {
      this.stampErrors++;
      return;
    }
    if (at === null) return;
    const value = age(stamp, at);
    this.latencies.push(value);
    if (this.latencies.length > kept) this.latencies.shift();
    this.#recent.push({ at: time, value });
  }

  get latency() {
    this.#forget();
    return median(this.#recent.map((r) => r.value));
  }

  #forget() {
    const since = performance.now() - window_;
    while (this.#recent.length > 0 && this.#recent[0].at < since) this.#recent.shift();
    while (this.#times.length > 0 && this.#times[0] < since) this.#times.shift();
  }

  #tick() {
    const value = this.latency;
    set($("latency"), value === null ? "–" : value.toFixed(0) + " ms");
    set($("shown-fps"), this.#times.length + " fps");
    say($("stamp-errors"), this.stampErrors > 0 ? count(this.stampErrors) + " stamps could not be read" : "");
    this.#history.push(value);
    if (this.#history.length > bars) this.#history.shift();
    if (!document.hidden) this.#drawGraph();
  }

  #drawGraph() {
    const g = this.#graph, c = g.getContext("2d"), ratio = devicePixelRatio;
    const width = Math.round(g.clientWidth * ratio), height = Math.round(g.clientHeight * ratio);
    if (width === 0) return;
    if (g.width !== width || g.height !== height) Object.assign(g, { width, height });
    else c.clearRect(0, 0, width, height);
    const top = Math.max(50, ...this.#history.map((x) => x ?? 0)) * 1.1, step = width / bars;
    c.fillStyle = getComputedStyle(g).color;
    this.#history.forEach((x, i) => {
      if (x === null) return;
      const h = Math.max(ratio, (x / top) * height);
      c.fillRect(Math.floor((bars - this.#history.length + i) * step), height - h, Math.max(1, Math.floor(step * 0.8)), h);
    });
  }

  // The server's figures of the last second.
  show(stats, clock) {
    this.stats = stats;
    const dropped = stats.dropped || {};
    const rows = [
      ["filtered", stats.fps.toFixed(1) + " fps"], ["source", stats.source_fps.toFixed(1) + " fps"], ["sent", stats.sent_fps.toFixed(1) + " fps"],
      ["dropped", count((dropped.source ?? 0) + (dropped.filter ?? 0) + (dropped.viewer ?? 0)),
        `by the source ${count(dropped.source)}, before the filter ${count(dropped.filter)}, for this page ${count(dropped.viewer)}`],
      ...(stats.copy_in === null || stats.copy_in === undefined
        ? [["filter", ms(stats.filter)]]
        : [["copy in", ms(stats.copy_in)], ["kernel", ms(stats.kernel)], ["copy out", ms(stats.copy_out)]]),
      ["encode", ms(stats.encode)], ["arrival to sent", ms(stats.arrival_to_sent)],
      ["round trip", ms(stats.rtt || clock.trip)], ["line", rate(stats.sent_bitrate) + " of " + rate(stats.bitrate)],
    ];
    this.#fill(rows.filter(([, text]) => text !== ""));
  }

  #fill(rows) {
    const list = $("stats");
    while (list.children.length > rows.length) list.lastElementChild.remove();
    rows.forEach(([name, text, more], i) => {
      if (!list.children[i]) {
        const row = list.appendChild(document.createElement("div"));
        row.append(document.createElement("dt"), document.createElement("dd"));
      }
      const row = list.children[i];
      set(row.children[0], name);
      set(row.children[1], text);
      row.title = more || "";
    });
  }
}
