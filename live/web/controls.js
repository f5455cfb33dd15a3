// The filter's options: a slider and a number, a list, or a text, for each. Changes are sent at
// once, a text's when it is complete. The server's state is shown.
import { $, clamp, element, say, sentence } from "./util.js";

const hold = 700; // ms after a change during which the server's value is ignored
const notches = 200; // of a slider whose range spans orders of magnitude

const round = (x) => (x < 1 ? Math.round(x * 100) / 100 : x < 20 ? Math.round(x * 10) / 10 : Math.round(x));

// A range over orders of magnitude moves by factors: 1 to 20 matters more than 100 to 255.
const byFactor = (low, high) => ({
  min: 0, max: notches, step: 1,
  to: (x) => Math.round((notches * Math.log(x / low)) / Math.log(high / low)),
  from: (n) => clamp(round(low * (high / low) ** (n / notches)), low, high),
});
const even = (low, high, step) => ({ min: low, max: high, step, to: (x) => x, from: (n) => n });
const scale = ({ whole, min, max }) => {
  if (whole) return even(min, max, 1);
  return min > 0 && max / min > 10 ? byFactor(min, max) : even(min, max, 10 ** Math.floor(Math.log10((max - min) / 100)));
};

export class Controls {
  #set; // a fieldset
  #on;
  #built = "";
  #fields = new Map();
  #filter = {};
  #automatic = {};
  #pending = null;
  #later = 0;

  // on: change(filter) with the options that are new
  constructor(set, on) {
    this.#set = set;
    this.#on = on;
    set.form.addEventListener("submit", (e) => e.preventDefault());
  }

  // options: the filter's, as the server lists them; filter: their values; automatic: the derived
  // values.
  update({ options, filter, automatic }) {
    this.#build(options);
    this.#filter = filter;
    this.#automatic = automatic;
    this.#settle();
  }

