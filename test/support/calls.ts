/** Calls of a core, one step at a time. */
import { create, type DescMessage } from "@bufbuild/protobuf";
import type { Core } from "../../src/core/core.js";
import type { LintelError } from "../../src/core/errors.js";
import type { Origin } from "../../src/core/gateway.js";
import { type MethodName, methods, type Output } from "../../src/core/methods.js";

/** A signal that does not abort. */
export const never = new AbortController().signal;

/** Starts a call; nothing runs before it is iterated. */
export function start<M extends MethodName>(
  core: Core,
  method: M,
  request: object,
  origin: Partial<Origin> = {},
) {
  const message = create(methods[method].input as DescMessage, request as never);
  const about = { door: "test", credential: "me", signal: never, ...origin };
  return core.call(method, message as never, about);
}

/** What a call came to. */
export interface Outcome<M extends MethodName> {
  /** `ok`, or the code of its error. */
  readonly code: string;
  readonly error: LintelError | undefined;
  readonly messages: readonly Output<M>[];
  readonly metadata: ReadonlyMap<string, string>;
  readonly warnings: readonly string[];
}

/** Runs a call to its end, whatever that is. */
export async function outcome<M extends MethodName>(
  core: Core,
  method: M,
  request: object,
  origin: Partial<Origin> = {},
): Promise<Outcome<M>> {
  const running = start(core, method, request, origin);
  const messages: Output<M>[] = [];
  let error: LintelError | undefined;
  try {
    for await (const batch of running.messages) messages.push(...batch);
  } catch (thrown) {
    error = thrown as LintelError;
  }
  const { metadata, warnings } = running;
  return { code: error?.code ?? "ok", error, messages, metadata, warnings: [...warnings] };
}

/** Something to wait for, and what ends the waiting. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

/** A closed gate. */
export function gate(): Gate {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
