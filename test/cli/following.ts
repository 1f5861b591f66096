// A session that `run` or `watch` follows, as the test plays it: a fake.
import { EventEmitter } from 'node:events';
import { vi } from 'vitest';
import type { Cli } from '../../cli/cli.ts';
import { type FollowRun, followRun } from '../../cli/follow-run.ts';
import { listenForSignals } from '../../cli/signals.ts';
import type { Workplace } from '../../client/runtime/workplace.ts';
import type { Followed } from '../../client/follow/news.ts';
import type { FollowOptions } from '../../client/follow/follow.ts';
import { createPaint } from '../../client/paint.ts';
import { runOutcome } from '../../client/sessions/outcome.ts';
import type { Phase } from '../../workflows/contract/session.ts';
import { noUsage, type Terminal } from '../../workflows/contract/loop.ts';
import { description, message, session } from '../client/support.ts';

const facts = { run: 1, turns: 1, iterations: 1, transitions: [], text: 'Hi.', messages: [], usage: noUsage };
export const result = (terminal: Terminal) =>
  runOutcome(session, { ...facts, reason: terminal.reason, terminal, costUsd: 0, durationMs: 5 });
export const completed = result({ reason: 'completed' });
const place = { run: 1, queryId: 'c.1', depth: 0, cwd: '/w', step: 1, attempt: 1 };
export const start: Followed = { ...place, type: 'run_start', model: 'm', scripted: true };

export type Play = (signal: AbortSignal, interrupted: () => boolean) => AsyncIterable<Followed>;

/** Waits until the follower is told to stop. */
export const toldToStop = (signal: AbortSignal) =>
  new Promise<void>((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve())));

/** `phases`: as the session is described, look by look. */
type Ways = Partial<Pick<FollowRun, 'json' | 'onInterrupt' | 'unattended'>> & {
  readonly phases?: readonly Phase[];
  /** Agents in the background, look by look. */
  readonly agents?: readonly number[];
  readonly isOurs?: boolean;
};

export function following(
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

export const ends = (...events: Followed[]): Play =>
  async function* () {
    yield* events;
  };
