import { expect, test } from 'vitest';
import { openSessionsIn } from '../../../client/sessions/find/list-sessions.ts';
import type { SessionInfo } from '../../../client/sessions/info.ts';

const listed = (session: string, more: Partial<SessionInfo> = {}) =>
  ({ session, cwd: '/here', ...more }) as unknown as SessionInfo;

async function found(sessions: readonly SessionInfo[], lookedAt?: number): Promise<readonly string[]> {
  const list = async function* () {
    yield* sessions;
  };
  const there: string[] = [];
  for await (const { session } of openSessionsIn({ list }, '/here', lookedAt)) there.push(session);
  return there;
}

test("a folder's sessions are those that a person can go on with: no agent's, none that cannot be read (O20)", async () => {
  const agent = { type: 'general', parent: 's-1', root: 's-1', depth: 1 };
  const sessions = [
    listed('of-agent', { facts: { turns: 0, tokens: 0, cents: 0, agent } } as unknown as Partial<SessionInfo>),
    listed('elsewhere', { cwd: '/there' }),
    listed('sealed', { unreadable: 'is sealed' }),
    listed('newest'),
    listed('older'),
  ];
  expect(await found(sessions)).toEqual(['newest', 'older']);
});

test('a search ends after the sessions that may be looked at', async () => {
  expect(await found([listed('elsewhere', { cwd: '/there' }), listed('second'), listed('third')], 2)).toEqual([
    'second',
  ]);
});
