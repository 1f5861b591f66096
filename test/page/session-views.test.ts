// The views of one session: links that only look, words found in it, its files, and sessions next
// to each other.
import { expect, test } from 'vitest';
import { eventStream } from '../../page/feed/event-stream.ts';
import { changeRing } from '../../page/feed/ring.ts';
import { shareChange } from '../../page/session/shared-routes.tsx';
import { newShare, shareEnd } from '../../page/hosting/passes.ts';
import { clockScale, groupRows, rowsOf } from '../../page/timeline/clock-rows.ts';
import { barOf } from '../../client/sessions/history/bars.ts';
import { listCommands, listReadFiles, listTouchedFiles } from '../../client/sessions/history/changed-files.ts';
import { iterationsOf } from '../../client/sessions/history/iterations.ts';
import { noRecentRequests } from '../../client/sessions/history/recent.ts';
import { transcriptItems } from '../../client/sessions/history/items.ts';
import { patchOf } from '../../page/session/files-page.tsx';
import { PAGE_HOST, stagedPage } from '../support/page-ports.ts';
import { callBlock, outcome, outcomes, reply, runStarted, textBlock, user } from '../support/transcript.ts';

const entries = [
  runStarted(1),
  user('Look at the shop.'),
  reply([
    textBlock('I look: **needle** in a haystack.'),
    callBlock('a', { path: 'a.py' }),
    callBlock('b', { path: 'b.py' }),
    callBlock('c', { path: 'c.py', old_string: 'one', new_string: 'two' }, 'edit'),
    callBlock('d', { command: 'make all' }, 'bash'),
  ]),
  outcomes(
    outcome(1, 'of a'),
    outcome(2, 'of b'),
    outcome(3, 'edited', {
      log: {
        key: null,
        name: 'edit',
        decision: 'allowed',
        duration: 1,
        outcome: 'ok',
        approved: { inputHash: 'x', by: 'ana' },
      },
    }),
    outcome(4, 'made'),
  ),
];

test('a shared link shows its session to a stranger, and nothing else: no other session, no action, no other page', async () => {
  const { ask, post } = await stagedPage({ entries });
  const made = await (await post('/sessions/s-1/share', { hours: '1' })).text();
  const path = new RegExp(`http://${PAGE_HOST.replaceAll('.', '\\.')}(/shared/s-1/[\\w.-]+)`).exec(made)?.[1] ?? '';
  const stranger = { headers: { authorization: '' } };
  const page = await ask(path, stranger);
  const html = await page.text();
  expect([page.status, html.includes('needle')]).toEqual([200, true]);
  expect(html).not.toMatch(/hx-post|"\/sessions/);
  expect(/data-feed="([^"]*)"/.exec(html)?.[1]).toBe(`${path}/live`);
  const token = path.split('/').at(-1) ?? '';
  for (const other of [`/shared/s-2/${token}`, `/shared/s-1/${token}x`, '/shared/s-1/none'])
    expect((await ask(other, stranger)).status, other).toBe(403);
  for (const closed of ['/sessions/s-1', '/sessions/s-1/live', '/', '/compare?a=s-1'])
    expect((await ask(closed, stranger)).status, closed).toBe(401);
  expect((await ask(path, { ...stranger, method: 'POST' })).status).toBe(401);
});

test('the stream of a shared link has what is said now and nothing else, and ends with the link', async () => {
  const ring = changeRing();
  const from = `${ring.epoch}.${ring.now}`;
  ring.push(
    { do: 'text', id: 'p-1-1-text', text: 'a word' },
    { do: 'put', id: 'approval', into: 'approvals', html: '<form action="/sessions/s-1/approve">' },
  );
  const streamUntil = (until: number): Promise<string> =>
    readAll(
      eventStream(ring, from, () => undefined, { show: shareChange, until }),
      2,
    );
  const whole = await streamUntil(Infinity);
  expect([whole.includes('a word'), whole.includes('/sessions/')]).toEqual([true, false]);
  expect(await streamUntil(1)).toBe('retry: 1000\n');
});

