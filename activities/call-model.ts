// One iteration's model call: append what came since, show the model its view, stream the reply,
// store it, say what the loop needs to know of it. Safe to attempt twice: a step record returns
// what an earlier attempt stored (L16).
import type { CallModel, ModelCallAnswer, ModelResult, FindReply } from '../workflows/contract/activities.ts';
import { type Attempt, describeGivenUp } from './attempt.ts';
import { shareInFlight } from '../system/async.ts';
import type { Deps } from './deps.ts';
import { recordEnds } from './calls/record-ends.ts';
import { RecentMap } from '../system/recent-map.ts';
import { promptHooks } from './run/around-runs.ts';
import { announceEntries, endWithResult, announceBoundary, endIfThrows } from '../store/live/tell.ts';
import { retellReply } from '../store/live/retell.ts';
import type { LiveWriter } from '../store/live/events.ts';
import { answerChecks } from './model/answer-schema.ts';
import { chosenModel, keepsPast, withFacts } from './model/request.ts';
import { afterWait, noTries, type Tries, leftOfWait } from './model/refused/failed-attempt.ts';
import { refuseWithoutHooks, refuseScripted } from './guards.ts';
import { inDoubt } from './model/run-open-calls.ts';
import { notAgain, settleDeath, settle } from './model/settle.ts';
import { requestReply } from './model/request-reply.ts';
import { endWithout, observableMessage } from './model/store-reply.ts';
import type { ModelStep } from './model/step.ts';
import type { RunConfig } from '../store/configuration.ts';
import { isForgotten, ownHeads, stepRecord } from './step-record.ts';
import type { Entry } from '../store/log/entries.ts';
import { entriesOf, type Extended } from '../store/transcript/transcripts.ts';
import { addSpend, noSpend, totalTokens } from '../workflows/contract/loop.ts';
import type { SessionId } from '../workflows/contract/ids.ts';
import { lastReply, type View } from '../store/view/view.ts';

export function callModel(deps: Deps): (attempt: Attempt, input: CallModel) => Promise<ModelCallAnswer> {
  const checks = answerChecks();
  const prompts = promptHooks(deps);
  const heads = ownHeads();
  const above = sessionsAbove();
  return async (attempt, input) => {
    const config = await deps.config(input.config);
    refuseScripted(deps, config);
    refuseWithoutHooks(deps, config);
    const record = stepRecord<ModelResult>(deps.store, attempt, config.chain, input);
    // Nobody has made the step after a head that this worker has just written: the create says so
    // if someone has (W2).
    const known = heads.isNew(attempt, input.head) ? null : await record.read(isForgotten(attempt));
    const append = await recordEnds(deps, attempt, input);
    const live = opened(deps, attempt, input, known);
    return endIfThrows(live, async () => {
      const given = await deps.transcripts.extend(attempt.session, input.head, append);
      if (input.retells) retellLast(deps, live, given.view);
      announceGiven(live, input, given);
      if (known) {
        await retellStored(deps, attempt.session, live, known, given);
        return await endWithResult(live, inDoubt(known));
      }
      const tries = triesSoFar(attempt, input);
      const orphaned = await above(attempt, config);
      if (orphaned !== null) {
        const gone = { kind: 'failed', detail: orphaned, spend: tries.spend } as const;
        return await endWithResult(live, await endWithout({ attempt, record, live, tries }, gone));
      }
      const spent = notAgain(input, tries, 'its worker ended while the model answered');
      if (spent) return await endWithResult(live, await endWithout({ attempt, record, live, tries }, spent));
      const waits = await stillWaiting({ deps, attempt, input, config, live, record }, tries);
      if (waits) return await endWithResult(live, waits);
      const told = await prompts(attempt, input, config, given, live);
      if (told.stop !== null) {
        const stop = { kind: 'hook_stopped', detail: told.stop, spend: tries.spend } as const;
        return await endWithResult(live, await endWithout({ attempt, record, live, tries }, stop));
      }
      const collected = await collect(deps, config, given, told.entries);
      // Events of the superseded request are not news.
      if (input.supersedes === undefined) announceEntries(live, collected);
      const asked = chosenModel(config, input.model);
      const chosen = { ...asked, model: withFacts(asked.model, deps.models) };
      const keeps = keepsPast(config, chosen.model, deps.models);
      const more = { ...given, added: [...given.added, ...collected] };
      const base = deps.transcripts.shrinkResults(more, deps.now(), keeps);
      const answer = checks(config.outputSchema);
      const result = await reply({ deps, attempt, input, config, chosen, answer, live, base, record, tries });
      heads.wrote(attempt, record.own());
      return await endWithResult(live, result);
    });
  };
}

/** Milliseconds for which a root that was there counts as there. */
const ROOT_SEEN_MS = 10_000;
const MOST_ROOTS = 1_000;

/**
 * An agent whose parent, or the session that a person began, was ended from outside finds out here,
 * once an iteration, and ends (L64): returns why. The parent is asked for each time, a root above
 * it once in a while for all agents below it.
 */
