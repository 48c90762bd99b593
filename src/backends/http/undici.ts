/**
 * The parts of undici that nearly every gateway needs. What imports all of it loads its
 * `fetch`, WebSockets, caches and mocks, too, and is itself only loaded where it is needed.
 * Until then these have `dispatch` and no `request`, whatever their types say.
 */
export { default as buildConnector } from "undici/lib/core/connect.js";
export { default as Agent } from "undici/lib/dispatcher/agent.js";
export { default as Pool } from "undici/lib/dispatcher/pool.js";
export { default as DecoratorHandler } from "undici/lib/handler/decorator-handler.js";
