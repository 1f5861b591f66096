// Refused results: stored before the reply, and listed for people (G50).
import type { BetaManagedAgentsUserToolResultEvent } from '@anthropic-ai/sdk/resources/beta/sessions';
import { placeInName } from '../../client/faces/outside.ts';
import type { OutsideResult, RefusedResult, Store } from '../../client/faces/types.ts';
import { createBodyReader } from '../../client/faces/words.ts';
import { keepRefused, readRefused, wasOffered } from '../../client/faces/work-items.ts';
import { contentOfMessage } from '../events/content.ts';
import type { Timeline } from '../events/timelines.ts';
import { formatTime } from '../ids.ts';
import type { ManagedPorts } from '../ports.ts';
import type { SessionLease } from './credentials.ts';

/** `id`: of the call's event. `call`: its name. */
type Refused = {
  readonly session: string;
  readonly lease: SessionLease | undefined;
  readonly by: string;
  readonly id: string;
  readonly call: string;
  readonly result: OutsideResult;
  /** The call has its result: another one from a caller that had it is late. */
  readonly isSettled: boolean;
};

/** Files a result as `late` if its sender had the call, else as `not_given`. Throws StoreError. */
export async function keepResult(
  { store, now }: Pick<ManagedPorts, 'store' | 'now'>,
  timeline: Timeline,
  { session, lease, by, id, call, result, isSettled }: Refused,
): Promise<void> {
  const isLate = lease
    ? await wasOffered(store, { session, call, tool: toolOfEvent(timeline, id, call) }, lease)
    : isSettled;
  const settled = { kind: 'settled', call, how: 'result', by, result, at: now() } as const;
  const why = isLate ? 'late' : 'not_given';
  await keepRefused({ store, session }, { id, why, ...(lease && { work: lease.work }), settled });
}

/** The call may be of an earlier reply. */
export function toolOfEvent({ facts }: Timeline, id: string, call: string): string {
  const entry = facts.find((fact) => fact.id === id)?.entry;
  const block = entry?.kind === 'reply' ? entry.message.content[placeInName(call).index] : undefined;
  return block?.type === 'tool_use' ? block.name : '';
}

/** A refused result as people see it. `work_id`: null for one that no worker sent. */
type ShownResult = Pick<BetaManagedAgentsUserToolResultEvent, 'tool_use_id' | 'is_error' | 'content'> & {
  readonly type: 'refused_result';
  readonly reason: RefusedResult['why'];
  readonly by: string;
  readonly work_id: string | null;
  readonly created_at: string;
};

/** Lists the refused results of a session, oldest first. Throws StoreError. */
export async function showRefused(store: Store, session: string): Promise<readonly ShownResult[]> {
  const all = await readRefused({ store, session });
  const bodies = await createBodyReader(store)(all.map(({ settled }) => settled));
  return all.map(({ id, why, work = null, settled: { by = '', result, at } }) => ({
    type: 'refused_result',
    tool_use_id: id,
    reason: why,
    by,
    work_id: work,
    created_at: formatTime(at),
    content: result ? contentOfMessage(result.body, bodies) : [],
    is_error: result?.isError === true,
  }));
}
