// One iteration's model call: appends the entries since the last one, shows the model its view,
// streams the reply, stores it, and returns what the loop needs to know of it. Safe to attempt
// twice: the step record, which one attempt creates together with the reply, gives a later one what
// was stored (L16); a fence finds out whether Temporal has given the step to another attempt.
import type { CallModel, ModelCallAnswer, ModelResult } from '../workflows/contract/activities.ts';
import { type Attempt, createGivenUpError } from './attempt.ts';
import { shareInFlight } from '../system/async.ts';
import type { ModelDeps } from './model-deps.ts';
import { recordEnds } from './calls/record-ends.ts';
import { RecentMap } from '../system/recent-map.ts';
import { createPromptHooks } from './run/around-runs.ts';
import { announceEntries, endWithResult, endIfThrows } from '../store/live/tell.ts';
import type { LiveWriter } from '../store/live/events.ts';
import { answerChecks } from './model/answer-schema.ts';
import { chooseWithFacts, keepsPast } from './model/request.ts';
import { afterWait, noTries, type Tries, readRemainingWait } from './model/refused/failed-attempt.ts';
import { refuseWithoutHooks, refuseScriptedModel } from './guards.ts';
import { inDoubt } from './model/run-open-calls.ts';
import { notAgain, settleDeath, settle } from './model/settle.ts';
import { requestReply } from './model/request-reply.ts';
import { endWithout } from './model/store-reply.ts';
import type { ModelStep } from './model/step.ts';
import type { RunConfig } from '../store/configuration.ts';
import { isForgotten, rememberHeads, openStepRecord } from './step-record.ts';
import type { Entry } from '../store/log/entries.ts';
import type { ExtendedView } from '../store/transcript/transcripts.ts';
import { addSpend, noSpend, totalTokens } from '../workflows/contract/loop.ts';
import type { SessionId } from '../workflows/contract/ids.ts';
import { retellLast, announceGiven, retellStored } from './find-reply.ts';
import type { View } from '../store/view/view.ts';
import type { AwayServer } from '../tools/mcp/run-servers-port.ts';
import { present } from '../workflows/contract/present.ts';

export function callModel(deps: ModelDeps): (attempt: Attempt, input: CallModel) => Promise<ModelCallAnswer> {
  const answerCheckOf = answerChecks();
  const askPromptHooks = createPromptHooks(deps);
  const heads = rememberHeads();
  const findEndedCaller = createParentWatch();

  // The reasons not to call the model come first, the cheapest of them before the others.
  const answer = async (opened: OpenedStep, view: ExtendedView): Promise<ModelCallAnswer> => {
    const { attempt, input, config, record, live, stored } = opened;
    if (stored) {
      await retellStored(deps, live, { config, session: attempt.session, known: stored, extended: view });
      return inDoubt(stored);
    }
    const tries = readTries(attempt, input);
    const step = { ...opened, deps, tries };
    const { spend } = tries;
    const callerEnd = await findEndedCaller(attempt, config);
    if (callerEnd !== null) return endWithout(step, { kind: 'failed', detail: callerEnd, spend });
    const exhausted = notAgain(input, tries, 'its worker ended while the model answered');
    if (exhausted) return endWithout(step, exhausted);
    const parked = await resumeWait(step);
    if (parked) return parked;
    const { stop, entries } = await askPromptHooks(attempt, input, config, view, live);
    if (stop !== null) return endWithout(step, { kind: 'hook_stopped', detail: stop, spend });

    const chosen = chooseWithFacts(deps.models, config, input.model);
    await deps.tools.refresh(config);
    const added = [...view.added, ...(await collectEntries(deps, config, view, entries))];
    const keeps = keepsPast(config, chosen.model, deps.models);
    const base = deps.transcripts.shrinkResults({ ...view, added }, deps.now(), keeps);
    // Watchers have had the events of the superseded request.
    if (input.supersedes === undefined) announceEntries(live, base.added.slice(view.added.length));
    const result = await requestAndSettle({ ...step, chosen, checkAnswer: answerCheckOf(config.outputSchema), base });
    heads.wrote(attempt, record.own());
    return result;
  };

  return async (attempt, input) => {
    const config = await deps.config(input.config);
    refuseScriptedModel(deps, config);
    refuseWithoutHooks(deps, config);
    const record = openStepRecord<ModelResult>(deps.store, attempt, config.chain, input);
    // This worker has just written the head, so no attempt has made the step after it. If one has,
    // creating the record returns the existing one (W2).
    const stored = heads.isNew(attempt, input.head) ? null : await record.read(isForgotten(attempt));
    const append = await recordEnds(deps, attempt, input);
    const live = openLive(deps, attempt, input, stored);
    return endIfThrows(live, async () => {
      const view = await deps.transcripts.extend(attempt.session, input.head, append);
      if (input.retells) retellLast(deps, live, { config, view: view.view });
      announceGiven(live, input, view);
      const result = await answer({ attempt, input, config, record, live, stored }, view);
      return await endWithResult(live, result);
    });
  };
}

type OpenedStep = Pick<ModelStep, 'attempt' | 'input' | 'config' | 'record' | 'live'> & {
  /** The result that an earlier attempt stored; null when none is known. */
  readonly stored: ModelResult | null;
};

