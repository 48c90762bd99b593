/** Questions of the first process to its workers, until they are answered. */

/** Questions to several, each answered at most once. */
export class Questions<Asked, Reply> {
  readonly #open = new Map<
    number,
    { readonly asked: Asked; answer(reply?: Reply | undefined): void }
  >();
  #count = 0;

  /**
   * Asks one.
   * @param send gets the question's number, which the answer has
   * @param mostMs longest that it is waited for, milliseconds; absent: until the one who is asked ends
   * @returns `undefined` if it ends, or takes too long
   */
  ask(asked: Asked, send: (id: number) => void, mostMs?: number): Promise<Reply | undefined> {
    const id = this.#count++;
    return new Promise((resolve) => {
      const answer = (reply?: Reply): void => {
        clearTimeout(timer);
        this.#open.delete(id);
        resolve(reply);
      };
      const timer = mostMs === undefined ? undefined : setTimeout(answer, mostMs);
      this.#open.set(id, { asked, answer });
      send(id);
    });
  }

  answered(id: number, reply: Reply): void {
    this.#open.get(id)?.answer(reply);
  }

  /** Answers no more. */
  ended(asked: Asked): void {
    for (const question of this.#open.values()) if (question.asked === asked) question.answer();
  }
}
