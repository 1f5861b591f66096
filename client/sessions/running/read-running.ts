// Reads running rows for lists: one look at a workflow for all its viewers, a few at a time. The
// first look reads the history of the current execution, later ones only what came since.
import { AsyncResource } from 'node:async_hooks';
import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { z } from 'zod';
import { createConfigReader } from '../../../store/configuration.ts';
import { readSegment } from '../../../store/log/read-chain.ts';
import { type Store, StoreError } from '../../../store/values/store.ts';
import { createLimit } from '../../../system/async.ts';
import { RecentMap } from '../../../system/recent-map.ts';
import { type LivePeek, NOTHING_SAID, type OpenCall } from '../../../store/live/peek.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import { addSpend, noSpend, type Spend } from '../../../workflows/contract/loop.ts';
import { type HistoryEvent, isBackingOff, type Pending, timeOf, whyOf } from '../history/steps.ts';
import { isUnderWay, type SessionInfo } from '../info.ts';
import { sealingContextOf } from '../newest-head.ts';
import { Accountant, type AskedStep, aSpend, type RunningAccount } from './account.ts';
import { type SessionActivity, type RunningState, runningRow } from './running-row.ts';
import { withRunning } from './with-running.ts';

type RunningPorts = {
  readonly temporal: Client;
  readonly store: Store;
  /** Looks at the end of a session's live channel. */
  readonly peek?: ((session: SessionId) => Promise<LivePeek>) | undefined;
  /** Rows that are read at once. */
  readonly together?: number;
};

/**
 * Returns the rows of the sessions that have a run under way and could be read in time. It waits so
 * many milliseconds for rows that are not known, or old; the others come with a later call.
 */
export type ReadRunning = (
  sessions: readonly RunningSession[],
  waitMs?: number,
) => Promise<ReadonlyMap<SessionId, RunningState>>;

type RunningSession = Pick<SessionInfo, 'session' | 'phase'>;

const TOGETHER = 8;
/** Most running sessions of a list that are looked at. */
const MOST_LOOKED = 300;
/** Sessions that are remembered. */
const MOST_KEPT = 1_000;
/** Milliseconds for which a row is not read again. */
const HOLD_MS = 4_000;
/** The same where no worker goes on with the run. */
const UNWORKED_HOLD_MS = 30_000;
/** Milliseconds after which a row is too old to be shown while it is read again. */
const STALE_MS = 10_000;
const WAIT_MS = 2_000;
/** Milliseconds after which a read is given up. */
const READ_MS = 10_000;
/** Far more events than a session adds between two looks. */
const PAGE = 100;

type Known = { runId: string; length: number; accountant: Accountant };
type Entry = { row: RunningState | null; at: number; reading: Promise<void> | null; known: Known | null };

export function runningReader(ports: RunningPorts): ReadRunning {
  const entries = new RecentMap<SessionId, Entry>(MOST_KEPT);
  const few = createLimit(ports.together ?? TOGETHER);
  const words = createWordReader(ports.store);
  // Bound, so that a caller who gives up does not abort what others wait for.
  const read = AsyncResource.bind((session: SessionId, entry: Entry) =>
    ports.temporal.withDeadline(Date.now() + READ_MS, () => readRow(ports, words, session, entry)),
  );
  /** Resolves when the row may be shown. */
  const refresh = ({ session, phase }: RunningSession): Promise<void> => {
    const entry = entries.get(session) ?? { row: null, at: 0, reading: null, known: null };
    entries.set(session, entry);
    const age = Date.now() - entry.at;
    if (age < (phase === 'waiting_worker' ? UNWORKED_HOLD_MS : HOLD_MS)) return Promise.resolve();
    entry.reading ??= few(() => read(session, entry))
      // A session that cannot be read now keeps its last row, which says how old it is.
      .catch(() => undefined)
      .finally(() => Object.assign(entry, { reading: null, at: Date.now() }));
    return age < STALE_MS ? Promise.resolve() : entry.reading;
  };
  return async (sessions, waitMs = WAIT_MS) => {
    await inTime(Promise.all(sessions.map(refresh)), waitMs);
    const rows = sessions.flatMap(({ session }) => entries.get(session)?.row ?? []);
    return new Map(rows.map((row) => [row.session, row]));
  };
}

