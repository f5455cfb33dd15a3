// Two settings, A and B, instead of original and filtered: the buttons, and the names of the sides.
import { $, clean, element, set } from "./util.js";

const letters = { a: "A", b: "B" };

export class Compare {
  #on;
  #state = { side: "" };
  #shown = false; // the picture on the page has two settings

  // on: ask(command), with on, off, a, b or copy
  constructor(on) {
    this.#on = on;
    for (const b of document.querySelectorAll("[data-side]")) b.addEventListener("click", () => on.ask(b.dataset.side));
    $("compare-on").addEventListener("click", () => this.toggle());
    $("compare-off").addEventListener("click", () => this.toggle());
    $("compare-copy").addEventListener("click", () => this.copy());
  }

  toggle() { this.#on.ask(this.#state.side === "" ? "on" : "off"); }
  copy() { if (this.#state.side !== "") this.#on.ask("copy"); }
  other() { if (this.#state.side !== "") this.#on.ask(this.#state.side === "a" ? "b" : "a"); }

  // The settings that changes apply to, "A" or "B", "" without a comparison.
  get chosen() { return letters[this.#state.side] ?? ""; }

  update(state) {
    const before = this.#state, focus = document.activeElement;
    this.#state = state;
    const { chosen } = this, other = chosen === "A" ? "B" : "A";
    $("compare-on").hidden = chosen !== "";
    for (const id of ["compare-sides", "compare-copy", "compare-off", "compare-note"]) $(id).hidden = chosen === "";
    if (focus?.hidden) $(chosen === "" ? "compare-on" : "compare-off").focus({ preventScroll: true });
    for (const b of document.querySelectorAll("[data-side]")) b.setAttribute("aria-pressed", String(b.dataset.side === state.side));
    set($("compare-copy"), `Copy ${chosen} to ${other}`);
    set($("compare-note"), `These are the settings of ${chosen}, which recordings and other programs get as well. ${other} has: ${clean(state.other_words)}.`);
    set($("command-of"), chosen === "" ? "" : `: settings ${chosen}`);
    return before.side !== state.side;
  }

  // Whether the shown picture has the two settings. Returns whether that changed.
  show(compared) {
    const news = compared !== this.#shown;
    this.#shown = compared;
    return news;
  }

  get shown() { return this.#shown; }

  // The names of the sides: first A or the original.
  get names() { return this.#shown ? ["A", "B"] : ["Original", "Filtered"]; }

  // Writes a name over the picture, with its settings.
  label(node, name) {
    const words = !this.#shown || this.chosen === "" || name.length > 1 ? "" : name === this.chosen ? this.#state.words : this.#state.other_words;
    const text = words ? `${name}: ${clean(words)}` : name;
    node.hidden = name === "";
    node.classList.toggle("chosen", this.#shown && name === this.chosen);
    if (node.textContent !== text) node.replaceChildren(element("b", "", name), words ? `: ${clean(words)}` : "");
  }
}
