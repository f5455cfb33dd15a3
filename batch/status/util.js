// Small things that every part of the page uses. Text is set only by textContent, since file names
// are untrusted.
export const $ = (id) => document.getElementById(id);

// Makes control characters and direction marks visible.
export const clean = (s) => String(s).replace(/[\p{Cc}\p{Bidi_C}\u2028\u2029\ufffd]/gu,
  (c) => "\\u" + c.codePointAt(0).toString(16).padStart(4, "0"));

export const set = (node, text) => { if (node.textContent !== text) node.textContent = text; };
export const say = (node, text) => { set(node, text); node.hidden = text === ""; };

export const element = (name, kind, text) => {
  const e = document.createElement(name);
  if (kind) e.className = kind;
  if (text !== undefined) e.textContent = text;
  return e;
};
