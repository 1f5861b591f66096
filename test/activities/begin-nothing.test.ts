import { Context } from '@temporalio/activity';
import { afterEach, expect, test, vi } from 'vitest';
import { createActivities } from '../../activities/index.ts';
import type { Activities } from '../../workflows/contract/activities.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { benchDeps } from '../support/bench-deps.ts';

afterEach(() => vi.restoreAllMocks());

const stops = { session: 'mine' as SessionId, run: 2 };

/**
 * After how long what is asked for is tried elsewhere; null when this worker takes it, whatever
 * comes of it then.
 */
async function refusal(name: keyof Activities, session: string, input: object): Promise<unknown> {
  const info = { workflowExecution: { workflowId: session }, attempt: 1 };
  const signal = new AbortController().signal;
  vi.spyOn(Context, 'current').mockReturnValue({ info, cancellationSignal: signal, heartbeat: () => {} } as never);
  const activities = createActivities((await benchDeps({ script: [] })).deps, stops);
  const failure: unknown = await activities[name](input as never).catch((error: unknown) => error);
  const { type, nextRetryDelay } = (failure ?? {}) as { readonly type?: string; readonly nextRetryDelay?: string };
  return type === 'StopsOnly' ? nextRetryDelay : null;
}

test.each<[keyof Activities, object, string | null]>([
  ['openRun', { run: 2, options: {} }, null],
  ['openRun', { run: 2, options: {}, begins: true }, '5s'],
  ['openRun', { run: 3, options: {} }, '5s'],
  ['callModel', {}, '5s'],
  ['findReply', {}, null],
  ['runTool', { stopped: true }, null],
  ['runTool', {}, '5s'],
  ['commit', {}, null],
  ['compact', {}, '5s'],
  ['collapse', {}, '5s'],
  ['runStopHooks', {}, '5s'],
  ['summarizeBatch', {}, '5s'],
  ['afterStop', {}, null],
])(
  'of the session that it stops, a worker asked for %s (%j) leaves it to another after: %s (L47 L49)',
  async (name, input, again) => {
    expect(await refusal(name, 'mine', input)).toBe(again);
  },
);

test.each<[keyof Activities, object, string | null]>([
  ['openRun', { run: 2, options: {} }, '5s'],
  ['callModel', {}, '5s'],
  ['runTool', {}, '5s'],
  ['runTool', { stopped: true }, null],
  ['commit', {}, null],
  ['summarizeBatch', {}, '5s'],
  ['afterStop', {}, '5s'],
])(
  'of another session, a worker asked for %s (%j) leaves it to another after: %s (L47 L56)',
  async (name, input, again) => {
    expect(await refusal(name, 'another', input)).toBe(again);
  },
);
