/** What is wrong with requests to the services of administration. */
import { describe, expect, it } from "vitest";
import { networkMessage } from "../../src/core/callers/addresses.js";
import { administered } from "./gateway.js";

describe("what is wrong is said of the field", () => {
  it.each<[string, unknown, Record<string, string>]>([
    ["CreateToken", {}, { name: "must not be empty" }],
    ["CreateToken", { name: "tok_a" }, { name: "must not begin with tok_" }],
    ["CreateToken", { name: 5 }, { name: "must be a string" }],
    // A limit that is misspelt would be none.
    [
      "CreateToken",
      { name: "a", limit: { budget: { amount: 1 } } },
      { limit: "is no field here; there are name, models, team, limits, expiry, from_addresses" },
    ],
    [
      "CreateToken",
      { name: 5, limits: { user: { requests_per_minutes: { amount: 1 } } } },
      {
        name: "must be a string",
        "limits.user.requests_per_minutes":
          "is no field here; there are requests_per_minute, tokens_per_minute, images_per_day, concurrent, budget",
      },
    ],
    ...[" a", "a "].map((blank): [string, object, Record<string, string>] => [
      "CreateToken",
      { name: blank, team: blank },
      {
        name: "must not begin or end with a blank",
        team: "must not begin or end with a blank",
      },
    ]),
    ["UpdateToken", { token: "a", team: " a" }, { team: "must not begin or end with a blank" }],
    [
      "CreateToken",
      { name: "a\u0007" },
      { name: "must be of at most 128 characters, without control characters" },
    ],
    [
      "CreateToken",
      { name: "a", models: { names: ["a**"] } },
      { "models.names[0]": "must have at most one *" },
    ],
    [
      "CreateToken",
      { name: "a", expiry: { time: "tomorrow" } },
      { "expiry.time": "must be a time such as 2027-01-31T18:00:00Z" },
    ],
    [
      "CreateToken",
      { expiry: { time: "tomorrow" } },
      {
        name: "must not be empty",
        "expiry.time": "must be a time such as 2027-01-31T18:00:00Z",
      },
    ],
    [
      "CreateToken",
      { name: "a", expiry: { time: "2001-01-31T18:00:00Z" } },
      { "expiry.time": "must be in the future" },
    ],
    [
      "CreateToken",
      { name: "a", expiry: { time: "1969-12-31T23:59:59Z" } },
      { "expiry.time": "must be a time from 1970 to 9999" },
    ],
    [
      "CreateToken",
      { name: "a", expiry: { ttl: "300000000000s" } },
      { "expiry.ttl": "must be a duration of 0 or more that ends before the year 10000" },
    ],
    [
      "CreateToken",
      { name: "a", expiry: { ttl: "1d" } },
      { "expiry.ttl": "must be a duration in seconds such as 86400s" },
    ],
    [
      "CreateToken",
      { name: "a", expiry: { ttl: "-5s" } },
      { "expiry.ttl": "must be a duration of 0 or more that ends before the year 10000" },
    ],
    ["CreateToken", { name: "a", expiry: {} }, { expiry: "must have one of time, ttl, never" }],
    [
      "CreateToken",
      { name: "a", expiry: { ttl: "0s" } },
      { "expiry.ttl": "must be in the future" },
    ],
    [
      "UpdateToken",
      {
        token: "a",
        limits: { concurrent: { unlimited: false }, budget: { inherit: false } },
        expiry: { never: false },
      },
      {
        "limits.concurrent.unlimited": "must be true, or left out",
        "limits.budget.inherit": "must be true, or left out",
        "expiry.never": "must be true, or left out",
      },
    ],
    ...[["a", "b"], [-1, "b"], [1.5, "b"], [1], "a"].map(
      (place): [string, object, Record<string, string>] => [
        "ListTokens",
        { page_token: Buffer.from(JSON.stringify(place)).toString("base64url") },
        { page_token: "must be the next_page_token of an answer" },
      ],
    ),
    [
      "CreateToken",
      { name: "a", limits: { concurrent: { amount: -1 } } },
      { "limits.concurrent.amount": "must be from 0 to 999999999999" },
    ],
    ...[1e30, -1e30].map((amount): [string, object, Record<string, string>] => [
      "CreateToken",
      { name: "a", limits: { concurrent: { amount } } },
      { "limits.concurrent.amount": "must be from 0 to 999999999999" },
    ]),
    ...["1e30", "9223372036854775807", "99999999999999999999"].map(
      (amount): [string, object, Record<string, string>] => [
        "CreateToken",
        { name: "a", limits: { concurrent: { amount } } },
        { "limits.concurrent.amount": "must be from 0 to 999999999999" },
      ],
    ),
    ...["x", "1.5", `1${"0".repeat(100)}`].map(
      (amount): [string, object, Record<string, string>] => [
        "CreateToken",
        { name: "a", limits: { concurrent: { amount } } },
        { "limits.concurrent.amount": "must be an integer" },
      ],
    ),
    // In protobuf's own spelling, beside what is right in it: else the token had no limit at all.
    [
      "CreateToken",
      { name: "a", limits: { requestsPerMinute: { amount: 1.5 }, concurrent: { amount: "5" } } },
      { "limits.requests_per_minute.amount": "must be an integer" },
    ],
    [
      "CreateToken",
      { name: "a", limits: { budget: { amount: 1e30 } } },
      { "limits.budget.amount": "must be from 0 to 999999999999" },
    ],
    [
      "CreateToken",
      { name: "a", limits: { user: { concurrent: {}, budget: { amount: 1e30 } } } },
      {
        "limits.user.concurrent": "must have one of amount, unlimited, inherit",
        "limits.user.budget.amount": "must be from 0 to 999999999999",
      },
    ],
    [
      "CreateToken",
      { name: "a", limits: { concurrent: 5 } },
      { "limits.concurrent": "must be an object" },
    ],
    [
      "CreateToken",
      { name: "a", limits: { concurrent: {} } },
      { "limits.concurrent": "must have one of amount, unlimited, inherit" },
    ],
    [
      "CreateToken",
      { name: "a", limits: { concurrent: { amount: 1, unlimited: true } } },
      { "limits.concurrent": "must have one of amount, unlimited, inherit" },
    ],
    [
      "CreateToken",
      { name: "a", limits: { budget: { amount: 1, period: "year" } } },
      { "limits.budget.period": "must be one of hour, day, week, month, lifetime" },
    ],
    [
      "ListTokens",
      { page_token: "zzz" },
      { page_token: "must be the next_page_token of an answer" },
    ],
    ["ListTokens", { page_size: 5000 }, { page_size: "must be from 0 to 1000" }],
    [
      "CreateToken",
      { name: "a", from_addresses: { networks: ["::1", "10.0.0.0/33", "", "here"] } },
      {
        "from_addresses.networks[2]": "must not be empty",
        "from_addresses.networks[1]": networkMessage,
        "from_addresses.networks[3]": networkMessage,
      },
    ],
    [
      "UpdateToken",
      { token: "a", from_addresses: { networks: ["10.0.0.0/-1"] } },
      { "from_addresses.networks[0]": networkMessage },
    ],
    [
      "CreateToken",
      { name: "a", from_addresses: { networks: Array(101).fill("::1") } },
      { "from_addresses.networks": "number of items must be from 0 to 100" },
    ],
    ["RevokeToken", {}, { token: "must not be empty" }],
    [
      "RotateToken",
      { token: "a", grace: "-5s" },
      { grace: "must be a duration of 0 or more that ends before the year 10000" },
    ],
  ])("%s %j", async (method, body, wrong) => {
    const { post } = await administered();
    const { status, json } = await post(`TokensService/${method}`, body);
    expect(status).toBe(400);
    const details = json.details.map(({ debug }: { debug?: unknown }) => debug);
    expect(json.code).toBe("invalid_argument");
    expect(json.message).toBe(
      Object.entries(wrong)
        .map(([field, words]) => `${field}: ${words}`)
        .join("; "),
    );
    expect(details.length).toBeGreaterThan(0);
  });
});
