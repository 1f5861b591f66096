// What lists say of a session with a run under way, on a real server: its numbers as of now, and
// what it does.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fault, reply, toolUse } from '../../scripted-model/index.ts';
import { nowText } from '../../client/render/outcome-words.ts';
import { type SessionInfo } from '../../client/sessions/info.ts';
import { createFolderClient } from '../../client/client.ts';
import { fileLive } from '../../store/live/file-live.ts';
import { fileStore } from '../../store/values/file-store.ts';
import type { Entry } from '../../store/log/entries.ts';
import { totalTokens } from '../../workflows/contract/loop.ts';
import { defaultHandover } from '../../workflows/contract/session.ts';
import { agentCall, byPrompt } from '../support/by-prompt.ts';
import { clientOf, harness } from '../support/harness.ts';
import { newKeys } from '../support/new-keys.ts';
import { until } from '../support/until.ts';

const waiting = reply([toolUse('bash', { command: 'touch begun; until [ -e go ]; do sleep 0.05; done' })]);
const lastReplyOf = (entries: readonly Entry[]) => entries.findLast((entry) => entry.kind === 'reply');

test.each([
  ['in its first workflow run', {}],
  ['after handovers', { handover: { ...defaultHandover, iterations: 1 } }],
])('a run under way has its numbers as of now, agents included, and says what it does, %s (F6 F7)', async (_, more) => {
  const h = await harness({
    ...more,
    keys: newKeys(),
    script: byPrompt({
      'Go.': [
        reply([toolUse('glob', { pattern: '*' })]),
        reply([agentCall('Count.')]),
        reply([toolUse('glob', { pattern: '*' })]),
        waiting,
        reply('Done.'),
      ],
      'Count.': [reply('There are three.')],
    }),
    worker: { config: { model: 'claude-sonnet-5-5' } },
  });
  const client = createFolderClient({
    temporal: h.client,
    store: fileStore({ dir: h.storePlace }),
    live: async function* () {},
    peek: fileLive({ dir: h.liveDir }).peek,
    visibility: () => Promise.resolve(true),
  });
  const session = await h.open('Go.');
  await until(() => existsSync(join(h.cwd, 'begun')));
  // The call may begin before its reply is stored, and is billed then.
  await until(() => (h.liveText(session.id).match(/"type":"reply"/g) ?? []).length === 4);
  const find = async (filter: string, running: boolean): Promise<SessionInfo | undefined> =>
    (await client.page({ filter: `id=${session.id} ${filter}`, running })).sessions[0];
  const found = await until(async () => ((await find('', true))?.running?.doing[0]?.call ? find('', true) : null));
  const { running, facts } = found;
  expect(nowText(running!)).toMatch(/^bash touch begun; until/);
  expect(running).toMatchObject({
    model: 'claude-sonnet-5-5',
    isLeast: false,
    context: { window: expect.any(Number) },
  });
  expect(running!.lastSign).toBeGreaterThan(found.startedAt);
  expect([running!.lastHour.length, running!.lastHour.at(-1)! > 0 || running!.lastHour.at(-2)! > 0]).toEqual([
    12,
    true,
  ]);
  // The list alone knows less, and finds it where it is looked for by a number.
  expect((await find('', false))!.running).toBeUndefined();
  expect(await find('turns>=4', true)).toBeDefined();
  expect(await find('turns>=5', true)).toBeUndefined();
  const count = async (turns: string) =>
    (await client.counts({ filter: `id=${session.id} ${turns}`, running: true })).running;
  expect([await count('turns>=4'), await count('turns>=5')]).toEqual([1, 0]);
  expect(await find('idle<1h', false)).toBeDefined();
  expect(await find('idle>1h', false)).toBeUndefined();
  expect((await find('sort:-idle', false))?.running).toBeDefined();
  writeFileSync(join(h.cwd, 'go'), '');
  await session.ended(1);
  const end = (await session.memo())!.facts!;
  const last = lastReplyOf(await session.entries())!;
  expect(facts).toMatchObject({ turns: end.turns - 1, tokens: end.tokens - totalTokens(last.spend.usage) });
  expect(facts!.cents).toBeCloseTo(end.cents! - last.spend.usd! * 100, 2);
});

test('a provider that fails is told with the attempt and its words, which are sealed for others (F5 F7)', async () => {
  const h = await harness({
    keys: newKeys(),
    script: { replies: [{ ...fault({ status: 529, message: 'Overloaded' }), times: 'any' }] },
    worker: { defaults: { backoff: { maxRetries: 10, firstMs: 60_000, maxMs: 60_000, parkOverMs: 120_000 } } },
  });
  const client = clientOf(h);
  const session = await h.open('Go.');
  const row = await until(async () => {
    const page = await client.page({ filter: `id=${session.id}`, running: true });
    const running = page.sessions[0]?.running;
    return running?.doing[0]?.failure ? running : null;
  });
  expect(nowText(row)).toMatch(/^calls claude-\S+ · attempt 2 · .*(529|overloaded)/i);
  expect(row.doing[0]).toMatchObject({ kind: 'model', isTaken: false });
});
