/** Reflection, health, and clients that were made by others. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:http2";
import { promisify } from "node:util";
import { create, createFileRegistry, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import * as grpc from "@grpc/grpc-js";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import {
  Health,
  type HealthCheckResponse,
  HealthCheckResponse_ServingStatus as Status,
} from "../../gen/grpc/health/v1/health_pb.js";
import {
  type ServerReflectionRequest,
  ServerReflection as V1,
} from "../../gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as V1Alpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.js";
import {
  ChatService,
  file_lintel_v1_chat,
  type LLMRequest,
  type LLMResponse,
} from "../../gen/lintel/v1/chat_pb.js";
import { LintelError } from "../../src/core/errors.js";
import { services } from "../../src/core/methods.js";
import { breaksAfter, hangsAfter, says, scripted } from "../support/scripted.js";
import { hello, me, serveRpc, transportOf } from "./rpc-server.js";

/** Shared by the tests that leave it as it is. */
const shared = await serveRpc([scripted({ chat: says("Hel", "lo") })], {}, afterAll);
const transport = transportOf("gRPC, binary", shared.url, afterAll);

describe.each([
  ["v1", V1],
  ["v1alpha", V1Alpha],
] as const)("reflection %s", (_, service) => {
  async function ask(...requests: ServerReflectionRequest["messageRequest"][]) {
    const client = createClient(service as typeof V1, transport);
    const answers = [];
    const stream = client.serverReflectionInfo(
      (async function* () {
        for (const messageRequest of requests) yield { host: "h", messageRequest };
      })(),
    );
    for await (const answer of stream) answers.push(answer);
    return answers.map((a) => a.messageResponse);
  }

  function filesOf(answer: Awaited<ReturnType<typeof ask>>[number] | undefined) {
    if (answer?.case !== "fileDescriptorResponse") throw new Error(`got ${answer?.case}`);
    return answer.value.fileDescriptorProto.map(
      (bytes): FileDescriptorProto => fromBinary(FileDescriptorProtoSchema, bytes),
    );
  }

  it("lists the services", async () => {
    const [answer] = await ask({ case: "listServices", value: "" });
    if (answer?.case !== "listServicesResponse") throw new Error(`got ${answer?.case}`);
    expect(answer.value.service.map((s) => s.name).sort()).toEqual([
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
      "lintel.v1.AccountService",
      "lintel.v1.ChatService",
      "lintel.v1.ModelsService",
      "lintel.v1.TextToImageService",
      "lintel.v1.TokensService",
    ]);
  });

  it("gives a file with all that it imports, which is complete", async () => {
    const [answer] = await ask({ case: "fileContainingSymbol", value: "lintel.v1.ChatService" });
    const file = filesOf(answer);
    expect(file[0]?.name).toBe("lintel/v1/chat.proto");
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: file.reverse() }));
    expect(registry.getService("lintel.v1.ChatService")?.methods.map((m) => m.name)).toEqual([
      "Chat",
      "Complete",
      "CountTokens",
    ]);
  });

  it("sends each file ahead of those that it imports, as some clients need it", async () => {
    for (const { file } of services) {
      const [answer] = await ask({ case: "fileByFilename", value: `${file.name}.proto` });
      const sent = filesOf(answer);
      const names = sent.map(({ name }) => name);
      for (const [place, { name, dependency }] of sent.entries()) {
        const behind = dependency.filter((imported) => names.indexOf(imported) > place);
        expect(behind, `what ${name} imports`).toEqual(dependency);
      }
    }
  });

  it.each([
    "lintel.v1.LLMRequest",
    "lintel.v1.LLMRequest.top_p",
    "lintel.v1.ChatService.Chat",
    "lintel.v1.StreamTextToImageResponse.event",
    "lintel.v1.Task",
    "lintel.v1.TASK_CHAT",
    "lintel.v1.multiple_of",
  ])("finds %s", async (value) => {
    const [answer] = await ask({ case: "fileContainingSymbol", value });
    expect(filesOf(answer)[0]?.name).toMatch(/^lintel\/v1\//);
  });

  it("finds the details of errors, without which clients show their bytes", async () => {
    const call = createClient(ChatService, transport).complete({ ...hello, temperature: 3 }, me);
    const { details } = ConnectError.from(await call.catch((thrown: unknown) => thrown));
    const types = details.map((detail) => ("type" in detail ? detail.type : detail.desc.typeName));
    expect(types).toEqual(["google.rpc.ErrorInfo", "google.rpc.BadRequest"]);
    for (const type of types) {
      const [answer] = await ask({ case: "fileContainingSymbol", value: type });
      const file = filesOf(answer).reverse();
      const registry = createFileRegistry(create(FileDescriptorSetSchema, { file }));
      expect(registry.getMessage(type)).toBeDefined();
    }
  });

  it("sends an import once for each stream", async () => {
    const answers = await ask(
      { case: "fileByFilename", value: "lintel/v1/chat.proto" },
      { case: "fileByFilename", value: "lintel/v1/image.proto" },
    );
    const names = answers.flatMap((a) => filesOf(a).map((f) => f.name));
    expect(names.filter((n) => n === "buf/validate/validate.proto")).toHaveLength(1);
    expect(names).toContain("lintel/v1/image.proto");
  });

  it("encodes a file once, however often it is asked for", async () => {
    const { proto } = file_lintel_v1_chat;
    const { messageType } = proto;
    let reads = 0;
    Object.defineProperty(proto, "messageType", {
      configurable: true,
      enumerable: true,
      get() {
        reads++;
        return messageType;
      },
    });
    onTestFinished(() => void Object.defineProperty(proto, "messageType", { value: messageType }));
    const question = { case: "fileByFilename", value: "lintel/v1/chat.proto" } as const;
    await ask(question);
    const once = reads;
    const answers = await ask(question, question);
    expect(answers.map((a) => filesOf(a)[0]?.name)).toEqual([question.value, question.value]);
    expect(reads).toBe(once);
  });

  it("looks up extensions", async () => {
    const containingType = "google.protobuf.MethodOptions";
    const [file, numbers] = await ask(
      {
        case: "fileContainingExtension",
        value: {
          $typeName: "grpc.reflection.v1.ExtensionRequest",
          containingType,
          extensionNumber: 72295728,
        },
      },
      { case: "allExtensionNumbersOfType", value: containingType },
    );
    expect(filesOf(file)[0]?.name).toBe("google/api/annotations.proto");
    if (numbers?.case !== "allExtensionNumbersResponse") throw new Error(`got ${numbers?.case}`);
    expect(numbers.value).toMatchObject({ baseTypeName: containingType });
    expect(numbers.value.extensionNumber).toContain(72295728);
  });

  it("says what is not there, and goes on", async () => {
    const answers = await ask(
      { case: "fileContainingSymbol", value: "no.Such" },
      { case: "fileByFilename", value: "no.proto" },
      { case: "allExtensionNumbersOfType", value: "no.Type" },
      { case: undefined },
      { case: "listServices", value: "" },
    );
    expect(answers.map((a) => (a.case === "errorResponse" ? a.value.errorCode : a.case))).toEqual([
      Code.NotFound,
      Code.NotFound,
      Code.NotFound,
      Code.InvalidArgument,
      "listServicesResponse",
    ]);
  });
});

