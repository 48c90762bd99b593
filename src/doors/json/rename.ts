/** Errors and warnings by the names that the client used. */
import type { LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import type { StreamTextToImageResponse } from "../../../gen/lintel/v1/image_pb.js";
import {
  aboutField,
  invalidFields,
  type LintelError,
  toLintelError,
  type Violation,
} from "../../core/errors.js";
import type { Running } from "../../core/gateway.js";
import { iterable } from "../../core/iterate.js";
import type { MethodName, Output } from "../../core/methods.js";
import { Relay } from "../../core/steps.js";
import { unchecked } from "../../core/violations.js";

/** The client's names of fields by the contract's: a table, or what finds them. */
export type Names = Readonly<Record<string, string>> | NameOf;

/** Finds the client's name of a field of the contract. */
type NameOf = (field: string) => string;

/**
 * A call whose errors and warnings name fields as the client does.
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
  readonly metadata: ReadonlyMap<string, string>;
  readonly counts: Running<M>["counts"];
  readonly messages: Running<M>["messages"];
  readonly #running: Running<M>;
  readonly #names: Names;

  constructor(running: Running<M>, names: Names) {
    this.id = running.id;
    this.metadata = running.metadata;
    this.counts = running.counts;
    this.messages = iterable(() => new Renamed(running.messages[Symbol.asyncIterator](), names));
    this.#running = running;
    this.#names = names;
  }

  get model(): string | undefined {
    return this.#running.model;
  }

  get warnings(): Iterable<string> {
    const said = [...this.#running.warnings];
    return said.length > 0 ? renamedWarnings(said, finding(this.#names)) : said;
  }
}

/** The steps of a call, and what they say and its failure with the client's names. */
class Renamed<T extends Output<MethodName>> extends Relay<readonly T[]> {
  readonly #names: Names;

  constructor(source: AsyncIterator<readonly T[]>, names: Names) {
    super(source);
    this.#names = names;
  }

  override came(step: IteratorResult<readonly T[]>): void {
    if (step.done !== true && step.value.some(warns)) {
      const nameOf = finding(this.#names);
      step = { done: false, value: step.value.map((message) => renamedMessage(message, nameOf)) };
    }
    super.came(step);
  }

  override failed(reason: unknown): void {
    super.failed(renamedError(toLintelError(reason), finding(this.#names)));
  }
}

/** Whether messages came in parts. */
export const areInParts = ({ messages }: LLMRequest): boolean =>
  messages.some(({ parts }) => parts.length > 0);

const ofParts = /^(messages\[\d+\])\.parts(?![^[])/;

/** What finds the client's names: by a table, parts of messages have theirs, too. */
export function finding(names: Names): NameOf {
  if (typeof names === "function") return names;
  return (field) =>
    Object.hasOwn(names, field) ? (names[field] ?? field) : field.replace(ofParts, "$1.content");
}

/** An error with the client's names. Of two fields with one name at the client the same is said once. */
function renamedError(error: LintelError, nameOf: NameOf): LintelError {
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

/** What messages say of warnings: at the top, or in the last event of a stream of images. */
interface Warns {
  readonly $typeName: string;
  readonly warnings?: readonly string[];
  readonly event?: StreamTextToImageResponse["event"];
}

function warns({ warnings, event }: Warns): boolean {
  return warnings ? warnings.length > 0 : event?.case === "done";
}

/** A message with warnings by the client's names: a copy, for it may be another caller's, too. */
function renamedMessage<T extends Warns>(message: T, nameOf: NameOf): T {
  const { warnings, event } = message;
  if (warnings) return { ...message, warnings: renamedWarnings(warnings, nameOf) };
  if (event?.case !== "done") return message;
  const value = { ...event.value, warnings: renamedWarnings(event.value.warnings, nameOf) };
  return { ...message, event: { case: "done", value } };
}

/** Most warnings begin with the field that they are about. Of two fields with one name at the client the same is said once. */
const renamedWarnings = (warnings: readonly string[], nameOf: NameOf): string[] => [
  ...new Set(warnings.map((text) => text.replace(/^[^\s:]+(?=: )/, nameOf))),
];

/** Of a list that is not looked at from an item on, that item may have another place at the client. */
function renamedViolation(violation: Violation, nameOf: NameOf): Violation {
  const { field, from } = violation;
  if (from === undefined) return { ...violation, field: nameOf(field) };
  const name = nameOf(field);
  const behind = nameOf(`${field}[${from}]`).slice(name.length);
  const [, place = from] = /^\[(\d+)\]/.exec(behind) ?? [];
  return unchecked(name, Number(place));
}
