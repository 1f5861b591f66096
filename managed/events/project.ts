// The projector: a pure function from transcript entries to API events (G1, G29–G34). Ids and times
// derive from the entries, so every process produces the same bytes. The parts of an entry have a
// fixed order, and times strictly increase.
import { present } from '../../client/faces/basics.ts';
import { addSpend, noSpend } from '../../client/faces/contract.ts';
import { rewoundIn } from '../../client/faces/stored.ts';
import type { Entry, GradedNotice, Notice, Outcome, SystemMessage } from '../../client/faces/types.ts';
import { noticeText } from '../../client/faces/words.ts';
import { eventId, formatMicros } from '../ids.ts';
import { budgetParts } from './budget-parts.ts';
import { contentOfMessage, contentOfOutcome } from './content.ts';
import {
  callEventId,
  type EventFact,
  interruptId,
  messageEventId,
  nextReply,
  type Part,
  partId,
  type Projection,
  type ReplyCall,
  type Step,
  terminatedId,
} from './parts.ts';
import { definedPart, gradedParts, gradingParts, ungradedParts } from './outcome-parts.ts';
import { callPart, replyParts } from './reply-parts.ts';
import { endParts, usageOf } from './run-end.ts';
import { threadEndParts, threadOf } from './thread-parts.ts';
import { updateOf } from './updates.ts';
import { runningPart, settledParts, waitParts, withdrawnParts } from './wait-parts.ts';

type Projected = { readonly projection: Projection; readonly facts: readonly EventFact[] };

export function projectEntries(from: Projection, entries: readonly Entry[]): Projected {
  let projection = from.time === 0 ? { ...from, time: firstTime(entries) } : from;
  const facts: EventFact[] = [];
  for (const entry of entries) {
    const step = projectEntry(projection, entry);
    projection = step.projection;
    for (const fact of step.facts) facts.push(fact);
  }
  return { projection, facts };
}

/** The message of a first run that could not start is stored with the end of that run alone. */
const firstTime = (entries: readonly Entry[]): number => entries.map(timeOf).find((at) => at !== undefined) ?? 0;

function projectEntry(before: Projection, entry: Entry): Projected {
  const time = timeOf(entry) ?? before.time;
  const timed = { ...before, time };
  const { parts, next } = partsOf(timed, entry);
  let { lastAt } = before;
  const facts = parts.map((part): EventFact => {
    const at = Math.max(lastAt + 1, time * 1000);
    lastAt = at;
    const about = { id: part.id, processed_at: formatMicros(at) };
    const { id, type, settles, agent } = part;
    const more = present({ settles, agent });
    return { id, type, at, entry, ...more, make: (bodies) => part.make(about, bodies) };
  });
  return { projection: { ...timed, ...next, lastAt, position: before.position + 1 }, facts };
}

/** A run is reported as running after the message that opens it, or before anything else. */
function partsOf(projection: Projection, entry: Entry): Step {
  const own = ownParts(projection, entry);
  const { starting } = projection;
  // Changes that people made before a run are reported before its message.
  const isChange = entry.kind === 'steered' && own.parts.every(({ type }) => type === 'session.updated');
  if (starting === null || entry.kind === 'run_started' || isChange) return own;
  const running: Part = {
    id: partId(projection, starting, 'running'),
    type: 'session.status_running',
    make: (about) => ({ ...about, type: 'session.status_running' }),
  };
  const parts = entry.kind === 'user' ? [...own.parts, running] : [running, ...own.parts];
  return { parts, next: { starting: null, ...own.next } };
}

