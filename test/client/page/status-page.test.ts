// The status page, asked as a browser, another site and a stranger would ask it. No port is opened.
import { expect, test } from 'vitest';
import { hashOf } from '../../../activities/transcript/store/store.ts';
import type { Entry } from '../../../activities/transcript/log/entries.ts';
import { statusPage } from '../../../client/page/status-page.tsx';
import { ClientProblem } from '../../../client/problem.ts';
import type { SessionInfo } from '../../../client/sessions/info.ts';
import type { SessionReading } from '../../../client/sessions/read.ts';
import {
  callBlock,
  outcome,
  outcomes,
  reply,
  runEnded,
  runStarted,
  textBlock,
  user,
} from '../../support/transcript.ts';
import { description } from '../support.ts';

const host = 'perdure-1a2b.localhost:4567';
const cookie = 'perdure=secret';

const reading = (entries: readonly Entry[], changes: Partial<SessionReading> = {}): SessionReading => ({
  description: description({ phase: 'idle', runs: 1 }),
  runs: [],
  entries,
  bodies: new Map(),
  first: 0,
  problems: [],
  ...changes,
});

type Asked = { readonly method?: string; readonly headers?: Readonly<Record<string, string>> };

function page(sessions: readonly SessionInfo[] = [], read: SessionReading = reading([])) {
  const app = statusPage(
    {
      list: async function* () {
        yield* sessions;
      },
      read: (id) =>
        id === 's-1' ? Promise.resolve(read) : Promise.reject(new ClientProblem('no_session', `no session ${id}`)),
    },
    { token: 'secret', host: () => host },
  );
  return (path: string, { method = 'GET', headers = {} }: Asked = {}) =>
    app.request(path, { method, headers: { host, cookie, ...headers } });
}

test('shows a stranger nothing', async () => {
  for (const headers of [{ cookie: '' }, { cookie: 'perdure=guess' }, { cookie: 'perdure_9=secret' }]) {
    const answer = await page([description()])('/', { headers });
    expect([answer.status, await answer.text()]).toEqual([
      401,
      'open the address that perdure printed: it has the token',
    ]);
  }
  expect((await page()('/?token=guess')).status).toBe(401);
  expect((await page()('/style.css', { headers: { cookie: '' } })).status).toBe(401);
});

test('takes the token once, and takes it out of the address', async () => {
  const answer = await page()('/sessions/s-1?token=secret', { headers: { cookie: '' } });
  expect(answer.status).toBe(303);
  expect(answer.headers.get('location')).toBe('/sessions/s-1');
  expect(answer.headers.get('set-cookie')).toBe('perdure=secret; Path=/; HttpOnly; SameSite=Strict');
});

test.each([['POST'], ['PUT'], ['DELETE'], ['OPTIONS'], ['PATCH']])('only reads: %s is refused', async (method) => {
  expect((await page()('/', { method })).status).toBe(405);
});

