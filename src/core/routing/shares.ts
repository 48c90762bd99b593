/** How many calls each caller has running at one target, over all gateways. */

/** Kept where a target has a bound, and others tell of theirs. */
export class Shares {
  /** Calls of this gateway, by caller. */
  readonly here = new Map<string, number>();
  /** Those of all others, as far as they told. */
  elsewhere: ReadonlyMap<string, number> | undefined;

  took(caller: string): void {
    this.here.set(caller, (this.here.get(caller) ?? 0) + 1);
  }

  gave(caller: string): void {
    const left = (this.here.get(caller) ?? 0) - 1;
    if (left > 0) this.here.set(caller, left);
    else this.here.delete(caller);
  }

  of(caller: string): number {
    return (this.here.get(caller) ?? 0) + (this.elsewhere?.get(caller) ?? 0);
  }
}
