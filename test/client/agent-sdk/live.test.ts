// Checks the live messages of a program: replies as the Messages API streams them, running calls,
// and retries.
import { expect, onTestFinished, test, vi } from 'vitest';
import type { WatchedEvent } from '../../../store/live/events.ts';
import { createLiveMessages } from '../../../client/agent-sdk/live.ts';

const at = { iteration: 2, step: 1, attempt: 1 };
const event = (type: string, more: object): WatchedEvent => ({ type, ...at, ...more }) as unknown as WatchedEvent;

test('a reply streams as the Messages API has it, block by block, and begins anew with its start (Q7)', () => {
  const live = createLiveMessages('s-1', true);
  const told = [
    event('request_start', { model: 'm' }),
    event('thinking_delta', { index: 0, text: 'Hm' }),
    event('text_delta', { index: 1, text: 'He' }),
    event('text_delta', { index: 1, text: 'llo' }),
    event('tool_use', { index: 2, id: 't-1', name: 'read', input: { path: 'a' } }),
    event('reply', { stopReason: 'tool_use' }),
    event('text_delta', { index: 1, text: 'cut' }),
    event('request_start', { model: 'm' }),
    event('text_delta', { index: 1, text: 'again' }),
  ].flatMap((each) => live.tell(each, 1));
  expect(told.every((each) => each.type === 'stream_event' && each.session_id === 's-1')).toBe(true);
  const parts = told.map((each) => {
    const { event: part } = each as unknown as { event: { type: string; index?: number; delta?: object } };
    return [part.type, part.index, part.delta].filter((value) => value !== undefined);
  });
  expect(parts).toEqual([
    ['message_start'],
    ['content_block_start', 0],
    ['content_block_delta', 0, { type: 'thinking_delta', thinking: 'Hm' }],
    ['content_block_stop', 0],
    ['content_block_start', 1],
    ['content_block_delta', 1, { type: 'text_delta', text: 'He' }],
    ['content_block_delta', 1, { type: 'text_delta', text: 'llo' }],
    ['content_block_stop', 1],
    ['content_block_start', 2],
    ['content_block_delta', 2, { type: 'input_json_delta', partial_json: '{"file_path":"a"}' }],
    ['content_block_stop', 2],
    ['message_delta', { stop_reason: 'tool_use', stop_sequence: null }],
    ['message_stop'],
    ['content_block_start', 1],
    ['content_block_delta', 1, { type: 'text_delta', text: 'cut' }],
    ['message_start'],
    ['content_block_start', 1],
    ['content_block_delta', 1, { type: 'text_delta', text: 'again' }],
  ]);
});

test('counts of tokens stand where such programs read them: empty at the start, whole at the end (Q7)', () => {
  const live = createLiveMessages('s-1', true);
  const usage = { input: 7, output: 5, cacheRead: 3, cacheWrite: 2 };
  const told = [
    event('request_start', { model: 'm' }),
    event('reply', { stopReason: 'end_turn', spend: { usage, usd: 0 } }),
  ].flatMap((each) => live.tell(each, 1));
  const counts = (input: number, output: number, read: number, write: number) => ({
    input_tokens: input,
    output_tokens: output,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: write,
  });
  expect(told).toMatchObject([
    { event: { type: 'message_start', message: { id: '', usage: counts(0, 0, 0, 0) } } },
    { event: { type: 'message_delta', usage: counts(7, 5, 3, 2) } },
    { event: { type: 'message_stop' } },
  ]);
});

test('nothing is told again of an iteration whose reply was received, and no parts unless they are wanted (Q7 Q9)', () => {
  const delta = event('text_delta', { index: 0, text: 'x' });
  expect(createLiveMessages('s-1', true).tell(delta, 2)).toEqual([]);
  expect(createLiveMessages('s-1', true).tell(delta, 1)).toHaveLength(2);
  expect(createLiveMessages('s-1', false).tell(delta, 1)).toEqual([]);
});

test('what a reply calls is shown while it runs, though the reply was received (Q7)', () => {
  const live = createLiveMessages('s-1', true);
  live.tell(event('tool_use', { index: 0, id: 't-1', name: 'bash', input: {} }), 1);
  expect(live.tell(event('tool_start', { index: 0, name: 'bash' }), 2)).toMatchObject([{ type: 'tool_progress' }]);
  expect(live.tell(event('tool_progress', { index: 0, text: '…' }), 3)).toEqual([]);
});

test('a call tells how long it runs, in seconds from its start, and a retry what the API said (Q7)', () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 });
  onTestFinished(() => void vi.useRealTimers());
  const live = createLiveMessages('s-1', false);
  live.tell(event('tool_use', { index: 0, id: 't-1', name: 'bash', input: {} }), 1);
  vi.setSystemTime(1_010_000);
  const [started] = live.tell(event('tool_start', { index: 0, name: 'bash' }), 2);
  vi.setSystemTime(1_012_500);
  const [later] = live.tell(event('tool_progress', { index: 0, text: '…' }), 2);
  const facts = { type: 'tool_progress', tool_use_id: 't-1', tool_name: 'Bash' };
  expect(started).toMatchObject({ ...facts, elapsed_time_seconds: 0 });
  expect(later).toMatchObject({ ...facts, elapsed_time_seconds: 2.5 });
  expect(live.tell(event('tool_progress', { index: 9, text: '…' }), 2)).toEqual([]);
  const retry = (error: string) => live.tell(event('retry', { failures: 2, delayMs: 500, error }), 1);
  expect(retry('529 overloaded')).toMatchObject([
    { subtype: 'api_retry', attempt: 2, retry_delay_ms: 500, error_status: 529 },
  ]);
  expect(retry('the connection was lost')).toMatchObject([{ error_status: null }]);
});

test('a call that runs while its reply streams is told of once the reply is, and not if that begins anew (Q7)', () => {
  const live = createLiveMessages('s-1', false);
  const call = { index: 0, id: 't-1', name: 'read', input: {} };
  const begin = () => {
    const told = [event('request_start', { model: 'm' }), event('tool_use', call), event('tool_start', { index: 0 })];
    expect(told.flatMap((each) => live.tell(each, 1))).toEqual([]);
  };
  begin();
  begin();
  expect(live.release(1)).toEqual([]);
  expect(live.release(2)).toMatchObject([{ type: 'tool_progress', tool_use_id: 't-1' }]);
  expect(live.release(2)).toEqual([]);
  expect(live.tell(event('tool_progress', { index: 0, text: '…' }), 2)).toHaveLength(1);
});
