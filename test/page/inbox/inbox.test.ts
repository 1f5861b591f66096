// The inbox without a browser: its order, its rules, and what reaches sessions.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDataFolder } from '../../../connection/data-folder.ts';
import { rulesFor } from '../../../client/sessions/always-allow.ts';
import type { WaitingApproval } from '../../../client/sessions/waiting-approval.ts';
import { inboxItems, offerRules } from '../../../page/inbox/inbox-items.ts';
import { readWorkspaceFile } from '../../../page/inbox/workspace-file.ts';
import { hashOf } from '../../../store/values/store.ts';
import type { RuleChanges } from '../../../workflows/contract/session.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { basic, stagedPage } from '../../support/page-ports.ts';
import { tempDir } from '../../support/temp-dir.ts';

const NOW = Date.UTC(2030, 0, 1);
const DAY = 86_400_000;

const waiting = (session: string, input: unknown, more: Partial<WaitingApproval> = {}): WaitingApproval => ({
  call: '1.1.0',
  tool: 'bash',
  reason: 'it changes things',
  inputHash: 'h',
  head: hashOf(Buffer.from('x')),
  index: 0,
  deadline: NOW + DAY,
  askedAt: NOW - 1_000,
  session: session as SessionId,
  input,
  ...more,
});

const inWork = () => ({ title: 'do it', cwd: '/work', tags: [] });

test('what is soon denied by itself comes first, then what waits longest, alike ones together (O8)', () => {
  const items = inboxItems(
    [
      waiting('s-1', { command: 'ls' }),
      waiting('s-2', { command: 'make' }, { askedAt: NOW - 5_000 }),
      waiting('s-3', { command: 'pwd' }, { deadline: NOW + 60_000 }),
      waiting('s-4', { command: 'make' }),
    ],
    inWork,
    NOW,
  );
  expect(items.map(({ approval, alike }) => [approval.session, alike.length])).toEqual([
    ['s-3', 0],
    ['s-2', 1],
    ['s-4', 1],
    ['s-1', 0],
  ]);
});

test('calls of sessions whose ids differ by a sign alone have places of their own (O8)', () => {
  const items = inboxItems(
    [waiting('a.b', {}), waiting('a-b', {}), waiting('a', {}, { call: '.b-1.1.0' })],
    inWork,
    NOW,
  );
  expect(new Set(items.map(({ id }) => id)).size).toBe(3);
});

test.each<readonly [tool: string, input: object, rules: readonly string[]]>([
  ['edit', { path: 'app/pay.py' }, ['edit(app/pay.py)', 'edit(app/**)', 'edit']],
  ['bash', { command: 'git status -s' }, ['bash(git status -s)', 'bash(git status:*)', 'bash']],
  ['bash', { command: 'python x.py' }, ['bash(python x.py)', 'bash']],
  ['bash', { command: 'rm a && rm b' }, ['bash']],
  [
    'web_fetch',
    { url: 'https://api.example.com/x' },
    ['web_fetch(api.example.com)', 'web_fetch(*.example.com)', 'web_fetch'],
  ],
  // Behind an assignment the first two words do not say what runs.
  ['bash', { command: 'CI=1 npm test' }, ['bash(CI=1 npm test)', 'bash']],
  ['bash', { command: 'NODE_ENV=test node test.js' }, ['bash(NODE_ENV=test node test.js)', 'bash']],
  // Names below these belong to anybody.
  ...[
    'bbc.co.uk',
    'abc.net.au',
    'someone.github.io',
    'a.b.s3.amazonaws.com',
    'my.pages.dev',
    'example.com',
    '127.0.0.1',
  ].map((host) => ['web_fetch', { url: `https://${host}/x` }, [`web_fetch(${host})`, 'web_fetch']] as const),
  [
    'web_fetch',
    { url: 'https://www.bbc.co.uk/x' },
    ['web_fetch(www.bbc.co.uk)', 'web_fetch(*.bbc.co.uk)', 'web_fetch'],
  ],
  ['mcp__tracker__create', {}, ['mcp__tracker__create', 'mcp__tracker__*']],
])('rules for %s %j go from narrow to wide: %j (L55)', (tool, input, rules) => {
  expect(rulesFor({ tool, input })).toEqual(rules);
});

