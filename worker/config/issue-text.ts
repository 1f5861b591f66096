// Words a wrong value of a configuration in one sentence: where it is, what is there, what would be
// right.
import { z } from 'zod';
import { nearName } from '../../workflows/contract/did-you-mean.ts';

type Issue = z.core.$ZodIssue;
type RawIssue = Parameters<z.core.$ZodErrorMap>[0];

/**
 * Options for `safeParse`: words for schemas without words of their own, and issues that carry the
 * wrong value.
 */
export const ISSUE_OPTIONS: z.core.ParseContext<Issue> = { reportInput: true, error: describeRight };

/** Characters of a value that are shown. */
const LONGEST_SHOWN = 60;

const KINDS: Readonly<Record<string, string>> = {
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

const SIZES: Readonly<Record<string, string>> = { string: 'character', array: 'item' };

function describeRight(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return `give ${KINDS[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `give ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return `give at least ${formatSize(Number(issue.minimum), issue.origin)}`;
    case 'too_big':
      return `give at most ${formatSize(Number(issue.maximum), issue.origin)}`;
    default:
      return undefined;
  }
}

function formatSize(n: number, origin: string): string {
  const one = SIZES[origin];
  return one === undefined ? `${n}` : `${n} ${one}${n === 1 ? '' : 's'}`;
}

/**
 * Words an issue. A message that begins with "give" says what would be right, and the value is put
 * before it; any other says everything. `known`: the keys of the configuration.
 */
export function describeIssue(
  issue: Issue | undefined,
  above: readonly PropertyKey[] = [],
  known: readonly string[] = [],
): string {
  if (issue === undefined) return 'it cannot be used';
  const path = [...above, ...issue.path];
  switch (issue.code) {
    case 'invalid_union':
      return describeUnion(issue, path);
    case 'unrecognized_keys': {
      const [key = ''] = issue.keys;
      const near = path.length === 0 ? nearName(key, known) : undefined;
      const what = near === undefined ? 'remove it or correct its name' : `did you mean "${near}"?`;
      return `${quotePath([...path, key])} is no key of the configuration: ${what}`;
    }
    case 'invalid_key': {
      const [wrong] = issue.issues;
      const what = wrong === undefined ? 'cannot be used' : `${describeFound(wrong)}: ${wrong.message}`;
      return `a key of ${quotePath(path.slice(0, -1))} ${what}`;
    }
    default:
      return saysRight(issue.message)
        ? `${quotePath(path)} ${describeFound(issue)}: ${issue.message}`
        : `${quotePath(path)} is wrong: ${issue.message}`;
  }
}

/**
 * Words an issue of alternatives. The one that was meant has its mistake further down, or is of the
 * right kind; otherwise any of them would be right.
 */
function describeUnion(
  { errors, input }: Extract<Issue, { code: 'invalid_union' }>,
  path: readonly PropertyKey[],
): string {
  const firsts = errors.flatMap(([first]) => first ?? []);
  const meant = firsts.find((first) => !isOtherKind(first));
  if (meant !== undefined) return describeIssue(meant, path);
  const rights = firsts.map(({ message }, at) => (at === 0 ? message : message.replace(/^give /, '')));
  return `${quotePath(path)} ${describeValue(input)}: ${rights.join(' or ')}`;
}

function isOtherKind({ code, path, message }: Issue): boolean {
  return path.length === 0 && (code === 'invalid_type' || (code === 'custom' && saysRight(message)));
}

function saysRight(message: string): boolean {
  return message.startsWith('give ');
}

function quotePath(path: readonly PropertyKey[]): string {
  return path.length === 0 ? 'it' : JSON.stringify(path.map(String).join('.'));
}

/** Words the value that is there. */
function describeFound(issue: Issue): string {
  const { input } = issue;
  const size = typeof input === 'string' || Array.isArray(input) ? input.length : 0;
  if (issue.code === 'too_small' && issue.origin in SIZES) return 'is empty';
  if (issue.code === 'too_big' && issue.origin in SIZES) return `has ${formatSize(size, issue.origin)}`;
  return describeValue(input);
}

function describeValue(input: unknown): string {
  switch (typeof input) {
    case 'undefined':
      return 'is missing';
    case 'string':
      return `is ${JSON.stringify(input.length > LONGEST_SHOWN ? `${input.slice(0, LONGEST_SHOWN - 1)}…` : input)}`;
    case 'number':
    case 'bigint':
    case 'boolean':
      return `is ${input}`;
    case 'object':
      return Array.isArray(input) ? 'is a list' : input === null ? 'is null' : 'is an object';
    default:
      return `is a ${typeof input}`;
  }
}
