/** Errors by the names that the client used. */
import type { LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import { invalidFields, LintelError, toLintelError } from "../../core/errors.js";
import type { Running } from "../../core/gateway.js";
import { iterable } from "../../core/iterate.js";
import type { MethodName } from "../../core/methods.js";

/** The client's names of fields by the contract's. */
export type Names = Readonly<Record<string, string>>;

/**
 * A call whose errors name fields as the client does.
 * @param inParts whether messages came in parts, which in JSON are a list in `content`
 */
export function renamed<M extends MethodName>(
  running: Running<M>,
  names: Names,
  inParts = false,
): Running<M> {
  if (Object.keys(names).length === 0 && !inParts) return running;
  return {
    id: running.id,
    get model() {
      return running.model;
    },
    warnings: running.warnings,
    metadata: running.metadata,
    counts: running.counts,
    messages: iterable(() => {
      const iterator = running.messages[Symbol.asyncIterator]();
      return {
        next: () =>
          iterator.next().catch((thrown) => {
            throw renamedError(toLintelError(thrown), names);
          }),
        return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
      };
    }),
  };
}

/** Whether messages came in parts. */
export const areInParts = ({ messages }: LLMRequest): boolean =>
  messages.some(({ parts }) => parts.length > 0);

const ofParts = /^(messages\[\d+\])\.parts(?![^[])/;

/** An error with the client's names. Of two fields with one name at the client the same is said once. */
function renamedError(error: LintelError, names: Names): LintelError {
  const nameOf = (field: string) =>
    Object.hasOwn(names, field) ? (names[field] ?? field) : field.replace(ofParts, "$1.content");
  if (error.violations.length > 0) {
    const said = error.violations.map((v) => ({ ...v, field: nameOf(v.field) }));
    return invalidFields([...new Map(said.map((v) => [`${v.field}: ${v.message}`, v])).values()]);
  }
  const { code, message, param, retryAfter, allow, cause } = error;
  if (param === undefined || nameOf(param) === param) return error;
  const start = `${param}: `;
  return new LintelError(
    code,
    message.startsWith(start) ? `${nameOf(param)}: ${message.slice(start.length)}` : message,
    {
      param: nameOf(param),
      ...(retryAfter !== undefined && { retryAfter }),
      ...(allow !== undefined && { allow }),
      ...(cause !== undefined && { cause }),
    },
  );
}
