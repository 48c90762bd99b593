/** Grammars of one model, ready for use. */
import type { LlamaGrammarEvaluationState, LlamaModel, Token, TokenBias } from "node-llama-cpp";
import type { LlamaLibrary } from "../library.js";
import { Characters, type Lack, nothing } from "./characters.js";

/** One answer in its grammar. */
export class Constraint {
  readonly #characters: Characters;
  #lack: Lack = nothing;
  /** How likely tokens are besides; absent: as they are by themselves. */
  usual: TokenBias | undefined;
  /** How far it has come, as the engine knows. */
  readonly state: LlamaGrammarEvaluationState;

  constructor(state: LlamaGrammarEvaluationState, characters: Characters) {
    this.state = state;
    this.#characters = characters;
  }

  /** Takes the next token. */
  take(token: Token): void {
    this.#lack = this.#characters.lack(this.#lack, token);
  }

  /** What may come next besides what the grammar says: the rest of a character. */
  readonly bias = (): TokenBias => this.#characters.after(this.#lack, this.usual);
}

/** Grammars that are kept: schemas come again with each call of an application. */
const kept = 16;

/** Makes grammars, and keeps those that were used last. */
export class Grammars {
  readonly #library: LlamaLibrary;
  readonly #model: LlamaModel;
  readonly #characters: Characters;
  readonly #beginnings = new Map<string, LlamaGrammarEvaluationState>();

  constructor(library: LlamaLibrary, model: LlamaModel) {
    this.#library = library;
    this.#model = model;
    this.#characters = new Characters(library, model);
  }

  /**
   * The beginning of an answer by a grammar.
   * @throws Error where llama.cpp does not take the grammar
   */
  async begin(grammar: string): Promise<Constraint> {
    const known = this.#beginnings.get(grammar);
    const beginning = known ?? (await this.#make(grammar));
    this.#beginnings.delete(grammar);
    this.#beginnings.set(grammar, beginning);
    const [oldest] = this.#beginnings.keys();
    if (this.#beginnings.size > kept && oldest !== undefined) this.#beginnings.delete(oldest);
    return new Constraint(beginning.clone(), this.#characters);
  }

  async #make(text: string): Promise<LlamaGrammarEvaluationState> {
    const grammar = await this.#model.llama.createGrammar({ grammar: text });
    return new this.#library.LlamaGrammarEvaluationState({ model: this.#model, grammar });
  }
}
