/** Administration that can't do what it is asked: without a database, and at the end of its gateway. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { GetStatusResponseSchema } from "../../gen/lintel/admin/v1/status_pb.js";
import { GatewayAdministration } from "../../src/core/admin/administration.js";
import { type AdminMethod, adminMethods } from "../../src/core/admin/methods.js";
import { Cancellation } from "../../src/core/cancellation.js";
import { LintelError } from "../../src/core/errors.js";
import { silent } from "../../src/core/log.js";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { never } from "../support/calls.js";

const secret = createToken();
const policy = {
  refusal: () => undefined,
  teamWarnings: () => [],
  fromWarnings: () => [],
  warnings: () => [],
};
const methods = Object.keys(adminMethods) as AdminMethod[];

/** What each method wants at least. */
const least: Readonly<Record<AdminMethod, object>> = {
  createToken: { name: "ann" },
  listTokens: {},
  getToken: { token: "ann" },
  updateToken: { token: "ann", updateMask: { paths: ["team"] } },
  rotateToken: { token: "ann" },
  revokeToken: { token: "ann" },
  queryUsage: {},
  getStatus: {},
};

/** Administration without a database, and how a call of it ends. */
function administration(accepting = true) {
  const logged: object[] = [];
  const hear = (fields: object) => void logged.push(fields);
  const it = new GatewayAdministration({
    settings: {
      ...{ policy, keepsUsage: true, timeoutMs: 10_000 },
      tokens: [{ name: "ops", hash: hashToken(secret) }],
    },
    state: undefined,
    status: async () => create(GetStatusResponseSchema, { version: "1" }),
    readiness: { accepting, leaving: never, running: 0 },
    log: { ...silent, info: hear, warn: hear, error: hear },
  });
  const call = async (method: AdminMethod, fields: object, more: object = {}) => {
    const request = create(adminMethods[method].input, fields);
    const origin = { door: "connect", credential: secret, signal: never, ...more };
    const ended = it.call(method, request as never, origin).catch((thrown: LintelError) => thrown);
    const error = (await ended) as LintelError;
    return [error.code, error.message];
  };
  return { it, call, logged };
}

const ofDatabase = methods.filter((method) => method !== "getStatus");

describe("without a database", () => {
  test.each(ofDatabase)("%s is answered with why, and the log and metrics tell", async (method) => {
    const { it, call, logged } = administration();
    const words = "this gateway has no database of tokens and usage; its log says why";
    expect(await call(method, least[method])).toEqual(["unavailable", words]);
    expect(logged).toMatchObject([{ method, admin: "ops", code: "unavailable", error: words }]);
    expect(it.calls()).toEqual([{ method, code: "unavailable", calls: 1 }]);
  });

  test("what is wrong with a request is told all the same", async () => {
    const { call } = administration();
    const [code, message] = await call("createToken", { name: "" });
    expect(code).toBe("invalid_fields");
    expect(message).toMatch(/^name: /);
  });

  test("nobody else is told that there is none", async () => {
    const { call } = administration();
    const [code] = await call("listTokens", {}, { credential: createToken() });
    expect(code).toBe("invalid_token");
  });

  test("who left before is not waited for", async () => {
    const { call } = administration();
    const signal = new Cancellation();
    signal.abort(new LintelError("cancelled", "gone"));
    expect((await call("listTokens", {}, { signal }))[0]).toBe("cancelled");
  });
});

test.each(methods)(
  "at the end of a gateway %s is refused, whatever else is wrong",
  async (method) => {
    const { call } = administration(false);
    const refused = ["shutting_down", "this gateway is shutting down"];
    expect(await call(method, least[method])).toEqual(refused);
    const defect = new LintelError("invalid_value", "no JSON");
    expect(await call(method, {}, { defect })).toEqual(refused);
    expect((await call(method, {}, { credential: undefined }))[0]).toBe("invalid_token");
  },
);
