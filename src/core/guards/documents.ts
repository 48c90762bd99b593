/** What PDFs in messages say, for guards to look at. */
import type { ContentPart, LLMRequest } from "../../../gen/lintel/v1/chat_pb.js";
import type { Call } from "../call.js";
import { type DocumentReader, isReadable, timed } from "../documents.js";
import { toLintelError } from "../errors.js";
import { fileIn } from "../files.js";
import { isConversation } from "../methods.js";

/** What the PDFs of a call say. */
export interface PdfTexts {
  /** Of each that could be read. */
  readonly texts: ReadonlyMap<ContentPart, string>;
  /** Those that could not. */
  readonly unread: readonly { readonly field: string; readonly why: string }[];
}

/**
 * Reads the PDFs of a call, one after the other: each takes a process, and memory.
 * @param reader absent: the operator has none read
 * @throws LintelError where reading fails for a reason that is not the document's; the signal's reason
 */
export async function pdfTexts(call: Call, reader: DocumentReader | undefined): Promise<PdfTexts> {
  const texts = new Map<ContentPart, string>();
  const unread: { field: string; why: string }[] = [];
  if (!isConversation(call.method)) return { texts, unread };
  const { caller, signal } = call;
  for (const [i, { parts }] of (call.request as LLMRequest).messages.entries()) {
    for (const [j, part] of parts.entries()) {
      if (!isReadable(part)) continue;
      const field = `messages[${i}].parts[${j}].file.file_data`;
      if (!reader) {
        unread.push({ field, why: "no documents are read here" });
        continue;
      }
      const pdf = Buffer.from(fileIn(part)?.data ?? "", "base64");
      try {
        const said = await timed(call, () => reader.read(pdf, caller?.id ?? "", signal));
        texts.set(part, said.text);
      } catch (thrown) {
        const { code, message } = toLintelError(thrown);
        if (code !== "invalid_value") throw thrown;
        unread.push({ field, why: message });
      }
    }
  }
  return { texts, unread };
}
