import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { mistakes } from "./text.js";

const pem = (name: string) =>
  fileURLToPath(new URL(`../fixtures/tls/${name}.pem`, import.meta.url));
const hash = `sha256:${"ab".repeat(32)}`;

describe("mistakes", () => {
  test.each<[string, string, string[]]>([
    [
      "a broken line",
      "auth:\n  mode: [public\n",
      [
        "lintel.yaml:3:1: Flow sequence in block collection must be sufficiently indented and end with a ]",
      ],
    ],
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
      "sockets whose whole path no system takes",
      `listen: unix:run/${"a".repeat(88)}\ntelemetry: { prometheus: { listen: "unix:/${"b".repeat(103)}" } }\nbackends: [{ type: node, name: a, address: "unix:/${"c".repeat(103)}" }]\n`,
      [
        "lintel.yaml:1:9: listen: must lead to a socket whose whole path has at most 103 bytes",
        "lintel.yaml:2:36: telemetry.prometheus.listen: must lead to a socket whose whole path has at most 103 bytes",
        "lintel.yaml:3:44: backends[0].address: must lead to a socket whose whole path has at most 103 bytes",
      ],
    ],
    [
      "an issuer's address twice",
      `auth:\n  oidc:\n    - { name: a, issuer: "https://a", audience: l }\n    - { name: b, issuer: "https://a", audience: l }\n`,
      [
        "lintel.yaml:4:26: auth.oidc[1].issuer: is the same as that of auth.oidc[0]; must be unique",
      ],
    ],
    [
      "a fragment in the address of keys, and a hash twice in other letters",
      `auth:\n  tokens:\n    - { name: a, hash: "${hash}" }\n    - { name: b, hash: "${hash.replace(/ab/g, "AB")}" }\n  oidc: [{ name: c, issuer: "https://a", audience: l, jwks_url: "https://a/keys?p=1#x" }]\n`,
      [
        "lintel.yaml:4:24: auth.tokens[1].hash: is the same as that of auth.tokens[0]; must be unique",
        "lintel.yaml:5:65: auth.oidc[0].jwks_url: must have no fragment",
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
      "bounds that no whole number of the contract can be moved to",
      "bounds:\n  temperature: { max: 1.5 }\n  max_tokens: { max: 100.5 }\n  width: { min: 64.5 }\n  prompts: { max: 1.5 }\n  top_k: { min: 3000000000 }\n",
      [
        "lintel.yaml:3:22: bounds.max_tokens.max: must be a whole number",
        "lintel.yaml:4:17: bounds.width.min: must be a whole number",
        "lintel.yaml:5:19: bounds.prompts.max: must be a whole number",
        "lintel.yaml:6:17: bounds.top_k.min: must be at most 2147483647",
      ],
    ],
    [
      "out of bounds",
      "models: [{ name: a, max_tokens: 0 }]",
      ["lintel.yaml:1:33: models[0].max_tokens: must be at least 1"],
    ],
    [
      "a default number of images",
      "models: [{ name: a, defaults: { num_images_per_prompt: 2 } }]",
      ["models[0].defaults.num_images_per_prompt: unknown key; known: temperature,"],
    ],
    [
      "defaults that no request may have",
      "models:\n  - name: a\n    defaults: { temperature: 5, top_p: 0, max_tokens: 0, width: 513, num_inference_steps: 500 }\n",
      [
        "lintel.yaml:3:30: models[0].defaults.temperature: must be from 0 to 2",
        "models[0].defaults.top_p: must be above 0 and at most 1",
        "models[0].defaults.max_tokens: must be at least 1",
        "models[0].defaults.width: must be a multiple of 8 from 64 to 2048",
        "models[0].defaults.num_inference_steps: must be from 1 to 150",
      ],
    ],
    [
      "a default that no whole number of the contract is",
      "models: [{ name: a, defaults: { max_tokens: 3000000000 } }]\n",
      ["lintel.yaml:1:45: models[0].defaults.max_tokens: must be at most 2147483647"],
    ],
    [
      "defaults beyond wider bounds",
      "bounds: { width: { max: 4096 }, temperature: { min: 1 } }\nmodels: [{ name: a, defaults: { width: 8000, temperature: -1 } }]\n",
      [
        "models[0].defaults.width: must be a multiple of 8 from 64 to 4096",
        "models[0].defaults.temperature: must be from 0 to 2",
      ],
    ],
    [
      "empty text",
      'models: [{ name: "" }]',
      ["lintel.yaml:1:18: models[0].name: must not be empty"],
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
      "a size",
      "body_limit: [1]",
      [
        "lintel.yaml:1:13: body_limit: must be a size such as 512KiB, 1MiB or 2GB, or a number of bytes",
      ],
    ],
    [
      "origins that no browser sends",
      "cors:\n  origins: [example.com, https://a.example/b, 'https://*.example', '']\n",
      [
        "lintel.yaml:2:13: cors.origins[0]: must be *, null, or an origin such as https://example.com",
        "cors.origins[1]: must be *",
        "cors.origins[2]: must be *",
        "cors.origins[3]: must be *",
      ],
    ],
    [
      "an address to listen on twice",
      "listen: [8080, '127.0.0.1:8080', 'unix:a', 'unix:/b', 'unix:a', ':0', ':0', 'unix:///%62']\n",
      [
        "lintel.yaml:1:16: listen[1]: is the same as listen[0]; must be unique",
        "listen[4]: is the same as listen[2]; must be unique",
        "listen[7]: is the same as listen[3]; must be unique",
      ],
    ],
    [
      "addresses of which one takes the other",
      "listen: [0.0.0.0:1, 127.0.0.1:1, ':2', '[::1]:2', '127.0.0.1:2', 'localhost:1', '[::1]:1', 'unix:a', 'unix:./a']\n",
      [
        "lintel.yaml:1:21: listen[1]: can't be listened on beside listen[0]: one of them takes every address",
        "listen[3]: can't be listened on beside listen[2]: one",
        "listen[4]: can't be listened on beside listen[2]: one",
        "listen[8]: is the same as listen[7]; must be unique",
      ],
    ],
    [
      "a socket of another machine",
      "listen: unix://host/a.sock",
      ["lintel.yaml:1:9: listen: must be host:port"],
    ],
    [
      "a socket with half an escape",
      "listen: unix:///a%2",
      ["lintel.yaml:1:9: listen: must be host:port"],
    ],
    [
      "a body that is too large for a text",
      "body_limit: 4GiB",
      ["lintel.yaml:1:13: body_limit: must be from 1 byte to 512MB"],
    ],
    [
      "a body of nothing",
      "body_limit: 0",
      ["lintel.yaml:1:13: body_limit: must be from 1 byte to 512MB"],
    ],
    [
      "connections that are old at once",
      "max_connection_age: 999ms",
      ["lintel.yaml:1:21: max_connection_age: must be at least 1s"],
    ],
    [
      "an address to listen on",
      "listen: 127.0.0.1:99999",
      [
        "lintel.yaml:1:9: listen: must be host:port, :port, a port from 0 to 65535, or unix:/path/to.sock",
      ],
    ],
    [
      "a public address",
      "public_url: example.com",
      ["lintel.yaml:1:13: public_url: must be an http:// or https:// address"],
    ],
    [
      "addresses that are none",
      `state: { database: "postgres://[" }
backends:
  - { type: node, name: a, address: "http://gpu:99999" }
  - { type: node, name: b, address: "http://[" }
  - { type: node, name: c, address: "unix://host/a.sock" }
  - { type: openai, name: d, url: "http://d", allow_hosts: ["http://10.0.0.5:99999"] }
`,
      [
        "lintel.yaml:1:20: state.database: must be sqlite, or an address such as postgres://user@host/name",
        "lintel.yaml:3:37: backends[0].address: must be http://host:port, https://host or unix:/path",
        "backends[1].address: must be http://host:port",
        "backends[2].address: must be http://host:port",
        "backends[3].allow_hosts[0]: must be a host (cdn.example.com, *.example.com) or an origin",
      ],
    ],
    [
      "a node's password in its address, and a token on two lines",
      'backends: [{ type: node, name: a, address: "http://me:pass@h", token: "a\\nb" }]',
      [
        "backends[0].address: must carry no user and password: put them into token",
        "backends[0].token: must be a header's value on one line",
      ],
    ],
    [
      "a query that would be lost",
      `safety: { checker: { type: moderation, url: "http://h/v1?a=1" } }
backends:
  - { type: sdapi, name: a, url: "http://h/?key=a" }
  - { type: comfyui, name: b, url: "http://h/#a" }
  - { type: rest, name: c, url: "http://h?a", models: [{ id: a, task: chat }] }
`,
      [
        "safety.checker.url: must have no query and no fragment",
        "backends[0].url: must have no query and no fragment",
        "backends[1].url: must have no query and no fragment",
        "backends[2].url: must have no query and no fragment",
      ],
    ],
    [
      "a password without a user",
      'backends: [{ type: sdapi, name: a, url: "http://h", password: abc }]',
      ["lintel.yaml:1:12: backends[0].username: is required where there is a password"],
    ],
    [
      "fields that no request has",
      `backends:
  - { type: rest, name: a, url: "http://h", models: [{ id: a, task: chat, supports: [temprature] }] }
  - { type: node, name: b, address: "http://h", models: [{ id: a, task: chat, supports: [b] }] }
`,
      [
        "backends[0].models[0].supports[0]: must be a request field",
        "backends[1].models[0].supports[0]: must be a request field",
      ],
    ],
    [
      "headers of a collector that no request can have",
      'telemetry: { otlp: { headers: { "bad name": a, x-key: "a\\nb" } } }',
      [
        "telemetry.otlp.headers.bad name: must be the name of an HTTP header",
        "telemetry.otlp.headers.x-key: must be a header's value on one line",
      ],
    ],
    [
      "a day that its month has not",
      `auth: { tokens: [{ name: a, hash: "${hash}", expires: 2027-02-31 }] }`,
      ["auth.tokens[0].expires: must be a date or a time"],
    ],
    [
      "a backend's model twice",
      `backends:
  - { type: rest, name: a, url: "http://h", models: [{ id: m, task: chat }, { id: m, task: image }] }
  - { type: comfyui, name: b, url: "http://h", models: [{ name: m }, { name: m, checkpoint: c }] }
  - { type: openai, name: c, url: "http://h", models: [m, m], image_models: [m] }
`,
      [
        "lintel.yaml:2:83: backends[0].models[1].id: is the same as that of backends[0].models[0]; must be unique",
        "backends[1].models[1].name: is the same as that of backends[1].models[0]; must be unique",
        "backends[2].models[1]: is the same as backends[2].models[0]; must be unique",
      ],
    ],
    [
      "a proxy's address",
      "trust_proxy:\n  - 10.0.0.0/8\n  - proxy.local\n",
      ["lintel.yaml:3:5: trust_proxy[1]: must be an IP address or a network such as 10.0.0.0/8"],
    ],
    [
      "a kind of backend",
      "backends:\n  - name: a\n    type: opnai\n    url: http://a\n",
      [
        'lintel.yaml:3:11: backends[0].type: must be one of embedded, openai, node, llama, onnx, sdapi, comfyui, rest or ai-sdk (did you mean "openai"?)',
      ],
    ],
    [
      "no kind of backend",
      "backends:\n  - name: a\n",
      [
        "lintel.yaml:2:5: backends[0].type: is required: embedded, openai, node, llama, onnx, sdapi, comfyui, rest or ai-sdk",
      ],
    ],
    [
      "a field of a backend",
      "backends:\n  - type: openai\n    name: a\n    ulr: http://a\n",
      [
        "lintel.yaml:2:5: backends[0].url: is required: an http:// or https:// address",
        'lintel.yaml:4:5: backends[0].ulr: unknown key (did you mean "url"?)',
      ],
    ],
    [
      "a setting that another one wants",
      "media:\n  store: s3\n",
      ["lintel.yaml:1:1: media.s3: must be there where store is s3"],
    ],
    [
      "a backend's name twice",
      "backends:\n  - { type: embedded, name: a }\n  - { type: embedded, name: a }\n",
      ["lintel.yaml:3:29: backends[1].name: is the same as that of backends[0]; must be unique"],
    ],
    [
      "a model's name twice",
      "models:\n  - name: a\n  - name: a\n",
      ["lintel.yaml:3:11: models[1].name: is the same as that of models[0]; must be unique"],
    ],
    [
      "a backend that is not there",
      "backends:\n  - { type: embedded, name: local }\nmodels:\n  - name: a\n    backends: [locl]\n",
      [
        'lintel.yaml:5:16: models[0].backends[0]: there is no backend "locl" (did you mean "local"?)',
      ],
    ],
    [
      "a default model that is not there",
      "default_models: { chat: gpt }\nbackends:\n  - { type: openai, name: a, url: http://a, models: [gtp] }\n",
      ['lintel.yaml:1:25: default_models.chat: there is no model "gpt" (did you mean "gtp"?)'],
    ],
    [
      "an issuer's name twice, and a token that is called like its callers",
      `auth:\n  mode: token\n  tokens: [{ name: "corp:al", hash: "${hash}" }]\n  oidc:\n    - { name: corp, issuer: "https://a", audience: l }\n    - { name: corp, issuer: "https://b", audience: l }\n`,
      [
        'lintel.yaml:3:20: auth.tokens[0].name: begins like the callers of the issuer "corp"; must be told apart from them',
        "lintel.yaml:6:15: auth.oidc[1].name: is the same as that of auth.oidc[0]; must be unique",
      ],
    ],
    [
      "an algorithm that needs no key, and one whose key is a secret",
      `auth:\n  oidc:\n    - name: corp\n      issuer: https://a\n      audience: l\n      algorithms: [none, HS256]\n`,
      [
        "lintel.yaml:6:20: auth.oidc[0].algorithms[0]: must be one of RS256",
        'lintel.yaml:6:26: auth.oidc[0].algorithms[1]: must be one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA or Ed25519 (did you mean "RS256"?)',
      ],
    ],
    [
      "limits and times of a token",
      `auth:\n  mode: token\n  tokens:\n    - name: a\n      hash: "${hash}"\n      limits: { requests_per_minute: lots, budget: { amount: -1 } }\n      expires: soon\n`,
      [
        "lintel.yaml:6:38: auth.tokens[0].limits.requests_per_minute: must be a whole number, 0 or more, or unlimited",
        "lintel.yaml:6:62: auth.tokens[0].limits.budget.amount: must be at least 0",
        "lintel.yaml:7:16: auth.tokens[0].expires: must be a date or a time such as 2027-01-31 or 2027-01-31T18:00:00Z",
      ],
    ],
    [
      "patterns of models that nothing fits",
      `limits: { models: [{ model: "a*b*" }] }\nprices: [{ model: "**" }]\nauth: { tokens: [{ name: a, hash: "${hash}", models: ["*-mini", "*x*"] }] }\n`,
      [
        "lintel.yaml:1:29: limits.models[0].model: must have at most one *",
        "lintel.yaml:2:19: prices[0].model: must have at most one *",
        "auth.tokens[0].models[1]: must have at most one *",
      ],
    ],
    [
      "patterns for names of a backend's models",
      "backends:\n  - { type: openai, name: a, url: http://127.0.0.1:1, models: [a], image_models: [sd, flux-*] }\n  - { type: rest, name: b, url: http://127.0.0.1:1, models: [{ id: c-*, task: chat }] }\n  - { type: embedded, name: c, models: [folder/*.gguf] }\n",
      [
        "lintel.yaml:2:87: backends[0].image_models[1]: must be the name of a model; a * stands for nothing here",
        "lintel.yaml:3:68: backends[1].models[0].id: must be the name of a model; a * stands for nothing here",
        "lintel.yaml:4:41: backends[2].models[0]: must be a file, or a folder, of which all models are taken; a * stands for nothing here",
      ],
    ],
    [
      "a database that there is no driver for",
      "state: { database: mysql://a }",
      [
        "lintel.yaml:1:20: state.database: must be sqlite, or an address such as postgres://user@host/name",
      ],
    ],
    [
      "a token itself instead of its hash",
      "auth:\n  mode: token\n  tokens: [{ name: a, hash: lt_secret }]\n",
      [
        'lintel.yaml:3:29: auth.tokens[0].hash: must be "sha256:" and 64 hex digits, as "lintel tokens create --yaml" prints it',
      ],
    ],
    [
      "a token's name twice",
      `auth:\n  mode: token\n  tokens:\n    - { name: a, hash: "${hash}" }\n    - { name: a, hash: "sha256:${"cd".repeat(32)}" }\n`,
      [
        "lintel.yaml:5:15: auth.tokens[1].name: is the same as that of auth.tokens[0]; must be unique",
      ],
    ],
    [
      "half of TLS",
      "tls:\n  cert: /dev/null\n",
      [
        "lintel.yaml:1:1: tls.key: is required",
        "lintel.yaml:2:9: tls.cert: the file /dev/null holds no certificate in PEM",
      ],
    ],
    [
      "certificates that are none, and a key of another one",
      `tls: { cert: ${pem("renewed-cert")}, key: ${pem("key")} }
state: { redis: { url: "rediss://a", tls: { ca: /dev/null, cert: ${pem("key")}, key: ${pem("cert")} } } }
`,
      [
        `tls.key: the key in ${pem("key")} is not the one of the certificate in ${pem("renewed-cert")}`,
        "state.redis.tls.ca: the file /dev/null holds no certificate in PEM",
        `state.redis.tls.cert: the file ${pem("key")} holds no certificate in PEM`,
        `state.redis.tls.key: the file ${pem("cert")} holds no private key in PEM, or one with a passphrase`,
      ],
    ],
    [
      "a certificate whose key is too small for any version of Node",
      `tls: { cert: ${pem("small-cert")}, key: ${pem("small-key")} }\n`,
      [`tls.cert: the file ${pem("small-cert")} is refused by OpenSSL (ee key too small)`],
    ],
    [
      "files of TLS that are not there",
      "tls:\n  cert: no.pem\n  key: no.key\n",
      [
        "lintel.yaml:2:9: tls.cert: the file no.pem does not exist",
        "lintel.yaml:3:8: tls.key: the file no.key does not exist",
      ],
    ],
    [
      "a least number of prompts",
      "bounds:\n  prompts: { min: 2 }\n",
      ["lintel.yaml:2:14: bounds.prompts.min: unknown key; known: max"],
    ],
    [
      "bounds that cross",
      "bounds:\n  width: { min: 512, max: 64 }\n",
      ["lintel.yaml:2:10: bounds.width: min 512 must not be greater than max 64"],
    ],
    [
      "a key that is none",
      "__proto__:\n  a: 1\n",
      ["lintel.yaml:1:1: __proto__: unknown key; known: "],
    ],
  ])("%s", (_what, text, expected) => {
    const found = mistakes(text);
    expect(found).toHaveLength(expected.length);
    for (const [i, line] of expected.entries()) expect(found[i]).toContain(line);
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
