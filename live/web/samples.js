// The samples under the pointer, measured by the server before anything is coded for this page.
import { $, set } from "./util.js";

const every = 150; // ms between two questions

const decibel = (x) => (x < 0 ? "equal" : x.toFixed(1) + " dB");

export class Samples {
  #send;
  #spot = { x: 0.5, y: 0.5 }; // parts of the picture as it is stored
  #timer = 0;

  // spot: the place of an event in the stored picture, or null outside of it
  constructor(send, stage, spot) {
    this.#send = send;
    const move = (e) => { this.#spot = spot(e) ?? this.#spot; };
    stage.addEventListener("pointermove", move);
    stage.addEventListener("pointerdown", move);
    $("samples").addEventListener("toggle", () => this.#begin());
    document.addEventListener("visibilitychange", () => this.#begin());
  }

  #begin() {
    clearInterval(this.#timer);
    if (!$("samples").open || document.hidden) return;
    this.#timer = setInterval(() => this.#send({ type: "measure", ...this.#spot }), every);
  }

  show(m) {
    set($("samples-place"), `(${m.x}, ${m.y})`);
    const names = m.compared ? ["A", "B"] : ["Original", "Filtered"];
    ["left", "right"].forEach((side, n) => {
      set($(`samples-${side}-of`), names[n]);
      set($("samples-" + side), m[side].map((v, i) => m.names[i] + " " + v).join("  "));
    });
    const [left, right] = m.compared ? names : ["original", "filtered"];
    set($("histogram-of"), `area: ${left}, line: ${right}`);
    $("histogram").setAttribute("aria-label", `Histogram of ${left} and ${right}`);
    set($("samples-psnr"), decibel(m.psnr));
    set($("samples-whole"), decibel(m.whole));
    set($("samples-size"), `${m.size}x${m.size} around`);
    this.#draw(m.bars);
  }

  // Both histograms, on one scale: the left side as an area, the right one as a line.
  #draw([left, right]) {
    const g = $("histogram"), c = g.getContext("2d"), ratio = devicePixelRatio;
    const width = Math.round(g.clientWidth * ratio), height = Math.round(g.clientHeight * ratio);
    if (width === 0) return;
    Object.assign(g, { width, height });
    // one bar that towers over all, such as a black border, must not flatten the rest
    const sorted = [...left, ...right].sort((a, b) => b - a), top = Math.max(1, sorted[3]);
    const step = width / left.length, y = (n) => height - Math.min(1, n / top) * height, style = getComputedStyle(g);
    c.fillStyle = style.borderBottomColor;
    left.forEach((n, i) => c.fillRect(i * step, y(n), Math.ceil(step), height - y(n)));
    c.strokeStyle = style.color;
    c.lineWidth = 1.5 * ratio;
    c.beginPath();
    right.forEach((n, i) => {
      c.lineTo(i * step, y(n));
      c.lineTo((i + 1) * step, y(n));
    });
    c.stroke();
  }
}
