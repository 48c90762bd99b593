/** Numbers that tell apart what is shown in a list. */

let last = 0;

/** One that nothing else has. */
export const nextId = (): number => ++last;
