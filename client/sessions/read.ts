// Everything a person can be shown of a session: what the server knows, what the store has, and
// whether it is sound.
import { askedIn } from '../../workflows/contract/steered.ts';
import type { Client } from '@temporalio/client';
import type { SerializationContext } from '@temporalio/common';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { z } from 'zod';
import { verifyTranscript } from '../../store/log/audit.ts';
import type { Problem } from '../../store/log/audit-entries.ts';
import { createBodyReader } from '../../store/log/bodies.ts';
import type { Entry } from '../../store/log/entries.ts';
import { resultOf } from '../../store/view/result.ts';
import { isDamage, type Store, StoreError } from '../../store/values/store.ts';
import { loadRun, loadView, loadWorkingView, type View } from '../../store/view/view.ts';
import { createViewCache } from '../../store/view/view-cache.ts';
import { type Hash, type SessionId, isHash } from '../../workflows/contract/ids.ts';
import { outputReader, runOutcome, type RunOutcome } from './outcome.ts';
import type { SessionDescription } from './info.ts';
import { type PendingApproval, UPDATES } from '../../workflows/contract/session.ts';
import { waitingApproval, type WaitingApproval } from './decide.ts';

export type SessionReading = {
  readonly description: SessionDescription;
  /** The runs that ended, oldest first. */
  readonly runs: readonly RunOutcome[];
  /**
   * Oldest first; empty when they cannot be read. Where an old part is damaged, those that the
   * session goes on with.
   */
  readonly entries: readonly Entry[];
  /** Position of the first of them in the transcript. */
  readonly first: number;
  /** Texts of the messages that are stored by hash. */
  readonly bodies: ReadonlyMap<Hash, string>;
  readonly problems: readonly Problem[];
};

export type ReadingPorts = {
  readonly temporal: { readonly client: Client };
  readonly store: Store;
  readonly sessions: { describe(session: string): Promise<SessionDescription> };
};

/**
 * Throws ClientProblem when there is no such session, StoreError for what is no damage; damage is
 * told in `problems`.
 */
export async function readSession(
  { temporal, store, sessions }: ReadingPorts,
  session: SessionId,
): Promise<SessionReading> {
  const description = await sessions.describe(session);
  const head = await headOf(temporal.client, session);
  const { problems } = await verifyTranscript(store, session, head);
  const view =
    (await readable(loadView(store, session, head))) ?? (await readable(loadWorkingView(store, session, head)));
  const first = view?.begin ?? 0;
  const entries = view?.from(first) ?? [];
  const bodies = (await readable(createBodyReader(store)(entries))) ?? new Map<Hash, string>();
  const output = outputReader(store);
  const runs: RunOutcome[] = [];
  for (const entry of entries) {
    const result = entry.kind === 'run_ended' ? resultOf({ entries }, entry.ended.run) : null;
    if (result) runs.push(runOutcome(session, result, await output(entries, result)));
  }
  return { description, runs, entries, first, bodies, problems };
}

/** Null for what is damaged: `problems` has the sentence. */
async function readable<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if (isDamage(error)) return null;
    throw error;
  }
}

// Reading a session's transcript from the store, with no worker alive.

export type TranscriptReader = {
  /** Oldest first. Throws StoreError. */
  entries(session: SessionId, head: Hash | null): Promise<readonly Entry[]>;
  /**
   * From the start of run `run` on, or from `mark` on where that is still in it. Throws StoreError.
   */
  since(session: SessionId, head: Hash, run: number, mark?: Mark): Promise<Since>;
  /** Throws StoreError, also when the run's end is not in the transcript. */
  outcome(session: SessionId, head: Hash | null, run: number): Promise<RunOutcome>;
  /** With its input. Throws StoreError only when the store cannot be used. */
  waiting(session: SessionId, pending: PendingApproval): Promise<WaitingApproval>;
};

const readers = new WeakMap<Store, TranscriptReader>();

/**
 * One of each store, with a cache for all sessions and all who read them: what one of them saw is
 * not read again.
 */
export function transcriptReader(store: Store): TranscriptReader {
  const reader = readers.get(store) ?? openReader(store);
  readers.set(store, reader);
  return reader;
}

function openReader(store: Store): TranscriptReader {
  const cache = createViewCache();
  const output = outputReader(store);
  const view = (session: SessionId, head: Hash | null): Promise<View> => loadView(store, session, head, cache);
  const entries = async (session: SessionId, head: Hash | null): Promise<readonly Entry[]> =>
    (await view(session, head)).entries;
  return {
    entries,
    since: async (session, head, run, mark) => {
      const read = await loadRun(store, session, head, { run, cache });
      if (mark && read.at(mark.position) === mark.entry)
        return { run: mark.run, first: mark.position, entries: read.from(mark.position) };
      const first = startOf(read, run);
      return { run, first, entries: read.from(first) };
    },
    waiting: (session, pending) =>
      waitingApproval(store, () => view(pending.agent?.session ?? session, pending.head), session, pending),
    outcome: async (session, head, run) => {
      const read = head === null ? [] : (await loadRun(store, session, head, { run, cache })).entries;
      const result = resultOf({ entries: read }, run);
      if (result) return runOutcome(session, result, await output(read, result));
      const sentence = `the end of run ${run} of session ${session} is not in the store: is this the data folder its worker uses?`;
      throw new StoreError('missing', sentence);
    },
  };
}

