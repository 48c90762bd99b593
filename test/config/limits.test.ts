/** Limits, prices, answers that are given again, and Redis, as they are configured. */
import { describe, expect, test } from "vitest";
import { countingSettings, limitParts } from "../../src/config/limits.js";
import { memoryLimits } from "../../src/state/limits/memory.js";
import { mistakes, valid } from "./text.js";

const store = memoryLimits();

describe("limits", () => {
  test("those of a team of some models come to the core with the team", () => {
    const config = valid(`auth:
  mode: token
  teams:
    - { name: red, limits: { concurrent: 9, models: [{ model: gpt-*, tokens_per_minute: unlimited }] } }
    - { name: blue }
`);
    expect(limitParts(config, store)?.settings.teams).toMatchObject([
      {
        ...{ team: "red", concurrent: 9 },
        models: [{ model: "gpt-*", tokensPerMinute: Number.POSITIVE_INFINITY }],
      },
      { team: "blue" },
    ]);
  });

  test("come to the core by its names", () => {
    const config = valid(`limits:
  global: { concurrent: 200 }
  caller:
    requests_per_minute: 600
    tokens_per_minute: unlimited
    images_per_day: 10
    budget: { amount: 2.5, period: day }
  user: { concurrent: 2, budget: { amount: 1 } }
  models:
    - { model: gpt-*, requests_per_minute: 10, caller: { concurrent: 3 }, team: { concurrent: 4 } }
prices:
  - { model: gpt-4o, input: 2.5, output: 10 }
  - { model: gpt-5*, input: 2.5, cached_input: 0.25 }
  - { model: claude-*, input: 3, cached_input: 0.3, cache_write_input: 3.75, cache_write_1h_input: 6 }
  - { model: flux, image: 0.04 }
  - { model: chat, target: { backend: cloud, model: g* }, prompt_above: 200000, output: 2 }
  - { model: o*, input: 2, tiers: { flex: { input: 1, cached_input: 0.1 }, priority: {} } }
`);
    expect(limitParts(config, store)).toMatchObject({
      settings: {
        global: { concurrent: 200 },
        caller: {
          requestsPerMinute: 600,
          tokensPerMinute: Number.POSITIVE_INFINITY,
          imagesPerDay: 10,
          budget: { amount: 2.5, period: "day" },
        },
        user: { concurrent: 2, budget: { amount: 1, period: "month" } },
        models: [
          {
            ...{ model: "gpt-*", requestsPerMinute: 10 },
            ...{ caller: { concurrent: 3 }, team: { concurrent: 4 } },
          },
        ],
      },
      prices: [
        { model: "gpt-4o", input: 2.5, output: 10, image: 0 },
        { model: "gpt-5*", input: 2.5, cachedInput: 0.25, output: 0, image: 0 },
        {
          model: "claude-*",
          input: 3,
          cachedInput: 0.3,
          cacheWriteInput: 3.75,
          cacheWrite1hInput: 6,
        },
        { model: "flux", input: 0, output: 0, image: 0.04 },
        {
          model: "chat",
          target: { backend: "cloud", model: "g*" },
          promptAbove: 200_000,
          output: 2,
        },
        { model: "o*", tiers: { flex: { input: 1, cachedInput: 0.1 }, priority: {} } },
      ],
      store,
    });
    // A rate that is absent is the ordinary one, which it must not hide.
    expect(Object.keys(config.prices[5]?.tiers?.flex ?? {})).toEqual(["input", "cachedInput"]);
    expect(mistakes("prices: [{ model: m, tiers: { fast: {} } }]")).toHaveLength(1);
    expect(mistakes("prices: [{ model: m, tiers: { flex: { image: 1 } } }]")).toHaveLength(1);
  });

  test("are no step of a call where nobody can have any", () => {
    expect(limitParts(valid(""), store)).toBeUndefined();
    expect(limitParts(valid("auth: { mode: none }"), store)).toBeUndefined();
    const users = "limits: { user: { concurrent: 1 } }";
    for (const mode of ["none", "public"]) {
      expect(limitParts(valid(`auth: { mode: ${mode} }\n${users}`), store)).toBeDefined();
    }
    const hash = `sha256:${"ab".repeat(32)}`;
    const tokens = `auth: { mode: token, tokens: [{ name: a, hash: "${hash}" }] }`;
    expect(limitParts(valid(tokens), store)).toBeDefined();
  });
});