it("reflection ends with the process, also where a client leaves its half open", async () => {
  const { url, core, close } = await serveRpc([]);
  const client = connect(url);
  const stream = client.request({
    ":method": "POST",
    ":path": `/${V1.typeName}/ServerReflectionInfo`,
    "content-type": "application/grpc",
    te: "trailers",
  });
  // `list_services`, without a name.
  stream.write(Buffer.from([0, 0, 0, 0, 2, 0x3a, 0]));
  await once(stream, "data");
  stream.resume();
  const trailers = once(stream, "trailers");
  await core.drain();
  await close(600_000);
  const [status] = (await trailers) as [Record<string, string>];
  expect([status["grpc-status"], stream.rstCode]).toEqual([String(Code.Unavailable), 0]);
});

describe("health", () => {
  async function served() {
    const server = await serveRpc([]);
    return { ...server, client: createClient(Health, transportOf("gRPC, binary", server.url)) };
  }

  it("tells about the whole and each service, without a token", async () => {
    const { client, core } = await served();
    expect(await client.check({})).toMatchObject({ status: Status.SERVING });
    const service = "lintel.v1.ChatService";
    expect(await client.check({ service })).toMatchObject({ status: Status.SERVING });
    await expect(client.check({ service: "no.Such" })).rejects.toMatchObject({
      code: Code.NotFound,
    });
    expect(Object.keys((await client.list({})).statuses)).toContain(service);
    await core.drain();
    expect(await client.check({ service })).toMatchObject({ status: Status.NOT_SERVING });
  });

  it("a watch hears of the end, and ends", async () => {
    const { client, core } = await served();
    const seen: HealthCheckResponse["status"][] = [];
    for await (const { status } of client.watch({})) {
      seen.push(status);
      void core.drain();
    }
    expect(seen).toEqual([Status.SERVING, Status.NOT_SERVING]);
  });

  it.each(["", "no.Such"])("a watch of %j whose deadline passes says so", async (service) => {
    const client = createClient(Health, transport);
    const watch = async () => {
      for await (const _ of client.watch({ service }, { headers: { "grpc-timeout": "20m" } }));
    };
    await expect(watch()).rejects.toMatchObject({ code: Code.DeadlineExceeded });
  });

  it("watches cost no timer", async () => {
    const intervals = vi.spyOn(globalThis, "setInterval");
    onTestFinished(() => intervals.mockRestore());
    const client = createClient(Health, transport);
    for (const service of ["", "no.Such"]) {
      const leaving = new AbortController();
      const watch = client.watch({ service }, { signal: leaving.signal })[Symbol.asyncIterator]();
      await watch.next();
      leaving.abort();
      await expect(watch.next()).rejects.toThrow();
    }
    expect(intervals).not.toHaveBeenCalled();
  });

  it("a watch of what does not exist says so", async () => {
    const { client } = await served();
    for await (const { status } of client.watch({ service: "no.Such" })) {
      expect(status).toBe(Status.SERVICE_UNKNOWN);
      break;
    }
  });
});

