// Settles pending calls: people's confirmations and apps' results (G45–G49). The workflow decides
// races; a repeated request finds the first one's outcome.
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { LARGEST_GIVEN, LONGEST_REASON, messageBody, parsePrompt } from '../client/faces/outside.ts';
import { ClientProblem } from '../client/faces/start.ts';
import type { OutsideResult, PromptBlock, SessionId, SystemMessage } from '../client/faces/types.ts';
import { wasOffered, type WorkQueues } from '../client/faces/work-items.ts';
import { requireCounting } from './callers.ts';
import { invalid, ManagedError, unsupported } from './errors.ts';
import { callEventId, type EventFact, type OpenWait, type Projection } from './events/parts.ts';
import type { Timeline, Timelines } from './events/timelines.ts';
import { NO_MESSAGE } from './events/wait-parts.ts';
import type { ManagedPorts } from './ports.ts';
import type { FoundSession } from './session-status.ts';
import type { Sessions } from './sessions.ts';
import type { SessionLease } from './work/credentials.ts';
import { keepResult, toolOfEvent } from './work/refused.ts';
import { requireOffer } from './work/results.ts';
import type { ResultBlock, SentEvent } from './shapes/sessions.ts';

/** Milliseconds in which a call that an event tells of begins to wait, and its end is told. */
const SETTLE_MS = 10_000;
const LOOK_MS = 50;

type ResultEvent = Extract<SentEvent, { type: 'user.custom_tool_result' | 'user.tool_result' }>;
export type SettlingEvent = Extract<SentEvent, { type: 'user.tool_confirmation' }> | ResultEvent;

const isResult = (event: SentEvent): event is ResultEvent =>
  event.type === 'user.custom_tool_result' || event.type === 'user.tool_result';

export const isSettling = (event: SentEvent): event is SettlingEvent =>
  event.type === 'user.tool_confirmation' || isResult(event);

export type SettleParts = {
  readonly ports: ManagedPorts;
  readonly sessions: Sessions;
  readonly timelines: Timelines;
  readonly queues: WorkQueues;
};

/** An event of a request. */
type About = {
  readonly event: SettlingEvent;
  readonly at: number;
  /** The lease of the worker that sends it; absent for people and apps. */
  readonly lease: SessionLease | undefined;
};

type Sending = About & {
  readonly found: FoundSession;
  readonly by: string;
  /** The system message that goes with the result. */
  readonly system: SystemMessage | undefined;
};

/** The current target of an event. `early`: its call does not wait yet. */
type Target =
  | { readonly kind: 'open'; readonly wait: OpenWait }
  | { readonly kind: 'settled'; readonly fact: EventFact }
  | { readonly kind: 'early' };

export const calledBy = (event: SettlingEvent): string =>
  event.type === 'user.custom_tool_result' ? event.custom_tool_use_id : event.tool_use_id;

const TOLD_AS: Readonly<Record<SettlingEvent['type'], readonly string[]>> = {
  'user.tool_confirmation': ['agent.tool_use', 'agent.mcp_tool_use'],
  'user.custom_tool_result': ['agent.custom_tool_use'],
  'user.tool_result': ['agent.tool_use'],
};

/** A call that asks has two waits, and each kind of event ends one. */
const isFor = (event: SettlingEvent, { why }: OpenWait): boolean =>
  (why === 'ask') === (event.type === 'user.tool_confirmation');

/** Throws ManagedError when the event is for no call that waits or was settled. */
export function findTarget({ facts, projection }: Timeline, about: About): Target {
  const { event, at } = about;
  const id = calledBy(event);
  const fact = facts.find((each) => each.id === id);
  if (!fact) throw wrong(event, at, `${id.slice(0, 80)} is no call of this session`);
  if (!TOLD_AS[event.type].includes(fact.type)) throw wrong(event, at, `${id} is an event of type ${fact.type}`);
  const wait = projection.waiting.find((each) => each.id === id && isFor(event, each));
  if (wait) return { kind: 'open', wait };
  const settled = facts.findLast(({ settles, type }) => settles === id && isEndBy(event, type));
  if (settled) return { kind: 'settled', fact: settled };
  if (event.type === 'user.tool_confirmation' && isEarly(projection, id)) return { kind: 'early' };
  throw tooLate(about, `${id} does not wait`);
}