/** The position after the end of the run before it. */
function startOf(view: View, run: number): number {
  for (let position = view.length - 1; position >= 0; position -= 1) {
    const entry = view.at(position);
    if (entry?.kind === 'run_ended' && entry.ended.run < run) return position + 1;
  }
  return 0;
}

// The newest head of a session, from the workflow's history: it is the only head there is, and
// reading it needs no worker.

type Service = Client['workflowService'];
type HistoryEvent = NonNullable<
  NonNullable<Awaited<ReturnType<Service['getWorkflowExecutionHistoryReverse']>>['history']>['events']
>[number];

/** Far more events than lie between two that name a head. */
const PAGE = 100;

const hash = z.custom<Hash>(isHash).nullable();
/** An activity's input. */
const withHead = z.object({ head: hash });
/** The argument of an update that was accepted. */
const withRepair = z.object({ to: hash }).transform(({ to: head }) => ({ head }));
const answered = z.object({ done: withHead });
/** The part of the workflow's argument that says where a session goes on after a handover. */
const withCarry = z.object({
  carry: z.object({ head: hash, run: z.object({ state: withHead }).nullable() }),
});

/** Null when nothing is stored yet. Throws what the server throws. */
export async function headOf(client: Client, session: SessionId): Promise<Hash | null> {
  const { namespace } = client.options;
  const execution = { workflowId: session };
  const events: HistoryEvent[] = [];
  let nextPageToken: Uint8Array | undefined;
  do {
    const request = { namespace, execution, maximumPageSize: PAGE, ...(nextPageToken && { nextPageToken }) };
    const page = await client.workflowService.getWorkflowExecutionHistoryReverse(request);
    events.push(...(page.history?.events ?? []));
    nextPageToken = page.nextPageToken?.length ? page.nextPageToken : undefined;
    const found = await newestHead(client, session, events, nextPageToken === undefined);
    if (found) return found.head;
  } while (nextPageToken);
  return null;
}

type Found = { readonly head: Hash | null };

/**
 * Takes out what it has looked at. A result waits for the event that names its activity, which may
 * be on a page to come.
 */
async function newestHead(
  client: Client,
  session: SessionId,
  events: HistoryEvent[],
  isLast: boolean,
): Promise<Found | undefined> {
  const named = new Map(
    events.map((event) => [String(event.eventId), event.activityTaskScheduledEventAttributes?.activityId]),
  );
  for (let event = events[0]; event; event = events[0]) {
    const scheduled = event.activityTaskCompletedEventAttributes?.scheduledEventId;
    const activity = named.get(String(scheduled ?? event.eventId));
    if (scheduled && !named.has(String(scheduled)) && !isLast) return undefined;
    const found = await headIn(client, event, contextOf(client, session, activity));
    if (found) return found;
    events.shift();
  }
  return undefined;
}

/** The context that its payloads are sealed for. */
export function contextOf(
  client: Client,
  workflowId: SessionId,
  activityId: string | null | undefined,
): SerializationContext {
  const { namespace } = client.options;
  return activityId
    ? { type: 'activity', namespace, workflowId, activityId, isLocal: false }
    : { type: 'workflow', namespace, workflowId };
}

async function headIn(client: Client, event: HistoryEvent, context: SerializationContext): Promise<Found | undefined> {
  const repaired = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input;
  if (repaired?.name === UPDATES.repair) {
    const payloads = repaired.args?.payloads;
    const [repair] = await decodeArrayFromPayloads(client.options.loadedDataConverter, payloads, context);
    return withRepair.safeParse(askedIn(repair)).data;
  }
  const payloads =
    event.activityTaskCompletedEventAttributes?.result?.payloads ??
    event.activityTaskScheduledEventAttributes?.input?.payloads ??
    event.workflowExecutionStartedEventAttributes?.input?.payloads;
  if (!payloads) return undefined;
  const [value] = await decodeArrayFromPayloads(client.options.loadedDataConverter, payloads, context);
  if (event.activityTaskCompletedEventAttributes) return answered.safeParse(value).data?.done;
  if (event.workflowExecutionStartedEventAttributes) {
    const carried = withCarry.safeParse(value).data?.carry;
    return { head: carried ? (carried.run?.state.head ?? carried.head) : null };
  }
  return withHead.safeParse(value).data;
}

/**
 * Entries of a transcript from position `first` on, oldest first; the first of them belongs to run
 * `run`.
 */
export type Since = { readonly run: number; readonly first: number; readonly entries: readonly Entry[] };

/** An entry that was found at a position, in a run. */
export type Mark = { readonly run: number; readonly position: number; readonly entry: Entry };
