/** The line for a terminal that asks what the page asks. */

/** @param path relative to the page, as in `llm` */
export function curlFor(path: string, body: object): string {
  const text = JSON.stringify(body).replaceAll("'", "'\\''");
  return [
    `curl ${new URL(path, document.baseURI)}`,
    `-H "Authorization: Bearer $LINTEL_TOKEN"`,
    "-H 'Content-Type: application/json'",
    `-d '${text}'`,
  ].join(" \\\n  ");
}
