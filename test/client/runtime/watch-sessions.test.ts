// Which sessions `perdure dev` looks at, and what it says of a server that is away.
import { expect, onTestFinished, test } from 'vitest';
import { watchSessions, type WatchSessions } from '../../../client/runtime/watch-sessions.ts';
import { ClientProblem } from '../../../client/problem.ts';
import type { NewsLook } from '../../../client/render/session-news.ts';
import type { SessionInfo } from '../../../client/sessions/info.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { description } from '../support.ts';

const named = (id: string, changes: Omit<Partial<SessionInfo>, 'session'> = {}) =>
  description({ ...changes, session: id as SessionId });

type Page = Awaited<ReturnType<WatchSessions['sessions']['page']>>;
const pageOf = (...sessions: readonly SessionInfo[]): Page => ({ sessions, next: null });

/** Looks without a rest until there were `looks`; returns what each saw, and what was said. */
async function watched(sessions: WatchSessions['sessions'], looks: number) {
  const seen: (readonly SessionInfo[])[] = [];
  const said: string[] = [];
  await new Promise<void>((resolve) => {
    const tell = (_: NewsLook | null, now: NewsLook): void => {
      seen.push([...now.values()]);
      if (seen.length === looks) resolve();
    };
    onTestFinished(watchSessions({ sessions, tell, say: (line) => said.push(line), everyMs: 1 }));
  });
  return { seen: seen.slice(0, looks), said };
}

const describe = (id: string) => Promise.reject(new ClientProblem('no_session', `there is no session ${id}`));

test('those under way are looked at beside the newest, and one that was and is in neither is asked for', async () => {
  let look = 0;
  const { seen } = await watched(
    {
      page: async ({ filter } = {}) => {
        if (filter === undefined) return pageOf(named('newest', { phase: 'idle' }));
        look += 1;
        return look === 1 ? pageOf(named('old'), named('gone')) : pageOf();
      },
      describe: async (id) => (id === 'old' ? { ...named(id, { phase: 'closed' }), unseen: false } : describe(id)),
    },
    2,
  );
  expect(seen[0]?.map(({ session }) => session)).toEqual(['newest', 'old', 'gone']);
  expect(seen[1]?.map(({ session, phase }) => `${session} ${phase}`)).toEqual(['old closed', 'newest idle']);
});

test('where the server lacks the attributes, no filter has every session read again and again', async () => {
  const filters: (string | undefined)[] = [];
  await watched(
    {
      page: async ({ filter } = {}) => {
        filters.push(filter);
        return { ...pageOf(), ...(filter === undefined ? {} : { note: 'every session is read' }) };
      },
      describe,
    },
    3,
  );
  expect(filters.filter((filter) => filter !== undefined)).toHaveLength(1);
});

test('a server that does not answer is told of in one line, and another says that it does again', async () => {
  let calls = 0;
  const page = async (): Promise<Page> => {
    calls += 1;
    if (calls > 2 && calls < 20) throw new ClientProblem('unanswered', 'the server does not answer');
    return pageOf();
  };
  const { said } = await watched({ page, describe }, 2);
  expect(said).toEqual([expect.stringContaining('the server does not answer'), 'sessions are looked at again']);
});

test('the end waits for no answer of the server', async () => {
  const never = (): Promise<Page> => new Promise(() => {});
  const said: string[] = [];
  const end = watchSessions({ sessions: { page: never, describe }, tell: () => {}, say: (line) => said.push(line) });
  await end();
  expect(said).toEqual([]);
});
