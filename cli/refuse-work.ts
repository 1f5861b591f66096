// Refuses work before anything starts: what the scripted model cannot do, and a permission rule
// that must have meant another tool. The scripted model answers when no key is set and knows one
// task only: other tasks are refused, and it does not end what a real model has begun.
import type { Env } from '../connection/data-folder.ts';
import { isKeyless } from '../client/faces/processes.ts';
import type { PerdureClient, PerdureConfig, OptionChanges } from '../client/faces/types.ts';
import { oneLine } from '../client/faces/start.ts';
import { isUnderWay } from '../client/faces/lists.ts';
import { WEB_SEARCH } from '../client/faces/words.ts';
import { builtinNames, mistakenRule } from '../client/faces/rules.ts';
import { isDemoTask } from '../scripted-model/demo/demo-task.ts';
import { UsageError } from './errors.ts';

export const NO_KEY =
  'No API key found. Set ANTHROPIC_API_KEY to use Claude, or try the built-in demo: `perdure run --demo`.';

/** Throws UsageError when a worker with this environment could not do the task. */
export function refuseWithoutKey(env: Env, task: string): void {
  if (!isKeyless(env) || isDemoTask(task)) return;
  throw new UsageError(NO_KEY);
}

/**
 * Throws UsageError when a worker with this environment would continue a run that needs a real
 * model.
 */
export async function refuseToSpoil(env: Env, sessions: Pick<PerdureClient, 'list'>): Promise<void> {
  if (!isKeyless(env)) return;
  for await (const info of sessions.list({ open: true })) {
    const { session, title } = info;
    if (!isUnderWay(info) || isDemoTask(title)) continue;
    const what = `session ${session} ("${oneLine(title, 60)}") is unfinished and needs a real model`;
    throw new UsageError(`${what}: set ANTHROPIC_API_KEY, cancel it, or set PERDURE_DATA to another folder`);
  }
}

/**
 * Throws UsageError for a rule, given or configured, whose tool is nearly called so. Tools that a
 * function of the configuration brings are known to the worker alone, which then judges.
 */
export function refuseMistakenRules({ permissions }: OptionChanges, config: PerdureConfig): void {
  const { tools = [] } = config;
  if (typeof tools === 'function') return;
  const names = [...builtinNames, WEB_SEARCH, ...tools.map(({ name }) => name)];
  const problem = mistakenRule(permissions ?? {}, names) ?? mistakenRule(config.permissions ?? {}, names);
  if (problem !== undefined) throw new UsageError(problem);
}
