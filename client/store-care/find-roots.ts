// Finds every value in the store that sessions on the server name, open or closed: in each run of
// their workflows, event by event, in their memos, and in the last details of their activities.
import { type Client, type WorkflowExecutionInfo, WorkflowNotFoundError } from '@temporalio/client';
import type { Payload, SerializationContext } from '@temporalio/common';
import { dataOf, encodingOf } from '../../connection/payloads/sealing-codec.ts';
import { parseStored } from '../../store/values/store.ts';
import { type Hash, isHash, type SessionId } from '../../workflows/contract/ids.ts';
import { WORKFLOW_TYPE } from '../../workflows/contract/session.ts';
import { findUndecodable } from '../../workflows/contract/undecodable.ts';
import { ClientProblem } from '../problem.ts';
import { STORE_KEY } from '../sessions/info.ts';
import { headOf, sealingContextOf } from '../sessions/newest-head.ts';
import { callUntilAnswered, patience, type Patience } from '../sessions/persist.ts';

export type Roots = {
  /** Includes sessions whose transcripts are in another store. */
  readonly sessions: ReadonlySet<SessionId>;
  /** The newest head of each session that has one: the transcript must be readable from there. */
  readonly heads: ReadonlyMap<SessionId, Hash>;
  readonly named: ReadonlySet<Hash>;
};

const SERVER_PAGE = 500;
/** Histories read at once. */
const AT_ONCE = 8;
/** Patience for a history of several pages. */
const slow: Patience = { ...patience, oneCall: 60_000 };

type Finding = { readonly client: Client; readonly heads: Map<SessionId, Hash>; readonly named: Set<Hash> };

/**
 * `store` is the id of the store to clean. Throws ClientProblem, and passes on errors of the
 * server.
 */
export async function findRoots(client: Client, store: string): Promise<Roots> {
  const finding: Finding = { client, heads: new Map(), named: new Set() };
  const sessions = new Set<SessionId>();
  let batch: Promise<void>[] = [];
  const query = `WorkflowType = '${WORKFLOW_TYPE}'`;
  for await (const execution of client.workflow.list({ query, pageSize: SERVER_PAGE })) {
    const session = execution.workflowId as SessionId;
    const isNewest = !sessions.has(session);
    sessions.add(session);
    const elsewhere = execution.memo?.[STORE_KEY];
    if (typeof elsewhere === 'string' && elsewhere !== store) continue;
    batch.push(unlessGone(() => scanRun(finding, execution, session, isNewest)));
    if (batch.length < AT_ONCE) continue;
    await Promise.all(batch);
    batch = [];
  }
  await Promise.all(batch);
  return { sessions, heads: finding.heads, named: finding.named };
}

