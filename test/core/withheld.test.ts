/** What callers are told of a model server's own words. */
import { expect, it } from "vitest";
import { fromUpstreamStatus } from "../../src/backends/http/status.js";
import { configSchema } from "../../src/config/schema.js";
import { keepSecretsOf, secretsOf } from "../../src/config/secrets.js";
import { keepSecret, withoutSecrets } from "../../src/core/secrets.js";
import { withoutAddresses } from "../../src/core/withheld.js";

const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P";

it.each([
  ["can't open /srv/models/llama/model.gguf now", "can't open [path] now"],
  ['no file "/home/me/.cache/x.bin"', 'no file "[path]"'],
  ["path=/mnt/data/a,b", "path=[path],b"],
  ["~/models/llama.gguf is gone", "[path] is gone"],
  ["see file:///srv/models/a", "see [address]"],
  ["C:\\Users\\me\\model.gguf is gone", "[path] is gone"],
  ["D:/models/model.gguf is gone", "[path] is gone"],
  ["at gpu-3.internal:8000, sorry", "at [address], sorry"],
  ["vllm-0.vllm.default.svc.cluster.local is not ready.", "[address] is not ready."],
  [
    "gpu-3.eu-1.compute.internal, gpu.lan: refused by nas.home.arpa.",
    "[address], [address]: refused by [address].",
  ],
  ["can't connect to vllm:8000", "can't connect to [address]"],
  ["from 10.0.0.1:8000 and localhost:80", "from [address] and [address]"],
  ["dial fe80::1%eth0 failed", "dial [address] failed"],
  ["dial 2001:db8::8a2e:370:7334: refused", "dial [address]: refused"],
  ["dial ::1 and [::1]:80", "dial [address] and [address]"],
  [`token ${jwt} expired`, "token [key] expired"],
  [`token ${jwt.slice(0, 30)}`, "token [key]"],
  ["hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345 may not", "[key] may not"],
  ["key AKIAIOSFODNN7EXAMPLE is unknown", "key [key] is unknown"],
  ["Authorization: Basic dXNlcjpwYXNzd29yZA== sent", "Authorization: [key] sent"],
  ["Authorization: Bearer abc.def sent", "Authorization: [key] sent"],
  ["sk-abcdefgh is wrong", "[key] is wrong"],
  ["see https://docs.example.com/a/b#c", "see [address]"],
  ["at postgres://me:secret@db/models, sorry", "at [address] sorry"],
  ["getaddrinfo ENOTFOUND gpu-3.internal", "getaddrinfo ENOTFOUND [address]"],
  ["no gsk_AbCdEfGhIjKlMn0pQrSt, no AIzaSyA-1234567890abcdefghij", "no [key], no [key]"],
  [
    'failed\nTraceback (most recent call last):\n  File "a.py", line 3, in f\n    raise E("b")\nE: b',
    "failed\nE: b",
  ],
  ["E: b\n    at f (a.js:3:4)\n    at async g (node:b:1:1)", "E: b"],
  ["java.E: b\n\tat c.D.e(D.java:5)\n\tat c.F.g(F.java:6)\nand more", "java.E: b\nand more"],
])("takes out what nobody needs: %s", (said, told) => {
  expect(withoutAddresses(said)).toBe(told);
});

it.each([
  "and/or, 1/2, temperature/top_p, n/a, km/h, w/o",
  "2026-01-15T12:30:45Z, 12:30, 12:30:45, 2026/01/15, 01/15/2026",
  "the model meta-llama/Llama-3 and llama3.2:1b, qwen2.5:72b, mixtral:8x22b",
  "messages[1].content must be a string; messages.0.content, tools[0].function.name",
  "POST /v1/chat/completions, /api/generate and /messages/0/content",
  "max_tokens:4096 is above tokens:2048, line:1234, error:400, at line:1234",
  "std::vector, a::b, a ratio of 3:1, 16:9, key: value, I/O, //",
  "local, internal, a.local_file, server.internal.code, model.lan-1, internal.error, me@box.local",
  "basic authentication is required, Basic Authorization, Basic and/or digest",
  "</think>/<think>, <|im_end|>, /^[a-z]+$/",
  "hf_transfer, hf_hub_download, eyJ, AKIA, AIza, xai-sdk-of-some-kind",
  "look\nat this, or\n  attend to it; a Traceback (most recent call last): none; me@example.com",
])("leaves words alone: %s", (said) => {
  expect(withoutAddresses(said)).toBe(said);
});

