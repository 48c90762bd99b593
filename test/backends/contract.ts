/**
 * The suite that every backend runs, whatever it speaks to. It proves through
 * the `Backend` seam: messages have the generated shape, streams end properly,
 * usage arrives, an abort reaches the model server, errors map, calls don't
 * mix, and closing ends what runs.
 *
 * That an abort arrives within 100 ms is measured in the tests of the whole
 * gateway; here it must arrive at all.
 */
import { getEventListeners } from "node:events";
import { inspect } from "node:util";
import { type DescMessage, equals, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ModelSchema, State, Task } from "../../gen/lintel/v1/models_pb.js";
import type { Handle } from "../../src/core/call.js";
import { LintelError } from "../../src/core/errors.js";
import { noSeed } from "../../src/core/image-events.js";
import { type BackendMethod, type Input, methods, type Output } from "../../src/core/methods.js";
import { messageParameters } from "../../src/core/parameters.js";
import { never } from "../support/calls.js";
import { chatContract, completeContract, countContract } from "./contract-chat.js";
import { imagesContract, streamedImagesContract } from "./contract-images.js";
import { type Contract, callOf, type HoldPoint, type Skippable, type Subject } from "./subject.js";

/** How the checks of one method reach the subject. */
export interface Bench<M extends BackendMethod> {
  readonly contract: Contract;
  readonly subject: () => Subject;
  /** Runs a call to its end: every step of the iteration. */
  run(request?: Input<M>, signal?: AbortSignal): Promise<(readonly Output<M>[])[]>;
  /** `it`, or a skip that carries its reason. */
  check(key: Skippable, name: string, body: () => Promise<void>): void;
}

/**
 * Runs the suite for a backend.
 * @param name as the report shows it
 */
export function backendContract(name: string, contract: Contract): void {
  describe(`backend contract: ${name}`, () => {
    let subject: Subject;
    beforeEach(async () => {
      subject = await contract.setup();
    });
    afterEach(async () => {
      await subject.backend.close();
      await subject.close();
    });

    it("serves the methods that it is said to", () => {
      const served = Object.entries(subject.backend.handlers).filter(([, handler]) => handler);
      expect(served.map(([method]) => method).sort()).toEqual([...contract.methods].sort());
    });

    it("lists models with what each supports", async () => {
      const { backend } = subject;
      const task = contract.methods.some((m) => m === "chat" || m === "complete")
        ? Task.CHAT
        : Task.TEXT_TO_IMAGE;
      const [first] = contract.methods;
      if (first) await handled(subject, first);
      const models = backend.models();
      expect(models.length).toBeGreaterThan(0);
      expect(models.some((model) => model.task === task && model.state === State.READY)).toBe(true);
      for (const model of models) {
        expectShape(ModelSchema, model);
        const input = methods[model.task === Task.CHAT ? "chat" : "textToImage"].input;
        const fields = [...input.fields.map((field) => field.name), ...messageParameters];
        expect(model.supports.filter((field) => !fields.includes(field))).toEqual([]);
      }
      expect(backend.models()).toBe(backend.models());
    });

    it("is healthy", async () => {
      await subject.backend.health(never);
    });

    for (const method of contract.methods) {
      describe(method, () => methodContract(method, contract, () => subject));
    }
  });
}

