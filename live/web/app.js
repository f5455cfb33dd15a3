// The page of vidfilter live: joins the socket, the picture, the controls, the camera and the
// figures.
import { $, clean, element, now, remember, remembered, say, sentence, set } from "./util.js";
import { Link, login } from "./link.js";
import { AvcPlayer, avcPossible } from "./avc.js";
import { Picture } from "./picture.js";
import { Gestures } from "./gestures.js";
import { Controls } from "./controls.js";
import { Settings } from "./settings.js";
import { Compare } from "./compare.js";
import { Recording } from "./recording.js";
import { Place } from "./place.js";
import { Samples } from "./samples.js";
import { Noise } from "./noise.js";
import { Figures } from "./figures.js";
import { Camera, inWords } from "./camera.js";
import { Microphone } from "./microphone.js";
import { listen } from "./keys.js";
import { JpegPlayer } from "./jpeg.js";
import { Guests } from "./guests.js";
import { Sound } from "./sound.js";

let whyJPEG = "", player = null, state = null, start = null, lost = null, lastId = null, spoken = "";
let byProgram = false; // opened by the program; not yet known whether a camera is wanted

const link = new Link({ opened, lost: (l) => disconnected(l), login: askLogin, message, picture: (h, d) => player?.picture(h, d), sound: (h, d) => sound.packet(h, d) });
const picture = new Picture($("canvas"), { laid });
const gestures = new Gestures($("stage"), $("line"), picture);
const figures = new Figures($("graph"));
const setFilter = (filter) => link.send({ type: "set", filter });
const recording = new Recording((what) => link.send({ type: "record", do: what }));
const place = new Place((m) => mayControl() && link.send(m));
const samples = new Samples((m) => link.send(m), $("stage"), (e) => {
  const box = $("canvas").getBoundingClientRect();
  return picture.spot(e.clientX - box.left, e.clientY - box.top);
});
const noise = new Noise($("stage"), { spot: (x, y) => picture.spot(x, y), ask: (m) => mayControl() && link.send(m) });
const settings = new Settings({ change: setFilter, warn });
const controls = new Controls($("filter"), {
  change: (filter) => {
    settings.changed();
    setFilter(filter);
  },
});
const compare = new Compare({
  ask: (what) => {
    if (!mayControl()) return;
    controls.leave();
    link.send({ type: "compare", do: what });
  },
});
const camera = new Camera(link, () => drawCamera());
const sound = new Sound((m) => link.send(m));
const guests = new Guests($("guests"), $("guest-list"), (id) => link.send({ type: "kick", guest: id }));

// Whether this page may do more than look.
const mayControl = () => state?.rights !== "view";

// ---- the connection

// Announces changes to screen readers, but never the figures of each second.
function speak(text) {
  if (text === spoken) return;
  spoken = text;
  set($("status"), text);
}

let alertTimer = 0;
function warn(text) {
  say($("alert"), sentence(text));
  clearTimeout(alertTimer);
  alertTimer = setTimeout(() => say($("alert"), ""), 8000);
}

// why: the reason for JPEGs, "" for H.264 where the browser plays it.
async function connect(why) {
  whyJPEG = why || (await avcPossible() ? "" : "this browser does not play H.264 by WebCodecs here");
  link.open(whyJPEG ? "jpeg" : "avc");
}

function openPlayer() {
  player?.close();
  player = null;
  const on = {
    show, unable: worse, key: () => link.send({ type: "key" }),
    ack: (id, wait) => link.send({ type: "ack", id, wait }),
  };
  player = whyJPEG ? new JpegPlayer(on) : new AvcPlayer(on);
  say($("way"), whyJPEG && `Shown as single JPEGs, which takes longer and more of the line: ${whyJPEG}.`);
  drawTools();
}

// The browser cannot play it after all.
function worse(why) {
  console.warn("vidfilter: WebCodecs: " + why);
  player?.close();
  player = null;
  connect("WebCodecs failed in this browser" + (why ? ` (${clean(why)})` : ""));
}

