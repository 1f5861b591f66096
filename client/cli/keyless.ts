// Without a key the scripted model answers, and it can do one task only. Asked before anything is started.
import { isKeyless } from '../../worker/keyless.ts';
import { DEMO_TASK, isDemoTask } from '../../worker/scripted-model/demo/demo-task.ts';
import type { Env } from '../../worker/embedded/data-folder.ts';
import { UsageError } from './errors.ts';

/** Throws UsageError when a worker with this environment could not do the task. */
export function refuseWithoutKey(env: Env, task: string): void {
  if (!isKeyless(env) || isDemoTask(task)) return;
  const can = `without a key only this can be done, by the scripted model: "${DEMO_TASK}"`;
  throw new UsageError(`no ANTHROPIC_API_KEY is set (nor ANTHROPIC_BASE_URL): set it for a real model; ${can}`);
}