/** Adds a look at those of the sessions that have a run under way. */
export async function lookAtRunning(
  read: ReadRunning | undefined,
  sessions: readonly SessionInfo[],
): Promise<readonly SessionInfo[]> {
  const running = sessions.filter(isUnderWay).slice(0, MOST_LOOKED);
  if (!read || running.length === 0) return sessions;
  const rows = await read(running);
  return sessions.map((session) => withRunning(session, rows.get(session.session)));
}

async function inTime(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}

async function readRow(ports: RunningPorts, words: WordReader, session: SessionId, entry: Entry): Promise<void> {
  const { temporal, peek } = ports;
  const described = await temporal.workflow.getHandle(session).describe();
  if (described.status.name !== 'RUNNING') {
    Object.assign(entry, { row: null, known: null });
    return;
  }
  const { runId, historyLength } = described;
  if (entry.known?.runId !== runId) {
    const accountant = new Accountant(async (activity, payloads) => decodeFirst(temporal, session, activity, payloads));
    entry.known = { runId, length: 0, accountant };
  }
  const { known } = entry;
  if (known.length !== historyLength) await readEvents(temporal, session, known);
  known.length = historyLength;
  const { account } = known.accountant;
  const livePeek = (await peek?.(session)) ?? NOTHING_SAID;
  const [steps, model, unsettled] = await Promise.all([
    Promise.all(
      stepsUnderWay(described).map((pending) => describeStep({ temporal, words, session }, pending, account)),
    ),
    words.model(account.config, account.model),
    sumUnsettled(temporal, session, described, livePeek),
  ]);
  entry.row = runningRow(account, {
    session,
    at: Date.now(),
    doing: [...withCalls(steps, livePeek.calls), ...waitForAgents(described, account)],
    unsettled,
    model: model?.name ?? null,
    window: model?.window ?? null,
    liveSign: livePeek.at,
  });
}

async function decodeFirst(
  client: Client,
  session: SessionId,
  activity: string | null,
  payloads: Parameters<typeof decodeArrayFromPayloads>[1],
): Promise<unknown> {
  const context = sealingContextOf(client, session, activity);
  return (await decodeArrayFromPayloads(client.options.loadedDataConverter, payloads, context))[0];
}

/** Reads the events since the last look, newest first, or all of them at the first. */
async function readEvents(client: Client, session: SessionId, { runId, accountant }: Known): Promise<void> {
  const { namespace } = client.options;
  const execution = { workflowId: session, runId };
  const newestFirst: HistoryEvent[] = [];
  let nextPageToken: Uint8Array | undefined;
  do {
    const request = { namespace, execution, maximumPageSize: PAGE, ...(nextPageToken && { nextPageToken }) };
    const page = await client.workflowService.getWorkflowExecutionHistoryReverse(request);
    const events = page.history?.events ?? [];
    newestFirst.push(...events);
    nextPageToken = page.nextPageToken?.length ? page.nextPageToken : undefined;
    if (events.some(({ eventId }) => Number(eventId) <= accountant.newest)) break;
  } while (nextPageToken);
  for (const event of newestFirst.toReversed()) await accountant.absorb(event);
}

/** Calls may run in the step that asked the model for them: the live channel tells which. */
function withCalls(steps: readonly SessionActivity[], calls: readonly OpenCall[]): readonly SessionActivity[] {
  return steps.flatMap((step): readonly SessionActivity[] => {
    const runs = step.step === 'callModel' && step.isTaken && calls.length > 0;
    return runs ? calls.map((call) => ({ ...step, kind: 'tool', call })) : [step];
  });
}

const settling = z.looseObject({ spend: aSpend });

/**
 * Adds what steps under way have been billed so far, which they tell on the live channel with their
 * reply, and later with their heartbeats.
 */