function opened() {
  lost = null;
  $("login").hidden = true;
  $("main").hidden = false;
  openPlayer();
  sound.opened();
  controls.enabled = true;
  speak("Connected");
  drawOver();
}

function disconnected(l) {
  lost = l;
  $("main").hidden = false;
  player?.close();
  player = null;
  camera.disconnected();
  controls.enabled = false;
  speak(lostWords() + (l.ended || l.kicked ? "" : ". Trying again"));
  drawOver();
}

function askLogin() {
  link.close();
  player?.close();
  player = null;
  camera.disconnected();
  $("main").hidden = true;
  $("login").hidden = false;
  speak("Not logged in");
  $("token").focus();
}

// The token is in the address's fragment, which browsers never send. It is removed from the
// history too.
function takeToken() {
  const token = location.hash.slice(1);
  if (token) history.replaceState(null, "", location.pathname + location.search);
  return token;
}

async function enter(token) {
  try {
    const answer = token ? await login(token) : { ok: true };
    byProgram ||= answer.opened === true;
    if (!answer.ok) {
      askLogin();
      say($("login-trouble"), "This token is not the right one. Each start of vidfilter live has another, unless --token keeps it.");
      return;
    }
  } catch {
    if (!$("login").hidden) {
      say($("login-trouble"), "The server does not answer.");
      return;
    }
  }
  say($("login-trouble"), "");
  $("token").value = "";
  await connect(new URLSearchParams(location.search).get("video") === "jpeg" ? "the address asks for it" : "");
}

$("login-form").addEventListener("submit", (e) => {
  e.preventDefault();
  const text = $("token").value.trim();
  enter(text.slice(text.indexOf("#") + 1));
});
addEventListener("hashchange", () => {
  const token = takeToken();
  if (token) enter(token);
});

// ---- messages of the server

function message(m) {
  const known = {
    state: () => newState(m), config: () => configure(m), stats: () => { figures.show(m, link.clock); noise.show(m.noise); }, place: () => place.set(m.at),
    samples: () => samples.show(m), refused: () => refused(m),
    camera_refused: () => { warn(m.reason); camera.giveUp(); }, camera_ack: () => camera.ack(m.id), camera_key: () => camera.key(), camera_rate: () => camera.rate(m.bits),
  };
  if (Object.hasOwn(known, m.type)) known[m.type]();
}

// The stages that the delay covers.
const delayWords = {
  browser: ["from this camera to vidfilter and back to the screen",
    "From the time at which this browser's camera took a picture to when the filtered one is drawn. For another page's or a WebRTC camera it is not known."],
  camera: ["from the camera to the screen", "From the time that the camera's driver gives a picture to when it is drawn. The exposure before is not known."],
  file: ["from arrival here to the screen", "From when vidfilter has read and decoded a picture to when it is drawn. The time before, within a camera and on the way from it, is not known."],
  test: ["from its making to the screen", "From the time at which a test picture is made, which its clock shows, to when it is drawn."],
};
function explainDelay(source) {
  const [words, more] = delayWords[source] ?? delayWords.file;
  set($("latency-of"), words);
  $("delay-text").title = more;
}

const smallerWords = {
  rate: "the line carries no more", coder: "the server cannot encode larger ones in time", viewer: "this browser does not keep up with larger ones",
};
function configure(config) {
  player?.configure(config);
  const words = smallerWords[config.smaller];
  say($("smaller"), words ? `Sent at ${Math.round(100 / config.scale)} % of the width and height: ${words}.` : "");
}

function refused({ reason, options }) {
  if (!controls.refuse(reason, options)) warn(reason);
  if (state) controls.update(state);
}

// The size of the source's frames and, if different, of the results.
const sizes = ({ width, height, shown }) => {
  if (!(width > 0)) return "";
  return `${width}x${height}` + (shown?.width > 0 && (shown.width !== width || shown.height !== height) ? ` → ${shown.width}x${shown.height}` : "");
};

