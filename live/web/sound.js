// The session's sound: Opus, played when the picture of its time is shown. It waits for pictures,
// never they for it.
import { $, clamp, median, remember, remembered, say } from "./util.js";

const rate = 48000;
const recent = 15; // pictures whose delay counts
const close = 0.01, far = 0.04; // s off its time: within the first sound plays on, beyond the second it jumps
const glide = 0.01; // by which it plays faster or more slowly between them
const spare = 0.01; // s that sound should be there before its time
const latest = 2; // s that sound may be behind its picture, where it comes late
const judged = 50; // packets, a second

const possible = () => typeof AudioDecoder !== "undefined" && typeof AudioContext !== "undefined";
const config = { codec: "opus", sampleRate: rate, numberOfChannels: 2 };

export class Sound {
  #send;
  #wanted = remembered("sound", false) === true;
  #volume = clamp(Number(remembered("volume", 1)) || 0, 0, 1);
  #there = false; // the session has sound
  #frozen = false;
  #own = false; // it is of this page's microphone
  #context = null;
  #gain = null;
  #decoder = null;
  #delays = []; // ms from the clock of the sound to when a picture was shown, of the latest pictures
  #behind = 0; // s that sound is played after its picture
  #margins = []; // s that packets were there before their time
  #queue = []; // {at, buffer, node, begin, end}: times of the context, once there is a node
  #trouble = "";
  #packets = 0;

