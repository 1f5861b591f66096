// Tells whether a server means that a request is too long for its model (L23, L24), and not that
// there were too many, or that its cap does not fit.

/**
 * Words about a limit over time or of an account: waiting helps there, and a shorter request does
 * not.
 */
const OF_TIME = [
  'rate.?limit',
  'too many requests',
  'quota',
  'throttl',
  'per[ -](second|minute|hour|day|month)',
  '\\b(tpm|rpm|tpd|itpm)\\b',
  'before trying again',
  'concurren',
].join('|');

const LIMIT_OF_TIME = new RegExp(OF_TIME, 'i');

/**
 * Tells whether the sentence is about the length. `more` are words of the configuration, found in
 * small or large letters.
 */
export function isOverflow(text: string, more: readonly string[] = []): boolean {
  const lower = text.toLowerCase();
  if (more.some((words) => lower.includes(words.trim().toLowerCase()))) return true;
  if (LIMIT_OF_TIME.test(text) || roomLeft(text) !== undefined) return false;
  return overflowRows.some(({ words }) => words.test(text));
}

/**
 * The sentences of vLLM and of Text Generation Inference about a cap that does not fit where the
 * prompt does.
 */
const CAPS: readonly RegExp[] = [
  /too large: .*\((?<cap>\d+) > (?<window>\d+) - (?<input>\d+)\)/,
  /must be <= (?<window>\d+)\. Given: (?<input>\d+) `?inputs`? tokens/,
];

/** Tokens. With less room a shorter request is what helps. */
const LEAST_ROOM = 1_024;

/**
 * Returns the tokens that a reply may have with this prompt, where a refusal says that; undefined
 * for other refusals, or for too few tokens.
 */
export function roomLeft(text: string): number | undefined {
  const counts = CAPS.map((words) => words.exec(text)?.groups).find((found) => found !== undefined);
  const room = Number(counts?.['window']) - Number(counts?.['input']);
  return room >= LEAST_ROOM ? room : undefined;
}

// The words by which servers say that a request is too long for its model (L23, L24): one row for
// each server. Add yours here, with the sentence as it was read; a configuration adds more without
// a release (`overflowWords`).
type OverflowRow = {
  readonly server: string;
  /** The sentence that the server was seen to send. */
  readonly says: string;
  /**
   * Words found in that sentence, and in the server's other sentences about a request that is too
   * long.
   */
  readonly words: RegExp;
  /** The year and month in which it was last looked up. */
  readonly seen: string;
};

