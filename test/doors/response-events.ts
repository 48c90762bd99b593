/** Reads streams of the Responses API. */

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers without their types
type Json = any;

/** The events of a finished stream: each says its type twice, and they are numbered from 0. */
export async function responseEvents(response: Response): Promise<Json[]> {
  const blocks = (await response.text()).split("\n\n").filter((it) => it !== "" && it[0] !== ":");
  return blocks.map((block, number) => {
    const [, type, data = ""] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? [];
    const event = JSON.parse(data || "null");
    if (event?.type !== type || event?.sequence_number !== number) {
      throw new Error(`not event ${number}: ${JSON.stringify(block)}`);
    }
    return event;
  });
}
