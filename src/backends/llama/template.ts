/** The model's own chat template: messages to a prompt. */
import type { LLMMessage } from "../../../gen/lintel/v1/chat_pb.js";
import { invalidValue } from "../../core/errors.js";
import { asWritten } from "../../core/long-numbers.js";
import type { ThoughtMarks } from "../marked-thoughts.js";
import { type Rendering, TooMuch } from "./bounded.js";
import { ControlTokenMarks } from "./control-tokens.js";
import { effortFields } from "./effort.js";
import { ShortRuns } from "./runs.js";
import { withoutThoughts, withThoughts } from "./thoughts.js";
import type { ToolForm } from "./tools/form.js";
import { type CallStyle, callStyleOf, type ToldMessage, toldMessages } from "./tools/history.js";
import { plainTools } from "./tools/plain.js";
import { withTexts } from "./tools/rendering.js";
import { isTold, type ToldTool, toolText } from "./tools/telling.js";
import { formsOf, oftenPassedOver, shows, type Turn, thoughtFields } from "./turns.js";

/** For models that bring none: the form that llama.cpp falls back to as well. */
export const chatML =
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/** Texts that a template may use. */
export interface TemplateTexts {
  readonly bos: string;
  readonly eos: string;
  /** Texts of the control tokens. */
  readonly control: readonly string[];
  /** Those of them that it looks for in what the assistant said, as `</think>`; absent: none. */
  readonly sought?: readonly string[];
  /** In what form it tells the model of calls; absent: it does not. */
  readonly tools?: ToolForm | undefined;
  /** Marks of thoughts that it knows; absent: none. */
  readonly thoughts?: ThoughtMarks | undefined;
  /** Efforts that it tells apart; absent: those of most. */
  readonly efforts?: readonly string[];
}

/** What an answer has to be, besides one to the messages. */
export interface Asked {
  /** How much is to be thought before, as in the contract; absent: as the template has it. */
  readonly effort?: string;
  /** Tools that the model may call, as templates read them. */
  readonly tools?: readonly ToldTool[];
  /** Whether an answer that is held to a form may be a call; absent: it is none. */
  readonly mayCall?: boolean;
  /** Whether thoughts come first in any case; absent: if the model has some. */
  readonly thinksFirst?: boolean;
}

/** A template that was parsed. */
export class ChatTemplate {
  readonly #template: Rendering;
  readonly #texts: TemplateTexts;
  readonly #marks: ControlTokenMarks;
  /**
   * Lets through what the template looks for, so that it can leave out earlier thoughts. Nobody
   * speaks as somebody else by it: marks of roles are never sought, and stay cut here as well.
   */
  readonly #assistantMarks: ControlTokenMarks;
  readonly #runs: ShortRuns;
  /** How calls of tools are told; absent: not at all. */
  readonly #style: CallStyle | undefined;
  /** The form of calls, if the template does not tell of tools, and need not; absent: it has to. */
  readonly #untold: ToolForm | undefined;

