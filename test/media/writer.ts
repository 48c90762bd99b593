/** Writes images without end into the folder that it is given; says so once some are there. */
import { PNG } from "pngjs";
import { silent } from "../../src/core/log.js";
import { filesystemMedia } from "../../src/media/filesystem.js";

const store = await filesystemMedia({
  directory: process.argv[2],
  ttlMs: 3_600_000,
  maxBytes: 1e9,
  baseUrl: () => "http://localhost",
  log: silent,
});
const image = new PNG({ width: 256, height: 256 });
// Noise does not compress: a write takes long enough to be cut.
for (let i = 0; i < image.data.length; i++) image.data[i] = (i * 2654435761) >>> 13;
const png = PNG.sync.write(image);
for (let round = 0; round < 2000; round++) {
  await Promise.all([1, 2, 3, 4].map(() => store.put(png)));
  if (round === 3) process.stdout.write("some are there\n");
}
