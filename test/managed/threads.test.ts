// Threads as events (pure): what the log of a session says of the agents that it starts (G68).
import { describe, expect, test } from 'vitest';
import type { Entry, Outcome } from '../../client/index.ts';
import { emptyProjection, threadCallId } from '../../managed/events/parts.ts';
import { projectEntries } from '../../managed/events/project.ts';
import { threadId } from '../../managed/ids.ts';
import type { Hash, MessageId, SessionId } from '../../workflows/contract/ids.ts';
import type { SettledEntry, WaitEntry, WaitingCall } from '../../workflows/contract/waits.ts';
import { callBlock, outcome, outcomes, reply, runEnded } from '../support/transcript.ts';

const SESSION = `sesn_${'a'.repeat(26)}`;
const T = 1_770_000_000_000;
const one = 'sesn_a.agent-1' as SessionId;
const two = 'sesn_a.agent-2' as SessionId;
const task = (type: string) => ({ description: 'x', prompt: `Go, ${type}.`, type });

const asked: readonly Entry[] = [
  { kind: 'run_started', run: 1, config: 'c' as Hash, at: T },
  { kind: 'user', id: 'm' as MessageId, body: { kind: 'text', text: 'Go.' } },
  reply([callBlock('c1', task('One'), 'agent'), callBlock('c2', task('Two'), 'agent')], {
    judged: { 0: 'allow', 1: 'allow' },
    at: T + 1,
  }),
];
const begun = (...agents: NonNullable<WaitEntry['agents']>): Entry => ({ kind: 'wait', calls: [], agents, at: T + 2 });
const bothBegun = begun({ call: '1.1.0', session: one }, { call: '1.1.1', session: two });
const waits = (...calls: WaitingCall[]): Entry => ({ kind: 'wait', calls, at: T + 3 });
const ask = (thread: SessionId): WaitingCall => ({
  call: '1.1.0',
  why: 'ask',
  thread,
  asked: { tool: 'bash', input: { command: 'ls' } },
});
const settled = (thread: SessionId, more: Partial<SettledEntry> = {}): Entry => ({
  kind: 'settled',
  call: '1.1.0',
  thread,
  how: 'allow',
  at: T + 4,
  ...more,
});
const stopped: Partial<Outcome> = { isError: true };

const written = (entries: readonly Entry[]) =>
  projectEntries(emptyProjection(SESSION), entries).facts.map((fact) => fact.make(new Map()));
const after = (entries: readonly Entry[], ...more: readonly Entry[]) =>
  written([...entries, ...more]).slice(written(entries).length);
const typesOf = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type);

describe('an agent of a roster', () => {
  test('is told by its thread and not by its call, from its task to its answer (G68)', () => {
    expect(typesOf(written(asked))).not.toContain('agent.tool_use');
    const [created, sent, running] = after(asked, begun({ call: '1.1.0', session: one }));
    const about = { agent_name: 'One', session_thread_id: threadId(one) };
    expect(created).toMatchObject({ type: 'session.thread_created', ...about, workflow_run_id: null });
    expect(running).toMatchObject({ type: 'session.thread_status_running', ...about });
    expect(sent).toMatchObject({
      type: 'agent.thread_message_sent',
      to_session_thread_id: threadId(one),
      content: [{ type: 'text', text: 'Go, One.' }],
    });
    const ends = after([...asked, bothBegun], outcomes(outcome(0, 'Done.'), outcome(1, 'Lost.', stopped)));
    expect(typesOf(ends)).toEqual([
      'session.thread_status_idle',
      'agent.thread_message_received',
      'session.thread_status_terminated',
      'session.thread_status_idle',
      'agent.thread_message_received',
      'session.thread_status_terminated',
    ]);
    expect(ends[0]).toMatchObject({ ...about, stop_reason: { type: 'end_turn' } });
    expect(ends[1]).toMatchObject({ from_agent_name: 'One', content: [{ type: 'text', text: 'Done.' }] });
    expect(ends[3]).toMatchObject({ agent_name: 'Two', stop_reason: { type: 'retries_exhausted' } });
  });

  test('that never began is a call with an error result, once it has ended (G68)', () => {
    const [use, result, ...more] = after(
      [...asked, begun({ call: '1.1.1', session: two })],
      outcomes(outcome(0, 'Not run.', stopped)),
    );
    expect(use).toMatchObject({ type: 'agent.tool_use', name: 'agent', input: task('One') });
    expect(result).toMatchObject({ type: 'agent.tool_result', tool_use_id: use?.id, is_error: true });
    expect(more).toEqual([]);
  });
});

describe('calls of threads that wait', () => {
  const both = [...asked, bothBegun, waits(ask(one)), waits(ask(two))];
  const id = threadCallId(one, '1.1.0');

  test('are shown in the session with their thread, which is idle, and then the session is (G38)', () => {
    const events = after([...asked, bothBegun], waits(ask(one)));
    const stop_reason = { type: 'requires_action', event_ids: [id] };
    expect(events).toMatchObject([
      { id, type: 'agent.tool_use', name: 'bash', input: { command: 'ls' }, session_thread_id: threadId(one) },
      { type: 'session.thread_status_idle', agent_name: 'One', stop_reason },
      { type: 'session.usage' },
      { type: 'session.status_idle', stop_reason },
    ]);
  });

  test('of equal names are told apart, and the last one that is settled lets the session go on (G39)', () => {
    const first = after(both, settled(one));
    expect(typesOf(first)).toEqual([
      'user.tool_confirmation',
      'session.thread_status_running',
      'session.usage',
      'session.status_idle',
    ]);
    expect(first[0]).toMatchObject({ tool_use_id: id, session_thread_id: threadId(one), result: 'allow' });
    expect(first.at(-1)).toMatchObject({ stop_reason: { event_ids: [threadCallId(two, '1.1.0')] } });
    expect(after([...both, settled(one)], settled(one))).toEqual([]);
    const last = after([...both, settled(one)], settled(two, { how: 'expired' }));
    expect(typesOf(last)).toEqual(['session.thread_status_running', 'session.status_running']);
  });

  test('wait no longer when their agent has ended, and ids and times are well formed (G31)', () => {
    const trace = [...both, settled(two), outcomes(outcome(0, 'Ended.'), outcome(1, 'Two.')), runEnded(1)];
    const events = written(trace);
    const times = events.map(({ processed_at }) => String(processed_at));
    expect(times).toEqual(times.toSorted());
    expect(new Set(events.map((event) => event.id)).size).toBe(events.length);
    expect(typesOf(events).slice(-4)).toEqual([
      'session.thread_status_terminated',
      'session.status_running',
      'session.usage',
      'session.status_idle',
    ]);
    const { projection } = projectEntries(emptyProjection(SESSION), trace);
    expect([projection.waiting, projection.threads.map(({ isOver }) => isOver)]).toEqual([[], [true, true]]);
  });
});
