// The options of `run` and `start`: checks what people write before anything starts.
import { accessSync, constants, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { optionsProblem, withChanges, OPTION_BOUNDS, RUN_OPTIONS } from '../client/faces/options.ts';
import type { OptionKind, RunOptions, OptionChanges, PermissionRules } from '../client/faces/types.ts';
import { sessionIdProblem, parseDuration } from '../client/faces/basics.ts';
import { oneLine } from '../client/faces/start.ts';
import { UsageError } from './errors.ts';
import { modelProblem } from '../models/find-model.ts';
import { addValue, isNone, NONE, pairsOf } from './repeatable.ts';
import { type JsonSchema, schemaProblem } from '../system/schema/json-schema.ts';
import { readNamedFile, whyUnread } from '../system/read-named-file.ts';

type OptionName = keyof RunOptions;
/** A switch is true or false, and a repeatable flag a list. */
type FlagValue = string | boolean | readonly string[];

/** The flags by the options that they give. The rules have a flag for each of their lists. */
export type RunFlags = { readonly [Name in Exclude<OptionName, 'permissions'>]?: FlagValue } & {
  readonly [List in keyof PermissionRules]?: readonly string[];
} & { readonly session?: string };

const HELP = `
These options also hold for the session's later prompts. The value "${NONE}" returns one to the worker's own setting. It does not work for
--cwd and --session; --no-wrap-up turns --wrap-up off.
Rules are replaced together: "--allow ${NONE}", "--deny ${NONE}" and "--ask ${NONE}" each remove all rules of all three kinds that are not
given in the same command. Tags are replaced together, too, and so are the variables of --tool-env and the folders of --add-dir.`;

const REPEATABLE: readonly OptionKind[] = ['folders', 'list', 'pairs'];

const RULE_FLAGS = {
  allow: 'run matching calls without asking, such as "bash(npm test:*)", "write(src/**)"',
  deny: 'never run matching calls, in any mode',
  ask: 'ask before matching calls, even if another rule allows them; not with mode bypass',
} satisfies Readonly<Record<keyof PermissionRules, string>>;

/** A flag whose value is found under the name of its option, whatever the flag is called. */
export class RunFlag extends Option {
  readonly option: OptionName;

  constructor(option: OptionName, flag: string, says: string) {
    super(flag, says);
    this.option = option;
  }

  override attributeName(): string {
    return this.option;
  }
}

/** Makes the flags of an option; none for one that only programs give. */
function flagsOf(name: OptionName): readonly Option[] {
  const { kind, flag, says, hint = '', off, values } = RUN_OPTIONS[name];
  if (kind === 'rules')
    return Object.entries(RULE_FLAGS).map(([list, rule]) =>
      new Option(`--${list} <rule>`, `${rule}; repeatable`).argParser(addValue),
    );
  if (flag === undefined) return [];
  if (REPEATABLE.includes(kind)) return [new RunFlag(name, flag, `${says}; repeatable`).argParser(addValue)];
  const choices = values === undefined ? '' : `: ${values.join(', ')}`;
  const option = new RunFlag(name, flag, `${says}${choices}${hint}`);
  return off === undefined ? [option] : [option, new RunFlag(name, flag.replace('--', '--no-'), off)];
}

const names = Object.keys(RUN_OPTIONS) as readonly OptionName[];

/** Adds the flags of options alone, for a command that names no session. */
export function addOptionFlags(command: Command): Command {
  for (const flag of names.flatMap(flagsOf)) command.addOption(flag);
  return command;
}

export function addRunOptions(command: Command): Command {
  return addOptionFlags(command)
    .option('--session <id>', 'the session’s id; if that session is open, the task becomes its next message')
    .addHelpText('after', HELP);
}

/** Returns only the given options, with null for one that is taken back. Throws UsageError. */
export function runOptions(flags: RunFlags, base: () => string): OptionChanges & { readonly session?: string } {
  const { session } = flags;
  const changes = readFlags(flags, names, base);
  const options = withChanges<Partial<RunOptions>>({}, changes);
  const problem =
    optionsProblem(options) ?? modelProblem(options) ?? (session === undefined ? undefined : sessionIdProblem(session));
  if (problem !== undefined) throw new UsageError(problem);
  return session === undefined ? changes : { ...changes, session };
}

/** Reads the flags of some options, unchecked. Throws UsageError for what cannot be read. */
export function readFlags(flags: RunFlags, options: readonly OptionName[], base: () => string): OptionChanges {
  const read = options.flatMap((name) => {
    if (name === 'permissions') return rulesOf(flags);
    const value = flags[name];
    return value === undefined ? [] : [[name, readFlag(name, value, base)] as const];
  });
  return Object.fromEntries(read) as OptionChanges;
}

function readFlag(name: OptionName, value: FlagValue, base: () => string): unknown {
  const { kind, flag = '' } = RUN_OPTIONS[name];
  const [long = ''] = flag.split(' ');
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string') return isNone(long, value) ? null : readList(kind, long, value, base);
  if (kind === 'folder') return parseWorkspace(value, base());
  if (value === NONE) return null;
  switch (kind) {
    case 'number':
      return parseNumber(long, value);
    case 'time':
      return parseTime(long, value);
    case 'names':
      // An empty list names no tool.
      return value.split(',').flatMap((item) => (item.trim() === '' ? [] : [item.trim()]));
    case 'schema':
      return readSchema(resolve(base(), value));
    default:
      return value;
  }
}

/** Reads the values of a repeatable flag, which replace the earlier ones together. */
function readList(kind: OptionKind, flag: string, values: readonly string[], base: () => string): unknown {
  if (kind === 'pairs') return pairsOf(flag, values);
  if (kind === 'list') return values;
  // As with --cwd, an unset variable must not open the current folder.
  if (values.includes('')) throw new UsageError(`${flag} is empty: name a directory`);
  return values.map((path) => resolve(base(), path));
}

/**
 * Reads all rules, which replace the earlier ones together; when none is left, `permissions` is
 * null.
 */
function rulesOf({ allow, deny, ask }: RunFlags): readonly (readonly [OptionName, unknown])[] {
  const lists = Object.entries({ allow, deny, ask }).flatMap(([list, rules]) =>
    rules ? [[list, rules] as const] : [],
  );
  if (lists.length === 0) return [];
  const remaining = lists.filter(([list, rules]) => !isNone(`--${list}`, rules));
  return [['permissions', remaining.length === 0 ? null : Object.fromEntries(remaining)]];
}

/** Returns the absolute path of a readable directory. Throws UsageError. */
export function parseWorkspace(dir: string, base: string): string {
  // An unset variable of the shell must not aim the agent at the current folder.
  if (dir === '') throw new UsageError('--cwd is empty: name a directory, or . for this one');
  const path = resolve(base, dir);
  try {
    if (!statSync(path).isDirectory()) throw new UsageError(`${path} is not a directory: give one with --cwd`);
    accessSync(path, constants.R_OK | constants.X_OK);
    return path;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    const why =
      code === 'EACCES' ? 'cannot be read' : code === 'ENOENT' ? 'does not exist' : `cannot be used (${String(code)})`;
    throw new UsageError(`the directory ${path} ${why}: give another with --cwd`);
  }
}

function parseNumber(flag: string, text: string): number {
  const value = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text.trim()) ? Number(text) : Number.NaN;
  if (Number.isNaN(value)) throw new UsageError(`${flag} ${JSON.stringify(text)} is not a number`);
  return value;
}

