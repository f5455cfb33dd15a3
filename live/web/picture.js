// The picture on the page: the visible part, its scale, and the shares of original and filtered.
import { clamp, remember, remembered } from "./util.js";

export const modes = ["split", "original", "filtered", "difference"];
const largest = 16; // screen pixels per pixel of the picture
const coarse = 2; // beyond this scale pixels are drawn as squares
const none = { width: 16, height: 9 }; // before the first picture
const fine = 0.6; // below this scale more than four neighbours are averaged

export class Picture {
  #canvas;
  #context;
  #on;
  #config = null; // of the last picture, or null
  #stack = document.createElement("canvas"); // the last picture as it came
  #stackContext = this.#stack.getContext("2d", { alpha: false });
  #scale = null; // screen pixels per pixel; null: fit the whole picture
  #centre = { x: 0.5, y: 0.5 }; // as parts of the picture
  #planned = 0;
  #ground = "#000";
  #turn = 0; // clockwise rotation in degrees
  #aspect = 1; // width of a pixel for its height

  mode = "split";
  swapped = false;
  split = 0.5; // part of the visible width
  amplification = 4;

  // on: laid(layout) after each drawing that may have moved something
  constructor(canvas, on) {
    this.#canvas = canvas;
    this.#context = canvas.getContext("2d", { alpha: false, desynchronized: true });
    this.#on = on;
    const mode = remembered("mode", "split");
    if (modes.includes(mode)) this.mode = mode;
    this.amplification = clamp(Number(remembered("amplification", 4)) || 4, 1, 16);
    this.#watchSize();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => this.#repaintGround());
    this.#repaintGround();
  }