  /** @throws Error if the template does not work at all */
  constructor(template: Rendering, texts: TemplateTexts) {
    this.#template = template;
    this.#texts = texts;
    this.#marks = new ControlTokenMarks(texts.control);
    const sought = new Set(texts.sought);
    this.#assistantMarks = new ControlTokenMarks(texts.control.filter((text) => !sought.has(text)));
    this.#runs = new ShortRuns(texts.control);
    this.#render([{ role: "user", content: "Hello" }]);
    const { tools } = texts;
    const told = () =>
      isTold((all) => this.#render([{ role: "user", content: "Hi" }], { tools: all }));
    this.#untold = tools?.untold && !told() ? tools : undefined;
    this.#style =
      tools && callStyleOf((messages, style) => this.#render(this.#turns(messages, style)));
  }

  /**
   * The prompt, up to where the assistant speaks.
   * @param asked of the answer
   * @returns pieces, each to be tokenized alone, control tokens included
   * @throws LintelError `invalid_value` if the template refuses the conversation
   */
  render(given: readonly LLMMessage[], asked: Asked = {}): string[] {
    const tools = asked.tools && this.#marked(asked.tools);
    const turns = this.#turns(given, this.#style);
    try {
      return this.#renderWith(tools, turns, asked);
    } catch (refusal) {
      if (!tools?.length || refusal instanceof TooMuch) throw refused(refusal);
      try {
        return this.#renderWith(plainTools(tools), turns, asked);
      } catch {
        throw refused(refusal);
      }
    }
  }

  /** @throws what the template throws of the conversation as it is, where it takes none of its forms */
  #renderWith(
    tools: readonly ToldTool[] | undefined,
    given: readonly Turn[],
    asked: Asked,
  ): string[] {
    const turns = this.#withTools(given, tools);
    const split = (prompt: string) =>
      this.#marks
        .split(this.#thinking(asWritten(prompt), asked))
        .flatMap((piece) => this.#assistantMarks.split(piece))
        .flatMap((piece) => this.#runs.cut(piece));
    let partial: string | undefined;
    let refusal: unknown;
    const sought = oftenPassedOver(turns);
    for (const form of formsOf(turns)) {
      try {
        const prompt = this.#render(form, { ...asked, tools });
        if (sought.every((texts) => shows(prompt, texts))) return split(prompt);
        partial ??= prompt;
      } catch (thrown) {
        refusal ??= thrown;
        if (thrown instanceof TooMuch) break;
      }
    }
    if (partial === undefined) throw refusal;
    return split(partial);
  }

  /** With thoughts begun, or ended, as they were asked for. */
  #thinking(prompt: string, { effort, thinksFirst }: Asked): string {
    const { thoughts } = this.#texts;
    if (!thoughts) return prompt;
    if (thinksFirst) return withThoughts(prompt, thoughts);
    return effort === "none" ? withoutThoughts(prompt, thoughts) : prompt;
  }

  #turns(given: readonly LLMMessage[], style: CallStyle | undefined): Turn[] {
    const form = this.#texts.tools;
    const told: readonly ToldMessage[] =
      form && style
        ? toldMessages(given, form, style, (value) => this.#marked(value))
        : given.map((message) => ({ message, fields: {}, written: "" }));
    return told.map(({ message: { role, content, reasoningContent = "" }, fields, written }) => ({
      ...(role === "assistant" && thoughtFields(this.#marks.insert(reasoningContent))),
      role: role === "developer" ? "system" : role,
      content:
        (role === "assistant" ? this.#assistantMarks : this.#marks).insert(content) + written,
      ...fields,
    }));
  }

  /** With tools in the system message, where the template does not tell of them. */
  #withTools(turns: readonly Turn[], tools: readonly ToldTool[] = []): readonly Turn[] {
    if (!this.#untold || tools.length === 0) return turns;
    const [first, ...rest] = turns;
    const isFirst = first?.role === "system";
    const others = isFirst ? rest : turns;
    const content = isFirst ? (first.content ?? "") : "";
    if (this.#untold.untold === "member") {
      const functions = JSON.stringify(tools.map((tool) => tool.function));
      return [{ role: "system", content, tools: functions }, ...others];
    }
    const texts = [content, toolText(tools, this.#untold)].filter((text) => text !== "");
    return [{ role: "system", content: texts.join("\n\n") }, ...others];
  }

  /** No text of a tool is read as a control token either. */
  #marked<T>(value: T): T {
    try {
      return withTexts(value, (text) => this.#marks.insert(text)) as T;
    } catch (thrown) {
      if (!(thrown instanceof RangeError)) throw thrown;
      throw invalidValue("messages", "lists and objects of a call, or a tool, are nested too deep");
    }
  }

  #render(messages: readonly Turn[], { effort = "", tools = [] }: Asked = {}): string {
    return this.#template.render({
      messages,
      ...effortFields(effort, this.#texts.efforts),
      // SmolLM3's template has them by another name.
      ...(tools.length > 0 && { tools, xml_tools: tools }),
      ...(this.#texts.tools?.isFunctions && functionFields(tools)),
      add_generation_prompt: true,
      bos_token: this.#texts.bos,
      eos_token: this.#texts.eos,
    });
  }
}

/** The variables by which FireFunction's template is told of tools, and of the day. */
const functionFields = (tools: readonly ToldTool[]) => ({
  functions: JSON.stringify(tools.map((tool) => tool.function)),
  datetime: new Date().toISOString().slice(0, 10),
});

/**
 * Whether a template looks for a text in messages, and does not only write it: it asks for
 * `'</think>' in content`, or cuts by `content.split('</think>')`.
 */
export const looksFor = (template: string, text: string): boolean =>
  [`'${text}'`, `"${text}"`].some(
    (literal) => template.includes(`${literal} in `) || template.includes(`.split(${literal}`),
  );

const refused = (thrown: unknown) =>
  invalidValue(
    "messages",
    `the model's chat template refuses them: ${thrown instanceof Error ? thrown.message.slice(0, 200) : "unknown reason"}`,
  );
