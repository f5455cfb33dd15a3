// Plays H.264 pictures by WebCodecs: each is drawn the moment it is decoded.

const patience = 500; // ms that a decoder may hold a picture before it is acknowledged anyway
const keyEvery = 500; // ms between requests for a key frame
const lostCause = 5; // errors in a row before JPEGs are asked for

export const avcPossible = async () => {
  if (!window.isSecureContext || typeof VideoDecoder === "undefined") return false;
  try {
    const config = { codec: "avc1.640020", codedWidth: 1280, codedHeight: 1456, optimizeForLatency: true };
    return (await VideoDecoder.isConfigSupported(config)).supported === true;
  } catch {
    return false;
  }
};

const bytesOf = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

export class AvcPlayer {
  #on;
  #decoder = null;
  #config = null;
  #pending = new Map(); // by the time stamp given to the decoder
  #next = 0;
  #needKey = true;
  #asked = -Infinity;
  #errors = 0;
  #timer;

  // on: show(picture) which takes the image, ack(id, wait), key(), unable(why)
  constructor(on) {
    this.#on = on;
    this.#timer = setInterval(() => this.#hurry(), patience / 2);
  }

  configure(config) {
    this.#config = config;
    this.#restart();
  }

  close() {
    clearInterval(this.#timer);
    this.#giveUp();
    if (this.#decoder && this.#decoder.state !== "closed") this.#decoder.close();
    this.#decoder = null;
  }

  picture(header, data) {
    if (!this.#decoder || (this.#needKey && !header.key)) {
      this.#on.ack(header.id, 0);
      if (this.#decoder) this.#askKey();
      return;
    }
    this.#needKey = false;
    const timestamp = this.#next++ * 1000;
    this.#pending.set(timestamp, { header, config: this.#config });
    try {
      this.#decoder.decode(new EncodedVideoChunk({ type: header.key ? "key" : "delta", timestamp, data }));
    } catch (e) {
      this.#failed(e);
    }
  }

  #restart() {
    this.#giveUp();
    if (this.#decoder && this.#decoder.state !== "closed") this.#decoder.close();
    this.#needKey = true;
    const decoder = this.#decoder = new VideoDecoder({
      output: (frame) => (this.#decoder === decoder ? this.#decoded(frame) : frame.close()),
      error: (e) => { if (this.#decoder === decoder) this.#failed(e); },
    });
    const c = this.#config;
    try {
      decoder.configure({
        codec: c.codec, description: bytesOf(c.description), codedWidth: c.coded_width, codedHeight: c.coded_height,
        optimizeForLatency: true,
      });
    } catch (e) {
      this.#decoder = null;
      this.#on.unable(e.message);
    }
  }

  #decoded(frame) {
    const p = this.#pending.get(frame.timestamp);
    this.#pending.delete(frame.timestamp);
    this.#errors = 0;
    if (!p) {
      frame.close();
      return;
    }
    this.#on.show({ image: frame, config: p.config, header: p.header });
    if (!p.given) this.#on.ack(p.header.id, performance.now() - p.header.arrived);
  }

  #failed(e) {
    if (++this.#errors >= lostCause) {
      this.#decoder = null;
      this.#giveUp();
      this.#on.unable(e.message);
      return;
    }
    this.#restart();
    this.#askKey();
  }

  #askKey() {
    if (performance.now() - this.#asked < keyEvery) return;
    this.#asked = performance.now();
    this.#on.key();
  }

  #giveUp() {
    for (const p of this.#pending.values()) {
      if (!p.given) this.#on.ack(p.header.id, performance.now() - p.header.arrived);
    }
    this.#pending.clear();
  }

  // Some decoders need more pictures before they return the first one, and more come only after an
  // acknowledgement.
  #hurry() {
    for (const p of this.#pending.values()) {
      const wait = performance.now() - p.header.arrived;
      if (p.given || wait < patience) continue;
      p.given = true;
      this.#on.ack(p.header.id, wait);
    }
  }
}
