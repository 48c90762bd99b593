/** What workers write, on the way to where the first process writes. */
import type { Readable } from "node:stream";

/** Hands on whole lines: of several processes none may stand in the middle of another's. */
export function relay(from: Readable | null, lines: (text: string) => void): void {
  let rest = "";
  from?.setEncoding("utf8");
  from?.on("data", (text: string) => {
    const end = text.lastIndexOf("\n") + 1;
    if (end === 0) {
      rest += text;
      return;
    }
    lines(rest + text.slice(0, end));
    rest = text.slice(end);
  });
  from?.on("end", () => {
    if (rest !== "") lines(`${rest}\n`);
  });
}
