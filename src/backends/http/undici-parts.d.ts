// Files of undici have no types of their own.
declare module "undici/lib/dispatcher/agent.js" {
  export { Agent as default } from "undici";
}
declare module "undici/lib/dispatcher/pool.js" {
  export { Pool as default } from "undici";
}
declare module "undici/lib/core/connect.js" {
  export { buildConnector as default } from "undici";
}
declare module "undici/lib/handler/decorator-handler.js" {
  import type { Dispatcher } from "undici";
  // undici's own declaration has no methods.
  export default class DecoratorHandler implements Dispatcher.DispatchHandler {
    constructor(handler: Dispatcher.DispatchHandler);
    onResponseStart(
      ...args: Parameters<NonNullable<Dispatcher.DispatchHandler["onResponseStart"]>>
    ): void;
  }
}
