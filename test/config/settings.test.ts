/** What the parts of Lintel are told of what the file says. */
import { expect, test } from "vitest";
import { authSettings } from "../../src/config/auth.js";
import { pastLimits } from "../../src/config/limits.js";
import { coreSettings } from "../../src/config/settings.js";
import { operatorSettings, providerOf, telemetrySettings } from "../../src/config/telemetry.js";
import { valid } from "./text.js";

const hash = `sha256:${"0".repeat(64)}`;

test("tokens keep their limits and their end", () => {
  const text = `auth:
  mode: token
  tokens:
    - { name: a, hash: "${hash}", models: [m], expires: 2030-01-01, limits: { requests_per_minute: 3, tokens_per_minute: 4, images_per_day: 5, concurrent: 6, budget: { amount: 7, period: month } } }
    - { name: b, hash: "sha256:${"1".repeat(64)}" }
`;
  const { auth } = valid(text);
  const limits = { requestsPerMinute: 3, tokensPerMinute: 4, imagesPerDay: 5, concurrent: 6 };
  expect(authSettings(auth)).toMatchObject({
    mode: "token",
    tokens: [
      {
        ...{ name: "a", models: ["m"], expiresAt: Date.UTC(2030, 0, 1) },
        limits: { ...limits, budget: expect.objectContaining({ amount: 7 }) },
      },
      { name: "b", limits: undefined, expiresAt: undefined },
    ],
  });
});

test("limits that callers bring are told, and whether those in the file changed", () => {
  const token = (limit: number) =>
    valid(
      `auth: { mode: token, tokens: [{ name: a, hash: "${hash}", limits: { concurrent: ${limit} } }] }`,
    );
  expect(pastLimits(valid("")).callersOwn).toBe(false);
  expect(pastLimits(token(1)).callersOwn).toBe(true);
  expect(pastLimits(token(1))).toEqual(pastLimits(token(1)));
  expect(pastLimits(token(1)).own).not.toEqual(pastLimits(token(2)).own);
});

test("limits of end users are told of who brings them: tokens, teams, issuers and their rules", () => {
  const config = valid(`auth:
  mode: token
  tokens: [{ name: a, hash: "${hash}", limits: { user: { concurrent: 1 } } }]
  teams: [{ name: t, limits: { user: { concurrent: 2 } } }, { name: u }]
  oidc:
    - name: o
      issuer: "https://o"
      audience: l
      limits: { user: { concurrent: 3 } }
      rules: [{ claim: c, value: v, limits: { user: { concurrent: 4 } } }]
`);
  expect(pastLimits(config).ofUsers).toMatchObject([
    { of: "callers", name: "a", limits: { concurrent: 1 } },
    { of: "teams", name: "t", limits: { concurrent: 2 } },
    { of: "issuers", name: "o", limits: { concurrent: 3 } },
    { of: "issuers", name: "o", limits: { concurrent: 4 } },
  ]);
});

test.each([
  ["", undefined, true],
  ["telemetry: { prometheus: true, top: false }", undefined, false],
  [
    "telemetry: { prometheus: { listen: 127.0.0.1:9464 } }",
    { host: "127.0.0.1", port: 9464 },
    true,
  ],
])("who may look: %s", (text, prometheus, top) => {
  const config = valid(`state: { directory: /var/lib/a }\n${text}`);
  const sockets = top ? "/var/lib/a/run" : undefined;
  expect(operatorSettings(config)).toEqual({ prometheus, sockets });
  const told = telemetrySettings(config, new Map(), "1.2.3", {});
  expect(told).toMatchObject({ prometheus: text.includes("prometheus"), status: top });
});

test("what the file says of a collector is told to the exporters", () => {
  const otlp = `{ endpoint: "http://c:4318", headers: { x-key: a }, protocol: http/json, interval: 5s, metrics: false, sample_ratio: 0.5, content: true }`;
  const config = valid(`telemetry: { otlp: ${otlp} }`);
  expect(telemetrySettings(config, new Map(), "1.2.3", {}).otlp).toEqual({
    endpoint: "http://c:4318",
    headers: { "x-key": "a" },
    protocols: { traces: "http/json", metrics: "http/json" },
    intervalMs: 5000,
    traces: true,
    metrics: false,
    sampleRatio: 0.5,
    content: true,
  });
});

test.each([
  ["{ type: openai, name: a, url: https://api.openai.com/v1 }", "openai"],
  ["{ type: openai, name: a, url: https://mine.openai.azure.com/v1 }", "azure.ai.openai"],
  ["{ type: openai, name: a, url: https://notapi.openai.com/v1 }", "openai_compatible"],
  ["{ type: openai, name: a, url: http://127.0.0.1/v1 }", "openai_compatible"],
  ["{ type: node, name: a, address: http://127.0.0.1 }", "lintel"],
  ["{ type: rest, name: a, url: http://127.0.0.1, models: [{ id: b, task: chat }] }", "lintel"],
  ["{ type: sdapi, name: a, url: http://127.0.0.1 }", "sdapi"],
  ['{ type: ai-sdk, name: a, package: "@ai-sdk/google", models: [{ id: b }] }', "gcp.gemini"],
  ['{ type: ai-sdk, name: a, package: "@ai-sdk/fal", models: [{ id: b }] }', "fal"],
])("the provider of %s is %s", (text, provider) => {
  const [backend] = valid(`backends: [${text}]`).backends ?? [];
  expect(backend && providerOf(backend)).toBe(provider);
});

test("headers of callers are passed by the names of the backends, in lower case", () => {
  const { routing } = coreSettings(
    valid(`backends:
  - { type: openai, name: a, url: "http://a", pass_headers: [X-Tenant, x-plan] }
  - { type: node, name: b, address: "http://b", pass_headers: [x-tenant] }
  - { type: openai, name: c, url: "http://c" }
`),
  );
  expect(routing.passHeaders).toEqual({
    names: ["x-tenant", "x-plan"],
    of: new Map([
      ["a", ["x-tenant", "x-plan"]],
      ["b", ["x-tenant"]],
    ]),
  });
});
