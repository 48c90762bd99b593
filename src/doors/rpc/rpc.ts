/** gRPC, gRPC-Web and Connect. */
import type { Registry } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { type ConnectRouter, createContextValues } from "@connectrpc/connect";
import { fastifyConnectPlugin } from "@connectrpc/connect-fastify";
import { compressionGzip } from "@connectrpc/connect-node";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { adminServices } from "../../core/admin/methods.js";
import { LintelError } from "../../core/errors.js";
import type { Gateway } from "../../core/gateway.js";
import { services } from "../../core/methods.js";
import type { Door, DoorSettings } from "../door.js";
import { fromFastify } from "../json/error.js";
import { addAdministration, adminBodyLimit, adminReceptions } from "./administration.js";
import { requestKey } from "./context.js";
import { addContract } from "./contract.js";
import { failAsLeft, guarded } from "./guard.js";
import { addHealth } from "./health.js";
import { contractReceptions, type Receptions } from "./reception.js";
import { addReflection } from "./reflection.js";

type ConnectPluginOptions = Parameters<typeof fastifyConnectPlugin>[1];

/** Of services that need no token: they are asked for names, and nothing larger is decoded. */
const withoutToken = { readMaxBytes: 4096 };

/** Every method of the contract, server reflection and health, by the three protocols; and administration, where there is one. */
export const rpc: Door = async (app, options) => {
  const { gateway, settings, administration } = options;
  const all = [...services, ...(administration ? adminServices : [])];
  const routes = (router: ConnectRouter) => {
    addContract(router, options);
    if (administration) addAdministration(router, { ...options, administration });
    addHealth(router, gateway.readiness, all, withoutToken);
    addReflection(router, gateway.readiness, all, withoutToken);
  };
  const receptions = administration && adminReceptions({ ...options, administration });
  const { bodyLimit, clientOf } = settings;
  await mountRpc(app, bodyLimit, gateway, routes, { receptions, clientOf });
};

/** The methods of administration, and reflection and health of these alone. */
export const adminRpc: Door = async (app, options) => {
  const { gateway, administration } = options;
  if (!administration) throw new Error("there is no administration to be served");
  const own = { ...options, administration };
  const routes = (router: ConnectRouter) => {
    addAdministration(router, own);
    addHealth(router, gateway.readiness, adminServices, withoutToken);
    addReflection(router, gateway.readiness, adminServices, withoutToken);
  };
  const receptions = adminReceptions(own);
  await mountRpc(app, adminBodyLimit, { log: gateway.log }, routes, { receptions });
};

/** What services that are mounted have besides. */
export interface MountOptions {
  /** Types that may stand in a `google.protobuf.Any` in JSON. */
  readonly registry?: Registry | undefined;
  /** How methods are received that are none of the contract. */
  readonly receptions?: Receptions | undefined;
  /** Where clients are; absent: where their connections come from. */
  readonly clientOf?: DoorSettings["clientOf"];
}

/**
 * Mounts services on an app.
 * @param bodyLimit largest request message, bytes
 * @param gateway asked who calls the contract before anything is read, where it can be
 */
export async function mountRpc(
  app: FastifyInstance,
  bodyLimit: number,
  gateway: Pick<Gateway, "log"> & Partial<Gateway>,
  routes: (router: ConnectRouter) => void,
  { registry, receptions, clientOf }: MountOptions = {},
): Promise<void> {
  const own = contractReceptions(gateway, { bodyLimit, clientOf });
  const received = new Map([...own, ...(receptions ?? [])]);
  /** Paths of methods without side effects. */
  const asked = new Set<string>();
  // The plugin takes every HTTP method, to refuse them in words of its own.
  app.addHook("onRoute", (route) => {
    route.method = asked.has(route.url) ? ["GET", "POST"] : "POST";
  });
  app.addHook("onRequest", async ({ raw }, reply) => {
    failAsLeft(reply.raw);
    if (!hasHost(raw)) throw new LintelError("invalid_value", "the request's host is not valid");
  });
  // The library reads bodies itself, of whatever type they are.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _body, done) => done(null));
  const options: ConnectPluginOptions = {
    acceptCompression: [compressionGzip],
    readMaxBytes: bodyLimit,
    jsonOptions: {
      // Answers look like those of REST.
      useProtoFieldName: true,
      alwaysEmitImplicit: true,
      ignoreUnknownFields: true,
      textDecoder: new TextDecoder("utf-8", { fatal: true }),
      ...(registry && { registry }),
    } as object,
    contextValues: (request) => createContextValues().set(requestKey, request),
    routes(router) {
      routes(router);
      for (const { method, requestPath } of router.handlers) {
        if (method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS) {
          asked.add(requestPath);
        }
      }
      router.handlers.splice(
        0,
        Infinity,
        ...router.handlers.map((h) => guarded(h, gateway.log, received.get(h.method))),
      );
    },
  };
  // What the plugin throws itself would end the process; out of an async one it gets here.
  await app.register(async (scope) => {
    scope.setErrorHandler((thrown, request, reply) => {
      if (fromFastify(thrown).code !== "unsupported_media_type") throw thrown;
      // What is no media type at all is refused as another one is: the token first.
      return request.routeOptions.handler.call(scope, request, reply);
    });
    fastifyConnectPlugin(scope, options, () => {});
  });
}

/** Stands for a host that was not said. It can be one in a URL, but in no address of ours. */
const noHost = "!";

/**
 * Whether the URL can be built that the plugin builds of every request; it hangs on others. A
 * request may say no host over HTTP/1.0, an empty one always, and over HTTP/2 whatever: C-core
 * names a server of several addresses by all of them, `10.0.0.1:80,10.0.0.2:80`.
 */
function hasHost({ url = "", headers }: FastifyRequest["raw"]): boolean {
  const name = headers[":authority"] === undefined ? "host" : ":authority";
  const fits = () => URL.canParse(url, `http://${headers[name]}`);
  headers[name] ||= noHost;
  if (fits()) return true;
  if (name === "host") return false;
  headers[name] = noHost;
  return fits();
}
