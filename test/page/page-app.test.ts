// The page, asked as a browser, another site and a stranger would ask it. No port is opened.
import { expect, test } from 'vitest';
import { htmlOf } from '../../page/layout.tsx';
import { Banner } from '../../page/session/frame.tsx';
import type { Entry } from '../../store/log/entries.ts';
import type { PagePorts } from '../../page/ports.ts';
import { newPass } from '../../page/hosting/passes.ts';
import { basic, SECRETS, stagedPage } from '../support/page-ports.ts';
import {
  boundary,
  callBlock,
  outcome,
  outcomes,
  reply,
  runEnded,
  runStarted,
  snip,
  textBlock,
  thinkingBlock,
  user,
} from '../support/transcript.ts';

test('a stranger sees nothing (O12)', async () => {
  const { ask } = await stagedPage();
  const guesses = [
    '',
    basic('guess'),
    basic(SECRETS.key),
    basic(SECRETS.apiToken),
    basic(newPass('guess', 'perdure-1a2b.localhost')),
  ];
  for (const authorization of guesses) {
    const headers = { authorization };
    for (const path of ['/', '/sessions/s-1', '/sessions/s-1/live', '/sessions/s-1.jsonl']) {
      const answer = await ask(path, { headers });
      expect([answer.status, await answer.text()]).toEqual([
        401,
        'sign in first: `perdure page --address` prints an address for it',
      ]);
    }
  }
});

test.each([['PUT'], ['DELETE'], ['OPTIONS'], ['PATCH']])('%s is refused (O12)', async (method) => {
  const { ask } = await stagedPage();
  expect((await ask('/', { method })).status).toBe(405);
});

test.each([
  ['a form of another site', 403, { origin: 'https://evil.example', 'content-type': 'application/json' }],
  ['a sandboxed frame', 403, { origin: 'null', 'content-type': 'application/json' }],
  ['no origin', 403, { 'content-type': 'application/json' }],
  ['text that may be JSON', 415, { origin: 'http://perdure-1a2b.localhost:4567', 'content-type': 'text/plain' }],
  [
    'a form',
    415,
    { origin: 'http://perdure-1a2b.localhost:4567', 'content-type': 'application/x-www-form-urlencoded' },
  ],
  [
    'a stranger',
    401,
    { origin: 'http://perdure-1a2b.localhost:4567', 'content-type': 'application/json', authorization: '' },
  ],
] as const)('a POST from %s is answered with %i and reaches no session (O12)', async (_, status, headers) => {
  const { ask, done } = await stagedPage();
  const answer = await ask('/sessions/s-1/interrupt', { method: 'POST', headers, body: '{}' });
  expect([answer.status, done]).toEqual([status, []]);
});

test('a body of 11 MB is refused before it is read (O12)', async () => {
  const { post, done } = await stagedPage();
  const answer = await post('/sessions/s-1/send', { text: 'x'.repeat(11 * 1024 * 1024) });
  expect([answer.status, done]).toEqual([413, []]);
});

test.each([['/'], ['/sessions/s-1'], ['/nowhere'], ['/?code=guess'], ['/sessions/s-1/live']])(
  'no inline script, no frame and no form is allowed on %s (O12)',
  async (path) => {
    const { ask } = await stagedPage();
    const { headers, body } = await ask(path);
    await body?.cancel();
    const policy = headers.get('content-security-policy');
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ])
      expect(policy?.split('; ')).toContain(rule);
    expect(policy).not.toContain('unsafe');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  },
);

test('sessions are listed with phase, title, runs and how the last one ended (O4)', async () => {
  const terminal = { reason: 'max_turns', limit: 3, turnNotTaken: 4 } as const;
  const last = { run: 2, terminal, turns: 3, iterations: 3, head: null, messages: [] };
  const parkedUntil = Date.UTC(2030, 0, 2, 3, 4, 5);
  const { text } = await stagedPage({ seen: { runs: 2, phase: 'parked', parkedUntil, title: 'count it', last } });
  const page = await text('/');
  for (const part of ['href="/sessions/s-1"', 'count it', 'parked until 2030-01-02 03:04:05 UTC'])
    expect(page).toContain(part);
  const ended = await stagedPage({ seen: { phase: 'idle', last } });
  expect(await ended.text('/')).toContain('turn limit reached');
});

test('a filter that cannot be read is told in one sentence, and the next pages keep to theirs (O3 O4)', async () => {
  const asked: unknown[] = [];
  const page: PagePorts['page'] = (which) => {
    asked.push(which);
    return Promise.resolve({ sessions: [], next: 'there' });
  };
  const { text, ask } = await stagedPage({ ports: { page } });
  expect((await ask('/?q=cost%3E')).status).toBe(200);
  const refused = await text('/?q=cost%3E');
  expect(refused).toContain('cost is compared with nothing: give a value');
  expect(refused).toContain('value="cost&gt;"');
  expect(await text('/?q=tag%3Aa&after=here')).toContain('href="/?q=tag%3Aa&amp;after=there"');
  expect(asked).toContainEqual({ filter: 'tag:a', size: 100, running: true, after: 'here' });
});

test('a session’s page has its messages, its calls with their outcomes, and what each cost (O5)', async () => {
  const entries: Entry[] = [
    runStarted(1),
    user('the prompt'),
    reply([
      thinkingBlock('hm'),
      textBlock('I look.'),
      callBlock('a', { command: 'ls' }, 'bash'),
      callBlock('b', {}, 'glob'),
      callBlock('b'),
    ]),
    outcomes(outcome(2, 'a.txt')),
    runEnded(1),
  ];
  const page = await (await stagedPage({ entries })).text('/sessions/s-1');
  for (const part of [
    'the prompt',
    'I look.',
    'hm</pre>',
    '>bash</b>',
    '>a.txt</pre>',
    'no outcome yet',
    'not run: a call before it has the same id',
    'id="call-1-1-2"',
    'id="it-1-1"',
    'id="run-1"',
    'Run 1: completed',
  ])
    expect(page).toContain(part);
});

