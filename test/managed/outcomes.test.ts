// Outcomes as events (pure), and as the face takes and refuses them (the real SDK against the app,
// with a transcript in memory).
import { toFile } from '@anthropic-ai/sdk';
import { describe, expect, test } from 'vitest';
import type { Entry, Terminal } from '../../client/index.ts';
import { outcomesOf } from '../../managed/session-status.ts';
import { emptyProjection } from '../../managed/events/parts.ts';
import { projectEntries } from '../../managed/events/project.ts';
import { spentSoFar } from '../../managed/events/run-end.ts';
import type { Grade } from '../../workflows/contract/goals.ts';
import type { Hash, MessageId } from '../../workflows/contract/ids.ts';
import { noUsage } from '../../workflows/contract/loop.ts';
import { description } from '../client/support.ts';
import { notice, reply, runEnded, textBlock } from '../support/transcript.ts';
import { AGENT, codeOf, errorOf, post, stagedManaged, text } from './staged.ts';

const SESSION = `sesn_${'a'.repeat(26)}`;
const EVENT = `sevt_${'m'.repeat(26)}`;
const T = 1_770_000_000_000;

const started: Entry = { kind: 'run_started', run: 1, config: 'c' as Hash, at: T };
const defined: Entry = {
  kind: 'user',
  id: EVENT as MessageId,
  body: { kind: 'text', text: 'Write a brief.' },
  goal: { rubric: { kind: 'text', text: '# Cites sources' }, rounds: 2 },
};
const answered = (at: number): Entry => reply([textBlock('Done.')], { at: T + at });
const grading = (round: number): Entry => notice({ kind: 'grading', round });
const graded = (round: number, grade: Grade, at: number): Entry =>
  notice({
    kind: 'graded',
    round,
    grade,
    text: `It is ${grade}.`,
    spend: { usage: { ...noUsage, input: 7 }, usd: 0.01 },
    at: T + at,
  });

const project = (entries: readonly Entry[]) => projectEntries(emptyProjection(SESSION), entries);
const written = (entries: readonly Entry[]) => project(entries).facts.map((fact) => fact.make(new Map()));
const spans = (entries: readonly Entry[]) => written(entries).filter(({ type }) => type.startsWith('span.outcome'));

const revised = [started, defined, answered(1), grading(1), graded(1, 'not_met', 2), answered(3), grading(2)];

