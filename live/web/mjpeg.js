// The last resort: the server's own picture, JPEG after JPEG, in an image element.
const views = { split: "split", original: "original", filtered: "filtered", difference: "split" };

export class Mjpeg {
  #image;

  // drawn is called with each picture, in browsers that say so; in all with the first.
  constructor(image, drawn) {
    this.#image = image;
    image.addEventListener("load", drawn);
  }

  open(mode) {
    this.#image.hidden = false;
    this.#image.alt = "The picture, " + views[mode];
    this.#image.src = "mjpeg?view=" + views[mode] + "&at=" + Date.now(); // a new request, also after the connection was lost
  }

  close() {
    if (this.#image.hidden) return;
    this.#image.hidden = true;
    this.#image.removeAttribute("src");
  }
}
