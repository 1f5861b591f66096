// Hooks that are told of prompts before the model sees them (L41): what they add to the
// conversation, and whether the run ends.
import type { Reach } from '../../system/process/places.ts';
import { RecentMap } from '../../system/recent-map.ts';
import type { CallModel, OpenRun } from '../../workflows/contract/activities.ts';
import { type Attempt, describeGivenUp } from '../attempt.ts';
import type { Deps } from '../deps.ts';
import type { LiveWriter } from '../../store/live/events.ts';
import type { RunConfig } from '../../store/configuration.ts';
import { runFields } from '../../system/log.ts';
import { mediaNote } from '../../store/log/bodies.ts';
import type { Entry } from '../../store/log/entries.ts';
import type { Extended } from '../../store/transcript/transcripts.ts';
import { hookContext, hookFailed } from '../hooks/hook-context.ts';
import type { PromptVerdict, HookFailure, HookText } from '../hooks/hooks.ts';
import { agentFacts } from '../../workflows/contract/facts.ts';
import { agentName, queryIdOf } from '../../workflows/contract/ids.ts';
import { stepRecord } from '../step-record.ts';

type PromptsTold = { readonly entries: readonly Entry[]; readonly stop: string | null };

type PromptHooks = (
  attempt: Attempt,
  input: CallModel,
  config: RunConfig,
  given: Extended,
  live: LiveWriter,
) => Promise<PromptsTold>;

type Prompt = Extract<Entry, { kind: 'user' }>;

/** Prompts whose hooks have run, remembered in this worker. */
const KEPT = 256;

/**
 * A request that is made again (a retry, a recovery) asks no hook again, unless on another worker.
 * Throws StoreError.
 */
export function promptHooks(deps: Pick<Deps, 'hooks' | 'store'>): PromptHooks {
  const done = new RecentMap<string, PromptVerdict>(KEPT);
  return async ({ session, signal }, { iteration }, config, given, live) => {
    const prompts = deps.hooks.has('promptSubmitted') ? newPrompts(given) : [];
    if (prompts.length === 0) return { entries: [], stop: null };
    const key = JSON.stringify([session, ...prompts.map(({ id }) => id)]);
    const known = done.get(key);
    const context = hookContext(config, { iteration, signal }, live);
    const texts = async (): Promise<string[]> => Promise.all(prompts.map((prompt) => textOf(deps, prompt)));
    const verdict = known ?? (await deps.hooks.promptSubmitted(context, await texts()));
    // A hook that was stopped has said nothing.
    if (signal.aborted) return { entries: [], stop: null };
    done.set(key, verdict);
    return { entries: entriesOf(verdict), stop: verdict.stop };
  };
}

/**
 * Those the model has not replied to: also what a compaction or a failed call has stored without a
 * reply.
 */
function newPrompts({ view, added }: Extended): readonly Prompt[] {
  const found: Prompt[] = [];
  for (let position = view.length + added.length - 1; position >= 0; position -= 1) {
    const entry = position < view.length ? view.at(position) : added[position - view.length];
    if (entry?.kind === 'reply' || entry?.kind === 'run_started') break;
    if (entry?.kind === 'user') found.unshift(entry);
  }
  return found;
}

async function textOf({ store }: Pick<Deps, 'store'>, { body }: Prompt): Promise<string> {
  const text = body.kind === 'text' ? body.text : new TextDecoder().decode(await store.get(body.hash));
  return text + mediaNote(body);
}

function entriesOf({ context, failed }: PromptVerdict): Entry[] {
  return [
    ...context.map(({ hook, text }) => ({ kind: 'notice', notice: { kind: 'hook_context', hook, text } }) as const),
    ...failed.map(hookFailed),
  ];
}

// Hooks at the start of a session: what they say belongs to the system prompt of each of its runs,
// found out once (L58).

export type SessionStarted = { readonly context: readonly HookText[]; readonly failed: readonly HookFailure[] };

/** Recorded: a later run, and another attempt, read what the first found out. Throws StoreError. */
export async function sessionStart(
  deps: Pick<Deps, 'hooks' | 'store'>,
  attempt: Attempt,
  { chain, run, begins, agent, querySource }: Pick<OpenRun, 'chain' | 'run' | 'begins' | 'agent' | 'querySource'>,
  { cwd, folders = [] }: Reach,
): Promise<SessionStarted> {
  const { session, signal } = attempt;
  if (!deps.hooks.has('sessionStart')) return { context: [], failed: [] };
  const record = stepRecord<readonly HookText[]>(deps.store, attempt, chain, 'sessionStart');
  const known = await record.read();
  // Hooks that came with a later worker did not see the session start.
  if (known !== null || !begins) return { context: known ?? [], failed: [] };
  const context = {
    session,
    queryId: queryIdOf(chain, run),
    depth: agent?.depth ?? 0,
    iteration: 0,
    cwd,
    ...(folders.length > 0 && { folders }),
    ...(querySource && { querySource }),
    signal,
  };
  const about = agent ? { agent: { id: agentName(session), ...agentFacts(agent) } } : {};
  const said = await deps.hooks.sessionStart(context, about);
  // Stopped or given up (L50): what the hooks would have said, another attempt or the next run
  // finds out.
  if (signal.aborted) throw describeGivenUp(attempt);
  const { result } = await record.record(said.context, new TextEncoder().encode(JSON.stringify(said.context)));
  return { context: result, failed: said.failed };
}

/**
 * Tools are told of the end of a run, after it is stored: those of one that could not be opened
 * held nothing. Throws StoreError.
 */
export async function runEnd(
  { config, tools, log }: Pick<Deps, 'config' | 'tools' | 'log'>,
  { session, signal, number }: Attempt,
  { view, added }: Extended,
): Promise<void> {
  const ended = added.find((entry) => entry.kind === 'run_ended')?.ended;
  const started = ended && startOf(view.entries, added, ended.run);
  if (!started) return;
  const of = await config(started.config);
  const { cwd, queryId, depth } = of;
  const about = { session, run: ended.run, reason: ended.terminal.reason, cwd, queryId, depth };
  const fields = { ...runFields(of), attempt: number };
  for (const { tool, detail } of await tools.closed(of, { ...about, signal }))
    log('warn', `tool ${tool} failed to close at the end of the run: ${detail}`, fields);
}

function startOf(entries: readonly Entry[], added: readonly Entry[], run: number) {
  const found = [...entries, ...added].findLast((entry) => entry.kind === 'run_started');
  return found?.run === run ? found : undefined;
}

// Hooks at the end of a session, told after its end is stored. A second attempt may tell them
// again.

/** Failures are logged: there is no conversation left to put them into. Throws StoreError. */
export async function sessionEnd(
  deps: Pick<Deps, 'hooks' | 'config' | 'log'>,
  { session, signal, number }: Attempt,
  { view, added }: Extended,
): Promise<void> {
  if (!deps.hooks.has('sessionEnd') || !added.some(({ kind }) => kind === 'session_closed')) return;
  const last = [...view.entries, ...added].findLast((entry) => entry.kind === 'run_started');
  const run = last === undefined ? null : await deps.config(last.config);
  const about = {
    session,
    queryId: run?.queryId ?? session,
    depth: run?.depth ?? 0,
    iteration: 0,
    cwd: run?.cwd ?? null,
    folders: run?.folders,
    querySource: run?.querySource,
  };
  const { failed } = await deps.hooks.sessionEnd({ ...about, signal });
  const fields = { ...runFields(run ?? about), attempt: number };
  for (const { hook, detail } of failed) deps.log('warn', `hook ${hook} at the end of the session: ${detail}`, fields);
}
