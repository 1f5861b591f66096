// Returns the environment of a query: the program's own, or the one that it gives, which replaces
// all of it except the variables that say where the data is.
import { SetupProblem } from '../../system/setup-problem.ts';
import type { Env } from '../../connection/data-folder.ts';
import { isKeyless } from '../faces/processes.ts';

/** These say where Perdure runs. A program has one such place, whatever it gives to an agent. */
const OF_PLACE = /^(?:PERDURE_|TEMPORAL_|XDG_)|^HOME$/;

export function ownEnv(env: Env | undefined): Env {
  if (env === undefined) return process.env;
  return { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => OF_PLACE.test(name))), ...env };
}

/** Throws SetupProblem without a key, since the scripted demo model must not answer a program. */
export function requireKey(env: Env, isGiven: boolean): void {
  if (!isKeyless(env)) return;
  const cloud = ['CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX', 'CLAUDE_CODE_USE_FOUNDRY'].find(
    (name) => env[name],
  );
  const where = isGiven ? 'in options.env, which stands for the whole environment' : 'in the environment';
  const why = cloud === undefined ? 'query() has no key of the model API' : `${cloud} is not known here`;
  throw new SetupProblem(
    `${why}: set ANTHROPIC_API_KEY, or ANTHROPIC_AUTH_TOKEN, or ANTHROPIC_BASE_URL for a gateway of your own, ${where}`,
  );
}
