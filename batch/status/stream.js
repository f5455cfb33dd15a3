// The stream of events. An EventSource cannot send the token, so it is parsed here: event and data
// lines up to an empty one.
import { $, set, clean } from "./util.js";
import { hasToken, headers, onToken, remember } from "./session.js";

const read = async (body, handle) => {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    buffer += value;
    for (let end; (end = buffer.indexOf("\n\n")) >= 0; buffer = buffer.slice(end + 2)) {
      const [event, data] = buffer.slice(0, end).split("\n");
      handle(event.slice("event: ".length), JSON.parse(data.slice("data: ".length)));
    }
  }
};

// Something arrives every five seconds: after twenty the connection is dead.
const alive = async (body, handle, stop) => {
  let last = Date.now();
  const dead = setInterval(() => { if (Date.now() - last > 20000) stop.abort(); }, 5000);
  const watched = new TransformStream({ transform: (chunk, out) => { last = Date.now(); out.enqueue(chunk); } });
  try {
    await read(body.pipeThrough(watched), handle);
  } finally {
    clearInterval(dead);
  }
};

let restart = () => {};
onToken(() => restart());

// Calls handle(event, data) for ever. With another token the stream begins again.
export const follow = async (handle) => {
  for (;;) {
    const stop = new AbortController();
    const again = new Promise((go) => { restart = () => { stop.abort(); go(); }; });
    try {
      const r = await fetch("events", { headers: headers(), signal: stop.signal });
      if (r.status === 401) {
        const why = hasToken() ? "this is not the token" : "the token is needed";
        if (hasToken()) remember("");
        set($("live"), why);
        await new Promise((go) => { restart = go; });
        continue;
      }
      if (!r.ok) throw new Error((await r.text()).trim());
      set($("live"), "live");
      await alive(r.body, handle, stop);
      set($("live"), "connecting again");
    } catch (err) {
      set($("live"), "not connected: " + clean(err.message));
    }
    await Promise.race([again, new Promise((go) => setTimeout(go, 2000))]);
  }
};
