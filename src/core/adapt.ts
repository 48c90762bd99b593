/** Makes the form of an operation that a backend lacks out of the one that it has. */
import type { LLMResponse } from "../../gen/lintel/v1/chat_pb.js";
import type {
  StreamTextToImageResponse,
  TextToImageResponse,
} from "../../gen/lintel/v1/image_pb.js";
import type { Backend } from "./backend.js";
import type { Call, Handle } from "./call.js";
import { LintelError } from "./errors.js";
import { Gathered, inPiece } from "./gathered.js";
import { doneEvent, imageEvent } from "./image-events.js";
import type { BackendMethod } from "./methods.js";

/**
 * The handle of a backend for a method.
 * @throws LintelError `unimplemented` if the backend has neither form
 */
export function handlerOf(backend: Backend, method: BackendMethod): Handle {
  const { handlers } = backend;
  const own = handlers[method];
  if (own) return own as unknown as Handle;
  if (method === "complete" && handlers.chat) {
    const { chat } = handlers;
    return ((call: Call<"complete">) => gather(chat(as(call, "chat")))) as unknown as Handle;
  }
  if (method === "chat" && handlers.complete) {
    const { complete } = handlers;
    return ((call: Call<"chat">) => spread(complete(as(call, "complete")))) as unknown as Handle;
  }
  if (method === "streamTextToImage" && handlers.textToImage) {
    const { textToImage } = handlers;
    return ((call: Call<"streamTextToImage">) =>
      announce(textToImage(as(call, "textToImage")))) as unknown as Handle;
  }
  throw new LintelError("unimplemented", "the model server can't do this operation");
}

/** Whether the first message of a backend's answer comes before the whole of it is made. */
export function streams({ method }: Call, { handlers }: Backend): boolean {
  if (method !== "chat" && method !== "streamTextToImage") return false;
  return handlers[method] !== undefined;
}

/** The same call under the name of the operation's other form; both have one request type. */
function as<To extends BackendMethod>(call: Call<BackendMethod>, method: To): Call<To> {
  return { ...call, method } as unknown as Call<To>;
}

/** A streamed completion as a whole one. */
async function* gather(
  stream: AsyncIterable<readonly LLMResponse[]>,
): AsyncGenerator<readonly LLMResponse[]> {
  const gathered = new Gathered();
  for await (const batch of stream) {
    for (const message of batch) gathered.add(message);
  }
  const { whole } = gathered;
  if (!whole) throw cutShort();
  yield [whole];
}

/** The error for an answer that ended without saying why. */
export const cutShort = () =>
  new LintelError("upstream_failed", "the model server's answer ended before it was complete");

/** A whole completion as a stream of one piece. */
async function* spread(
  whole: AsyncIterable<readonly LLMResponse[]>,
): AsyncGenerator<readonly LLMResponse[]> {
  for await (const batch of whole) yield batch.map(inPiece);
}

/** All images at once as a stream of events. */
async function* announce(
  whole: AsyncIterable<readonly TextToImageResponse[]>,
): AsyncGenerator<readonly StreamTextToImageResponse[]> {
  for await (const batch of whole) {
    for (const { images, warnings } of batch) {
      yield [...images.map((media, index) => imageEvent(index, media)), doneEvent(warnings)];
    }
  }
}
