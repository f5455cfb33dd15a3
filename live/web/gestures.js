// Moves and zooms the picture by pointer, wheel and the line's own keys.
import { clamp } from "./util.js";

const inside = "button, a, label, #over"; // the stage's own controls
const slack = 6; // CSS pixels that a finger may move before it drags
const step = 0.02, stride = 0.1; // of the line, by arrow and by page keys

export class Gestures {
  #stage;
  #picture;
  #pointers = new Map(); // by id: {x, y, startX, startY, does}
  #pinch = null;
  #panned = false;
  follow = false; // the line follows a pointer that is not pressed

  constructor(stage, line, picture) {
    this.#stage = stage;
    this.#picture = picture;
    stage.addEventListener("pointerdown", (e) => this.#down(e));
    stage.addEventListener("pointermove", (e) => this.#move(e));
    stage.addEventListener("pointerup", (e) => this.#up(e));
    stage.addEventListener("pointercancel", (e) => this.#gone(e));
    stage.addEventListener("wheel", (e) => this.#wheel(e), { passive: false });
    stage.addEventListener("dblclick", (e) => {
      if (!e.target.closest(inside)) picture.toggle(...this.#at(e));
    });
    stage.addEventListener("contextmenu", (e) => { if (this.#panned) e.preventDefault(); });
    line.addEventListener("keydown", (e) => this.#key(e));
  }

  #at(e) {
    const box = this.#stage.getBoundingClientRect();
    return [e.clientX - box.left, e.clientY - box.top];
  }

  #does(e) {
    const other = e.button !== 0 || e.shiftKey || e.ctrlKey || e.altKey || e.metaKey;
    if (!other && this.#picture.mode === "split") return "split";
    return this.#picture.zoomed ? "pan" : "";
  }

  #down(e) {
    if (e.target.closest(inside)) return;
    const [x, y] = this.#at(e);
    this.#panned = false;
    this.#pointers.set(e.pointerId, { x, y, startX: x, startY: y, does: this.#does(e), moved: e.pointerType !== "touch" });
    this.#stage.setPointerCapture(e.pointerId);
    if (e.button === 1) e.preventDefault(); // no autoscroll by the middle button
    if (this.#pointers.size === 2) this.#beginPinch();
    else if (this.#only?.does === "split" && e.pointerType !== "touch") this.#picture.splitAt(x);
  }

  get #only() { return this.#pointers.size === 1 ? this.#pointers.values().next().value : null; }

  #move(e) {
    const p = this.#pointers.get(e.pointerId), [x, y] = this.#at(e);
    if (!p) {
      if (this.follow && e.pointerType !== "touch" && this.#picture.mode === "split" && !e.target.closest(inside)) this.#picture.splitAt(x);
      return;
    }
    const dx = x - p.x, dy = y - p.y;
    const far = { x: Math.abs(x - p.startX), y: Math.abs(y - p.startY) };
    if (!p.moved && Math.max(far.x, far.y) < slack) return;
    if (!p.moved && p.does === "split" && far.y > far.x) p.does = ""; // a touch that scrolls
    Object.assign(p, { x, y, moved: true });
    if (this.#pinch) this.#movePinch();
    else if (p.does === "split") this.#picture.splitAt(x);
    else if (p.does === "pan") {
      this.#picture.pan(dx, dy);
      this.#panned = true;
    }
  }

  #up(e) {
    const p = this.#pointers.get(e.pointerId);
    if (p && !p.moved && p.does === "split" && !this.#pinch) this.#picture.splitAt(p.x); // a tap
    this.#gone(e);
  }

  #gone(e) {
    this.#pointers.delete(e.pointerId);
    if (this.#pointers.size === 0) this.#pinch = null; // the last of two fingers is ignored
  }

  #span() {
    const [a, b] = [...this.#pointers.values()];
    return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, size: Math.max(1, Math.hypot(a.x - b.x, a.y - b.y)) };
  }
  #beginPinch() {
    for (const p of this.#pointers.values()) p.moved = true;
    this.#pinch = this.#span();
  }
  #movePinch() {
    if (this.#pointers.size !== 2) return;
    const was = this.#pinch, is = this.#span();
    this.#pinch = is;
    this.#picture.zoom(is.size / was.size, is.x, is.y);
    if (this.#picture.zoomed) this.#picture.pan(is.x - was.x, is.y - was.y);
  }

  #wheel(e) {
    e.preventDefault();
    const lines = e.deltaMode === 1 ? 30 : e.deltaMode === 2 ? 300 : 1;
    const turn = clamp(e.deltaY * lines, -300, 300);
    // ctrl: a pinch on a touchpad
    this.#picture.zoom(Math.exp(-turn * (e.ctrlKey ? 0.01 : 0.002)), ...this.#at(e));
  }

  #key(e) {
    if (e.ctrlKey || e.altKey || e.metaKey) return;
    const { split } = this.#picture;
    const to = {
      ArrowLeft: split - step, ArrowDown: split - step, ArrowRight: split + step, ArrowUp: split + step,
      PageDown: split - stride, PageUp: split + stride, Home: 0, End: 1,
    }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    e.stopPropagation();
    this.#picture.setSplit(to);
  }
}