describe("stores", () => {
  test("are in memory, and keep answers for a day", () => {
    const settings = countingSettings(valid(""));
    expect(settings.zone?.isUtc).toBe(true);
    expect(countingSettings(valid("time_zone: america/new_york")).zone?.name).toBe(
      "America/New_York",
    );
    expect(settings.redis).toBeUndefined();
    expect(settings.idempotency).toEqual({
      ttlMs: 86_400_000,
      maxAnswerBytes: 16 * 2 ** 20,
      maxBytes: 64 * 2 ** 20,
    });
    expect(countingSettings(valid("idempotency: { enabled: false }")).idempotency).toBeUndefined();
  });

  test("may be in Redis, with a password out of the environment", () => {
    const text = `state:
  redis:
    url: rediss://:\${SECRET}@redis.internal:6380/2
    timeout: 100ms
    on_store_failure: closed
    replicas: 3
`;
    expect(countingSettings(valid(text, { SECRET: "s" })).redis).toEqual({
      url: "rediss://:s@redis.internal:6380/2",
      keyPrefix: "lintel:",
      timeoutMs: 100,
      onFailure: "closed",
      replicas: 3,
    });
    const cluster = "state: { redis: { url: [redis://a:1, redis://b:2] } }";
    expect(countingSettings(valid(cluster)).redis).toMatchObject({
      url: ["redis://a:1", "redis://b:2"],
      onFailure: "open",
    });
    const sentinels = ["redis://:watch@a", "redis://:watch@b:26380/"];
    const watched = `state: { redis: { url: "redis://u:p@My.main_1/2", sentinels: ${JSON.stringify(sentinels)} } }`;
    expect(countingSettings(valid(watched)).redis).toMatchObject({
      url: "redis://u:p@My.main_1/2",
      sentinels,
    });
  });
});