  // How the pictures are meant to be shown.
  setDisplay(turn, aspect) {
    if (turn === this.#turn && aspect === this.#aspect) return;
    this.#turn = turn;
    this.#aspect = aspect;
    this.plan();
  }

  // The displayed size of a picture: upright, with square pixels.
  get size() {
    const { width, height } = this.#config ?? none;
    const w = Math.round(width * Math.max(1, this.#aspect)), h = Math.round(height / Math.min(1, this.#aspect));
    return this.#turn % 180 === 0 ? { width: w, height: h } : { width: h, height: w };
  }

  get empty() { return this.#config === null; }

  // The size of a picture as it came, by its configuration.
  get scale() { return this.#config?.scale ?? 1; }

  // The pictures that the mode shows, as the socket's "view".
  get view() { return this.mode === "original" || this.mode === "filtered" ? this.mode : "both"; }

  // Whether the last picture holds them. After a change of mode it may not, yet.
  has(view) { return this.#config !== null && (!this.#config.single || this.#config.single === view); }
  get zoomed() { return this.#scale !== null; }

  // Borrows the image. Drawn at once: the next animation frame would only add delay. It is copied
  // into a canvas first, since each drawing of a decoded frame converts all of it, and the decoder
  // gets it back sooner.
  show({ image, config }) {
    const { coded_width: width, coded_height: height } = config;
    if (this.#stack.width !== width || this.#stack.height !== height) Object.assign(this.#stack, { width, height });
    this.#stackContext.drawImage(image, 0, 0, width, height);
    this.#config = config;
    this.draw();
  }

  setMode(mode) {
    this.mode = mode;
    remember("mode", mode);
    this.plan();
  }
  setAmplification(x) {
    this.amplification = x;
    remember("amplification", x);
    this.plan();
  }
  setSplit(part) {
    this.split = clamp(part, 0, 1);
    this.plan();
  }
  setSwapped(on) {
    this.swapped = on;
    this.plan();
  }

  // Draws the last picture again, once for all changes until the next animation frame.
  plan() {
    if (this.#planned) return;
    this.#planned = requestAnimationFrame(() => {
      this.#planned = 0;
      this.draw();
    });
  }

  // Where the picture lies on the canvas, in its pixels.
  layout() {
    const { width: cw, height: ch } = this.#canvas;
    const { width: w, height: h } = this.size;
    const scale = this.#scale ?? Math.min(cw / w, ch / h);
    const place = (space, size, centre) => Math.round(size <= space ? (space - size) / 2 : clamp(space / 2 - centre * size, space - size, 0));
    const x = place(cw, w * scale, this.#centre.x), y = place(ch, h * scale, this.#centre.y);
    const width = Math.round(w * scale), height = Math.round(h * scale);
    const left = Math.max(0, x), right = Math.min(cw, x + width), top = Math.max(0, y), bottom = Math.min(ch, y + height);
    return { x, y, width, height, scale, left, right, top, bottom, line: Math.round(left + this.split * (right - left)) };
  }

  get ratio() { return this.#canvas.clientWidth > 0 ? this.#canvas.width / this.#canvas.clientWidth : 1; }

  // Moves the line to a place on the canvas, in CSS pixels.
  splitAt(x) {
    const l = this.layout();
    this.setSplit((x * this.ratio - l.left) / Math.max(1, l.right - l.left));
  }

  // The place of a point of the canvas, in CSS pixels, as parts of the picture as it is stored;
  // null outside of it.
  spot(x, y) {
    const l = this.layout(), u = (x * this.ratio - l.x) / l.width, v = (y * this.ratio - l.y) / l.height;
    if (!this.#config || u < 0 || u >= 1 || v < 0 || v >= 1) return null;
    const [sx, sy] = { 0: [u, v], 90: [v, 1 - u], 180: [1 - u, 1 - v], 270: [1 - v, u] }[this.#turn] ?? [u, v];
    return { x: sx, y: sy };
  }

  // Zooms by a factor around (x, y), in CSS pixels from the canvas's corner.
  zoom(factor, x = this.#canvas.clientWidth / 2, y = this.#canvas.clientHeight / 2) {
    this.#zoomTo(this.layout().scale * factor, x, y);
  }
  fit() {
    this.#scale = null;
    this.#centre = { x: 0.5, y: 0.5 };
    this.plan();
  }
  // One pixel of the screen for each of the picture, or all of it.
  toggle(x, y) {
    if (this.zoomed) this.fit();
    else this.#zoomTo(1, x, y);
  }
  pan(dx, dy) {
    const l = this.layout();
    this.#place(l.x + dx * this.ratio, l.y + dy * this.ratio, l.scale);
    this.plan();
  }

  #zoomTo(scale, x, y) {
    if (!this.#config) return;
    const l = this.layout(), { width, height } = this.size;
    const fit = Math.min(this.#canvas.width / width, this.#canvas.height / height);
    const next = clamp(scale, Math.min(fit, 1), Math.max(largest, fit));
    if (Math.abs(next - fit) < fit * 0.01 && scale < l.scale) {
      this.fit();
      return;
    }
    const px = x * this.ratio, py = y * this.ratio, grow = next / l.scale;
    this.#place(px - (px - l.x) * grow, py - (py - l.y) * grow, next);
    this.plan();
  }

  // The picture's corner is to lie at (x, y); layout keeps it from leaving a gap.
  #place(x, y, scale) {
    const { width, height } = this.size;
    this.#scale = scale;
    const centre = (space, at, size) => (size <= space ? 0.5 : (space / 2 - clamp(at, space - size, 0)) / size);
    this.#centre = { x: centre(this.#canvas.width, x, width * scale), y: centre(this.#canvas.height, y, height * scale) };
  }

  // The canvas stays until the pictures for the mode have come.
  draw() {
    if (this.#config && !this.has(this.view)) return;
    const c = this.#context, l = this.layout();
    const covered = l.left === 0 && l.top === 0 && l.right === this.#canvas.width && l.bottom === this.#canvas.height;
    if (!covered || !this.#config) {
      c.fillStyle = this.#ground;
      c.fillRect(0, 0, this.#canvas.width, this.#canvas.height);
    }
    if (this.#config) this.#drawMode(c, l);
    this.#on.laid(l, this.ratio);
  }

  #drawMode(c, l) {
    c.imageSmoothingEnabled = l.scale <= coarse;
    c.imageSmoothingQuality = l.scale < fine ? "medium" : "low";
    if (this.mode === "split") {
      const [first, second] = this.swapped ? ["filtered", "original"] : ["original", "filtered"];
      this.#part(c, l, first, l.left, l.line);
      this.#part(c, l, second, l.line, l.right);
    } else if (this.mode === "difference") {
      this.#difference(c, l);
    } else {
      this.#part(c, l, this.mode, l.left, l.right);
    }
  }

  #top(which) { return which === "filtered" ? this.#config.filtered_y : 0; }

  // The visible part of one of the two pictures, between two columns of the canvas.
  #part(c, l, which, from, to) {
    if (to <= from) return;
    const sy = this.#top(which);
    c.save();
    c.beginPath();
    c.rect(from, l.top, to - from, l.bottom - l.top);
    c.clip();
    if (this.#turn === 0) this.#piece(c, l, sy, from, to);
    else this.#turned(c, l, sy);
    c.restore();
  }

  #turned(c, { x, y, width, height }, sy) {
    const { width: w, height: h } = this.#config, [dw, dh] = this.#turn % 180 === 0 ? [width, height] : [height, width];
    c.translate(x + width / 2, y + height / 2);
    c.rotate(this.#turn * Math.PI / 180);
    c.drawImage(this.#stack, 0, sy, w, h, -dw / 2, -dh / 2, dw, dh);
  }

  #piece(c, l, sy, from, to) {
    const config = this.#config;
    // Only the visible rows and columns: an enlarged picture as a whole would be far larger than
    // the canvas.
    const kx = config.width / l.width, ky = config.height / l.height;
    const x0 = Math.max(0, Math.floor((from - l.x) * kx) - 1), x1 = Math.min(config.width, Math.ceil((to - l.x) * kx) + 1);
    const y0 = Math.max(0, Math.floor((l.top - l.y) * ky) - 1), y1 = Math.min(config.height, Math.ceil((l.bottom - l.y) * ky) + 1);
    c.drawImage(this.#stack, x0, sy + y0, x1 - x0, y1 - y0, l.x + x0 / kx, l.y + y0 / ky, (x1 - x0) / kx, (y1 - y0) / ky);
  }

  // |original - filtered|, times the amplification: dodging by a grey of 1-1/n divides by 1/n.
  #difference(c, l) {
    this.#part(c, l, "original", l.left, l.right);
    c.globalCompositeOperation = "difference";
    this.#part(c, l, "filtered", l.left, l.right);
    c.globalCompositeOperation = "color-dodge";
    const grey = Math.round(255 * (1 - 1 / this.amplification));
    c.fillStyle = `rgb(${grey} ${grey} ${grey})`;
    c.fillRect(l.left, l.top, l.right - l.left, l.bottom - l.top);
    c.globalCompositeOperation = "source-over";
  }

  // The pixels (RGBA) of a part of "original", "filtered" or "screen" (the canvas, in its own
  // pixels).
  pixels(which, x, y, w, h) {
    if (!this.#config || (which !== "screen" && !this.has(which))) return [];
    const canvas = document.createElement("canvas");
    canvas.width = w;
    canvas.height = h;
    const c = canvas.getContext("2d", { willReadFrequently: true });
    const image = which === "screen" ? this.#canvas : this.#stack;
    c.drawImage(image, x, y + this.#top(which), w, h, 0, 0, w, h);
    return Array.from(c.getImageData(0, 0, w, h).data);
  }

  #watchSize() {
    const seen = new ResizeObserver(([entry]) => {
      const exact = entry.devicePixelContentBoxSize?.[0]; // not in every browser
      const width = exact ? exact.inlineSize : Math.round(entry.contentRect.width * devicePixelRatio);
      const height = exact ? exact.blockSize : Math.round(entry.contentRect.height * devicePixelRatio);
      if (width < 1 || height < 1) return;
      this.#canvas.width = width;
      this.#canvas.height = height;
      this.draw(); // at once: a resized canvas is blank
    });
    try { seen.observe(this.#canvas, { box: "device-pixel-content-box" }); } catch { seen.observe(this.#canvas); }
  }

  #repaintGround() {
    this.#ground = getComputedStyle(this.#canvas).backgroundColor;
    this.plan();
  }
}
