// Codes the sound of this browser's microphone as Opus.
import { CaptureClock } from "./util.js";

const bits = 96000;

export class Microphone {
  #context;
  #source = null;
  #encoder = null;
  #clock = new CaptureClock();

  static get possible() { return typeof AudioEncoder !== "undefined" && typeof AudioWorkletNode !== "undefined"; }

  // stream has the microphone's track. on: sound(data, capture) with a packet and the time of its
  // begin, unable(why)
  constructor(stream, on) {
    const context = this.#context = new AudioContext();
    this.#begin(stream, on).catch((e) => { if (this.#context === context) on.unable(e.message); });
  }

  async #begin(stream, on) {
    const context = this.#context, sampleRate = context.sampleRate;
    const config = { codec: "opus", sampleRate, numberOfChannels: 2, bitrate: bits, opus: { frameDuration: 20000 } };
    if (!(await AudioEncoder.isConfigSupported(config)).supported) throw new Error("the browser has no encoder for it");
    await context.audioWorklet.addModule("microphone-worklet.js");
    if (this.#context !== context) return;
    const encoder = this.#encoder = new AudioEncoder({
      output: (chunk) => {
        const data = new Uint8Array(chunk.byteLength);
        chunk.copyTo(data);
        if (this.#encoder === encoder) on.sound(data, this.#clock.time(chunk.timestamp));
      },
      error: (e) => { if (this.#encoder === encoder) on.unable(e.message); },
    });
    encoder.configure(config);
    const node = new AudioWorkletNode(context, "collector", { channelCount: 2, channelCountMode: "explicit" });
    node.port.onmessage = ({ data: { samples, begin } }) => {
      if (this.#encoder !== encoder || encoder.state !== "configured") return;
      const n = samples.length / 2, micro = 1e6 / sampleRate;
      this.#clock.note((begin + n) * micro);
      const data = new AudioData({ format: "f32-planar", sampleRate, numberOfFrames: n, numberOfChannels: 2, timestamp: Math.round(begin * micro), data: samples });
      encoder.encode(data);
      data.close();
    };
    this.#source = context.createMediaStreamSource(stream);
    this.#source.connect(node).connect(context.destination); // it is silent, but runs
    await context.resume();
  }

  close() {
    if (this.#encoder && this.#encoder.state !== "closed") this.#encoder.close();
    this.#encoder = null;
    this.#source?.disconnect();
    this.#context?.close();
    this.#context = null;
  }
}
