// All settings together: presets, the last visit's, and job files.
import { $, clean, element, remember, remembered, say, sentence } from "./util.js";

export class Settings {
  #on;
  #built = "";
  #restored = false;
  #mine = false; // this page has set something

  // on: change(filter), warn(text)
  constructor(on) {
    this.#on = on;
    $("import").addEventListener("click", () => $("import-file").click());
    $("import-file").addEventListener("change", () => this.#import());
    const advanced = $("advanced");
    advanced.open = remembered("advanced", false) === true;
    advanced.addEventListener("toggle", () => remember("advanced", advanced.open));
  }

  // Settings of this page are kept for its next visit.
  changed() {
    this.#mine = true;
    say($("settings-note"), "");
  }

  update({ presets, filter, restore, options }) {
    this.#build(presets);
    presets.forEach(({ filter: wanted }, i) => {
      const on = filter.off ? wanted.off : Object.entries(wanted).every(([name, value]) => filter[name] === value);
      $("presets").children[i].setAttribute("aria-pressed", String(on === true));
    });
    if (restore && !this.#restored) this.#restore(filter, options);
    this.#restored = true;
    if (this.#mine) remember("filter", filter);
  }

  #build(presets) {
    const now = JSON.stringify(presets);
    if (now === this.#built) return;
    this.#built = now;
    $("presets").replaceChildren(...presets.map(({ name, filter }) => {
      const b = element("button", "", sentence(name));
      b.type = "button";
      b.addEventListener("click", () => {
        this.changed();
        this.#on.change(filter);
      });
      return b;
    }));
  }

  // A crop or size is for the video that it was set for.
  #restore(filter, options) {
    const last = remembered("filter", null);
    for (const { name, frames } of options) if (frames) delete last?.[name];
    if (!last || Object.keys(filter).every((name) => last[name] === undefined || last[name] === filter[name])) return;
    this.#on.change(last);
    say($("settings-note"), "As at your last visit. Reset goes back to the start.");
  }

  async #import() {
    const [file] = $("import-file").files;
    $("import-file").value = ""; // the same file can be chosen again
    if (!file) return;
    try {
      const answer = await fetch("job", { method: "POST", headers: { "Content-Type": "application/yaml" }, body: file });
      if (!answer.ok) throw new Error(await answer.text());
      const { others } = await answer.json();
      this.changed();
      const name = clean(file.name);
      say($("settings-note"), others.length > 0 ? `Read from ${name}, but for options of the file's encoding: ${others.join(", ")}` : `Read from ${name}`);
    } catch (e) {
      this.#on.warn(e.message.trim());
    }
  }
}