/** Reads a stream to its end, or some chunks of it. */
async function readAll({ body }: Response, most: number): Promise<string> {
  const parts: string[] = [];
  for await (const part of body ?? []) {
    parts.push(Buffer.from(part).toString());
    if (parts.length === most) break;
  }
  return parts.join('');
}

test('a shared link ends by itself, and with the key it was signed with', () => {
  const place = { key: 'key', name: 'page', session: 's-1' };
  const share = newShare(place, 2, 0);
  expect(shareEnd(place, share, 7_199_999)).toBe(7_200_000);
  expect(shareEnd(place, share, 7_200_000)).toBeNull();
  for (const other of [{ key: 'other' }, { name: 'elsewhere' }, { session: 's-2' }])
    expect(shareEnd({ ...place, ...other }, share, 0)).toBeNull();
});

test('someone who may only look makes no link for others', async () => {
  const { page } = await stagedPage({ entries });
  expect((await page.app.request('/sessions/s-1/share', { method: 'POST', headers: { host: PAGE_HOST } })).status).toBe(
    401,
  );
});

test('words are found in all of a session: prompts, replies, inputs and results, each with a link', async () => {
  const { text } = await stagedPage({ entries });
  expect(await text('/sessions/s-1/find?q=NEEDLE')).toMatch(/1 match<.*I look: <mark>needle<\/mark> in a haystack\./s);
  expect(await text('/sessions/s-1/find?q=make%20all')).toContain('#call-1-1-4');
  expect(await text('/sessions/s-1/find?q=nowhere')).toContain('No matches in this session');
});

