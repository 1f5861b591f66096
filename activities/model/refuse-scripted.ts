// A run of a real model waits for a worker that has one: the scripted model would end it, or summarise it away.
import type { Deps } from '../deps.ts';
import { forAnotherWorker } from '../for-another-worker.ts';
import type { RunConfig } from '../run-config.ts';

export function refuseScripted({ scripted }: Pick<Deps, 'scripted'>, config: Pick<RunConfig, 'scripted'>): void {
  if (!scripted || config.scripted) return;
  const message =
    'this worker has only the scripted model, and the run was begun with a real one: set ANTHROPIC_API_KEY';
  throw forAnotherWorker('NoRealModel', message);
}
