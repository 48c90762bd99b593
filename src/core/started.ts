/** A call that was started, as doors see it. */
import type { Call } from "./call.js";
import type { TokenCounts } from "./call-attributes.js";
import type { Running } from "./gateway.js";
import type { MethodName, Output } from "./methods.js";

/** A class, since an object that is written out with a getter is put together in V8's runtime. */
export class Started<M extends MethodName> implements Running<M> {
  readonly id: string;
  readonly warnings: Iterable<string>;
  readonly metadata: ReadonlyMap<string, string>;
  readonly messages: AsyncIterable<readonly Output<M>[]>;
  readonly counts: Readonly<TokenCounts>;
  readonly #attributes: Call["attributes"];

  constructor(call: Call, messages: AsyncIterable<readonly Output<M>[]>) {
    this.id = call.id;
    this.warnings = call.warnings;
    this.metadata = call.metadata;
    this.messages = messages;
    this.counts = call.attributes;
    this.#attributes = call.attributes;
  }

  get model(): string | undefined {
    return this.#attributes.model;
  }
}
