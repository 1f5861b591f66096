// Hooks that are told of prompts before the model sees them (L41): what they add to the conversation, and whether the run ends.
import type { CallModel } from '../../workflows/contract/activities.ts';
import type { Attempt } from '../attempt.ts';
import type { Deps } from '../deps.ts';
import type { LiveWriter } from '../live/events.ts';
import type { RunConfig } from '../run-config.ts';
import type { Entry } from '../transcript/log/entries.ts';
import type { Extended } from '../transcript/transcripts.ts';
import { hookContext, hookFailed } from './hook-context.ts';
import type { PromptVerdict } from './hooks.ts';

export type PromptsTold = { readonly entries: readonly Entry[]; readonly stop: string | null };

export type PromptHooks = (
  attempt: Attempt,
  input: CallModel,
  config: RunConfig,
  given: Extended,
  live: LiveWriter,
) => Promise<PromptsTold>;

type Prompt = Extract<Entry, { kind: 'user' }>;

/** Prompts whose hooks have run, remembered in this worker. */
const KEPT = 256;

/** A request that is made again (a retry, a recovery) asks no hook again, unless on another worker. Throws StoreError. */
export function promptHooks(deps: Pick<Deps, 'hooks' | 'store'>): PromptHooks {
  const done = new Map<string, PromptVerdict>();
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
    for (const oldest of done.keys()) {
      if (done.size <= KEPT) break;
      done.delete(oldest);
    }
    return { entries: entriesOf(verdict), stop: verdict.stop };
  };
}

/** Those the model has not replied to: also what a compaction or a failed call has stored without a reply. */
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
  return body.kind === 'text' ? body.text : new TextDecoder().decode(await store.get(body.hash));
}

function entriesOf({ context, failed }: PromptVerdict): Entry[] {
  return [
    ...context.map(({ hook, text }) => ({ kind: 'notice', notice: { kind: 'hook_context', hook, text } }) as const),
    ...failed.map(hookFailed),
  ];
}
