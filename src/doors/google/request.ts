/** A request of the Gemini API to the contract's. */
import { type LLMRequest, LLMRequestSchema } from "../../../gen/lintel/v1/chat_pb.js";
import { invalidFields, type LintelError, unsupported, type Violation } from "../../core/errors.js";
import { isObject, type JsonObject } from "../../core/json.js";
import { tooManyItems } from "../items.js";
import { compileDecoder } from "../json/decode.js";
import type { Known } from "../json/known.js";
import type { Names } from "../json/rename.js";
import { readConversation } from "./contents.js";
import { imageConfigNames } from "./drawing.js";
import { readGeneration } from "./generation.js";
import { either, member } from "./member.js";
import { namesOf } from "./names.js";
import { readTools } from "./tools.js";

/** What a request asks for. */
export interface GenerateRequest {
  readonly message: LLMRequest;
  readonly defect: LintelError | undefined;
  /** What was dropped. */
  readonly warnings: readonly string[];
  readonly names: Names;
}

const decode = compileDecoder(LLMRequestSchema);

const data = either({ mimeType: true, data: true, fileUri: true, displayName: true });
const inPart = {
  ...{ text: true, thought: true, thoughtSignature: true, inlineData: data, fileData: data },
  mediaResolution: either({ level: true }),
  functionCall: either({ id: true, name: true, args: "verbatim" }),
};
const returned = { id: true, name: true, response: "verbatim", parts: either(inPart) } as const;
const parts: Known = either({ ...inPart, functionResponse: either(returned) });

const inRequest: Readonly<Record<string, Known>> = {
  contents: either({ role: true, parts }),
  systemInstruction: either({ parts }),
  ...{ cachedContent: true, continuationToken: true, modelArmorConfig: true, serviceTier: true },
  tools: either({
    functionDeclarations: either({
      ...{ name: true, description: true },
      ...({ parameters: "verbatim", parametersJsonSchema: "verbatim" } as const),
    }),
  }),
  toolConfig: either({
    functionCallingConfig: either({
      ...{ mode: true, allowedFunctionNames: true, streamFunctionCallArguments: true },
    }),
  }),
  generationConfig: either({
    ...{ temperature: true, topP: true, topK: true, maxOutputTokens: true, seed: true },
    ...{ presencePenalty: true, frequencyPenalty: true, responseLogprobs: true, logprobs: true },
    ...{ stopSequences: true, candidateCount: true, responseModalities: true },
    imageConfig: either(Object.fromEntries(imageConfigNames.map((name) => [name, true]))),
    mediaResolution: true,
    responseMimeType: true,
    ...({ responseSchema: "verbatim", responseJsonSchema: "verbatim" } as const),
    responseFormat: either({
      text: either({ mimeType: true, schema: "verbatim" }),
      ...{ audio: true, video: true },
      image: either({ aspectRatio: true, imageSize: true }),
    }),
    thinkingConfig: either({ includeThoughts: true, thinkingBudget: true, thinkingLevel: true }),
  }),
};

/** What a client looks for in the answer, or leaves out of what it sends, and why there is nothing like it. */
const refusals: Readonly<Record<string, string>> = {
  cachedContent: "nothing is kept here",
  continuationToken: "no answer is kept here to go on with",
  // Who has an answer checked, or blocked, must not take one that nobody looked at for such.
  modelArmorConfig: "this gateway supports nothing of the kind",
};

/** The contract's tiers of service, and the ordinary one, as SDKs and as protobuf write them. */
const tiers = /(?:^|_)(?:(flex|priority)|standard|unspecified)$/i;

/** What is read of a request. */
export const generateFields = either(inRequest);

/** Where what is to be counted may stand as a whole. */
const wrapped = "generateContentRequest";

/** What is read of a request whose tokens are to be counted. */
export const countFields = either({ ...inRequest, [wrapped]: generateFields });

/** Reads a request. @param model as the path names it */
export function readGenerate(json: JsonObject, model: string): GenerateRequest {
  const warnings: string[] = [];
  const wrong: Violation[] = [];
  const conversation = readConversation(json);
  const offer = readTools(json, warnings, wrong);
  const generation = readGeneration(json, warnings, wrong);
  const wanted = member(json, "serviceTier") ?? "";
  const tier = wanted === "" ? undefined : tiers.exec(String(wanted));
  if (tier === null) warnings.push("serviceTier: not supported, ignored");
  if (conversation.hasResolution) {
    warnings.push("contents: mediaResolution of what is no image is not supported, ignored");
  }
  const { message, violations } = decode({
    model,
    // What stands in `systemInstruction` alone is no conversation.
    messages: isConversation(json.contents) ? conversation.messages : json.contents,
    tools: offer.tools,
    tool_choice: offer.choice,
    service_tier: tier?.[1]?.toLowerCase(),
    ...generation.asked,
  });
  // Not pushed as arguments, of which there may be too many for the stack.
  const faults = [...violations, ...conversation.violations, ...wrong];
  const refused = conversation.refused ?? generation.refused ?? refusedIn(json);
  const said = [...conversation.violations, ...wrong].map(({ field }) => field);
  const own = new Set([...said, refused?.param]);
  const names = namesOf(
    conversation.places,
    offer.places,
    own,
    offer.schemas,
    generation.schema,
    generation.effort,
  );
  const defect = faults.length > 0 ? invalidFields(faults) : refused;
  return { message, defect, warnings, names };
}

function refusedIn(json: JsonObject): LintelError | undefined {
  // An empty text says as much as none, as in all of Google's APIs.
  const name = Object.keys(refusals).find((one) => (member(json, one) ?? "") !== "");
  return name === undefined ? undefined : unsupported(name, refusals[name]);
}

const isConversation = (contents: unknown): boolean =>
  Array.isArray(contents)
    ? contents.length > 0 && !tooManyItems("contents", contents.length)
    : isObject(contents);

/** Reads a request whose tokens are to be counted: contents alone, or all of it. */
export function readCount(json: JsonObject, model: string): GenerateRequest {
  const inner = member(json, wrapped);
  if (!isObject(inner)) return readGenerate(json, model);
  const read = readGenerate(inner, model);
  const { names } = read;
  return {
    ...read,
    names: (field) => `${wrapped}.${typeof names === "function" ? names(field) : field}`,
  };
}
