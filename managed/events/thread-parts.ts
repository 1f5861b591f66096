// Thread events in the session's log (G68): a roster agent starts with its task, and ends with its
// answer.
import { placeInName } from '../../client/faces/outside.ts';
import type { Outcome, WaitEntry } from '../../client/faces/types.ts';
import { threadId } from '../ids.ts';
import { contentOfOutcome } from './content.ts';
import { type OpenWait, type Part, partId, type Projection, type ReplyCall, type Step, type Thread } from './parts.ts';

/** Returns the thread that a call of the last reply has begun. */
export const threadOf = ({ threads }: Projection, index: number): Thread | undefined =>
  threads.findLast((one) => one.index === index && !one.isOver);

export function threadsBegun(projection: Projection, { agents = [], at }: WaitEntry): Step {
  const opened = agents.flatMap(({ call: name, session }) => {
    const { index } = placeInName(name);
    const call = projection.calls[index];
    return call ? [{ call, thread: { session, name: textIn(call, 'type'), index, at, isOver: false } }] : [];
  });
  return {
    parts: opened.flatMap(({ call, thread }) => beginParts(projection, thread, call)),
    next: { threads: [...projection.threads, ...opened.map(({ thread }) => thread)] },
  };
}

const textIn = ({ input }: ReplyCall, field: string): string => {
  const value = input[field];
  return typeof value === 'string' ? value : '';
};

function beginParts(projection: Projection, thread: Thread, call: ReplyCall): readonly Part[] {
  const { session_thread_id, agent_name } = aboutThread(thread);
  const id = (name: string): string => partId(projection, projection.position, name, thread.index);
  const content = [{ type: 'text' as const, text: textIn(call, 'prompt') }];
  const sent = { to_session_thread_id: session_thread_id, to_agent_name: agent_name, content };
  const created = { session_thread_id, agent_name, workflow_run_id: null };
  return [
    part(id('created'), 'session.thread_created', (about, type) => ({ ...about, type, ...created })),
    part(id('sent'), 'agent.thread_message_sent', (about, type) => ({ ...about, type, ...sent })),
    part(id('running'), 'session.thread_status_running', (about, type) => ({ ...about, type, ...aboutThread(thread) })),
  ];
}

/** A thread of which calls wait for people or apps. */
export function threadIdlePart(projection: Projection, session: string, open: readonly OpenWait[]): readonly Part[] {
  const event_ids = open.flatMap(({ id, thread }) => (thread === session ? [id] : []));
  return statusPart(projection, session, 'idle', 'session.thread_status_idle', (about, type) => ({
    ...about,
    type,
    stop_reason: { type: 'requires_action', event_ids },
    stop_details: null,
  }));
}

export const threadRunningPart = (projection: Projection, session: string): readonly Part[] =>
  statusPart(projection, session, 'running', 'session.thread_status_running', (about, type) => ({ ...about, type }));

function statusPart<Type extends Part['type']>(
  projection: Projection,
  session: string,
  name: string,
  type: Type,
  make: (about: About & ReturnType<typeof aboutThread>, type: Type) => Extract<Made, { type: Type }>,
): readonly Part[] {
  const thread = projection.threads.findLast((one) => one.session === session);
  if (!thread) return [];
  const id = partId(projection, projection.position, name, thread.index);
  return [part(id, type, (about, own) => make({ ...about, ...aboutThread(thread) }, own))];
}

/** The session of an agent ends with its task, and takes no more. */
export function threadEndParts(projection: Projection, thread: Thread, outcome: Outcome): readonly Part[] {
  const { session_thread_id, agent_name } = aboutThread(thread);
  const id = (name: string): string => partId(projection, projection.position, name, thread.index);
  const isFailed = outcome.isError && outcome.log.outcome !== 'cancelled';
  const stop_reason = { type: isFailed ? 'retries_exhausted' : 'end_turn' } as const;
  const from = { from_session_thread_id: session_thread_id, from_agent_name: agent_name };
  return [
    part(id('idle'), 'session.thread_status_idle', (about, type) => ({
      ...about,
      type,
      ...aboutThread(thread),
      stop_reason,
      stop_details: null,
    })),
    part(id('received'), 'agent.thread_message_received', (about, type, bodies) => ({
      ...about,
      type,
      ...from,
      content: contentOfOutcome(outcome, bodies),
    })),
    part(id('terminated'), 'session.thread_status_terminated', (about, type) => ({
      ...about,
      type,
      ...aboutThread(thread),
    })),
  ];
}

const aboutThread = ({ session, name }: Thread) => ({ session_thread_id: threadId(session), agent_name: name });

type Made = ReturnType<Part['make']>;
type About = Parameters<Part['make']>[0];
type Bodies = Parameters<Part['make']>[1];

function part<Type extends Part['type']>(
  id: string,
  type: Type,
  make: (about: About, type: Type, bodies: Bodies) => Extract<Made, { type: Type }>,
): Part {
  return { id, type, make: (about, bodies) => make(about, type, bodies) };
}
