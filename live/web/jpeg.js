// Plays JPEGs, for browsers without WebCodecs.

export class JpegPlayer {
  #on;
  #config = null;
  #closed = false;
  #errors = 0;

  // on: show(picture) which takes the image, ack(id, wait)
  constructor(on) { this.#on = on; }

  configure(config) { this.#config = config; }

  close() { this.#closed = true; }

  async picture(header, data) {
    const config = this.#config;
    if (!config) return;
    try {
      const image = await createImageBitmap(new Blob([data], { type: "image/jpeg" }));
      if (this.#closed) image.close();
      else this.#on.show({ image, config, header });
    } catch (e) {
      if (++this.#errors === 1) console.warn("vidfilter: jpeg: " + e.message);
    }
    if (!this.#closed) this.#on.ack(header.id, performance.now() - header.arrived);
  }
}