function methodContract<M extends BackendMethod>(
  method: M,
  contract: Contract,
  subject: () => Subject,
): void {
  const bench: Bench<M> = {
    contract,
    subject,
    run: (request, signal) => handled(subject(), method, request, signal),
    check(key, name, body) {
      const reason = contract.skips?.[key];
      if (reason === undefined) it(name, body);
      else it.skip(`${name} (${reason})`, body);
    },
  };

  it("answers in steps that are not empty, of messages of the generated shape", async () => {
    const steps = await bench.run();
    expect(steps.length).toBeGreaterThan(0);
    for (const step of steps) {
      expect(step.length).toBeGreaterThan(0);
      for (const message of step) expectShape(methods[method].output, seeded(message));
    }
    if (methods[method].methodKind === "unary") expect(steps.flat()).toHaveLength(1);
  });

  for (const at of ["before", "middle"] as const satisfies HoldPoint[]) {
    if (at === "middle" && methods[method].methodKind === "unary") continue;
    const hold = method === "countTokens" ? "hold counting" : (`hold ${at}` as const);
    bench.check(hold, `hears an abort ${place[at]}, and works on`, async () => {
      const held = await subject().hold(method, at);
      const controller = new AbortController();
      const reason = new LintelError("cancelled", "the caller left");
      const running = outcome(subject(), method, undefined, controller.signal);
      await held.reached;
      controller.abort(reason);
      expect(await running).toBe(reason);
      await held.stopped;
      expect((await bench.run()).flat().length).toBeGreaterThan(0);
    });

    bench.check(hold, `ends a call ${place[at]} when it is closed`, async () => {
      const held = await subject().hold(method, at);
      const running = outcome(subject(), method);
      await held.reached;
      await subject().backend.close();
      expect(await running).toBeInstanceOf(LintelError);
      await held.stopped;
    });
  }

  it("listens for its caller's leaving no longer than its call lasts", async () => {
    const { signal } = new AbortController();
    await bench.run(undefined, signal);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("does nothing for a call that was aborted before it began", async () => {
    const reason = new LintelError("cancelled", "the caller left");
    expect(await outcome(subject(), method, undefined, AbortSignal.abort(reason))).toBe(reason);
  });

  for (const [failure, { method: failing, code }] of Object.entries(contract.failures ?? {})) {
    if (![failing].flat().includes(method)) continue;
    it(`reports ${failure} as ${code}, and works on`, async () => {
      await subject().provoke?.(failure);
      const { signal } = new AbortController();
      const error = await outcome(subject(), method, undefined, signal);
      expect(error).toBeInstanceOf(LintelError);
      expect(error).toMatchObject({ code });
      expect(getEventListeners(signal, "abort")).toEqual([]);
      expect((error as LintelError).message).not.toMatch(/127\.0\.0\.1|localhost|:\d{4,5}|\.sock/);
      expect((await bench.run()).flat().length).toBeGreaterThan(0);
    });
  }

  if (method === "chat") chatContract(bench as unknown as Bench<"chat">);
  if (method === "complete") completeContract(bench as unknown as Bench<"complete">);
  if (method === "countTokens") countContract(bench as unknown as Bench<"countTokens">);
  if (method === "textToImage") imagesContract(bench as unknown as Bench<"textToImage">);
  if (method === "streamTextToImage") {
    streamedImagesContract(bench as unknown as Bench<"streamTextToImage">);
  }
}

const place = { before: "before the first message", middle: "in the middle" } as const;

async function handled<M extends BackendMethod>(
  subject: Subject,
  method: M,
  request: Input<M> = subject.request(method),
  signal?: AbortSignal,
): Promise<(readonly Output<M>[])[]> {
  const handle = subject.backend.handlers[method] as Handle<M> | undefined;
  if (!handle) throw new Error(`no handler for ${method}`);
  const steps: (readonly Output<M>[])[] = [];
  for await (const step of handle(callOf(method, request, signal))) steps.push(step);
  return steps;
}

/** What a call threw, or a text that says that it threw nothing. */
function outcome<M extends BackendMethod>(
  subject: Subject,
  method: M,
  request?: Input<M>,
  signal?: AbortSignal,
): Promise<unknown> {
  return handled(subject, method, request, signal).then(
    () => "the call succeeded",
    (error: unknown) => error,
  );
}

/** With a number where a backend says that an image has no seed, as the core puts one. */
function seeded<M extends BackendMethod>(message: Output<M>): Output<M> {
  if (message.$typeName === "lintel.v1.StreamTextToImageResponse") {
    const { event } = message;
    if (event.case === "image" && event.value.media?.seed === noSeed) event.value.media.seed = 0;
  }
  return message;
}

/** A message of the generated shape survives its own encoding. */
function expectShape(schema: DescMessage, message: Message): void {
  expect(message.$typeName).toBe(schema.typeName);
  const copy = fromBinary(schema, toBinary(schema, message));
  expect(equals(schema, copy, message), inspect(message)).toBe(true);
}
