// A worker that is there to stop one run: it records what ends, and begins nothing, of any session
// (L47, L49).
import { agentSessionId, type SessionId } from '../workflows/contract/ids.ts';
import type { TellAlert } from '../workflows/contract/activities.ts';
import { type Body, forAnotherWorker, type Attempt, isForAnotherWorker } from './attempt.ts';
import type { Deps } from './deps.ts';
import type { RunConfig } from '../store/configuration.ts';
import { z } from 'zod';
import { ApplicationFailure } from '@temporalio/common';

/** `run`: the one that is stopped, under way or about to open. */
export type Stops = { readonly session: SessionId; readonly run: number };

/** The session that is stopped, or an agent below it, which is stopped with it. */
export function isStoppedBy(stops: Stops | null, session: SessionId): boolean {
  return stops !== null && (session === stops.session || session.startsWith(agentSessionId(stops.session, 'agent-')));
}

/** The question is withdrawn with the stop: nobody is told any more that someone is waited for. */
export function withoutWithdrawn(stops: Stops | null, tell: Body<TellAlert, void>): Body<TellAlert, void> {
  return async (attempt, input) => {
    if (input.alert.kind === 'waiting' && isStoppedBy(stops, attempt.session)) return;
    await tell(attempt, input);
  };
}

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

// A run keeps its guards: it waits for a worker that has the hooks it was opened with. One that
// lacks them would let through what they deny, and end what they send back.

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

// A run of a real model waits for a worker that has one: the scripted model would end it, or
// summarise it away.

export function refuseScripted({ scripted }: Pick<Deps, 'scripted'>, config: Pick<RunConfig, 'scripted'>): void {
  if (!scripted || config.scripted) return;
  const message =
    'this worker has only the scripted model, and the run was begun with a real one: set ANTHROPIC_API_KEY';
  throw forAnotherWorker('NoRealModel', message);
}

// Activities beside the loop are tried a few times only. What an attempt leaves to another worker
// is no try.

/** `tries`: begun so far. `left`: what the body remembered; JSON has no place for undefined. */
const countSchema = z.object({ tries: z.number(), left: z.unknown().optional() });

/**
 * An attempt counts from its first heartbeat, at once when there was one before it: so there may be
 * one more than `most`, but a body that kills its worker is not begun for ever. Throws what cannot
 * be retried when they are spent.
 */
export function limitTries<Input, Output>(most: number, body: Body<Input, Output>): Body<Input, Output> {
  return async (attempt, input) => {
    const counted = countSchema.safeParse(attempt.remembered);
    const before = counted.success ? counted.data : { tries: 0, left: undefined };
    if (before.tries >= most) {
      const message = `tried ${most} times, and each ended without a result`;
      throw ApplicationFailure.create({ type: 'TriesSpent', message, nonRetryable: true });
    }
    const tries = before.tries + 1;
    let { left } = before;
    const remember: Attempt['remember'] = (details, when) => {
      left = details;
      attempt.remember({ tries, left }, when);
    };
    remember(left, attempt.number > 1 ? 'now' : undefined);
    try {
      return await body({ ...attempt, remembered: before.left, remember }, input);
    } catch (error) {
      attempt.remember({ tries: isForAnotherWorker(error) ? before.tries : tries, left }, 'now');
      throw error;
    }
  };
}
