// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the file says
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { folder } from "./folder.js";
import { mistakes, valid } from "./text.js";

describe("the environment", () => {
  test("puts variables in, everywhere in a text", () => {
    const env = { HOST_NAME: "10.0.0.1", P: "9", EMPTY: "" };
    expect(valid("listen: ${HOST_NAME}:${P}9", env).listen).toEqual([
      { host: "10.0.0.1", port: 99 },
    ]);
    const config = valid('models: [{ name: "a${EMPTY}-${EMPTY:-b}-${NO:-c}-$${X}" }]', env);
    expect(config.models[0]?.name).toBe("a-b-c-${X}");
  });

  test("numbers and switches come out as such, and texts of digits as texts", () => {
    const env = { STEPS: "20", PROXY: "true", TOP: "false", KEY: "12345" };
    const config = valid(
      `trust_proxy: \${PROXY}
models:
  - name: \${KEY}
    defaults:
      num_inference_steps: \${STEPS}
media:
  ttl: \${TTL:-5000}
telemetry:
  top: \${TOP}
`,
      env,
    );
    expect([config.trust_proxy, config.telemetry.top]).toEqual([true, false]);
    expect(config.models[0]).toMatchObject({
      name: "12345",
      defaults: { num_inference_steps: 20 },
    });
    expect(config.media.ttl).toBe(5000);
  });

  test("a variable may have one of YAML's own tags", () => {
    const { routing } = valid("routing:\n  retry:\n    attempts: !!int ${N}\n", { N: "3" });
    expect(routing.retry.attempts).toBe(3);
  });

  test.each(["", "1e3", "0x10", " 5"])("%j is no number", (N) => {
    expect(mistakes("routing:\n  retry:\n    attempts: ${N}\n", { N })).toEqual([
      expect.stringContaining("routing.retry.attempts: must be"),
    ]);
  });

  test("a variable can't bring structure", () => {
    expect(valid("models:\n  - name: ${N}\n", { N: "a\n    max_tokens: 1" }).models).toEqual([
      { name: "a\n    max_tokens: 1", unsupported: "default" },
    ]);
  });

  test("comes through aliases, too", () => {
    const text = `routing: { queue: { size: &n "\${N}" }, retry: { attempts: *n } }
models:
  - { name: a, defaults: &d { num_inference_steps: "\${N}" } }
  - { name: b, defaults: *d }
`;
    const { routing, models } = valid(text, { N: "3" });
    expect([routing.queue.size, routing.retry.attempts]).toEqual([3, 3]);
    expect(models.map(({ defaults }) => defaults)).toEqual([
      { num_inference_steps: 3 },
      { num_inference_steps: 3 },
    ]);
    const literal = valid('models: [{ name: &n "$$${a}" }, { name: b, model: *n }]', { a: "x" });
    expect(literal.models).toMatchObject([{ name: "$${a}" }, { model: "$${a}" }]);
  });

  test("comes through merged mappings, whose own values go first", () => {
    const text = `models:
  - &a { name: a, max_tokens: "\${N}", targets: [{ backend: x, model: "\${M}$\${M}" }] }
  - &b { <<: *a, name: b, unsupported: reject }
  - { <<: [*b, *a], name: c, max_tokens: 5 }
  - { <<: { unsupported: ignore, max_tokens: "\${N}" }, name: d }
backends: [{ type: openai, name: x, url: "http://127.0.0.1:1" }]
`;
    const target = { backend: "x", model: "m${M}" };
    expect(valid(text, { N: "3", M: "m" }).models).toMatchObject([
      { name: "a", max_tokens: 3, targets: [target] },
      { name: "b", max_tokens: 3, unsupported: "reject", targets: [target] },
      { name: "c", max_tokens: 5, unsupported: "reject", targets: [target] },
      { name: "d", max_tokens: 3, unsupported: "ignore" },
    ]);
    const wrong = `models:
  - &a { name: a,
         max_tokens: 0 }
  - { <<: *a, name: b }
  - { <<: 5, name: c }
`;
    expect(mistakes(wrong.replace(/ {2}- . <<: 5.*\n/, ""))).toEqual([
      "lintel.yaml:3:22: models[0].max_tokens: must be at least 1",
      "lintel.yaml:3:22: models[1].max_tokens: must be at least 1",
    ]);
    const merge = "<< must be another mapping that has a name above, or a list of such: <<: *name";
    expect(mistakes(wrong)).toEqual([`lintel.yaml:5:7: ${merge}`]);
    for (const from of ["*a", "*none", "[*a]", "{ <<: *a }"]) {
      const text = `models: [&a { <<: ${from}, name: a }]\n`;
      expect(mistakes(text)).toEqual([expect.stringContaining(merge)]);
    }
  });

  test("a variable that is not set is one mistake, with its line", () => {
    expect(mistakes("media:\n  ttl: ${TTL}\n")).toEqual([
      "lintel.yaml:2:8: media.ttl: the environment variable TTL is not set; ${TTL:-default} gives a default",
    ]);
  });

  test("what is no reference is said", () => {
    expect(mistakes('public_url: "${1x}"\nlisten: "${A"\n', { A: "x" })).toEqual([
      "lintel.yaml:1:13: public_url: must be ${NAME}, ${NAME:-default} or ${file:PATH}; write $${ for a literal ${",
      "lintel.yaml:2:9: listen: must be ${NAME}, ${NAME:-default} or ${file:PATH}; write $${ for a literal ${",
    ]);
  });

  test("a default that has a variable in it is none, whether or not it is wanted", () => {
    const wrong = "media.ttl: a default is text only: it can't have another ${ in it";
    for (const env of [
      { A: "1h", B: "2h" },
      { A: "", B: "2h" },
    ]) {
      for (const text of ["${A:-${B}}", "${A:-$${B}}", "${A:-${B:-3h}}"]) {
        expect(mistakes(`media:\n  ttl: ${text}\n`, env)).toEqual([`lintel.yaml:2:8: ${wrong}`]);
      }
    }
  });

  test("a variable that is written LiteLLM's way is one, with what to write", () => {
    const text = `backends:
  - { type: openai, name: a, url: "http://127.0.0.1:1", api_key: os.environ/A_KEY }
`;
    expect(mistakes(text, { A_KEY: "x" })).toEqual([
      "lintel.yaml:2:66: backends[0].api_key: an environment variable is ${A_KEY} here",
    ]);
  });

  test("a tag of another program's files is no text, with what to write", () => {
    const text = `backends:
  - { type: openai, name: a, url: "http://127.0.0.1:1", api_key: !env A_KEY }
models: !include models.yaml
`;
    const means = "means nothing here; an environment variable is ${NAME}";
    expect(mistakes(text, { A_KEY: "x" })).toEqual([
      `lintel.yaml:2:66: the tag !env ${means}`,
      `lintel.yaml:3:9: the tag !include ${means}`,
    ]);
    expect(valid("models: !!seq [{ name: !!str 5, max_tokens: !!int 7 }]").models).toMatchObject([
      { name: "5", max_tokens: 7 },
    ]);
  });

  test("inside of brackets the mistake in the syntax says to quote", () => {
    expect(mistakes("media: { ttl: ${TTL} }\n", { TTL: "1h" })[0]).toContain('quote "${NAME}"');
    expect(valid('media: { ttl: "${TTL}" }\n', { TTL: "1h" }).media.ttl).toBe(3_600_000);
  });
});

