// The reader's token and its rights. The form at the top takes and forgets it.
import { $ } from "./util.js";

let token = sessionStorage.getItem("token") || "";
let readOnly = true, can = [];
const locked = document.body.dataset.locked === "true";
const changed = []; // functions to call

const show = () => {
  $("sign").hidden = readOnly && !locked && token === "";
  for (const e of [$("token"), $("sign").querySelector("label"), $("sign").querySelector("[type=submit]")]) e.hidden = token !== "";
  $("forget").hidden = token === "";
};

export const hasToken = () => token !== "";
export const headers = () => (token ? { Authorization: "Bearer " + token } : {});

// Whether the page offers an action to the reader. The server decides.
export const may = (verb) => token !== "" && !readOnly && can.includes(verb);
export const maySeeLogs = () => token !== "" && !readOnly;

export const allow = (whole) => {
  readOnly = whole.read_only;
  can = whole.can || [];
  show();
};

// Calls f after the token was given or forgotten.
export const onToken = (f) => { changed.push(f); };

export const remember = (t) => {
  token = t;
  if (t) sessionStorage.setItem("token", t);
  else sessionStorage.removeItem("token");
  show();
  for (const f of changed) f();
};

$("sign").addEventListener("submit", (e) => {
  e.preventDefault();
  remember($("token").value.trim());
  $("token").value = "";
});
$("forget").addEventListener("click", () => remember(""));
show();