export const overflowRows: readonly OverflowRow[] = [
  {
    server: 'Anthropic, Fireworks',
    says: 'prompt is too long: 213462 tokens > 200000 maximum',
    words: /(prompt|request|conversation|messages?) (is|are|was) too (long|large)/i,
    seen: '2026-11',
  },
  {
    server: 'Anthropic, with the cap',
    says: 'input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000, decrease input length or `max_tokens` and try again',
    words: /exceeds? (the )?context limit/i,
    seen: '2026-11',
  },
  {
    server: 'Amazon Bedrock',
    says: 'Input is too long for requested model.',
    words: /inputs? (is|are|was) too (long|large)/i,
    seen: '2026-11',
  },
  {
    server: 'Amazon Bedrock, Nova',
    says: 'Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.',
    words: /number of input tokens exceeds/i,
    seen: '2026-11',
  },
  {
    server: 'Google',
    says: 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
    words: /(input|prompt) token count.{0,40} exceeds the maximum/i,
    seen: '2026-11',
  },
  {
    server: 'OpenAI, Microsoft Foundry',
    says: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
    words: /exceeds? (the |its |this )?(model'?s? )?(maximum )?context (window|length)/i,
    seen: '2026-11',
  },
  {
    server: 'OpenAI, by its code',
    says: '{"code":"context_length_exceeded"}',
    words: /context[_ ]length[_ ]exceeded/i,
    seen: '2026-11',
  },
  {
    server: 'OpenAI, DeepSeek, vLLM',
    says: "This model's maximum context length is 32768 tokens. However, you requested 40000 tokens.",
    words: /model'?s maximum context length/i,
    seen: '2026-11',
  },
  {
    server: 'OpenRouter',
    says: "This endpoint's maximum context length is 200000 tokens. However, you requested about 250000 tokens.",
    words: /endpoint'?s maximum context length/i,
    seen: '2026-11',
  },
  {
    server: 'OpenRouter, Poolside',
    says: 'Input length 131393 exceeds the maximum allowed input length of 131040 tokens.',
    words: /input length \(?[\d,]+\)? exceeds/i,
    seen: '2026-11',
  },
  {
    server: 'xAI',
    says: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    words: /maximum prompt length is/i,
    seen: '2026-11',
  },
  {
    server: 'Groq, Cerebras',
    says: 'Please reduce the length of the messages or completion.',
    words: /reduce the length of (the|your) (input )?(messages|prompt)/i,
    seen: '2026-11',
  },
  {
    server: 'Together AI',
    says: "The input (140000 tokens) is longer than the model's context length (131072 tokens).",
    words: /is longer than the model'?s context length/i,
    seen: '2026-11',
  },
  {
    server: 'GitHub Copilot',
    says: 'prompt token count of 130000 exceeds the limit of 128000',
    words: /prompt token count of [\d,]+ exceeds/i,
    seen: '2026-11',
  },
  {
    server: 'Mistral',
    says: 'Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length',
    words: /too large for model with [\d,]+ maximum context/i,
    seen: '2026-11',
  },
  {
    server: 'MiniMax',
    says: 'invalid params, context window exceeds limit (2013)',
    words: /context (window|length) exceeds/i,
    seen: '2026-11',
  },
  {
    server: 'Kimi',
    says: 'Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)',
    words: /exceeded model token limit/i,
    seen: '2026-11',
  },
  {
    server: 'Qwen (DashScope)',
    says: 'Range of input length should be [1, 129024]',
    words: /range of input length should be/i,
    seen: '2026-11',
  },
  {
    server: 'GLM (z.ai)',
    says: '{"code":"1261","message":"Prompt exceeds max length"}',
    words: /prompt exceeds (the )?max(imum)? (context )?length/i,
    seen: '2026-11',
  },
  {
    server: 'GLM (z.ai), by its code',
    says: 'model_context_window_exceeded',
    words: /context_window_exceeded/i,
    seen: '2026-11',
  },
  {
    server: 'Cohere',
    says: 'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000.',
    words: /too many tokens: total number of tokens/i,
    seen: '2026-11',
  },
  {
    server: 'Snowflake',
    says: 'max tokens of 131072 exceeded',
    words: /max tokens of [\d,]+ exceeded/i,
    seen: '2026-11',
  },
  {
    server: 'LiteLLM, by its class',
    says: 'litellm.ContextWindowExceededError: BadRequestError: the server said no',
    words: /ContextWindowExceededError/,
    seen: '2026-11',
  },
  {
    server: 'Ollama',
    says: 'prompt too long; exceeded max context length by 5000 tokens',
    words: /prompt too long; exceeded/i,
    seen: '2026-11',
  },
  {
    server: 'Ollama, before',
    says: 'the input length exceeds the context length',
    words: /input length exceeds/i,
    seen: '2026-11',
  },
  {
    server: 'llama.cpp',
    says: 'request (9214 tokens) exceeds the available context size (8192 tokens), try increasing it',
    words: /exceeds the available context size|exceed_context_size_error/i,
    seen: '2026-11',
  },
  {
    server: 'llama.cpp, while it writes',
    says: 'Context size has been exceeded.',
    words: /context (size|window|length)[^.]{0,40} (has been|was|is) exceeded/i,
    seen: '2026-11',
  },
  {
    server: 'LM Studio',
    says: 'The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length.',
    words: /greater than the context length/i,
    seen: '2026-11',
  },
  {
    server: 'vLLM',
    says: 'The decoder prompt (length 8357) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller than the number of text tokens.',
    words: /longer than the maximum model length/i,
    seen: '2026-11',
  },
  {
    server: 'SGLang',
    says: "Requested token count exceeds the model's maximum context length of 131072 tokens.",
    words: /requested token count exceeds/i,
    seen: '2026-11',
  },
  {
    server: 'TensorRT-LLM',
    says: 'Prompt length (8000) exceeds maximum input length (4096).',
    words: /prompt length \([\d,]+\) exceeds maximum input length/i,
    seen: '2026-11',
  },
  {
    server: 'Text Generation Inference',
    says: 'Input validation error: `inputs` must have less than 4096 tokens. Given: 5000',
    words: /`?inputs`? must have less than [\d,]+ tokens/i,
    seen: '2026-11',
  },
  {
    server: 'Text Generation Inference, with the cap',
    says: 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4090 `inputs` tokens and 512 `max_new_tokens`',
    words: /`?inputs`? tokens \+ `?max_new_tokens`? must be <=/i,
    seen: '2026-11',
  },
  {
    server: 'gateways before them',
    says: 'inputs: too many input tokens',
    words: /too many (input|prompt) tokens|exceeds? the (maximum|max|limit)( allowed)?( number of)? input tokens/i,
    seen: '2026-11',
  },
  {
    server: 'LiteLLM, Azure OpenAI',
    says: 'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 305127 tokens.',
    words: /(input|prompt) tokens exceed the configured limit/i,
    seen: '2026-11',
  },
  {
    server: 'LiteLLM, for Cerebras',
    says: 'Current length is 9214 while limit is 8192',
    words: /current length is [\d,]+ while limit is/i,
    seen: '2026-11',
  },
  {
    server: 'LiteLLM, for Azure Foundry',
    says: "The request has 140000 tokens: the model's maximum context limit is 131072",
    words: /model'?s maximum context limit|maximum input length is [\d,]+ tokens/i,
    seen: '2026-11',
  },
  {
    server: 'Volcengine Ark',
    says: 'Total tokens of image and text exceed max message tokens.',
    words: /exceeds? max message tokens/i,
    seen: '2026-11',
  },
  {
    server: 'Salesforce Einstein gateway',
    says: 'Prompt size exceeds the token limit for when PII is enabled. Please reduce prompt size.',
    words: /prompt size exceeds the token limit/i,
    seen: '2026-11',
  },
  {
    server: 'RKLLama',
    says: 'Prompt is 11543 tokens but the model context window is 4096 tokens.',
    words: /but the (model'?s? )?context (window|size|length) is/i,
    seen: '2026-11',
  },
  {
    server: 'relays',
    says: 'context window is full',
    words: /context (window|length|size)?( is)? full\b/i,
    seen: '2026-11',
  },
  {
    server: 'others',
    says: 'Requested tokens (9000) exceed the size of the context window',
    words: /exceeds? .{0,60}context (window|length|size|limit)/i,
    seen: '2026-11',
  },
  {
    server: 'ds4',
    says: 'Prompt has 5,958,968 tokens, but the configured context size is 256,000 tokens',
    words: /but the configured context size is/i,
    seen: '2026-11',
  },
];