function sessionsAbove() {
  const looks = shareInFlight<SessionId, boolean>();
  const seen = new RecentMap<SessionId, number>(MOST_ROOTS);
  return async ({ isOver }: Pick<Attempt, 'isOver'>, { agent }: RunConfig): Promise<string | null> => {
    if (!agent || !isOver) return null;
    const { parent, root } = agent;
    if (await looks(parent, isOver)) return `session ${parent}, which started this agent, is over`;
    if (root === parent || performance.now() - (seen.get(root) ?? -Infinity) < ROOT_SEEN_MS) return null;
    if (await looks(root, isOver)) return `session ${root}, which this agent works for, is over`;
    seen.set(root, performance.now());
    return null;
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

/** Collects the words of prompt hooks, then the attachments (L43). */
async function collect(
  deps: Deps,
  config: RunConfig,
  { view, added }: Extended,
  told: readonly Entry[],
): Promise<readonly Entry[]> {
  return [...told, ...(await deps.attachments.collect(config, { view, added: [...added, ...told] }))];
}

/**
 * The rest of a wait that an earlier attempt was asked for: none, thrown for Temporal, or a parking
 * (L14).
 */
async function stillWaiting(
  step: Pick<ModelStep, 'deps' | 'attempt' | 'input' | 'config' | 'live' | 'record'>,
  before: Tries,
): Promise<ModelResult | null> {
  const wait = await leftOfWait(step, before);
  if (!wait) return null;
  const { tries } = wait;
  return endWithout({ ...step, tries }, await settleDeath(step, tries, afterWait(wait, tries, step.config)));
}

/** Returns the counts that earlier attempts left, or those of the calls before a parking. */
function triesSoFar({ remembered }: Attempt, { failures = 0, overloads = 0 }: CallModel): Tries {
  return { ...noTries, failures, overloads, ...(remembered as Partial<Tries> | undefined) };
}

/** What was asked beside the loop since the last call is billed with this one (L80). */
function withPicks(step: ModelStep): ModelStep {
  const { deps, attempt, tries } = step;
  const picks = deps.memory?.takeSpend(attempt.session) ?? noSpend;
  if (totalTokens(picks.usage) === 0) return step;
  const all = { ...tries, spend: addSpend(tries.spend, picks) };
  attempt.remember(all);
  return { ...step, tries: all };
}

async function reply(given: ModelStep): Promise<ModelCallAnswer> {
  await given.deps.tools.refresh();
  const { step, attempted } = await requestReply(withPicks(given));
  const { deps, attempt, config } = step;
  if (attempted.kind === 'aborted' && attempt.abortedBy() !== 'stop') {
    throw describeGivenUp(attempt);
  }
  const result = await settle(step, attempted);
  if (!('head' in result)) return endWithout(step, result);
  deps.memory?.prepare(step);
  deps.attachments.prefetch(config);
  return result;
}

// Finds the outcome of a model call that was stopped when its worker was gone: its stored reply, or
// nothing (L39, L47). Recording that there is nothing is a fence: an attempt that is still alive
// somewhere stores no reply after it, and so begins no call either. What became of the calls of a
// reply is asked of `runTool`.

const nothing: ModelResult = { kind: 'nothing', spend: noSpend };

export function findReply(deps: Deps): (attempt: Attempt, input: FindReply) => Promise<ModelResult> {
  return async (attempt, { call, step }) => {
    const { session, number } = attempt;
    const { chain } = await deps.config(call.config);
    const record = stepRecord<ModelResult>(deps.store, attempt, chain, call);
    const known = (await record.read()) ?? (await record.record(nothing)).result;
    if (!('head' in known)) return known;
    // The events of the lost attempt are void, whatever it said last: they are told again here.
    const place = { session, step, attempt: number, activity: 'callModel', supersedes: call.step } as const;
    const live = deps.live.open({ ...place, retells: call.step });
    return endIfThrows(live, async () => {
      const given = await deps.transcripts.extend(session, call.head, call.append);
      announceGiven(live, call, given);
      await retellStored(deps, session, live, known, given);
      return endWithResult(live, inDoubt(known));
    });
  };
}

// The entries before the reply, told to watchers. Of those that a request appends again, only its
// own transition is news, and that it is the last (L26, L51).

function announceGiven(live: LiveWriter, call: CallModel, { view, added }: Extended): void {
  announceEntries(live, call.supersedes === undefined ? added : added.filter(isLast(call)));
  if (call.supersedes === undefined || added.at(-1)?.kind === 'boundary') tellPrepared(live, call, { view, added });
}

/** A compaction that was prepared beside the run is told where it takes effect. */
function tellPrepared(live: LiveWriter, { iteration }: Pick<CallModel, 'iteration'>, given: Extended): void {
  const at = given.added.findIndex(({ kind }) => kind === 'boundary');
  if (at >= 0) announceBoundary(live, iteration, entriesOf(given), given.view.length + at);
}

function isLast({ iteration }: CallModel): (entry: Entry) => boolean {
  return (entry) =>
    (entry.kind === 'transition' && entry.iteration === iteration) ||
    (entry.kind === 'notice' && entry.notice.kind === 'wrap_up');
}

// An earlier attempt stored its reply and died before it could say so: what it had shown was taken
// back, and is told again.

/** `given`: what the step appended before its reply. Throws StoreError. */
async function retellStored(
  { transcripts, tools }: Pick<Deps, 'transcripts' | 'tools'>,
  session: SessionId,
  live: LiveWriter,
  known: ModelResult,
  given: Extended,
): Promise<void> {
  const view = 'head' in known ? await transcripts.view(session, known.head) : null;
  if (!view || !lastReply(view)) return;
  // The entries collected for it; the reply itself is told below.
  announceEntries(live, view.from(given.view.length + given.added.length));
  retellLast({ tools }, live, view);
}

/** The last reply of `view`, which watchers have been told is void. */
function retellLast({ tools }: Pick<Deps, 'tools'>, live: LiveWriter, view: View): void {
  const last = lastReply(view);
  if (!last) return;
  const outcomes = view.from(last.position).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
  retellReply(live, { ...last.reply, message: observableMessage(tools, last.reply.message) }, outcomes);
}