function newState(s) {
  const before = state;
  state = s;
  start = s.start ?? start ?? s.filter;
  const turned = compare.update(s);
  controls.update(s);
  settings.update(s);
  drawTools();
  picture.setDisplay(s.turn, s.aspect || 1);
  if (!picture.empty) shape(picture.size);
  const facts = [clean(s.input), sizes(s), s.fps > 0 ? s.fps.toFixed(s.fps % 1 ? 2 : 0) + " fps" : "", clean(s.backend), mayControl() ? "" : "view only"];
  set($("what"), facts.filter(Boolean).join(" · "));
  $("what").title = s.version;
  drawCommand(s.command);
  $("freeze").setAttribute("aria-pressed", String(s.frozen));
  set($("viewers"), s.viewers > 1 ? `${s.viewers} of ${s.max_viewers} viewers` : "");
  document.body.classList.toggle("looking", !mayControl());
  guests.update(s.guests);
  recording.update(s);
  place.update(s);
  sound.update(s, camera.announced);
  explainDelay(s.source);
  if (s.status !== before?.status || s.message !== before?.message) speak(statusWords(s));
  else if (s.frozen !== before?.frozen) speak(s.frozen ? "Frozen" : "Live");
  else if (turned) speak(compare.chosen === "" ? "Original and filtered" : `Settings ${compare.chosen}`);
  if (s.notice && s.notice !== before?.notice) warn(s.notice);
  drawOver();
  newCameraState(s);
}

// Lines break between words: behind the dash of an option they would mislead.
function drawCommand(command) {
  if ($("command").textContent === command) return;
  $("command").replaceChildren(...command.split(" ").flatMap((word, i) => [i > 0 ? " " : "", element("span", "", word)]));
}

const plain = { starting: "Starting", live: "Live", waiting: "Waiting for the source", ended: "The end", failed: "The source failed" };
const statusWords = (s) => (s.frozen && s.status === "live" ? "Frozen" : sentence(s.message) || plain[s.status] || clean(s.status));

const lostWords = () => (lost.kicked ? "You were removed" : lost.full ? "Too many viewers" : lost.ended ? "vidfilter has ended" : "Connection lost");

// The message over the picture: {text, hint, button, does}, or null.
function overWords() {
  if (lost) {
    if (lost.kicked) return { text: lostWords(), hint: sentence(lost.reason), button: "Log in again", does: () => link.again() };
    if (lost.ended) return { text: lostWords(), hint: "Start vidfilter live again, and open the address that it prints.", button: "Try again", does: () => link.again() };
    return { text: lostWords(), hint: [sentence(lost.reason), "Trying again."].filter(Boolean).join(". "), button: "Try now", does: () => link.retry() };
  }
  if (!state) return { text: "Connecting" };
  const words = { text: statusWords(state), hint: sentence(state.hint) };
  if (!mayControl()) return state.status !== "live" ? words : picture.empty ? { text: "Waiting for the first picture" } : null;
  if (state.status === "ended") return { ...words, text: statusWords(state), button: "Play again", does: playAgain };
  if (state.camera_wanted && !camera.announced) return cameraWords(words);
  if (state.status !== "live") return words;
  if (picture.empty) return { text: "Waiting for the first picture" };
  return null;
}

function cameraWords(words) {
  if (!Camera.possible) return { text: "Waiting for a camera", hint: "The browser does not give this page its camera." };
  if (camera.error) return { text: inWords(camera.error), button: "Use this camera", does: () => camera.start() };
  if (camera.on) return { text: "Starting the camera" };
  return { ...words, button: "Use this camera", does: () => camera.start() };
}

let overDoes = null;
function drawOver() {
  const words = overWords();
  $("over").hidden = words === null;
  if (!words) return;
  set($("over-text"), words.text);
  say($("over-hint"), words.hint || "");
  say($("over-do"), words.button || "");
  overDoes = words.does || null;
}
$("over-do").addEventListener("click", () => overDoes?.());

