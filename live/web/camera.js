// Sends this browser's camera to the server. At most a few pictures are in flight. Others are
// dropped before they are encoded.
import { CaptureClock, clean, median, now } from "./util.js";
import { Microphone } from "./microphone.js";

const inFlight = 3;
const patience = 1000; // ms until an unacknowledged picture counts as lost
// An encoder may keep many pictures back, even in realtime mode. The first ones of each are timed.
const trial = 6; // pictures that an encoder gets before its first comes out
const stuck = 1000; // ms without any: it is too slow
const timed = 10; // pictures
const quick = 200; // ms: the median that is good enough; else the next encoder is tried
const hopeless = 2000; // ms: JPEGs are better
const retime = 15000; // ms, doubled each time, until slow encoders are timed again: the machine may have been busy
const header = 16; // bytes in front of each picture
const resumable = 15000; // ms that the camera stays on without a connection
const again = 2000; // ms between attempts to get a camera that went away

// The browser's errors in words.
const words = {
  NotAllowedError: "The browser may not use the camera. Allow it for this page (at the address), then press the button again.",
  NotFoundError: "There is no camera. Plug one in; it is used as soon as it is there.",
  NotReadableError: "The camera is busy or does not answer. Close the program that uses it.",
  OverconstrainedError: "The camera cannot do this size. Choose another one.",
  AbortError: "The camera could not be started.",
  SecurityError: "The browser forbids cameras on this page.",
  ended: "The camera was unplugged or switched off. It is used again when it is back.",
};
export const inWords = (name) => words[name] || "The camera does not work: " + name;
const comesBack = new Set(["NotFoundError", "NotReadableError", "AbortError", "ended"]);

// H.264 levels, each with the macroblocks that a picture and a second may have.
const levels = [[0x1e, 1620, 40500], [0x1f, 3600, 108000], [0x28, 8192, 245760], [0x2a, 8704, 522240], [0x32, 22080, 589824], [0x33, 36864, 983040]];
const h264 = (width, height, fps) => {
  const blocks = Math.ceil(width / 16) * Math.ceil(height / 16);
  const [level] = levels.find(([, picture, second]) => blocks <= picture && blocks * fps <= second) || levels.at(-1);
  return "avc1.42e0" + level.toString(16);
};

// The encoders, the best first. JPEG is every browser's.
const encodings = (size) => {
  const common = { width: size.width & ~1, height: size.height & ~1, framerate: size.fps, bitrate: size.bits, latencyMode: "realtime" };
  return [
    { name: "h264", config: { ...common, codec: h264(size.width, size.height, size.fps), avc: { format: "annexb" } } },
    { name: "vp8", config: { ...common, codec: "vp8" } },
    { name: "jpeg", config: null },
  ];
};

const possible = async (encoding) => {
  if (!encoding.config) return true;
  if (typeof VideoEncoder === "undefined" || typeof VideoFrame === "undefined") return false;
  try {
    return (await VideoEncoder.isConfigSupported(encoding.config)).supported === true;
  } catch {
    return false;
  }
};

export class Camera {
  #link;
  #changed;
  #stream = null;
  #track = null;
  #starting = 0; // counts attempts: an older one's result is not used
  #stopFrames = null;
  #encoder = null;
  #encoding = null;
  #size = null;
  #failed = new Set(); // names of encoders
  #lags = new Map(); // ms from a picture's way into an encoder to its way out, by the encoder's name
  #retiming = 0; // a timer
  #patience = retime;
  #timing = null; // of the present encoder: {began, given, lags}; null: it is known
  #clock = new CaptureClock();
  #flight = new Map(); // id: when it was handed to the encoder
  #next = 0;
  #key = true;
  #busy = false; // a JPEG is being made
  #canvas = null; // that JPEGs are made of
  #captures = new Map(); // {at, given} by id, of the pictures in the encoder
  #retry = 0;
  #resuming = 0; // a timer: after a lost connection the server's camera may be this one
  #microphone = null;
  announced = false; // the server knows
  error = "";
  silence = ""; // why there is no sound, though it is wanted
  sent = 0;
  heard = 0; // packets of sound that were sent
  dropped = 0;
  choice = { device: "", width: 1280, height: 720, sound: false };

