// The few questions that all checks of a request ask of untrusted JSON. A check returns the API's
// sentence, or undefined.
export type Json = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A sentence of the API, with `error.details` where it has some. */
export type RequestProblem = string | { readonly message: string; readonly details: Json };

export function problemWithCode(message: string, code: string, more: Json = {}): RequestProblem {
  return { message, details: { error_code: code, ...more } };
}

/** Returns the first problem of a list of things, or undefined. */
export function firstProblem<Value, Found extends RequestProblem = string>(
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

export function extraKeyProblem(value: Json, allowed: ReadonlySet<string>, path: string): string | undefined {
  const extra = Object.keys(value).find((key) => !allowed.has(key));
  return extra === undefined ? undefined : `${path}${path === '' ? '' : '.'}${extra}: Extra inputs are not permitted`;
}

export function stringProblem(value: unknown, path: string): string | undefined {
  if (value === undefined) return `${path}: Field required`;
  return typeof value === 'string' ? undefined : `${path}: Input should be a valid string`;
}

export type RequestRules = {
  /** The values of the anthropic-beta header. */
  readonly betas: readonly string[];
  /** The API version still takes temperature, top_p and top_k. */
  readonly sampling: boolean;
  /** count_tokens takes no max_tokens and streams nothing. */
  readonly counting: boolean;
  readonly maxOutputTokens: number | undefined;
  readonly prefill: boolean;
  readonly verifySignature: (model: string, thinking: string, signature: string) => boolean;
};
