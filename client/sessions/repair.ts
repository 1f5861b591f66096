// Finds where a session with damaged newest steps can continue: at the last whole step. Only the
// server's history knows its earlier heads: the inputs of activities, and the segments that these
// lead to.
import type { Client } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { z } from 'zod';
import type { Entry } from '../../store/log/entries.ts';
import { readSegment, type StoredSegment } from '../../store/log/read-chain.ts';
import { clip } from '../../system/text.ts';
import { isDamage, type Store } from '../../store/values/store.ts';
import { loadView, loadWorkingView, type View } from '../../store/view/view.ts';
import { type Hash, isHash, type SessionId } from '../../workflows/contract/ids.ts';
import { sealingContextOf, headOf } from './newest-head.ts';
import { formatCount, formatMoment } from '../units.ts';
import type { SessionDescription } from './info.ts';

type RepairPorts = { readonly temporal: Client; readonly store: Store };

export type Damage =
  | { readonly kind: 'whole' }
  /** No whole step is known. */
  | { readonly kind: 'lost'; readonly problem: string }
  | {
      readonly kind: 'repairable';
      readonly problem: string;
      /** The head that cannot be read. */
      readonly from: Hash;
      /** The last head that can be read. */
      readonly to: Hash;
      /** A sentence that says what is lost. */
      readonly lost: string;
    };

/**
 * Number of workflow runs to look through, newest first: a session is handed over from one to the
 * next.
 */
const MOST_RUNS = 8;
const MOST_NAMED = 20;
/** Longest shown id in characters. Together they fit the limit that a session accepts. */
const MOST_OF_ID = 100;

/** Passes on errors of the server, and throws StoreError for failures other than damage. */
export async function examineDamage(ports: RepairPorts, description: SessionDescription): Promise<Damage> {
  const { temporal, store } = ports;
  const { session } = description;
  const from = await headOf(temporal, session);
  const problem = await problemOf(store, session, from);
  if (from === null || problem === null) return { kind: 'whole' };
  const inputs: ActivityInput[] = [];
  let runId: string | undefined;
  for (let run = 0; run < MOST_RUNS; run += 1) {
    const history = await readHistory(temporal, session, runId);
    inputs.push(...history.inputs);
    const whole = await findLastWholeView(store, session, [from, ...inputs.flatMap(({ heads }) => heads)]);
    if (whole?.head) {
      return { kind: 'repairable', problem, from, to: whole.head, lost: describeLoss(whole, inputs, description) };
    }
    if (history.before === undefined) break;
    runId = history.before;
  }
  return { kind: 'lost', problem };
}

async function problemOf(store: Store, session: SessionId, head: Hash | null): Promise<string | null> {
  try {
    // Reads only as much as a worker needs to continue: damage in an old part must not lose what
    // came after it.
    await loadWorkingView(store, session, head);
    return null;
  } catch (error) {
    if (isDamage(error)) return error.message;
    throw error;
  }
}

/**
 * The input of one activity or of a workflow run: heads that the session had, and messages to
 * append to the first.
 */
type ActivityInput = { readonly heads: readonly Hash[]; readonly messages: readonly string[] };

type History = { readonly inputs: readonly ActivityInput[]; readonly before: string | undefined };

const appending = z.object({
  append: z.array(z.object({ kind: z.string(), id: z.string().optional() })),
});

async function readHistory(client: Client, session: SessionId, runId: string | undefined): Promise<History> {
  const { events = [] } = await client.workflow.getHandle(session, runId).fetchHistory();
  const inputs: ActivityInput[] = [];
  let before: string | undefined;
  for (const event of events ?? []) {
    const started = event.workflowExecutionStartedEventAttributes;
    const payloads = event.activityTaskScheduledEventAttributes?.input?.payloads ?? started?.input?.payloads;
    if (started?.continuedExecutionRunId) before = started.continuedExecutionRunId;
    if (!payloads) continue;
    const context = sealingContextOf(client, session, event.activityTaskScheduledEventAttributes?.activityId);
    const [value] = await decodeArrayFromPayloads(client.options.loadedDataConverter, payloads, context);
    const appended = appending.safeParse(value).data?.append ?? [];
    const messages = appended.flatMap(({ kind, id }) => (kind === 'user' && id !== undefined ? [id] : []));
    inputs.push({ heads: headsIn(value), messages });
  }
  return { inputs, before };
}

/**
 * Finds heads anywhere in a value: in a handover, in a waiting call, in the target of an append.
 */
function headsIn(value: unknown): Hash[] {
  const found = (JSON.stringify(value) ?? '').matchAll(/"head":"([0-9a-f]{64})"/g);
  return [...new Set([...found].map(([, head]) => head))].filter(isHash);
}

/**
 * Finds the newest segment that `heads` lead to whose whole chain, back to the first, can be read.
 */
async function findLastWholeView(store: Store, session: SessionId, heads: readonly Hash[]): Promise<View | null> {
  const found = new Map<Hash, StoredSegment>();
  const visited = new Set<Hash>();
  const open = [...heads];
  for (let hash = open.pop(); hash !== undefined; hash = open.pop()) {
    if (visited.has(hash)) continue;
    visited.add(hash);
    const read = await readOwnSegment(store, session, hash);
    if (!read) continue;
    found.set(hash, read);
    if (read.segment.parent !== null) open.push(read.segment.parent);
    open.push(...(read.segment.page ?? []));
  }
  const whole = new Set<Hash>();
  const oldestFirst = [...found.values()].toSorted((a, b) => a.segment.n - b.segment.n);
  for (const { hash, segment } of oldestFirst)
    if (segment.parent === null || whole.has(segment.parent)) whole.add(hash);
  const last = [...whole].at(-1);
  return last === undefined ? null : loadView(store, session, last);
}

async function readOwnSegment(store: Store, session: SessionId, hash: Hash): Promise<StoredSegment | null> {
  try {
    const read = await readSegment(store, hash, { session, entry: null });
    return read.segment.session === session ? read : null;
  } catch (error) {
    if (isDamage(error)) return null;
    throw error;
  }
}

/** Describes the loss in at most LONGEST_LOSS characters. */
export function describeLoss(
  whole: Pick<View, 'entries' | 'length'>,
  inputs: readonly ActivityInput[],
  { last }: Pick<SessionDescription, 'last'>,
): string {
  const { entries } = whole;
  const stored = new Set(entries.flatMap((entry) => (entry.kind === 'user' ? [entry.id as string] : [])));
  const named = [...inputs.flatMap(({ messages }) => messages), ...(last?.messages ?? [])];
  const messages = [...new Set(named)].filter((id) => !stored.has(id));
  const at = entries.map(timeOf).findLast((time) => time !== null);
  const since = at === undefined || at === null ? '' : `, since ${formatMoment(at)}`;
  const more = messages.length > MOST_NAMED ? `, and ${messages.length - MOST_NAMED} more` : '';
  const names = messages.slice(0, MOST_NAMED).map((id) => clip(id, MOST_OF_ID));
  const which =
    messages.length === 0 ? 'no message' : `${formatCount(messages.length, 'message')}: ${names.join(', ')}${more}`;
  return `everything from entry ${whole.length} on is lost${since}; among it ${which}`;
}

/** Milliseconds since the epoch. */
function timeOf(entry: Entry): number | null {
  if (entry.kind === 'run_ended') return entry.ended.at;
  return entry.kind === 'reply' || entry.kind === 'run_started' ? entry.at : null;
}
