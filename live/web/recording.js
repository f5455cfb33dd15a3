// The recording: how it does, and the buttons that control it for all viewers.
import { $, clean, say, sentence, set } from "./util.js";

const two = (n) => String(n).padStart(2, "0");
const clock = (seconds) => `${Math.floor(seconds / 60)}:${two(Math.floor(seconds % 60))}`;

export class Recording {
  #paused = false;

  // ask: start, pause, resume or stop
  constructor(ask) {
    $("record-start").addEventListener("click", () => ask("start"));
    $("record-pause").addEventListener("click", () => ask(this.#paused ? "resume" : "pause"));
    $("record-stop").addEventListener("click", () => ask("stop"));
  }

  update({ recording: r, record_why: why }) {
    const running = r !== null && !r.ended, focus = document.activeElement;
    this.#paused = running && r.paused;
    $("record-start").disabled = why !== "";
    $("record-start").title = sentence(why);
    $("record-start").hidden = running;
    $("record-pause").hidden = $("record-stop").hidden = !running;
    set($("record-pause"), this.#paused ? "Resume" : "Pause");
    if (focus?.hidden) $(running ? "record-stop" : "record-start").focus({ preventScroll: true });
    const time = r ? clock(r.seconds) : "", dropped = r?.dropped > 0 ? `, ${r.dropped} dropped` : "";
    const words = running ? `${this.#paused ? "Paused" : "Recording"} ${time}${dropped}` : "";
    say($("recording"), r?.error ? "Recording failed: " + clean(r.error) : words);
    $("recording").classList.toggle("trouble", Boolean(r?.error));
    $("recording").classList.toggle("running", running && !this.#paused);
    const note = running ? `Into ${clean(r.file)}` : r && !r.error ? `Recorded ${clean(r.file)}, ${time}${dropped}` : "";
    say($("record-note"), note || sentence(why));
  }
}
