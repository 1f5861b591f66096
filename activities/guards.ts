// A worker that is there to stop one run: it records what ends, and begins nothing, of any session (L47, L49).
import { ApplicationFailure } from '@temporalio/common';
import type { SessionId } from '../workflows/contract/ids.ts';
import type { Body } from './attempt.ts';
import { StoreError } from './transcript/store/store.ts';
import type { Deps } from './deps.ts';
import type { RunConfig } from './run/configuration.ts';

/** `run`: the one that is stopped, under way or about to open. */
export type Stops = { readonly session: SessionId; readonly run: number };

/** `unless`: what belongs to the stop all the same. */
type Refusal<Input> = { readonly unless?: (session: SessionId, input: Input) => boolean };

/** `stops`: null: the worker works, and bodies stay as they are. */
export function beginNothing(stops: Stops | null) {
  return <Input, Output>(
    body: Body<Input, Output>,
    { unless = () => false }: Refusal<Input> = {},
  ): Body<Input, Output> => {
    if (stops === null) return body;
    return async (attempt, input) => {
      if (unless(attempt.session, input)) return body(attempt, input);
      throw forAnotherWorker('StopsOnly', `this worker only stops session ${stops.session}: start one that works`);
    };
  };
}

// What this worker cannot take and another may: not a failure of the run. It is tried again after a while, until one takes it.

const kinds = ['NewerVersion', 'NoRealModel', 'HooksMissing', 'StopsOnly', 'KeyMissing'] as const;

/** `message`: what this worker lacks, and what to do. */
export function forAnotherWorker(kind: (typeof kinds)[number], message: string): ApplicationFailure {
  return ApplicationFailure.create({ type: kind, message, nextRetryDelay: '5s' });
}

/** Also of what a newer Perdure stored: `activity` makes one of it. */
export function isForAnotherWorker(error: unknown): boolean {
  if (error instanceof StoreError) return error.problem === 'newer';
  return error instanceof ApplicationFailure && kinds.some((kind) => kind === error.type);
}

// A run keeps its guards: it waits for a worker that has the hooks it was opened with. One that lacks them would let through what
// they deny, and end what they send back.

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

// A run of a real model waits for a worker that has one: the scripted model would end it, or summarise it away.

export function refuseScripted({ scripted }: Pick<Deps, 'scripted'>, config: Pick<RunConfig, 'scripted'>): void {
  if (!scripted || config.scripted) return;
  const message =
    'this worker has only the scripted model, and the run was begun with a real one: set ANTHROPIC_API_KEY';
  throw forAnotherWorker('NoRealModel', message);
}
