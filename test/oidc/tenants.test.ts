/** An issuer with several tenants, as Microsoft's Entra is one. */
import { expect, test, vi } from "vitest";
import { silent } from "../../src/core/log.js";
import { eachWithIssuer, who } from "./corp.js";

const corp = eachWithIssuer();

const callersOf = (tenants: string, more = "", log = silent) => {
  const address = corp.issuer.of("{tenantid}");
  return corp.callersOf(`tenants: ${tenants}\n${more}`, log, 0, { address });
};

const signed = (tenant: string, more: object = {}) =>
  corp.issuer.sign({ iss: corp.issuer.of(tenant), tid: tenant, ...more });

test("those of its tenants that are let in are its callers, and nobody else", async () => {
  corp.issuer.tenants = ["blue", "red"];
  const callers = callersOf(
    "[realm, blue]",
    "rules: [{ claim: tid, value: blue, models: [small] }]",
  );
  expect(await who(callers, await signed("realm"))).toEqual({ id: "corp:alice", token: "corp" });
  expect(await who(callers, await signed("blue"))).toMatchObject({ models: ["small"] });
  // It has keys and a document, too.
  expect(await who(callers, await signed("red"))).toBeUndefined();
  for (const iss of [corp.issuer.of("{tenantid}"), corp.issuer.of("blue/"), corp.issuer.of("")]) {
    expect(await who(callers, await corp.issuer.sign({ iss }))).toBeUndefined();
  }
});

test("keys may be at an address of each tenant", async () => {
  const keys = `jwks_url: ${corp.issuer.of("{tenantid}")}/keys`;
  const callers = callersOf("[realm]", keys);
  expect(await who(callers, await signed("realm"))).toMatchObject({ id: "corp:alice" });
  expect(corp.issuer.askedAt).toBe("/realm/keys");
});

test("is away where the keys of one of them are", async () => {
  const log = { ...silent, warn: vi.fn() };
  const callers = callersOf("[gone, realm]", "", log);
  expect(await who(callers, await signed("realm"))).toMatchObject({ id: "corp:alice" });
  expect(callers.states()).toEqual([{ name: "corp", away: false }]);
  expect(await who(callers, await signed("gone"))).toMatch(/^unavailable: /);
  expect(callers.states()).toEqual([{ name: "corp", away: true }]);
  expect(log.warn.mock.calls).toEqual([
    [{ issuer: "corp", error: expect.any(String) }, expect.stringContaining("can't be read")],
  ]);
});

test("whose document is of all tenants is told how to be written", async () => {
  const log = { ...silent, warn: vi.fn() };
  corp.issuer.claimed = corp.issuer.of("{tenantid}");
  const callers = corp.callersOf("", log);
  expect(await who(callers, await corp.issuer.sign())).toMatch(/^unavailable: /);
  expect(log.warn.mock.calls[0]?.[0]).toMatchObject({
    error: `its discovery document is of the issuer ${corp.issuer.claimed}: set that, and tenants`,
  });
});
