/** Reads streams of Google's Gemini API. */

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers without their types
export type GenerateEvent = any;

/** The events of a finished stream, of which the last one is its end, or an error that follows once more as it is. */
export async function generateEvents(response: Response): Promise<GenerateEvent[]> {
  const blocks = (await response.text()).split("\n\n");
  const rest = blocks.pop();
  const events = blocks.map((block) => {
    const [, data = ""] = /^data: (.*)$/.exec(block) ?? [];
    if (data === "") throw new Error(`not an event: ${JSON.stringify(block)}`);
    return JSON.parse(data);
  });
  const last = events.at(-1);
  if (!last?.error && !last?.candidates[0].finishReason) throw new Error("the stream has no end");
  const again = last.error ? blocks.at(-1)?.slice("data: ".length) : "";
  if (rest !== again) throw new Error(`not the end: ${JSON.stringify(rest)}`);
  return events;
}

/** Parts of an answer, or of all its events. */
export const partsOf = (...answers: readonly GenerateEvent[]): GenerateEvent[] =>
  answers.flatMap(({ candidates }) => candidates?.[0].content.parts ?? []);

/** What stands in parts that are thoughts, or none. */
export const textOf = (parts: readonly GenerateEvent[], thought = false): string =>
  parts.map((part) => ((part.thought ?? false) === thought ? (part.text ?? "") : "")).join("");
