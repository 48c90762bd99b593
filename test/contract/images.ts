/** Images, by each way in. */
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { PNG } from "pngjs";
import {
  type Media,
  TextToImageRequestSchema,
  TextToImageService,
} from "../../gen/lintel/v1/image_pb.js";
import type { Case, Failure, ImageOutcome } from "./cases.js";
import type { TransportOf } from "./transports.js";
import {
  authorization,
  events,
  failureOf,
  failureOfRpc,
  type Json,
  post,
  warningOf,
} from "./wire.js";

type Image = (base: string, row: Case<ImageOutcome>) => Promise<ImageOutcome>;

/** What the PNG at an address says of itself. */
async function sizeAt(url: string): Promise<string> {
  const { width, height } = PNG.sync.read(Buffer.from(await (await fetch(url)).arrayBuffer()));
  return `${width}x${height}`;
}

type Looks = Pick<Media, "url" | "seed" | "nsfw" | "revisedPrompt">;

/** An image in JSON. */
const inJson = ({ revised_prompt: revisedPrompt, ...rest }: Json): Looks =>
  ({ ...rest, revisedPrompt }) as Looks;

/** What pictures look like, in the table's terms. */
async function looksOf(images: readonly Looks[]) {
  return {
    seeds: images.map((m) => m.seed),
    nsfw: images.map((m) => m.nsfw),
    revised: images.map((m) => m.revisedPrompt ?? ""),
    sizes: await Promise.all(images.map((m) => sizeAt(m.url))),
  };
}

export const imageOverJson: Image = async (base, { request, token }) => {
  const response = await post(base, "/text-to-image", request, token);
  const json: Json = await response.json();
  if (!response.ok) return failureOf(json, response);
  return { ...(await looksOf(json.images.map(inJson))), warning: warningOf(json.warnings) };
};

const openaiNames: Readonly<Record<string, string>> = {
  model_id: "model",
  num_images_per_prompt: "n",
};

/** A request as OpenAI's clients write it. */
function asOpenAI({ width, height, ...rest }: Record<string, unknown>): Record<string, unknown> {
  const size = width && height ? { size: `${width}x${height}` } : { width, height };
  const renamed = Object.entries(rest).map(([name, value]) => [openaiNames[name] ?? name, value]);
  return { ...Object.fromEntries(renamed), ...size };
}

export const imageOverOpenAI: Image = async (base, { request, token }) => {
  const response = await post(base, "/v1/images/generations", asOpenAI(request), token);
  const json: Json = await response.json();
  if (!response.ok) return inOurNames(failureOf(json, response));
  return { ...(await looksOf(json.data.map(inJson))), warning: warningOf(json.warnings, ours) };
};

/** The contract's names of fields. */
const ours = (field: string) =>
  Object.keys(openaiNames).find((name) => openaiNames[name] === field) ?? field;

/** A failure with the contract's names of fields. */
function inOurNames({ error }: { error: Failure }): { error: Failure } {
  return { error: { ...error, ...(error.fields && { fields: error.fields.map(ours) }) } };
}

export const imageOverOpenAIEvents: Image = async (base, { request, token }) => {
  const body = { ...asOpenAI(request), stream: true };
  const response = await post(base, "/v1/images/generations", body, token);
  if (!response.ok) return inOurNames(failureOf(await response.json(), response));
  const all = await events(response, false);
  const { error, warnings } = all.at(-1);
  if (error) return failureOf({ error, detail: {} });
  const images = all.map(({ b64_json, size, ...rest }) => ({
    ...inJson(rest),
    url: `data:image/png;base64,${b64_json}`,
  }));
  const looks = await looksOf(images);
  if (all.some(({ size }, i) => size !== looks.sizes[i])) throw new Error("another size");
  return { ...looks, warning: warningOf(warnings, ours) };
};

export const imageOverSse: Image = async (base, { request, token }) => {
  const response = await post(base, "/text-to-image", { ...request, stream: true }, token);
  if (!response.ok) return failureOf(await response.json(), response);
  const done = (await events(response)).at(-1);
  if (done.type !== "done") return failureOf(done);
  return { ...(await looksOf(done.images.map(inJson))), warning: warningOf(done.warnings) };
};

const imageRequest = (request: object) =>
  fromJson(TextToImageRequestSchema, request as JsonValue, { ignoreUnknownFields: true });

export const imageOverRpc =
  (transport: TransportOf): Image =>
  async (base, { request, token }) => {
    try {
      const answer = await createClient(TextToImageService, transport(base)).textToImage(
        imageRequest(request),
        { headers: authorization(token) },
      );
      return { ...(await looksOf(answer.images)), warning: warningOf(answer.warnings) };
    } catch (thrown) {
      return failureOfRpc(thrown);
    }
  };

export const imageStreamOverRpc =
  (transport: TransportOf): Image =>
  async (base, { request, token }) => {
    const images: Media[] = [];
    let warning: string | undefined;
    try {
      for await (const { event: e } of createClient(
        TextToImageService,
        transport(base),
      ).streamTextToImage(imageRequest(request), { headers: authorization(token) })) {
        if (e.case === "image" && e.value.media) images.push(e.value.media);
        if (e.case === "done") warning = warningOf(e.value.warnings);
      }
      return { ...(await looksOf(images)), warning };
    } catch (thrown) {
      return failureOfRpc(thrown);
    }
  };