function playAgain() {
  if (mayControl()) link.send({ type: "restart" });
}

// ---- pictures

function show(p) {
  const first = picture.empty;
  picture.show(p);
  lastId = p.header.id;
  figures.count(p, stampClock(p.header));
  sound.shown(p.header);
  p.image.close();
  shape(picture.size);
  if (compare.show(p.header.compared)) drawTools();
  if (first) drawOver();
}

// The stamp is by the server's clock, or by ours if our camera took the picture. A still picture
// has no delay.
function stampClock(header) {
  if (header.repeated || state?.status !== "live") return null;
  if (header.own) return camera.announced ? now() : null;
  return link.clock.known ? now() + link.clock.offset : null;
}

function shape({ width, height }) {
  if ($("stage").dataset.shape === `${width}/${height}`) return;
  $("stage").dataset.shape = `${width}/${height}`;
  $("stage").style.setProperty("--shape", `${width} / ${height}`);
  drawTools();
}

const sides = () => (picture.swapped ? compare.names.reverse() : compare.names);
const inText = (name) => (name.length > 1 ? name.toLowerCase() : name); // except for A and B

// The line and the words on the picture, where the canvas has it.
function laid(l, ratio) {
  const line = $("line"), split = picture.mode === "split" && !picture.empty;
  line.hidden = !split;
  if (split) {
    line.style.left = l.line / ratio + "px";
    line.style.top = l.top / ratio + "px";
    line.style.height = (l.bottom - l.top) / ratio + "px";
    const part = Math.round(picture.split * 100);
    line.setAttribute("aria-valuenow", part);
    line.setAttribute("aria-valuetext", `${part} % ${inText(sides()[0])}`);
  }
  const zoomed = picture.zoomed ? Math.round(l.scale * 100) + " %" : "";
  if ($("zoomed").textContent !== zoomed) {
    say($("zoomed"), zoomed);
    $("stage").classList.toggle("zoomed", zoomed !== "");
  }
}

// ---- tools

function drawTools() {
  for (const b of document.querySelectorAll("[data-mode]")) b.setAttribute("aria-pressed", String(b.dataset.mode === picture.mode));
  $("amplify").hidden = picture.mode !== "difference";
  const alone = picture.mode === "original" || picture.mode === "filtered";
  const [first, second] = compare.names;
  set(document.querySelector("[data-mode=original]"), first);
  set(document.querySelector("[data-mode=filtered]"), second);
  $("save").href = "snapshot?view=" + (alone ? { original: "left", filtered: "right" }[picture.mode] : "split");
  $("save").title = `Save ${alone ? "this picture" : "both pictures"} at full size, not coded for the page`;
  $("swap").setAttribute("aria-pressed", String(picture.swapped));
  const [left, right] = sides(), words = { split: [left, right], original: [first, ""], filtered: [second, ""], difference: [compare.shown ? "Difference of A and B" : "Difference", ""] };
  const [a, b] = picture.empty ? ["", ""] : words[picture.mode];
  compare.label($("left"), a);
  compare.label($("right"), b);
  $("line").setAttribute("aria-label", `Line between ${inText(first)} and ${inText(second)}`);
  const said = {
    split: `The picture: ${inText(left)} left of the line, ${inText(right)} right of it`, difference: `The difference between ${inText(first)} and ${inText(second)}`,
    original: `The picture, ${inText(first)}`, filtered: `The picture, ${inText(second)}`,
  };
  $("canvas").setAttribute("aria-label", picture.empty ? "No picture yet" : said[picture.mode]);
}

function setMode(mode) {
  picture.setMode(mode);
  link.look(picture.view);
  drawTools();
}
function swap() {
  picture.setSwapped(!picture.swapped);
  drawTools();
}
const freeze = () => mayControl() && link.send({ type: "freeze", on: !state?.frozen });
function reset() {
  if (!start || !mayControl()) return;
  settings.changed();
  setFilter(start);
}

