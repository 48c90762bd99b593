/** nginx as a proxy, one worker: what is possible without looking at anything. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { found, gatewayCore, pinned, versionOf } from "../cores.js";
import type { Contestant } from "./contestant.js";

const binary = found("nginx");

export const nginx: Contestant = {
  name: "nginx",
  about: binary ? `${versionOf(binary, "-v")}, proxy_pass, one worker, no log` : "",
  missing: binary ? undefined : "no nginx on the PATH (apt-get install nginx-light)",
  token: "any",
  headers: {},
  images: true,
  start(port, upstream, folder) {
    const file = join(folder, "nginx.conf");
    writeFileSync(
      file,
      `daemon off; master_process off; worker_processes 1;
pid ${folder}/nginx.pid; error_log /dev/null;
events { worker_connections 8192; }
http {
  access_log off; keepalive_requests 100000000; client_body_temp_path ${folder}/body; client_body_buffer_size 1m;
  proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u;
  scgi_temp_path ${folder}/s;
  upstream model { server 127.0.0.1:${upstream}; keepalive 2048; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / { proxy_pass http://model; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; }
  }
}
`,
    );
    return pinned(gatewayCore, binary ?? "nginx", ["-p", folder, "-c", file]);
  },
};
