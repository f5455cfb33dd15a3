// Small things that every part of the page uses.
export const $ = (id) => document.getElementById(id);

// Milliseconds of Unix time by the clock that never steps: the "page's clock" of the protocol.
export const now = () => performance.timeOrigin + performance.now();

// Makes control characters and bidirectional overrides visible.
export const clean = (s) => String(s ?? "").replace(/[\p{Cc}\p{Bidi_C}\u2028\u2029\ufffd]/gu,
  (c) => "\\u" + c.codePointAt(0).toString(16).padStart(4, "0"));

// The server's words begin small, as errors do. Names are left as they are.
export const sentence = (s) => clean(s).replace(/^[a-z]+(?=[ ,:]|$)/, (word) => word[0].toUpperCase() + word.slice(1));

export const set = (node, text) => { if (node.textContent !== text) node.textContent = text; };
export const say = (node, text) => { set(node, text); node.hidden = text === ""; };

export const element = (name, kind, text) => {
  const e = document.createElement(name);
  if (kind) e.className = kind;
  if (text !== undefined) e.textContent = text;
  return e;
};

export const clamp = (x, low, high) => Math.min(high, Math.max(low, x));

export const median = (values) => {
  if (values.length === 0) return null;
  const all = [...values].sort((a, b) => a - b), half = all.length >> 1;
  return all.length % 2 ? all[half] : (all[half - 1] + all[half]) / 2;
};

// CaptureClock returns times of capture by the page's clock. The recent piece with the least delay
// counts as undelayed. Time stamps are in microseconds.
export class CaptureClock {
  #offsets = [];
  // A piece that ended at a time stamp has arrived now.
  note(timestamp) {
    this.#offsets.push(now() - timestamp / 1000);
    if (this.#offsets.length > 300) this.#offsets.shift();
  }
  time(timestamp) { return timestamp / 1000 + Math.min(...this.#offsets); }
}

// Choices of an earlier visit. Storage may be switched off.
export const remembered = (name, otherwise) => {
  try { return JSON.parse(localStorage.getItem("vidfilter." + name)) ?? otherwise; } catch { return otherwise; }
};
export const remember = (name, value) => {
  try { localStorage.setItem("vidfilter." + name, JSON.stringify(value)); } catch { /* denied */ }
};
