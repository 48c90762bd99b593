/** What errors of REST look like, as JSON Schema. */
import { type ErrorCode, errorTable } from "../../../core/error-table.js";
import { list, object, type Part, refer, said, text } from "./schema.js";

/** An error of administration, which REST does not have, and that of who is not there to read it. */
const elsewhere: ReadonlySet<string> = new Set<ErrorCode>(["aborted", "cancelled"]);

/** Codes of errors by the HTTP status that they have. */
export function codesByStatus(): Map<number, ErrorCode[]> {
  const codes = new Map<number, ErrorCode[]>();
  for (const code of Object.keys(errorTable) as ErrorCode[]) {
    const { http } = errorTable[code];
    if (!elsewhere.has(code)) codes.set(http, [...(codes.get(http) ?? []), code]);
  }
  return codes;
}

/** Their schemas, by their names. */
export function errorSchemas(): Record<string, Part> {
  const codes = [...codesByStatus().values()].flat();
  const types = new Set(codes.map((code) => errorTable[code].type));
  return {
    Error: object("What went wrong, for OpenAI's clients in `error`, for FastAPI's in `detail`.", {
      error: refer("ErrorObject"),
      detail: refer("ErrorDetail"),
    }),
    ErrorObject: object("What went wrong.", {
      message: said("In words, with the field that it is about.", text),
      type: said("Its kind, as OpenAI has it.", { enum: [...types] }),
      param: said("The field that it is about; null: none.", { type: ["string", "null"] }),
      code: said("What it is, for programs.", { enum: codes }),
    }),
    ErrorDetail: {
      description: "With `invalid_fields` every field at fault, else the message.",
      oneOf: [
        object("The message.", { msg: text }),
        list(
          object("A field at fault.", {
            loc: said(
              "`body`, `query` or `path`, then the path to the field: names and positions.",
              list({ type: ["string", "integer"] }),
            ),
            msg: said("What is allowed.", text),
            type: { const: "value_error" },
          }),
        ),
      ],
    },
  };
}
