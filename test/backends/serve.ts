/** Scripted servers, and backends, that are there until the test is over. */
import { onTestFinished } from "vitest";
import type { Backend } from "../../src/core/backend.js";
import { type Script, Upstream } from "./upstream.js";

/** A scripted server. */
export async function serve(script: Script): Promise<Upstream> {
  const upstream = await Upstream.start(script);
  onTestFinished(() => upstream.close());
  return upstream;
}

/** The backend, which is closed after the test. */
export function opened<B extends Backend>(backend: B): B {
  onTestFinished(() => backend.close());
  return backend;
}
