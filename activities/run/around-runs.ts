// Runs the hooks that get prompts before the model sees them (L41). They may add to the
// conversation or end the run.
import type { Reach } from '../../system/process/places.ts';
import { RecentMap } from '../../system/recent-map.ts';
import type { CallModel, OpenRun } from '../../workflows/contract/activities.ts';
import { type Attempt, createGivenUpError } from '../attempt.ts';
import type { ModelDeps } from '../model-deps.ts';
import type { LiveWriter } from '../../store/live/events.ts';
import type { RunConfig } from '../../store/configuration.ts';
import { mediaNote } from '../../store/log/bodies.ts';
import type { Entry } from '../../store/log/entries.ts';
import type { ExtendedView } from '../../store/transcript/transcripts.ts';
import {
  type PromptVerdict,
  type HookFailure,
  type HookText,
  buildHookContext,
  hookFailureNotice,
} from '../hooks/hooks.ts';
import { agentFacts } from '../../workflows/contract/facts.ts';
import { agentName, queryIdOf } from '../../workflows/contract/ids.ts';
import { openStepRecord } from '../step-record.ts';

type PromptHookEnd = { readonly entries: readonly Entry[]; readonly stop: string | null };

type PromptHooks = (
  attempt: Attempt,
  input: CallModel,
  config: RunConfig,
  extended: ExtendedView,
  live: LiveWriter,
) => Promise<PromptHookEnd>;

type Prompt = Extract<Entry, { kind: 'user' }>;

/** The number of prompts with finished hooks that this worker remembers. */
const MOST_PROMPTS = 256;

/**
 * Makes the function that asks the hooks. A request that is made again (a retry, a recovery) asks
 * no hook again, unless on another worker. Throws StoreError.
 */
export function createPromptHooks(deps: Pick<ModelDeps, 'hooks' | 'store'>): PromptHooks {
  const done = new RecentMap<string, PromptVerdict>(MOST_PROMPTS);
  return async ({ session, signal }, { iteration }, config, extended, live) => {
    const prompts = deps.hooks.has('promptSubmitted') ? findNewPrompts(extended) : [];
    if (prompts.length === 0) return { entries: [], stop: null };
    const key = JSON.stringify([session, ...prompts.map(({ id }) => id)]);
    const known = done.get(key);
    const context = buildHookContext(config, { iteration, signal }, live);
    const texts = async (): Promise<string[]> => Promise.all(prompts.map((prompt) => readPrompt(deps, prompt)));
    const verdict = known ?? (await deps.hooks.promptSubmitted(context, await texts()));
    // A hook that was stopped has given no verdict.
    if (signal.aborted) return { entries: [], stop: null };
    done.set(key, verdict);
    return { entries: entriesOf(verdict), stop: verdict.stop };
  };
}

/**
 * Finds the prompts that the model has not replied to, those included that a compaction or a failed
 * call has stored without a reply.
 */
function findNewPrompts({ view, added }: ExtendedView): readonly Prompt[] {
  const found: Prompt[] = [];
  for (let position = view.length + added.length - 1; position >= 0; position -= 1) {
    const entry = position < view.length ? view.at(position) : added[position - view.length];
    if (entry?.kind === 'reply' || entry?.kind === 'run_started') break;
    if (entry?.kind === 'user') found.unshift(entry);
  }
  return found;
}

async function readPrompt({ store }: Pick<ModelDeps, 'store'>, { body }: Prompt): Promise<string> {
  const text = body.kind === 'text' ? body.text : new TextDecoder().decode(await store.get(body.hash));
  return text + mediaNote(body);
}

function entriesOf({ context, failed }: PromptVerdict): Entry[] {
  return [
    ...context.map(({ hook, text }) => ({ kind: 'notice', notice: { kind: 'hook_context', hook, text } }) as const),
    ...failed.map(hookFailureNotice),
  ];
}

export type SessionStartWords = { readonly context: readonly HookText[]; readonly failed: readonly HookFailure[] };

/**
 * Asks the hooks at the start of a session, whose words belong to the system prompt of each of its
 * runs (L58). The answer is recorded: a later run, and another attempt, read it. Throws StoreError.
 */
export async function askSessionStart(
  deps: Pick<ModelDeps, 'hooks' | 'store'>,
  attempt: Attempt,
  { chain, run, begins, agent, querySource }: Pick<OpenRun, 'chain' | 'run' | 'begins' | 'agent' | 'querySource'>,
  { cwd, folders = [] }: Reach,
): Promise<SessionStartWords> {
  const { session, signal } = attempt;
  if (!deps.hooks.has('sessionStart')) return { context: [], failed: [] };
  const record = openStepRecord<readonly HookText[]>(deps.store, attempt, chain, 'sessionStart');
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
  const answers = await deps.hooks.sessionStart(context, about);
  // The attempt was stopped or given up (L50): another attempt or the next run asks the hooks.
  if (signal.aborted) throw createGivenUpError(attempt);
  const { result } = await record.record(answers.context, new TextEncoder().encode(JSON.stringify(answers.context)));
  return { context: result, failed: answers.failed };
}