/** Milliseconds for which a root session that was running counts as running. */
const ROOT_SEEN_MS = 10_000;
const MOST_ROOTS = 1_000;

/**
 * Returns why this agent must stop: its parent or root session was closed (L64). Checks the parent
 * once an iteration, the root at most every 10 s for all agents below it.
 */
function createParentWatch() {
  const looks = shareInFlight<SessionId, boolean>();
  const lastRunning = new RecentMap<SessionId, number>(MOST_ROOTS);
  return async ({ isOver }: Pick<Attempt, 'isOver'>, { agent }: RunConfig): Promise<string | null> => {
    if (!agent || !isOver) return null;
    const { parent, root } = agent;
    if (await looks(parent, isOver)) return `session ${parent}, which started this agent, is over`;
    if (root === parent || performance.now() - (lastRunning.get(root) ?? -Infinity) < ROOT_SEEN_MS) return null;
    if (await looks(root, isOver)) return `session ${root}, which this agent works for, is over`;
    lastRunning.set(root, performance.now());
    return null;
  };
}

function openLive(
  { live }: ModelDeps,
  { session, number }: Attempt,
  { step, supersedes }: CallModel,
  known: ModelResult | null,
): LiveWriter {
  const replaced = supersedes === undefined ? {} : { supersedes };
  const again = known && 'head' in known ? { retells: step } : {};
  return live.open({ session, step, attempt: number, activity: 'callModel', ...replaced, ...again });
}

/** Collects the entries of prompt hooks, then the attachments (L43). */
async function collectEntries(
  deps: ModelDeps,
  config: RunConfig,
  { view, added }: ExtendedView,
  hookEntries: readonly Entry[],
): Promise<readonly Entry[]> {
  const attached = await deps.attachments.collect(config, { view, added: [...added, ...hookEntries] });
  return [...hookEntries, ...attached, ...noticeAwayServers(deps, config, view)];
}

/**
 * Continues a wait that the provider requested of an earlier attempt. Returns null when it is over,
 * or a parking for a long rest; for a short one it throws, and Temporal waits (L14).
 */
async function resumeWait(
  step: Pick<ModelStep, 'deps' | 'attempt' | 'input' | 'config' | 'live' | 'record' | 'tries'>,
): Promise<ModelResult | null> {
  const wait = await readRemainingWait(step, step.tries);
  if (!wait) return null;
  const { tries } = wait;
  return endWithout({ ...step, tries }, await settleDeath(step, tries, afterWait(wait, tries, step.config)));
}

/** Returns the counts that earlier attempts left, or those of the calls before a parking. */
function readTries({ remembered }: Attempt, { failures = 0, overloads = 0 }: CallModel): Tries {
  return { ...noTries, failures, overloads, ...(remembered as Partial<Tries> | undefined) };
}

/** Adds what choosing notes has cost since the last call to this one's bill (L80). */
function addPickSpend(step: ModelStep): ModelStep {
  const { deps, attempt, tries } = step;
  const picks = deps.memory?.takeSpend(attempt.session) ?? noSpend;
  if (totalTokens(picks.usage) === 0) return step;
  const all = { ...tries, spend: addSpend(tries.spend, picks) };
  attempt.remember(all);
  return { ...step, tries: all };
}

/** Begins to capture the run's folders: it is done before the next effect begins (T1). */
function captureFiles(step: ModelStep): ModelStep {
  const { deps, attempt, input, config, base } = step;
  const files = deps.snapshots?.capture({ config, head: input.head, base, signal: attempt.signal });
  return files ? { ...step, files } : step;
}

async function requestAndSettle(opened: ModelStep): Promise<ModelCallAnswer> {
  const { deps, attempt, config } = opened;
  const { step, outcome } = await requestReply(captureFiles(addPickSpend(opened)));
  if (outcome.kind === 'aborted' && attempt.abortedBy() !== 'stop') {
    throw createGivenUpError(attempt);
  }
  const result = await settle(step, outcome);
  if (!('head' in result)) return endWithout(step, result);
  deps.memory?.prepare(step);
  deps.attachments.prefetch(config);
  return result;
}

/**
 * Returns a notice for each MCP server of the run that cannot be reached (G40), once in a run for
 * each reason. The run goes on without them.
 */
function noticeAwayServers(
  { runServers }: Pick<ModelDeps, 'runServers'>,
  { mcpServers }: Pick<RunConfig, 'mcpServers'>,
  view: View,
): readonly Entry[] {
  const away = runServers?.away(mcpServers) ?? [];
  return away.flatMap((one) => (isTold(view, one) ? [] : [noticeOf(one)]));
}

function noticeOf({ server, detail, unauthorized }: AwayServer): Entry {
  const facts = present({ unauthorized: unauthorized || undefined });
  return { kind: 'notice', notice: { kind: 'server_away', server, detail, ...facts } as const };
}

/** Tells whether the newest notice of the run about the server says the same. */
function isTold(view: View, { server, detail }: AwayServer): boolean {
  for (let position = view.length - 1; position >= 0; position -= 1) {
    const entry = view.at(position);
    if (entry?.kind === 'run_started') return false;
    if (entry?.kind !== 'notice' || entry.notice.kind !== 'server_away') continue;
    if (entry.notice.server === server) return entry.notice.detail === detail;
  }
  return false;
}