it("healthz, readyz, and health, where clients of model servers ask", async () => {
  const { url, core } = await serveRpc([]);
  const get = async (path: string) => {
    const response = await fetch(url + path);
    const { status } = (await response.json()) as { status: string };
    // What was so a moment ago says nothing.
    expect(response.headers.get("cache-control")).toBe("no-store");
    return [response.status, status, response.headers.get("retry-after")];
  };
  expect(await get("/healthz")).toEqual([200, "ok", null]);
  expect(await get("/readyz")).toEqual([200, "ready", null]);
  expect(await get("/health")).toEqual([200, "ready", null]);
  await core.drain();
  expect(await get("/healthz")).toEqual([200, "ok", null]);
  expect(await get("/readyz")).toEqual([503, "shutting_down", "5"]);
  expect(await get("/health")).toEqual([503, "shutting_down", "5"]);
});

describe.concurrent("buf curl", () => {
  async function bufCurl(protocol: string, method: string, ...more: string[]) {
    const data = JSON.stringify(hello);
    const prior = "--http2-prior-knowledge";
    const args = ["curl", "--protocol", protocol, prior, "-d", data, ...more];
    return await promisify(execFile)("node_modules/.bin/buf", [
      ...args,
      `${shared.url}/lintel.v1.ChatService/${method}`,
    ]);
  }

  const token = ["-H", "authorization: Bearer me"];

  it.each(["grpc", "grpcweb", "connect"])("learns the contract by itself over %s", async (p) => {
    const { stdout } = await bufCurl(p, "Chat", ...token);
    expect(stdout).toContain('"Hel"');
  });

  it("shows an error", async () => {
    await expect(bufCurl("grpc", "Complete")).rejects.toMatchObject({
      stderr: expect.stringContaining("unauthenticated"),
    });
  });
});

