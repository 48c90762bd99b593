/** What functions returned, which clients wrap in an object. */
import { isObject } from "../../core/json.js";

/**
 * Members that clients put a text into where an object is wanted: Google's SDKs the first two, the AI SDK
 * the third, Pydantic AI the last.
 */
const wrappers: ReadonlySet<unknown> = new Set(["output", "result", "content", "return_value"]);

/**
 * The text that a function returned; `undefined` where it is more than that.
 * @param called the function's name, which the AI SDK has beside it
 */
export function textReturned(said: unknown, called: unknown): string | undefined {
  const members = isObject(said) ? Object.entries(said) : [];
  const [[name, value] = [], ...more] = members.filter(
    ([member, own]) => member !== "name" || own !== called,
  );
  const plain = more.length === 0 && wrappers.has(name);
  return plain && typeof value === "string" ? value : undefined;
}
