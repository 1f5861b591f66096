// How `run` and `watch` end: by the run, by Ctrl-C, by nobody who works. The session is a fake.
import { expect, test, vi } from 'vitest';
import type { Followed } from '../../client/follow/news.ts';
import { ClientProblem } from '../../client/problem.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import type { Terminal } from '../../workflows/contract/loop.ts';
import { gate } from '../../scripted-model/index.ts';
import { until } from '../support/until.ts';
import { session } from '../client/support.ts';
import { completed, ends, following, result, start, toldToStop } from './following.ts';

test.each<[Terminal, number]>([
  [{ reason: 'completed' }, 0],
  [{ reason: 'max_turns', limit: 1, turnNotTaken: 2 }, 1],
  [{ reason: 'model_error', detail: '401' }, 1],
  [{ reason: 'aborted_tools', by: 'interrupt' }, 130],
  [{ reason: 'aborted_streaming', by: 'message' }, 1],
  [{ reason: 'aborted_streaming', by: 'cancel' }, 1],
])('ends with the status of %j', async (terminal, status) => {
  const run = following(ends(result(terminal)));
  expect(await run.status).toBe(status);
  expect(run.said.at(-1)).toBe('details: perdure show s-1');
});

test('a session that is not yet at rest when its run has ended is not said to have received a message', async () => {
  const plays = [[start, completed], []];
  const run = following(() => ends(...(plays.shift() ?? []))(new AbortController().signal, () => false), {
    phases: ['running'],
  });
  expect(await run.status).toBe(0);
  expect(plays).toEqual([]);
  expect(run.said.at(-1)).toBe('details: perdure show s-1');
  expect(run.said.join('\n')).not.toContain('received another message');
});

test('with --json prints one object a line, the result last, and everything for people elsewhere', async () => {
  const run = following(ends(start, completed), { json: true });
  await run.status;
  expect(
    run.printed
      .join('')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([start, completed]);
  expect(run.said[0]).toBe('scripted model — set ANTHROPIC_API_KEY for a real one');
});

test('with --json gives the approval as an event and asks nobody (L55)', async () => {
  const approval = {
    call: '1.1.0',
    tool: 'bash',
    reason: 'r',
    inputHash: 'h',
    head: 'h' as Hash,
    index: 0,
    deadline: 9,
  };
  const waits: Followed = { type: 'approval', session, ...approval, input: {} };
  const json = following(ends(waits, completed), { json: true });
  await json.status;
  expect(JSON.parse(json.printed[0] ?? '')).toEqual(waits);
  expect(json.said).toEqual(['details: perdure show s-1']);
  const people = following(ends(waits, completed));
  await people.status;
  expect(people.said[0]).toContain('`perdure approve s-1 1.1.0`');
});

const asks: Followed = {
  type: 'approval',
  session,
  call: '1.1.0',
  tool: 'bash',
  reason: 'r',
  inputHash: 'h',
  head: 'h' as Hash,
  index: 0,
  deadline: 9,
  input: {},
};

test('where nobody can be asked it leaves a call that waits, with a status of its own, and says how to go on (O20)', async () => {
  const run = following(
    async function* (signal) {
      yield asks;
      await toldToStop(signal);
    },
    { unattended: 'leave' },
  );
  expect(await run.status).toBe(3);
  expect(run.said[0]).toContain('`perdure approve s-1 1.1.0`');
  expect(run.said.at(-1)).toContain('decide, then run `perdure watch s-1`');
});

test('a program that reads the events decides by itself: with --json it waits (O20)', async () => {
  const run = following(ends(asks, completed), { unattended: 'leave', json: true });
  expect(await run.status).toBe(0);
});

test('interrupts the run at the first Ctrl-C, waits for its end, and ends with 130 (L47)', async () => {
  const run = following(async function* (signal, interrupted) {
    yield start;
    run.kill('SIGINT');
    expect([signal.aborted, interrupted()]).toEqual([false, true]);
    yield result({ reason: 'aborted_streaming', by: 'interrupt' });
  });
  expect(await run.status).toBe(130);
  expect(run.interrupt).toHaveBeenCalledOnce();
});

const UNSURE = 'the last message may not have arrived: check with `perdure show s-1`';

test('does not leave while an interrupt is on its way, unless it is told to (L47)', async () => {
  const leaving = async (signal?: string) => {
    const [held, ended] = [gate(), vi.fn()];
    const run = following(async function* () {
      yield start;
      run.interrupt.mockReturnValue(held.hold);
      run.kill('SIGINT');
      yield completed;
    });
    const end = run.status.then(ended);
    await until(() => run.said.includes('details: perdure show s-1'));
    await new Promise(setImmediate);
    expect(ended).not.toHaveBeenCalled();
    if (signal) run.kill(signal);
    else held.release();
    await end;
    return run.said.at(-1);
  };
  expect(await leaving()).toBe('details: perdure show s-1');
  expect([await leaving('SIGTERM'), await leaving('SIGINT')]).toEqual([UNSURE, UNSURE]);
});

test('counts a run that completed all the same as completed', async () => {
  const run = following(async function* () {
    yield start;
    run.kill('SIGINT');
    yield completed;
  });
  expect(await run.status).toBe(0);
});

test.each([
  ['a second Ctrl-C', ['SIGINT', 'SIGINT'], 'interrupt', 130],
  ['SIGTERM', ['SIGTERM'], 'interrupt', 143],
  ['a Ctrl-C, for `watch`', ['SIGINT'], 'detach', 130],
] as const)(
  'leaves the session as it is at %s, and says how to come back',
  async (_what, names, onInterrupt, status) => {
    const run = following(
      async function* (signal) {
        yield start;
        names.forEach(run.kill);
        await toldToStop(signal);
      },
      { onInterrupt },
    );
    expect(await run.status).toBe(status);
    expect(run.said.at(-1)).toContain('follow it with `perdure watch s-1`');
    expect(run.said).not.toContain(UNSURE);
    expect(run.interrupt).toHaveBeenCalledTimes(names.length - 1);
  },
);

test('fails with the reason when nobody will do the work', async () => {
  const run = following(async function* (signal) {
    yield start;
    run.failure.abort(new ClientProblem('no_worker', 'no worker polls'));
    await toldToStop(signal);
  });
  await expect(run.status).rejects.toThrow('no worker polls');
});

test('is quiet when nobody reads any more', async () => {
  const run = following(async function* (signal) {
    yield start;
    run.unread.abort();
    await toldToStop(signal);
  });
  expect(await run.status).toBe(141);
  expect(run.said).toEqual(['scripted model — set ANTHROPIC_API_KEY for a real one']);
});
