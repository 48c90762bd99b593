/** Sockets of Windows, whose pipes lie in no folder; those of other systems are tried wherever they are listened on. */
import { describe, expect, it } from "vitest";
import { isAddress } from "../src/backends/node/address.js";
import { parseListen } from "../src/config/quantities.js";
import { isSocketPath, socketOf, socketPathIn } from "../src/socket-path.js";

describe("a pipe of Windows", () => {
  const pipe = String.raw`\\.\pipe\lintel`;

  it("is where a server listens there, and no file is", () => {
    expect(isSocketPath(pipe, true)).toBe(true);
    expect(isSocketPath(String.raw`\\?\pipe\lintel`, true)).toBe(true);
    for (const other of [
      "/run/lintel.sock",
      String.raw`C:\lintel.sock`,
      "",
      String.raw`\\.\pipe\ `.trim(),
    ]) {
      expect(isSocketPath(other, true)).toBe(false);
    }
    expect(isSocketPath(`${pipe}\\within`, true)).toBe(false);
    expect(isSocketPath(`\\\\.\\pipe\\${"x".repeat(201)}`, true)).toBe(false);
  });

  it("is named in addresses as it is", () => {
    const address = `unix:${pipe}`;
    expect(socketPathIn(address)).toBe(pipe);
    expect(parseListen(address)).toEqual({ path: pipe });
    expect(isAddress(address)).toBe(true);
    expect(isAddress(String.raw`unix:C:\lintel.sock`)).toBe(false);
  });

  it("stands for a file, another for each, and stays what it is", () => {
    const file = String.raw`C:\state\run\1.sock`;
    const own = socketOf(file, true);
    expect(isSocketPath(own, true)).toBe(true);
    expect(socketOf(file, true)).toBe(own);
    expect(socketOf(String.raw`C:\state\run\2.sock`, true)).not.toBe(own);
    expect(socketOf(own, true)).toBe(own);
  });
});

it("elsewhere a socket's file is where it is listened on", () => {
  expect(socketOf("/run/lintel.sock", false)).toBe("/run/lintel.sock");
});
