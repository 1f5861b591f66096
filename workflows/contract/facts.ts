// The numbers and labels by which lists tell sessions apart, and the variables and extra folders
// that a session or a worker gives to its tools.
import type { SessionId } from './ids.ts';

/**
 * The numbers of a session as lists show them: over all its runs, at its last change of phase or
 * handover.
 */
export type SessionFacts = {
  /** The model asked last; absent before the first run has opened, unless the caller chose one. */
  readonly model?: string;
  readonly turns: number;
  /** Of all kinds. */
  readonly tokens: number;
  /** US cents; null when a price is not known. */
  readonly cents: number | null;
  /**
   * Milliseconds since the epoch: the oldest call that waits for a decision has waited since then.
   */
  readonly waitingSince?: number;
  readonly tags?: Tags;
  /** The session is an agent's (L66). */
  readonly agent?: AgentFacts;
  /** Of the prompt that opened the run under way, or the last one. */
  readonly querySource?: QuerySource;
};

/**
 * How a prompt came: by the command line, the ops page, the HTTP API, a program, a schedule or
 * another agent.
 */
export const querySources = ['cli', 'page', 'api', 'sdk', 'schedule', 'agent'] as const;

export type QuerySource = (typeof querySources)[number];

export const isQuerySource = (value: unknown): value is QuerySource => querySources.some((known) => known === value);

/** A sentence, or undefined. */
export function querySourceProblem(given: unknown): string | undefined {
  if (given === undefined || isQuerySource(given)) return undefined;
  return `querySource is ${JSON.stringify(given)?.slice(0, 80)}: give one of ${querySources.join(', ')}`;
}

/** `type`: of the worker's configuration. `root`: the session that a person began. */
export type AgentFacts = {
  readonly type: string;
  readonly parent: SessionId;
  readonly root: SessionId;
  readonly depth: number;
};

/** Of what makes a session an agent's, the part that others are told. */
export function agentFacts({ type, parent, root, depth }: AgentFacts): AgentFacts {
  return { type, parent, root, depth };
}

/**
 * Labels by name, by which lists find a session: at most 20, never sealed. Any of them may be seen
 * by whoever reads the server.
 */
export type Tags = Readonly<Record<string, string>>;

const MOST_TAGS = 20;
const LONGEST_TAG = 100;
/**
 * Bytes of all of them together, as lists have them: a server ends a workflow that tells more than
 * 2 KiB in one attribute.
 */
export const LARGEST_TAGS = 1_800;

/** Bytes of JSON in UTF-8, which a workflow has no encoder for. */
export function jsonBytes(value: unknown): number {
  let bytes = 0;
  for (const character of JSON.stringify(value)) bytes += bytesOf(character.codePointAt(0) ?? 0);
  return bytes;
}

const bytesOf = (code: number): number => (code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);

/** As lists find them. */
export const tagValues = (tags: Tags): readonly string[] =>
  Object.entries(tags).map(([name, value]) => `${name}=${value}`);

/** A sentence that says what is wrong with them, or undefined. */
export function tagsProblem(tags: unknown): string | undefined {
  if (tags === undefined) return undefined;
  if (typeof tags !== 'object' || tags === null || Array.isArray(tags))
    return 'the tags are not an object: give names and values such as {"team": "web"}';
  const given = Object.entries(tags as Readonly<Record<string, unknown>>);
  if (given.length > MOST_TAGS) return `${given.length} tags are given: give at most ${MOST_TAGS}`;
  for (const [name, value] of given) {
    const shown = JSON.stringify(name.slice(0, 60));
    if (!/^[A-Za-z0-9][A-Za-z0-9._/-]{0,59}$/.test(name))
      return `tag ${shown} is no name: use letters, digits, "-", "_", "/" and ".", begin with a letter or digit, at most 60`;
    if (typeof value !== 'string' || value === '' || value.length > LONGEST_TAG || /\p{C}/u.test(value))
      return `tag ${shown} has no value that will do: give 1 to ${LONGEST_TAG} characters on one line`;
  }
  const bytes = jsonBytes(tagValues(tags as Tags));
  if (bytes <= LARGEST_TAGS) return undefined;
  return `the tags are ${bytes} bytes together, and a server keeps ${LARGEST_TAGS} of them: give fewer or shorter ones`;
}

// Which names and values will do for variables of tools. Shared by the client, the configuration,
// and the activity that opens a run.

