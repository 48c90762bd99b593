/** Pictures through a gateway's REST door. */

/** How a picture came. */
export interface Drawn {
  /** Until it is stored. */
  readonly seconds: number;
  /** That its progress told. */
  readonly steps: number;
}

/**
 * Draws a picture.
 * @param url the gateway's
 * @param request what differs from the defaults
 * @throws Error with the answer's end if there is no picture
 */
export async function draw(url: string, request: object): Promise<Drawn> {
  const from = performance.now();
  const response = await fetch(`${url}/text-to-image`, {
    method: "POST",
    headers: { authorization: "Bearer bench", "content-type": "application/json" },
    body: JSON.stringify({ safety_check: false, stream: true, ...request }),
  });
  const text = await response.text();
  if (!text.includes('"type":"done"')) throw new Error(`no picture: ${text.slice(-300)}`);
  const steps = text.match(/"type":"progress"/g)?.length ?? 0;
  return { seconds: (performance.now() - from) / 1000, steps };
}