export function parseTime(flag: string, text: string): number {
  const value = parseDuration(text);
  if (value === null)
    throw new UsageError(`${flag} ${JSON.stringify(text)} is not a time: write 1500ms, 90s, 30m or 2h`);
  return value;
}

/** Most bytes of the file, including whitespace; a larger schema would be refused anyway. */
const LARGEST = 1024 * 1024;

/**
 * Reads the JSON schema of --output-schema at the absolute `path`. Throws UsageError, also for a
 * schema that an answer cannot be checked against (L53).
 */
export function readSchema(path: string): JsonSchema {
  const value = parseJson(path, readContent(path));
  if (!isObject(value))
    throw new UsageError(
      `the output schema ${path} is not a JSON object: write a JSON schema such as {"type": "object"}`,
    );
  const problem = schemaProblem(value);
  if (problem !== undefined) throw new UsageError(problem);
  return value;
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readContent(path: string): string {
  try {
    const { size } = statSync(path);
    if (size > LARGEST)
      throw new UsageError(
        `the output schema ${path} has ${size} bytes: give at most ${LARGEST}, and ${OPTION_BOUNDS.outputSchema} characters of JSON`,
      );
    return readNamedFile(path);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`the output schema ${path} ${whyUnread(error)}`);
  }
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new UsageError(`the output schema ${path} is not JSON: ${oneLine(error.message, 200)}`);
  }
}
