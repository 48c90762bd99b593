/** How calls of some methods are received, before anything of them is read. */
import type { DescMethod } from "@bufbuild/protobuf";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import type { FastifyRequest } from "fastify";
import type { Admission } from "../../core/call.js";
import type { LintelError } from "../../core/errors.js";
import type { Gateway } from "../../core/gateway.js";
import { methods } from "../../core/methods.js";
import type { Arrival } from "./context.js";
import { refuseType } from "./unsupported.js";

/** What messages that can't be read are told in the words of the method, once it is known who calls. */
export interface Reception {
  /** Largest request message, bytes. */
  readonly bodyLimit: number;
  /** Whether fields in JSON that there are none of are refused. Default: they are passed over. */
  readonly strict?: true;
  /** Finds out who calls. Never throws or rejects. Absent: messages are read whoever sends them. */
  readonly admit?: (credential: string | undefined) => Admission | Promise<Admission>;
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
 * @param bodyLimit largest request message, bytes
 */
export function contractReceptions(gateway: Partial<Gateway>, bodyLimit: number): Receptions {
  const { admit, call } = gateway;
  const reception: Reception = {
    bodyLimit,
    ...(admit && { admit: (credential) => (gateway as Gateway).admit(credential) }),
    ...(call && {
      refuse: (method, error, request, arrival) =>
        refuseType(method, error, gateway as Gateway, request, arrival),
    }),
  };
  return new Map(
    Object.values(methods).map((method): [DescMethod, Reception] => [method, reception]),
  );
}
