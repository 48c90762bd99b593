/** Server reflection, v1 and v1alpha: how clients learn the contract. Needs no token. */
import {
  createRegistry,
  type DescFile,
  type DescService,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, type ConnectRouter, type ConnectRouterOptions } from "@connectrpc/connect";
import { file_google_rpc_error_details } from "../../../gen/google/rpc/error_details_pb.js";
import { Health } from "../../../gen/grpc/health/v1/health_pb.js";
import {
  type ServerReflectionRequestSchema,
  type ServerReflectionResponseSchema,
  ServerReflection as V1,
} from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as V1Alpha } from "../../../gen/grpc/reflection/v1alpha/reflection_pb.js";
import { unlessAborted } from "../../core/abort.js";
import { toConnectError } from "../../core/connect-error.js";
import { toLintelError } from "../../core/errors.js";
import type { Readiness } from "../../core/gateway.js";

type Request = Omit<MessageShape<typeof ServerReflectionRequestSchema>, "$typeName" | "$unknown">;
type Answer = NonNullable<
  Exclude<MessageInitShape<typeof ServerReflectionResponseSchema>, { $typeName: string }>
>["messageResponse"];

/** Adds both versions to the router. @param services those that clients learn of, besides health and this one */
export function addReflection(
  router: ConnectRouter,
  readiness: Readiness,
  services: readonly DescService[],
  options?: Partial<ConnectRouterOptions>,
): void {
  const index = new Index([...services, Health, V1, V1Alpha]);
  // The versions differ by nothing but the package's name.
  const serverReflectionInfo = async function* (requests: AsyncIterable<Request>) {
    const sent = new Set<DescFile>();
    for await (const { host, messageRequest } of untilLeaving(requests, readiness)) {
      yield {
        validHost: host,
        originalRequest: { host, messageRequest },
        messageResponse: index.answer(messageRequest, sent),
      };
    }
  };
  // biome-ignore lint/suspicious/noExplicitAny: one implementation of two types that are the same
  const implementation = { serverReflectionInfo } as any;
  router.service(V1, implementation, options);
  router.service(V1Alpha, implementation, options);
}

/**
 * The requests, until the process is about to leave: it would wait for streams on which
 * nothing is asked any more.
 * @throws ConnectError `unavailable` then
 */
async function* untilLeaving<T>(requests: AsyncIterable<T>, { leaving }: Readiness) {
  const iterator = requests[Symbol.asyncIterator]();
  for (;;) {
    const step = await unlessAborted(iterator.next(), leaving).catch((thrown) => {
      throw leaving.aborted ? toConnectError(toLintelError(leaving.reason)) : thrown;
    });
    if (step.done) return;
    yield step.value;
  }
}

/** What there is to look up. */
class Index {
  readonly #services: readonly DescService[];
  readonly #files = new Map<string, DescFile>();
  readonly #symbols = new Map<string, DescFile>();
  readonly #registry: ReturnType<typeof createRegistry>;

  constructor(list: readonly DescService[]) {
    this.#services = list;
    for (const service of list) this.#add(service.file);
    // No file of a service imports the details of errors, which clients look up to show them.
    this.#add(file_google_rpc_error_details);
    this.#registry = createRegistry(...this.#files.values());
  }

  /** @param sent files that this stream has sent; they are not sent again as imports */
  answer(request: Request["messageRequest"], sent: Set<DescFile>): Answer {
    switch (request.case) {
      case "listServices":
        return {
          case: "listServicesResponse",
          value: { service: this.#services.map(({ typeName }) => ({ name: typeName })) },
        };
      case "fileByFilename":
        return files(this.#files.get(request.value), sent, `file ${request.value}`);
      case "fileContainingSymbol":
        return files(this.#symbols.get(request.value), sent, `symbol ${request.value}`);
      case "fileContainingExtension": {
        const { containingType, extensionNumber } = request.value;
        const extension = this.#extensions(containingType).find(
          (e) => e.number === extensionNumber,
        );
        return files(extension?.file, sent, `extension ${extensionNumber} of ${containingType}`);
      }
      case "allExtensionNumbersOfType": {
        if (!this.#registry.getMessage(request.value)) return notFound(`type ${request.value}`);
        const extensionNumber = this.#extensions(request.value).map((e) => e.number);
        return {
          case: "allExtensionNumbersResponse",
          value: { baseTypeName: request.value, extensionNumber },
        };
      }
      default:
        return error(Code.InvalidArgument, "the request asks for nothing");
    }
  }

  #extensions(typeName: string) {
    return [...this.#registry].filter(
      (type) => type.kind === "extension" && type.extendee.typeName === typeName,
    ) as { number: number; file: DescFile }[];
  }

  #add(file: DescFile): void {
    const { name } = file.proto;
    if (this.#files.has(name)) return;
    this.#files.set(name, file);
    for (const type of nestedTypes(file)) {
      this.#symbols.set(type.typeName, file);
      const members =
        type.kind === "service"
          ? type.methods
          : type.kind === "message"
            ? [...type.fields, ...type.oneofs]
            : [];
      for (const member of members) this.#symbols.set(`${type.typeName}.${member.name}`, file);
      if (type.kind === "enum") {
        // The values of an enum stand beside it, not in it.
        const scope = type.parent?.typeName ?? file.proto.package;
        for (const value of type.values) this.#symbols.set(`${scope}.${value.name}`, file);
      }
    }
    for (const dependency of file.dependencies) this.#add(dependency);
  }
}

/**
 * The file, then everything that it imports, each behind all that import it: clients build them
 * in the opposite order (`FileDescriptor.BuildFromByteStrings` of .NET takes no other).
 */
function files(file: DescFile | undefined, sent: Set<DescFile>, what: string): Answer {
  if (!file) return notFound(what);
  const list: DescFile[] = [];
  const add = (one: DescFile) => {
    sent.add(one);
    for (const dependency of one.dependencies) if (!sent.has(dependency)) add(dependency);
    list.push(one);
  };
  add(file);
  const fileDescriptorProto = list.reverse().map(bytesOf);
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto } };
}

const encoded = new WeakMap<DescFile, Uint8Array>();

/** Encoded once: who has no token may ask for 50 KB with each 30 bytes of a stream. */
function bytesOf(file: DescFile): Uint8Array {
  const known = encoded.get(file) ?? toBinary(FileDescriptorProtoSchema, file.proto);
  encoded.set(file, known);
  return known;
}

function notFound(what: string): Answer {
  return error(Code.NotFound, `${what} not found`);
}

function error(errorCode: Code, errorMessage: string): Answer {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}
