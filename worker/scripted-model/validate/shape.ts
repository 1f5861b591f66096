// The few questions all checks of a request ask of untrusted JSON. A check returns the API's sentence, or undefined.

export type Json = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The first problem of a list of things, or undefined. */
export function firstProblem<Value>(
  values: Iterable<Value>,
  problemOf: (value: Value, index: number) => string | undefined,
): string | undefined {
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