/** A worker's result does not repeat a confirmation, nor the other way round. */
const isEndBy = (event: SettlingEvent, type: EventFact['type']): boolean =>
  event.type !== 'user.tool_result' || type === 'user.tool_result';

const wrong = ({ type }: SettlingEvent, at: number, why: string): ManagedError =>
  invalid(`Invalid ${type} event at events[${at}]: ${why}`, `events.${at}`);

/** Answers 403 to a worker: once a result is too late, it is not the worker's to send. */
const tooLate = ({ event, at, lease }: About, why: string): ManagedError =>
  lease ? new ManagedError(403, `Not taken: ${why}`) : wrong(event, at, why);

/** An event tells of a call that asks before a person can be asked. */
function isEarly(projection: Projection, id: string): boolean {
  return Object.entries(projection.calls).some(
    ([index, { judged, state }]) =>
      judged === 'ask' && state === 'told' && callEventId(projection, Number(index)) === id,
  );
}

/** Throws ManagedError for what no session would take. */
export function checkSettling(event: SettlingEvent, at: number): void {
  if (isResult(event)) {
    parsePrompt(blocksOf(event.content ?? [], `events.${at}.content`));
    return;
  }
  const { deny_message: message, result } = event;
  if (result === 'allow' && message) throw wrong(event, at, 'deny_message goes with "deny" alone');
  if ((message?.length ?? 0) > LONGEST_REASON)
    throw wrong(event, at, `deny_message has over ${LONGEST_REASON} characters`);
}

/**
 * Settles the call and returns the fact that says so. The first to settle it wins; the same once
 * more finds the first. Throws ManagedError, ClientProblem.
 */
export async function settle(parts: SettleParts, sending: Sending): Promise<EventFact> {
  const { ports, sessions } = parts;
  const { found, event, at } = sending;
  if (isResult(event)) await requireGivenOnce(parts, sending);
  const result = isResult(event) ? await storeResult(ports, event, at) : undefined;
  const until = performance.now() + SETTLE_MS;
  while (performance.now() < until) {
    const timeline = await sessions.timeline(found);
    const target = findTarget(timeline, sending);
    if (target.kind === 'settled') {
      if (isSame(target.fact, sending, result)) return target.fact;
      if (result)
        await keepResult(ports, timeline, { ...refusalOf(sending, nameIn(target.fact), result), isSettled: true });
      throw tooLate(sending, `${calledBy(event)} is settled already, by a ${target.fact.type}`);
    }
    if (target.kind === 'open') {
      if (result) await requireGiven(parts, timeline, sending, target.wait, result);
      await apply(ports, sending, target.wait, result);
    } else await pause(LOOK_MS);
  }
  throw new ManagedError(503, `Call ${calledBy(event)} does not wait yet: send it again`);
}

/** The token of a lease that is over sends results of calls that it was given, and nothing else. */
async function requireGivenOnce({ ports, sessions, queues }: SettleParts, sending: Sending): Promise<void> {
  const { found, lease, event } = sending;
  if (lease === undefined) return;
  try {
    await requireCounting({ queues }, lease);
  } catch (error) {
    const timeline = await sessions.timeline(found);
    const target = findTarget(timeline, sending);
    if (target.kind === 'early') throw error;
    const call = target.kind === 'open' ? target.wait.call : nameIn(target.fact);
    const offered = { session: found.id, call, tool: toolOfEvent(timeline, calledBy(event), call) };
    if (!(await wasOffered(ports.store, offered, lease))) throw error;
  }
}

const TOO_LATE: ReadonlySet<string> = new Set(['refused', 'no_call', 'closed', 'no_session']);

