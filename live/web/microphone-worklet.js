// Collects the microphone's samples, in pieces of 20 ms, for microphone.js.
registerProcessor("collector", class extends AudioWorkletProcessor {
  #size = Math.round(sampleRate / 50);
  #filled = 0;
  #piece = new Float32Array(2 * this.#size); // left, then right
  #begin = currentFrame;

  process([[left, right]]) {
    if (!left) return true; // not yet connected
    for (let i = 0; i < left.length; i++) {
      this.#piece[this.#filled] = left[i];
      this.#piece[this.#size + this.#filled] = (right ?? left)[i];
      if (++this.#filled === this.#size) this.#post(currentFrame + i + 1);
    }
    return true;
  }

  #post(end) {
    this.port.postMessage({ samples: this.#piece, begin: this.#begin }, [this.#piece.buffer]);
    this.#piece = new Float32Array(2 * this.#size);
    this.#filled = 0;
    this.#begin = end;
  }
});
