// The ends of calls that the workflow carried out, where no activity of their own has recorded them
// (L62): the next step that appends does so before anything else. They are words alone, and no hook
// is asked about them.
import type { Append, AppendingStep, OutcomeItem } from '../../workflows/contract/activities.ts';
import { type Attempt, stopAttempt } from '../attempt.ts';
import type { createConfigReader } from '../../store/configuration.ts';
import type { LiveChannel } from '../../store/live/events.ts';
import { endIfThrows } from '../../store/live/tell.ts';
import type { CallBlock, CallRunner } from './call-port.ts';
import { readOutcome } from './journal.ts';
import { isDamage, type Store } from '../../store/values/store.ts';
import type { Transcripts } from '../../store/transcript/transcripts.ts';
import { lastReply, type View } from '../../store/view/view.ts';

export type RecordsEnds = {
  readonly store: Store;
  readonly live: LiveChannel;
  readonly config: ReturnType<typeof createConfigReader>;
  readonly tools: Pick<CallRunner, 'claimed'>;
  readonly transcripts: Pick<Transcripts, 'view'>;
};

type Step = Pick<AppendingStep, 'head' | 'append'>;

/**
 * Returns what is to be appended: of a call whose record is damaged, that this is so. Throws
 * StoreError.
 */
export async function recordEnds(
  deps: RecordsEnds,
  attempt: Attempt,
  { head, append }: Step,
): Promise<readonly Append[]> {
  const recorded = async (item: OutcomeItem): Promise<OutcomeItem> => {
    const { index, key, ended } = item;
    if (!key || !ended) return item;
    try {
      const stored = storedCall(await deps.transcripts.view(attempt.session, head), index);
      await recordEnd(deps, attempt, stored, { key, ended });
      return item;
    } catch (error) {
      if (!isDamage(error)) throw error;
      const note = `Outcome unknown: what is stored of this call is damaged. ${error.message}`;
      return { index, note, unknown: true };
    }
  };
  return await Promise.all(
    append.map(async (each) =>
      each.kind === 'outcomes' ? { ...each, items: await Promise.all(each.items.map(recorded)) } : each,
    ),
  );
}

/**
 * Watchers are told once, by whoever records it, as of a call that ran by itself. A stop ends
 * nothing here: it has ended.
 */
async function recordEnd(
  { store, live, config, tools }: RecordsEnds,
  attempt: Attempt,
  { call, iteration }: StoredCall,
  { key, ended }: Required<Pick<OutcomeItem, 'key' | 'ended'>>,
): Promise<void> {
  const { session, number } = attempt;
  if (await readOutcome(store, { session, key })) return;
  const run = await config(ended.config);
  const own = live.open({ session, step: ended.step, attempt: number, activity: 'runTool' });
  await endIfThrows(own, async () => {
    const given = { safe: false, fresh: true, delegated: ended.end, plain: true };
    await tools.claimed(run, call, key, stopAttempt(attempt), { iteration, say: own.write }, given);
    await own.end({ type: 'fate', fate: 'done' });
  });
}

type StoredCall = { readonly call: CallBlock; readonly iteration: number };

/**
 * Finds a call in the reply it was made in: the stored reply is the only source of a call's input.
 * Throws when there is none.
 */
export function storedCall(view: View, index: number): StoredCall {
  const last = lastReply(view);
  const block = last?.reply.message.content[index];
  if (!last || block?.type !== 'tool_use') {
    throw new Error(`session ${view.session}: block ${index} of the last reply is no call`);
  }
  const { id, name, input } = block;
  return { call: { index, id, name, input }, iteration: last.reply.iteration };
}
