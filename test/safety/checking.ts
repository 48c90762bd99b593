/** Checkers, and pictures for them. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PNG } from "pngjs";
import { onTestFinished } from "vitest";
import { type Logger, silent } from "../../src/core/log.js";
import { type OwnedChecker, openChecker } from "../../src/safety/open.js";

export function picture(red: number, green: number, blue: number, width = 40, height = 24): Buffer {
  const image = new PNG({ width, height });
  for (let i = 0; i < image.data.length; i += 4) image.data.set([red, green, blue, 255], i);
  return PNG.sync.write(image);
}
export const red = picture(230, 20, 20);
export const blue = picture(20, 20, 230);

export async function opened(
  settings: Parameters<typeof openChecker>[0],
  log: Logger = silent,
): Promise<OwnedChecker> {
  const checker = await openChecker(settings, log);
  if (!checker) throw new Error("there is a checker");
  onTestFinished(() => checker.close());
  return checker;
}

/** A log, and the first error that is written there. */
export function logged() {
  let tell = (_: string) => {};
  const first = new Promise<string>((resolve) => {
    tell = resolve;
  });
  const error = (fields: object, message: string) =>
    tell(`${message}: ${(fields as { err: Error }).err}`);
  return { log: { ...silent, error }, first };
}

/** Writes other values into a file of JSON. */
export function change(folder: string, name: string, values: object): void {
  const path = join(folder, name);
  const before = JSON.parse(readFileSync(path, "utf8"));
  writeFileSync(path, JSON.stringify({ ...before, ...values }));
}
