import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  fault,
  gate,
  reply,
  toolUse,
  type ParsedRequest,
  type Reply,
  type ReplyUsage,
} from '../../worker/scripted-model/index.ts';
import type { PendingApproval } from '../../workflows/contract/session.ts';
import { crashHarness, decidePatiently, replays } from '../support/crash-harness.ts';
import { fillWorkspace } from '../support/scenarios.ts';
import { until } from '../support/until.ts';

const config = { models: { 'claude-sonnet-': { window: 30_000, maxOutput: 8_000, price: null } } };
const isSmall = ({ model }: ParsedRequest): boolean => model.startsWith('claude-haiku');

const inContext = (tokens: number): ReplyUsage => {
  return { input_tokens: tokens, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
};

/** Reads a large file four times; what the API counts then makes the session stage or compact. */
function reading(tokens: number, small: (n: number) => Reply): (request: ParsedRequest) => Reply {
  let reads = 0;
  let asked = 0;
  return (request) => {
    if (isSmall(request)) return small((asked += 1));
    reads += 1;
    const look = toolUse('read', { path: 'large.txt' });
    return reads <= 4 ? reply([look], reads === 4 ? { usage: inContext(tokens) } : {}) : reply('Done.');
  };
}

describe('a worker killed while the context is made smaller', () => {
  test.each([
    ['by a compaction: nothing of it is stored, and the next worker compacts once (L10)', 26_000, 'boundary', 1],
    ['by staging: nothing of it is stored, and the next worker stages (L9)', 19_500, 'collapse_staged', 2],
  ] as const)('%s', async (_name, tokens, kind, count) => {
    const held = gate();
    const script = reading(tokens, (n) =>
      n === 1 ? { ...reply('This attempt dies.'), hold: held.hold, holdAfterEvent: 2 } : reply('The file was read.'),
    );
    const h = await crashHarness({ script, config });
    fillWorkspace(h.cwd);
    const first = await h.worker();
    const session = await h.open('Do it.');
    await until(() => h.bodies().some(isSmall));
    await first.kill();
    const second = await h.worker();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 5 });
    held.release();
    const entries = await session.entries();
    expect(entries.filter((entry) => entry.kind === kind)).toHaveLength(count);
    expect(JSON.stringify(entries)).not.toContain('This attempt dies.');
    expect(h.model.problems).toEqual([]);
    await replays(h.client, session);
    await second.kill();
  });
});

describe('a worker killed in a hook', () => {
  test('the hook runs again elsewhere, and its answer counts once (L30)', async () => {
    const command =
      'echo ran >> hooks.log; test -e go || sleep 60; test -e told || { touch told; echo "once more" >&2; exit 2; }';
    const h = await crashHarness({
      script: [reply('Done.'), reply('Done again.')],
      config: { hooks: { stop: [{ command }] } },
    });
    const first = await h.worker();
    const session = await h.open('Do it.');
    await until(() => h.lines('hooks.log').length > 0);
    await first.kill();
    writeFileSync(join(h.cwd, 'go'), '');
    const second = await h.worker();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, iterations: 2 });
    expect(h.lines('hooks.log')).toEqual(['ran', 'ran', 'ran']);
    await replays(h.client, session);
    await second.kill();
  });
});

describe('a worker killed while a call waits for approval', () => {
  test('the question stays, is decided without any worker of before, and the effect happens once (L55)', async () => {
    const call = reply([toolUse('bash', { command: 'echo effect >> effects.log' })]);
    const h = await crashHarness({ script: [call, fault({ status: 529 }), reply('Done.')] });
    const first = await h.worker();
    const session = await h.open('Do it.', { permissionMode: 'default' });
    const waiting = (): Promise<PendingApproval> => until(async () => (await session.memo())?.approvals?.[0] ?? null);
    const { call: name, inputHash } = await waiting();
    await first.kill();
    const second = await h.worker();
    expect((await waiting()).call).toBe(name);
    expect(h.effects()).toEqual([]);
    await decidePatiently(h.client, session, 'approve', { call: name, inputHash });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    expect(h.effects()).toEqual(['effect']);
    await replays(h.client, session);
    await second.kill();
  });
});