  // The values of other settings follow. The last change is sent before, and no longer shown.
  leave() {
    this.#send();
    for (const field of this.#fields.values()) field.touched = -Infinity;
  }

  // The server has refused changes of some options. False if this is not shown beside a field.
  refuse(reason, names) {
    const field = (names ?? []).map((name) => this.#fields.get(name)).find((f) => f?.refuse);
    field?.refuse(reason);
    return field !== undefined;
  }

  set enabled(on) { this.#set.disabled = !on; }

  #build(options) {
    const now = JSON.stringify(options);
    if (now === this.#built) return;
    this.#built = now;
    this.#fields.clear();
    const rows = [], main = [], more = [], focus = document.activeElement?.id;
    for (const option of options) {
      const field = option.names ? this.#list(option) : option.switch ? this.#switch(option) : option.text ? this.#text(option) : this.#number(option);
      this.#fields.set(option.name, field);
      rows.push(field.row);
      (option.main ? main : more).push(field.row);
    }
    $("main-fields").replaceChildren(...main);
    $("more-fields").replaceChildren(...more);
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

  // One message for all changes until the next animation frame. The last change is always sent.
  #change(name, value) {
    this.#fields.get(name).touched = performance.now();
    this.#filter = { ...this.#filter, [name]: value };
    if (!this.#pending) {
      this.#pending = {};
      requestAnimationFrame(() => this.#send());
    }
    this.#pending[name] = value;
  }

  #send() {
    const all = this.#pending;
    this.#pending = null;
    if (all) this.#on.change(all);
  }

  #row({ name, title, unit, help }, ...inputs) {
    const row = element("div", "field"), label = element("label", "", title), words = element("p", "help", sentence(help) + ".");
    label.htmlFor = "f-" + name;
    if (unit) label.append(" ", element("span", "unit", "(" + unit + ")"));
    words.id = "f-" + name + "-help";
    for (const input of inputs) input.setAttribute("aria-describedby", words.id);
    row.append(label, ...inputs, words);
    return row;
  }

  #list(option) {
    const select = element("select"), row = this.#row(option, select);
    select.id = "f-" + option.name;
    for (const value of option.names) select.append(new Option(value, value));
    row.classList.add("list");
    select.addEventListener("change", () => this.#change(option.name, select.value));
    return { row, touched: -Infinity, held: false, show: (value) => { select.value = value; } };
  }

  #switch(option) {
    const box = element("input"), row = this.#row(option, box);
    Object.assign(box, { type: "checkbox", id: "f-" + option.name });
    row.classList.add("list");
    box.addEventListener("change", () => this.#change(option.name, box.checked));
    return { row, touched: -Infinity, held: false, show: (value) => { box.checked = value; } };
  }

  // A text is sent by Enter, or when the focus leaves. One that is refused stays to be corrected.
  #text({ name, form, ...option }) {
    const box = element("input"), wrong = element("p", "wrong"), row = this.#row({ name, ...option }, box);
    Object.assign(box, { type: "text", id: "f-" + name, placeholder: form ?? "", spellcheck: false, autocomplete: "off", maxLength: 200 });
    Object.assign(wrong, { id: box.id + "-wrong", hidden: true });
    wrong.setAttribute("role", "alert");
    row.append(wrong);
    row.classList.add("list");
    let shown = ""; // the server's value
    let refused = false; // and it has not come since
    const field = { row, touched: -Infinity, held: false };
    const clear = () => {
      field.held = false;
      box.removeAttribute("aria-invalid");
      say(wrong, "");
    };
    const take = () => {
      const value = box.value.trim();
      const same = !field.held || value === this.#filter[name];
      clear();
      if (!same) this.#change(name, value);
    };
    box.addEventListener("input", () => { field.held = true; });
    box.addEventListener("change", take);
    box.addEventListener("keydown", (e) => {
      if (e.key === "Enter") take();
      if (e.key !== "Escape") return;
      box.value = this.#filter[name];
      clear();
    });
    field.refuse = (reason) => {
      field.touched = -Infinity;
      refused = true;
      box.setAttribute("aria-invalid", "true");
      say(wrong, sentence(reason));
    };
    field.show = (value) => {
      const stays = box.hasAttribute("aria-invalid") && (refused || value === shown);
      refused = false;
      shown = value;
      if (stays) return;
      clear();
      if (box.value !== value) box.value = value; // else the selection stays
    };
    return field;
  }

  #number(option) {
    const { name, title, unit, whole, min, max } = option, map = scale(option);
    const slider = element("input"), number = element("input"), row = this.#row(option, slider, number);
    Object.assign(slider, { type: "range", id: "f-" + name, min: map.min, max: map.max, step: map.step });
    Object.assign(number, { type: "number", id: "f-" + name + "-number", min, max, step: whole ? 1 : "any" });
    number.setAttribute("aria-label", title + ", number");
    const auto = option.auto ? this.#auto(row, name) : null;
    const field = { row, touched: -Infinity, held: false };
    const draw = (value, from) => {
      const short = Number(value.toPrecision(4));
      if (from !== slider) slider.value = map.to(clamp(value, min, max));
      if (from !== number) number.value = short;
      number.removeAttribute("aria-invalid");
      slider.setAttribute("aria-valuetext", [short, unit].filter((x) => x !== undefined).join(" ") + (auto?.checked ? ", automatic" : ""));
    };
    const take = (value, from) => {
      if (auto) auto.checked = false;
      draw(value, from);
      this.#change(name, value);
    };
    slider.addEventListener("input", () => take(map.from(Number(slider.value)), slider));
    slider.addEventListener("pointerdown", () => { field.held = true; });
    for (const end of ["pointerup", "pointercancel", "blur"]) slider.addEventListener(end, () => { field.held = false; });
    number.addEventListener("input", () => {
      const value = number.valueAsNumber, good = value >= min && value <= max && (!whole || Number.isInteger(value));
      if (good) take(value, number);
      else number.setAttribute("aria-invalid", "true");
      field.touched = performance.now();
    });
    number.addEventListener("change", () => {
      if (number.hasAttribute("aria-invalid")) field.touched = -Infinity; // the last valid value
      this.#settle();
    });
    const followed = () => this.#automatic[name] ?? max / 10; // a measured value is not announced
    if (auto) {
      auto.addEventListener("change", () => {
        draw(followed());
        this.#change(name, auto.checked ? 0 : round(followed()));
      });
    }
    field.show = (value) => {
      // still typing
      if (document.activeElement === number && number.hasAttribute("aria-invalid")) return;
      if (auto) auto.checked = value === 0;
      draw(auto && value === 0 ? followed() : value, document.activeElement === number && number.valueAsNumber === value ? number : null);
      if (auto?.checked && this.#automatic[name] === undefined) number.value = "";
    };
    return field;
  }

  #auto(row, name) {
    const label = element("label", "check"), box = element("input");
    box.type = "checkbox";
    box.id = "f-" + name + "-auto";
    label.append(box, "auto");
    row.append(label);
    row.classList.add("tall");
    return box;
  }
}
