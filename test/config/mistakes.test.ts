/** Mistakes of syntax, of keys and of what values may be. */
import { describe, expect, test } from "vitest";
import { expectMistakes, type Mistake, mistakes } from "./text.js";

describe("mistakes", () => {
  test.each<Mistake>([
    ["a broken line", "auth:\n  mode: [public\n", ["lintel.yaml:2:9: the [ here has no ]"]],
    [
      "a key twice",
      "listen: 1\nlisten: 2\n",
      ["lintel.yaml:2:1: the key listen stands here a second time"],
    ],
    [
      "two documents",
      "listen: 1\n---\nlisten: 2\n",
      ["lintel.yaml:2:1: another document begins here: a file has one only"],
    ],
    [
      "words where a # is missing: one line, however much follows",
      "some words, all.\n# more\nlisten: :8080\nlog: { level: info }\n",
      [
        "lintel.yaml:3:1: what stands above is complete: nothing may follow it (a # may be missing there, or a bracket be too many)",
      ],
    ],
    [
      "a list inside itself",
      "listen: &x [1, *x]\n",
      [
        "lintel.yaml:1:16: an alias or << names what stands around it, which would be inside itself",
      ],
    ],
    [
      "a mapping that merges one around itself",
      "limits: &x\n  global: { concurrent: 3 }\n  caller:\n    <<: *x\n",
      ["lintel.yaml:4:5: an alias or << names what stands around it, which would be inside itself"],
    ],
    ["a list as a key", "listen: 1\n? [a]\n: b\n", ["lintel.yaml:2:3: a key must be text"]],
    ["not a mapping", "- a\n", ["lintel.yaml:1:1: must be a mapping, not a list"]],
    [
      "an unknown key",
      "listen: 1\nbakends: []\n",
      ['lintel.yaml:2:1: bakends: unknown key (did you mean "backends"?)'],
    ],
    [
      "an unknown key, nested",
      "auth:\n  mode: public\n  tokns: []\n",
      ['lintel.yaml:3:3: auth.tokns: unknown key (did you mean "tokens"?)'],
    ],
    [
      "a key that is like no other",
      "cors:\n  zebra: 1\n",
      ["lintel.yaml:2:3: cors.zebra: unknown key; known: origins"],
    ],
    [
      "a wrong type",
      "log:\n  level: [info]\n",
      [
        "lintel.yaml:2:10: log.level: must be one of trace, debug, info, warn, error, fatal or silent",
      ],
    ],
    [
      "a wrong word",
      "auth: { mode: tokn }",
      ['lintel.yaml:1:15: auth.mode: must be one of public, token or none (did you mean "token"?)'],
    ],
    [
      "an empty value",
      "auth:\n  mode:\n",
      ["lintel.yaml:2:3: auth.mode: is empty: write a value, or leave the key out"],
    ],
    [
      "a missing field",
      "models:\n  - model: a\n",
      ["lintel.yaml:2:5: models[0].name: is required"],
    ],
    [
      "text for a number",
      "bounds:\n  width: { max: wide }\n",
      ["lintel.yaml:2:17: bounds.width.max: must be a number, not text"],
    ],
    [
      "a fraction",
      "models: [{ name: a, max_tokens: 1.5 }]",
      ["lintel.yaml:1:33: models[0].max_tokens: must be a whole number"],
    ],
    [
      "out of bounds",
      "models: [{ name: a, max_tokens: 0 }]",
      ["lintel.yaml:1:33: models[0].max_tokens: must be at least 1"],
    ],
    [
      "an empty list",
      "safety: { checker: { type: classifier, path: a, labels: [] } }",
      ["lintel.yaml:1:57: safety.checker.labels: must not be empty"],
    ],
    [
      "empty text",
      'models: [{ name: "" }, { name: "" }]',
      [
        "lintel.yaml:1:18: models[0].name: must not be empty",
        "lintel.yaml:1:32: models[1].name: must not be empty",
      ],
    ],
    [
      "a duration",
      "media: { ttl: soon }",
      [
        "lintel.yaml:1:15: media.ttl: must be a duration such as 500ms, 30s, 15m, 24h or 7d, or a number of milliseconds",
      ],
    ],
    [
      "times that no timer can wait",
      `timeouts: { total: 0, keep_alive: 30d, shutdown: 25d }
auth: { oidc: [{ name: a, issuer: "https://a", audience: b, refresh: 0 }] }
state: { refresh: 0s }
backends:
  - { type: openai, name: o, url: "http://o", refresh: 30d, timeouts: { connect: 0 } }
`,
      [
        "lintel.yaml:1:20: timeouts.total: must be longer than 0",
        "lintel.yaml:1:35: timeouts.keep_alive: must be at most 24d",
        "lintel.yaml:1:50: timeouts.shutdown: must be at most 24d",
        "lintel.yaml:2:70: auth.oidc[0].refresh: must be longer than 0",
        "lintel.yaml:3:19: state.refresh: must be longer than 0",
        "lintel.yaml:5:56: backends[0].refresh: must be at most 24d",
        "lintel.yaml:5:82: backends[0].timeouts.connect: must be longer than 0",
      ],
    ],
    [
      "a time below 0, where 0 is a time",
      "backends: [{ type: openai, name: a, url: http://a, timeouts: { idle: -1 } }]",
      ["lintel.yaml:1:70: backends[0].timeouts.idle: must be"],
    ],
    [
      "a size",
      "body_limit: [1]",
      [
        "lintel.yaml:1:13: body_limit: must be a size such as 512KiB, 1MiB or 2GB, or a number of bytes",
      ],
    ],
    [
      "a key of a mapping that another one has which it merges",
      "models:\n  - &a { name: a, max_tokens: 1 }\n  - { <<: *a, name: b, max_tokens: 0 }\n",
      ["lintel.yaml:3:36: models[1].max_tokens: must be at least 1"],
    ],
    [
      "aliases of aliases, which would be without end",
      `models:\n  - &a0 [x, x, x, x, x, x, x, x, x, x]\n${[0, 1, 2]
        .map((i) => `  - &a${i + 1} [${Array(10).fill(`*a${i}`).join(", ")}]\n`)
        .join("")}`,
      ["lintel.yaml:1:1: Excessive alias count indicates a resource exhaustion attack"],
    ],
    [
      "a key that is none",
      "__proto__:\n  a: 1\n",
      ["lintel.yaml:1:1: __proto__: unknown key; known: "],
    ],
  ])("%s", expectMistakes);

  test("of a number that is no whole one it is not said that it is a number", () => {
    expect(mistakes("models: [{ name: a, max_tokens: 1.5 }]")).toEqual([
      "lintel.yaml:1:33: models[0].max_tokens: must be a whole number",
    ]);
  });

  test("all at once, in the order of their lines", () => {
    const text = `listen: nowhere
auth:
  mode: tokn
tls:
  cert: missing.pem
  key: missing.pem
backends:
  - { type: embedded, name: a }
  - { type: embedded, name: a }
models:
  - name: m
    backends: [b]
    max_tokens: many
    colour: red
media: { ttl: soon }
log:
  level: \${LEVEL}
`;
    expect(mistakes(text).map((line) => line.split(": ").slice(0, 2).join(" "))).toEqual([
      "lintel.yaml:1:9 listen",
      "lintel.yaml:3:9 auth.mode",
      "lintel.yaml:5:9 tls.cert",
      "lintel.yaml:6:8 tls.key",
      "lintel.yaml:9:29 backends[1].name",
      "lintel.yaml:12:16 models[0].backends[0]",
      "lintel.yaml:13:17 models[0].max_tokens",
      "lintel.yaml:14:5 models[0].colour",
      "lintel.yaml:15:15 media.ttl",
      "lintel.yaml:17:10 log.level",
    ]);
  });

  test("no message repeats a value that could be a secret", () => {
    const text = `auth: { tokens: [{ name: a, hash: lt_abc }] }
backends: [{ type: openai, name: a, url: "http://user:pass@h", api_key: "\${KEY}" }]`;
    const all = mistakes(text, { KEY: "sk-secret\nline" }).join("\n");
    expect(all.split("\n")).toHaveLength(3);
    expect(all).not.toMatch(/lt_abc|sk-secret|user:pass/);
  });
});