it.each([
  ["of a field", { api_key: "plainwords" }, "no plainwords", "no [key]"],
  [
    "of a provider's options",
    { secretAccessKey: "Qaccesskey", privateKey: "Qprivatekey" },
    "Qaccesskey, Qprivatekey",
    "[key], [key]",
  ],
  [
    "with signs of expressions",
    { api_key: "Qa+b(c)|d.e$" },
    "Qa+b(c)|d.e$, not Qaab(c)",
    "[key], not Qaab(c)",
  ],
  ["with signs of which no expression can be made", { token: "Qz[a(b*+?" }, "Qz[a(b*+?", "[key]"],
  [
    "that stands in JSON",
    { password: 'Qw"er\\ty' },
    JSON.stringify({ said: 'no Qw"er\\ty' }),
    '{"said":"no [key]"}',
  ],
  [
    "that begins like another",
    { api_key: "Qbegins1", token: "Qbegins1-and-more" },
    "Qbegins1-and-more or Qbegins1",
    "[key] or [key]",
  ],
  [
    "of a header, without its scheme",
    { headers: { "x-auth": "Token Qheader-9" } },
    "Qheader-9, Token Qheader-9",
    "[key], [key]",
  ],
  [
    "of an address, as it stands there and as it is meant",
    { database: "postgres://user:Qp%40ss%3Aword@host/name" },
    "Qp%40ss%3Aword is Qp@ss:word",
    "[key] is [key]",
  ],
])("takes out a key %s", (_, config, said, told) => {
  keepSecret(secretsOf(config));
  expect(withoutSecrets(said)).toBe(told);
});

it.each([
  ["FAL_KEY", "Qfal-0123456789ab"],
  ["ANTHROPIC_API_KEY", "Qanthropic-0123456789"],
  ["AWS_BEARER_TOKEN_BEDROCK", "Qbedrock-0123456789"],
  ["REPLICATE_API_TOKEN", "Qreplicate-0123456789"],
])("takes out the value of %s, where a provider looks for its key", (name, value) => {
  keepSecretsOf(configSchema.parse({}), { [name]: value });
  expect(withoutSecrets(`${name} is ${value}`)).toBe(`${name} is [key]`);
});

it("leaves what other variables have, places of keys, and short words", () => {
  keepSecretsOf(configSchema.parse({}), {
    MONKEY: "Qmonkey-0123456789",
    CACHE_KEY: "Qproduction",
    PATH: "/usr/local/bin:/usr/bin",
    TLS_KEY_FILE: "Qkeys/of/the/server.pem",
    OIDC_TOKEN_URL: "Qids.example.com/token",
  });
  const text =
    "Qmonkey-0123456789, Qproduction, /usr/local/bin:/usr/bin, Qkeys/of/the/server.pem, Qids.example.com/token";
  expect(withoutSecrets(text)).toBe(text);
});

it("looks at the beginning of a long text, and tells less of it", () => {
  const { message } = fromUpstreamStatus(400, `no ${"/srv/a ".repeat(100_000)}`);
  expect(message).toMatch(/^the model server refused the request: no \[path\] \[path\]/);
  expect(message).not.toContain("srv");
  expect(message.length).toBeLessThan(600);
});

it.each([
  "/",
  "a.",
  "a-",
  ":",
  "0:",
  "a/",
  "/a",
  "eyJ",
  "Basic a",
  "hf_a",
  "~/",
  "a:8",
  "[",
  "to ",
  "\n ",
  "\n at ",
  "Traceback (most recent call last):\n ",
  "a://a",
])("takes the same words for any number of %j", (piece) => {
  const many = withoutAddresses(piece.repeat(1_000_000));
  expect(many.length).toBeLessThanOrEqual(500);
});
