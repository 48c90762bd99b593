/** `GET /account`, and the tokens that callers make for themselves below it. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { GetAccountRequestSchema } from "../../../gen/lintel/v1/account_pb.js";
import {
  CreateTokenRequestSchema,
  ListTokensRequestSchema,
  RevokeTokenRequestSchema,
} from "../../../gen/lintel/v1/tokens_pb.js";
import { invalidIn, type Violation } from "../../core/errors.js";
import type { DoorOptions } from "../door.js";
import { bodyOf } from "../json/body.js";
import { compileDecoder } from "../json/decode.js";
import { pathError, queryError } from "../json/error.js";
import { fieldsOf } from "../json/known.js";
import { originOf } from "../json/origin.js";
import { sendWhole } from "../json/reply.js";
import { accountObject, tokenObject, tokensObject } from "./account.js";

const decodeAccount = compileDecoder(GetAccountRequestSchema);
const decodeNew = compileDecoder(CreateTokenRequestSchema);
const decodeList = compileDecoder(ListTokensRequestSchema);
const decodeRevoked = compileDecoder(RevokeTokenRequestSchema);
const newFields = fieldsOf(CreateTokenRequestSchema);

/** Adds them. The app takes JSON. */
export function accountRoutes(app: FastifyInstance, { gateway, settings }: DoorOptions): void {
  /** Of what has no body. */
  const origin = (request: FastifyRequest, reply: FastifyReply, violations: Violation[]) =>
    originOf(request, reply, "rest", settings, { defect: invalidIn(violations) });

  app.get("/account", { config: { errorForm: queryError } }, (request, reply) => {
    const { user } = request.query as Record<string, unknown>;
    const { message, violations } = decodeAccount({ user });
    const running = gateway.call("getAccount", message, origin(request, reply, violations));
    return sendWhole(reply, running, (account) => JSON.stringify(accountObject(account)));
  });

  app.post("/account/tokens", (request, reply) => {
    const { json = {}, defect, admission } = bodyOf(request, newFields);
    const { message, violations } = decodeNew(json);
    const wrong = defect ?? invalidIn(violations);
    const from = originOf(request, reply, "rest", settings, { admission, defect: wrong });
    const running = gateway.call("createToken", message, from);
    return sendWhole(reply, running, ({ token, secret }) =>
      JSON.stringify({ token: tokenObject(token), secret }),
    );
  });

  app.get("/account/tokens", (request, reply) => {
    const { message, violations } = decodeList({});
    const running = gateway.call("listTokens", message, origin(request, reply, violations));
    return sendWhole(reply, running, (list) => JSON.stringify(tokensObject(list)));
  });

  // A parameter of its own may have 100 letters, and names have more.
  app.delete("/account/tokens/*", { config: { errorForm: pathError } }, (request, reply) => {
    const { "*": token } = request.params as Record<string, unknown>;
    const { message, violations } = decodeRevoked({ token });
    const running = gateway.call("revokeToken", message, origin(request, reply, violations));
    return sendWhole(reply, running, (answer) =>
      JSON.stringify({ token: tokenObject(answer.token) }),
    );
  });
}
