/** Calls that go to a node, another gateway, ComfyUI and the Stable Diffusion web API. */
import { randomUUID } from "node:crypto";
import { type Ask, type Asking, mishaps, oneOf, turn, words } from "./asking.js";

/** Calls of one client; as often as one stands here, so often it comes. */
export function further(asking: Asking): readonly (readonly [string, Ask])[] {
  const { post, chat, leaving, grpc, hello, keyed, picture, image, streamed } = asking;
  const to = (model: string, more: object = {}) => chat({ model, ...more });
  const mishap = () => to("far", { messages: turn(`${words()} do:${oneOf(...mishaps)}`) });
  const slow = (model: string) => streamed(to(model, { messages: turn(`do:slow ${words()}`) }));
  return [
    ["node", post("/llm", () => to("on-node"))],
    ["node, SSE", post("/llm", () => streamed(to("on-node")))],
    ["node, gRPC", grpc(hello, false, "on-node")],
    ["node, left", leaving("/llm", () => slow("on-node"), "first")],
    ["node, key", post("/llm", () => streamed(to("on-node")), keyed)],
    ["rest", post("/llm", () => to("on-rest"))],
    ["rest, SSE", post("/v1/chat/completions", () => streamed(to("on-rest")))],
    ["rest, left", leaving("/llm", () => slow("on-rest"), "within")],
    ["far, either", post("/llm", () => ({ ...to("far"), stream: oneOf(true, false) }))],
    ["far, mishap", post("/llm", () => ({ ...mishap(), stream: oneOf(true, false) }))],
    [
      "far, deadline",
      post(
        "/llm",
        () => slow("far"),
        () => ({ "x-request-timeout-ms": "80" }),
      ),
    ],
    ["comfyui", picture("comfyui")],
    ["comfyui, SSE", post("/text-to-image", () => ({ ...image("comfyui"), stream: true }))],
    ["comfyui, left", leaving("/text-to-image", () => image("comfyui"), "before")],
    ["sdapi", picture("sdapi")],
    ["sdapi, SSE", post("/text-to-image", () => ({ ...image("sdapi"), stream: true }))],
    ["sdapi, left", leaving("/text-to-image", () => image("sdapi"), "before")],
    ["image, far", picture("far-image")],
    ["image, any", picture("drawn")],
    [
      "image, key",
      post(
        "/text-to-image",
        () => image("drawn"),
        () => ({ "idempotency-key": randomUUID() }),
      ),
    ],
  ];
}
