/** Mistakes in what the server itself is told: addresses, TLS, where it keeps things. */
import { fileURLToPath } from "node:url";
import { describe, test } from "vitest";
import { expectMistakes, type Mistake } from "./text.js";

const pem = (name: string) =>
  fileURLToPath(new URL(`../fixtures/tls/${name}.pem`, import.meta.url));

describe("mistakes in the server's settings", () => {
  test.each<Mistake>([
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
      "zones that there are not",
      "time_zone: Europe/Berln\n",
      [
        'lintel.yaml:1:12: time_zone: must be a time zone of IANA\'s list such as UTC or Europe/Berlin (did you mean "Europe/Berlin"?)',
      ],
    ],
    [
      "hours ahead in place of a zone",
      'time_zone: "+02:00"\n',
      [
        "lintel.yaml:1:12: time_zone: must be a time zone of IANA's list such as UTC or Europe/Berlin",
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
      "headers of a collector that no request can have",
      'telemetry: { otlp: { headers: { "bad name": a, x-key: "a\\nb" } } }',
      [
        "telemetry.otlp.headers.bad name: must be the name of an HTTP header",
        "telemetry.otlp.headers.x-key: must be a header's value on one line",
      ],
    ],
    [
      "a proxy's address",
      "trust_proxy:\n  - 10.0.0.0/8\n  - proxy.local\n",
      ["lintel.yaml:3:5: trust_proxy[1]: must be an IP address or a network such as 10.0.0.0/8"],
    ],
    [
      "a setting that another one wants",
      "media:\n  store: s3\n",
      ["lintel.yaml:1:1: media.s3: must be there where store is s3"],
    ],
    [
      "half a key of a bucket, and no address for its public",
      "media:\n  store: s3\n  s3: { bucket: b, access_key_id: a, address: public }\n",
      [
        "lintel.yaml:3:3: media.s3.secret_access_key: must be there exactly where access_key_id is",
        "lintel.yaml:3:3: media.s3.public_url: must be there exactly where address is public",
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
cache: { ttl: 1h, redis: { url: "rediss://a", tls: { ca: /dev/null } } }
`,
      [
        `tls.key: the key in ${pem("key")} is not the one of the certificate in ${pem("renewed-cert")}`,
        "state.redis.tls.ca: the file /dev/null holds no certificate in PEM",
        `state.redis.tls.cert: the file ${pem("key")} holds no certificate in PEM`,
        `state.redis.tls.key: the file ${pem("cert")} holds no private key in PEM, or one with a passphrase`,
        "cache.redis.tls.ca: the file /dev/null holds no certificate in PEM",
      ],
    ],
    [
      "authorities of clients that are none",
      `tls: { cert: ${pem("cert")}, key: ${pem("key")}, client_ca: /dev/null }\n`,
      ["tls.client_ca: the file /dev/null holds no certificate in PEM"],
    ],
    [
      "certificates for servers of which a half is missing, or that speak no TLS, or that are none",
      `state: { redis: { url: "rediss://a", tls: { cert: ${pem("cert")} } } }
backends:
  - { type: node, name: a, address: "https://a", tls: { key: ${pem("key")} } }
  - { type: openai, name: b, url: "http://b", tls: { ca: /dev/null } }
  - { type: sdapi, name: c, url: "https://c", tls: { ca: no.pem } }
  - { type: comfyui, name: d, url: "https://d", tls: { cert: ${pem("cert")}, key: ${pem("renewed-key")} } }
  - { type: rest, name: e, url: "https://e", models: [{ id: m, task: chat }], tls: { servername: a } }
  - { type: openai, name: f, url: "HTTP://f", tls: { ca: /dev/null } }
  - { type: openai, name: g, url: "HTTPS://g", tls: { ca: /dev/null } }
  - { type: node, name: h, address: "unix:/h", tls: { ca: /dev/null } }
  - { type: openai, name: i, url: "https://i", tls: { ca: 5 } }
`,
      [
        "state.redis.tls.key: is required where there is a cert",
        "lintel.yaml:3:50: backends[0].tls.cert: is required where there is a key",
        "backends[1].tls: is for an https:// address",
        "backends[2].tls.ca: the file no.pem does not exist",
        `backends[3].tls.key: the key in ${pem("renewed-key")} is not the one of the certificate in ${pem("cert")}`,
        'backends[4].tls.servername: unknown key (did you mean "server_name"?)',
        "backends[5].tls: is for an https:// address",
        "backends[6].tls.ca: the file /dev/null holds no certificate in PEM",
        "backends[7].tls: is for an https:// address",
        "backends[8].tls.ca: must be text, not a number: put it in quotes",
      ],
    ],
    [
      "headers of callers that no server is to be told, or that it is told already",
      `backends:
  - { type: openai, name: a, url: "http://a", pass_headers: [X-Tenant, Authorization, x-api-key, "a b"] }
  - { type: rest, name: b, url: "http://b", models: [{ id: m, task: chat }], headers: { X-Plan: gold }, pass_headers: [x-plan] }
  - { type: openai, name: c, url: "http://c", session_header: x-router, pass_headers: [x-tenant, X-Router] }
`,
      [
        "backends[0].pass_headers[1]: must be no header that requests have anyway, or that callers are known by",
        "backends[0].pass_headers[2]: must be no header that requests have anyway, or that callers are known by",
        "backends[0].pass_headers[3]: must be the name of an HTTP header",
        "backends[1].pass_headers[0]: stands in headers or session_header as well",
        "backends[2].pass_headers[1]: stands in headers or session_header as well",
      ],
    ],
    [
      "certificates of a database that are none",
      `state: { database: "postgres:///l?host=/run&sslrootcert=/dev/null&sslcert=${pem("cert")}&sslkey=no.key" }\n`,
      [
        "lintel.yaml:1:20: state.database: sslrootcert: the file /dev/null holds no certificate in PEM",
        "lintel.yaml:1:20: state.database: sslkey: the file no.key does not exist",
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
  ])("%s", expectMistakes);
});
