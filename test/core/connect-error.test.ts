import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../gen/google/rpc/error_details_pb.js";
import { fromConnectError, toConnectError } from "../../src/core/connect-error.js";
import { type ErrorCode, errorTable } from "../../src/core/error-table.js";
import { invalidFields, invalidValue, LintelError } from "../../src/core/errors.js";

/** What a client has in hands: details are bytes there. */
function overTheWire(error: ConnectError): ConnectError {
  const received = new ConnectError(error.rawMessage, error.code);
  received.details = error.details.map((detail) => {
    if (!("desc" in detail)) return detail;
    const value = toBinary(detail.desc, create(detail.desc, detail.value));
    return { type: detail.desc.typeName, value };
  });
  return received;
}

const codes = Object.keys(errorTable) as ErrorCode[];
const hop: { readonly [C in ErrorCode]?: ErrorCode } = {
  invalid_token: "upstream_failed",
  model_not_allowed: "upstream_failed",
  address_not_allowed: "upstream_failed",
  internal: "upstream_failed",
  cancelled: "upstream_failed",
  request_timeout: "upstream_failed",
  shutting_down: "unavailable",
  not_found: "unimplemented",
  method_not_allowed: "unimplemented",
};

describe("to a ConnectError", () => {
  it.each(codes)("%s has the code of the table and says its reason", (code) => {
    const error = toConnectError(new LintelError(code, "words"));
    expect(error.code).toBe(errorTable[code].grpc);
    expect(error.rawMessage).toBe("words");
    expect(overTheWire(error).findDetails(ErrorInfoSchema)).toMatchObject([
      { reason: code, domain: "lintel", metadata: {} },
    ]);
  });

  it("carries every field at fault", () => {
    const error = invalidFields([
      { field: "top_p", message: "must be at most 1" },
      { field: "messages[0].role", message: "must be one of the roles" },
    ]);
    expect(overTheWire(toConnectError(error)).findDetails(BadRequestSchema)).toMatchObject([
      {
        fieldViolations: [
          { field: "top_p", description: "must be at most 1" },
          { field: "messages[0].role", description: "must be one of the roles" },
        ],
      },
    ]);
  });

  it("says when to try again, in fractions of a second too", () => {
    const error = new LintelError("rate_limited", "slow down", { retryAfter: 1.5 });
    expect(overTheWire(toConnectError(error)).findDetails(RetryInfoSchema)).toMatchObject([
      { retryDelay: { seconds: 1n, nanos: 500_000_000 } },
    ]);
  });

  it("shows nothing of the cause", () => {
    const error = toConnectError(
      new LintelError("internal", "internal error", { cause: new Error("secret") }),
    );
    expect(error.cause).toBeUndefined();
    expect(JSON.stringify(overTheWire(error))).not.toContain("secret");
  });
});

describe("from a ConnectError of another Lintel", () => {
  it.each(codes.filter((c) => hop[c] === undefined))("%s comes back as it was", (code) => {
    const sent = new LintelError(code, "words of it", { param: "seed", retryAfter: 2 });
    const error = fromConnectError(overTheWire(toConnectError(sent)));
    expect(error).toMatchObject({
      code,
      message: "words of it",
      param: "seed",
      retryAfter: 2,
      violations: [],
    });
  });

  it.each(["rate_limited", "unavailable"] as const)("%s without a time asks for none", (code) => {
    const guessed = fromConnectError(overTheWire(toConnectError(new LintelError(code, "x"))));
    expect(guessed).toMatchObject({ code, askedDelay: undefined, retryAfter: 1 });
    const asked = new LintelError(code, "x", { retryAfter: 2 });
    expect(fromConnectError(overTheWire(toConnectError(asked)))).toMatchObject({ askedDelay: 2 });
  });

  it.each(codes)("%s says whether it is about to leave", (code) => {
    const error = fromConnectError(overTheWire(toConnectError(new LintelError(code, "words"))));
    expect(error.leaving).toBe(code === "shutting_down");
  });

  it("fields at fault come back", () => {
    const sent = invalidFields([
      { field: "top_p", message: "must be at most 1" },
      { field: "top_k", message: "must be at least -1" },
    ]);
    const error = fromConnectError(overTheWire(toConnectError(sent)));
    expect(error).toMatchObject({
      code: "invalid_fields",
      message: sent.message,
      param: "top_p",
      violations: sent.violations,
    });
  });

  it.each(Object.entries(hop))("%s is about the hop and becomes %s", (code, becomes) => {
    const sent = new LintelError(code as ErrorCode, "token lt_12345678 is not known");
    const error = fromConnectError(overTheWire(toConnectError(sent)));
    expect(error.code).toBe(becomes);
    expect(error.message).not.toContain("token");
  });
});

