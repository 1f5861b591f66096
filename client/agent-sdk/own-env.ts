// The environment of a query: that of the program, or the one that it gives, which stands for the
// whole of it but for where the data is.
import { SetupProblem } from '../../system/setup-problem.ts';
import type { Env } from '../../connection/data-folder.ts';
import { isKeyless } from '../../worker/keyless.ts';

/**
 * Where Perdure is and what it is to do there: a program has one place, whatever variables it gives
 * to an agent.
 */
const OF_PLACE = /^(?:PERDURE_|TEMPORAL_|XDG_)|^HOME$/;

export function ownEnv(given: Env | undefined): Env {
  if (given === undefined) return process.env;
  return { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => OF_PLACE.test(name))), ...given };
}

/** A program is not answered by a model that only knows the demo. Throws SetupProblem. */
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
