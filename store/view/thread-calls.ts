// Copies calls of threads that wait into the transcript of the session (G68), which then tells of
// them by itself, whatever becomes of theirs.
import { type AskedCall, placeInName, type WaitEntry, type WaitingCall } from '../../workflows/contract/waits.ts';
import { isDamage, type Store, StoreError } from '../values/store.ts';
import { loadRun } from './view.ts';

/**
 * A thread whose transcript cannot be read is left out: its call can be decided in its own session.
 * Throws StoreError.
 */
export async function withAskedCalls(store: Store, entry: WaitEntry): Promise<WaitEntry> {
  const calls = await Promise.all(entry.calls.map((one) => withAskedCall(store, one).catch(nullIfDamaged)));
  return { ...entry, calls: calls.filter((one) => one !== null) };
}

function nullIfDamaged(error: unknown): null {
  if (isDamage(error)) return null;
  throw error;
}

async function withAskedCall(store: Store, { head, ...waiting }: WaitingCall): Promise<WaitingCall> {
  const { thread, call } = waiting;
  if (thread === undefined || head === undefined) return waiting;
  const { run, iteration, index } = placeInName(call);
  const { entries } = await loadRun(store, thread, head, { run });
  const reply = entries.findLast((one) => one.kind === 'reply' && one.iteration === iteration);
  const block = reply?.kind === 'reply' ? reply.message.content[index] : undefined;
  if (block?.type !== 'tool_use') throw new StoreError('missing', `thread ${thread} has no call ${call}`);
  return { ...waiting, asked: { tool: block.name, input: block.input as AskedCall['input'] } };
}
