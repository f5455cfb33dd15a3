// The socket: opens it, keeps it open, reports its loss, and measures the offset of the server's
// clock.
import { now, median } from "./util.js";

const firstWait = 500, longestWait = 5000; // between attempts, ms
const silence = 6000; // stats come every second: this long a silence is a dead line
const header = 32, sound = 4; // of binary messages: bytes in front, the kind that is sound
const codes = { login: 4001, full: 4002, down: 4003, kicked: 4004 };

// Clock estimates the server's time from pings. The shortest round trip of the last minute is the
// most accurate.
class Clock {
  #samples = [];
  reset() { this.#samples = []; }
  add(sent, server, got) {
    this.#samples.push({ trip: got - sent, offset: server - (sent + got) / 2 });
    if (this.#samples.length > 60) this.#samples.shift();
  }
  get known() { return this.#samples.length > 0; }
  get #best() { return this.#samples.reduce((a, b) => (b.trip < a.trip ? b : a)); }
  get offset() { return this.known ? this.#best.offset : 0; } // to be added to the page's time
  get trip() { return median(this.#samples.slice(-5).map((s) => s.trip)); }
}

// The token in exchange for a cookie. opened: this page was opened by the program itself.
export const login = async (token) => {
  const answer = await fetch("login", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }),
  });
  const body = answer.status === 200 ? await answer.json() : {};
  return { ok: answer.ok, opened: body.opened === true };
};

export class Link {
  clock = new Clock();
  video = "";
  #view = "both";
  #socket = null;
  #open = false;
  #wait = firstWait;
  #timer = 0;
  #beat = 0;
  #heard = 0;
  #ended = false; // the server has announced its end
  #on;

  // on: opened(), lost({full, ended, kicked, reason}), login(), message(object),
  // picture(header, data), sound(header, data)
  constructor(on) {
    this.#on = on;
    addEventListener("online", () => this.retry());
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.retry(); });
  }

  get connected() { return this.#open; }

  // video: the format of the pictures, "avc" or "jpeg".
  open(video) {
    this.video = video;
    this.#drop();
    clearTimeout(this.#timer);
    this.#timer = 0;
    const address = new URL("ws", location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    address.search = address.hash = "";
    const socket = this.#socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => this.#opened();
    socket.onmessage = (e) => { if (this.#socket === socket) this.#message(e.data); };
    socket.onclose = (e) => { if (this.#socket === socket) this.#closed(e); };
  }

  // The pictures of the pair that are shown: "both", "original" or "filtered".
  look(view) {
    if (view === this.#view) return;
    this.#view = view;
    this.send({ type: "view", view });
  }

  // At once, after any state.
  again() { this.open(this.video); }

  close() {
    this.#drop();
    clearTimeout(this.#timer);
    this.#timer = 0;
  }

  // At once, if it waits for the next attempt.
  retry() {
    if (this.#timer !== 0) this.again();
  }

  send(message) {
    if (this.#open && this.#socket.readyState === WebSocket.OPEN) this.#socket.send(message instanceof ArrayBuffer ? message : JSON.stringify(message));
  }

  #drop() {
    clearInterval(this.#beat);
    this.#open = false;
    const socket = this.#socket;
    this.#socket = null; // further messages are ignored
    if (socket) socket.close();
  }

  #opened() {
    this.#open = true;
    this.#ended = false;
    this.#heard = performance.now();
    this.clock.reset();
    this.send({ type: "hello", version: 1, video: this.video, view: this.#view }); // without it no pictures are sent
    this.#beat = setInterval(() => this.#tick(), 1000);
    for (const delay of [0, 50, 100, 200, 400]) setTimeout(() => this.#ping(), delay);
    this.#on.opened();
  }

  #ping() { this.send({ type: "ping", t: now() }); }

  #tick() {
    if (performance.now() - this.#heard > silence) {
      this.#drop();
      this.#closed({ code: 1006, reason: "" });
      return;
    }
    this.#ping();
  }

  #message(data) {
    this.#heard = performance.now();
    this.#wait = firstWait;
    if (typeof data !== "string") {
      this.#binary(data);
      return;
    }
    let m;
    try { m = JSON.parse(data); } catch { return; }
    if (m.type === "pong") this.clock.add(m.t, m.server, now());
    else this.#on.message(m);
  }

  #binary(buffer) {
    if (buffer.byteLength < header) return;
    const view = new DataView(buffer), flags = view.getUint8(1), data = new Uint8Array(buffer, header);
    const at = view.getFloat64(24, true); // on the clock of the sound, ms
    if (view.getUint8(0) === sound) {
      this.#on.sound({ at, begins: (flags & 1) !== 0 }, data);
      return;
    }
    this.#on.picture({
      key: (flags & 1) !== 0, own: (flags & 2) !== 0, repeated: (flags & 4) !== 0, compared: (flags & 8) !== 0, id: view.getUint32(4, true),
      capture: view.getFloat64(8, true), sent: view.getFloat64(16, true), at, arrived: performance.now(),
    }, data);
  }

  #closed(e) {
    this.#drop();
    if (e.code === codes.login) {
      this.#on.login();
      return;
    }
    if (e.code === codes.kicked) {
      this.#on.lost({ kicked: true, reason: e.reason });
      return;
    }
    this.#ended ||= e.code === codes.down;
    if (e.code === codes.full) this.#wait = longestWait;
    this.#on.lost({ full: e.code === codes.full, ended: this.#ended, reason: e.reason });
    if (this.#ended) return; // the server does not answer
    this.#timer = setTimeout(() => this.open(this.video), this.#wait);
    this.#wait = Math.min(longestWait, this.#wait * 2);
  }
}
