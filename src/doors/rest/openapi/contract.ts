/** The contract with what its comments say, which generated code does not keep. */
import {
  createFileRegistry,
  type DescField,
  type DescMessage,
  type DescMethod,
  type FileRegistry,
  fromBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { type Part, said } from "./schema.js";

/** The definitions, as `buf build` writes them. */
export class Contract {
  readonly #registry: FileRegistry;

  /** @param image a `FileDescriptorSet` with source info, in protobuf's binary form */
  constructor(image: Uint8Array) {
    this.#registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, image));
  }

  /** @throws Error if there is none of the name */
  message(name: string): DescMessage {
    return there(this.#registry.getMessage(`lintel.v1.${name}`), name);
  }

  /** @throws Error if there is none of the name */
  method(service: string, name: string): DescMethod {
    const { methods } = there(this.#registry.getService(`lintel.v1.${service}`), service);
    return there(
      methods.find((method) => method.name === name),
      name,
    );
  }
}

/** A field of a message. @throws Error if there is none of the name */
export const fieldOf = (message: DescMessage, name: string): DescField =>
  there(
    message.fields.find((field) => field.name === name),
    `${message.name}.${name}`,
  );

/** Describes members as the fields of a message are. */
export const fieldsOf = (message: DescMessage) => (name: string, form: Part) =>
  said(commentOf(fieldOf(message, name)), form);

/** What the comments ahead of a definition say, as one text; empty: nothing. */
export function commentOf(desc: DescField | DescMessage | DescMethod): string {
  const path = placeOf(desc).join();
  const { file } = desc.kind === "message" ? desc : (desc.parent as DescMessage);
  const place = file.proto.sourceCodeInfo?.location.find((it) => it.path.join() === path);
  const paragraphs = (place?.leadingComments ?? "").split(/\n\s*\n/);
  return paragraphs.map((text) => text.trim().replace(/\s*\n\s*/g, " ")).join("\n\n");
}

/** Where a definition stands, in the numbers of `descriptor.proto`: messages of a file are its 4, for one. */
function placeOf(desc: DescField | DescMessage | DescMethod): number[] {
  switch (desc.kind) {
    case "message":
      return [4, desc.file.messages.indexOf(desc)];
    case "field":
      return [...placeOf(desc.parent), 2, desc.parent.fields.indexOf(desc)];
    case "rpc":
      return [
        6,
        desc.parent.file.services.indexOf(desc.parent),
        2,
        desc.parent.methods.indexOf(desc),
      ];
  }
}

function there<T>(found: T | undefined, name: string): T {
  if (found === undefined) throw new Error(`the contract has no ${name}`);
  return found;
}
