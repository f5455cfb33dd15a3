// The list of viewers, for those with control. They can remove viewers.
import { clean, element } from "./util.js";

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const rights = { view: "looks on", control: "has control" };

export class Guests {
  #section;
  #list;
  #kick;
  #built = "";

  // kick(id) sends one away.
  constructor(section, list, kick) {
    this.#section = section;
    this.#list = list;
    this.#kick = kick;
  }

  // guests: as the server lists them, or null for viewers without control.
  update(guests) {
    const now = JSON.stringify(guests);
    if (now === this.#built) return;
    this.#built = now;
    const all = guests ?? [];
    this.#section.hidden = all.length < 2 && all.every((g) => g.you);
    this.#list.replaceChildren(...all.map((g) => this.#row(g)));
  }

  #row(g) {
    const row = element("li"), who = clean(g.address);
    row.append(element("span", "", `${who}, ${clean(g.transport)}, ${g.you ? "you" : rights[g.rights] ?? ""}, since ${clock.format(g.since)}`));
    if (g.you) return row;
    const button = element("button", "", "Remove");
    button.type = "button";
    button.setAttribute("aria-label", `Remove ${who}, ${clean(g.transport)}`);
    button.addEventListener("click", () => this.#kick(g.id));
    row.append(button);
    return row;
  }
}
