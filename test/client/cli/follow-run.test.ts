// How `run` and `watch` end: by the run, by Ctrl-C, by nobody who works. The session is a fake.
import { EventEmitter } from 'node:events';
import { expect, test, vi } from 'vitest';
import type { Cli } from '../../../client/cli/cli.ts';
import { type FollowRun, followRun } from '../../../client/cli/follow-run.ts';
import { listenForSignals } from '../../../client/cli/signals.ts';
import type { Workplace } from '../../../client/connect/workplace.ts';
import type { Followed } from '../../../client/follow/cursor.ts';
import type { FollowOptions } from '../../../client/follow/follow.ts';
import { ClientProblem } from '../../../client/problem.ts';
import { createPaint } from '../../../client/paint.ts';
import { runOutcome } from '../../../client/sessions/outcome.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import type { Phase } from '../../../workflows/contract/session.ts';
import { noUsage, type Terminal } from '../../../workflows/contract/loop.ts';
import { gate } from '../../../worker/scripted-model/index.ts';
import { until } from '../../support/until.ts';
import { description, message, session } from '../support.ts';

const facts = { run: 1, turns: 1, iterations: 1, transitions: [], text: 'Hi.', messages: [], usage: noUsage };
const result = (terminal: Terminal) =>
  runOutcome(session, { ...facts, reason: terminal.reason, terminal, costUsd: 0, durationMs: 5 });
const completed = result({ reason: 'completed' });
const place = { run: 1, queryId: 'c.1', depth: 0, cwd: '/w', step: 1, attempt: 1 };
const start: Followed = { ...place, type: 'run_start', model: 'm', scripted: true };

type Play = (signal: AbortSignal, interrupted: () => boolean) => AsyncIterable<Followed>;

/** Waits until the follower is told to stop. */
const toldToStop = (signal: AbortSignal) =>
  new Promise<void>((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve())));

/** `phases`: as the session is described, look by look. */
type Ways = Partial<Pick<FollowRun, 'json' | 'onInterrupt' | 'unattended'>> & {
  readonly phases?: readonly Phase[];
  /** Agents in the background, look by look. */
  readonly agents?: readonly number[];
  readonly isOurs?: boolean;
};

function following(
  play: Play,
  { json = false, onInterrupt = 'interrupt', unattended = 'wait', phases = [], agents = [], isOurs = true }: Ways = {},
) {
  const source = new EventEmitter();
  const signals = listenForSignals(source as unknown as Pick<NodeJS.Process, 'on' | 'off'>, vi.fn());
  const interrupt = vi.fn(() => Promise.resolve());
  const [failure, unread] = [new AbortController(), new AbortController()];
  const follow = (_id: string, { signal }: FollowOptions) =>
    play(signal as AbortSignal, () => interrupt.mock.calls.length > 0);
  const [printed, said]: [string[], string[]] = [[], []];
  const cli = {
    self: 'perdure',
    env: {},
    openInput: null,
    bottom: null,
    err: createPaint(false),
    out: createPaint(false),
    print: (text: string) => void printed.push(text),
    say: (line: string) => void said.push(line),
    unread: unread.signal,
  } as unknown as Cli;
  const [looks, counts] = [phases.values(), agents.values()];
  const describe = () =>
    Promise.resolve(description({ phase: looks.next().value ?? 'idle', background: counts.next().value ?? 0 }));
  const staff = { isOurs: () => isOurs, mayEnd: (isOver: () => Promise<boolean>) => isOver() };
  const sessions = { follow, interrupt, describe };
  const workplace = { sessions, failed: failure.signal, ...staff } as unknown as Workplace;
  const how = { json, signals, onInterrupt, unattended };
  const status = followRun(cli, { workplace, session, messageId: message('m'), ...how });
  return { status, printed, said, interrupt, failure, unread, kill: (name: string) => void source.emit(name, name) };
}

const ends = (...events: Followed[]): Play =>
  async function* () {
    yield* events;
  };

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

const oneByOne = (...plays: Play[]): Play => {
  const left = plays.values();
  return (signal, interrupted) => left.next().value!(signal, interrupted);
};
const AT_WORK = 'in the background: this process goes on until none does (Ctrl-C leaves)';

test('goes on while agents work in the background of the session, and says how many (L71)', async () => {
  const run = following(oneByOne(ends(start, completed), ends(start, completed), ends(start, completed)), {
    agents: [2, 1],
  });
  expect(await run.status).toBe(0);
  expect(run.said.slice(1)).toEqual([
    `2 agents still work ${AT_WORK}`,
    `1 agent still works ${AT_WORK}`,
    'details: perdure show s-1',
  ]);
});

test('leaves agents in the background to a worker that stays (L71)', async () => {
  const run = following(oneByOne(ends(start, completed)), { agents: [2], isOurs: false });
  expect(await run.status).toBe(0);
  expect(run.said.at(-1)).toBe('details: perdure show s-1');
});

test('Ctrl-C leaves agents in the background, interrupts nothing, and says how to come back (L71)', async () => {
  const run = following(
    oneByOne(ends(start, completed), async function* (signal) {
      run.kill('SIGINT');
      await toldToStop(signal);
    }),
    { agents: [1, 1] },
  );
  expect(await run.status).toBe(0);
  expect(run.interrupt).not.toHaveBeenCalled();
  expect(run.said.at(-2)).toContain('`perdure watch s-1` comes back to it');
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
  expect(run.said.at(-1)).toContain('so the session waits: decide, then `perdure watch s-1` goes on with it');
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
    expect(run.said.at(-1)).toContain('`perdure watch s-1` comes back to it');
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
