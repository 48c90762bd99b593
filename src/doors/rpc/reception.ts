/** How calls of some methods are received, before anything of them is read. */
import type { DescMethod } from "@bufbuild/protobuf";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import type { FastifyRequest } from "fastify";
import type { Admission } from "../../core/call.js";
import type { LintelError } from "../../core/errors.js";
import type { Gateway } from "../../core/gateway.js";
import { methods } from "../../core/methods.js";
import { credentialOf } from "../credential.js";
import type { DoorSettings } from "../door.js";
import { clientOfRequest } from "../origin.js";
import type { Arrival } from "./context.js";
import { refuseType } from "./unsupported.js";

/** What messages that can't be read are told in the words of the method, once it is known who calls. */
export interface Reception {
  /** Largest request message, bytes. */
  readonly bodyLimit: number;
  /** Whether fields in JSON that there are none of are refused. Default: they are passed over. */
  readonly strict?: true;
  /** Finds out who calls. Never throws or rejects. Absent: messages are read whoever sends them. */
  readonly admit?: (request: FastifyRequest) => Admission | Promise<Admission>;
  /** Refuses a request in a media type that no protocol has, by a call that is told of. */
  readonly refuse?: (
    method: DescMethod,
    error: LintelError,
    request: FastifyRequest,
    arrival: Arrival,
  ) => Promise<UniversalServerResponse>;
}

/** By method. */
export type Receptions = ReadonlyMap<DescMethod, Reception>;

/**
 * Those of the contract's methods.
 * @param gateway asked who calls before anything is read, where it can be
 */
export function contractReceptions(
  gateway: Partial<Gateway>,
  settings: Pick<DoorSettings, "bodyLimit" | "clientOf">,
): Receptions {
  const { admit, call } = gateway;
  const client = clientOfRequest(settings);
  const reception: Reception = {
    bodyLimit: settings.bodyLimit,
    ...(admit && {
      admit: ({ headers, raw }) =>
        (gateway as Gateway).admit(credentialOf(headers.authorization), client, headers, raw),
    }),
    ...(call && {
      refuse: (method, error, request, arrival) =>
        refuseType(method, error, gateway as Gateway, request, arrival),
    }),
  };
  return new Map(
    Object.values(methods).map((method): [DescMethod, Reception] => [method, reception]),
  );
}