test('each rule says how much of what waits it would cover, in the session and in the folder (O8 L55)', () => {
  const items = inboxItems(
    [
      waiting('s-1', { command: 'git status -s' }),
      waiting('s-2', { command: 'git status' }),
      waiting('s-3', { command: 'rm x' }),
    ],
    inWork,
    NOW,
  );
  const [first] = items;
  if (!first) throw new Error('nothing waits');
  expect(offerRules(first, items).map(({ covers }) => [covers.session, covers.folder])).toEqual([
    [1, 1],
    [1, 2],
    [1, 3],
  ]);
});

test('a rule is given to the run, what it covers is allowed, and it can be taken back (L55 O8)', async () => {
  const changed: [string, RuleChanges][] = [];
  const allowed: string[] = [];
  const { post, text } = await stagedPage({
    ports: {
      inbox: () => Promise.resolve([waiting('s-1', { command: 'ls' }), waiting('s-2', { command: 'ls' })]),
      describe: () => Promise.reject(new Error('not asked')),
      changeRules: (session, rules) => Promise.resolve(void changed.push([session, rules])),
      approve: (session) => Promise.resolve(void allowed.push(session)) as never,
    },
  }).then(({ post: send, text: read, ports }) => {
    Object.assign(ports, { describe: () => Promise.resolve({ title: 'do it', cwd: '/work', facts: {} }) });
    return { post: send, text: read };
  });
  const item = { session: 's-1', call: '1.1.0', inputHash: 'h' };
  const refused = await post('/inbox/always', { ...item, rule: 'bash(rm:*)', scope: 'run' });
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('does not cover this call')]);
  const kept = (await (await post('/inbox/always', { ...item, rule: 'bash(ls)', scope: 'run' })).json()) as {
    said: string;
    undo: object;
  };
  expect(kept.said).toBe('Allowed 1 call; bash(ls) is allowed in this run from here on.');
  expect([changed, allowed]).toEqual([[['s-1', { allow: ['bash(ls)'] }]], ['s-1']]);
  expect(await text('/inbox')).not.toContain('data-session="s-1"');
  await post('/inbox/undo', kept.undo);
  expect(changed.at(-1)).toEqual(['s-1', { drop: ['bash(ls)'] }]);
});

test('a call is denied without a reason, and allowed as it is without its input being sent again (O8)', async () => {
  const asked: unknown[] = [];
  const { post } = await stagedPage({
    ports: {
      approvals: () => Promise.resolve([waiting('s-1', { command: 'ls' })]),
      approve: (...given) => Promise.resolve(void asked.push(given)) as never,
      deny: (...given) => Promise.resolve(void asked.push(given)) as never,
    },
  });
  await post('/sessions/s-1/approve', { call: '1.1.0', inputHash: 'h' });
  await post('/sessions/s-1/deny', { call: '1.1.0', reason: '' });
  expect(asked).toEqual([
    ['s-1', '1.1.0', {}],
    ['s-1', '1.1.0', 'no reason was given'],
  ]);
});

test('what is decided while the page is being drawn is not in its list (O8)', async () => {
  let tell = (_words: string): void => undefined;
  const said = new Promise<string>((resolve) => (tell = resolve));
  let isAsked = false;
  const { post, text } = await stagedPage({
    ports: {
      inbox: () => Promise.resolve([waiting('s-1', { command: 'ls' }), waiting('s-2', { command: 'pwd' })]),
      approvals: () => Promise.resolve([waiting('s-1', { command: 'ls' })]),
      said: () => ((isAsked = true), said),
      deny: () => Promise.resolve() as never,
    },
  });
  const drawn = text('/inbox?session=s-2&call=1.1.0');
  await expect.poll(() => isAsked).toBe(true);
  const denied = await post('/sessions/s-1/deny', { call: '1.1.0', reason: '' });
  expect([denied.status, await denied.text()]).toEqual([200, expect.any(String)]);
  tell('Let me look.');
  expect(await drawn).toContain('Let me look.');
  expect(await drawn).not.toContain('data-session="s-1"');
});