test.each<[string, string[]]>([
  [
    "limits:\n  caller:\n    requests_per_minute: -1\n    tokens: 5\n",
    [
      "lintel.yaml:3:26: limits.caller.requests_per_minute: must be at least 0",
      "lintel.yaml:4:5: limits.caller.tokens: unknown key",
    ],
  ],
  [
    "limits:\n  caller:\n    budget: { amount: 1, period: year }\n",
    [
      "lintel.yaml:3:34: limits.caller.budget.period: must be one of hour, day, week, month or lifetime",
    ],
  ],
  [
    "auth:\n  teams:\n    - name: t\n      limits: { models: [{ model: a }, { model: a }] }\n",
    [
      "lintel.yaml:4:49: auth.teams[0].limits.models[1].model: is the same as that of auth.teams[0].limits.models[0]; must be unique",
    ],
  ],
  [
    "limits:\n  models:\n    - requests_per_minute: 1\n",
    ["lintel.yaml:3:7: limits.models[0].model: is required"],
  ],
  [
    "limits:\n  models:\n    - model: a\n    - model: a\n",
    [
      "lintel.yaml:4:14: limits.models[1].model: is the same as that of limits.models[0]; must be unique",
    ],
  ],
  [
    "prices:\n  - model: a\n    input: cheap\n  - model: a\n",
    [
      "lintel.yaml:3:12: prices[0].input: must be a number",
      "lintel.yaml:4:12: prices[1].model: is the same as that of prices[0]; must be unique",
    ],
  ],
  [
    "prices:\n  - { model: a, target: { backend: b } }\n  - { model: a, target: { backend: b }, prompt_above: 5 }\n  - { model: a, target: { backend: c } }\n  - { model: a }\n  - { model: a, target: { model: d } }\n  - { model: a, target: { backend: c } }\n",
    [
      "lintel.yaml:3:5: prices[1]: counts for no call, since prices[0] fits all of its calls; must stand before it",
      "lintel.yaml:6:5: prices[4]: counts for no call, since prices[3] fits all of its calls; must stand before it",
      "lintel.yaml:7:14: prices[5].model: is the same as that of prices[2]; must be unique",
    ],
  ],
  [
    "prices:\n  - { model: a, target: {}, prompt_above: 0 }\n  - { model: b, target: { backends: b } }\n",
    [
      "lintel.yaml:2:25: prices[0].target: must have a backend, a model, or both",
      "lintel.yaml:2:43: prices[0].prompt_above: must be at least 1",
      'lintel.yaml:3:27: prices[1].target.backends: unknown key (did you mean "backend"?)',
    ],
  ],
  [
    "prices:\n  - model: a\n    cached_input: -1\n  - model: b\n    cached_inputs: 1\n",
    [
      "lintel.yaml:3:19: prices[0].cached_input: must be at least 0",
      'lintel.yaml:5:5: prices[1].cached_inputs: unknown key (did you mean "cached_input"?)',
    ],
  ],
  [
    "prices:\n  - model: a\n    cache_write_input: -1\n  - model: b\n    cache_creation_input_token_cost: 1\n",
    [
      "lintel.yaml:3:24: prices[0].cache_write_input: must be at least 0",
      'lintel.yaml:5:5: prices[1].cache_creation_input_token_cost: unknown key (did you mean "cache_write_input"?)',
    ],
  ],
  [
    "state:\n  redis:\n    url: http://redis:6379\n",
    ["lintel.yaml:3:10: state.redis.url: must be redis://host:port or rediss://host:port"],
  ],
  [
    "state:\n  redis:\n    url: redis:localhost:6379\n",
    ["lintel.yaml:3:10: state.redis.url: must be redis://host:port or rediss://host:port"],
  ],
  [
    "cache:\n  redis:\n    url: redis+sentinel://a:26379\n",
    [
      "lintel.yaml:3:10: cache.redis.url: must be redis://NAME, with the sentinels' addresses under cache.redis.sentinels",
    ],
  ],
  [
    "cache:\n  redis: { url: redis://a, replicas: 2 }\n",
    [
      "lintel.yaml:2:28: cache.redis.replicas: unknown key; known: url, sentinels, key_prefix, timeout, tls",
    ],
  ],
  [
    "documents: { memory: 10MiB, at_once: 0, timeout: 0s, pages: 5 }\n",
    [
      "lintel.yaml:1:22: documents.memory: must be at least 64MiB",
      "lintel.yaml:1:38: documents.at_once: must be at least 1",
      "lintel.yaml:1:50: documents.timeout: must be longer than 0",
      "lintel.yaml:1:54: documents.pages: unknown key; known: read, at_once, memory, timeout",
    ],
  ],
  [
    "cache: { ttl: 500ms }\nmodels: [{ name: m, cache_ttl: 999 }]\n",
    [
      "lintel.yaml:1:15: cache.ttl: must be at least 1s",
      "lintel.yaml:2:32: models[0].cache_ttl: must be at least 1s",
    ],
  ],
  ...["redis+sentinel://a:26379,b:26379/main", "redis-sentinel://a:26379?sentinelMasterId=m"].map(
    (url): [string, string[]] => [
      `state:\n  redis:\n    url: ${url}\n`,
      [
        "lintel.yaml:3:10: state.redis.url: must be redis://NAME, with the sentinels' addresses under state.redis.sentinels",
      ],
    ],
  ),
  ...["redis://a:6379", "[redis://a]", "redis://a/main"].map((url): [string, string[]] => [
    `state:\n  redis:\n    url: ${url}\n    sentinels: [redis://b]\n`,
    [
      "lintel.yaml:3:10: state.redis.url: must be redis://NAME or rediss://NAME where there are sentinels, by the name under which they know the primary, without a port",
    ],
  ]),
  [
    "state:\n  redis:\n    url: redis://main\n    sentinels:\n      - a:26379\n      - redis://b/main\n",
    [
      "lintel.yaml:5:9: state.redis.sentinels[0]: must be redis://host:port or rediss://host:port",
      "lintel.yaml:6:9: state.redis.sentinels[1]: must be redis://host:port or rediss://host:port; the primary's name stands in state.redis.url",
    ],
  ],
  [
    "state:\n  redis:\n    url: redis://main\n    sentinels: [redis://:a@b, redis://c]\n",
    [
      "lintel.yaml:4:16: state.redis.sentinels: must have one user and password, and all rediss:// or none",
    ],
  ],
  [
    "state:\n  redis:\n    url: redis://:50%off@redis:6379\n",
    ["lintel.yaml:3:10: state.redis.url: has a % in its user or password that must be written %25"],
  ],
  [
    "state:\n  redis:\n    url: redis://redis:6379\n    on_store_failure: ignore\n    tls: { ca: missing.pem }\n",
    [
      "lintel.yaml:4:23: state.redis.on_store_failure: must be one of open or closed",
      "lintel.yaml:5:16: state.redis.tls.ca: the file missing.pem does not exist",
    ],
  ],
  [
    "budget_alerts:\n  url: https://u:p@hooks.example.com/a\n  at: [0.8, 1.2, 0]\n  scopes: [user]\n  signing_secrets: [a]\n",
    [
      "lintel.yaml:2:8: budget_alerts.url: must carry no user and password: put them into headers",
      "lintel.yaml:3:13: budget_alerts.at[1]: must be above 0, and at most 1, which is all of it",
      "lintel.yaml:3:18: budget_alerts.at[2]: must be above 0, and at most 1, which is all of it",
      "lintel.yaml:4:12: budget_alerts.scopes[0]: must be one of global, model, team, team_model, caller or caller_model",
      "lintel.yaml:5:21: budget_alerts.signing_secrets[0]: must be whsec_ and base64 of 24 to 64 bytes: openssl rand -base64 32",
    ],
  ],
  ["idempotency: { ttl: 0 }\n", ["lintel.yaml:1:21: idempotency.ttl: must be longer than 0"]],
  ["usage: { retention: 0 }\n", ["lintel.yaml:1:21: usage.retention: must be longer than 0"]],
  ["media: { ttl: 0s }\n", ["lintel.yaml:1:15: media.ttl: must be longer than 0"]],
  ["idempotency: { ttl: 36501d }\n", ["lintel.yaml:1:21: idempotency.ttl: must be at most 36500d"]],
  ["usage: { retention: 1e30 }\n", ["lintel.yaml:1:21: usage.retention: must be at most 36500d"]],
  [
    `media: { ttl: ${"9".repeat(400)}d }\n`,
    ["lintel.yaml:1:15: media.ttl: must be at most 36500d"],
  ],
  ["idempotency: { ttl: soon }\n", ["lintel.yaml:1:21: idempotency.ttl: must be a duration"]],
])("%j is a mistake", (text, expected) => {
  const found = mistakes(text);
  expect(found).toHaveLength(expected.length);
  for (const [i, line] of expected.entries()) expect(found[i]).toContain(line);
});
