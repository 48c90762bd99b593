/** Is the request one that the contract allows? Asked once, for every door. */
import type { Call, ImageCall, Middleware } from "./call.js";
import { checkChat } from "./check-chat.js";
import { invalidFields, type Violation } from "./errors.js";
import { withPlainImages } from "./image-urls.js";
import { joined } from "./joined.js";
import { parseLoras, withoutLoraTags } from "./loras.js";
import type { MethodName } from "./methods.js";
import { isConversation, methods } from "./methods.js";
import { type Check, compileRules } from "./rules.js";
import type { CoreSettings } from "./settings.js";
import { offeredOnce } from "./tool-calls.js";
import { noteUser } from "./user.js";

/**
 * Throws what the door found wrong while decoding together with what the rules
 * find, so that the caller hears of all fields at once.
 */
export function validate(settings: CoreSettings): Middleware {
  // What bounds LoRAs is their number, which only reading the field tells.
  const { loras, ...bounds } = settings.bounds;
  // A gateway has done so for its node.
  const defuses = loras?.max !== undefined && !settings.servesGateways;
  const checks = Object.fromEntries(
    Object.entries(methods).map(([name, method]) => [name, compileRules(method.input, bounds)]),
  ) as Record<MethodName, Check>;
  return (next) => (call) => {
    const { defect } = call;
    const undecoded = defect?.violations ?? [];
    const refused = defect?.code === "unsupported_parameter";
    // Of what could not be read there is nothing to check.
    if (defect && undecoded.length === 0 && !refused) throw defect;
    const found: Violation[] = [];
    checks[call.method](call.request, "", found);
    if (isChatCall(call)) checkChat(call.request, settings.imageHosts, found);
    // Also of a request that is refused for something else.
    if (!found.some(({ field }) => field === "user")) noteUser(call);
    if (undecoded.length > 0) {
      throw invalidFields(joined(methods[call.method].input, undecoded, found));
    }
    if (found.length > 0) throw invalidFields(found);
    if (defect) throw defect;
    if (isChatCall(call)) return next(asTold(call));
    return next(isImage(call) ? withLoras(call, loras?.max, defuses) : call);
  };
}

const isChatCall = (call: Call): call is Call<"chat"> => isConversation(call.method);

const isImage = (call: Call): call is ImageCall =>
  call.method === "textToImage" || call.method === "streamTextToImage";

/** The call, whose tools have a name each, and whose images are told as all servers know them. */
function asTold(call: Call<"chat">): Call {
  const { warnings } = call;
  const request = withPlainImages(call.request);
  const once = request.tools.length > 1 ? offeredOnce(request.tools) : undefined;
  if (once?.warning === undefined) {
    return request === call.request ? call : { ...call, request };
  }
  warnings.add(once.warning);
  return { ...call, request: { ...request, tools: once.tools } };
}

/**
 * The call, whose `loras` is empty if it names none: an empty object asks for nothing.
 * @param most the operator's bound; absent: the contract's
 * @param defuses whether no tag in a prompt asks for more behind the field's back, as where the
 *   operator bounds them
 */
function withLoras(call: ImageCall, most: number | undefined, defuses: boolean): Call {
  const { request } = call;
  const loras = parseLoras(request.loras, most).size > 0 ? request.loras : "";
  if (!defuses) {
    return loras === request.loras ? call : { ...call, request: { ...request, loras } };
  }
  const prompt = request.prompt && withoutLoraTags(request.prompt);
  const negativePrompt = withoutLoraTags(request.negativePrompt);
  if (prompt !== request.prompt || negativePrompt !== request.negativePrompt) {
    call.warnings.add("loras: tags in prompts are plain text here, this field asks for LoRAs");
  }
  return { ...call, request: { ...request, loras, prompt, negativePrompt } };
}
