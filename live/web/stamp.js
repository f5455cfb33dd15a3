// Reads the timestamp that the server draws below the pictures: 72 blocks of 8x8 samples, black or
// white.
const block = 8, bits = 72, mark = 0xa5;
const turn = 2 ** 40; // the stamp's time wraps here, in units of 0.1 ms

// The mean of the middle 4x4 samples of a block: at few bits the coder smears.
const mean = (at, left, top) => {
  let sum = 0;
  for (let y = 2; y < 6; y++) for (let x = 2; x < 6; x++) sum += at(left + x, top + y);
  return sum / 16;
};

// bytesOf turns samples of luma, at(x, y), into the stamp's nine bytes.
const bytesOf = (perRow, at) => {
  const bytes = new Uint8Array(bits / 8);
  for (let i = 0; i < bits; i++) {
    if (mean(at, (i % perRow) * block, Math.floor(i / perRow) * block) > 128) bytes[i >> 3] |= 0x80 >> (i & 7);
  }
  return bytes;
};

const parse = (b) => {
  if (b[0] !== mark || b.reduce((x, y) => x ^ y) !== 0) return null;
  let time = 0;
  for (let i = 1; i <= 5; i++) time = time * 256 + b[i];
  return { time, sequence: b[6] * 256 + b[7] };
};

const shape = ({ coded_width: width }) => {
  const perRow = Math.floor(width / block);
  return { perRow, width: Math.min(perRow, bits) * block, height: Math.ceil(bits / perRow) * block };
};

const canvas = document.createElement("canvas");
const context = canvas.getContext("2d", { willReadFrequently: true });

// From anything that can be drawn.
const fromImage = (image, config) => {
  const { perRow, width, height } = shape(config);
  if (canvas.width < width || canvas.height < height) Object.assign(canvas, { width, height });
  context.drawImage(image, 0, config.stamp_y, width, height, 0, 0, width, height);
  const { data } = context.getImageData(0, 0, width, height);
  // grey: green equals luma
  return parse(bytesOf(perRow, (x, y) => data[(y * width + x) * 4 + 1]));
};

// From the decoder's own samples: drawing would convert the whole picture for these few rows.
const fromFrame = async (frame, config) => {
  const { perRow, width, height } = shape(config), rect = { x: 0, y: config.stamp_y, width, height };
  const data = new Uint8Array(frame.allocationSize({ rect }));
  const [luma] = await frame.copyTo(data, { rect });
  return parse(bytesOf(perRow, (x, y) => data[luma.offset + y * luma.stride + x]));
};

// The stamp of a picture: {time: 0.1 ms mod 2^40, sequence}, or null if unreadable. Borrows the
// image for the call; later reads use a frame of their own.
export const readStamp = async ({ image, config }) => {
  if (config.coded_width < block) return null;
  if (!/^(I420|NV12)$/.test(image.format)) return fromImage(image, config);
  const frame = image.clone();
  try {
    return await fromFrame(frame, config).catch(() => fromImage(frame, config));
  } finally {
    frame.close();
  }
};

// How long ago a stamp's time was, in ms, by a clock that shows `at` (ms of Unix time).
export const age = (stamp, at) => {
  const past = (((at * 10 - stamp.time) % turn) + turn) % turn;
  return (past > turn / 2 ? past - turn : past) / 10;
};
