/** A Lintel that the commands which need one can ask. */
import { LintelError } from "../../src/core/errors.js";
import { startLintel } from "../support/lintel.js";
import { paints, says, scripted } from "../support/scripted.js";

/**
 * Starts it; to be closed by who did. It notes the requests that it sees, draws in three steps, and a chat's
 * temperature says whether it warns (0.5), refuses (1) or can't reach its model server (0.25).
 */
export async function startAnswering() {
  const seen: unknown[] = [];
  const lintel = await startLintel([
    scripted({
      async *chat(call) {
        seen.push(call.request);
        if (call.request.temperature === 0.5)
          call.warnings.add("no \u001b]0;x\u0007top\u009b2J\u202e_k");
        if (call.request.temperature === 1)
          throw new LintelError("invalid_value", "no\u001b[2J \u202eway");
        if (call.request.temperature === 0.25)
          throw new LintelError("upstream_unreachable", "the model server can't be reached");
        yield* says("Hello ", "\u001b[31mred\u001b[0m\u0007 there")(call);
      },
      async *streamTextToImage(call) {
        seen.push(call.request);
        yield* paints(3)(call);
      },
    }),
  ]);
  return { lintel, seen, at: ["--server", lintel.url] };
}
