/** What callers are told of an answer: what the model thought, its text, and the calls in it. */
import type { LLMChoice, LLMRequest, LLMResponse } from "../../../gen/lintel/v1/chat_pb.js";
import { deltaChoice, stoppedBy } from "../../core/chat-messages.js";
import { reasoningChoice, reasoningOf } from "../../core/reasoning.js";
import { toolCall } from "../../core/tool-calls.js";
import { StopScanner } from "../stop.js";
import type { KnownTools, WrittenCall } from "./tools/calls.js";
import type { ToolForm } from "./tools/form.js";
import { CallReader, type Read } from "./tools/reader.js";
import { UnsaidCalls } from "./tools/unsaid.js";

/** Makes messages of the text of one answer. */
export class Told {
  readonly #request: LLMRequest;
  readonly #reader: CallReader | undefined;
  /** Absent: calls have no mark by which they could be told from thoughts. */
  readonly #unsaid: UnsaidCalls | undefined;
  readonly #scanner: StopScanner;
  #called = 0;
  #stop: string | undefined;

  /**
   * @param stops texts that end what is said; in thoughts and in calls they are text as any other: half a call is none
   * @param tools the form of calls; absent: there are none
   * @param known the tools that may be called
   */
  constructor(
    request: LLMRequest,
    stops: readonly string[],
    tools: ToolForm | undefined,
    known: KnownTools = new Map(),
  ) {
    this.#request = request;
    this.#scanner = new StopScanner(stops);
    const isText = tools && tools.call.as !== "channel";
    this.#reader = isText ? new CallReader(tools, known) : undefined;
    this.#unsaid = isText && tools.begin !== "" ? new UnsaidCalls(tools, known) : undefined;
  }

  /** Whether a text was found that ends what is said. */
  get isStopped(): boolean {
    return this.#stop !== undefined;
  }

  /** Whether the caller wants no more than there is. */
  get isDone(): boolean {
    return this.isStopped || this.#hasAllCalls;
  }

  get #hasAllCalls(): boolean {
    return this.#request.parallelToolCalls === false && this.#called > 0;
  }

  /** What the model thinks next. */
  *think(thought: string): Generator<readonly LLMResponse[]> {
    if (thought !== "") yield* this.#think(this.#unsaid?.push(thought) ?? thought);
  }

  /** The next text of the answer. */
  *push(text: string): Generator<readonly LLMResponse[]> {
    if (this.#unsaid && text.trim() !== "") yield* this.#think(this.#unsaid.release());
    yield* this.#tell(this.#reader?.push(text) ?? [text]);
  }

  /** The last one. @param isWhole whether the model ended the answer */
  *end(text: string, isWhole: boolean): Generator<readonly LLMResponse[]> {
    yield* this.push(text);
    const unsaid = (isWhole ? this.#unsaid?.flush() : this.#unsaid?.release()) ?? "";
    if (typeof unsaid === "string") yield* this.#think(unsaid);
    else yield* this.#tell(unsaid);
    if (this.#reader) yield* this.#tell(this.#reader.flush());
    yield* this.#say(this.#scanner.flush());
  }

  /** Calls that are no text of the answer. */
  call(calls: readonly WrittenCall[] = []): Generator<readonly LLMResponse[]> {
    return this.#tell(calls);
  }

  /** The last message. @param ended why the answer is over, where no text ended what is said */
  last(ended: string): LLMResponse {
    const over = this.isStopped ? "stop" : ended;
    const reason = over === "stop" && this.#called > 0 ? "tool_calls" : over;
    return messageOf(this.#request, stoppedBy(deltaChoice("", reason), this.#stop));
  }

  *#tell(read: Read): Generator<readonly LLMResponse[]> {
    for (const part of read) {
      if (this.isStopped) return;
      if (typeof part === "string") {
        const { text, stop } = this.#scanner.push(part);
        this.#stop = stop;
        yield* this.#say(text);
      } else if (!this.#hasAllCalls) {
        yield* this.#say(this.#scanner.flush());
        const call = toolCall(this.#called++, "", part.name, part.args);
        yield [messageOf(this.#request, deltaChoice("", "", [call]))];
      }
    }
  }

  *#think(thought: string): Generator<readonly LLMResponse[]> {
    if (thought === "") return;
    yield [messageOf(this.#request, reasoningChoice(reasoningOf(thought)))];
  }

  *#say(text: string): Generator<readonly LLMResponse[]> {
    if (text !== "") yield [messageOf(this.#request, deltaChoice(text, ""))];
  }
}

/** A message of a streamed answer. */
const messageOf = ({ model }: LLMRequest, choice: LLMChoice): LLMResponse => ({
  $typeName: "lintel.v1.LLMResponse",
  id: "",
  model,
  created: 0,
  choices: [choice],
  usageEstimated: false,
  warnings: [],
});