describe('an outcome', () => {
  test('is told in the place of its message, with the id that its gradings refer to (G72 G33)', () => {
    const [event, running] = written([started, defined]);
    expect(event).toEqual({
      id: EVENT,
      type: 'user.define_outcome',
      outcome_id: expect.stringMatching(/^outc_[0-9a-z]{26}$/),
      description: 'Write a brief.',
      rubric: { type: 'text', content: '# Cites sources' },
      max_iterations: 2,
      processed_at: expect.any(String),
    });
    expect(running?.type).toBe('session.status_running');
    expect(written([started, defined])).toEqual(written([started, defined]));
  });

  test('has a span for each grading, which counts revisions from 0 and tells why and what it took (G72)', () => {
    const [start, end, again, met] = spans([...revised, graded(2, 'met', 4), runEnded(1)]);
    expect(start).toMatchObject({ type: 'span.outcome_evaluation_start', iteration: 0 });
    expect(end).toMatchObject({
      type: 'span.outcome_evaluation_end',
      outcome_evaluation_start_id: start?.id,
      iteration: 0,
      result: 'needs_revision',
      explanation: 'It is not_met.',
      usage: { input_tokens: 7, output_tokens: 0 },
    });
    expect(again).toMatchObject({ iteration: 1 });
    expect(met).toMatchObject({ result: 'satisfied', iteration: 1, outcome_evaluation_start_id: again?.id });
  });

  test.each<[Grade, string]>([
    ['met', 'satisfied'],
    ['rounds_spent', 'max_iterations_reached'],
    ['not_applicable', 'failed'],
  ])('that is graded "%s" ends as "%s", and the session goes idle without an error (G72)', (grade, result) => {
    const end: Terminal = grade === 'met' ? { reason: 'completed' } : { reason: 'goal_not_met', detail: 'no' };
    const entries = [...revised, graded(2, grade, 4), runEnded(1, end)];
    expect(
      written(entries)
        .map(({ type }) => type)
        .slice(-3),
    ).toEqual(['span.outcome_evaluation_end', 'session.usage', 'session.status_idle']);
    expect(written(entries).at(-1)).toMatchObject({ stop_reason: { type: 'end_turn' } });
    expect(project(entries).projection.outcomes).toMatchObject([{ result, iteration: 1, completedAt: T + 4 }]);
  });

  const stopped: Terminal = { reason: 'aborted_streaming', by: 'interrupt' };
  const broken: Terminal = { reason: 'model_error', detail: 'overloaded' };
  test.each<[string, readonly Entry[], Terminal, string, string | undefined]>([
    ['interrupted while it is graded', revised, stopped, 'interrupted', 'a start'],
    ['interrupted before it was graded', [started, defined], stopped, 'interrupted', ''],
    ['interrupted in a revision', revised.slice(0, -1), stopped, 'interrupted', ''],
    ['left by a run that fails', revised, broken, 'failed', 'a start'],
  ])('%s has an end, after which another one may begin (G72)', (_, entries, terminal, result, start) => {
    const all = spans([...entries, runEnded(1, terminal)]);
    const last = all.at(-1);
    expect(last).toMatchObject({ type: 'span.outcome_evaluation_end', result, usage: { input_tokens: 0 } });
    expect(last).toMatchObject({ outcome_evaluation_start_id: start === '' ? '' : all.at(-2)?.id });
    expect(project([...entries, runEnded(1, terminal)]).projection.outcomes[0]?.completedAt).toBe(9);
  });

  test('stands as its events say, step by step (G72)', () => {
    const results = revised.map((_, at) => project(revised.slice(0, at + 1)).projection.outcomes[0]);
    expect(results.map((one) => one && [one.result, one.iteration])).toEqual([
      undefined,
      ['running', 0],
      ['running', 0],
      ['evaluating', 0],
      ['running', 1],
      ['running', 1],
      ['evaluating', 1],
    ]);
  });

  test('counts what its gradings took in the usage of the run under way (G72 G69)', () => {
    const { projection } = project(revised);
    expect(projection.underWay.spend.usd).toBeCloseTo(0.01);
    expect(spentSoFar({ ...projection, isAtBudget: true }).spend.usage.input).toBe(7);
  });
});

const rubric = { type: 'text' as const, content: '# Cites sources' };
const outcome = (description_ = 'Write a brief.') =>
  ({ type: 'user.define_outcome', description: description_, rubric }) as const;

async function opened(aroundStart?: Parameters<typeof stagedManaged>[1]) {
  const staged = stagedManaged({}, aroundStart);
  const agent = await staged.client.beta.agents.create(AGENT);
  const { sessions } = staged.client.beta;
  const session = await sessions.create({ agent: agent.id, environment_id: 'env_default' });
  const send = (...events: Parameters<typeof sessions.events.send>[1]['events']) =>
    sessions.events.send(session.id, { events });
  const starts = () => staged.calls.filter(([name]) => name === 'start');
  return { ...staged, sessions, agent, session, send, starts };
}

