// Events of pending calls (G37–G39): custom calls sent to an app, decisions and results as they
// arrive, and what the session still waits for.
import { placeInName } from '../../client/faces/outside.ts';
import type { Outcome, SettledEntry, WaitEntry, WaitingCall } from '../../client/faces/types.ts';
import { contentOfMessage, contentOfOutcome } from './content.ts';
import {
  callEventId,
  type OpenWait,
  type Part,
  partId,
  type Projection,
  type ReplyCall,
  settledId,
  type Step,
  threadCallId,
} from './parts.ts';
import { idleParts, usageOf, withUnderWay } from './run-end.ts';
import { callPart } from './reply-parts.ts';
import { threadId } from '../ids.ts';
import { threadIdlePart, threadRunningPart, threadsBegun } from './thread-parts.ts';

/** The reason of a denial that came without a message. */
export const NO_MESSAGE = 'no reason was given';

export function waitParts(projection: Projection, entry: WaitEntry): Step {
  const { parts, next } = threadsBegun(projection, entry);
  if (entry.calls.length === 0) return { parts, next };
  const waits = callsWaiting(projection, entry);
  return { parts: [...parts, ...waits.parts], next: { ...next, ...waits.next } };
}

function callsWaiting(projection: Projection, { calls: started }: WaitEntry): Step {
  const { calls, waiting } = projection;
  const opened = started.map(({ call, why, thread }): OpenWait => {
    const id = thread ? threadCallId(thread, call) : callEventId(projection, placeInName(call).index);
    return { call, why, id, thread };
  });
  const custom = started.flatMap(({ call, why, thread }) =>
    (why === 'custom' || why === 'worker') && thread === undefined ? [placeInName(call).index] : [],
  );
  const reported = custom.flatMap((index) => {
    const known = calls[index];
    return known ? [[index, { ...known, state: 'told' }] as const] : [];
  });
  const open = [...waiting, ...opened];
  return {
    parts: [
      ...reported.map(([index, call]) => customPart(callEventId(projection, index), call)),
      ...started.flatMap((one) => crossPart(one)),
      ...threadsWaiting(projection, opened, open),
      ...requiresAction(projection, open),
    ],
    next: { waiting: open, calls: { ...calls, ...Object.fromEntries(reported) } },
  };
}

export function settledParts(projection: Projection, entry: SettledEntry): Step {
  const { calls, waiting } = projection;
  const { call, how } = entry;
  if (entry.thread !== undefined) return threadSettled(projection, entry, entry.thread);
  const { index } = placeInName(call);
  const known = calls[index];
  const use = callEventId(projection, index);
  const own = endPart(projection.session, { use, isCustom: known?.judged === 'custom' }, entry);
  const left = waiting.filter((wait) => wait.call !== call || wait.thread !== undefined);
  const next = {
    waiting: left,
    ...(known && how === 'result' && { calls: { ...calls, [index]: { ...known, state: 'answered' } as const } }),
  };
  if (left.length === waiting.length) return { parts: own, next };
  return { parts: [...own, ...(left.length > 0 ? requiresAction(projection, left) : [runningPart(projection)])], next };
}

/** The end of a wait in a thread, which the thread has told. */
function threadSettled(projection: Projection, entry: SettledEntry, thread: string): Step {
  const isIt = (wait: OpenWait): boolean => wait.thread === thread && wait.call === entry.call;
  const wait = projection.waiting.find(isIt);
  if (!wait) return { parts: [], next: {} };
  const left = projection.waiting.filter((each) => !isIt(each));
  const own = endPart(thread, { use: wait.id, isCustom: wait.why === 'custom' }, entry);
  const isThreadIdle = left.some((each) => each.thread === thread);
  return {
    parts: [
      ...own.map((part) => inThread(part, thread)),
      ...(isThreadIdle ? threadIdlePart(projection, thread, left) : threadRunningPart(projection, thread)),
      ...(left.length > 0 ? requiresAction(projection, left) : [runningPart(projection)]),
    ],
    next: { waiting: left },
  };
}

