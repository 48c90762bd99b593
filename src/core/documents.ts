/** Documents in messages, told as their text to models that take no files. */
import type { ContentPart, LLMMessage, LLMRequest } from "../../gen/lintel/v1/chat_pb.js";
import type { Model } from "../../gen/lintel/v1/models_pb.js";
import type { Call, Handle } from "./call.js";
import type { CallSignal } from "./cancellation.js";
import { inOneText } from "./chat-messages.js";
import { LintelError, toLintelError, unsupported } from "./errors.js";
import { fileIn, isPdf, textLength, toldFile } from "./files.js";
import { isChat, type MethodName, type Output } from "./methods.js";

/** What a document says. */
export interface DocumentText {
  readonly text: string;
  /** What is said about it besides, as its title and its authors; absent: nothing. */
  readonly about?: string | undefined;
  /** How many pages it has. */
  readonly pages: number;
  /** How many of them have no text, as pictures of pages have none. */
  readonly blank: number;
  /** Whether it has faults, so that some of its text may be missing. */
  readonly damaged: boolean;
}

/** Reads documents. */
export interface DocumentReader {
  /**
   * @param pdf the bytes of the file
   * @param caller whose call has it: each caller in turn
   * @throws LintelError `invalid_value` that says why it can't be read; the signal's reason
   */
  read(pdf: Uint8Array, caller: string, signal: CallSignal): Promise<DocumentText>;
}

/** Whether a part has a document whose text can be read. */
export function isReadable(part: ContentPart): boolean {
  const content = fileIn(part);
  return content !== undefined && isPdf(content);
}

/** Stands for files in messages among what a model supports, and in what it refuses. */
export const files = "file";

/**
 * A handle that tells documents as text: to a model that takes no files at once, to another one
 * where its server refuses them, which only some models of a server may take.
 */
export const readingDocuments =
  (handle: Handle, reader: DocumentReader, { supports }: Pick<Model, "supports">): Handle =>
  (call) =>
    supports.includes(files)
      ? toldWhereRefused(handle, reader, call)
      : toldAtOnce(handle, reader, call);

type Answer = AsyncGenerator<readonly Output<MethodName>[], void>;

async function* toldWhereRefused(handle: Handle, reader: DocumentReader, call: Call): Answer {
  let began = false;
  try {
    for await (const batch of handle(call)) {
      began ||= batch.length > 0;
      yield batch;
    }
  } catch (thrown) {
    if (began || !isRefused(thrown) || !areReadable(call.request as LLMRequest)) throw thrown;
    yield* toldAtOnce(handle, reader, call);
  }
}

async function* toldAtOnce(handle: Handle, reader: DocumentReader, call: Call): Answer {
  yield* handle(await toldAhead(call, reader));
}

const isRefused = (thrown: unknown): boolean =>
  thrown instanceof LintelError &&
  thrown.code === "unsupported_parameter" &&
  thrown.param === files;

/** Whether the text of all files in messages can be read. */
export const areReadable = ({ messages }: LLMRequest): boolean =>
  messages.every(({ parts }) => parts.every((part) => part.type !== files || isReadable(part)));

/** Whether messages have files, other than those that are text to any model. */
export const haveFiles = ({ messages }: LLMRequest): boolean =>
  messages.some(({ parts }) =>
    parts.some((part) => part.type === files && textLength(part) === undefined),
  );

/**
 * Whether all files of a call are told as text, whoever answers it: then that is done before anybody
 * is asked, once, and without a place at a model.
 */
export function areToldAhead({ method, request, targets = [] }: Call): boolean {
  if (!isChat(method) || targets.some(({ model }) => model.supports.includes(files))) return false;
  return haveFiles(request as LLMRequest) && areReadable(request as LLMRequest);
}

/** The call with the text of its documents. @throws LintelError `unsupported_parameter` where one can't be read */
export const toldAhead = async (call: Call, reader: DocumentReader): Promise<Call> => ({
  ...call,
  request: await told(call.request as LLMRequest, reader, call),
});

/** The request with the text of its documents. */
async function told(request: LLMRequest, reader: DocumentReader, call: Call): Promise<LLMRequest> {
  const { warnings } = call;
  const faults = { blank: 0, damaged: false };
  const messages: LLMMessage[] = [];
  await timed(call, async () => {
    for (const [i, message] of request.messages.entries()) {
      const parts: ContentPart[] = [];
      // One after the other: each takes a process, and memory.
      for (const [j, part] of message.parts.entries()) {
        const content = fileIn(part);
        if (!part.file || !content) parts.push(part);
        else {
          const said = await read(reader, content.data, call, `messages[${i}].parts[${j}]`);
          faults.blank += said.blank;
          faults.damaged ||= said.damaged;
          parts.push(toldFile(part.file, said.text, j));
        }
      }
      messages.push(inOneText({ ...message, parts }));
    }
  });
  const { blank, damaged } = faults;
  warnings.add("messages: this model takes no files, of documents it is told the text");
  if (blank > 0) warnings.add(`messages: pages of documents have no text, left out: ${blank}`);
  if (damaged) warnings.add("messages: a document has faults, some of its text may be missing");
  return { ...request, messages };
}

/** Reads documents, and notes down how long that takes, also in vain. */
export async function timed<T>({ attributes }: Call, reading: () => Promise<T>): Promise<T> {
  const since = performance.now();
  try {
    return await reading();
  } finally {
    attributes.documentsMs = (attributes.documentsMs ?? 0) + performance.now() - since;
  }
}

async function read(
  reader: DocumentReader,
  data: string,
  { caller, signal }: Call,
  at: string,
): Promise<DocumentText> {
  try {
    return await reader.read(Buffer.from(data, "base64"), caller?.id ?? "", signal);
  } catch (thrown) {
    const { code, message } = toLintelError(thrown);
    if (code !== "invalid_value") throw thrown;
    // Another model may take the file itself.
    throw unsupported(at, `this model takes no files, and the text can't be read: ${message}`);
  }
}