async function fullScreen() {
  try {
    if (document.fullscreenElement) await document.exitFullscreen();
    else await $("view").requestFullscreen();
  } catch (e) {
    warn("No full screen: " + e.message);
  }
}

const save = () => $("save").click();

async function copy() {
  const field = $("command");
  try {
    await navigator.clipboard.writeText(field.textContent);
  } catch { // not in an insecure context: select for copying by hand, and try the old API
    getSelection().selectAllChildren(field);
    if (!document.execCommand("copy")) {
      speak("The command is selected");
      return;
    }
  }
  speak("Command copied");
  set($("copy"), "Copied");
  setTimeout(() => set($("copy"), "Copy"), 2000);
}

function wireTools() {
  for (const b of document.querySelectorAll("[data-mode]")) b.addEventListener("click", () => setMode(b.dataset.mode));
  const clicks = {
    swap, freeze, full: fullScreen, copy, reset, "zoom-in": () => picture.zoom(1.25), "zoom-out": () => picture.zoom(0.8),
    "zoom-fit": () => picture.fit(), "help-open": () => $("help").showModal(), "insecure-close": () => { $("insecure").hidden = true; },
    "camera-start": () => camera.start(), "camera-stop": () => camera.stop(),
  };
  for (const [id, does] of Object.entries(clicks)) $(id).addEventListener("click", does);
  $("full").hidden = !document.fullscreenEnabled;
  const amplify = () => set($("amplification-out"), picture.amplification + "x");
  $("amplification").value = picture.amplification;
  $("amplification").addEventListener("input", (e) => {
    picture.setAmplification(Number(e.target.value));
    amplify();
  });
  amplify();
  $("follow").checked = gestures.follow = remembered("follow", false) === true;
  $("follow").addEventListener("change", (e) => {
    gestures.follow = e.target.checked;
    remember("follow", e.target.checked);
  });
  document.addEventListener("fullscreenchange", () => set($("full"), document.fullscreenElement ? "Leave full screen" : "Full screen"));
}

const pan = (dx, dy) => {
  if (picture.zoomed) picture.pan(dx, dy);
  else if (dx !== 0 && picture.mode === "split") picture.setSplit(picture.split - Math.sign(dx) * 0.02);
};
const keys = [
  ["1", "split", () => setMode("split")],
  ["2", "original, or A", () => setMode("original")],
  ["3", "filtered, or B", () => setMode("filtered")],
  ["4", "difference", () => setMode("difference")],
  ["s", "swap the sides", swap],
  ["b", "compare settings A and B, or original and filtered", () => compare.toggle()],
  ["x", "change the other of A and B", () => compare.other()],
  ["o", "copy the settings to the other of A and B", () => compare.copy()],
  ["Space", "freeze or resume", freeze],
  ["+", "zoom in", () => picture.zoom(1.25)],
  ["-", "zoom out", () => picture.zoom(0.8)],
  ["0", "fit the picture to the page", () => picture.fit()],
  ["ArrowLeft", "move the line, or a zoomed picture, left", () => pan(60, 0)],
  ["ArrowRight", "move it right", () => pan(-60, 0)],
  ["ArrowUp", "move a zoomed picture up", () => pan(0, 60)],
  ["ArrowDown", "move it down", () => pan(0, -60)],
  [",", "show the previous picture of a file", () => place.step(-1)],
  [".", "show the next picture of a file", () => place.step(1)],
  ["m", "sound on or off", () => sound.toggle()],
  ["f", "full screen", fullScreen],
  ["p", "save as PNG: both pictures, or the one shown", save],
  ["c", "copy the command", copy],
  ["r", "reset the settings", reset],
  ["a", "play again, at the end", () => { if (state?.status === "ended") playAgain(); }],
  ["?", "show this list", () => $("help").showModal()],
];

// ---- this browser's camera