  // send(message)
  constructor(send) {
    this.#send = send;
    $("sound-on").addEventListener("click", () => this.toggle());
    $("volume").value = this.#volume;
    $("volume").addEventListener("input", (e) => this.#setVolume(Number(e.target.value)));
    // Browsers play no sound before the user has touched the page. Its own control does so by
    // itself.
    for (const touch of ["pointerdown", "keydown"]) {
      document.addEventListener(touch, (e) => { if (!e.target.closest?.("#sound")) this.#wake(); }, true);
    }
  }

  get playing() { return this.#wanted && this.#context?.state === "running"; }
  get figures() { return { playing: this.playing, packets: this.#packets, queued: this.#queue.length, behind: this.#behind, trouble: this.#trouble }; }

  toggle() {
    if (!this.#there || !possible()) return;
    this.#wanted = !this.playing;
    this.#trouble = "";
    remember("sound", this.#wanted);
    this.#wake();
    this.#apply();
  }

  #setVolume(volume) {
    this.#volume = volume;
    remember("volume", volume);
    if (this.#gain) this.#gain.gain.value = volume;
  }

  // own: the session shows this page's camera.
  update({ sound, frozen }, own) {
    this.#there = sound === true;
    this.#own = own;
    if (frozen && !this.#frozen) this.#hold();
    this.#frozen = frozen;
    this.#apply();
  }

  // The socket is open again.
  opened() {
    this.#flush();
    this.#tell();
  }

  #tell() { this.#send({ type: "sound", on: this.#wanted && this.#there && possible() }); }

  #apply() {
    const on = this.#wanted && this.#there && possible();
    if (on && !this.#context) this.#open();
    if (!on && this.#context) this.#close();
    this.#draw();
  }

  #open() {
    const context = this.#context = new AudioContext({ latencyHint: "interactive", sampleRate: rate });
    this.#gain = context.createGain();
    this.#gain.gain.value = this.#volume;
    this.#gain.connect(context.destination);
    context.addEventListener("statechange", () => {
      this.#schedule();
      this.#draw();
    });
    this.#wake();
    this.#tell();
  }

  #wake() {
    if (this.#context?.state === "suspended") this.#context.resume().catch(() => { /* not yet allowed */ });
  }

  #close() {
    this.#flush();
    this.#decoder?.close();
    this.#decoder = null;
    this.#context.close();
    this.#context = this.#gain = null;
    this.#tell();
  }

  #draw() {
    $("sound").hidden = !this.#there || !possible();
    $("sound-on").setAttribute("aria-pressed", String(this.playing));
    const silent = this.#own ? "This page does not play its own microphone." : this.#trouble;
    const none = this.#there && !possible() ? "There is sound, but this browser does not play it here: it gives this page no AudioDecoder." : "";
    const touch = this.#wanted && this.#context?.state === "suspended" ? "The browser plays sound once you have clicked on the page." : "";
    say($("sound-note"), none || (this.#there && this.#wanted && (silent || touch)) || "");
  }

  // ---- from packets to samples

  packet({ at, begins }, data) {
    this.#packets++;
    if (!this.#context || this.#trouble) return;
    if (begins) this.#flush();
    if (data.length === 0) return;
    try {
      if (!this.#decoder) this.#openDecoder();
      this.#decoder.decode(new EncodedAudioChunk({ type: "key", timestamp: Math.round(at * 1000), data }));
    } catch (e) {
      this.#failed(e);
    }
  }

  #openDecoder() {
    const decoder = this.#decoder = new AudioDecoder({
      output: (data) => {
        if (this.#decoder === decoder) this.#decoded(data);
        data.close();
      },
      error: (e) => { if (this.#decoder === decoder) this.#failed(e); },
    });
    decoder.configure(config);
  }

  #failed(e) {
    this.#decoder = null;
    this.#queue = [];
    this.#trouble = "The sound cannot be played: " + e.message;
    this.#draw();
  }

  #decoded(data) {
    const { numberOfFrames: n, numberOfChannels: channels } = data;
    const buffer = this.#context.createBuffer(channels, n, data.sampleRate);
    for (let i = 0; i < channels; i++) data.copyTo(buffer.getChannelData(i), { planeIndex: i, format: "f32-planar" });
    this.#queue.push({ at: data.timestamp / 1000, buffer, node: null });
    if (this.#queue.length > 500) this.#queue.shift(); // no picture is shown
    this.#schedule();
  }

  // ---- from the pictures' time to the speakers'

  // A picture has been drawn.
  shown({ at, repeated }) {
    if (repeated || this.#frozen || !this.#context) return;
    this.#delays.push(performance.now() - at);
    if (this.#delays.length > recent) this.#delays.shift();
    this.#schedule();
  }

  // When the context plays the sound of a picture's time.
  #time(at) {
    const c = this.#context, { contextTime, performanceTime } = c.getOutputTimestamp();
    const known = performanceTime > 0 && performance.now() - performanceTime < 1000;
    const now = known ? contextTime + (performance.now() - performanceTime) / 1000 : c.currentTime - (c.outputLatency || c.baseLatency || 0);
    return now + (at + median(this.#delays) - performance.now()) / 1000 + this.#behind;
  }

  #schedule() {
    const c = this.#context;
    if (!this.playing || this.#frozen || this.#delays.length === 0) return;
    this.#queue = this.#queue.filter((p) => !p.node || p.end > c.currentTime - 1);
    this.#follow();
    let before = null;
    for (const p of this.#queue) {
      if (!p.node) this.#start(p, before);
      before = p;
    }
    this.#queue = this.#queue.filter((p) => p.end !== -1);
  }

  // Where pictures are shown earlier or later than when sound was scheduled, it is scheduled anew.
  #follow() {
    const c = this.#context, next = this.#queue.find((p) => p.node && p.begin > c.currentTime);
    if (!next || Math.abs(this.#time(next.at) - next.begin) < far) return;
    for (const p of this.#queue) if (p.node && p.begin > c.currentTime) this.#stop(p);
  }

  // Starts a packet behind the one before, or at its own time.
  #start(p, before) {
    const c = this.#context, length = p.buffer.duration;
    let at = this.#time(p.at), speed = 1, skipped = 0;
    this.#judge(at - c.currentTime);
    const joined = before?.node && Math.abs(p.at - before.at - before.buffer.duration * 1000) < 5;
    if (joined && Math.abs(before.end - at) < far && before.end >= c.currentTime) {
      if (Math.abs(before.end - at) > close) speed = before.end > at ? 1 + glide : 1 - glide;
      at = before.end;
    } else if (at < c.currentTime) {
      skipped = c.currentTime - at;
      at = c.currentTime;
    }
    if (skipped >= length) {
      p.end = -1; // its time is over
      return;
    }
    const node = p.node = new AudioBufferSourceNode(c, { buffer: p.buffer, playbackRate: speed });
    node.connect(this.#gain);
    node.start(at, skipped);
    p.begin = at;
    p.end = at + (length - skipped) / speed;
  }

  // Notes how early a packet is. Where many come late, sound is played later; a few are lost
  // instead.
  #judge(margin) {
    this.#margins.push(margin);
    if (this.#margins.length < judged) return;
    const all = this.#margins.sort((a, b) => a - b);
    this.#margins = [];
    if (all[Math.round(judged * 0.3)] < 0) this.#behind = Math.min(latest, this.#behind + spare - all[Math.round(judged * 0.1)]);
    else if (all[0] > spare) this.#behind = Math.max(0, this.#behind - (all[0] - spare) / 2);
  }

  #stop(p) {
    p.node?.stop();
    p.node?.disconnect();
    p.node = null;
  }

  // Silent at once. Queued sound is played when pictures come again.
  #hold() {
    for (const p of this.#queue) this.#stop(p);
    this.#delays = [];
  }

  #flush() {
    this.#hold();
    this.#queue = [];
    this.#behind = 0;
    this.#margins = [];
    if (this.#decoder?.state === "configured") this.#decoder.reset();
    if (this.#decoder?.state === "unconfigured") this.#decoder.configure(config);
  }
}
