/** Scripted servers of `/v1/images/generations`. */
import { type Fixture, fixture } from "./fixture.js";
import { picture } from "./picture.js";
import type { Exchange, Script } from "./upstream.js";

/** A fixture with texts put in for `{name}`. */
export function filled(name: string, values: Readonly<Record<string, string>>): Fixture {
  const played = fixture(name);
  const body = Object.entries(values).reduce(
    (text, [key, value]) => text.replaceAll(`{${key}}`, value),
    played.body.toString("utf8"),
  );
  return { ...played, body: Buffer.from(body) };
}

/** What a server reads of a request: the picture that it makes depends on nothing else. */
export interface Asked {
  readonly prompt: string;
  readonly width: number;
  readonly height: number;
  readonly seed: number;
}

/** Reads a request as most servers do. */
export function askedOf(exchange: Exchange): Asked {
  const { prompt, size, seed = 0 } = exchange.json();
  const [width = 0, height = 0] = String(size).split("x").map(Number);
  return { prompt, width, height, seed };
}

/** Reads a request as those do that have width and height for fields. */
export function sidesOf(exchange: Exchange): Asked {
  const { prompt, width, height, seed = 0 } = exchange.json();
  return { prompt, width, height, seed };
}

/** The picture that is made. */
export const drawn = ({ prompt, width, height, seed }: Asked): Buffer =>
  picture(width, height, seed, prompt);

const base64 = (png: Buffer) => png.toString("base64");

/** Answers every request in the form of a fixture. */
export const drawing =
  (name: string, read: (exchange: Exchange) => Asked = askedOf): Script =>
  (exchange) => {
    const asked = read(exchange);
    const size = `${asked.width}x${asked.height}`;
    return exchange.play(filled(name, { image: base64(drawn(asked)), size }));
  };

/** gpt-image: whole, several at once, or streamed with partial images. */
export const gptImage: Script = async (exchange) => {
  const asked = askedOf(exchange);
  const { n, stream } = exchange.json();
  const image = base64(drawn(asked));
  if (!stream) {
    const { headers, body } = filled("openai/image", { image });
    const answer = JSON.parse(body.toString());
    const data = Array.from({ length: n }, (_, i) => ({
      b64_json: base64(drawn({ ...asked, seed: i })),
    }));
    return exchange.send(200, headers, JSON.stringify({ ...answer, data }));
  }
  const partials = { "partial-0": partial(asked, 0), "partial-1": partial(asked, 1) };
  await exchange.play(filled("openai/image-events", { ...partials, image }), 997);
};

/** What an image looks like on the way. */
const partial = (asked: Asked, index: number) => base64(drawn({ ...asked, seed: 1000 + index }));
