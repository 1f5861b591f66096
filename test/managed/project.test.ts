import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { accumulateManagedAgentsEvent } from '@anthropic-ai/sdk/lib/sessions/accumulate';
import type { ChannelItem, Entry, Terminal } from '../../client/index.ts';
import { Previews } from '../../managed/events/previews.ts';
import { emptyProjection, type EventFact } from '../../managed/events/parts.ts';
import { projectEntries } from '../../managed/events/project.ts';
import { isCertain } from '../../managed/events/timelines.ts';
import { formatMicros } from '../../managed/ids.ts';
import type { Append } from '../../workflows/contract/activities.ts';
import type { CallKey, Hash, MessageId } from '../../workflows/contract/ids.ts';
import { plainEntries, transcriptOf } from '../support/any-transcript.ts';
import {
  boundary,
  callBlock,
  outcome,
  outcomes,
  reply,
  runEnded,
  textBlock,
  thinkingBlock,
} from '../support/transcript.ts';

const SESSION = `sesn_${'a'.repeat(26)}`;
const MESSAGE = `sevt_${'m'.repeat(26)}`;
const T = 1_770_000_000_000;

const message = (id: string, text = 'Do it.'): Entry => ({
  kind: 'user',
  id: id as MessageId,
  body: { kind: 'text', text },
});
const started = (run: number, at: number): Entry => ({ kind: 'run_started', run, config: 'c' as Hash, at });

const project = (entries: readonly Entry[], session = SESSION): readonly EventFact[] =>
  projectEntries(emptyProjection(session), entries).facts;
const written = (facts: readonly EventFact[]) => facts.map((fact) => fact.make(new Map()));
const typesOf = (entries: readonly Entry[]): readonly string[] => project(entries).map(({ type }) => type);

const turn: readonly Entry[] = [
  started(1, T),
  message(MESSAGE),
  reply([thinkingBlock('hm'), textBlock('I look.'), callBlock('c1', { command: 'ls' }, 'bash')], { at: T + 5_000 }),
  outcomes(outcome(2, 'a.txt')),
  reply([textBlock('One file.')], { at: T + 9_000, attempt: 3 }),
  runEnded(1),
];

test('the message of a first run that could not start has the time of its end', () => {
  const [first] = written(project([message(MESSAGE), runEnded(1)]));
  expect(first).toMatchObject({ type: 'user.message', processed_at: '1970-01-01T00:00:00.009000Z' });
});

