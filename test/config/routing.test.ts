import { describe, expect, test } from "vitest";
import { coreSettings } from "../../src/config/settings.js";
import { warningsOf } from "../../src/config/warnings.js";
import { passesNone } from "../../src/core/routing/pass-headers.js";
import { routingDefaults } from "../../src/core/routing/settings.js";
import { mistakes, valid } from "./text.js";

const backends = `
backends:
  - { type: node, name: a, address: "http://a:1" }
  - { type: node, name: b, address: "http://b:1" }
`;

describe("routing", () => {
  test("what the file says reaches the core", () => {
    const config = valid(`${backends}
models:
  - name: gpt-*
    aliases: ["g-*"]
    targets:
      - { backend: a, model: "openai/*", weight: 3 }
      - { backend: b, priority: 1, max_in_flight: 2 }
    timeouts: { first_token: 20s, total: 1h }
    max_in_flight: 4
    hedge: {}
timeouts: { connect: 2s, first_token: 1m, between_tokens: 30s }
routing:
  affinity_header: X-Session-Id
  max_in_flight: 8
  queue: { size: 10, timeout: 5s }
  retry: { attempts: 2, budget: 0.1, floor: 1, window: 1m, first_pause: 10ms, longest_pause: 1s, blocked: true }
  health:
    failures: 2
    failure_rate: 0.3
    samples: 5
    window: 1m
    first_pause: 2s
    longest_pause: 2m
    check: { interval: 30s, timeout: 1s, backends: [a] }
  hedge: { percentile: 90, at_least: 1s }
`);
    const { models, routing } = coreSettings(config);
    expect(models).toMatchObject([
      {
        name: "gpt-*",
        aliases: ["g-*"],
        targets: [
          { backend: "a", model: "openai/*", weight: 3, priority: 0 },
          { backend: "b", weight: 1, priority: 1, maxInFlight: 2 },
        ],
        timeouts: { firstToken: 20_000, total: 3_600_000 },
        maxInFlight: 4,
        hedge: { percentile: 95, leastMs: 50 },
      },
    ]);
    expect(routing).toEqual({
      affinity: "key",
      passHeaders: passesNone,
      affinityHeaders: ["x-session-id"],
      maxInFlight: 8,
      queue: { size: 10, timeoutMs: 5000 },
      retry: {
        attempts: 2,
        budget: 0.1,
        floor: 1,
        windowMs: 60_000,
        firstPauseMs: 10,
        longestPauseMs: 1000,
        blocked: true,
      },
      health: {
        failures: 2,
        failureRate: 0.3,
        samples: 5,
        windowMs: 60_000,
        firstPauseMs: 2000,
        longestPauseMs: 120_000,
        check: { intervalMs: 30_000, timeoutMs: 1000, backends: ["a"] },
      },
      hedge: { percentile: 90, leastMs: 1000 },
      timeouts: { connect: 2000, firstToken: 60_000, betweenTokens: 30_000 },
    });
  });

  test("asking elsewhere what was blocked is warned of where nobody is asked again", () => {
    const said = (retry: string) => warningsOf(valid(`routing: { retry: { ${retry} } }\n`));
    expect(said("blocked: true, attempts: 1")).toEqual([
      "routing.retry.blocked does nothing: routing.retry.attempts is 1",
    ]);
    expect([said("blocked: true"), said("attempts: 1")]).toEqual([[], []]);
    expect(mistakes("routing: { retry: { blocked: 1 } }\n")).toHaveLength(1);
  });

  test("the defaults are the core's", () => {
    expect(coreSettings(valid("")).routing).toEqual(routingDefaults);
  });

  const served = `backends:
  - { type: openai, name: o, url: "http://o:1", models: [small], image_models: [pics] }
  - { type: llama, name: l, path: x.gguf, id: own }
`;
  const target = "models:\n  - name: m\n    targets:\n";
  const cases: [string, string, string[]][] = [
    [
      "a target at a backend that there is not",
      `${backends}${target}      - { backend: aa }\n`,
      [
        'lintel.yaml:8:20: models[0].targets[0].backend: there is no backend "aa" (did you mean "a"?)',
      ],
    ],
    [
      "backends of which none is found by this name",
      "models:\n  - { name: m, backends: [ollama, olama] }\n  - { name: n, targets: [{ backend: gpus }, { backend: embedded }] }\n",
      [
        'lintel.yaml:2:35: models[0].backends[1]: there is no backend "olama" (did you mean "ollama"?)',
        'lintel.yaml:3:37: models[1].targets[0].backend: there is no backend "gpus"; where none are configured, there may be: embedded, ollama, lmstudio, vllm, webui, comfyui',
      ],
    ],
    [
      "models that their backends don't list",
      `${served}models:
  - { name: a, model: large, backends: [o] }
  - name: b
    targets: [{ backend: o, model: smal }, { backend: l }, { backend: o, model: pics }]
  - { name: "c-*", targets: [{ backend: o, model: "d-*" }, { backend: o, model: "sm*" }] }
  - { name: piks }
  - { name: d, model: none }
  - { name: small }
`,
      [
        'lintel.yaml:5:41: models[0].backends[0]: the backend "o" has no model "large"',
        'lintel.yaml:7:36: models[1].targets[0].model: the backend "o" has no model "smal" (did you mean "small"?)',
        'lintel.yaml:7:55: models[1].targets[1].backend: the backend "l" has no model "b"',
        'lintel.yaml:8:51: models[2].targets[0].model: the backend "o" has no model "d-*"',
        'lintel.yaml:9:13: models[3].name: no backend has a model "piks" (did you mean "pics"?)',
        'lintel.yaml:10:23: models[4].model: no backend has a model "none"',
      ],
    ],
    [
      "two equal targets",
      `${backends}${target}      - backend: a\n      - { backend: a, model: m }\n`,
      [
        "lintel.yaml:9:9: models[0].targets[1]: is the same as targets[0]; give one of them the weight of both",
      ],
    ],
    [
      "a backend twice",
      `${backends}models:\n  - name: m\n    backends: [a, a]\n`,
      ["lintel.yaml:7:19: models[0].backends[1]: is the same as backends[0]; must be unique"],
    ],
    [
      "a weight of nothing, and a share of the impossible",
      `${backends}${target}      - { backend: a, weight: 0 }\nrouting: { retry: { budget: 2 } }\n`,
      [
        "lintel.yaml:8:31: models[0].targets[0].weight: must be more than 0",
        "lintel.yaml:9:29: routing.retry.budget: must be at most 1",
      ],
    ],
    [
      "both forms",
      `${backends}models:\n  - name: m\n    model: n\n    backends: [a]\n    targets: [{ backend: b }]\n`,
      [
        "lintel.yaml:7:5: models[0].model: can't stand beside targets, which say the same in full; leave one of them out",
        "lintel.yaml:8:5: models[0].backends: can't stand beside targets, which say the same in full; leave one of them out",
      ],
    ],
    [
      "wildcards",
      `models:\n  - name: "a*b*"\n  - name: c\n    model: "x/*"\n  - { name: "d*", aliases: [e] }\n`,
      [
        "lintel.yaml:2:11: models[0].name: must have at most one *",
        "lintel.yaml:4:12: models[1].model: must have no *, since the model's name has none",
        "lintel.yaml:5:29: models[2].aliases[0]: must have a *, since the model's name has one",
      ],
    ],
    [
      "a name twice",
      "models:\n  - { name: a, aliases: [b] }\n  - { name: b, aliases: [c, c] }\n",
      [
        "lintel.yaml:2:26: models[0].aliases[0]: is the same as models[1].name; must be unique",
        "lintel.yaml:3:29: models[1].aliases[1]: is the same as models[1].aliases[0]; must be unique",
      ],
    ],
    [
      "a check of nobody, no time at all, and no header",
      `${backends}routing:\n  affinity_header: "x y"\n  queue: { timeout: 0 }\n  health: { check: { backends: [c] } }\n`,
      [
        "lintel.yaml:6:20: routing.affinity_header: must be the name of an HTTP header, or a list of such",
        "lintel.yaml:7:21: routing.queue.timeout: must be longer than 0",
        'lintel.yaml:8:33: routing.health.check.backends[0]: there is no backend "c" (did you mean "a"?)',
      ],
    ],
  ];
  test.each(cases)("%s", (_, text, expected) => expect(mistakes(text)).toEqual(expected));

  test("sessions go by several headers, and by how conversations begin", () => {
    const text = "routing: { affinity: conversation, affinity_header: [X-Session-Id, x-agent] }\n";
    expect(coreSettings(valid(text)).routing).toMatchObject({
      affinity: "conversation",
      affinityHeaders: ["x-session-id", "x-agent"],
    });
    expect(
      coreSettings(valid("routing: { affinity_header: [] }\n")).routing.affinityHeaders,
    ).toEqual([]);
    expect(mistakes("routing: { affinity: session }\n")).toEqual([
      "lintel.yaml:1:22: routing.affinity: must be one of key or conversation",
    ]);
    expect(mistakes('routing:\n  affinity_header: [a, "x y"]\n')).toEqual([
      "lintel.yaml:2:24: routing.affinity_header[1]: must be the name of an HTTP header",
    ]);
  });

  test("a model may be one that a backend does not list in the file", () => {
    const one = "models: [{ name: m, backends: [e] }]\ndefault_models: { chat: other }\n";
    for (const entry of [
      "type: embedded, name: e, models: [models/m.gguf]",
      'type: sdapi, name: e, url: "http://e", models: ["m.safetensors [abc]"]',
      'type: openai, name: e, url: "http://e"',
      "type: onnx, name: e, path: m",
    ]) {
      valid(`backends: [{ ${entry} }]\n${one}`);
    }
  });

  test("a default model may be an alias, or what a wildcard fits", () => {
    const models = `models:\n  - { name: m, aliases: [n] }\n  - { name: "gpt-*", model: m }\n`;
    const served = 'backends: [{ type: openai, name: o, url: "http://o:1", models: [m] }]\n';
    for (const name of ["n", "gpt-4"]) {
      valid(`${served}${models}default_models: { chat: ${name} }\n`);
    }
  });
  test("a default model is not a backend's own name of what an entry leads to", () => {
    const served = 'backends: [{ type: openai, name: o, url: "http://o:1", models: [m, n] }]\n';
    const entries = [
      "{ name: small, model: m }",
      "{ name: small, targets: [{ backend: o, model: m }] }",
    ];
    for (const entry of entries) {
      const text = (name: string) =>
        `${served}models: [${entry}]\ndefault_models: { chat: ${name} }\n`;
      expect(mistakes(text("m"))).toEqual([
        'lintel.yaml:3:25: default_models.chat: there is no model "m"; it is called "small" here',
      ]);
      for (const name of ["n", "small"]) valid(text(name));
    }
    valid(
      `${served}models: [{ name: small, model: m, aliases: [m] }]\ndefault_models: { chat: m }\n`,
    );
  });
});
