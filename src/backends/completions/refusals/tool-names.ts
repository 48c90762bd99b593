/** Names of tools for servers that take only some: clients that gather tools of several servers have `server.tool`, and longer ones. */
import { hash } from "node:crypto";
import type {
  LLMMessage,
  LLMRequest,
  LLMResponse,
  ToolCall,
} from "../../../../gen/lintel/v1/chat_pb.js";

/** Stands among what a server refused for names that are not of letters, digits, `_` and `-` with a letter first, or longer than 64. */
export const otherNames = "names of tools";

/** Stands there for those that have a `-`, where it took none of the others either. */
export const dashedNames = "names of tools with dashes";

/** Where names stand, in paths: OpenAI's, Anthropic's, Bedrock's, Google's. */
const place =
  "\\b(?:tools?|functions?|messages|input|toolConfig|tool_choice)\\b[\\w.[\\]-]*[.\\]](?:name|toolName)\\b";

/** What is said of them. */
const wrong =
  "\\b(?:patterns?|too long|at most \\d+ char\\w*|(?:max(?:imum)?|have) length|invalid|must (?:match|start|be|only|contain)|not (?:valid|allowed))\\b";

/** That they are refused, in the words of OpenAI (also older), Anthropic, Bedrock, Google, Mistral, Moonshot, and of checks in Python. */
const refusesNames = new RegExp(
  [
    `${place}.{0,300}?${wrong}`,
    "\\bdoes not match\\b.{0,120}\\bfunction\\.name\\b",
    "\\binvalid (?:function|tool) names?\\b",
    "\\b(?:function|tool) names?\\b.{0,200}?\\b(?:invalid|must (?:match|start|be|only|contain)|but must be|too long|can only|should|not (?:valid|allowed))\\b",
    "\\b(?:tools?|functions?) [\\w ]*\\bname (?:string_pattern_mismatch|string_too_long|value_error)\\b",
  ].join("|"),
  "is",
);

/** The words are the same of both: the first that there are in a request is meant. */
export const refusesToolNames: Readonly<Record<string, RegExp>> = {
  [otherNames]: refusesNames,
  [dashedNames]: refusesNames,
};

/** What each form has of names: OpenAI's takes dashes, and has the least room; Moonshot wants a letter first. */
const forms: Readonly<Record<string, RegExp>> = {
  [otherNames]: /^[A-Za-z][\w-]{0,63}$/,
  [dashedNames]: /^[A-Za-z]\w{0,63}$/,
};

/** What of a request's names a server may refuse. @param refused what it has refused */
export function toolNamesToRefuse(request: LLMRequest, refused: ReadonlySet<string>): string[] {
  const names = [...namesIn(request)];
  const field = Object.keys(forms).find(
    (form) => !refused.has(form) && names.some((name) => !forms[form]?.test(name)),
  );
  return field === undefined ? [] : [field];
}

/** A request with the names that a server takes. @param refused what it has refused */
export function withToldNames(request: LLMRequest, refused: ReadonlySet<string>): LLMRequest {
  const told = toldNames(request, refused);
  if (told.size === 0) return request;
  const nameOf = (name: string) => told.get(name) ?? name;
  const { tools, toolChoice, messages } = request;
  const chosen = toolChoice?.function;
  return Object.assign({}, request, {
    tools: tools.map((tool) =>
      tool.function ? { ...tool, function: named(tool.function, nameOf) } : tool,
    ),
    messages: messages.map((message) => withCalls(message, nameOf)),
    ...(chosen && { toolChoice: { ...toolChoice, function: named(chosen, nameOf) } }),
  });
}

/**
 * Gives calls in answers the names that the caller knows. Names that were never told stay: a model may make some up.
 * @param refused what the server has refused
 */
export function restoreNames(
  messages: readonly LLMResponse[],
  request: LLMRequest,
  refused: ReadonlySet<string>,
): void {
  if (!isRenamed(refused)) return;
  const calls = messages.flatMap(({ choices }) =>
    choices.flatMap(({ delta, message }) => [
      ...(delta?.toolCalls ?? []),
      ...(message?.toolCalls ?? []),
    ]),
  );
  restoreCallNames(calls, request, refused);
}

/** The same for calls. */
export function restoreCallNames(
  calls: readonly ToolCall[],
  request: LLMRequest,
  refused: ReadonlySet<string>,
): void {
  if (!isRenamed(refused) || !calls.some(({ function: called }) => called?.name)) return;
  const known = new Map([...toldNames(request, refused)].map(([name, told]) => [told, name]));
  for (const { function: called } of calls) {
    if (called) called.name = known.get(called.name) ?? called.name;
  }
}

const isRenamed = (refused: ReadonlySet<string>): boolean =>
  refused.has(otherNames) || refused.has(dashedNames);

const named = <T extends { readonly name: string }>(one: T, nameOf: (name: string) => string): T =>
  Object.assign({}, one, { name: nameOf(one.name) });

const withCalls = (message: LLMMessage, nameOf: (name: string) => string): LLMMessage =>
  message.toolCalls.length === 0
    ? message
    : Object.assign({}, message, {
        toolCalls: message.toolCalls.map((call) =>
          call.function ? { ...call, function: named(call.function, nameOf) } : call,
        ),
      });

/** All names: of tools, of the one that has to be called, and of calls, whose tools may be gone. */
function namesIn({ tools, toolChoice, messages }: LLMRequest): ReadonlySet<string> {
  const calls = messages.flatMap(({ toolCalls }) => toolCalls);
  const all = [...tools, toolChoice, ...calls].map((one) => one?.function?.name ?? "");
  return new Set(all.filter((name) => name !== ""));
}

/**
 * What is told instead of which name: no two the same, and none that another tool has. By the names alone, not by their
 * order: what a server keeps of a prompt is found again.
 */
function toldNames(request: LLMRequest, refused: ReadonlySet<string>): ReadonlyMap<string, string> {
  const told = new Map<string, string>();
  if (!isRenamed(refused)) return told;
  const dashes = !refused.has(dashedNames);
  const fits = forms[dashes ? otherNames : dashedNames] as RegExp;
  const names = [...namesIn(request)];
  const odd = names.filter((name) => !fits.test(name)).sort();
  const taken = new Set(names.filter((name) => fits.test(name)));
  const plain = odd.map((name) => plainName(name, dashes));
  for (const [i, name] of odd.entries()) {
    const own = plain[i] as string;
    const isAlone = own.length <= longest && plain.indexOf(own) === plain.lastIndexOf(own);
    let next = isAlone ? own : marked(own, name);
    for (let more = 1; taken.has(next); more++) next = marked(own, `${name}\0${more}`);
    taken.add(next);
    told.set(name, next);
  }
  return told;
}

const longest = 64;

function plainName(name: string, dashes: boolean): string {
  const plain = name.replace(dashes ? /[^\w-]/gu : /\W/gu, "_");
  return /^[A-Za-z]/.test(plain) ? plain : `tool_${plain}`;
}

/** A name with what tells it from others that look like it. */
function marked(plain: string, name: string): string {
  const mark = hash("sha256", name).slice(0, 8);
  return `${plain.slice(0, longest - mark.length - 1)}_${mark}`;
}