test('a stranger reads no inbox (O12)', async () => {
  const { ask } = await stagedPage();
  const headers = { authorization: basic('guess') };
  for (const path of ['/inbox', '/inbox/item', '/inbox/live']) expect((await ask(path, { headers })).status).toBe(401);
});

test('a file is shown from the session’s folder alone: no link out of it, no other host (O12)', async () => {
  const root = tempDir();
  const cwd = join(root, 'work');
  mkdirSync(cwd);
  writeFileSync(join(cwd, 'in.txt'), 'in');
  writeFileSync(join(root, 'out.txt'), 'out');
  symlinkSync(join(root, 'out.txt'), join(cwd, 'link.txt'));
  symlinkSync(root, join(cwd, 'up'));
  const read = (path: string, host?: { id: string; name: string }) =>
    readWorkspaceFile({ cwd, ...(host && { host }) }, path, undefined);
  expect(await read('in.txt')).toEqual({ kind: 'text', text: 'in' });
  expect(await read('new.txt')).toEqual({ kind: 'new' });
  for (const path of ['link.txt', 'up/out.txt', '../out.txt', join(root, 'out.txt')])
    expect(await read(path)).toMatchObject({ kind: 'unseen' });
  expect(await read('in.txt', { id: 'b', name: 'b' })).toMatchObject({
    why: expect.stringContaining('host b') as string,
  });
});

test('a file of a data folder that lies in the session’s folder is not shown: its tokens are its owner’s (O12)', async () => {
  const cwd = tempDir();
  const data = join(cwd, 'deep/data');
  openDataFolder({ HOME: tempDir(), PERDURE_DATA: data });
  writeFileSync(join(data, 'page.json'), 'token');
  symlinkSync(data, join(cwd, 'link'));
  for (const path of ['deep/data/page.json', 'deep/data/live/new.txt', 'link/page.json'])
    expect(await readWorkspaceFile({ cwd }, path, undefined)).toMatchObject({
      why: expect.stringContaining('own data') as string,
    });
});

test('an inbox in which nothing waits says who decided last, about which session (O8 O12)', async () => {
  const { ports } = await stagedPage({ seen: { title: 'Mend <it>.' } });
  const decision = { kind: 'deny', call: '1.1.0', reason: 'no', at: 60_000, by: 'ana' } as const;
  const last = { session: await ports.describe('s-1'), decision, verb: 'denied' };
  const shown = await (await stagedPage({ ports: { lastDecision: () => Promise.resolve(last) } })).text('/inbox');
  expect(shown).toMatch(/ana denied last: <a href="\/sessions\/s-1">Mend &lt;it&gt;\.<\/a>, <time/);
  expect(await (await stagedPage()).text('/inbox')).not.toContain(' last: ');
});

test('what is allowed with a call is on the screen with it: the same change elsewhere is named with its path (O8 L55)', async () => {
  const change = (path: string, call: string) =>
    waiting('s-1', { path, old_string: 'a', new_string: 'b' }, { tool: 'edit', call });
  const alike = [change('web/a.txt', '1.1.0'), change('web/a.txt', '1.1.1'), change('../<up>/a.txt', '1.1.2')];
  const { text } = await stagedPage({ ports: { inbox: () => Promise.resolve(alike) } });
  const section = /<section class="[^"]*inbox-alike".*?<\/section>/s.exec(await text('/inbox'))?.[0] ?? '';
  expect([...section.matchAll(/<code>([^<]*)<\/code>/g)].map(([, what]) => what)).toEqual([
    '../&lt;up&gt;/a.txt +1 −1',
  ]);
});

test('of calls that are alike the first row says what it is, and those below it are marked as the same (O8)', async () => {
  const alike = [waiting('s-1', { command: 'make' }), waiting('s-1', { command: 'make' }, { call: '1.1.1' })];
  const { text } = await stagedPage({ ports: { inbox: () => Promise.resolve(alike) } });
  const rows = [...(await text('/inbox')).matchAll(/<li id="item-[^"]*"([^>]*)>/g)].map(([, more]) => more);
  expect(rows).toEqual(['', ' class="repeated"']);
});
