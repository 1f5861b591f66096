// The numbers and labels by which lists tell sessions apart.
import type { SessionId } from './ids.ts';

/**
 * The numbers of a session in lists: over all its runs, as of its last change of phase or handover.
 */
export type SessionFacts = {
  /** The model asked last; absent before the first run has opened, unless the caller chose one. */
  readonly model?: string;
  readonly turns: number;
  /** Tokens of all kinds. */
  readonly tokens: number;
  /** US cents; null when a price is not known. */
  readonly cents: number | null;
  /** Milliseconds since the epoch: when the oldest call that waits for a decision began to wait. */
  readonly waitingSince?: number;
  readonly tags?: Tags;
  /** Present when the session is an agent's (L66). */
  readonly agent?: AgentFacts;
  /** The source of the prompt that opened the run under way, or the last one. */
  readonly querySource?: QuerySource;
};

/**
 * How a prompt came: by the command line, the ops page, the HTTP API, a program, a schedule or
 * another agent.
 */
export const querySources = ['cli', 'page', 'api', 'sdk', 'schedule', 'agent'] as const;

export type QuerySource = (typeof querySources)[number];

export const isQuerySource = (value: unknown): value is QuerySource => querySources.some((known) => known === value);

/** Returns a sentence that says what is wrong with the source, or undefined. */
export function querySourceProblem(source: unknown): string | undefined {
  if (source === undefined || isQuerySource(source)) return undefined;
  return `querySource is ${JSON.stringify(source)?.slice(0, 80)}: give one of ${querySources.join(', ')}`;
}

/** `type`: one of the worker's configuration. `root`: the session that a person began. */
export type AgentFacts = {
  readonly type: string;
  readonly parent: SessionId;
  readonly root: SessionId;
  readonly depth: number;
};

/** Returns the part of an agent's origin that others are told. */
export function agentFacts({ type, parent, root, depth }: AgentFacts): AgentFacts {
  return { type, parent, root, depth };
}

/**
 * Labels by name, by which lists find a session: at most 20. They are never sealed: anyone who
 * reads the server may see them.
 */
export type Tags = Readonly<Record<string, string>>;

const MOST_TAGS = 20;
const LONGEST_TAG = 100;
/**
 * Bytes of all tags together, as lists have them: a server ends a workflow that writes more than 2
 * KiB into one attribute.
 */
export const LARGEST_TAGS = 1_800;

/** Counts the bytes of a value's JSON in UTF-8; a workflow has no encoder. */
export function jsonBytes(value: unknown): number {
  let bytes = 0;
  for (const character of JSON.stringify(value)) bytes += bytesOf(character.codePointAt(0) ?? 0);
  return bytes;
}

const bytesOf = (code: number): number => (code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);

/** Returns the tags as lists find them. */
export const tagValues = (tags: Tags): readonly string[] =>
  Object.entries(tags).map(([name, value]) => `${name}=${value}`);

/** Returns a sentence that says what is wrong with the tags, or undefined. */
export function tagsProblem(tags: unknown): string | undefined {
  if (tags === undefined) return undefined;
  if (typeof tags !== 'object' || tags === null || Array.isArray(tags))
    return 'the tags are not an object: give names and values such as {"team": "web"}';
  const entries = Object.entries(tags as Readonly<Record<string, unknown>>);
  if (entries.length > MOST_TAGS) return `${entries.length} tags are given: give at most ${MOST_TAGS}`;
  for (const [name, value] of entries) {
    const quoted = JSON.stringify(name.slice(0, 60));
    if (!/^[A-Za-z0-9][A-Za-z0-9._/-]{0,59}$/.test(name))
      return `tag ${quoted} is no name: use letters, digits, "-", "_", "/" and ".", begin with a letter or digit, at most 60`;
    if (typeof value !== 'string' || value === '' || value.length > LONGEST_TAG || /\p{C}/u.test(value))
      return `tag ${quoted} has no value that will do: give 1 to ${LONGEST_TAG} characters on one line`;
  }
  const bytes = jsonBytes(tagValues(tags as Tags));
  if (bytes <= LARGEST_TAGS) return undefined;
  return `the tags are ${bytes} bytes together, and a server keeps ${LARGEST_TAGS} of them: give fewer or shorter ones`;
}
