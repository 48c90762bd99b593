/** Which proxy a target is reached through. */
import { describe, expect, it } from "vitest";
import { Proxies, proxyProblems } from "../../src/backends/http/proxy.js";

const both = { HTTP_PROXY: "http://plain.test:3128", HTTPS_PROXY: "http://secure.test:3129" };

describe("a proxy", () => {
  it("is for targets of its scheme", () => {
    const proxies = new Proxies(both);
    expect(proxies.for("https://api.example/v1")).toMatchObject({
      hostname: "secure.test",
      port: 3129,
      variable: "HTTPS_PROXY",
    });
    expect(proxies.for("http://api.example/v1")).toMatchObject({ hostname: "plain.test" });
    expect(new Proxies({ HTTP_PROXY: both.HTTP_PROXY }).for("https://api.example")).toBeUndefined();
    expect(new Proxies({}).any).toBe(false);
  });

  it("is that of the name in lower case, unless it is empty", () => {
    const { HTTPS_PROXY } = both;
    const lower = new Proxies({ HTTPS_PROXY, https_proxy: "https://[fd00::1]" });
    expect(lower.for("https://api.example")).toMatchObject({
      variable: "https_proxy",
      protocol: "https:",
      hostname: "fd00::1",
      port: 443,
    });
    const empty = new Proxies({ HTTPS_PROXY, https_proxy: "" });
    expect(empty.for("https://api.example")).toMatchObject({ variable: "HTTPS_PROXY" });
    expect(new Proxies({ HTTPS_PROXY: " ", https_proxy: "" }).any).toBe(false);
    const noProxy = { NO_PROXY: "api.example", no_proxy: "other.example" };
    expect(new Proxies({ ...both, ...noProxy }).for("https://api.example")).toBeDefined();
  });

  it.each([
    ["http://a.test", undefined],
    ["http://user@a.test", "user:"],
    ["http://user:p%40ss@a.test", "user:p@ss"],
    ["http://user:100%@a.test", "user:100%"],
  ])("knows its user: %s", (HTTPS_PROXY, credentials) => {
    const proxy = new Proxies({ HTTPS_PROXY }).for("https://api.example");
    expect(proxy?.origin).toBe("http://a.test");
    expect(proxy?.authorization).toBe(credentials && `Basic ${btoa(credentials)}`);
  });

  it("is never for this machine", () => {
    const proxies = new Proxies(both);
    for (const host of [
      "localhost",
      "LOCALHOST.",
      "a.localhost",
      "127.0.0.1",
      "127.9.9.9",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "0.0.0.0",
      "[::]",
    ]) {
      expect(proxies.for(`http://${host}:8080/v1`), host).toBeUndefined();
    }
    expect(proxies.for("http://localhost.example")).toBeDefined();
    expect(proxies.for("http://128.0.0.1")).toBeDefined();
  });
});

describe("NO_PROXY", () => {
  it.each<[string, string[], string[]]>([
    ["*", ["https://a.example", "http://10.0.0.1"], []],
    [
      "a.example",
      ["https://a.example", "https://A.Example.", "https://x.a.example:8443"],
      ["https://xa.example", "https://a.example.net"],
    ],
    [".a.example", ["https://x.a.example", "https://a.example"], ["https://xa.example"]],
    ["*.a.example", ["https://x.a.example"], ["https://xa.example"]],
    ["a.example:8443", ["https://a.example:8443"], ["https://a.example", "http://a.example"]],
    ["a.example:443", ["https://a.example"], ["http://a.example"]],
    ["b.example, 10.1.2.3 ,", ["http://10.1.2.3:9"], ["http://10.1.2.4", "https://c.example"]],
    ["10.1.2.3:80", ["http://10.1.2.3"], ["http://10.1.2.3:81"]],
    ["10.0.0.0/8", ["http://10.255.0.1", "http://[::ffff:10.0.0.1]"], ["http://11.0.0.1"]],
    ["fd00::/8", ["http://[fd12::9]:8000"], ["http://[fe80::1]", "http://10.0.0.1"]],
    ["fd00::1", ["http://[fd00:0::1]"], ["http://[fd00::2]"]],
    ["[fd00::1]:8000", ["http://[fd00::1]:8000"], ["http://[fd00::1]"]],
    ["10.0.0.0/99,nonsense/8,:80,.", [], ["http://10.0.0.1", "http://nonsense"]],
    ["", [], ["https://a.example"]],
  ])("%s", (NO_PROXY, direct, proxied) => {
    const proxies = new Proxies({ ...both, NO_PROXY });
    for (const url of direct) expect(proxies.for(url), url).toBeUndefined();
    for (const url of proxied) expect(proxies.for(url), url).toBeDefined();
  });
});

it.each([
  "proxy.test:3128",
  "socks5://u:hunter22@proxy.test",
  "http://",
  "http:///x",
  "http://u:hunter22@",
  "nonsense",
])("a value that names no proxy is told of, and not itself: %s", (value) => {
  const problems = proxyProblems({ HTTPS_PROXY: value, http_proxy: "http://fine.test" });
  expect(problems).toEqual([
    { field: "HTTPS_PROXY", message: expect.stringMatching(/^must be .*http:\/\/proxy\.example/) },
  ]);
  expect(JSON.stringify(problems)).not.toContain("hunter22");
});