/** Throws ManagedError for a result that is not the sender's to give, which is kept then. */
async function requireGiven(
  { ports, queues }: SettleParts,
  timeline: Timeline,
  sending: Sending,
  wait: OpenWait,
  result: OutsideResult,
): Promise<void> {
  try {
    if (sending.lease) await requireCounting({ queues }, sending.lease);
    await requireOffer(ports, timeline, sending, wait);
  } catch (error) {
    if (error instanceof ManagedError)
      await keepResult(ports, timeline, {
        ...refusalOf(sending, wait.call, result),
        isSettled: false,
      });
    throw error;
  }
}

const refusalOf = ({ found: { id: session }, event, by, lease }: Sending, call: string, result: OutsideResult) => ({
  session,
  id: calledBy(event),
  call,
  by,
  lease,
  result,
});

/** Returns the call's name, or its event's id where no entry has settled it. */
const nameIn = ({ entry, settles = '' }: EventFact): string => (entry?.kind === 'settled' ? entry.call : settles);

/** Somebody else may have been faster, or the session has not listed the call yet. */
async function apply(
  ports: ManagedPorts,
  { found, by, event, system }: Sending,
  { call, thread }: OpenWait,
  result: OutsideResult | undefined,
): Promise<void> {
  const session = (thread ?? found.id) as SessionId;
  try {
    if (result) await ports.giveResult(session, { call, result, by, ...(system && { system }) });
    else if (event.type === 'user.tool_confirmation' && event.result === 'allow')
      await ports.as(by).approve(session, call, { by });
    else await ports.as(by).deny(session, call, reasonOf(event), { by });
    // A thread tells its session of it.
    if (thread !== undefined) await pause(LOOK_MS);
  } catch (error) {
    if (!(error instanceof ClientProblem) || !TOO_LATE.has(error.kind)) throw error;
    // The thread that had the call may have ended: the session is about to hear of it.
    if (thread === undefined && (error.kind === 'closed' || error.kind === 'no_session')) throw error;
    await pause(LOOK_MS);
  }
}

function reasonOf(event: SettlingEvent): string {
  const message = event.type === 'user.tool_confirmation' ? event.deny_message : undefined;
  return message?.trim() ? message : NO_MESSAGE;
}

function isSame({ entry }: EventFact, { event, by }: Sending, result: OutsideResult | undefined): boolean {
  if (entry?.kind !== 'settled') return false;
  if (isResult(event)) return isDeepStrictEqual(entry.result, result);
  if (entry.how !== event.result || entry.by !== by) return false;
  return entry.how === 'allow' || entry.message === reasonOf(event);
}

/** Texts and media are stored before the session hears of them. */
async function storeResult(
  { store }: ManagedPorts,
  { content = [], is_error }: ResultEvent,
  at: number,
): Promise<OutsideResult> {
  const path = `events.${at}.content`;
  const parsed = parsePrompt(blocksOf(content, path));
  const bytes = Buffer.byteLength(parsed.text);
  if (bytes > LARGEST_GIVEN) throw invalid(`${path}: the text has ${bytes} bytes: give at most ${LARGEST_GIVEN}`, path);
  return { body: await messageBody(store, parsed), ...(is_error === true && { isError: true }) };
}

const EMPTY: readonly PromptBlock[] = [{ type: 'text', text: '(no output)' }];

/** A result without any words says so (G48). */
function blocksOf(content: readonly ResultBlock[], path: string): readonly PromptBlock[] {
  const blocks = content.map((block, index) => readBlock(block, `${path}.${index}`));
  return blocks.some((block) => block.type !== 'text' || block.text.trim() !== '') ? blocks : EMPTY;
}

function readBlock(block: ResultBlock, path: string): PromptBlock {
  if (block.type === 'text') return block;
  if (block.type === 'search_result')
    return { type: 'text', text: [block.title, block.source, ...block.content.map(({ text }) => text)].join('\n') };
  if (block.source.type === 'url' || block.source.type === 'file')
    throw unsupported(`${path}.source`, `sources of type "${block.source.type}" are not served yet: send base64`);
  return block as PromptBlock;
}
