// Checks the names and values of variables for tools. The client, the configuration and the
// activity that opens a run share it.

/**
 * Variables for shell commands and other tools, in addition to the ordinary ones; the model is
 * never told them. As an option they are kept as all options are, in Temporal's history and the
 * store: a secret belongs in the worker's configuration (`toolEnv`), which keeps it to its process.
 */
export type ToolEnv = Readonly<Record<string, string>>;

const MOST_VARIABLES = 100;
/** Characters. */
const LONGEST_NAME = 200;
const LONGEST_VALUE = 16_000;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/**
 * Settings and credentials of Perdure, its server and its model, which an agent's commands must not
 * have.
 */
const RESERVED_NAME = /^(?:PERDURE|TEMPORAL|ANTHROPIC)_/;
/**
 * Each of these changes which program runs, or what a shell does before a command that was judged
 * by its words.
 */
const CHANGES_COMMANDS = /^(?:LD_.*|DYLD_.*|BASH_ENV|BASH_FUNC_.*|BASHOPTS|SHELLOPTS|ENV|GIT_CONFIG.*)$/;
const SET_FOR_EACH = /^(?:PWD|LC_ALL|TERM)$/;

/**
 * Returns the end of a sentence that says why a variable of this name is not passed on; undefined
 * when it is.
 */
export function toolVariableProblem(name: string): string | undefined {
  if (name.length > LONGEST_NAME || !NAME.test(name))
    return 'is no name for one: give letters, digits and "_", not beginning with a digit';
  if (RESERVED_NAME.test(name))
    return 'is a setting of Perdure, its server or its model, which tools do not get: leave it out';
  if (CHANGES_COMMANDS.test(name)) return 'would change what a command does before it runs: leave it out';
  return SET_FOR_EACH.test(name) ? 'is set for each command: leave it out' : undefined;
}

/**
 * Returns a sentence, which never holds a value; undefined when the variables will do. They may
 * come from any Temporal client, so that even their types are uncertain.
 */
export function toolEnvProblem(env: unknown): string | undefined {
  if (env === undefined) return undefined;
  if (typeof env !== 'object' || env === null || Array.isArray(env))
    return 'the variables for tools are no object: give names and values, such as { "CI": "1" }';
  const entries = Object.entries(env as Readonly<Record<string, unknown>>);
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