test('a diff is shown for an edit, and all of a written file as new (O5)', async () => {
  const edit = { path: 'a.txt', old_string: 'one\ntwo\n', new_string: 'one\n2\n' };
  const entries = [reply([callBlock('a', edit, 'edit'), callBlock('b', { path: 'b.txt', content: 'new\n' }, 'write')])];
  const page = await (await stagedPage({ entries })).text('/sessions/s-1');
  expect(page).toContain(
    '<span class="same">  one\n</span><span class="del">- two\n</span><span class="add">+ 2\n</span>',
  );
  expect(page).toContain('<span class="add">+ new\n</span>');
});

test('a compaction opens to its summary and to what it replaced (O5)', async () => {
  const page = await (
    await stagedPage({ entries: [user('x'), boundary('The summary.', 1), snip(0)] })
  ).text('/sessions/s-1');
  for (const part of ['The summary.', 'href="?at=e1#e1"', 'the model no longer sees entry 0'])
    expect(page).toContain(part);
});

test('who steered a session stands in its feed as a mark, and a name is text alone (O12)', async () => {
  const steered = { action: 'interrupt', at: 0, by: '<b>ana' } as const;
  const page = await (await stagedPage({ entries: [user('x'), { kind: 'steered', steered }] })).text('/sessions/s-1');
  expect(page).toContain('<p class="mark">interrupted by &lt;b&gt;ana, <time');
  expect(page).toContain('title="1970-01-01 00:00:00 UTC" data-local="0">');
});

test('a transition says on hover what its rule means (O6)', async () => {
  const page = await (
    await stagedPage({ entries: [{ kind: 'transition', iteration: 1, reason: 'model_fallback' }] })
  ).text('/sessions/s-1');
  expect(page).toMatch(/title="The model was overloaded[^"]*\(L19\)\."/);
});

test('a window of a long transcript is drawn, and a link leads to any part of it (O5 O9)', async () => {
  const entries = Array.from({ length: 600 }, (_, at) => reply([textBlock(`reply ${at + 1}.`)], { iteration: at + 1 }));
  const { text, ask } = await stagedPage({ entries });
  const newest = await text('/sessions/s-1');
  expect([newest.includes('reply 600.'), newest.includes('reply 360.'), newest.includes('reply 361.')]).toEqual([
    true,
    false,
    true,
  ]);
  expect(newest).toContain('data-earlier="/sessions/s-1/items?before=360"');
  const linked = await text('/sessions/s-1?at=1.100');
  expect([linked.includes('reply 100.'), linked.includes('reply 600.')]).toEqual([true, false]);
  expect(linked).toContain('newer entries');
  const before = await text('/sessions/s-1/items?before=360');
  expect([before.includes('reply 121.'), before.includes('reply 360.'), before.includes('reply 361.')]).toEqual([
    true,
    true,
    false,
  ]);
  for (const bad of ['0', '-1', 'x', '601', '1e9'])
    expect((await ask(`/sessions/s-1/items?before=${bad}`)).status).toBe(404);
});

test('whatever a model, a tool or a title holds is text (O12)', async () => {
  const evil =
    '<img src=x onerror=alert(1)><script>alert(2)</script><a href="javascript:alert(3)">x</a>"\'\u001b[2J\u001b]8;;http://evil\u0007\u202e';
  const entries = [
    user(evil),
    reply([textBlock(evil), callBlock('toolu_1', { [evil]: evil }, evil)]),
    outcomes(outcome(1, evil)),
  ];
  const { text } = await stagedPage({ entries, seen: { title: evil, cwd: evil } });
  for (const path of ['/', '/sessions/s-1']) {
    const page = await text(path);
    expect(page).toContain('&lt;script&gt;alert');
    expect(page).not.toMatch(/<(img|script>alert|a href="javascript)/i);
    for (const unseen of ['\u001b', '\u0007', '\u202e']) expect(page).not.toContain(unseen);
  }
});

test('a page that does not exist, or a session that does not, is said plainly', async () => {
  const { ask } = await stagedPage();
  for (const [path, said] of [
    ['/sessions/s-2', 'no session s-2'],
    ['/sessions/..%2fx', 'no such page'],
    ['/nowhere', 'no such page'],
    ['/static/..%2f..%2fpackage.json', 'no such page'],
    ['/static/constructor', 'no such page'],
  ] as const) {
    const answer = await ask(path);
    expect([answer.status, (await answer.text()).includes(said)]).toEqual([404, true]);
  }
});

test('a session has its command to copy, and a link to Temporal’s UI where its address is known (O9)', async () => {
  expect(await (await stagedPage()).text('/sessions/s-1')).not.toContain('Open in Temporal');
  const temporalUi = (session: string): string => `https://ui.example/namespaces/default/workflows/${session}`;
  const page = await (await stagedPage({ ports: { temporalUi } })).text('/sessions/s-1');
  expect(page).toContain('data-copy="perdure watch s-1"');
  expect(page).toContain('href="https://ui.example/namespaces/default/workflows/s-1"');
});

test('a session without a worker says so with the command to run, and the frame alone says it of all (O10)', async () => {
  const { text } = await stagedPage({ seen: { phase: 'waiting_worker' } });
  expect(await text('/')).not.toContain('id="trouble-');
  const trouble = { kind: 'worker', title: 'No worker.', detail: 'start one with `perdure worker`' } as const;
  expect(htmlOf(Banner({ trouble }))).toContain('start one with <code>perdure worker</code>');
});