async function newCameraState(s) {
  const theirs = s.source === "browser" && mayControl();
  $("camera").hidden = !theirs;
  if (!theirs) return;
  const first = byProgram;
  byProgram = false;
  if (!s.camera_wanted) camera.taken();
  else if (camera.on) camera.wanted();
  else if (first && mayStart() && await camera.allowed() && mayStart()) camera.start();
  drawCamera();
}

// Without a click: once, on the page opened by the program, and only if the browser does not have
// to ask.
const mayStart = () => Camera.possible && state.camera_wanted && !camera.on && !camera.error;

async function drawCamera() {
  const free = state?.camera_wanted === true, { on } = camera;
  $("camera-start").hidden = on || !Camera.possible || !free;
  $("camera-stop").hidden = !on && !camera.waiting;
  const text = !Camera.possible ? "The browser does not give this page its camera."
    : camera.error ? inWords(camera.error)
      : on ? (camera.announced ? "Sent: " : "Ready: ") + clean(camera.what)
        : free ? "The server waits for a camera." : "Another page sends its camera.";
  set($("camera-text"), text);
  $("camera-text").classList.toggle("trouble", camera.error !== "");
  say($("camera-silence"), camera.silence);
  drawOver();
  if (Camera.possible) await listDevices();
}

async function listDevices() {
  const all = await camera.devices().catch(() => []);
  $("camera-device-row").hidden = all.length < 2;
  const list = $("camera-device"), said = JSON.stringify(all.map((d) => [d.deviceId, d.label]));
  if (list.dataset.said === said) return;
  list.dataset.said = said;
  list.replaceChildren(...all.map((d, i) => new Option(clean(d.label) || `Camera ${i + 1}`, d.deviceId)));
  list.value = camera.choice.device;
  if (list.selectedIndex < 0) list.selectedIndex = 0;
}

function wireCamera() {
  const size = remembered("camera-size", "1280x720");
  if ([...$("camera-size").options].some((o) => o.value === size)) $("camera-size").value = size;
  const take = () => {
    const [width, height] = $("camera-size").value.split("x").map(Number);
    Object.assign(camera.choice, { width, height });
    remember("camera-size", $("camera-size").value);
  };
  take();
  $("camera-size").addEventListener("change", () => {
    take();
    if (camera.on) camera.start();
  });
  $("camera-sound-row").hidden = !Microphone.possible;
  $("camera-sound").addEventListener("change", (e) => {
    camera.choice.sound = e.target.checked;
    if (camera.on) camera.start();
  });
  $("camera-device").addEventListener("change", (e) => {
    camera.choice.device = e.target.value;
    if (camera.on) camera.start();
  });
}

// ---- at the start

function explainInsecure() {
  if (window.isSecureContext) return;
  $("insecure").hidden = false;
  const port = location.port || "80";
  set($("forward"), `ssh -L 8765:127.0.0.1:${port} ${location.hostname}`);
}

// Read-only view of the page's state, for tests and debugging.
Object.defineProperty(window, "vidfilter", {
  value: Object.freeze({
    get connected() { return link.connected; },
    get transport() { return link.video; },
    get id() { return lastId; },
    get drawn() { return figures.drawn; },
    get arrivalToScreen() { return figures.latency; },
    get arrivalToScreenLately() { return [...figures.latencies]; },
    get stampErrors() { return figures.stampErrors; },
    get state() { return structuredClone(state); },
    get stats() { return structuredClone(figures.stats); },
    get mode() { return picture.mode; },
    get scale() { return picture.scale; },
    has: (view) => picture.has(view),
    get split() { return picture.split; },
    get sound() { return sound.figures; },
    get layout() { return picture.layout(); },
    get camera() { return { on: camera.on, announced: camera.announced, error: camera.error, sent: camera.sent, heard: camera.heard, dropped: camera.dropped, what: camera.what }; },
    pixels: (which, x, y, w, h) => picture.pixels(which, x, y, w, h),
  }),
});

$("help-open").hidden = false;
wireTools();
wireCamera();
listen(keys, $("keys"), $("shortcuts"));
link.look(picture.view);
drawTools();
explainInsecure();
enter(takeToken());
