// Whoever brings up a worker is told whose work it takes up.
import { expect, test } from 'vitest';
import { sayWhoseWork } from '../../client/runtime/keep-worker.ts';
import { ClientProblem } from '../../client/problem.ts';
import type { SessionInfo } from '../../client/sessions/info.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { description } from './support.ts';

const info = (session: string, more: Partial<SessionInfo> = {}): SessionInfo =>
  description({ session: session as SessionId, phase: 'waiting_worker', taskQueue: 'ours', ...more });

async function told(list: () => AsyncIterable<SessionInfo>): Promise<readonly string[]> {
  const lines: string[] = [];
  const say = (line: string): void => void lines.push(line);
  await sayWhoseWork({ sessions: { list }, queues: ['ours'], session: 's-own', say });
  return lines;
}

test('names the sessions of its queues that waited, and not its own (Q10)', async () => {
  const lines = await told(async function* () {
    yield info('s-own');
    yield info('s-1');
    yield info('s-theirs', { taskQueue: 'theirs' });
    yield info('s-idle', { phase: 'idle' });
    yield info('s-2');
  });
  expect(lines).toEqual(['also working on s-1, s-2, which waited for a worker']);
});

test('names five of many, says nothing of none, and nothing when the server does not answer (Q10)', async () => {
  const many = await told(async function* () {
    for (let n = 1; n <= 8; n += 1) yield info(`s-${n}`);
  });
  expect(many).toEqual(['also working on s-1, s-2, s-3, s-4, s-5 and 3 more, which waited for a worker']);
  expect(await told(async function* () {})).toEqual([]);
  const silent = await told(async function* () {
    yield info('s-1');
    throw new ClientProblem('unanswered', 'the server is away');
  });
  expect(silent).toEqual([]);
});
