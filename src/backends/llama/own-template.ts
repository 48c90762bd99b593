/** Looks whether an operator's chat template works, before a model is there. */
import { createRequire } from "node:module";
import { boundedTemplate, type Jinja, type Rendering } from "./bounded.js";
import { ChatTemplate } from "./template.js";
import { whyNot } from "./template-lines.js";
import { toolFormOf } from "./tools/families.js";

/**
 * What is wrong with a template, with its line where that is known; `undefined`: nothing, or the library that
 * reads templates is not installed here.
 */
export function wrongWithTemplate(text: string): string | undefined {
  const jinja = library();
  if (!jinja) return undefined;
  let rendering: Rendering | undefined;
  try {
    rendering = boundedTemplate(jinja, text);
    const tools = toolFormOf(text);
    new ChatTemplate(rendering, { bos: "<s>", eos: "</s>", control: [], tools });
    return undefined;
  } catch (thrown) {
    return whyNot(thrown, rendering);
  }
}

/** Only who has a template of their own waits for the library to be read. */
function library(): Jinja | undefined {
  try {
    return createRequire(import.meta.url)("@huggingface/jinja");
  } catch {
    // What is not installed, others say.
    return undefined;
  }
}
