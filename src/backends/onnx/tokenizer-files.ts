/** A tokenizer's files: `tokenizer.json`, or the older pair of CLIP, `vocab.json` and `merges.txt`. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { readRegular } from "../../regular-file.js";
import { readJson } from "./json-file.js";
import { ModelProblem, whyUnreadable } from "./problem.js";

const tokenizerFile = z.looseObject({ model: z.looseObject({}) });
const vocabulary = z.record(z.string(), z.int().min(0));

/** CLIP's marks of begin and end. */
const [begin, end] = ["<|startoftext|>", "<|endoftext|>"];

/** How CLIP cuts a text into pieces before the byte pairs are joined. */
const pieces =
  "<\\|startoftext\\|>|<\\|endoftext\\|>|'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+";

/**
 * Reads a tokenizer.
 * @param name of its folder inside of the model's
 * @returns the content of `tokenizer.json`, or the same made of the older files
 * @throws ModelProblem that names the file at fault
 */
export async function readTokenizer(folder: string, name: string): Promise<object> {
  const whole = `${name}/tokenizer.json`;
  const vocab = `${name}/vocab.json`;
  if (existsSync(join(folder, whole)) || !existsSync(join(folder, vocab))) {
    return readJson(folder, whole, tokenizerFile);
  }
  const words = await readJson(folder, vocab, vocabulary);
  const merges = readMerges(folder, `${name}/merges.txt`);
  const [bos, eos] = [words[begin], words[end]];
  if (bos === undefined || eos === undefined) {
    throw new ModelProblem(`${vocab}: has no ${bos === undefined ? begin : end}`);
  }
  return clipTokenizer(words, merges, bos, eos);
}

function readMerges(folder: string, file: string): string[] {
  let text: string;
  try {
    text = readRegular(join(folder, file)).toString("utf8");
  } catch (error) {
    throw new ModelProblem(`${file}: ${whyUnreadable(error)}`, { cause: error });
  }
  return text
    .split("\n")
    .map((line) => line.trimEnd())
    .filter((line, i) => line !== "" && !(i === 0 && line.startsWith("#version")));
}

function clipTokenizer(
  vocab: Readonly<Record<string, number>>,
  merges: readonly string[],
  bos: number,
  eos: number,
): object {
  const special = (id: number, content: string) => ({
    id,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: true,
    special: true,
  });
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: [special(bos, begin), special(eos, end)],
    normalizer: {
      type: "Sequence",
      normalizers: [
        { type: "NFC" },
        { type: "Replace", pattern: { Regex: "\\s+" }, content: " " },
        { type: "Lowercase" },
      ],
    },
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        { type: "Split", pattern: { Regex: pieces }, behavior: "Removed", invert: true },
        { type: "ByteLevel", add_prefix_space: false, trim_offsets: true },
      ],
    },
    post_processor: {
      type: "RobertaProcessing",
      sep: [end, eos],
      cls: [begin, bos],
      trim_offsets: false,
      add_prefix_space: false,
    },
    decoder: null,
    model: {
      type: "BPE",
      dropout: null,
      unk_token: end,
      continuing_subword_prefix: "",
      end_of_word_suffix: "</w>",
      fuse_unk: false,
      vocab,
      merges,
    },
  };
}