describe('a turn', () => {
  test('has its events in the order that clients rely on (G34)', () => {
    expect(typesOf(turn)).toEqual([
      'user.message',
      'session.status_running',
      'span.model_request_start',
      'agent.thinking',
      'agent.message',
      'agent.tool_use',
      'span.model_request_end',
      'agent.tool_result',
      'span.model_request_start',
      'span.model_request_end',
      'span.model_request_start',
      'span.model_request_end',
      'span.model_request_start',
      'agent.message',
      'span.model_request_end',
      'session.usage',
      'session.status_idle',
    ]);
  });

  test('names its calls by the event that told them, and its spans by their starts (G33 G35)', () => {
    const events = written(project(turn));
    const use = events.find(({ type }) => type === 'agent.tool_use');
    expect(use).toMatchObject({ name: 'bash', input: { command: 'ls' } });
    expect(events.find(({ type }) => type === 'agent.tool_result')).toMatchObject({
      tool_use_id: use?.id,
      content: [{ type: 'text', text: 'a.txt' }],
      is_error: false,
    });
    const starts = events.filter(({ type }) => type === 'span.model_request_start').map(({ id }) => id);
    const ends = events.filter((event) => event.type === 'span.model_request_end');
    expect(ends.map(({ model_request_start_id }) => model_request_start_id)).toEqual(starts);
    expect(ends.map(({ is_error }) => is_error)).toEqual([false, true, true, false]);
  });

  test('keeps the id under which its message was sent, and the times of its facts (G10 G33)', () => {
    const [first, second] = written(project(turn));
    expect(first).toMatchObject({ id: MESSAGE, processed_at: formatMicros(T * 1000) });
    expect(second).toMatchObject({ processed_at: formatMicros(T * 1000 + 1) });
  });

  test('of a tool of an MCP server has the server and the tool apart (G34)', () => {
    const entries = [reply([callBlock('c', {}, 'mcp__shop__find_it')]), outcomes(outcome(0, 'found'))];
    const events = written(project(entries));
    const use = events.find(({ type }) => type === 'agent.mcp_tool_use');
    expect(use).toMatchObject({ mcp_server_name: 'shop', name: 'find_it' });
    expect(events.find(({ type }) => type === 'agent.mcp_tool_result')).toMatchObject({ mcp_tool_use_id: use?.id });
  });

  test('without a server of its agent has an error that names it, and goes on (G40 G54)', () => {
    const away = (server: string, unauthorized?: true): Entry => ({
      kind: 'notice',
      notice: { kind: 'server_away', server, detail: 'it is not there', ...(unauthorized && { unauthorized }) },
    });
    const events = written(project([...turn.slice(0, 2), away('shop'), away('bank', true), ...turn.slice(2)]));
    expect(events.slice(2, 5)).toMatchObject([
      {
        type: 'session.error',
        error: {
          type: 'mcp_connection_failed_error',
          mcp_server_name: 'shop',
          message: 'it is not there',
          retry_status: { type: 'retrying' },
        },
      },
      { type: 'session.error', error: { type: 'mcp_authentication_failed_error', mcp_server_name: 'bank' } },
      { type: 'span.model_request_start' },
    ]);
  });

  test('that is opened without a message is told as running before anything else (G34)', () => {
    expect(typesOf([started(1, T), reply([textBlock('x')])]).slice(0, 2)).toEqual([
      'session.status_running',
      'span.model_request_start',
    ]);
  });

  test('that was compacted says so, and nothing else of the loop is an event (G34)', () => {
    const quiet: Entry[] = [
      { kind: 'transition', iteration: 1, reason: 'next_turn' },
      { kind: 'snip', entries: [0] },
      { kind: 'microcompact', before: 1, freed: 1 },
      { kind: 'notice', notice: { kind: 'continue' } },
    ];
    expect(typesOf([boundary('so far', 0), ...quiet])).toEqual(['agent.thread_context_compacted']);
  });
});

test('workers that take work and send no heartbeat are an error that is told once (G78)', () => {
  const silent = (work: string, items = 5): Entry => ({
    kind: 'notice',
    notice: { kind: 'workers_silent', work, items, at: T + 20_000 },
  });
  const events = written(project([...turn.slice(0, 3), silent('work_1'), silent('work_1'), silent('work_2')]));
  const errors = events.filter((event) => event.type === 'session.error');
  expect(errors).toMatchObject(
    [1, 2].map(() => ({ error: { type: 'unknown_error', retry_status: { type: 'retrying' } } })),
  );
  expect(errors[0]?.error.message).toContain('5 items of work in a row ended without a heartbeat');
  expect(errors[0]?.processed_at).toBe(formatMicros((T + 20_000) * 1_000));
  expect(new Set(errors.map(({ id }) => id)).size).toBe(2);
});

