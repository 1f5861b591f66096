// One iteration's model call: append what came since, show the model its view, stream the reply, store it, say what the loop
// needs to know of it. Safe to attempt twice: a step record returns what an earlier attempt stored (L16).
import type { CallModel, ModelResult } from '../workflows/contract/activities.ts';
import { type Attempt, givenUp } from './attempt.ts';
import type { Deps } from './deps.ts';
import { promptHooks } from './hooks/prompt-hooks.ts';
import { announce } from './live/announce.ts';
import type { LiveWriter } from './live/events.ts';
import { finish } from './live/finish.ts';
import { orDied } from './live/or-died.ts';
import { announceGiven } from './model/announce-given.ts';
import { answerChecks } from './model/answer-schema.ts';
import { attemptReply } from './model/attempt-reply.ts';
import { chosenModel } from './model/chosen-model.ts';
import { afterWait, noTries, type Tries } from './model/failed-attempt.ts';
import { leftOfWait } from './model/kept-wait.ts';
import { buildRequest } from './model/request.ts';
import { refuseWithoutHooks } from './hooks/refuse-without-hooks.ts';
import { refuseScripted } from './model/refuse-scripted.ts';
import { replyPort } from './model/reply-port.ts';
import { retellLast, retellStored } from './model/retell-stored.ts';
import { inDoubt } from './model/run-open-calls.ts';
import { died, settle } from './model/settle.ts';
import { endWithout, type ModelStep } from './model/store-reply.ts';
import type { RunConfig } from './run-config.ts';
import { isForgotten, stepRecord } from './step-record.ts';
import type { Entry } from './transcript/log/entries.ts';
import type { Extended } from './transcript/transcripts.ts';

export function callModel(deps: Deps): (attempt: Attempt, input: CallModel) => Promise<ModelResult> {
  const checks = answerChecks();
  const prompts = promptHooks(deps);
  return async (attempt, input) => {
    const config = await deps.config(input.config);
    refuseScripted(deps, config);
    refuseWithoutHooks(deps, config);
    const record = stepRecord<ModelResult>(deps.store, attempt, config.chain, input);
    const known = await record.read(isForgotten(attempt));
    const live = opened(deps, attempt, input, known);
    return orDied(live, async () => {
      const given = await deps.transcripts.extend(attempt.session, input.head, input.append);
      if (input.retells) retellLast(deps, live, given.view);
      announceGiven(live, input, given);
      if (known) {
        await retellStored(deps, attempt.session, live, known, given);
        return await finish(live, inDoubt(known));
      }
      const tries = triesSoFar(attempt, input);
      const waits = await stillWaiting({ deps, attempt, input, config, live, record }, tries);
      if (waits) return await finish(live, waits);
      const told = await prompts(attempt, input, config, given, live);
      if (told.stop !== null) {
        const stop = { kind: 'hook_stopped', detail: told.stop, spend: tries.spend } as const;
        return await finish(live, await endWithout({ attempt, record, live, tries }, stop));
      }
      const collected = await collect(deps, config, given, told.entries);
      // What the superseded request has shown is not news.
      if (input.supersedes === undefined) announce(live, collected);
      const base = prepare(deps, given, collected);
      const chosen = chosenModel(config, input.model);
      const answer = checks(config.outputSchema);
      return await finish(
        live,
        await reply({ deps, attempt, input, config, chosen, answer, live, base, record, tries }),
      );
    });
  };
}

function opened(
  { live }: Deps,
  { session, number }: Attempt,
  { step, supersedes }: CallModel,
  known: ModelResult | null,
): LiveWriter {
  const replaced = supersedes === undefined ? {} : { supersedes };
  const again = known && 'head' in known ? { retells: step } : {};
  return live.open({ session, step, attempt: number, activity: 'callModel', ...replaced, ...again });
}

/** What prompt hooks said, then what is attached (L43). */
async function collect(
  deps: Deps,
  config: RunConfig,
  { view, added }: Extended,
  told: readonly Entry[],
): Promise<readonly Entry[]> {
  return [...told, ...(await deps.attachments.collect(config, { view, added: [...added, ...told] }))];
}

/** What is left of a wait that an attempt before this one was asked for: none, thrown for Temporal, or a parking (L14). */
async function stillWaiting(
  step: Pick<ModelStep, 'deps' | 'attempt' | 'input' | 'config' | 'live' | 'record'>,
  before: Tries,
): Promise<ModelResult | null> {
  const wait = await leftOfWait(step, before);
  if (!wait) return null;
  const { tries } = wait;
  return endWithout({ ...step, tries }, await died(step, tries, afterWait(wait, tries, step.config)));
}

/** What is stored before the reply: what the workflow gave, what is collected here, and what the view is to become (L6–L8). */
function prepare(deps: Deps, given: Extended, collected: readonly Entry[]): Extended {
  return deps.transcripts.prepared({ ...given, added: [...given.added, ...collected] }, deps.now());
}

/** What earlier attempts left; or the counts of the calls before a parking. */
function triesSoFar({ remembered }: Attempt, { failures = 0, overloads = 0 }: CallModel): Tries {
  return { ...noTries, failures, overloads, ...(remembered as Partial<Tries> | undefined) };
}

async function reply(step: ModelStep): Promise<ModelResult> {
  const { deps, attempt, input, config, chosen, live, base } = step;
  const { name } = chosen.model;
  const [messages] = await Promise.all([deps.transcripts.messages(base, name), deps.tools.refresh()]);
  const body = buildRequest(config, chosen, offered(step), messages, input);
  live.write({ type: 'request_start', iteration: input.iteration, attempt: attempt.number, model: name });
  const attempted = await attemptReply(body, replyPort(step));
  if (attempted.kind === 'aborted' && attempt.abortedBy() !== 'stop') {
    throw givenUp(attempt);
  }
  const result = await settle(step, attempted);
  if (!('head' in result)) return endWithout(step, result);
  deps.attachments.prefetch(config);
  return result;
}

/** As of now (L44), and only what a tool has left allowed (L38). */
function offered({ deps, input }: ModelStep): Deps['tools']['definitions'] {
  const allowed = input.context?.allowedTools;
  const { definitions } = deps.tools;
  return allowed === undefined ? definitions : definitions.filter(({ name }) => allowed.includes(name));
}
