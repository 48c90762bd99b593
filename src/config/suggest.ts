/** "Did you mean": the nearest of some known words. */

/**
 * What others call the keys, options and kinds that Lintel knows by these words: LiteLLM, Portkey, the
 * clients of OpenAI, and the names of servers. In lower case, without `_`, `-`, `.` and blanks.
 */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  // Keys, and options of commands.
  address: ["url", "baseurl", "apibase", "endpoint", "host"],
  attempts: ["numretries", "maxretries", "retries"],
  auth: ["masterkey", "apikey", "apikeys", "virtualkeys"],
  backends: ["providers", "upstreams", "servers"],
  ca: ["cafile", "cacert", "rootca", "root"],
  cache_write_input: ["cachewrite", "cachecreationinputtokencost", "inputcachewrite"],
  cache_write_1h_input: ["cachecreationinputtokencostabove1hr", "cachewrite1h"],
  cached_input: ["cacheread", "cachereadinputtokencost", "inputcached"],
  cert: ["certfile", "certificate"],
  client_ca: ["ca", "clientcafile", "clientca", "trustedca"],
  config: ["file", "conf"],
  context_length: ["contextwindow", "maxmodellen", "maxinputtokens", "contextsize"],
  concurrent: ["maxparallelrequests", "parallelrequests", "concurrency"],
  effort: ["reasoning", "reasoningeffort", "thinking", "thinkinglevel"],
  hash: ["token", "key", "apikey"],
  key: ["keyfile", "privatekey"],
  listen: ["port", "host", "bind"],
  max_tokens: ["maxoutputtokens", "maxcompletiontokens"],
  name: ["modelname"],
  out: ["output", "file"],
  pass_headers: ["forwardheaders", "passthroughheaders", "forwardclientheaderstollmapi"],
  priority: ["order"],
  reasoning_effort: ["effort", "reasoning", "thinking", "thinkinglevel"],
  repeat_penalty: ["repetitionpenalty", "reppen"],
  repetition_penalty: ["repeatpenalty", "reppen"],
  requests_per_minute: ["rpm", "rpmlimit"],
  retry: ["numretries", "maxretries", "retries"],
  server: ["url", "baseurl", "host", "endpoint"],
  server_name: ["sni", "hostname"],
  targets: ["fallbacks"],
  time_zone: ["timezone", "tz"],
  token: ["key", "apikey"],
  tokens_per_minute: ["tpm", "tpmlimit"],
  type: ["provider"],
  url: ["baseurl", "apibase", "endpoint", "address", "host"],
  // Kinds of backends.
  "ai-sdk":
    "anthropic,claude,google,gemini,vertex,vertexai,bedrock,cohere,fal,replicate,azure".split(","),
  comfyui: ["comfy"],
  node: ["lintel", "grpc"],
  openai:
    "ollama,vllm,sglang,llamacpp,llamaserver,lmstudio,localai,tgi,litellm,openrouter,groq,deepseek,together,openaicompatible,openaicompat,customopenai".split(
      ",",
    ),
  sdapi: "automatic1111,a1111,forge,sdnext,webui,sdwebui,koboldcpp,stablediffusioncpp".split(","),
};

/** Number of letters to insert, delete, replace or swap with their neighbour to make `b` of `a`. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(
        (previous[j] as number) + 1,
        (current[j - 1] as number) + 1,
        (previous[j - 1] as number) + (same ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (before[j - 2] as number) + 1);
      }
      current[j] = cost;
    }
    before = previous;
    previous = current;
  }
  return previous[b.length] as number;
}

/** The known word that was probably meant, or `undefined` if none is near. */
function nearest(word: string, known: Iterable<string>): string | undefined {
  const plain = word.toLowerCase().replace(/[\s_.-]/g, "");
  for (const candidate of known) {
    const others = Object.hasOwn(otherNames, candidate) ? otherNames[candidate] : undefined;
    if (others?.includes(plain)) return candidate;
  }
  const normal = (text: string) => text.toLowerCase().replaceAll("-", "_");
  let best: string | undefined;
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(normal(word), normal(candidate));
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best;
}

/** ` (did you mean "x"?)`, or nothing. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const meant = nearest(word, known);
  return meant === undefined ? "" : ` (did you mean "${meant}"?)`;
}