describe("from a ConnectError of some server", () => {
  const cases: [Code, ErrorCode][] = [
    [Code.InvalidArgument, "invalid_value"],
    [Code.OutOfRange, "invalid_value"],
    [Code.FailedPrecondition, "invalid_value"],
    [Code.NotFound, "model_not_found"],
    [Code.ResourceExhausted, "rate_limited"],
    [Code.Unavailable, "unavailable"],
    [Code.DeadlineExceeded, "timeout"],
    [Code.Unimplemented, "unimplemented"],
    [Code.Unauthenticated, "upstream_failed"],
    [Code.PermissionDenied, "upstream_failed"],
    [Code.Internal, "upstream_failed"],
    [Code.Unknown, "upstream_failed"],
    [Code.DataLoss, "upstream_failed"],
    [Code.Aborted, "upstream_failed"],
    [Code.Canceled, "upstream_failed"],
  ];
  it.each(cases)("code %i becomes %s, without addresses", (code, becomes) => {
    const error = fromConnectError(new ConnectError("at http://10.0.0.1:9000/x", code));
    expect(error.code).toBe(becomes);
    expect(error.message).not.toContain("10.0.0.1");
  });

  it("knows a server that nobody answers for", () => {
    const cause = Object.assign(new Error("connect ECONNREFUSED 10.0.0.1:9000"), {
      code: "ECONNREFUSED",
    });
    const error = fromConnectError(
      new ConnectError(cause.message, Code.Unavailable, undefined, undefined, cause),
    );
    expect(error.code).toBe("upstream_unreachable");
    expect(error.message).not.toContain("10.0.0.1");
    expect(error.cause).toBeDefined();
  });

  it("takes over fields at fault and the time to wait", () => {
    const bad = overTheWire(
      new ConnectError("bad", Code.InvalidArgument, undefined, [
        {
          desc: BadRequestSchema,
          value: { fieldViolations: [{ field: "top_p", description: "too big" }] },
        },
      ]),
    );
    expect(fromConnectError(bad)).toMatchObject({
      code: "invalid_fields",
      param: "top_p",
      violations: [{ field: "top_p", message: "too big" }],
    });
    const busy = overTheWire(
      new ConnectError("busy", Code.Unavailable, undefined, [
        { desc: RetryInfoSchema, value: { retryDelay: { seconds: 7n } } },
      ]),
    );
    expect(fromConnectError(busy)).toMatchObject({ code: "unavailable", retryAfter: 7 });
  });

  it("does not fall for details that can't be read, or reasons that don't exist", () => {
    const broken = new ConnectError("no", Code.InvalidArgument);
    broken.details = [{ type: ErrorInfoSchema.typeName, value: new Uint8Array([255, 255]) }];
    expect(fromConnectError(broken).code).toBe("invalid_value");
    const strange = overTheWire(
      new ConnectError("no", Code.Unavailable, undefined, [
        { desc: ErrorInfoSchema, value: { reason: "toString", domain: "lintel" } },
      ]),
    );
    expect(fromConnectError(strange).code).toBe("unavailable");
  });

  it("takes whatever was thrown", () => {
    expect(fromConnectError("text").code).toBe("upstream_failed");
    const own = invalidValue("loras", "no");
    expect(fromConnectError(own)).toBe(own);
  });
});