/** Ignores a workflow that is gone: its retention may end at any moment. */
async function unlessGone(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

async function scanRun(
  { client, heads, named }: Finding,
  execution: WorkflowExecutionInfo,
  session: SessionId,
  isNewest: boolean,
): Promise<void> {
  const ask = <T>(call: () => Promise<T>): Promise<T> =>
    callUntilAnswered(client, `read session ${session}`, call, slow);
  const own = sealingContextOf(client, session, null);
  await scanMessage(execution.raw.memo, named, { client, session, contexts: [own] });
  const handle = client.workflow.getHandle(session, execution.runId);
  if (execution.status.name === 'RUNNING') {
    const { raw } = await ask(() => handle.describe());
    for (const activity of raw.pendingActivities ?? []) {
      const contexts = [sealingContextOf(client, session, activity.activityId), own];
      await scanMessage(activity, named, { client, session, contexts });
    }
  }
  const { events } = await ask(() => handle.fetchHistory());
  const activities = new Map<string, string>();
  for (const event of events ?? []) {
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (scheduled?.activityId) activities.set(String(event.eventId), scheduled.activityId);
    const contexts = contextsOf(event, own, (id) => sealingContextOf(client, session, activities.get(id)));
    await scanMessage(event, named, { client, session, contexts });
  }
  const head = isNewest ? await ask(() => headOf(client, session)) : null;
  if (head) heads.set(session, head);
}

/**
 * Lists the contexts a payload may be sealed for: the activity or the workflow that it goes to or
 * comes from.
 */
function contextsOf(
  event: object,
  own: SerializationContext,
  activity: (scheduled: string) => SerializationContext,
): readonly SerializationContext[] {
  const { eventId } = event as { readonly eventId?: unknown };
  const [, attributes] = Object.entries(event).find(([name]) => name.endsWith('EventAttributes')) ?? [];
  const { scheduledEventId, workflowExecution, workflowId } = (attributes ?? {}) as {
    readonly scheduledEventId?: unknown;
    readonly workflowId?: string;
    readonly workflowExecution?: { readonly workflowId?: string };
  };
  const other = workflowExecution?.workflowId ?? workflowId;
  return [
    activity(String(scheduledEventId ?? eventId)),
    own,
    ...(other && own.type === 'workflow' ? [{ ...own, workflowId: other }] : []),
  ];
}

// Finds every hash in a message of the Temporal server: in its fields, and in its decoded payloads.
// It ignores what a field means: a text that only looks like a hash keeps an unneeded value, which
// is the safe mistake.
const HASH = /(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g;

export function hashesIn(bytes: Uint8Array | string): readonly Hash[] {
  const text =
    typeof bytes === 'string' ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  return [...text.matchAll(HASH)].map(([hash]) => hash).filter(isHash);
}

/** Encodings that are readable without a codec. */
const PLAIN: ReadonlySet<string> = new Set([
  'json/plain',
  'binary/plain',
  'binary/null',
  'json/protobuf',
  'binary/protobuf',
]);

type PayloadSource = {
  readonly client: Client;
  readonly session: SessionId;
  /** Contexts that its payloads may be sealed for, the likeliest first. */
  readonly contexts: readonly SerializationContext[];
};

/** Adds to `found`. Throws ClientProblem for a payload that cannot be read. */
export async function scanMessage(message: unknown, found: Set<Hash>, sealed: PayloadSource): Promise<void> {
  if (typeof message === 'string') return addAll(found, hashesIn(message));
  if (typeof message !== 'object' || message === null || message instanceof Uint8Array) return;
  if (isPayload(message)) return addAll(found, hashesIn(await decodePayload(message, sealed)));
  for (const field of Object.values(message)) await scanMessage(field, found, sealed);
}

function addAll(found: Set<Hash>, hashes: readonly Hash[]): void {
  for (const hash of hashes) found.add(hash);
}

function isPayload(message: object): message is Payload {
  const { metadata } = message as Payload;
  if (typeof metadata !== 'object' || metadata === null) return false;
  const values: readonly unknown[] = Object.values(metadata);
  return values.length > 0 && values.every((value) => value instanceof Uint8Array);
}

async function decodePayload(payload: Payload, { client, session, contexts }: PayloadSource): Promise<Uint8Array> {
  if (PLAIN.has(encodingOf(payload))) return dataOf(payload);
  let why = 'cannot be decoded';
  for (const context of contexts) {
    const opened = await decode(client, payload, context);
    if (typeof opened === 'string') why = opened;
    else return opened;
  }
  const what = `a payload of session ${session} ${why}`;
  const remedy = `run it where its key or codec is, or, if nobody needs the session, delete it (\`temporal workflow delete -w ${session}\`)`;
  throw new ClientProblem('refused', `${what}: what it names is not known, and nothing was deleted; ${remedy}`);
}

/** Returns the bytes, or why they cannot be read. */
async function decode(client: Client, payload: Payload, context: SerializationContext): Promise<Uint8Array | string> {
  let payloads = [payload];
  try {
    for (const codec of client.options.loadedDataConverter.payloadCodecs.toReversed())
      payloads = await codec.decode(payloads, context);
  } catch (error) {
    return `cannot be decoded (${error instanceof Error ? error.message : String(error)})`;
  }
  const data = dataOf(payloads[0] ?? payload);
  const unread = findUndecodable(parseStored(data));
  return unread === null ? data : unread.why;
}
