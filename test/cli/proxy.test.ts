/** A process in whose environment a proxy stands. */
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { echo } from "../backends/ai-sdk-subject.js";
import { serve } from "../backends/serve.js";
import { TestProxy } from "../support/proxy.js";
import { build, folder, run, start } from "./lintel.js";

beforeAll(build);

test.each([["check"], ["serve"]])(
  "%s says what names no proxy, without its password",
  async (command) => {
    const env = { https_proxy: "socks5://me:hunter22@proxy.test:1080", HTTP_PROXY: "" };
    const { code, stdout, stderr } = await run([command], folder(), env);
    expect(code).toBe(1);
    expect(`${stdout}${stderr}`).toMatch(
      /^environment: https_proxy: must be the address of a proxy with http: or https:, such as .*$/m,
    );
    expect(`${stdout}${stderr}`).not.toContain("hunter22");
  },
);

test("backends of each kind ask through the proxy, but for those of NO_PROXY", async () => {
  const proxy = await TestProxy.start();
  const openai = await serve((exchange) =>
    exchange.sendJson(200, { object: "list", data: [{ id: "o" }] }),
  );
  const vendor = await serve(echo);
  const portOf = (url: string) => new URL(url).port;
  const config = `listen: 127.0.0.1:0
auth: { mode: none }
backends:
  - { name: o, type: openai, url: "http://openai.test:${portOf(openai.url)}/v1" }
  - { name: d, type: openai, url: "http://direct.invalid:9/v1" }
  - name: a
    type: ai-sdk
    package: "@ai-sdk/anthropic"
    options: { apiKey: key, baseURL: "http://vendor.test:${portOf(vendor.url)}/v1" }
    models: [{ id: claude }]
`;
  const lintel = start(["serve"], folder({ "lintel.yaml": config }), {
    HTTP_PROXY: `http://me:hunter22@127.0.0.1:${proxy.port}`,
    no_proxy: ".invalid",
  });
  onTestFinished(async () => {
    lintel.kill("SIGKILL");
    await lintel.ended;
  });
  const [url] = await lintel.until(/http:\/\/127\.0\.0\.1:\d+/);
  const ask = async () => {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "claude", messages: [{ role: "user", content: "hello" }] }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  expect(await ask()).toMatchObject({
    status: 200,
    text: expect.stringContaining("you said hello"),
  });
  const asked = proxy.asked.map(({ what }) => what);
  expect(asked).toContain(`GET http://openai.test:${portOf(openai.url)}/v1/models`);
  expect(asked).toContain(`POST http://vendor.test:${portOf(vendor.url)}/v1/messages`);
  expect(asked.join()).not.toContain("direct.invalid");

  proxy.mood = 407;
  const { status, text } = await ask();
  expect(status).toBe(502);
  expect(text).toContain("upstream_unreachable");
  expect(text).not.toMatch(/proxy|407/);
  await lintel.saying(/the proxy 127\.0\.0\.1:\d+ \(HTTP_PROXY\) answered with status 407/);
  expect(lintel.stderr).not.toMatch(/hunter22|bWU6/);
});
