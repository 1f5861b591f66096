// Checks lists of options that travel through the workflow. Pure.

/** Returns the first name that stands in a list a second time. */
export const findRepeated = (names: readonly string[]): string | undefined =>
  names.find((name, at) => names.indexOf(name) !== at);

/** Reports more than `most` characters of JSON. `subject` has its verb, as in `the roster has`. */
export function jsonSizeProblem(subject: string, value: unknown, most: number): string | undefined {
  const { length } = JSON.stringify(value);
  return length <= most ? undefined : `${subject} ${length} characters of JSON: give at most ${most}`;
}
