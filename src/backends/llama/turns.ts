/** Conversations as chat templates read them, and in other forms for templates that know less. */

/** A message, as templates read it. */
export interface Turn extends Thought {
  readonly role: string;
  /** `null` of one that only calls, for some templates. */
  readonly content: string | null;
  /** Tools as JSON, in the system message of some. */
  readonly tools?: string;
  readonly tool_calls?: readonly object[];
  // And what it says of the call that it comes of.
}

/** What was thought before a message, as templates read it. */
interface Thought {
  /** As Qwen's, GLM's and others call it. */
  readonly reasoning_content?: string;
  /** As gpt-oss'. */
  readonly thinking?: string;
  /** As Solar Open's. */
  readonly reasoning?: string;
}

/** What was thought before a message, by every name that it has. */
export const thoughtFields = (thought: string): Thought =>
  thought !== "" ? { reasoning_content: thought, thinking: thought, reasoning: thought } : {};

/** A conversation as it is, and, for templates that know less, in other forms. */
export function* formsOf(turns: readonly Turn[]): Generator<readonly Turn[]> {
  yield* fewerKinds(turns);
  // Some want no thoughts in a turn that has a text.
  const thoughtless = turns.map(({ reasoning_content, thinking, reasoning, ...turn }) => turn);
  if (turns.some(({ thinking }) => thinking !== undefined)) yield* fewerKinds(thoughtless);
}

/** A conversation as it is, and with ever fewer kinds of turns. */
function* fewerKinds(turns: readonly Turn[]): Generator<readonly Turn[]> {
  yield turns;
  // Some models know one system message, at the beginning.
  const led = hasLateSystem(turns) ? withOneSystem(turns) : turns;
  if (led !== turns) yield led;
  // What a tool said is said to a call, which messages of text alone lack: some templates throw.
  const plain = led.map((turn) => (turn.role === "tool" ? { ...turn, role: "user" } : turn));
  if (turns.some(({ role }) => role === "tool")) yield plain;
  // Some want users and assistants to take turns.
  const joined = joinTurns(plain);
  if (joined.length < plain.length) yield joined;
  // Some know no system message.
  const folded = foldSystem(plain);
  if (folded !== plain) yield folded;
  // And some neither.
  const fewest = joinTurns(folded);
  if (folded !== plain && fewest.length < folded.length) yield fewest;
}

/**
 * What templates pass over without a word: what tools said, system messages behind the first
 * turn, and one that no user's follows.
 */
export function oftenPassedOver(turns: readonly Turn[]): string[][] {
  const hasUser = turns.some(({ role }) => role === "user");
  const roles = hasUser && !hasLateSystem(turns) ? ["tool"] : ["tool", "system"];
  return roles.map((wanted) =>
    turns.filter(({ role }) => role === wanted).map(({ content }) => content?.trim() ?? ""),
  );
}

const hasLateSystem = (turns: readonly Turn[]) =>
  turns.some(({ role }, i) => i > 0 && role === "system");

/** Whether texts stand in a prompt, in their order; as they are, or in JSON, as Llama's has what tools said. */
export function shows(prompt: string, texts: readonly string[]): boolean {
  let from = 0;
  for (const text of texts) {
    const written = [text, JSON.stringify(text).slice(1, -1)];
    const found = written.find((one) => prompt.includes(one, from));
    if (found === undefined) return false;
    from = prompt.indexOf(found, from) + found.length;
  }
  return true;
}

/** System messages as one, at the beginning. */
function withOneSystem(turns: readonly Turn[]): readonly Turn[] {
  const isSystem = ({ role }: Turn) => role === "system";
  const all = turns.filter(isSystem);
  const content = all.map((turn) => turn.content).join("\n\n");
  const rest = turns.filter((turn) => !isSystem(turn));
  return [{ ...all[0], role: "system", content }, ...rest];
}

/** System messages as the beginning of the first user message; the same if there are none. */
function foldSystem(turns: readonly Turn[]): readonly Turn[] {
  if (!turns.some(({ role }) => role === "system")) return turns;
  const [system, ...rest] = withOneSystem(turns) as [Turn, ...Turn[]];
  const first = { ...system, role: "user" };
  const at = rest.findIndex((turn) => turn.role === "user");
  const user = rest[at];
  return user ? rest.with(at, joinTwo(first, user)) : [first, ...rest];
}

/** Turns of the same role, one behind the other, as one. */
function joinTurns(turns: readonly Turn[]): readonly Turn[] {
  const joined: Turn[] = [];
  for (const turn of turns) {
    const last = joined.at(-1);
    if (last?.role !== turn.role) joined.push(turn);
    else joined.splice(-1, 1, joinTwo(last, turn));
  }
  return joined;
}

/** Two turns as one, with all that is said, thought and called in them. */
function joinTwo(one: Turn, other: Turn): Turn {
  const texts = [one.content, other.content].filter((text) => text !== null);
  const thoughts = [one.thinking, other.thinking].filter((thought) => thought !== undefined);
  const calls = [...(one.tool_calls ?? []), ...(other.tool_calls ?? [])];
  return {
    ...one,
    ...other,
    ...thoughtFields(thoughts.join("\n\n")),
    ...(calls.length > 0 && { tool_calls: calls }),
    content: texts.length > 0 ? texts.join("\n\n") : null,
  };
}
