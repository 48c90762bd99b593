/** Forms of answers that are no JSON: one of some texts, what matches an expression, what a grammar has. */
import type { LLMRequest, ResponseFormat } from "../../gen/lintel/v1/chat_pb.js";

/** Their types, which are the names of their fields, and of what models support. */
export const textForms = ["choice", "regex", "grammar"] as const;

/** One of their types. */
export type TextForm = (typeof textForms)[number];

const all: ReadonlySet<string> = new Set(textForms);

/** Which of them a form is; `undefined`: none. */
export const textFormOf = ({ type }: ResponseFormat): TextForm | undefined =>
  all.has(type) ? (type as TextForm) : undefined;

/** Whether an answer has any form but that of a text. */
export const hasForm = ({ responseFormat: form }: LLMRequest): boolean =>
  form !== undefined && form.type !== "text";

/** Whether what a model says is to be JSON. */
export const isJson = (request: LLMRequest): boolean =>
  hasForm(request) && !all.has(request.responseFormat?.type ?? "");
