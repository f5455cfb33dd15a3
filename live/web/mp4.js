// Plays fragmented MP4 by MediaSource, close to its end, and hands on each picture as the video
// element shows it.
import { clamp } from "./util.js";

const Source = window.ManagedMediaSource || window.MediaSource;
const near = 0.04, late = 0.12, lost = 0.5; // seconds behind: play faster, faster still, seek
const group = 10; // seconds between key frames: only whole groups can be removed
const keyEvery = 1000; // ms between requests for a key frame
const patience = 500; // ms that a picture may wait for display before it is acknowledged anyway

export const mp4Possible = () => Boolean(Source) && Source.isTypeSupported('video/mp4; codecs="avc1.640020"');

// boxes walks the boxes of an MP4 from start to end.
function* boxes(view, start, end) {
  for (let at = start; at + 8 <= end;) {
    const size = view.getUint32(at);
    if (size < 8 || at + size > end) return;
    yield { name: String.fromCharCode(...[4, 5, 6, 7].map((i) => view.getUint8(at + i))), start: at + 8, end: at + size };
    at += size;
  }
}

const find = (view, path, start = 0, end = view.byteLength) => {
  for (const box of boxes(view, start, end)) {
    if (box.name !== path[0]) continue;
    const found = path.length === 1 ? box : find(view, path.slice(1), box.start, box.end);
    if (found) return found;
  }
  return null;
};

// In mdhd and tfdt version 1 has 64-bit times.
const timescale = (view) => {
  const box = find(view, ["moov", "trak", "mdia", "mdhd"]);
  return box ? view.getUint32(box.start + (view.getUint8(box.start) === 1 ? 20 : 12)) : 0;
};
const startTime = (view) => {
  const box = find(view, ["moof", "traf", "tfdt"]);
  if (!box) return null;
  return view.getUint8(box.start) === 1 ? Number(view.getBigUint64(box.start + 4)) : view.getUint32(box.start + 4);
};
const viewOf = (data) => new DataView(data.buffer, data.byteOffset, data.byteLength);

export class Mp4Player {
  name = "mp4";
  #on;
  #video;
  #config = null;
  #head = null; // the start of the stream: {data, type}
  #media = null;
  #buffer = null;
  #queue = []; // {data, type?, picture?}
  #appending = null;
  #pending = []; // {header, config, time, given}, oldest first
  #newest = 0; // time of the last appended picture
  #latest = 0; // time of the last picture that came
  #keys = []; // times of the key frames in the buffer
  #asked = -Infinity;
  #scale = 0;
  #needKey = true;
  #timer;
  #watch = 0;

  // on: show(picture), ack(id, wait), key(), unable(why). video: an element behind the canvas,
  // which may be partly hidden.
  constructor(video, on) {
    this.#on = on;
    this.#video = video;
    video.muted = true;
    video.disableRemotePlayback = true;
    video.onerror = () => this.#unable(video.error ? video.error.message : "");
    this.#timer = setInterval(() => this.#hurry(), 200);
    this.#next();
  }

