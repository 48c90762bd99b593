/** Guards and the contract: each text that it has room for is looked at, or it says here why not. */
import {
  create,
  type DescField,
  type DescMessage,
  getOption,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { field as rulesOf } from "../../gen/buf/validate/validate_pb.js";
import {
  type LLMMessage,
  type LLMRequest,
  LLMRequestSchema,
  LLMResponseSchema,
} from "../../gen/lintel/v1/chat_pb.js";
import { type TextToImageRequest, TextToImageRequestSchema } from "../../gen/lintel/v1/image_pb.js";
import { type MapText, mapMessage, mapRequest } from "../../src/core/guards/texts.js";

/** By its message, such as `LLMMessage.content`. */
const nameOf = ({ parent, name }: DescField) => `${parent.name}.${name}`;

/** How a text stands in fields that are no plain text. */
const written: Readonly<Record<string, (text: string) => string>> = {
  "LLMMessage.reasoning_details": (text) => JSON.stringify([{ type: "reasoning.text", text }]),
  "FileData.file_data": (text) => `data:text/plain;base64,${Buffer.from(text).toString("base64")}`,
  "FunctionCall.arguments": (text) => JSON.stringify({ said: text }),
  "FunctionTool.parameters": (text) => JSON.stringify({ description: text }),
  "JsonSchemaFormat.schema": (text) => JSON.stringify({ description: text }),
};

/** The words that a field takes; none: any. */
const wordsOf = (field: DescField): readonly string[] => {
  const { type } = getOption(field, rulesOf);
  return type.case === "string" ? type.value.in : [];
};

/**
 * Messages of a schema, one for each of its types, with its own name in each field that can have a text.
 * @param names gets these names
 */
function filled(schema: DescMessage, names: Set<string>): Message[] {
  const types = schema.field.type ? wordsOf(schema.field.type) : [];
  const members: Record<string, unknown> = {};
  for (const field of schema.fields) {
    const values = valuesOf(field, names);
    if (values.length === 0) continue;
    members[field.localName] = field.fieldKind === "list" ? values : values[0];
  }
  return (types.length > 0 ? types : [""]).map((type) =>
    create(schema, type === "" ? members : { ...members, type }),
  );
}

/** What can stand in a field; nothing where that is no text. */
function valuesOf(field: DescField, names: Set<string>): unknown[] {
  const kind = field.fieldKind === "list" ? field.listKind : field.fieldKind;
  if (kind === "message" && field.message) return filled(field.message, names);
  // Numbers by numbers.
  if (field.fieldKind === "map" && field.scalar === ScalarType.DOUBLE) return [];
  // Whoever adds another map, or what is of any type, says here how its texts are written.
  if (kind !== "scalar" && kind !== "enum") throw new Error(`${nameOf(field)} is a ${kind}`);
  const isText = field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES;
  if (!isText || wordsOf(field).length > 0) return [];
  const name = nameOf(field);
  names.add(name);
  if (field.scalar === ScalarType.BYTES) return [Buffer.from(name)];
  return [(written[name] ?? String)(name)];
}

const ids = "an id, which says nothing";
const again = "what a model server wants to see again, such as a signature";
const image = "an image: for guards that look at images";
const size = "at most 16 characters about the size of pictures, which no model reads";
const model = "the name of a model that there is";
const user = "whom a call is for, as callers say: has settings of its own, pass_user";
const spelled = "told where it is a part of a text that was looked at, and left as it is";
const others = "not told where somebody looks at answers";
const ofMessages = {
  "LLMMessage.tool_call_id": ids,
  "ToolCall.id": ids,
  "ToolCall.extra_content": again,
  "ContentPart.extra_content": again,
  "ImageUrl.url": image,
  "InputAudio.data": "a sound",
};

test.each<[DescMessage, (message: never, map: MapText) => unknown, Record<string, string>]>([
  [
    LLMRequestSchema,
    (request: LLMRequest, map) => mapRequest("complete", request, map),
    {
      ...ofMessages,
      "FunctionName.name": "that of one of the tools, which is looked at there",
      "LLMRequest.model": model,
      "LLMRequest.user": user,
      "LLMRequest.prompt_cache_key": "no model reads it, and vendors are told a hash",
      "LLMRequest.modalities": "some of two words",
      "ImageConfig.aspect_ratio": size,
      "ImageConfig.image_size": size,
    },
  ],
  [
    TextToImageRequestSchema,
    (request: TextToImageRequest, map) => mapRequest("textToImage", request, map),
    {
      "TextToImageRequest.model_id": model,
      "TextToImageRequest.loras": "names of LoRAs that there are, and numbers",
      "TextToImageRequest.user": user,
    },
  ],
  [
    LLMResponseSchema,
    ({ choices }: { choices: { message?: LLMMessage; delta?: LLMMessage }[] }, map) =>
      choices.map(({ message, delta }) =>
        [message, delta].map((it) => it && mapMessage(it, "x", map)),
      ),
    {
      ...ofMessages,
      "LLMResponse.id": ids,
      "LLMResponse.model": model,
      "LLMResponse.warnings": "words of the gateway",
      "LLMResponse.service_tier": "a short name, or none",
      "LLMChoice.finish_reason": "one of a few words, whatever a model server says",
      "LLMChoice.stop_sequence": "one of the texts that the caller named",
      "TokenLogprob.token": spelled,
      "TokenLogprob.bytes": spelled,
      "TopLogprob.token": others,
      "TopLogprob.bytes": others,
    },
  ],
])("every text of $name is looked at, or has a reason", (schema, looks, reasons) => {
  const names = new Set<string>();
  const [message] = filled(schema, names);
  const seen = new Set<string>();
  looks(message as never, (text) => {
    for (const name of names) if (text.includes(name)) seen.add(name);
    return text;
  });
  const unseen = [...names].filter((name) => !seen.has(name));
  expect(new Set(unseen)).toEqual(new Set(Object.keys(reasons)));
});