test('excerpts of what was found have whole words, and neither marks of Markdown nor of JSON', async () => {
  const words = 'wonderful '.repeat(20);
  const { text } = await stagedPage({
    entries: [
      runStarted(1),
      user('x'),
      reply([
        textBlock(`${words}\n\n- **needle** \`code\` ${words}`),
        callBlock('a', { command: 'echo "haystack"' }, 'bash'),
      ]),
    ],
  });
  const found = async (query: string): Promise<string> =>
    (await text(`/sessions/s-1/find?q=${query}`)).replaceAll(/<[^>]+>/g, '');
  expect(await found('needle')).toMatch(/#1… wonderful [a-z ]* needle code [a-z ]*wonderful …$/);
  expect(await found('haystack')).toMatch(/command: echo &quot;haystack&quot;$/);
});

test('sessions to compare are offered by name, one after the other', async () => {
  const { text } = await stagedPage({ entries, seen: { title: 'Look at the shop.' } });
  expect(await text('/compare')).toContain('<a class="cut" href="/compare?a=s-1">Look at the shop.</a>');
  expect(await text('/compare?a=s-1')).toContain('Choose the session to compare it with');
});

test('what a session does now has its tasks as a list, its cost as a curve, and its files', async () => {
  const tasks = outcome(0, '[x] Read\n[>] Mend\n[ ] Test', {
    log: { key: null, name: 'todo', decision: 'allowed', duration: 1, outcome: 'ok' },
  });
  const { text } = await stagedPage({
    entries: [...entries, reply([callBlock('t', { tasks: [] }, 'todo')], { iteration: 2 }), outcomes(tasks)],
  });
  const [, now = ''] = /<div id="now"(.*?)<div id="spend-part"/s.exec(await text('/sessions/s-1')) ?? [];
  expect(now.replaceAll(/<svg.*?<\/svg>|<[^>]+>/gs, ' ').replaceAll(/\s+/g, ' ')).toContain(
    'Read done Mend in progress Test open',
  );
  expect(now).toMatch(/<h2 class="row">Cost.*class="drawn tone-park".*files\?file=c\.py/s);
});

test('the prompt that opened the run under way is not counted as queued, those after it are', async () => {
  const sent = (id: string) => ({ id, body: { kind: 'text', text: id } }) as never;
  const now = async (...ids: string[]): Promise<string> => {
    const recent = () => Promise.resolve({ ...noRecentRequests, messages: ids.map(sent) });
    const { text } = await stagedPage({ seen: { phase: 'parked' }, ports: { recent } });
    return (/<div id="now"(.*?)<div id="spend-part"/s.exec(await text('/sessions/s-1')) ?? [])[1] ?? '';
  };
  expect(await now('first')).not.toContain('queued');
  expect(await now('first', 'second')).toContain('1 queued');
});

test('reads that follow each other are one row; a change stands open with its counts', async () => {
  const { text } = await stagedPage({ entries });
  const html = await text('/sessions/s-1');
  expect(html).toMatch(/<b class="tool">2 reads<\/b><span class="what">a\.py, b\.py/);
  expect(html).toMatch(/<details class="call ok" id="call-1-1-3" open/);
  expect(html).toContain('<strong>needle</strong>');
});

test('files are told apart by what calls did to them, with who allowed it, and give a patch', async () => {
  const items = transcriptItems();
  items.add(entries);
  const files = listTouchedFiles(items.all);
  expect(files).toMatchObject([{ path: 'c.py', edits: [{ anchor: '1-1-3', tool: 'edit', done: true, by: 'ana' }] }]);
  expect(listReadFiles(items.all).map(({ path }) => path)).toEqual(['a.py', 'b.py']);
  expect(listCommands(items.all)).toEqual([{ command: 'make all', times: 1, anchor: '1-1-4' }]);
  expect(patchOf('c.py', files[0]?.edits ?? [])).toContain('--- a/c.py\n+++ b/c.py\n@@ -1,1 +1,1 @@\n-one\n+two\n');
  const { text } = await stagedPage({ entries });
  expect(await text('/sessions/s-1/files')).toContain('allowed by ana');
});

test('two sessions stand next to each other, with figures, files and where they part', async () => {
  const { text } = await stagedPage({ entries });
  const html = await text('/compare?a=s-1&b=s-1');
  expect(html).toContain('Same replies throughout');
  expect(html).toMatch(
    /<td>Turns<\/td><td class="number">1<\/td><td class="number">1<\/td><td class="number quiet">same<\/td>/,
  );
});

test('a session is run again with its prompt and options, as another one', async () => {
  const started: unknown[] = [];
  const { post } = await stagedPage({
    entries,
    ports: {
      read: () => Promise.resolve({ entries } as never),
      start: (...given: unknown[]) => {
        started.push(...given);
        return Promise.resolve({ session: 's-9' } as never);
      },
    },
  });
  expect(await (await post('/sessions/s-1/again', {})).text()).toContain('href="/sessions/s-9"');
  expect(started).toEqual(['Look at the shop.', { cwd: '/work', maxTurns: 7, querySource: 'page' }]);
});

test('iterations that are alike are folded, and waits take no room where they are left out', () => {
  const items = transcriptItems();
  items.add([1, 2, 3, 4].map((iteration) => reply([callBlock(`c${iteration}`)], { iteration })));
  const bars = iterationsOf(items.all).map((one) => barOf(one, [], 0));
  expect(groupRows(rowsOf(bars, [])).map(({ rows }) => rows.length)).toEqual([4]);
  const wait = { kind: 'waiting', from: 100, to: 900, what: 'waits' } as const;
  const scale = clockScale(0, 1_000, [wait]);
  expect([scale.place(100), scale.place(900), scale.place(950), scale.moment(0.75)]).toEqual([0.5, 0.5, 0.75, 950]);
});

test('nothing on the page of a session that has not begun is without its name', async () => {
  const { text } = await stagedPage({ entries: [] });
  expect(await text('/sessions/s-1')).toContain('role="img" aria-label="nothing yet"');
  for (const part of ['', '/timeline', '/files'])
    expect(await text(`/sessions/s-1${part}`)).not.toContain('aria-label=""');
});
