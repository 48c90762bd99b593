/** Headers of callers that a backend is to be told. */
import type { Finding } from "./problems.js";
import { type Fields, fields, texts } from "./raw.js";

/** Those that the operator says already. @param backends entries of the configuration as they stand in the file */
export const checkPassHeaders = (backends: readonly Fields[]): Finding[] =>
  backends.flatMap(({ pass_headers, headers, session_header }, i) =>
    texts(pass_headers).flatMap((name, j) => {
      const own = [...Object.keys(fields(headers)), ...texts([session_header])];
      const path = ["backends", i, "pass_headers", j];
      return own.some((one) => one.toLowerCase() === name.toLowerCase())
        ? [{ path, message: "stands in headers or session_header as well" }]
        : [];
    }),
  );
