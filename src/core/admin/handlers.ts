/** What each method of administration does. */
import { tokenHandlers } from "./token-handlers.js";
import { usageHandlers } from "./usage-handlers.js";
import { type Handlers, refuse } from "./work.js";

/** By name of the method. @throws LintelError */
export const handlers: Handlers = {
  async getStatus(_, { status, found }) {
    refuse(found);
    return status();
  },

  ...tokenHandlers,
  ...usageHandlers,
};
