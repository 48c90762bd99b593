/** Errors by the names that the client used. */
import type { LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import {
  aboutField,
  invalidFields,
  type LintelError,
  toLintelError,
  type Violation,
} from "../../core/errors.js";
import type { Running } from "../../core/gateway.js";
import { iterable } from "../../core/iterate.js";
import type { MethodName } from "../../core/methods.js";
import { Relay } from "../../core/steps.js";
import { unchecked } from "../../core/violations.js";

/** The client's names of fields by the contract's: a table, or what finds them. */
export type Names = Readonly<Record<string, string>> | ((field: string) => string);

/**
 * A call whose errors name fields as the client does.
 * @param inParts whether messages came in parts, which in JSON are a list in `content`
 */
export function renamed<M extends MethodName>(
  running: Running<M>,
  names: Names,
  inParts = false,
): Running<M> {
  if (typeof names === "object" && Object.keys(names).length === 0 && !inParts) return running;
  return new RenamedCall(running, names);
}

/**
 * A class, not an object with a getter: for each of those V8 makes a description of its own, in the
 * old space, that holds the getter and with it the whole call until a full collection (bench/NOTES.md).
 */
class RenamedCall<M extends MethodName> implements Running<M> {
  readonly id: string;
  readonly warnings: Iterable<string>;
  readonly metadata: ReadonlyMap<string, string>;
  readonly counts: Running<M>["counts"];
  readonly messages: Running<M>["messages"];
  readonly #running: Running<M>;

  constructor(running: Running<M>, names: Names) {
    this.id = running.id;
    this.warnings = running.warnings;
    this.metadata = running.metadata;
    this.counts = running.counts;
    this.messages = iterable(() => new Renamed(running.messages[Symbol.asyncIterator](), names));
    this.#running = running;
  }

  get model(): string | undefined {
    return this.#running.model;
  }
}

/** The steps of a call, and its failure with the client's names. */
class Renamed<T> extends Relay<T> {
  readonly #names: Names;

  constructor(source: AsyncIterator<T>, names: Names) {
    super(source);
    this.#names = names;
  }

  override failed(reason: unknown): void {
    super.failed(renamedError(toLintelError(reason), this.#names));
  }
}

/** Whether messages came in parts. */
export const areInParts = ({ messages }: LLMRequest): boolean =>
  messages.some(({ parts }) => parts.length > 0);

const ofParts = /^(messages\[\d+\])\.parts(?![^[])/;

/** What finds the client's names: by a table, parts of messages have theirs, too. */
export function finding(names: Names): (field: string) => string {
  if (typeof names === "function") return names;
  return (field) =>
    Object.hasOwn(names, field) ? (names[field] ?? field) : field.replace(ofParts, "$1.content");
}

/** An error with the client's names. Of two fields with one name at the client the same is said once. */
function renamedError(error: LintelError, names: Names): LintelError {
  const nameOf = finding(names);
  if (error.violations.length > 0) {
    const said = error.violations.map((v) => renamedViolation(v, nameOf));
    return invalidFields([...new Map(said.map((v) => [`${v.field}: ${v.message}`, v])).values()]);
  }
  const { message, param } = error;
  if (param === undefined || nameOf(param) === param) return error;
  const start = `${param}: `;
  const said = message.startsWith(start)
    ? `${nameOf(param)}: ${message.slice(start.length)}`
    : message;
  return aboutField(error, nameOf(param), said);
}

/** Of a list that is not looked at from an item on, that item may have another place at the client. */
function renamedViolation(violation: Violation, nameOf: (field: string) => string): Violation {
  const { field, from } = violation;
  if (from === undefined) return { ...violation, field: nameOf(field) };
  const name = nameOf(field);
  const behind = nameOf(`${field}[${from}]`).slice(name.length);
  const [, place = from] = /^\[(\d+)\]/.exec(behind) ?? [];
  return unchecked(name, Number(place));
}