/**
 * Variables for shell commands and other tools, beside the ordinary ones; never told to the model.
 * As an option they are kept as all options are, in Temporal's history and the store: a secret
 * belongs in the worker's configuration (`toolEnv`), which keeps it to its process.
 */
export type ToolEnv = Readonly<Record<string, string>>;

const MOST_VARIABLES = 100;
/** Characters. */
const LONGEST_NAME = 200;
const LONGEST_VALUE = 16_000;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/**
 * Settings and credentials of Perdure, its server and its model: an agent's commands have no
 * business with them.
 */
const OURS = /^(?:PERDURE|TEMPORAL|ANTHROPIC)_/;
/**
 * Each changes which program runs, or what a shell does before a command that was judged by its
 * words.
 */
const CHANGES_COMMANDS = /^(?:LD_.*|DYLD_.*|BASH_ENV|BASH_FUNC_.*|BASHOPTS|SHELLOPTS|ENV|GIT_CONFIG.*)$/;
const SET_FOR_EACH = /^(?:PWD|LC_ALL|TERM)$/;

/** Says why a variable of this name is not passed on; undefined when it can be. */
export function toolVariableProblem(name: string): string | undefined {
  if (name.length > LONGEST_NAME || !NAME.test(name))
    return 'is no name for one: give letters, digits and "_", not beginning with a digit';
  if (OURS.test(name)) return 'is a setting of Perdure, its server or its model, which tools do not get: leave it out';
  if (CHANGES_COMMANDS.test(name)) return 'would change what a command does before it runs: leave it out';
  return SET_FOR_EACH.test(name) ? 'is set for each command: leave it out' : undefined;
}

/**
 * A sentence, which never holds a value; undefined when they will do. They may come from any
 * Temporal client: nothing is certain.
 */
export function toolEnvProblem(given: unknown): string | undefined {
  if (given === undefined) return undefined;
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return 'the variables for tools are no object: give names and values, such as { "CI": "1" }';
  const entries = Object.entries(given as Readonly<Record<string, unknown>>);
  if (entries.length > MOST_VARIABLES)
    return `${entries.length} variables for tools are given: give at most ${MOST_VARIABLES}`;
  return entries.map(variableProblem).find((problem) => problem !== undefined);
}

function variableProblem([name, value]: readonly [string, unknown]): string | undefined {
  const about = `the variable ${JSON.stringify(name.slice(0, 60))} for tools`;
  const wrong = toolVariableProblem(name);
  if (wrong !== undefined) return `${about} ${wrong}`;
  if (typeof value !== 'string') return `${about} has a value that is no text: give one`;
  if (value.includes('\0')) return `${about} has a NUL character in its value: leave it out`;
  return value.length <= LONGEST_VALUE
    ? undefined
    : `${about} has a value of ${value.length} characters: give at most ${LONGEST_VALUE}`;
}

// The folders besides the workspace that tools may work in. Whether they are there is found out
// where the run is opened.

/**
 * Folders besides the workspace that tools may read and change, at most 20, as absolute real paths:
 * none of them, and no folder above, is a link. A list replaces the worker's own.
 */
export type ExtraFolders = readonly string[];

const MOST_FOLDERS = 20;
/** Characters. */
const LONGEST_PATH = 4_096;

/**
 * A sentence that says what is wrong with the paths, before anybody looks for the folders;
 * undefined when they will do.
 */
export function extraFoldersProblem(given: unknown): string | undefined {
  if (given === undefined) return undefined;
  if (!Array.isArray(given))
    return 'the additional directories are no list: give absolute paths such as ["/data/shared"]';
  if (given.length > MOST_FOLDERS)
    return `${given.length} additional directories are given: give at most ${MOST_FOLDERS}`;
  return given.map(extraFolderProblem).find((problem) => problem !== undefined);
}

function extraFolderProblem(path: unknown): string | undefined {
  if (typeof path !== 'string') return 'an additional directory is no text: give its absolute path';
  const about = `the additional directory ${JSON.stringify(path.slice(0, 200))}`;
  if (path.length > LONGEST_PATH) return `${about} has ${path.length} characters: give at most ${LONGEST_PATH}`;
  // Its name is told to the model on a line of its own.
  if (/\p{Cc}|[\u2028\u2029]/u.test(path)) return `${about} has a line end or another control character: rename it`;
  if (!path.startsWith('/')) return `${about} is not an absolute path: give one that begins with "/"`;
  if (/^\/+$/.test(path)) return `${about} is the whole machine: give the folders that are needed`;
  return undefined;
}
