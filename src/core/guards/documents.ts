/** What PDFs in messages say, for guards to look at. */
import type { ContentPart, LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../call.js";
import { type DocumentReader, isReadable, timed } from "../documents.js";
import { LintelError, toLintelError } from "../errors.js";
import { fileIn } from "../files.js";
import { isConversation } from "../methods.js";
import type { Guard } from "./guard.js";
import type { Hears, Said } from "./roles.js";

/** A PDF that could not be read. */
export interface UnreadPdf {
  /** Whose it is. */
  readonly said: Said;
  /** With its field: `invalid_value` where that is the document's fault. */
  readonly why: LintelError;
}

/** What the PDFs of a call say. */
export interface PdfTexts {
  /** Of each that could be read. */
  readonly texts: ReadonlyMap<ContentPart, string>;
  /** Others. */
  readonly unread: readonly UnreadPdf[];
}

/**
 * Reads the PDFs of a call, one after the other: each takes a process, and memory.
 * @param guards those of a message that none of them looks at are not read
 * @param reader absent: the operator has none read
 * @throws the signal's reason
 */
export async function pdfTexts(
  call: Call,
  guards: readonly Guard[],
  hears: Hears,
  reader: DocumentReader | undefined,
): Promise<PdfTexts> {
  const texts = new Map<ContentPart, string>();
  const unread: UnreadPdf[] = [];
  if (!isConversation(call.method)) return { texts, unread };
  const { caller, signal } = call;
  for (const [i, { role, parts }] of (call.request as LLMRequest).messages.entries()) {
    const said = { role, message: i };
    if (!guards.some((guard) => hears(guard, said))) continue;
    const fail = (...error: ConstructorParameters<typeof LintelError>) =>
      void unread.push({ said, why: new LintelError(...error) });
    for (const [j, part] of parts.entries()) {
      if (!isReadable(part)) continue;
      const param = `messages[${i}].parts[${j}].file.file_data`;
      if (!reader) {
        fail("invalid_value", "no documents are read here", { param });
        continue;
      }
      const pdf = Buffer.from(fileIn(part)?.data ?? "", "base64");
      try {
        const told = await timed(call, () => reader.read(pdf, caller?.id ?? "", signal));
        texts.set(part, told.about ? `${told.about}\n\n${told.text}` : told.text);
        if (told.damaged) fail("invalid_value", faulty, { param });
      } catch (thrown) {
        signal.throwIfAborted();
        const { code, message } = toLintelError(thrown);
        fail(code, message, { param, cause: thrown });
      }
    }
  }
  return { texts, unread };
}

/** A reader that forgives more may find more in it. */
const faulty = "the PDF has faults, some of its text may be missing";
