// The filter's options: a slider and a number, or a list, for each. What is changed is sent at once; what the server says is shown.
import { $, clamp, element } from "./util.js";

const names = {
  filter: "Filter", iterations: "Iterations", radius: "Radius", sigma_s: "Spatial sigma", sigma_r: "Range sigma", range: "Range function",
  distance: "Colour distance", border: "Border", field_order: "Field order",
};
const whole = ["radius", "iterations"];
const units = { radius: "pixels", sigma_s: "pixels", sigma_r: "levels of 8 bits" };
const hold = 700; // ms after a change in which the server's word does not move what the person moves
const notches = 200; // of a slider whose range spans orders of magnitude

const round = (x) => (x < 1 ? Math.round(x * 100) / 100 : x < 20 ? Math.round(x * 10) / 10 : Math.round(x));

// A sigma's slider moves by factors: 1 to 20 matters more than 100 to 255.
const byFactor = (low, high) => ({
  min: 0, max: notches, step: 1,
  to: (x) => Math.round((notches * Math.log(x / low)) / Math.log(high / low)),
  from: (n) => clamp(round(low * (high / low) ** (n / notches)), low, high),
});
const byUnit = (low, high) => ({ min: low, max: high, step: 1, to: (x) => x, from: (n) => n });

export class Controls {
  #set; // a fieldset
  #on;
  #built = "";
  #options = {};
  #fields = new Map();
  #filter = {};
  #pending = null;
  #later = 0;

  // on: change(filter) with the options that are new
  constructor(set, on) {
    this.#set = set;
    this.#on = on;
    set.form.addEventListener("submit", (e) => e.preventDefault());
  }

  // What the server says is in force.
  update(options, filter) {
    this.#build(options);
    this.#filter = filter;
    this.#settle();
  }

  set enabled(on) { this.#set.disabled = !on; }

  #build(options) {
    const now = JSON.stringify(options);
    if (now === this.#built) return;
    this.#built = now;
    this.#options = options;
    this.#fields.clear();
    const rows = [], focus = document.activeElement?.id;
    for (const [name, choice] of Object.entries(options)) {
      if (!Array.isArray(choice) || choice.length === 0) continue;
      const field = typeof choice[0] === "number" ? this.#number(name, choice) : this.#list(name, choice);
      this.#fields.set(name, field);
      rows.push(field.row);
    }
    $("fields").replaceChildren(...rows);
    if (focus && document.activeElement?.id !== focus) rows.find((row) => row.querySelector("#" + focus))?.querySelector("#" + focus).focus();
  }

  #settle() {
    clearTimeout(this.#later);
    let wait = 0;
    for (const [name, field] of this.#fields) {
      const left = field.held ? hold : field.touched + hold - performance.now();
      if (left > 0) wait = Math.max(wait, left);
      else if (this.#filter[name] !== undefined) field.show(this.#filter[name]);
    }
    if (wait > 0) this.#later = setTimeout(() => this.#settle(), wait);
  }

  // One message for all that is changed until the screen's next frame; the last change always goes.
  #change(name, value) {
    this.#fields.get(name).touched = performance.now();
    this.#filter = { ...this.#filter, [name]: value };
    if (!this.#pending) {
      this.#pending = {};
      requestAnimationFrame(() => {
        const all = this.#pending;
        this.#pending = null;
        this.#on.change(all);
      });
    }
    this.#pending[name] = value;
    if (name === "radius") this.#settle(); // an automatic sigma follows it
  }

  #row(name) {
    const row = element("div", "field"), label = element("label", "", names[name] || name);
    label.htmlFor = "f-" + name;
    row.append(label);
    return row;
  }

  #list(name, choice) {
    const row = this.#row(name), select = element("select");
    select.id = "f-" + name;
    for (const value of choice) select.append(new Option(value, value));
    row.append(select);
    row.classList.add("list");
    select.addEventListener("change", () => this.#change(name, select.value));
    return { row, touched: -Infinity, held: false, show: (value) => { select.value = value; } };
  }

  #number(name, [low, high]) {
    const map = whole.includes(name) ? byUnit(low, high) : byFactor(low, high);
    const row = this.#row(name), slider = element("input"), number = element("input");
    Object.assign(slider, { type: "range", id: "f-" + name, min: map.min, max: map.max, step: map.step });
    Object.assign(number, { type: "number", id: "f-" + name + "-number", min: low, max: high, step: whole.includes(name) ? 1 : "any" });
    number.setAttribute("aria-label", (names[name] || name) + ", number");
    row.append(slider, number);
    const auto = name === "sigma_s" && this.#options.radius ? this.#auto(row) : null;
    const field = { row, touched: -Infinity, held: false };
    const dress = (value) => slider.setAttribute("aria-valuetext", value + " " + (units[name] || ""));
    const draw = (value, from) => {
      if (from !== slider) slider.value = map.to(clamp(value, low, high));
      if (from !== number) number.value = Number(value.toPrecision(4));
      number.removeAttribute("aria-invalid");
      dress(Number(value.toPrecision(4)) + (auto?.checked ? ", automatic" : ""));
    };
    const take = (value, from) => {
      if (auto) auto.checked = false;
      draw(value, from);
      this.#change(name, value);
    };
    const follow = () => ((this.#filter.radius ?? 3) + 1) / 2;
    slider.addEventListener("input", () => take(map.from(Number(slider.value)), slider));
    slider.addEventListener("pointerdown", () => { field.held = true; });
    for (const end of ["pointerup", "pointercancel", "blur"]) slider.addEventListener(end, () => { field.held = false; });
    number.addEventListener("input", () => {
      const value = number.valueAsNumber, good = value >= low && value <= high && (!whole.includes(name) || Number.isInteger(value));
      if (good) take(value, number);
      else number.setAttribute("aria-invalid", "true");
      field.touched = performance.now();
    });
    number.addEventListener("change", () => {
      if (number.hasAttribute("aria-invalid")) field.touched = -Infinity; // what was there before comes back
      this.#settle();
    });
    if (auto) {
      auto.addEventListener("change", () => {
        const value = auto.checked ? 0 : round(follow());
        draw(follow());
        this.#change(name, value);
      });
    }
    field.show = (value) => {
      if (document.activeElement === number && number.hasAttribute("aria-invalid")) return; // still typing
      if (auto) auto.checked = value === 0;
      draw(auto && value === 0 ? follow() : value, document.activeElement === number && number.valueAsNumber === value ? number : null);
    };
    return field;
  }

  #auto(row) {
    const label = element("label", "check"), box = element("input");
    box.type = "checkbox";
    box.id = "f-sigma_s-auto";
    label.append(box, "auto");
    row.append(label);
    row.classList.add("tall");
    return box;
  }
}