function ownParts(projection: Projection, entry: Entry): Step {
  const { position, spending, underWay } = projection;
  switch (entry.kind) {
    case 'run_started': {
      const start = { starting: position, run: entry.run, reply: null, waiting: [] };
      // Later changes have a record of their own, see `budgetUpdate`.
      const budgetUsd = projection.run === 0 ? (entry.budgetUsd ?? null) : projection.budgetUsd;
      return { parts: [], next: { ...start, budgetUsd, underWay: { at: entry.at, spend: noSpend } } };
    }
    case 'user':
      return entry.goal
        ? definedPart(projection, { ...entry, goal: entry.goal })
        : { parts: [messagePart(projection, entry)], next: {} };
    case 'reply': {
      const reply = nextReply(projection, entry.iteration);
      const { parts, calls } = replyParts(projection, reply, entry);
      return { parts, next: { reply, calls, underWay: { ...underWay, spend: addSpend(underWay.spend, entry.spend) } } };
    }
    case 'outcomes':
      return outcomesParts(projection, entry.outcomes);
    case 'wait':
      return waitParts(projection, entry);
    case 'settled':
      return settledParts(projection, entry);
    case 'budget':
      return budgetParts(projection, entry);
    case 'boundary':
      return { parts: [plainPart(projection, 'agent.thread_context_compacted')], next: {} };
    case 'steered':
      return steeredParts(projection, entry);
    case 'run_ended': {
      const { spend, durationMs } = entry.ended;
      const sum = { spend: addSpend(spending.spend, spend), ms: spending.ms + durationMs };
      const { agents = [] } = entry.ended;
      const spentInThreads = agents.reduce((all, one) => addSpend(all, one.spend), projection.spentInThreads);
      const left = ungradedParts(projection, entry.ended);
      const rest = { waiting: [], isAtBudget: false, threads: endAll(projection), ...left.next };
      const parts = [...left.parts, ...endParts(projection, entry.ended, usageOf(sum))];
      return { parts, next: { spending: sum, spentInThreads, ...rest } };
    }
    case 'session_closed':
      return { parts: [terminatedPart(projection.session)], next: {} };
    case 'microcompact':
    case 'collapse_staged':
    case 'collapse_committed':
    case 'snip':
    case 'epoch':
    case 'files':
    case 'transition':
      return { parts: [], next: {} };
    case 'notice':
      return noticeParts(projection, entry.notice);
  }
}

function noticeParts(projection: Projection, notice: Notice): Step {
  if (notice.kind === 'server_away') return { parts: [serverAwayPart(projection, notice)], next: {} };
  if (notice.kind === 'workers_silent') return silentParts(projection, notice);
  if (notice.kind === 'grading') return gradingParts(projection, notice.round);
  if (notice.kind === 'graded') return withGraderSpend(projection, notice, gradedParts(projection, notice));
  if (notice.kind === 'system_message') return { parts: [systemPart(projection, notice)], next: {} };
  return { parts: [], next: {} };
}

function systemPart({ session }: Projection, { id, text }: SystemMessage): Part {
  const type = 'system.message';
  const content = [{ type: 'text' as const, text }];
  return { id: messageEventId(session, id), type, make: (about) => ({ ...about, type, content }) };
}

/** What a grading took is a part of what its run has taken so far. */
function withGraderSpend({ underWay }: Projection, { spend }: GradedNotice, { parts, next }: Step): Step {
  return { parts, next: { ...next, underWay: { ...underWay, spend: addSpend(underWay.spend, spend) } } };
}

/** The run goes on without the server, which is tried again. */
function serverAwayPart(projection: Projection, notice: Extract<Notice, { kind: 'server_away' }>): Part {
  const { server: mcp_server_name, detail: message, unauthorized } = notice;
  const type = 'session.error';
  const facts = { mcp_server_name, message, retry_status: { type: 'retrying' } as const };
  const error = unauthorized
    ? ({ ...facts, type: 'mcp_authentication_failed_error' } as const)
    : ({ ...facts, type: 'mcp_connection_failed_error' } as const);
  const id = partId(projection, projection.position, 'error', mcp_server_name);
  return { id, type, make: (about) => ({ ...about, type, error }) };
}

/** A report that was stored twice is told once. */
function silentParts(projection: Projection, notice: Extract<Notice, { kind: 'workers_silent' }>): Step {
  if (notice.work === projection.silent) return { parts: [], next: {} };
  const error = {
    type: 'unknown_error' as const,
    message: noticeText(notice),
    retry_status: { type: 'retrying' as const },
  };
  const type = 'session.error';
  const part: Part = {
    id: eventId(projection.session, 'silent', notice.work),
    type,
    make: (about) => ({ ...about, type, error }),
  };
  return { parts: [part], next: { silent: notice.work } };
}

function messagePart(projection: Projection, entry: Extract<Entry, { kind: 'user' }>): Part {
  return {
    id: messageEventId(projection.session, entry.id),
    type: 'user.message',
    make: (about, bodies) => ({ ...about, type: 'user.message', content: contentOfMessage(entry.body, bodies) }),
  };
}

function plainPart(projection: Projection, type: 'agent.thread_context_compacted'): Part {
  return { id: partId(projection, projection.position, type), type, make: (about) => ({ ...about, type }) };
}

/** Reports an end that the transcript doesn't have; `at` is in milliseconds since the epoch. */
export function terminatedFact(session: string, at: number, last: EventFact | undefined): EventFact {
  const part = terminatedPart(session);
  const micros = Math.max(at * 1000, (last?.at ?? 0) + 1);
  const about = { id: part.id, processed_at: formatMicros(micros) };
  return { id: part.id, type: part.type, at: micros, entry: null, make: (bodies) => part.make(about, bodies) };
}

