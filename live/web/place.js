// The place in a file: the bar, single steps, and the part that repeats.
import { $, say, set } from "./util.js";

const two = (n) => String(n).padStart(2, "0");
const clock = (x) => `${Math.floor(x / 60)}:${two(Math.floor(x % 60))}.${Math.floor((x % 1) * 10)}`;

const settle = 300; // ms after a seek during which places of pictures before it may still come

export class Place {
  #send;
  #at = 0;
  #length = 0;
  #from = null; // the start of a part whose end is still to be given
  #repeats = false;
  #held = false; // the bar is being dragged
  #asked = -Infinity; // the time of the latest seek
  #later = 0;

  constructor(send) {
    this.#send = send;
    const bar = $("place");
    bar.addEventListener("input", () => this.#seek(Number(bar.value)));
    bar.addEventListener("pointerdown", () => { this.#held = true; });
    for (const end of ["pointerup", "pointercancel", "blur"]) bar.addEventListener(end, () => { this.#held = false; });
    $("step-back").addEventListener("click", () => this.step(-1));
    $("step-on").addEventListener("click", () => this.step(1));
    $("repeat").addEventListener("click", () => this.#repeat());
  }

  step(direction) {
    if (this.#length > 0) this.#send({ type: "step", at: direction });
  }

  #seek(at) {
    this.#asked = performance.now();
    this.#at = at;
    this.#send({ type: "seek", at });
    this.#draw(at);
  }

  // Begins a part, ends it, and plays all again.
  #repeat() {
    if (this.#repeats) this.#send({ type: "repeat", from: 0, to: 0 });
    else if (this.#from === null) this.#from = this.#at;
    else {
      const from = Math.min(this.#from, this.#at), to = Math.max(this.#from, this.#at);
      this.#from = null;
      if (to > from) this.#send({ type: "repeat", from, to });
    }
    this.#drawRepeat();
  }

  update({ length, repeat_from: from, repeat_to: to }) {
    this.#length = length;
    $("file").hidden = length <= 0;
    $("place").max = length;
    this.#repeats = to > 0;
    say($("part"), this.#repeats ? `Repeats ${clock(from)} to ${clock(to)}` : "");
    this.#drawRepeat();
  }

  #drawRepeat() {
    set($("repeat"), this.#repeats ? "Play all" : this.#from === null ? "Repeat from here" : "Repeat to here");
  }

  // The picture shown is at this time.
  set(at) {
    clearTimeout(this.#later);
    const left = this.#asked + settle - performance.now();
    if (left > 0) {
      this.#later = setTimeout(() => this.set(at), left);
      return;
    }
    this.#at = at;
    if (!this.#held) this.#draw(at);
  }

  #draw(at) {
    if (Number($("place").value) !== at) $("place").value = at;
    const words = `${clock(at)} of ${clock(this.#length)}`;
    set($("place-out"), words);
    $("place").setAttribute("aria-valuetext", words);
  }
}
