// Reads the time stamp that the server draws under the pictures: 72 blocks of 8x8 samples, black or white.
const block = 8, bits = 72, mark = 0xa5;
const turn = 2 ** 40; // the stamp's time wraps here, in units of 0.1 ms

const canvas = document.createElement("canvas");
const context = canvas.getContext("2d", { willReadFrequently: true });

// bytesAt turns the strip's pixels (RGBA, rows of `width`) into the stamp's nine bytes.
const bytesAt = (pixels, width, perRow) => {
  const bytes = new Uint8Array(bits / 8);
  for (let i = 0; i < bits; i++) {
    const x = (i % perRow) * block + block / 2, y = Math.floor(i / perRow) * block + block / 2;
    const p = (y * width + x) * 4;
    if (pixels[p] + pixels[p + 1] + pixels[p + 2] > 3 * 128) bytes[i >> 3] |= 0x80 >> (i & 7);
  }
  return bytes;
};

// The stamp of a picture {image, config}: {time: 0.1 ms mod 2^40, sequence}, or null where it cannot be read.
export const readStamp = ({ image, config }) => {
  const perRow = Math.floor(config.coded_width / block);
  if (perRow < 1) return null;
  const width = Math.min(perRow, bits) * block, height = Math.ceil(bits / perRow) * block;
  if (canvas.width < width || canvas.height < height) {
    canvas.width = Math.max(canvas.width, width);
    canvas.height = Math.max(canvas.height, height);
  }
  context.drawImage(image, 0, config.stamp_y, width, height, 0, 0, width, height);
  const b = bytesAt(context.getImageData(0, 0, width, height).data, width, perRow);
  let check = 0;
  for (const x of b) check ^= x;
  if (b[0] !== mark || check !== 0) return null;
  let time = 0;
  for (let i = 1; i <= 5; i++) time = time * 256 + b[i];
  return { time, sequence: b[6] * 256 + b[7] };
};

// How long ago a stamp's time was, in ms, by a clock that shows `at` (ms of Unix time).
export const age = (stamp, at) => {
  const past = (((at * 10 - stamp.time) % turn) + turn) % turn;
  return (past > turn / 2 ? past - turn : past) / 10;
};
