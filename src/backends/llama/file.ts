/** What can be said of a GGUF file before llama.cpp reads it. */
import { open } from "node:fs/promises";
import type { LlamaLibrary } from "./library.js";

/**
 * Checks that the file is whole, as far as its header tells.
 * @throws Error that says what is wrong, without the file's name
 */
export async function checkFile(library: LlamaLibrary, path: string): Promise<void> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(8), 0, 8, 0);
    if (bytesRead < 8 || buffer.toString("latin1", 0, 4) !== "GGUF") {
      throw new Error("not a GGUF file");
    }
  } finally {
    await file.close();
  }
  try {
    await library.readGgufFileInfo(path, { sourceType: "filesystem", logWarnings: false });
  } catch (cause) {
    throw new Error("the file ends early or is damaged: its header can't be read", { cause });
  }
}
