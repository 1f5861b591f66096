// What one session offers to do, and what it says of what was asked: limits, forks, going back,
// compactions, messages on their way.
import { expect, test } from 'vitest';
import { noRecentRequests } from '../../client/sessions/history/recent.ts';
import type { Entry } from '../../store/log/entries.ts';
import type { MessageId } from '../../workflows/contract/ids.ts';
import { noSpend } from '../../workflows/contract/loop.ts';
import { stagedPage } from '../support/page-ports.ts';
import { boundary, reply, runEnded, runStarted, user } from '../support/transcript.ts';

test('a limit below what the run has spent says what happens, with a way to stop at once (O8)', async () => {
  const items = [runStarted(1), user('x'), reply([], { spend: { ...noSpend, usd: 0.5 } })];
  const { post } = await stagedPage({ ports: { read: () => Promise.resolve({ entries: items } as never) } });
  const set = async (maxBudgetUsd: string) =>
    (await post('/sessions/s-1/topUp', { maxTurns: '', maxBudgetUsd, maxTokens: '', minutes: '' })).text();
  expect(await set('1')).toContain('Limit updated.</p>');
  const said = await set('0.1');
  expect(said).toContain('already over it and stops after the current model call');
  expect(said).toMatch(/hx-post="\/sessions\/s-1\/interrupt"[^>]*>Stop now/);
});

test('the form of limits is there while a run is in progress, and says so when none is (O8)', async () => {
  const idle = await stagedPage({ entries: [runStarted(1), user('x'), runEnded(1)] });
  expect(await idle.text('/sessions/s-1')).toMatch(/id="limits-now"[^>]*data-no-run/);
  const running = await stagedPage({ entries: [runStarted(1), user('x')], seen: { phase: 'running' } });
  expect(await running.text('/sessions/s-1')).not.toContain('data-no-run');
});

test('a fork works in the folder that a person names, in a new one, or in the same, and begins with their prompt (T10)', async () => {
  const asked: unknown[] = [];
  const { post, text } = await stagedPage({
    entries: [user('First.')],
    ports: {
      fork: (_, options) =>
        Promise.resolve((asked.push(options), { session: 's-2', cwd: '/work', files: false } as never)),
    },
  });
  const form = { at: '', where: 'own', folder: '', prompt: '' };
  for (const more of [{}, { folder: ' /elsewhere ' }, { where: 'same', folder: '/x' }, { at: '4', prompt: 'Go on.' }])
    expect((await post('/sessions/s-1/fork', { ...form, ...more })).status).toBe(200);
  expect(asked).toEqual([{}, { files: '/elsewhere' }, { files: false }, { at: '4', prompt: 'Go on.' }]);
  // Nothing is made before a person was asked.
  expect(await text('/sessions/s-1')).toMatch(/<button[^>]*data-opens="fork"/);
});

test('nothing was before the first prompt: it offers to run again, later ones to go back (O8)', async () => {
  const { text } = await stagedPage({ entries: [user('First.'), reply([]), user('Second.')] });
  const [, first = '', , second = ''] = (await text('/sessions/s-1')).split(/(?=<li id="e\d)/);
  expect([first.includes('Run again'), first.includes('Rewind to here')]).toEqual([true, false]);
  expect([second.includes('Run again'), second.includes('Rewind to here')]).toEqual([false, true]);
});

test.each([
  ['auto', 'Compacted, about'],
  ['reactive', 'Prompt too long · compacted, about'],
  ['manual', 'Compacted on request, about'],
] as const)('a compaction (%s) says why it came: %s (O8)', async (trigger, words) => {
  const { text } = await stagedPage({
    entries: [runStarted(1), user('x'), { ...boundary('sum', 1), trigger } as Entry],
  });
  expect(await text('/sessions/s-1')).toContain(`<span>${words}`);
});

test('a compaction that was asked for is not shown as waiting once the session is idle (O8)', async () => {
  const asked = { id: 'm-9' as MessageId, body: { kind: 'text', text: '/compact' }, compact: {} } as never;
  const recent = () => Promise.resolve({ ...noRecentRequests, messages: [asked] });
  const page = async (phase: 'idle' | 'running') =>
    (await stagedPage({ entries: [runStarted(1), user('x')], seen: { phase }, ports: { recent } })).text(
      '/sessions/s-1',
    );
  expect(await page('running')).toContain('Compaction requested');
  const idle = await page('idle');
  expect([idle.includes('Compaction requested'), idle.includes('/compact')]).toEqual([false, false]);
});

test('the prompt that opens a run stands above what is told of the run (O8)', async () => {
  const sent = (text: string) => ({ id: text as MessageId, body: { kind: 'text', text } }) as never;
  const recent = () => Promise.resolve({ ...noRecentRequests, messages: [sent('Opens it.'), sent('Comes next.')] });
  const { text } = await stagedPage({ seen: { phase: 'parked' }, ports: { recent } });
  const page = await text('/sessions/s-1');
  const places = ['Opens it.', 'id="live"', 'Comes next.'].map((words) => page.indexOf(words));
  expect(places).toEqual(places.toSorted((one, other) => one - other));
  expect(places).not.toContain(-1);
});

test('the head has what the session took, beside a limit what its run took of it (O8)', async () => {
  const spent = (usd: number) => ({ spend: { usage: { input: 50, output: 0, cacheRead: 0, cacheWrite: 0 }, usd } });
  const entries = [
    runStarted(1),
    user('a'),
    reply([], spent(0.4)),
    runStarted(2),
    user('b'),
    reply([], { iteration: 2, ...spent(0.1) }),
  ];
  const { text } = await stagedPage({
    entries,
    ports: { recent: () => Promise.resolve({ ...noRecentRequests, raised: { maxBudgetUsd: 2 } }) },
  });
  const page = await text('/sessions/s-1');
  const figures =
    /<dl class="gauges"[^]*?<\/dl>/
      .exec(page)?.[0]
      .replaceAll(/<[^>]+>/g, ' ')
      .replaceAll(/\s+/g, ' ') ?? '';
  expect(figures).toContain('s-1');
  expect(figures).toMatch(/Turns 2 .*Cost \$0\.50 .*Tokens 100 /);
});