  constructor(link, changed) {
    this.#link = link;
    this.#changed = changed;
    navigator.mediaDevices?.addEventListener?.("devicechange", () => {
      this.#changed();
      if (!this.#track && comesBack.has(this.error)) this.start();
    });
  }

  static get possible() { return window.isSecureContext && Boolean(navigator.mediaDevices?.getUserMedia); }
  get on() { return this.#track !== null; }
  get waiting() { return this.#track === null && comesBack.has(this.error); }
  get what() {
    if (!this.#track || !this.#size) return "";
    const { width, height, fps } = this.#size;
    return `${this.#track.label || "camera"}, ${width}x${height}, ${fps} fps, ${this.#encoding?.name ?? ""}${this.#microphone ? ", with sound" : ""}`;
  }

  async devices() {
    const all = await navigator.mediaDevices.enumerateDevices();
    return all.filter((d) => d.kind === "videoinput");
  }

  // Whether the camera may be used without a prompt. Not every browser has it.
  async allowed() {
    try {
      return (await navigator.permissions.query({ name: "camera" })).state === "granted";
    } catch {
      return false;
    }
  }

  async start() {
    const attempt = ++this.#starting;
    clearTimeout(this.#retry);
    this.#release();
    const { device, width, height } = this.choice;
    const video = { width: { ideal: width, max: 1920 }, height: { ideal: height, max: 1080 }, frameRate: { ideal: 30 } };
    if (device) video.deviceId = { exact: device };
    try {
      const stream = await this.#take(video);
      if (attempt !== this.#starting) {
        for (const t of stream.getTracks()) t.stop();
        return;
      }
      this.#begin(stream);
    } catch (e) {
      if (attempt === this.#starting) this.#fail(e.name === "OverconstrainedError" && device ? this.#forgetDevice() : e.name);
    }
  }

  // A microphone that cannot be had does not keep the camera away.
  async #take(video) {
    this.silence = "";
    if (this.choice.sound) {
      try {
        return await navigator.mediaDevices.getUserMedia({ video, audio: true });
      } catch (e) {
        this.silence = "No sound: " + (e.name === "NotAllowedError" ? "the browser may not use the microphone." : "there is no microphone, or it does not work.");
      }
    }
    return navigator.mediaDevices.getUserMedia({ video, audio: false });
  }

  #forgetDevice() { // the chosen camera is gone
    this.choice.device = "";
    return "NotFoundError";
  }

  #begin(stream) {
    this.error = "";
    this.#stream = stream;
    this.#track = stream.getVideoTracks()[0];
    this.#track.addEventListener("ended", () => { if (this.#stream === stream) this.#fail("ended"); });
    this.#failed.clear();
    this.#patience = retime;
    this.#clock = new CaptureClock();
    this.#size = null; // known with the first frame
    if (stream.getAudioTracks().length > 0) this.#listen(stream);
    this.#stopFrames = this.#frames(stream);
    this.#changed();
  }

  #listen(stream) {
    const silent = (why) => {
      this.#microphone?.close();
      this.#microphone = null;
      this.silence = "No sound: " + why;
      this.#changed();
    };
    stream.getAudioTracks()[0].addEventListener("ended", () => { if (this.#stream === stream) silent("the microphone was unplugged or switched off."); });
    this.#microphone = new Microphone(stream, { sound: (data, capture) => this.#sound(data, capture), unable: (why) => silent(clean(why)) });
  }

  #sound(data, capture) {
    if (!this.announced) return;
    const message = new ArrayBuffer(header + data.length), view = new DataView(message);
    view.setUint8(0, 2);
    view.setFloat64(8, capture, true);
    new Uint8Array(message, header).set(data);
    this.#link.send(message);
    this.heard++;
  }

  stop() {
    this.#starting++;
    clearTimeout(this.#retry);
    this.error = "";
    this.#release();
    this.#link.send({ type: "camera", on: false });
    this.#changed();
  }

  #fail(name) {
    this.#release();
    this.error = name;
    this.#link.send({ type: "camera", on: false, error: name });
    if (comesBack.has(name)) this.#retry = setTimeout(() => this.start(), again);
    this.#changed();
  }

  #release() {
    this.#stopFrames?.();
    this.#stopFrames = null;
    for (const t of this.#stream?.getTracks() ?? []) t.stop();
    this.#stream = this.#track = null;
    this.#microphone?.close();
    this.#microphone = null;
    this.#closeEncoder();
    this.announced = false;
    this.#flight.clear();
    clearTimeout(this.#resuming);
    this.#resuming = 0;
  }

  #closeEncoder() {
    clearTimeout(this.#retiming);
    this.#timing = null;
    this.#captures.clear();
    if (this.#encoder && this.#encoder.state !== "closed") this.#encoder.close();
    this.#encoder = null;
    this.#encoding = null;
  }

  // The server wants a camera (again): it forgets ours when a connection is lost.
  wanted() {
    if (this.#track && this.#encoding && !this.announced) this.#announce();
  }
  disconnected() {
    if (this.announced) this.#later();
    this.announced = false;
    this.#flight.clear();
  }
  // The server has a camera. If it is another page's, ours is released, so that it does not start
  // when the other one stops. After a lost connection it may be our own, until the server notices.
  taken() {
    const ours = this.#track && (this.announced || !this.#encoding || this.#resuming !== 0);
    if (!ours && (this.#track || this.waiting)) this.giveUp();
  }

  // It is announced when the server is back, if that is soon.
  #later() {
    clearTimeout(this.#resuming);
    this.#resuming = setTimeout(() => {
      this.#resuming = 0;
      this.giveUp();
    }, resumable);
  }

  // It is off, and does not start again by itself.
  giveUp() {
    this.#starting++;
    clearTimeout(this.#retry);
    this.error = "";
    this.#release();
    this.#changed();
  }

  #announce() {
    if (!this.#link.connected) {
      this.#later();
      return;
    }
    clearTimeout(this.#resuming);
    this.#resuming = 0;
    const { width, height, fps } = this.#size;
    this.announced = true;
    this.#key = true;
    this.#flight.clear();
    this.#link.send({ type: "camera", on: true, width, height, fps, codec: this.#encoding.name, sound: this.#microphone !== null });
    this.#changed();
  }

  ack(id) { this.#flight.delete(id); }
  key() { this.#key = true; }
  rate(bits) {
    if (!this.#size || !(bits > 0)) return;
    const before = this.#size.bits;
    this.#size.bits = bits;
    if (!this.#encoder || Math.abs(bits - before) < before * 0.02) return;
    this.#encoding.config = { ...this.#encoding.config, bitrate: Math.round(bits) };
    try {
      this.#encoder.configure(this.#encoding.config);
    } catch {
      this.#encoderFailed();
    }
  }

  // Hands the camera's frames to #frame one by one; returns a function that ends it.
  #frames(stream) {
    if (typeof MediaStreamTrackProcessor !== "undefined") return this.#processed(stream);
    return this.#played(stream);
  }

  #processed(stream) {
    const reader = new MediaStreamTrackProcessor({ track: this.#track, maxBufferSize: 1 }).readable.getReader();
    const read = async () => {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        if (this.#stream !== stream) value.close();
        else this.#frame(value, value.displayWidth, value.displayHeight, value.timestamp, value.metadata?.().captureTime);
      }
    };
    read().catch(() => { if (this.#stream === stream) this.#fail("ended"); });
    return () => reader.cancel().catch(() => { /* it has ended by itself */ });
  }

  #played(stream) {
    const video = document.createElement("video");
    Object.assign(video, { muted: true, playsInline: true, srcObject: stream });
    video.play().catch(() => { /* a frame comes all the same, or the track ends */ });
    let watch = 0;
    const next = (_, meta) => {
      if (this.#stream !== stream) return;
      watch = video.requestVideoFrameCallback(next);
      const time = Math.round((meta.captureTime ?? performance.now()) * 1000);
      const image = typeof VideoFrame === "undefined" ? video : new VideoFrame(video, { timestamp: time });
      this.#frame(image, video.videoWidth, video.videoHeight, time, meta.captureTime);
    };
    watch = video.requestVideoFrameCallback(next);
    return () => {
      video.cancelVideoFrameCallback(watch);
      video.srcObject = null;
    };
  }

  // Takes the image.
  #frame(image, width, height, timestamp, told) {
    const capture = this.#captured(timestamp, told);
    if (!this.#size || this.#size.width !== width || this.#size.height !== height) this.#resize(width, height);
    if (this.#timing) this.#time(null);
    if (!this.announced || !this.#encoding || !this.#room()) {
      if (this.announced && this.#encoding) this.dropped++;
      image.close?.();
    } else if (this.#encoding.name === "jpeg") {
      this.#jpeg(image, width, height, capture);
    } else {
      this.#encode(image, capture);
    }
  }

  #captured(timestamp, told) {
    if (typeof told === "number" && told > 0) return performance.timeOrigin + told;
    this.#clock.note(timestamp);
    return this.#clock.time(timestamp);
  }

  // Whether one more picture may be in flight. A long overdue answer is not waited for.
  #room() {
    if (this.#timing?.lags.length === 0) return this.#timing.given < trial;
    const [oldest] = this.#flight.values();
    if (oldest !== undefined && performance.now() - oldest > patience) {
      this.#flight.clear();
      this.#key = true;
    }
    return this.#flight.size < inFlight;
  }

  async #resize(width, height) {
    const fps = Math.round(this.#track.getSettings().frameRate || 30), stream = this.#stream;
    const size = this.#size = { width, height, fps, bits: Math.round(width * height * fps * 0.1) };
    this.#closeEncoder();
    this.announced = false;
    const able = [];
    for (const encoding of encodings(size)) {
      if (this.#failed.has(encoding.name)) continue;
      if (await possible(encoding)) able.push(encoding);
      if (this.#size !== size || this.#stream !== stream) return;
    }
    this.#encoding = this.#choose(able);
    if (this.#encoding.config) this.#openEncoder();
    this.#announce();
    const { name, config } = this.#encoding;
    if (this.#lags.get(name) > quick || !config && this.#lags.size > 0) this.#retiming = setTimeout(() => this.#retime(), this.#patience);
  }

  #retime() {
    this.#patience *= 2;
    this.#lags.clear();
    this.#anew();
  }

  // The first that is quick, or not known; otherwise the quickest.
  #choose(able) {
    const lag = ({ name, config }) => this.#lags.get(name) ?? (config ? 0 : hopeless);
    return able.find((e) => lag(e) <= quick) ?? able.reduce((a, b) => (lag(b) < lag(a) ? b : a));
  }

  // Notes when a picture came out of the encoder, null for a missing one, and tries the next
  // encoder if this one is slow.
  #time(given) {
    const t = this.#timing;
    if (given !== null) t.lags.push(performance.now() - given);
    else if (t.lags.length > 0 || t.given < trial || performance.now() - t.began < stuck) return;
    if (given !== null && t.lags.length < timed) return;
    this.#lags.set(this.#encoding.name, given === null ? performance.now() - t.began : median(t.lags));
    this.#timing = null;
    if (this.#lags.get(this.#encoding.name) > quick) this.#anew();
  }

  #openEncoder() {
    this.#timing = this.#lags.has(this.#encoding.name) ? null : { began: performance.now(), given: 0, lags: [] };
    const encoder = this.#encoder = new VideoEncoder({
      output: (chunk) => { if (this.#encoder === encoder) this.#encoded(chunk); },
      error: () => { if (this.#encoder === encoder) this.#encoderFailed(); },
    });
    encoder.configure(this.#encoding.config);
  }

  // The next kind of encoder is tried.
  #encoderFailed() {
    this.#encoder = null;
    this.#failed.add(this.#encoding.name);
    this.#anew();
  }

  #anew() {
    this.#link.send({ type: "camera", on: false });
    this.#resize(this.#size.width, this.#size.height);
  }

  #encode(image, capture) {
    const id = this.#next++ >>> 0;
    // The encoder passes the timestamp through, which identifies the picture.
    const frame = new VideoFrame(image, { timestamp: id * 1000 });
    image.close();
    this.#flight.set(id, performance.now());
    this.#captures.set(id, { at: capture, given: performance.now() });
    if (this.#timing) this.#timing.given++;
    try {
      this.#encoder.encode(frame, { keyFrame: this.#key });
      this.#key = false;
    } catch {
      this.#encoderFailed();
    } finally {
      frame.close();
    }
  }

  #encoded(chunk) {
    const id = Math.round(chunk.timestamp / 1000), { at: capture, given } = this.#captures.get(id) ?? { at: now(), given: performance.now() };
    for (const old of this.#captures.keys()) if (old <= id) this.#captures.delete(old);
    const message = new ArrayBuffer(header + chunk.byteLength);
    chunk.copyTo(new Uint8Array(message, header));
    this.#post(message, id, capture, chunk.type === "key");
    if (this.#timing) this.#time(given);
  }

  #jpeg(image, width, height, capture) {
    if (this.#busy) {
      this.dropped++;
      image.close?.();
      return;
    }
    const canvas = this.#canvas ??= document.createElement("canvas");
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    canvas.getContext("2d", { alpha: false }).drawImage(image, 0, 0, width, height);
    image.close?.();
    const id = this.#next++ >>> 0;
    this.#flight.set(id, performance.now());
    this.#busy = true;
    canvas.toBlob(async (blob) => {
      const data = blob && (await blob.arrayBuffer());
      this.#busy = false;
      if (!data || !this.announced) return;
      const message = new ArrayBuffer(header + data.byteLength);
      new Uint8Array(message, header).set(new Uint8Array(data));
      this.#post(message, id, capture, true);
    }, "image/jpeg", 0.85);
  }

  #post(message, id, capture, key) {
    const view = new DataView(message);
    view.setUint8(0, 1);
    view.setUint8(1, key ? 1 : 0);
    view.setUint32(4, id, true);
    view.setFloat64(8, capture, true);
    this.#link.send(message);
    this.sent++;
  }
}