const terminatedPart = (session: string): Part => ({
  id: terminatedId(session),
  type: 'session.status_terminated',
  make: (about) => ({ ...about, type: 'session.status_terminated' }),
});

function steeredParts(projection: Projection, entry: Extract<Entry, { kind: 'steered' }>): Step {
  const rewound = rewoundIn(entry);
  if (rewound?.to !== undefined) {
    const next = { branch: rewound.from, reply: null, waiting: [], threads: endAll(projection) };
    return { parts: [], next };
  }
  const update = updateOf(projection, entry.steered);
  if (update) return update;
  if (entry.steered.action !== 'interrupt') return { parts: [], next: {} };
  const part: Part = {
    id: interruptId(projection),
    type: 'user.interrupt',
    make: (about) => ({ ...about, type: 'user.interrupt' }),
  };
  const waiting = projection.waiting.map((wait) => ({ ...wait, isStopping: true as const }));
  return { parts: [part], next: { interrupts: projection.interrupts + 1, waiting } };
}

/** A call of a later reply never belongs to a thread of an earlier one. */
const endAll = ({ threads }: Projection): Projection['threads'] => threads.map((one) => ({ ...one, isOver: true }));

/** The results of calls of the reply before; an outcome of another reply has no event. */
function outcomesParts(projection: Projection, outcomes: readonly Outcome[]): Step {
  const { calls, waiting, threads } = projection;
  const changedCalls = outcomes.flatMap(({ index }) => {
    const call = calls[index];
    return call ? [[index, { ...call, state: 'ended' }] as const] : [];
  });
  const ids = new Set(outcomes.map(({ index }) => callEventId(projection, index)));
  const over = new Set(outcomes.flatMap(({ index }) => threadOf(projection, index)?.session ?? []));
  const left = waiting.filter(({ id, thread = '' }) => !ids.has(id) && !over.has(thread));
  const isResumed = left.length === 0 && waiting.some(({ thread = '' }) => over.has(thread));
  return {
    parts: [
      ...outcomes.flatMap((outcome) => resultParts(projection, outcome)),
      ...(isResumed ? [runningPart(projection)] : []),
    ],
    next: {
      calls: { ...calls, ...Object.fromEntries(changedCalls) },
      waiting: left,
      threads: threads.map((one) => (over.has(one.session) ? { ...one, isOver: true } : one)),
    },
  };
}

function resultParts(projection: Projection, outcome: Outcome): readonly Part[] {
  const { reply, calls } = projection;
  const call = calls[outcome.index];
  if (reply === null || call === undefined) return [];
  if (call.judged === 'custom') return withdrawnParts(projection, outcome, call);
  // A worker's result was told when it came.
  if (call.state === 'answered') return [];
  const thread = threadOf(projection, outcome.index);
  const own = thread && call.state === 'quiet' ? [] : ownResultParts(projection, outcome, call);
  return [...own, ...(thread ? threadEndParts(projection, thread, outcome) : [])];
}

/** A call that gave a task to no agent in the end is told with its result. */
function ownResultParts(projection: Projection, outcome: Outcome, call: ReplyCall): readonly Part[] {
  const { position } = projection;
  const id = partId(projection, position, 'result', outcome.index);
  const use = callEventId(projection, outcome.index);
  const isMcp = call.name.startsWith('mcp__');
  const type = isMcp ? 'agent.mcp_tool_result' : 'agent.tool_result';
  const make: Part['make'] = (about, bodies) => {
    const result = { ...about, content: contentOfOutcome(outcome, bodies), is_error: outcome.isError };
    return isMcp
      ? { ...result, type: 'agent.mcp_tool_result', mcp_tool_use_id: use }
      : { ...result, type: 'agent.tool_result', tool_use_id: use };
  };
  const quiet: readonly Part[] = call.state === 'quiet' ? [callPart(use, call)] : [];
  return [...quiet, { id, type, make }];
}

/** Returns an entry's own time in milliseconds since the epoch; undefined where it has none. */
function timeOf(entry: Entry): number | undefined {
  if (entry.kind === 'run_started' || entry.kind === 'reply') return entry.at;
  if (entry.kind === 'wait' || entry.kind === 'settled' || entry.kind === 'budget') return entry.at;
  if (entry.kind === 'run_ended') return entry.ended.at;
  if (entry.kind === 'notice' && (entry.notice.kind === 'workers_silent' || entry.notice.kind === 'graded'))
    return entry.notice.at;
  return entry.kind === 'steered' ? entry.steered.at : undefined;
}
