/** What is waited for comes, however busy the machine: vitest's own second has no setting. */
import { vi } from "vitest";

const timeout = 60_000;
const { waitFor, waitUntil } = vi;
type Options = Parameters<typeof waitFor>[1];
const patient = (options: Options) =>
  typeof options === "number" ? options : { timeout, ...options };

vi.waitFor = (callback, options) => waitFor(callback, patient(options));
vi.waitUntil = (callback, options) => waitUntil(callback, patient(options));