describe("grpc-js", () => {
  async function clientOf(
    args: Parameters<typeof serveRpc>,
    options?: Partial<grpc.ChannelOptions>,
  ) {
    const { port } = await serveRpc(...args);
    const of = (path: string, responseStream: boolean) => ({
      path,
      requestStream: false,
      responseStream,
      requestSerialize: (m: LLMRequest) => Buffer.from(toBinary(ChatService.method.chat.input, m)),
      requestDeserialize: (b: Buffer) => fromBinary(ChatService.method.chat.input, b),
      responseSerialize: (m: LLMResponse) =>
        Buffer.from(toBinary(ChatService.method.chat.output, m)),
      responseDeserialize: (b: Buffer) => fromBinary(ChatService.method.chat.output, b),
    });
    const Client = grpc.makeGenericClientConstructor(
      {
        chat: of("/lintel.v1.ChatService/Chat", true),
        complete: of("/lintel.v1.ChatService/Complete", false),
        nope: of("/lintel.v1.ChatService/Nope", false),
      },
      "ChatService",
    );
    const client = new Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), options);
    onTestFinished(() => client.close());
    return client;
  }
  const request = create(ChatService.method.chat.input, hello);
  const metadata = new grpc.Metadata();
  metadata.set("authorization", "Bearer me");

  type Client = Awaited<ReturnType<typeof clientOf>>;
  const caller =
    (client: Client) =>
    (method: string, m = metadata, r = request) =>
      new Promise((resolve, reject) => {
        client[method]?.(r, m, (e: unknown, a: LLMResponse) => (e ? reject(e) : resolve(a)));
      });

  it("a whole completion, and its failures", async () => {
    const call = caller(await clientOf([[scripted({ chat: says("Hel", "lo") })]]));
    expect(await call("complete", metadata)).toMatchObject({
      choices: [{ message: { content: "Hello" } }],
    });
    await expect(call("complete", new grpc.Metadata())).rejects.toMatchObject({
      code: grpc.status.UNAUTHENTICATED,
    });
    await expect(call("nope", metadata)).rejects.toMatchObject({
      code: grpc.status.UNIMPLEMENTED,
    });
    const wrong = create(ChatService.method.chat.input, { ...hello, topP: 2 });
    await expect(call("complete", metadata, wrong)).rejects.toMatchObject({
      code: grpc.status.INVALID_ARGUMENT,
      details: "top_p: must be above 0 and at most 1",
    });
  });

  /** What gRPC's clients do by themselves where a service's configuration says so. */
  const retryPolicy = {
    ...{ maxAttempts: 3, initialBackoff: "0.01s", maxBackoff: "0.01s", backoffMultiplier: 1 },
    retryableStatusCodes: ["UNAVAILABLE"],
  };
  const retrying = {
    "grpc.service_config": JSON.stringify({
      loadBalancingConfig: [],
      methodConfig: [{ name: [{ service: "lintel.v1.ChatService" }], retryPolicy }],
    }),
  };

  it.each([
    ["plain", {}],
    ["compressed", { "grpc.default_compression_algorithm": grpc.compressionAlgorithms.gzip }],
  ])(
    "a call that failed before its first message is tried again by its policy: %s",
    async (_, how) => {
      let asked = 0;
      const chat: Parameters<typeof scripted>[0]["chat"] = (call) => {
        asked++;
        const fails = breaksAfter(new LintelError("overloaded", "not now", { retryAfter: 0 }));
        return (asked % 2 === 1 ? fails : says("Hel", "lo"))(call);
      };
      const client = await clientOf([[scripted({ chat })]], { ...retrying, ...how });
      expect(await caller(client)("complete")).toMatchObject({
        choices: [{ message: { content: "Hello" } }],
      });
      const stream = client.chat?.(request, metadata) as grpc.ClientReadableStream<LLMResponse>;
      const texts: string[] = [];
      for await (const { choices } of stream) texts.push(choices[0]?.delta?.content ?? "");
      expect(texts.join("")).toBe("Hello");
      expect(asked).toBe(4);
    },
  );

  it.each([
    ["plain", {}],
    ["compressed", { "grpc.default_compression_algorithm": grpc.compressionAlgorithms.gzip }],
  ])("a server may be named by all its addresses, as C-core does: %s", async (_, how) => {
    const authority = { "grpc.default_authority": "127.0.0.1:1,[::1]:2" };
    const args: Parameters<typeof serveRpc> = [[scripted({ chat: says("Hel", "lo") })]];
    const call = caller(await clientOf(args, { ...authority, ...how }));
    expect(await call("complete")).toMatchObject({ choices: [{ message: { content: "Hello" } }] });
  });

  it("a stream that the client cancels", async () => {
    const { handle, aborted } = hangsAfter("a");
    const client = await clientOf([[scripted({ chat: handle })]]);
    const stream = client.chat?.(request, metadata) as grpc.ClientReadableStream<LLMResponse>;
    const status = new Promise<grpc.ServiceError>((resolve) => stream.on("error", resolve));
    stream.on("data", () => stream.cancel());
    expect((await status).code).toBe(grpc.status.CANCELLED);
    await aborted;
  });
});
