// Going back to an earlier point, over HTTP and on the page.
import { expect, test } from 'vitest';
import type { RewindResult } from '../../client/sessions/files/rewind-session.ts';
import { ClientProblem } from '../../client/problem.ts';
import { openSessionFeed } from '../../page/feed/session-feed.ts';
import { sessionFrame } from '../../page/session/frame.tsx';
import type { Hash, MessageId, SessionId } from '../../workflows/contract/ids.ts';
import type { Entry } from '../../store/log/entries.ts';
import { memoryStore } from '../support/memory-store.ts';
import { stagedPage, stagedPorts } from '../support/page-ports.ts';
import { until } from '../support/until.ts';
import { reply, runStarted, stored, textBlock, user as userEntry } from '../support/transcript.ts';
import { recording, stagedApi, token } from './api/staged-api.ts';

const user = (text: string, id: string): Entry => ({ ...userEntry(text), id: id as MessageId }) as Entry;

const plan: RewindResult = {
  rewind: { from: 'f' as Hash, to: 't' as Hash, files: [{ root: '/work', known: 'a', to: 'b' }] },
  position: 4,
  prompt: 'Format it <now>.',
  turns: 3,
  effects: [{ name: 'bash', input: { command: 'git push origin main' }, outcome: 'ok' }],
  files: [{ root: '/work', path: 'src/a.ts', kind: 'changed', insertions: 3, deletions: 10, unnamed: true }],
  moreFiles: 0,
  notLooked: null,
  problems: ['b.ts was changed by someone else'],
  untaken: { count: 1, first: [{ path: 'big.bin', why: 'it was not captured then' }] },
  inUse: ['node (pid 12) has data.db open'],
  rewound: null,
};
const rewound = { from: 'f' as Hash, to: 't' as Hash, files: [{ root: '/work', before: 'c', to: 'b', files: 2 }] };

test('a program goes back over HTTP, is told first what that would do, and undoes it (T6 T7)', async () => {
  const { calls, ports } = recording({ rewind: plan, undoRewind: { ...rewound, turns: 2 } });
  const { ask } = await stagedApi({ ports });
  const preview = await ask('/sessions/s-1/rewind', { body: { to: '2.1', files: false, dryRun: true } });
  const { rewind: _, ...told } = plan;
  expect([preview.status, await preview.json()]).toEqual([200, told]);
  expect(await (await ask('/sessions/s-1/rewind/undo', { body: {} })).json()).toEqual({ rewound, turns: 2 });
  expect(calls).toEqual([
    ['rewind', 's-1', { to: '2.1', files: false, dryRun: true, signal: undefined }],
    ['undoRewind', 's-1', { signal: undefined }],
  ]);
  const decider = { authorization: `Bearer ${token('decide')}` };
  expect((await ask('/sessions/s-1/rewind', { body: {}, headers: decider })).status).toBe(403);
  expect((await ask('/sessions/s-1/rewind', { body: { unknown: 1 } })).status).toBe(400);
});

const entries = [runStarted(1), user('First.', 'm-1'), reply([textBlock('Done.')]), user('Second.', 'm-2')];

test('a prompt offers to go back to before it; the preview names files and what stays, and nothing is done yet (T6)', async () => {
  const asked: unknown[] = [];
  const ports = {
    rewind: (...given: unknown[]) => {
      asked.push(given);
      return Promise.resolve({ ...plan, rewound });
    },
    undoRewind: () => Promise.resolve({ ...rewound, turns: 2 }),
  };
  const { text, post } = await stagedPage({ entries, ports });
  expect(await text('/sessions/s-1')).toContain('data-rewind="m-2"');
  const preview = await text('/sessions/s-1/rewind?to=m-2&part=files');
  for (const words of [
    'before “Format it &lt;now&gt;.”: 3 turns',
    'src/a.ts',
    '−10',
    'git push origin main',
    'not named by any call',
    'b.ts was changed by someone else',
    'Not taken back:',
    'big.bin: it was not captured then',
    'node (pid 12) has data.db open',
    'Go back',
  ])
    expect(preview).toContain(words);
  expect(asked).toEqual([['s-1', { to: 'm-2', conversation: false, dryRun: true }]]);
  const done = await (await post('/sessions/s-1/rewind', { to: 'm-2', part: 'both', force: 'true' })).text();
  expect(asked.at(-1)).toEqual(['s-1', { to: 'm-2', force: true }]);
  expect(done).toContain('Went back: the conversation and 2 files.');
  expect(done).toContain('hx-post="/sessions/s-1/undo-rewind"');
  expect(await (await post('/sessions/s-1/undo-rewind', {})).text()).toContain(
    'Went back again: the conversation and 2 files; 2 later turns left behind.',
  );
});

test('a place that cannot be gone back to says why in the dialog (T6)', async () => {
  const rewind = () => Promise.reject(new ClientProblem('refused', 'it cannot'));
  const { text } = await stagedPage({ entries, ports: { rewind } });
  expect(await text('/sessions/s-1/rewind?to=m-1')).toContain('it cannot');
});

test('the page of a session that went back shows what counts now, and its watchers begin again (T6 O10)', async () => {
  const store = memoryStore();
  const long = await stored(store, entries.slice(0, 3), [user('Second.', 'm-2'), reply([textBlock('Left behind.')])]);
  const back = await stored(store, entries.slice(0, 3), [user('Another.', 'm-3')]);
  let head = long.head;
  const { ports } = await stagedPorts({ seen: { head }, ports: { store, head: () => Promise.resolve(head) } });
  const feed = await openSessionFeed(ports, 's-1' as SessionId, sessionFrame);
  const place = feed.ring.now;
  expect(feed.standing.items.all.length).toBe(5);
  head = back.head;
  await until(() => feed.standing.items.all.length === 4);
  expect(JSON.stringify(feed.standing.items.all)).not.toContain('Left behind');
  expect(feed.ring.since(place)).toBeNull();
  feed.close();
});
