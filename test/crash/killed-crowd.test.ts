// A worker that is killed among ten sessions at once: every call that is to wait for a decision
// shows, late at worst.
import type { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import type { PendingApproval } from '../../workflows/contract/session.ts';
import { reply, text, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import { crashHarness, decidePatiently } from '../support/crash-harness.ts';
import type { OpenSession } from '../support/harness.ts';
import { until } from '../support/until.ts';

const SESSIONS = 10;
/**
 * In each session's one reply. They change something, so they are asked for one after the other.
 */
const CALLS = 12;

const names = (session: number): string[] => Array.from({ length: CALLS }, (_, call) => `${session}-${call}`);
const everyCall = Array.from({ length: SESSIONS }, (_, session) => names(session)).flat();

/**
 * A reply of twelve calls, and a short one after it. A request of a worker that died is made again.
 */
const script = (request: ParsedRequest): Reply => {
  if (request.messages.length > 1) return reply([text('Done.')]);
  const session = Number(/session (\d+)/.exec(JSON.stringify(request.messages))?.[1]);
  return reply(names(session).map((name) => toolUse('bash', { command: `echo ${name} >> effects.log` })));
};

type Seen = { readonly session: number; readonly index: number };

/**
 * Allows what shows, each session at its own pace; a call that a dead worker may have begun is not
 * run again. Returns when no session goes on.
 */
async function decideAll(client: Client, sessions: readonly OpenSession[], saw: (seen: Seen) => void): Promise<void> {
  const decided = new Set<string>();
  const decide = async (session: OpenSession, { call, inputHash, index }: PendingApproval): Promise<void> => {
    saw({ session: sessions.indexOf(session), index });
    const question = `${session.id} ${call} ${inputHash}`;
    if (decided.has(question)) return;
    decided.add(question);
    if (inputHash.includes('.')) {
      await decidePatiently(client, session, 'deny', { call, inputHash, reason: 'it may have run' });
    } else await decidePatiently(client, session, 'approve', { call, inputHash });
  };
  const isOver = async (session: OpenSession): Promise<boolean> => {
    const memo = await session.memo();
    for (const approval of memo?.approvals ?? []) await decide(session, approval);
    return memo?.last !== null && memo?.last !== undefined;
  };
  await Promise.all(sessions.map((session) => until(() => isOver(session))));
}

/**
 * Each decision that the dead worker had taken waits for time-outs of the server, and a busy
 * machine makes 120 of them slow.
 */
const LONG = { timeout: 1_200_000 };

test(
  'shows all 120 calls of ten sessions, late at worst, when the worker dies amid decisions (L3 L40 L55)',
  LONG,
  async () => {
    const h = await crashHarness({ script, ownThread: true });
    const first = await h.worker();
    const open = (session: number) =>
      h.open(`This is session ${session}.`, { permissionMode: 'default', permissions: { ask: ['bash'] } });
    const sessions = await Promise.all(Array.from({ length: SESSIONS }, (_, session) => open(session)));
    const seen = new Set<string>();
    const deciding = decideAll(h.client, sessions, ({ session, index }) => seen.add(`${session}-${index}`));
    await until(() => seen.size >= everyCall.length / 3);
    await first.kill();
    const second = await h.worker();
    await deciding;
    const ends = await Promise.all(sessions.map((session) => session.ended(1)));
    await second.kill();
    // A command that fails takes those after it along (L36): none has a reason to.
    const stored = (await Promise.all(sessions.map(({ entries }) => entries()))).flat();
    const outcomes = stored.flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
    const failed = outcomes.filter(({ isError, log }) => isError && log.decision === 'allowed');
    expect(failed.map(({ content }) => content).filter((said) => !said.startsWith('outcome unknown'))).toEqual([]);
    expect(ends.map(({ terminal }) => terminal.reason)).toEqual(sessions.map(() => 'completed'));
    expect([...seen].toSorted()).toEqual(everyCall.toSorted());
    const ran = h.effects();
    expect(new Set(ran).size).toBe(ran.length);
  },
);
