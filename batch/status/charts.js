// The charts of the throughput.
import { $, element, set } from "./util.js";

const width = 600, height = 100; // of the drawing, which is stretched

const shape = (name, attributes) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  return e;
};

// The least round number that is not below x.
const above = (x) => {
  const ten = 10 ** Math.floor(Math.log10(x));
  return [1, 2, 5, 10].map((n) => n * ten).find((n) => n >= x);
};

const area = (values, most) => {
  const step = width / values.length, y = (v) => height - v / most * height;
  const line = values.map((v, i) => "L" + i * step + " " + y(v) + "H" + (i + 1) * step).join("");
  return [shape("path", { d: "M0 " + height + line + "V" + height + "Z" })];
};

const bars = (values, most) => {
  const step = width / values.length;
  return values.flatMap((v, i) => (v === 0 ? [] : [shape("rect", {
    x: (i + 0.1) * step, y: height - v / most * height, width: 0.8 * step, height: v / most * height,
  })]));
};

const draw = (figure, shapes, values, words, span) => {
  const most = above(Math.max(1, ...values));
  const svg = figure.querySelector("svg");
  svg.setAttribute("aria-label", words);
  svg.replaceChildren(...shapes(values, most));
  set(figure.querySelector(".most"), String(most));
  set(figure.querySelector(".words"), words);
  set(figure.querySelector(".from"), "1 " + span + " ago");
  figure.querySelector(".plot").hidden = false;
};

let history = null, span = "hour";

const drawAll = () => {
  for (const b of $("spans").querySelectorAll("button")) b.setAttribute("aria-pressed", String(b.value === span));
  if (!history) return;
  const s = history[span];
  draw($("fps"), area, s.fps, s.words[0], s.span);
  draw($("done"), bars, s.done, s.words[1], s.span);
};

export const drawHistory = (h) => {
  history = h;
  drawAll();
};

for (const value of ["hour", "day"]) {
  const b = element("button", "", value);
  b.type = "button";
  b.value = value;
  b.addEventListener("click", () => { span = value; drawAll(); });
  $("spans").append(b);
}
drawAll();