describe('the face', () => {
  test('takes an outcome, which begins work, and echoes it processed (G72 G45)', async () => {
    const { send, starts, sessions, session } = await opened();
    const { data } = await send({ ...outcome(), max_iterations: 5 });
    expect(data).toMatchObject([
      { type: 'user.define_outcome', max_iterations: 5, rubric, processed_at: expect.any(String) },
    ]);
    const [start] = starts();
    expect(start?.[3]).toBe('Write a brief.');
    expect(start?.at(-1)).toMatchObject({ goalOnce: { rubric: '# Cites sources', rounds: 5 } });
    const [event] = data ?? [];
    expect((await sessions.retrieve(session.id)).outcome_evaluations).toEqual([
      {
        type: 'outcome_evaluation',
        outcome_id: event?.type === 'user.define_outcome' && event.outcome_id,
        description: 'Write a brief.',
        iteration: 0,
        result: 'pending',
        explanation: null,
        completed_at: null,
      },
    ]);
  });

  test('takes a rubric from a file, as its text, and none from one that is no text (G72 G66)', async () => {
    const { client, send, starts } = await opened();
    const upload = async (content: Buffer) => (await client.beta.files.upload({ file: await toFile(content, 'r') })).id;
    const from = (file_id: string) => send({ ...outcome(), rubric: { type: 'file', file_id } });
    for (const content of [Buffer.from([0xff]), Buffer.from(' '), Buffer.alloc(262_145, 'x')]) {
      const refused = await errorOf(from(await upload(content)));
      expect([refused.status, refused.message]).toEqual([
        400,
        expect.stringContaining('events.0.rubric: the file must'),
      ]);
    }
    const { data } = await from(await upload(Buffer.from('# Cites sources')));
    expect(data).toMatchObject([{ rubric }]);
    expect(starts().map((call) => call.at(-1))).toMatchObject([{ goalOnce: { rubric: '# Cites sources' } }]);
  });

  test('takes one with a session that it creates, and three rounds unless told otherwise (G72)', async () => {
    const { sessions, agent, starts } = await opened();
    const made = { agent: agent.id, environment_id: 'env_default' };
    await sessions.create({ ...made, initial_events: [outcome(), text('Be brief.')] });
    expect(starts().map((call) => call.at(-1))).toMatchObject([{ goalOnce: { rounds: 3 } }, {}]);
  });

  test('takes one outcome at a time, unless an interrupt goes before it (G72)', async () => {
    const { send, described, session, starts } = await opened();
    const two = await errorOf(send(outcome('One.'), outcome('Two.')));
    expect([two.status, codeOf(two)]).toEqual([400, 'outcome_active']);
    await send(outcome('One.'));
    expect(codeOf(await errorOf(send(outcome('Two.'))))).toBe('outcome_active');
    expect(starts()).toHaveLength(1);
    await send({ type: 'user.interrupt' }, outcome('Two.'));
    described.set(session.id, description({ session: session.id as never, phase: 'idle' }));
    await send(outcome('Three.'));
    expect(starts().map((call) => call[3])).toEqual(['One.', 'Two.', 'Three.']);
  });

  test('forgets one that could not be sent: later turns show none, and take another (G72)', async () => {
    let isAway = true;
    const { send, sessions, session } = await opened((_, start) => {
      if (isAway) throw new Error('the server is away');
      start();
    });
    await errorOf(send(outcome('One.')));
    isAway = false;
    await send(text('Go.'));
    expect(await sessions.retrieve(session.id)).toMatchObject({ status: 'running', outcome_evaluations: [] });
    await send(outcome('Two.'));
    const { outcome_evaluations: open } = await sessions.retrieve(session.id);
    expect(open).toMatchObject([{ description: 'Two.', result: 'pending' }]);
  });

  test('takes a request that is repeated with its key as the one before (G72 G21)', async () => {
    const { ask, session, starts } = await opened();
    const send = () =>
      ask(`/sessions/${session.id}/events`, post({ events: [outcome()] }, { 'idempotency-key': 'brief-1' }));
    const ids = async (response: Response) => ((await response.json()) as { data: { id: string }[] }).data[0]?.id;
    const first = await ids(await send());
    expect(await ids(await send())).toBe(first);
    expect(new Set(starts().map((call) => (call.at(-1) as { messageId: string }).messageId))).toEqual(new Set([first]));
  });

  test.each([
    ['no rubric', { type: 'user.define_outcome', description: 'x' }],
    ['a rubric in a file that is not there', { ...outcome(), rubric: { type: 'file', file_id: 'file_1' } }],
    ['an empty description', outcome('  ')],
    ['no rounds', { ...outcome(), max_iterations: 0 }],
    ['too many rounds', { ...outcome(), max_iterations: 21 }],
  ])('refuses %s (G72)', async (_, event) => {
    const { send, starts } = await opened();
    expect(await errorOf(send(event as never))).toMatchObject({ status: 400 });
    expect(starts()).toEqual([]);
  });

  test('an outcome that was sent and never taken up is none once the session rests (G72)', async () => {
    const item = { outcome: { event: EVENT, description: { kind: 'text', text: 'x' } } };
    const found = (phase: 'idle' | 'running') =>
      ({
        id: SESSION,
        item: { ...item, archivedAt: null, isStarted: true },
        description: description({ phase }),
      }) as never;
    expect(outcomesOf(found('running'), { outcomes: [] })).toMatchObject([{ result: 'pending' }]);
    expect(outcomesOf(found('idle'), { outcomes: [] })).toEqual([]);
  });
});
