// Guards around activities. A worker started only to stop one run records what ends and begins
// nothing, in any session (L47, L49). A run keeps its guards and its kind of model, and side work
// is tried only a few times.
import { agentSessionId, type SessionId } from '../workflows/contract/ids.ts';
import type { TellAlert } from '../workflows/contract/activities.ts';
import { type ActivityBody, type Attempt, forAnotherWorker, isForAnotherWorker } from './attempt.ts';
import type { ModelDeps } from './model-deps.ts';
import type { RunConfig } from '../store/configuration.ts';
import { z } from 'zod';
import { ApplicationFailure } from '@temporalio/common';

/** `run` is the run that is stopped, under way or about to open. */
export type StopOrder = { readonly session: SessionId; readonly run: number };

/** Tells whether the session is the stopped one, or an agent below it, which is stopped with it. */
export function isStoppedBy(stops: StopOrder | null, session: SessionId): boolean {
  return stops !== null && (session === stops.session || session.startsWith(agentSessionId(stops.session, 'agent-')));
}

/** Skips the alert that someone is waited for: the question is withdrawn with the stop. */
export function skipWithdrawnAlert(
  stops: StopOrder | null,
  tell: ActivityBody<TellAlert, void>,
): ActivityBody<TellAlert, void> {
  return async (attempt, input) => {
    if (input.alert.kind === 'waiting' && isStoppedBy(stops, attempt.session)) return;
    await tell(attempt, input);
  };
}

/** `unless` tells which input belongs to the stop all the same. */
type RefusalOptions<Input> = { readonly unless?: (session: SessionId, input: Input) => boolean };

/** Makes bodies that begin nothing. With null the worker works, and bodies stay as they are. */
export function refuseToBegin(stops: StopOrder | null) {
  return <Input, Output>(
    body: ActivityBody<Input, Output>,
    { unless = () => false }: RefusalOptions<Input> = {},
  ): ActivityBody<Input, Output> => {
    if (stops === null) return body;
    return async (attempt, input) => {
      if (unless(attempt.session, input)) return body(attempt, input);
      throw forAnotherWorker('StopsOnly', `this worker only stops session ${stops.session}: start one that works`);
    };
  };
}

/**
 * Leaves a run to a worker that has the hooks it was opened with. A worker that lacks them would
 * let through what they deny, and end what they send back.
 */
export function refuseWithoutHooks({ hooks }: Pick<ModelDeps, 'hooks'>, config: Pick<RunConfig, 'hooks'>): void {
  const missing = removeOnce(config.hooks ?? [], hooks.deciding);
  if (missing.length === 0) return;
  const message = `this worker lacks hooks that the run was begun with (${missing.join(', ')}): start one with their --config, or interrupt the run`;
  throw forAnotherWorker('HooksMissing', message);
}

/**
 * Removes each taken name once; a name may occur more than once, because functions need not have
 * one.
 */
function removeOnce(names: readonly string[], removed: readonly string[]): readonly string[] {
  const left = [...removed];
  return names.filter((name) => {
    const at = left.indexOf(name);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

/**
 * Leaves a run of a real model to a worker that has one: the scripted model would end it, or
 * summarise it away.
 */
export function refuseScriptedModel(
  { scripted }: Pick<ModelDeps, 'scripted'>,
  config: Pick<RunConfig, 'scripted'>,
): void {
  if (!scripted || config.scripted) return;
  const message =
    'this worker has only the scripted model, and the run was begun with a real one: set ANTHROPIC_API_KEY';
  throw forAnotherWorker('NoRealModel', message);
}

/**
 * `tries` counts the attempts begun so far. `left` is what the body remembered; JSON has no place
 * for undefined.
 */
const countSchema = z.object({ tries: z.number(), left: z.unknown().optional() });

/**
 * Limits the attempts of side work; work left to another worker counts as no attempt. An attempt
 * counts from its first heartbeat, at once when there was one before it: so there may be one more
 * than `most`, but a body that kills its worker is not begun for ever. Throws what cannot be
 * retried when the attempts are spent.
 */
export function limitTries<Input, Output>(
  most: number,
  body: ActivityBody<Input, Output>,
): ActivityBody<Input, Output> {
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
