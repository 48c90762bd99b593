/** Reads streams of Google's Gemini API. */

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers without their types
export type GenerateEvent = any;

/** The events of a finished stream: between them there are blank lines at most, and the last one is its end, or an error. */
export async function generateEvents(response: Response): Promise<GenerateEvent[]> {
  const blocks = (await response.text()).split("\n\n").filter((it) => it.trim() !== "");
  const events = blocks.map((block) => {
    const [, data = ""] = /^\n*data: (.*)$/.exec(block) ?? [];
    if (data === "") throw new Error(`not an event: ${JSON.stringify(block)}`);
    return JSON.parse(data);
  });
  const last = events.at(-1);
  if (!last?.error && !last?.candidates[0].finishReason) throw new Error("the stream has no end");
  return events;
}

/** Parts of an answer, or of all its events. */
export const partsOf = (...answers: readonly GenerateEvent[]): GenerateEvent[] =>
  answers.flatMap(({ candidates }) => candidates?.[0].content.parts ?? []);

/** What stands in parts that are thoughts, or none. */
export const textOf = (parts: readonly GenerateEvent[], thought = false): string =>
  parts.map((part) => ((part.thought ?? false) === thought ? (part.text ?? "") : "")).join("");
