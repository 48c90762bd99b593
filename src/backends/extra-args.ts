/** stable-diffusion.cpp's way to what its copies of other APIs have no field for: JSON inside the prompt. */

/** What is put behind a prompt to set values; empty where there are none. */
export function extraArgs(values: object): string {
  if (Object.keys(values).length === 0) return "";
  // No text within may end the element.
  const json = JSON.stringify(values).replaceAll("<", "\\u003c");
  return `<sd_cpp_extra_args>${json}</sd_cpp_extra_args>`;
}

/** A caller's prompt, which sets nothing: bounds are set for some of it, and the rest is the operator's. */
export const withoutExtraArgs = (prompt: string): string =>
  prompt.replaceAll("<sd_cpp_extra_args>", "< sd_cpp_extra_args>");
