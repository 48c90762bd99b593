/** Guidance for servers that draw `uncond + (cond - uncond) * cfg`, whatever the cfg. */

/**
 * The cfg for a request's guidance scale. Below 1 the contract means none, that is the prompt
 * alone: these servers do that at 1, and at 0 draw as if there were no prompt.
 */
export const cfgOf = (guidanceScale: number): number => Math.max(1, guidanceScale);
