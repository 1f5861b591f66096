// Without a key the scripted model answers, and it can do one task only: others are refused before they are begun, and those that
// a real model has begun are not ended by it.
import { isKeyless } from '../../worker/keyless.ts';
import { DEMO_TASK, isDemoTask } from '../../worker/scripted-model/demo/rounds.ts';
import type { Env } from '../../worker/embedded/data-folder.ts';
import type { PerdureClient } from '../client.ts';
import { oneLine } from '../render/plain.ts';
import { isUnderWay } from '../sessions/info.ts';
import { UsageError } from './errors.ts';

/** Throws UsageError when a worker with this environment could not do the task. */
export function refuseWithoutKey(env: Env, task: string): void {
  if (!isKeyless(env) || isDemoTask(task)) return;
  const can = `without a key, the scripted model can do only this task: "${DEMO_TASK}"`;
  throw new UsageError(`no ANTHROPIC_API_KEY is set (nor ANTHROPIC_BASE_URL): set it for a real model; ${can}`);
}

/** Throws UsageError when a worker with this environment would take up a run that needs a real model. */
export async function refuseToSpoil(env: Env, sessions: Pick<PerdureClient, 'list'>): Promise<void> {
  if (!isKeyless(env)) return;
  for await (const info of sessions.list({ open: true })) {
    const { session, title } = info;
    if (!isUnderWay(info) || isDemoTask(title)) continue;
    const what = `session ${session} ("${oneLine(title, 60)}") is unfinished and needs a real model`;
    throw new UsageError(`${what}: set ANTHROPIC_API_KEY, cancel it, or set PERDURE_DATA to another folder`);
  }
}