test.each([['/'], ['/sessions/s-1'], ['/nowhere'], ['/?token=guess']])(
  'allows no script, no frame and no form on %s',
  async (path) => {
    const { headers } = await page([description()])(path);
    const policy = headers.get('content-security-policy');
    for (const rule of [
      "default-src 'none'",
      "style-src 'self'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ])
      expect(policy).toContain(rule);
    expect(policy).not.toContain('script-src');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-store');
  },
);

test('lists sessions with phase, title, runs and how the last one ended', async () => {
  const last = {
    run: 2,
    terminal: { reason: 'max_turns', limit: 3, turnNotTaken: 4 },
    turns: 3,
    iterations: 3,
  } as const;
  const session = description({
    runs: 2,
    phase: 'parked',
    parkedUntil: Date.UTC(2030, 0, 2, 3, 4, 5),
    title: 'count it',
    last: { ...last, head: null, messages: [] },
  });
  const text = await (await page([session])('/')).text();
  for (const part of [
    'href="/sessions/s-1"',
    'count it',
    'mark warn">parked until 2030-01-02 03:04:05 UTC',
    '<td>2</td>',
    'turn limit reached',
  ])
    expect(text).toContain(part);
});

test('marks a session that waits for an approval, and refreshes its page (L55)', async () => {
  const waits = description({ phase: 'waiting_approval' });
  const ask = page([waits], reading([], { description: waits }));
  expect(await (await ask('/')).text()).toContain('1 waiting for approval');
  const text = await (await ask('/sessions/s-1')).text();
  expect(text).toContain('mark warn">waiting for a decision');
  expect(text).toContain('http-equiv="refresh"');
});

test('shows a session’s runs with what they cost, its messages and its calls with their outcomes', async () => {
  const run = { reason: 'completed', turns: 2, costUsd: 0.25, durationMs: 900 } as const;
  const usage = { input: 1_000, output: 20, cacheRead: 500, cacheWrite: 0 };
  const transitions = [{ iteration: 1, reason: 'next_turn' }] as const;
  const done = {
    ...run,
    type: 'result',
    run: 1,
    sessionId: description().session,
    iterations: 2,
    transitions,
    text: '',
    usage,
  } as const;
  const stored = hashOf(Buffer.from('long'));
  const entries: Entry[] = [
    runStarted(1),
    { kind: 'user', id: user('x').kind as never, body: { kind: 'stored', hash: stored, bytes: 4 } },
    reply([
      textBlock('I look.'),
      callBlock('toolu_1', { command: 'ls' }, 'bash'),
      callBlock('toolu_2', {}, 'glob'),
      callBlock('toolu_2'),
    ]),
    outcomes(outcome(1, 'a.txt')),
    runEnded(1),
  ];
  const read = reading(entries, { runs: [done], bodies: new Map([[stored, 'a long prompt']]) });
  const text = await (await page([], read)('/sessions/s-1')).text();
  for (const part of [
    'completed',
    '1,500 / 20',
    '$0.25',
    'next_turn × 1',
    'a long prompt',
    'I look.',
    '<b>bash</b> ls',
    'a.txt',
    'no outcome yet',
    'not run: a call before it has the same id',
  ])
    expect(text).toContain(part);
});

test('says of entries that the model no longer sees how to print them (L5)', async () => {
  const read = reading([
    { kind: 'boundary', trigger: 'auto', summary: 'S', prompts: [], from: 3, before: 900, after: 50 },
    { kind: 'snip', entries: [2] },
  ]);
  const text = await (await page([], read)('/sessions/s-1')).text();
  expect(text).toContain('the full text: perdure show ID --full');
  expect(text).toContain('the model no longer sees entry 2');
});

test('shows whatever a model, a tool or a title holds as text', async () => {
  const evil = '<img src=x onerror=alert(1)><script>alert(2)</script><a href="javascript:alert(3)">x</a>"\'\u001b[2J';
  const entries = [
    user(evil),
    reply([textBlock(evil), callBlock('toolu_1', { [evil]: evil }, evil)]),
    outcomes(outcome(1, evil)),
  ];
  const session = description({ title: evil, cwd: evil });
  const problems = [{ entry: 1, problem: evil }];
  const show = page([session], reading(entries, { description: session, problems }));
  for (const path of ['/', '/sessions/s-1']) {
    const text = await (await show(path)).text();
    expect(text).toContain('&lt;script&gt;');
    expect(text).not.toMatch(/<(img|script|a href="javascript)/i);
    expect(text).not.toContain('\u001b');
  }
});

test('says plainly when there is no such session or page', async () => {
  for (const [path, said] of [
    ['/sessions/s-2', 'no session s-2'],
    ['/sessions/..%2fx', 'no such page'],
    ['/nowhere', 'no such page'],
  ] as const) {
    const answer = await page()(path);
    expect([answer.status, (await answer.text()).includes(said)]).toEqual([404, true]);
  }
});

test('refreshes by itself while there may be news, and not when all is over', async () => {
  const busy = reading([], { description: description({ phase: 'running' }) });
  expect(await (await page([], busy)('/sessions/s-1')).text()).toContain('http-equiv="refresh"');
  expect(await (await page()('/sessions/s-1')).text()).not.toContain('http-equiv="refresh"');
});