async function sumUnsettled(
  client: Client,
  session: SessionId,
  { raw }: WorkflowExecutionDescription,
  { billed }: LivePeek,
): Promise<Spend> {
  let sum = noSpend;
  for (const { activityId, heartbeatDetails } of raw.pendingActivities ?? []) {
    const spend = billed.get(Number(activityId?.split('.')[1]));
    if (spend) sum = addSpend(sum, spend);
    if (spend || !heartbeatDetails?.payloads?.length) continue;
    const details = await decodeFirst(client, session, activityId ?? '', heartbeatDetails.payloads);
    sum = addSpend(sum, settling.safeParse(details).data?.spend ?? noSpend);
  }
  return sum;
}

const kinds: Readonly<Record<string, SessionActivity['kind']>> = {
  callModel: 'model',
  findReply: 'model',
  runTool: 'tool',
  compact: 'compaction',
  collapse: 'compaction',
};

/** Work beside the run: it does not hold it up. */
const BESIDE: ReadonlySet<string> = new Set([
  'tellAlert',
  'tellWebhooks',
  'summarizeBatch',
  'prepareCompaction',
  'answerAside',
]);

function stepsUnderWay({ raw }: WorkflowExecutionDescription): readonly Pending[] {
  return (raw.pendingActivities ?? []).filter((one) => !BESIDE.has(nameOf(one)));
}

type Looked = { readonly temporal: Client; readonly words: WordReader; readonly session: SessionId };

async function describeStep(
  { temporal, words, session }: Looked,
  pending: Pending,
  account: RunningAccount,
): Promise<SessionActivity> {
  const id = pending.activityId ?? '';
  const step = account.open.get(id);
  const name = nameOf(pending);
  return {
    kind: kinds[name] ?? 'other',
    step: name,
    since: beganAt(pending, account.progressAt),
    attempt: pending.attempt ?? 1,
    failure: await whyOf(temporal, session, id, pending.lastFailure),
    isTaken: pending.lastStartedTime != null && !isBackingOff(pending),
    worker: pending.lastWorkerIdentity || null,
    call: step ? await words.call(session, account.reply, step) : null,
    agents: 0,
  };
}

function waitForAgents(
  { raw }: WorkflowExecutionDescription,
  { progressAt }: RunningAccount,
): readonly SessionActivity[] {
  const agents = (raw.pendingChildren ?? []).length;
  if (agents === 0) return [];
  return [
    {
      kind: 'agents',
      step: null,
      since: progressAt,
      attempt: 1,
      failure: null,
      isTaken: true,
      worker: null,
      call: null,
      agents,
    },
  ];
}

const nameOf = ({ activityType }: Pending): string => (activityType?.name ?? '').replace(/^perdure\./, '');

/** The server tells when an attempt was scheduled; the step itself was asked for with the first. */
const beganAt = ({ attempt, scheduledTime }: Pending, requestedAt: number): number =>
  (attempt ?? 1) > 1 || !scheduledTime ? requestedAt : timeOf(scheduledTime);

type WordReader = ReturnType<typeof createWordReader>;

/** Reads from the store how models and calls are named. What cannot be read has no name. */
function createWordReader(store: Store) {
  const config = createConfigReader(store);
  const replies = new RecentMap<Hash, readonly { readonly tool: string; readonly input: unknown }[]>(MOST_KEPT);
  const callsOf = async (session: SessionId, head: Hash) => {
    const known = replies.get(head);
    if (known) return known;
    const { segment } = await readSegment(store, head, { session, entry: null });
    const reply = segment.entries.findLast((entry) => entry.kind === 'reply');
    const calls = (reply?.message.content ?? []).map((block) =>
      block.type === 'tool_use' ? { tool: block.name, input: block.input } : { tool: '', input: null },
    );
    replies.set(head, calls);
    return calls;
  };
  return {
    model: (hash: Hash | null, position: number) =>
      orNull(async () => (hash === null ? null : ((await config(hash)).models[position] ?? null))),
    call: (session: SessionId, reply: Hash | null, { name, index }: AskedStep) =>
      orNull(async () => {
        if (name !== 'runTool' || index === null || reply === null) return null;
        const call = (await callsOf(session, reply))[index];
        return call && call.tool !== '' ? call : null;
      }),
  };
}

async function orNull<Value>(read: () => Promise<Value | null>): Promise<Value | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof StoreError) return null;
    throw error;
  }
}
