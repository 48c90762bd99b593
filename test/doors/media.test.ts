import { describe, expect, test } from "vitest";
import { paints, png, scripted } from "../support/scripted.js";
import { json, serve } from "./serve.js";

describe("decisions 2: stored images", () => {
  async function generated() {
    const server = await serve(scripted({ streamTextToImage: paints() }));
    const answer = await server.post("/text-to-image", { prompt: "a cat", seed: 7 });
    const { pathname } = new URL((await json(answer)).images[0].url);
    return { server, pathname };
  }

  test("are fetched without a token, with the headers that browsers need", async () => {
    const { server, pathname } = await generated();
    const response = await fetch(server.url + pathname);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "image/png",
      "x-content-type-options": "nosniff",
      "access-control-allow-origin": "*",
      "cache-control": "private, max-age=86400, immutable",
      "x-request-id": expect.any(String),
    });
    expect(Buffer.from(await response.arrayBuffer())).toEqual(png(7));
  });

  test("HEAD has the same headers and no body", async () => {
    const { server, pathname } = await generated();
    const response = await fetch(server.url + pathname, { method: "HEAD" });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-length")).toBe(String(png(7).length));
    expect(await response.text()).toBe("");
  });

  test.each([
    "/media/00000000000000000000000000000099.png",
    "/media/x.png",
    "/media/..%2f..%2fetc%2fpasswd",
    "/media/%2e%2e",
    "/media/0000000000000000000000000000000%00.png",
    "/media/.hidden-name-that-is-long-enough",
    "/media/",
  ])("%s is a 404 in JSON", async (path) => {
    const { server } = await generated();
    const response = await fetch(server.url + path);
    expect(response.status).toBe(404);
    expect((await json(response)).error.code).toBe("not_found");
  });

  test("names that no store makes do not reach it", async () => {
    const asked: string[] = [];
    const store = {
      put: async () => "",
      get: async (name: string) => {
        asked.push(name);
        return undefined;
      },
      url: () => "",
      delete: async () => {},
      close: async () => {},
    };
    const server = await serve(scripted({}), { parts: { media: store } });
    const good = "00000000000000000000000000000001.png";
    const bad = [
      "..%2f..%2fetc%2fpasswd",
      ".hidden-name-that-is-long-enough",
      `${good}%00`,
      "short",
    ];
    for (const name of [...bad, good]) await fetch(`${server.url}/media/${name}`);
    expect(asked).toEqual([good]);
  });

  test("a store that fails is a 500 that tells nothing", async () => {
    const broken = {
      put: async () => "",
      get: () => Promise.reject(new Error("EIO /secret/path")),
      url: () => "",
      delete: async () => {},
      close: async () => {},
    };
    const server = await serve(scripted({}), { parts: { media: broken } });
    const response = await fetch(`${server.url}/media/00000000000000000000000000000001.png`);
    expect(response.status).toBe(500);
    expect(await response.text()).not.toMatch("secret");
  });
});
