// One iteration's model call: append what came since, show the model its view, stream the reply, store it, say what the loop
// needs to know of it. Safe to attempt twice: a step record returns what an earlier attempt stored (L16).
import { ApplicationFailure } from '@temporalio/common';
import type { CallModel, ModelResult } from '../workflows/contract/activities.ts';
import type { Attempt } from './attempt.ts';
import type { Deps } from './deps.ts';
import { announce } from './live/announce.ts';
import type { LiveWriter } from './live/events.ts';
import { orDied } from './live/or-died.ts';
import { retell } from './live/retell.ts';
import { attemptReply } from './model/attempt-reply.ts';
import { noTries, type Tries } from './model/failed-attempt.ts';
import { buildRequest } from './model/request.ts';
import { replyPort } from './model/reply-port.ts';
import { settle } from './model/settle.ts';
import type { ModelStep } from './model/store-reply.ts';
import type { RunConfig } from './run-config.ts';
import { stepRecord } from './step-record.ts';
import type { Entry } from './transcript/entries.ts';
import { lastReply } from './transcript/view.ts';

export function callModel(deps: Deps): (attempt: Attempt, input: CallModel) => Promise<ModelResult> {
  return async (attempt, input) => {
    const config = await deps.config(input.config);
    refuseScripted(deps, config);
    const record = stepRecord<ModelResult>(deps.store, attempt.session, config.chain, input);
    const known = await record.read();
    const { step, supersedes } = input;
    const live = deps.live.open({
      session: attempt.session,
      step,
      attempt: attempt.number,
      activity: 'callModel',
      ...(supersedes === undefined ? {} : { supersedes }),
    });
    return orDied(live, async () => {
      const base = await deps.transcripts.extend(attempt.session, input.head, input.append);
      announce(live, supersedes === undefined ? base.added : base.added.filter(isLast(input)));
      if (known) {
        await retellStored(deps, attempt, live, known);
        return await finish(live, known);
      }
      const tries = (attempt.remembered as Tries | undefined) ?? { ...noTries, failures: input.failures ?? 0 };
      return await finish(live, await reply({ deps, attempt, input, config, live, base, record, tries }));
    });
  };
}

/** A run of a real model waits for a worker that has one: the scripted model would end it. */
function refuseScripted({ scripted }: Deps, config: RunConfig): void {
  if (!scripted || config.scripted) return;
  const message =
    'this worker has only the scripted model, and the run was begun with a real one: set ANTHROPIC_API_KEY';
  throw ApplicationFailure.create({ type: 'NoRealModel', message, nextRetryDelay: '5s' });
}

/** Of what a request appends again, only its own transition is news to watchers (L26). */
function isLast({ iteration }: CallModel): (entry: Entry) => boolean {
  return (entry) => entry.kind === 'transition' && entry.iteration === iteration;
}

/** An earlier attempt stored its reply and died before it could say so: what it had shown was taken back. */
async function retellStored(deps: Deps, { session }: Attempt, live: LiveWriter, known: ModelResult): Promise<void> {
  const view = 'head' in known ? await deps.transcripts.view(session, known.head) : null;
  const last = view && lastReply(view);
  if (!view || !last) return;
  const outcomes = view.from(last.position).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
  retell(live, last.reply, outcomes);
}

async function finish(live: LiveWriter, result: ModelResult): Promise<ModelResult> {
  if ('head' in result) await live.end({ type: 'fate', fate: 'stored', head: result.head });
  else await live.end({ type: 'fate', fate: 'died', why: 'detail' in result ? result.detail : result.kind });
  return result;
}

async function reply(step: ModelStep): Promise<ModelResult> {
  const { deps, attempt, input, config, live, base } = step;
  const messages = await deps.transcripts.messages(base);
  const body = buildRequest(config, deps.tools.definitions, messages, input.cap);
  live.write({ type: 'request_start', iteration: input.iteration, attempt: attempt.number, model: config.model });
  const attempted = await attemptReply(body, replyPort(deps, attempt, config, live, input, step.tries));
  if (attempted.kind === 'aborted' && attempt.abortedBy() !== 'stop') {
    // Not a stop (L50): the run goes on elsewhere, with nothing of this attempt.
    throw new Error(`the attempt was given up: ${attempt.abortedBy() ?? 'unknown'}`);
  }
  return settle(step, attempted);
}
