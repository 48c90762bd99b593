/** Which reasons of an outage are told. */
import { expect, it } from "vitest";
import { OutageReasons } from "../../src/core/outage.js";

const coded = (message: string, code: string) => Object.assign(new Error(message), { code });
const replied = (message: string) => Object.assign(new Error(message), { name: "ReplyError" });
const closed = new Error("the connection was closed");

it("says why one begins, and then what is news", () => {
  const reasons = new OutageReasons();
  expect(reasons.begin(closed)).toBe("the connection was closed");
  const expired = coded("certificate has expired", "CERT_HAS_EXPIRED");
  expect(reasons.next(expired)).toBe(
    "certificate has expired (CERT_HAS_EXPIRED); it is the server's, who needs a new one",
  );
  expect(reasons.next(expired)).toBeUndefined();
  expect(reasons.next(replied("NOAUTH Authentication required."))).toBe(
    "NOAUTH Authentication required.",
  );
  expect(reasons.next(expired)).toBeUndefined();
});

it("what it began with is no news", () => {
  const reasons = new OutageReasons();
  const denied = coded("password authentication failed", "28P01");
  expect(reasons.begin(denied)).toBe("password authentication failed");
  expect(reasons.next(denied)).toBeUndefined();
});

it("that nobody is there is no news, in whatever it is wrapped", () => {
  const reasons = new OutageReasons();
  reasons.begin(closed);
  for (const code of ["ECONNREFUSED", "ECONNRESET", "ENOENT", "EPIPE", "ETIMEDOUT"]) {
    expect(reasons.next(coded(`connect ${code}`, code))).toBeUndefined();
    const cause = coded(`connect ${code}`, code);
    expect(reasons.next(new Error("can't be reached", { cause }))).toBeUndefined();
  }
  expect(reasons.next(new Error("words alone"))).toBeUndefined();
  expect(reasons.next("no error")).toBeUndefined();
});

it("what a cause says is news", () => {
  const reasons = new OutageReasons();
  reasons.begin(closed);
  const cause = replied("WRONGPASS invalid password");
  expect(reasons.next(new Error("no node answers", { cause }))).toBe(
    "no node answers: WRONGPASS invalid password",
  );
});

it("few are said of one outage, however many there are", () => {
  const reasons = new OutageReasons();
  const said = () => {
    const all = [reasons.begin(closed)];
    for (let i = 0; i < 100; i++) all.push(reasons.next(replied(`LOADING ${i}`)) ?? "");
    return all.filter((reason) => reason !== "");
  };
  expect(said()).toHaveLength(5);
  // Of the next one as many again, and the same ones.
  expect(said()).toHaveLength(5);
});