  close() {
    clearInterval(this.#timer);
    this.#video.onerror = null;
    if (this.#video.cancelVideoFrameCallback) this.#video.cancelVideoFrameCallback(this.#watch);
    else cancelAnimationFrame(this.#watch);
    this.#ackUntil(Infinity);
    if (this.#media) URL.revokeObjectURL(this.#video.src);
    this.#media = this.#buffer = null;
    this.#video.removeAttribute("src");
    this.#video.load();
  }

  configure(config) {
    if (config.kind === "mp4") this.#config = config;
  }

  picture(header, data) {
    if (!this.#config) return;
    if (header.kind === 2) {
      this.#init(data);
    } else if (header.kind === 3) {
      this.#fragment(header, data);
    }
  }

  #init(data) {
    const type = 'video/mp4; codecs="' + this.#config.codec + '"', before = this.#head?.type;
    this.#head = { data, type };
    this.#scale = timescale(viewOf(data));
    this.#needKey = true;
    if (!Source.isTypeSupported(type)) this.#unable(type + " is not supported");
    else if (!this.#media) this.#begin();
    else this.#append(data, { type: type === before ? undefined : type });
  }

  #begin() {
    const media = this.#media = new Source(), { data, type } = this.#head;
    URL.revokeObjectURL(this.#video.src);
    this.#buffer = null;
    this.#queue = [];
    this.#keys = [];
    this.#needKey = true;
    this.#append(data);
    media.onsourceopen = () => {
      if (this.#media !== media) return;
      media.duration = Infinity; // a live stream: the browser buffers as little as possible
      const buffer = this.#buffer = media.addSourceBuffer(type);
      buffer.onupdateend = () => { if (this.#buffer === buffer) this.#appended(); };
      buffer.onerror = () => { if (this.#buffer === buffer) this.#unable("the stream could not be read"); };
      this.#pump();
    };
    this.#video.src = URL.createObjectURL(media);
  }

  #fragment(header, data) {
    const time = startTime(viewOf(data));
    if (!this.#media || time === null || this.#scale === 0 || (this.#needKey && !header.key)) {
      this.#on.ack(header.id, 0);
      if (this.#needKey && this.#media) this.#askKey();
      return;
    }
    this.#needKey = false;
    const picture = { header, config: this.#config, time: time / this.#scale, given: false };
    if (picture.time < this.#latest) { // another encoder, with another clock
      this.#ackUntil(Infinity);
      this.#begin();
      this.#needKey = false;
    }
    this.#latest = picture.time;
    this.#pending.push(picture);
    this.#append(data, { picture });
  }

  #append(data, more = {}) {
    this.#queue.push({ data, ...more });
    this.#pump();
  }

  #pump() {
    const buffer = this.#buffer;
    if (!buffer || buffer.updating || this.#queue.length === 0) return;
    const next = this.#queue.shift(), { data, type } = next;
    try {
      if (type && buffer.changeType) buffer.changeType(type);
      buffer.appendBuffer(data);
      this.#appending = next;
    } catch (e) {
      if (e.name !== "QuotaExceededError") {
        this.#unable(e.message);
        return;
      }
      this.#begin(); // the buffer is full, unexpectedly: restart at the next key frame
      this.#askKey();
    }
  }

  #appended() {
    const picture = this.#appending?.picture;
    this.#appending = null;
    if (picture) this.#arrived(picture);
    if (!this.#buffer.updating) this.#trim();
    this.#pump();
  }

  #arrived(picture) {
    const video = this.#video;
    this.#newest = picture.time;
    if (picture.header.key) this.#keys.push(picture.time);
    let behind = this.#keepUp();
    // Seeking decodes everything since the key frame before, so seek to key frames only.
    if (picture.header.key && (video.currentTime === 0 || Math.abs(behind) > late)) {
      video.currentTime = picture.time;
      behind = 0;
    } else if ((Math.abs(behind) > lost && !document.hidden) || picture.time - this.#keys.at(-1) > group) {
      this.#askKey();
    }
    // A video element shows a picture once it has the next one or two, so waiting until it is
    // drawn would hold them up. Wait only when it falls behind. In a hidden tab nothing is drawn.
    if (behind < lost || document.hidden) this.#give(picture);
  }

  #askKey() {
    if (performance.now() - this.#asked < keyEvery) return;
    this.#asked = performance.now();
    this.#on.key();
  }

  // Stays as close to the newest picture as possible without stalling. Returns the seconds behind
  // the start of that picture; its end, and so the end of the buffer, is only a guess.
  #keepUp() {
    const video = this.#video, behind = this.#newest - video.currentTime;
    video.playbackRate = behind > lost ? 2 : behind > late ? 1.3 : behind > near ? 1.1 : 1;
    if (video.paused && video.readyState > 0) video.play().catch(() => { /* tried again */ });
    return behind;
  }

  // Removes everything before the key frame that playback needs.
  #trim() {
    const old = this.#keys.findLastIndex((time) => time <= this.#video.currentTime - near);
    if (old < 1) return;
    this.#buffer.remove(0, this.#keys[old]);
    this.#keys.splice(0, old);
  }

  #next() {
    const video = this.#video;
    if (video.requestVideoFrameCallback) this.#watch = video.requestVideoFrameCallback((_, frame) => this.#follow(frame.mediaTime));
    else this.#watch = requestAnimationFrame(() => this.#follow(video.currentTime));
  }

  #follow(time) {
    this.#next();
    const shown = this.#pending.findLast((p) => p.time <= time + 0.002);
    if (!shown || this.#video.videoWidth === 0) return;
    this.#on.show({ image: this.#video, config: shown.config, header: shown.header });
    this.#ackUntil(shown.time);
  }

  #give(picture) {
    if (picture.given) return;
    picture.given = true;
    this.#on.ack(picture.header.id, performance.now() - picture.header.arrived);
  }

  #ackUntil(time) {
    while (this.#pending.length > 0 && this.#pending[0].time <= time) this.#give(this.#pending.shift());
  }

  #hurry() {
    for (const p of this.#pending) if (performance.now() - p.header.arrived >= patience) this.#give(p);
    const most = clamp(this.#pending.length - 120, 0, Infinity);
    this.#pending.splice(0, most); // bounded even if the video element shows nothing
    if (this.#buffer && !this.#buffer.updating) this.#keepUp();
  }

  #unable(why) {
    if (this.#media) this.#on.unable(why);
  }
}
