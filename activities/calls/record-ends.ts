// Records the ends of calls that the workflow carried out and that no activity of their own has
// recorded (L62): the next step that appends does so first. These ends consist of words alone, and
// no hook is asked about them.
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

export type EndRecorderDeps = {
  readonly store: Store;
  readonly live: LiveChannel;
  readonly config: ReturnType<typeof createConfigReader>;
  readonly tools: Pick<CallRunner, 'bind'>;
  readonly transcripts: Pick<Transcripts, 'view'>;
};

type Step = Pick<AppendingStep, 'head' | 'append'>;

/**
 * Records the ends and returns what is to be appended; for a call whose stored record is damaged
 * that is a note saying so. Throws StoreError.
 */
export async function recordEnds(
  deps: EndRecorderDeps,
  attempt: Attempt,
  { head, append }: Step,
): Promise<readonly Append[]> {
  const recordItem = async (item: OutcomeItem): Promise<OutcomeItem> => {
    const { index, key, ended: delegated } = item;
    if (!key || !delegated) return item;
    try {
      const stored = findStoredCall(await deps.transcripts.view(attempt.session, head), index);
      await recordPlainEnd(deps, attempt, stored, { key, ended: delegated });
      return item;
    } catch (error) {
      if (!isDamage(error)) throw error;
      const note = `Outcome unknown: what is stored of this call is damaged. ${error.message}`;
      return { index, note, unknown: true };
    }
  };
  return await Promise.all(
    append.map(async (each) =>
      each.kind === 'outcomes' ? { ...each, items: await Promise.all(each.items.map(recordItem)) } : each,
    ),
  );
}

/**
 * Records one end and tells watchers, once, as for a call that ran by itself. A stop ends nothing
 * here, because the call has ended.
 */
async function recordPlainEnd(
  { store, live, config, tools }: EndRecorderDeps,
  attempt: Attempt,
  { call, iteration }: StoredCall,
  { key, ended: delegated }: Required<Pick<OutcomeItem, 'key' | 'ended'>>,
): Promise<void> {
  const { session, number } = attempt;
  if (await readOutcome(store, { session, key })) return;
  const run = await config(delegated.config);
  const writer = live.open({ session, step: delegated.step, attempt: number, activity: 'runTool' });
  await endIfThrows(writer, async () => {
    const options = {
      key,
      iteration,
      say: writer.write,
      safe: false,
      fresh: true,
      delegated: delegated.end,
      plain: true,
    };
    await tools.bind(run, call).runClaimed(stopAttempt(attempt), options);
    await writer.end({ type: 'fate', fate: 'done' });
  });
}

type StoredCall = { readonly call: CallBlock; readonly iteration: number };

/**
 * Finds a call in the reply that made it: the stored reply is the only source of a call's input.
 * Throws an Error when the block is not a call.
 */
export function findStoredCall(view: View, index: number): StoredCall {
  const last = lastReply(view);
  const block = last?.reply.message.content[index];
  if (!last || block?.type !== 'tool_use') {
    throw new Error(`session ${view.session}: block ${index} of the last reply is no call`);
  }
  const { id, name, input } = block;
  return { call: { index, id, name, input }, iteration: last.reply.iteration };
}