/** The session runs again once its last wait is over. */
export function runningPart(projection: Projection): Part {
  const type = 'session.status_running';
  return { id: partId(projection, projection.position, 'running'), type, make: (about) => ({ ...about, type }) };
}

/** The end of a custom call that waited and was given no result: an interrupt has ended it. */
export function withdrawnParts(projection: Projection, outcome: Outcome, { state }: ReplyCall): readonly Part[] {
  if (state !== 'told') return [];
  const use = callEventId(projection, outcome.index);
  return [
    resultPart({ use, id: partId(projection, projection.position, 'result', outcome.index) }, (bodies) => ({
      content: contentOfOutcome(outcome, bodies),
      is_error: outcome.isError,
    })),
  ];
}

/** The usage counts what replies of the run under way have taken. */
function requiresAction(projection: Projection, open: readonly OpenWait[]): readonly Part[] {
  const { spending, underWay, time } = projection;
  const usage = usageOf(withUnderWay(spending, underWay, time));
  return idleParts(projection, usage, { type: 'requires_action', event_ids: open.map(({ id }) => id) });
}

/** A call of a thread, told in the session as well, where it can be settled. */
function crossPart({ call, why, thread, asked }: WaitingCall): readonly Part[] {
  if (thread === undefined || asked === undefined) return [];
  const id = threadCallId(thread, call);
  const { tool: name, input } = asked;
  if (why === 'custom') return [inThread(customPart(id, { name, input }), thread)];
  return [inThread(callPart(id, { name, input, judged: 'ask' }), thread)];
}

/** Says of an event which thread it is about. */
const inThread = (part: Part, thread: string): Part => ({
  ...part,
  make: (about, bodies) =>
    ({ ...part.make(about, bodies), session_thread_id: threadId(thread) }) as ReturnType<Part['make']>,
});

/** Each thread with new waits is idle. */
function threadsWaiting(
  projection: Projection,
  opened: readonly OpenWait[],
  open: readonly OpenWait[],
): readonly Part[] {
  const sessions = [...new Set(opened.flatMap(({ thread }) => thread ?? []))];
  return sessions.flatMap((session) => threadIdlePart(projection, session, open));
}

function customPart(id: string, { name, input }: Pick<ReplyCall, 'name' | 'input'>): Part {
  const type = 'agent.custom_tool_use';
  return { id, type, make: (about) => ({ ...about, type, name, input: { ...input } }) };
}

/** Returns no part for a wait that expired: no client sent its end. */
function endPart(
  session: string,
  { use, isCustom }: { readonly use: string; readonly isCustom: boolean },
  { call, how, message, result }: SettledEntry,
): readonly Part[] {
  if (how === 'expired') return [];
  const id = settledId(session, use, call);
  if (result)
    return [
      (isCustom ? resultPart : workerResultPart)({ use, id }, (bodies) => ({
        content: contentOfMessage(result.body, bodies),
        is_error: result.isError === true,
      })),
    ];
  const type = 'user.tool_confirmation';
  const deny_message = how === 'deny' && message !== NO_MESSAGE ? { deny_message: message ?? null } : {};
  const verdict = how === 'deny' ? how : 'allow';
  return [
    {
      id,
      type,
      settles: use,
      make: (about) => ({ ...about, type, tool_use_id: use, result: verdict, ...deny_message }),
    },
  ];
}

type Content = ReturnType<typeof contentOfMessage>;

type ContentOf = (bodies: Parameters<Part['make']>[1]) => { readonly content: Content; readonly is_error: boolean };
type Place = { readonly use: string; readonly id: string };

/** The result of a self-hosted environment's worker, or what is said where there will be none. */
function workerResultPart({ use, id }: Place, contentOf: ContentOf): Part {
  const type = 'user.tool_result';
  return {
    id,
    type,
    settles: use,
    make: (about, bodies) => ({ ...about, type, tool_use_id: use, ...contentOf(bodies) }),
  };
}

function resultPart({ use, id }: Place, contentOf: ContentOf): Part {
  const type = 'user.custom_tool_result';
  return {
    id,
    type,
    settles: use,
    make: (about, bodies) => ({ ...about, type, custom_tool_use_id: use, ...contentOf(bodies) }),
  };
}
