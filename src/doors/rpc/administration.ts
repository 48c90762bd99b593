/** The services of administration. */
import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import type { FastifyRequest } from "fastify";
import type { Administration } from "../../core/admin/administration.js";
import {
  type AdminInput,
  type AdminMethod,
  adminMethods,
  adminServices,
} from "../../core/admin/methods.js";
import { type LintelError, toLintelError } from "../../core/errors.js";
import { credentialOf } from "../credential.js";
import type { DoorOptions, DoorSettings } from "../door.js";
import { type Asked, clientOf, clientOfRequest, headerIn, originFrom } from "../origin.js";
import { retryAfterHeader } from "../retry-after.js";
import { type Arrival, arrivalKey, requestKey } from "./context.js";
import { toldBy } from "./pushback.js";
import type { Reception, Receptions } from "./reception.js";
import { doorOf, plainRefusal } from "./unsupported.js";

/** Largest request of administration, bytes: 1000 names of models are below it. */
export const adminBodyLimit = 64 * 1024;

type Options = DoorOptions & { readonly administration: Administration };

/** Adds every service of administration to the router. */
export function addAdministration(router: ConnectRouter, options: Options): void {
  for (const service of adminServices) {
    const implementation = Object.fromEntries(
      service.methods.map((method) => [method.localName, implement(method, options)]),
    );
    router.service(service, implementation, { readMaxBytes: adminBodyLimit });
  }
}

/** How its methods are received: nothing is read for who may not. */
export function adminReceptions({ administration, settings }: Options): Receptions {
  const client = clientOfRequest(settings);
  const reception: Reception = {
    bodyLimit: adminBodyLimit,
    // A limit that is misspelt would be none.
    strict: true,
    admit: ({ headers, raw }) =>
      administration.admit(credentialOf(headers.authorization), () => client(headers, raw)),
    async refuse(method, error, request, arrival) {
      const door = doorOf(request.headers["content-type"]);
      const origin = originOf(door, request, { ...arrival, defect: error }, settings);
      const name = method.localName as AdminMethod;
      try {
        await administration.call(name, create(method.input) as AdminInput<AdminMethod>, origin);
        throw error;
      } catch (thrown) {
        const told = toLintelError(thrown);
        return plainRefusal(told, { "x-request-id": request.id, ...retryAfterHeader(told) });
      }
    },
  };
  return new Map(
    Object.values(adminMethods).map((method): [DescMethod, Reception] => [method, reception]),
  );
}

function implement({ localName }: DescMethod, { administration, settings }: Options) {
  const method = localName as AdminMethod;
  return async (request: Message, context: HandlerContext): Promise<Message> => {
    const arrival = context.values.get(arrivalKey);
    arrival.reached = true;
    arrival.body.length = 0;
    const incoming = context.values.get(requestKey);
    const { protocolName, responseHeader } = context;
    responseHeader.set("x-request-id", arrival.requestId);
    // A token may be in it.
    responseHeader.set("cache-control", "no-store");
    try {
      const asked = (arrival.message ?? request) as AdminInput<AdminMethod>;
      const origin = originOf(protocolName, incoming, arrival, settings, context.timeoutMs());
      return await administration.call(method, asked, origin);
    } catch (thrown) {
      const error: LintelError = toLintelError(thrown);
      if (protocolName === "connect") {
        for (const [name, value] of Object.entries(retryAfterHeader(error))) {
          responseHeader.set(name, value);
        }
      }
      throw toldBy(context, error);
    }
  };
}

function originOf(
  door: string,
  incoming: FastifyRequest | undefined,
  {
    signal,
    requestId,
    admission,
    defect,
  }: Pick<Arrival, "signal" | "requestId" | "admission" | "defect">,
  settings: DoorSettings,
  timeoutMs?: number,
) {
  const asked: Asked = {
    door,
    header: headerIn(incoming?.headers ?? {}),
    connection: incoming?.raw.socket,
    ...{ signal, requestId, timeoutMs, admission, defect },
  };
  return { ...originFrom(asked, settings), client: clientOf(asked, settings) };
}
