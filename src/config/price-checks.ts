/** Prices that no call ever has, since another entry stands before them. */
import { type Finding, formatPath, type Path } from "./problems.js";
import { type Fields, fields } from "./raw.js";

/** @param prices as they stand in the file */
export function checkPrices(prices: readonly Fields[]): Finding[] {
  return prices.flatMap((price, i): Finding[] => {
    const earlier = prices.slice(0, i).findIndex((other) => takesAllOf(other, price));
    if (earlier < 0) return [];
    const at: Path = ["prices", earlier];
    if (keyOf(prices[earlier] ?? {}) === keyOf(price)) {
      const message = `is the same as that of ${formatPath(at)}; must be unique`;
      return [{ path: ["prices", i, "model"], message }];
    }
    const message = `counts for no call, since ${formatPath(at)} fits all of its calls; must stand before it`;
    return [{ path: ["prices", i], message }];
  });
}

/** Whether an entry for the same name leaves another one no call. */
function takesAllOf(one: Fields, other: Fields): boolean {
  if (typeof one.model !== "string" || one.model === "" || one.model !== other.model) return false;
  const [target, others] = [fields(one.target), fields(other.target)];
  return (
    ["backend", "model"].every((key) => target[key] === undefined || target[key] === others[key]) &&
    Number(one.prompt_above ?? -1) <= Number(other.prompt_above ?? -1)
  );
}

/** What it is the price of. */
function keyOf({ target, prompt_above }: Fields): string {
  const { backend, model } = fields(target);
  return JSON.stringify([backend, model, prompt_above]);
}
