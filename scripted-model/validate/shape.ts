// The few questions all checks of a request ask of untrusted JSON. A check returns the API's
// sentence, or undefined.
export type Json = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A sentence of the API, with `error.details` where it has some. */
export type Problem = string | { readonly message: string; readonly details: Json };

export function coded(message: string, code: string, more: Json = {}): Problem {
  return { message, details: { error_code: code, ...more } };
}

/** The first problem of a list of things, or undefined. */
export function firstProblem<Value, Found extends Problem = string>(
  values: Iterable<Value>,
  problemOf: (value: Value, index: number) => Found | undefined,
): Found | undefined {
  let index = 0;
  for (const value of values) {
    const problem = problemOf(value, index);
    if (problem !== undefined) return problem;
    index += 1;
  }
  return undefined;
}

export function extraKey(value: Json, allowed: ReadonlySet<string>, path: string): string | undefined {
  const extra = Object.keys(value).find((key) => !allowed.has(key));
  return extra === undefined ? undefined : `${path}${path === '' ? '' : '.'}${extra}: Extra inputs are not permitted`;
}

export function stringProblem(value: unknown, path: string): string | undefined {
  if (value === undefined) return `${path}: Field required`;
  return typeof value === 'string' ? undefined : `${path}: Input should be a valid string`;
}

// The API's refusals of a text block, wherever it stands.

const keys = new Set(['type', 'text', 'cache_control', 'citations']);

export function textProblem(block: Json, path: string): string | undefined {
  const text = block['text'];
  const malformed = extraKey(block, keys, `${path}.text`) ?? stringProblem(text, `${path}.text.text`);
  if (malformed !== undefined) return malformed;
  if (text === '' && block['cache_control']) return `${path}.text: cache_control cannot be set for empty text blocks`;
  return sayingProblem(String(text), path);
}

/** A text of a user must not cite. */
export function userTextProblem(block: Json, path: string): string | undefined {
  const { citations } = block;
  const cites = Array.isArray(citations) && citations.length > 0;
  return textProblem(block, path) ?? (cites ? `${path}.text.citations: not permitted in user messages` : undefined);
}

/** A text must say something: the API refuses what is empty or all white space. */
export function sayingProblem(text: string, path: string): string | undefined {
  if (text === '') return `${path}: text content blocks must be non-empty`;
  return /\S/.test(text) ? undefined : `${path}: text content blocks must contain non-whitespace text`;
}

export type RequestRules = {
  /** From the anthropic-beta header. */
  readonly betas: readonly string[];
  /** The API version still takes temperature, top_p and top_k. */
  readonly sampling: boolean;
  /** count_tokens takes no max_tokens and streams nothing. */
  readonly counting: boolean;
  readonly maxOutputTokens: number | undefined;
  readonly prefill: boolean;
  readonly verifySignature: (model: string, thinking: string, signature: string) => boolean;
};