describe('the end of a run', () => {
  const ends: readonly (readonly [Terminal, string | null, string])[] = [
    [{ reason: 'completed' }, null, 'end_turn'],
    [{ reason: 'aborted_tools', by: 'interrupt' }, null, 'end_turn'],
    [{ reason: 'model_error', detail: 'busy', status: 429 }, 'model_rate_limited_error', 'retries_exhausted'],
    [{ reason: 'model_error', detail: 'busy', status: 529 }, 'model_overloaded_error', 'retries_exhausted'],
    [{ reason: 'model_error', detail: 'no', status: 402 }, 'billing_error', 'retries_exhausted'],
    [{ reason: 'model_error', detail: 'no' }, 'model_request_failed_error', 'retries_exhausted'],
    [{ reason: 'max_turns', limit: 3, turnNotTaken: 4 }, 'tool_use_limit_reached_error', 'retries_exhausted'],
    [{ reason: 'budget_exceeded', limitUsd: 1, spentUsd: 2 }, 'billing_error', 'retries_exhausted'],
    [{ reason: 'timeout', limitMs: 5 }, 'unknown_error', 'retries_exhausted'],
  ];
  test.each(ends)('%j', (terminal, error, stop) => {
    const events = written(project([runEnded(1, terminal)]));
    expect(events.map(({ type }) => type)).toEqual([
      ...(error === null ? [] : ['session.error']),
      'session.usage',
      'session.status_idle',
    ]);
    if (error !== null)
      expect(events[0]).toMatchObject({ error: { type: error, retry_status: { type: 'exhausted' } } });
    expect(events.at(-1)).toMatchObject({ stop_reason: { type: stop }, stop_details: null });
  });
});

/** Ids of messages and numbers of runs are unique, as the workflow counts each once. */
function withOwnName(entry: Entry, at: number): Entry {
  if (entry.kind === 'user') return { ...entry, id: `m-${at}` as MessageId };
  return entry.kind === 'run_started' ? { ...entry, run: at + 1 } : entry;
}

const anyEntries = fc.array(plainEntries, { maxLength: 40 }).map((steps) => transcriptOf(steps).map(withOwnName));

describe('any transcript', () => {
  test('has unique ids and strictly increasing times, and the same bytes however it is read (G30 G31)', () => {
    fc.assert(
      fc.property(anyEntries, fc.nat(40), (steps, cut) => {
        // What is stored first has a time.
        const entries = [started(1, T), ...steps];
        const whole = project(entries);
        expect(new Set(whole.map(({ id }) => id)).size).toBe(whole.length);
        const times = written(whole).map(({ processed_at }) => String(processed_at));
        expect(times).toEqual(times.toSorted());
        expect(new Set(times).size).toBe(times.length);
        const first = projectEntries(emptyProjection(SESSION), entries.slice(0, cut + 1));
        const second = projectEntries(first.projection, entries.slice(cut + 1));
        expect(JSON.stringify(written([...first.facts, ...second.facts]))).toBe(JSON.stringify(written(whole)));
      }),
    );
  });

  test('gives other ids in another session (G33)', () => {
    fc.assert(
      fc.property(anyEntries, (entries) => {
        const other = new Set(project(entries, `sesn_${'b'.repeat(26)}`).map(({ id }) => id));
        expect(project(entries).filter(({ id }) => other.has(id))).toEqual([]);
      }),
    );
  });

  test('uses no id again after a rewind, although positions are (G33)', () => {
    const again = [message('m-2'), reply([textBlock('Again.')])];
    const rewound: Entry = {
      kind: 'steered',
      steered: { action: 'rewind', at: T, rewound: { from: 'h1' as Hash, to: null } },
    };
    const before = new Set(project([rewound, ...turn]).map(({ id }) => id));
    expect(project(turn).filter(({ id }) => id !== MESSAGE && before.has(id))).toEqual([]);
    expect(project([rewound, ...again])).toHaveLength(4);
  });
});

