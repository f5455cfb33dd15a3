// The noise that the denoiser goes by, its spectrum, and the box in which it is measured.
import { $, set } from "./util.js";

const words = (sure) => (sure >= 0.8 ? "sure" : sure >= 0.4 ? "fairly sure" : "a guess");

export class Noise {
  #stage;
  #on;
  #from = null; // where a box began, in CSS pixels of the stage

  // on: spot(x, y) the place in the stored picture or null, ask(message)
  constructor(stage, on) {
    this.#stage = stage;
    this.#on = on;
    for (const [type, does] of [["pointerdown", (e) => this.#begin(e)], ["pointermove", (e) => this.#draw(e)], ["pointerup", (e) => this.#end(e)]]) {
      stage.addEventListener(type, (e) => {
        if (!this.drawing) return;
        e.stopPropagation();
        e.preventDefault();
        does(e);
      }, { capture: true });
    }
    stage.addEventListener("pointercancel", () => this.#leave());
    document.addEventListener("keydown", (e) => { if (e.key === "Escape" && this.drawing) this.#leave(); });
    $("noise-box").addEventListener("click", () => (this.drawing ? this.#leave() : this.#enter()));
    $("noise-each").addEventListener("click", () => on.ask({ type: "noise", do: "each" }));
  }

  get drawing() { return this.#stage.classList.contains("drawing"); }

  #enter() {
    this.#stage.classList.add("drawing");
    $("noise-box").setAttribute("aria-pressed", "true");
    $("noise-note").hidden = false;
  }

  #leave() {
    this.#from = null;
    this.#stage.classList.remove("drawing");
    $("noise-box").setAttribute("aria-pressed", "false");
    $("noise-note").hidden = $("noise-drawn").hidden = true;
  }

  #at(e) {
    const box = this.#stage.getBoundingClientRect();
    return { x: e.clientX - box.left, y: e.clientY - box.top };
  }

  #begin(e) {
    this.#from = this.#at(e);
    this.#stage.setPointerCapture(e.pointerId);
    this.#draw(e);
  }

  #draw(e) {
    if (!this.#from) return;
    const to = this.#at(e), { style } = $("noise-drawn");
    $("noise-drawn").hidden = false;
    style.left = Math.min(to.x, this.#from.x) + "px";
    style.top = Math.min(to.y, this.#from.y) + "px";
    style.width = Math.abs(to.x - this.#from.x) + "px";
    style.height = Math.abs(to.y - this.#from.y) + "px";
  }

  #end(e) {
    if (!this.#from) return;
    const to = this.#at(e), a = this.#on.spot(this.#from.x, this.#from.y), b = this.#on.spot(to.x, to.y);
    this.#leave();
    if (!a || !b) return;
    this.#on.ask({ type: "noise", do: "box", x: Math.min(a.x, b.x), y: Math.min(a.y, b.y), width: Math.abs(a.x - b.x), height: Math.abs(a.y - b.y) });
  }

  // noise: the server's, or undefined if the filter needs no noise
  show(noise) {
    $("noise").hidden = !noise;
    if (!noise) return;
    set($("noise-text"), `${noise.luma.toFixed(1)} in luma, ${noise.chroma.toFixed(1)} in chroma ` + (noise.boxed ? "(measured in the box or in a file)" : `(${words(noise.sure)})`));
    $("noise-each").hidden = !noise.boxed;
    this.#plot(noise.spectrum);
  }

  #plot(spectrum) {
    const g = $("spectrum"), c = g.getContext("2d"), ratio = devicePixelRatio;
    const width = Math.round(g.clientWidth * ratio), height = Math.round(g.clientHeight * ratio);
    if (width === 0) return;
    Object.assign(g, { width, height });
    const top = Math.max(1, ...spectrum) * 1.1, step = width / spectrum.length;
    c.fillStyle = getComputedStyle(g).color;
    spectrum.forEach((x, i) => c.fillRect(i * step, height * (1 - x / top), step * 0.8, height * (x / top)));
  }
}
