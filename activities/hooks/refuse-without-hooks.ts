// A run keeps its guards: it waits for a worker that has the hooks it was opened with. One that lacks them would let through what
// they deny, and end what they send back.
import type { Deps } from '../deps.ts';
import { forAnotherWorker } from '../for-another-worker.ts';
import type { RunConfig } from '../run-config.ts';

export function refuseWithoutHooks({ hooks }: Pick<Deps, 'hooks'>, config: Pick<RunConfig, 'hooks'>): void {
  const missing = without(config.hooks ?? [], hooks.deciding);
  if (missing.length === 0) return;
  const message = `this worker lacks hooks that the run was begun with (${missing.join(', ')}): start one with their --config, or interrupt the run`;
  throw forAnotherWorker('HooksMissing', message);
}

/** A name may stand there more than once: functions need not have one. */
function without(names: readonly string[], taken: readonly string[]): readonly string[] {
  const left = [...taken];
  return names.filter((name) => {
    const at = left.indexOf(name);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}