describe('previews', () => {
  const projected = projectEntries(emptyProjection(SESSION), [started(1, T), message(MESSAGE)]);
  const delta = (step: number, attempt: number, index: number, text: string) =>
    ({ type: 'text_delta', step, attempt, iteration: 1, index, text }) as const;
  const both = ['agent.message', 'agent.thinking'] as const;
  const preview = (previews: Previews, items: readonly ChannelItem[], after = projected) =>
    items.flatMap((item) => previews.preview(item, { projection: after.projection, step: 2 }));

  test('have the id of the event that comes, and are a prefix of its content (G43)', () => {
    const items = [
      { type: 'thinking_delta', step: 2, attempt: 1, iteration: 1, index: 0, text: 'hm' } as const,
      delta(2, 1, 1, 'I '),
      delta(2, 1, 1, 'look.'),
      delta(2, 1, 3, 'And'),
    ];
    const frames = preview(new Previews(both, 1), items);
    const entry = reply([thinkingBlock('hm'), textBlock('I look.'), callBlock('c'), textBlock('And more.')]);
    const events = written(projectEntries(projected.projection, [entry]).facts);
    const idOf = (type: string) => events.find((event) => event.type === type)?.id;
    expect(frames.filter(({ type }) => type === 'event_start')).toEqual([
      { type: 'event_start', event: { id: idOf('agent.thinking'), type: 'agent.thinking' } },
      { type: 'event_start', event: { id: idOf('agent.message'), type: 'agent.message' } },
    ]);
    const accumulated = frames.reduce<ReturnType<typeof accumulateManagedAgentsEvent>>(
      (sum, frame) => accumulateManagedAgentsEvent(sum, frame) ?? sum,
      undefined,
    );
    expect(accumulated).toMatchObject({ id: idOf('agent.message'), content: [{ text: 'I look.' }, { text: 'And' }] });
  });

  test('end with their attempt, or when their event has come; the next attempt has its own (G43)', () => {
    const previews = new Previews(both, 1);
    const dead = { type: 'tombstone', step: 2, attempt: 1, iteration: null, why: 'died' } as unknown as ChannelItem;
    const [start] = preview(previews, [delta(2, 1, 0, 'a')]);
    expect(preview(previews, [dead, delta(2, 1, 0, 'b')])).toEqual([]);
    const [again] = preview(previews, [delta(2, 2, 0, 'c')]);
    expect([again?.type, again]).not.toEqual(['event_start', start]);
    const whole = projectEntries(projected.projection, [reply([textBlock('c')], { attempt: 2 })]);
    expect(preview(previews, [delta(2, 2, 0, 'd')], whole)).toEqual([]);
    expect(preview(previews, [delta(2, 2, 0, 'e')])).toEqual([]);
  });

  test('are of a step that is under way alone: an earlier or later one has none (G43)', () => {
    expect(preview(new Previews(both, 0), [delta(1, 1, 0, 'a'), delta(3, 1, 0, 'a')])).toEqual([]);
  });

  test('are of what was asked for, and of no step that was under way before (G43)', () => {
    expect(preview(new Previews(['agent.thinking'], 1), [delta(2, 1, 0, 'a')])).toEqual([]);
    expect(preview(new Previews(both, 2), [delta(2, 1, 0, 'a')])).toEqual([]);
  });
});

describe('a step under way', () => {
  const recorded = (key: string) => Promise.resolve(key === 'known');
  const item = { index: 0, key: 'known' as CallKey };
  const ended = { ...item, key: 'unknown' as CallKey, note: 'over', ended: {} as never };
  test.each([
    [started(1, T), true],
    [message(MESSAGE), true],
    [{ kind: 'outcomes', items: [item, { index: 1, note: 'Not run.' }] }, true],
    [{ kind: 'outcomes', items: [item, ended] }, false],
    [{ kind: 'outcomes', items: [{ index: 0, key: 'unknown' as CallKey }] }, false],
    [{ kind: 'prepared_boundary', boundary: 'b' as Hash }, false],
    [{ kind: 'steered', steered: { action: 'interrupt', at: T } }, true],
    [runEnded(1), false],
  ] as const)('shows what it stores first where that is certain: %j', async (append, isShown) => {
    expect(await isCertain(append as Append, recorded)).toBe(isShown);
  });

  test('shows it as it is stored later (G32)', () => {
    const first = [started(1, T), message(MESSAGE)];
    const whole = [...first, reply([textBlock('x')], { at: T + 1 })];
    expect(JSON.stringify(written(project(whole)).slice(0, 2))).toBe(JSON.stringify(written(project(first))));
  });
});