describe("files", () => {
  test("stand in a text in their place, without the end of their last line", () => {
    const at = folder({ key: "sk-1\n", url: "\uFEFFhttp://a\r\n", password: " p w " });
    const text = `backends:
  - { type: openai, name: a, url: "\${file:url}/v1", api_key: "\${file:${at}/key}" }
  - { type: sdapi, name: b, url: http://b, username: u, password: "\${file:password}" }
  - { type: openai, name: c, url: http://c, headers: { authorization: "Bearer \${file:key} \${NO:-x}" } }
`;
    expect(valid(text, {}, at).backends).toMatchObject([
      { url: "http://a/v1", api_key: "sk-1" },
      { password: " p w " },
      { headers: { authorization: "Bearer sk-1 x" } },
    ]);
  });

  test("that have nothing to say are mistakes, which show nothing of them", () => {
    const at = folder({ empty: "\n", large: "x".repeat(65_537) });
    writeFileSync(join(at, "strange"), Buffer.from([0xff, 0xfe]));
    const said = (name: string) => mistakes(`public_url: "\${file:${at}/${name}}"\n`);
    const place = (name: string) => `lintel.yaml:1:13: public_url: the file ${at}/${name} `;
    expect(said("none")).toEqual([`${place("none")}is not there`]);
    expect(said("empty")).toEqual([`${place("empty")}is empty`]);
    expect(said("large")).toEqual([`${place("large")}is larger than 64 KiB`]);
    expect(said("strange")).toEqual([`${place("strange")}is no text in UTF-8`]);
    expect(said("")).toEqual([`${place("")}can't be read: EISDIR`]);
  });

  test("are none where a variable has that name", () => {
    const models = (env: Record<string, string>) =>
      valid('models: [{ name: "${file:-a}" }]', env).models.map(({ name }) => name);
    expect([models({ file: "b" }), models({})]).toEqual([["b"], ["a"]]);
  });
});
