/**
 * gRPC-Web as text. The RPC library knows the binary form only: here what comes in base64 is
 * decoded before it, and its answers are encoded.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";

/** A request whose body is still bytes. */
export type ByteRequest = UniversalServerRequest & { readonly body: AsyncIterable<Uint8Array> };

/** Browsers may add a charset to what they take for text. */
const textType = /^(application\/grpc-web)-text(\+proto|\+json)?\s*(?:;.*)?$/i;

/** Serves a request in the form in which it comes, and answers in the one that it accepts. */
export async function inWebForm(
  request: ByteRequest,
  serve: (request: ByteRequest) => Promise<UniversalServerResponse>,
): Promise<UniversalServerResponse> {
  const type = request.header.get("content-type") ?? "";
  const [, binary, format = "+proto"] = textType.exec(type) ?? [];
  const response = await serve(
    binary === undefined ? request : inBinary(request, `${binary}${format}`),
  );
  return acceptsText(request.header, binary !== undefined) ? inText(response) : response;
}

/** @param otherwise what holds where the client does not say which of both forms it takes */
function acceptsText(header: Headers, otherwise: boolean): boolean {
  const first = /application\/grpc-web(-text)?/i.exec(header.get("accept") ?? "");
  return first ? first[1] !== undefined : otherwise;
}

function inBinary(request: ByteRequest, type: string): ByteRequest {
  const header = new Headers(request.header);
  header.set("content-type", type);
  return { ...request, header, body: decoded(request.body) };
}

function inText(response: UniversalServerResponse): UniversalServerResponse {
  const header = new Headers(response.header);
  const type = header.get("content-type") ?? "";
  if (!response.body || !type.startsWith("application/grpc-web")) return response;
  header.set("content-type", type.replace("grpc-web", "grpc-web-text"));
  return { ...response, header, body: encoded(response.body) };
}

/** Bytes that are encoded at once, a multiple of three: messages with images have megabytes. */
const pieceBytes = 48 * 1024;

/** Each part is padded and so stands for itself: clients see a message as soon as it is sent. */
async function* encoded(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const part of body) {
    const bytes = bufferOf(part);
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      yield Buffer.from(bytes.toString("base64", at, at + pieceBytes), "latin1");
    }
  }
}

/** Parts need not end where four letters do. */
async function* decoded(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest = "";
  for await (const part of body) {
    const text = rest + bufferOf(part).toString("latin1").replace(/\s+/g, "");
    const end = text.length - (text.length % 4);
    rest = text.slice(end);
    if (end > 0) yield bytesOf(text.slice(0, end));
  }
  if (rest !== "") throw malformed();
}

/** The bytes of groups of four letters, any of which may be padded. */
function bytesOf(text: string): Uint8Array {
  // Node's decoder ends at a padding, and passes over what is no letter of base64.
  const pieces = (text.match(/[^=]+=*/g) ?? []).map((piece) => Buffer.from(piece, "base64"));
  if (pieces.map((piece) => piece.toString("base64")).join("") !== text) throw malformed();
  return Buffer.concat(pieces);
}

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
  Buffer.from(buffer, byteOffset, byteLength);

function malformed(): ConnectError {
  return new ConnectError("the body is not valid base64", Code.InvalidArgument);
}
