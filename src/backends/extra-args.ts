/** stable-diffusion.cpp's way to what its copies of other APIs have no field for: JSON inside the prompt. */

/** What is put behind a prompt to set values; empty where there are none. */
export function extraArgs(values: object): string {
  if (Object.keys(values).length === 0) return "";
  return `<sd_cpp_extra_args>${extraText(values)}</sd_cpp_extra_args>`;
}

/** A value as it is written there: no text within may end the element. */
export const extraText = (value: object | string): string =>
  JSON.stringify(value).replaceAll("<", "\\u003c");

/** A caller's prompt, which sets nothing: bounds are set for some of it, and the rest is the operator's. */
export const withoutExtraArgs = (prompt: string): string =>
  prompt.replaceAll("<sd_cpp_extra_args>", "< sd_cpp_extra_args>");
