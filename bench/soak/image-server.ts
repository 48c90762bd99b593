/**
 * A scripted ComfyUI, or server of the Stable Diffusion web API, in a process of its own: it gets stuck, fails and hangs
 * up now and then. Arguments: the port (0: a free one) and `comfyui` or `sdapi`; says the port to its parent.
 */
import { Comfy } from "../../test/backends/comfyui-server.js";
import { Webui } from "../../test/backends/sdapi-server.js";

const [port = "0", kind = "comfyui"] = process.argv.slice(2);
/** Without it a script of many hours would hold all that was ever asked. */
const most = 100;
let turns = 0;

async function comfyui(): Promise<string> {
  const comfy = await Comfy.start(Number(port));
  setInterval(() => {
    turns++;
    if (turns % 3 === 0) comfy.stuck = "middle";
    if (turns % 5 === 0) comfy.hangUp();
    if (turns % 7 === 0)
      comfy.next.push({ path: "/prompt", play: (it) => it.writeHead(500).end() });
    if (turns % 4 === 0) comfy.halt();
    for (const list of [comfy.requests, comfy.submitted]) list.splice(0, list.length - most);
  }, 1000);
  return comfy.url;
}

async function sdapi(): Promise<string> {
  const webui = await Webui.start("a1111", Number(port));
  webui.upstream.route("/running", (exchange) =>
    exchange.sendJson(200, { running: webui.working }),
  );
  setInterval(() => {
    turns++;
    if (turns % 5 === 0) webui.stuck = 2;
    if (turns % 7 === 0) webui.next.push((exchange) => exchange.sendJson(500, {}));
    if (turns % 11 === 0) webui.next.push((exchange) => exchange.destroy());
    // What nobody looks at any more, as of a gateway that was killed, gets done, too.
    if (turns % 3 === 0) webui.finish();
    webui.upstream.requests.splice(0, webui.upstream.requests.length - most);
  }, 1000);
  return webui.upstream.url;
}

process.on("disconnect", () => process.exit());
const url = await (kind === "sdapi" ? sdapi() : comfyui());
process.send?.({ port: Number(new URL(url).port) });
