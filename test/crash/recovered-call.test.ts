// A worker killed in the middle of a call that may run again when a check, or a person, says that it did nothing (L40).
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fileStore } from '../../activities/transcript/store/file-store.ts';
import { reply, toolUse } from '../../worker/scripted-model/index.ts';
import { UPDATES } from '../../workflows/contract/session.ts';
import { crashHarness, replays } from '../support/crash-harness.ts';
import { until } from '../support/until.ts';

const configFile = new URL('../support/crash-config.mjs', import.meta.url).href;

async function killedIn(tool: 'deliver_verify' | 'deliver_ask', hangs: 'before' | 'after') {
  const h = await crashHarness({ script: [reply([toolUse(tool, { hangs })]), reply('Done.')], configFile });
  const starts = () => h.lines('starts.log');
  const first = await h.worker();
  // Not `bypass`, under which nobody is asked.
  const session = await h.open('Deliver it.', { permissionMode: 'default', permissions: { allow: [tool] } });
  await until(() => starts().length > 0);
  await first.kill();
  writeFileSync(join(h.cwd, 'answer'), '');
  const second = await h.worker();
  const completes = async (): Promise<string> => {
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    await replays(h.client, session);
    await second.kill();
    return JSON.stringify(h.bodies()[1]?.messages.at(-1));
  };
  return { h, session, starts, completes };
}

describe('a worker killed in the middle of a call', () => {
  test('that a check finds undone: it runs again under the same key, and its effect happened once (L40)', async () => {
    const { h, starts, completes } = await killedIn('deliver_verify', 'before');
    expect(await completes()).toContain('Delivered.');
    const [key] = starts();
    expect(starts()).toEqual([key, key]);
    expect(h.effects()).toEqual([key]);
  });

  test('that a check finds done: the check gives its outcome, and it is not started again (L40)', async () => {
    const { h, starts, completes } = await killedIn('deliver_verify', 'after');
    expect(await completes()).toContain('It was delivered.');
    expect(starts()).toHaveLength(1);
    expect(h.effects()).toEqual(starts());
  });

  test.each(['approve', 'deny'] as const)(
    'that a person is asked about: it runs again only if they say so (%s) (L40 L55)',
    async (answer) => {
      const { h, session, starts, completes } = await killedIn('deliver_ask', 'before');
      const [asked] = await until(async () => (await session.memo())?.approvals ?? null);
      expect(asked?.inputHash).toMatch(/^[0-9a-f]{64}\.2$/);
      expect(h.effects()).toEqual([]);
      const { call = '', inputHash } = asked ?? {};
      if (answer === 'approve') {
        const edited = await fileStore({ dir: h.storePlace }).put(Buffer.from('{"hangs":3}'));
        await session.handle.executeUpdate(UPDATES.approve, { args: [{ call, inputHash, edited }] });
        const again = /allow to run it again; the edited input will not do: The input of deliver_ask/;
        await until(async () => again.test((await session.memo())?.approvals?.[0]?.reason ?? ''));
        expect(h.effects()).toEqual([]);
      }
      const said = answer === 'approve' ? { call: `${call}+2`, inputHash } : { call, reason: 'no' };
      await session.handle.executeUpdate(UPDATES[answer], { args: [said] });
      const told = await completes();
      expect(told).toMatch(answer === 'approve' ? 'Delivered.' : /outcome unknown/i);
      expect([starts().length, h.effects().length]).toEqual(answer === 'approve' ? [2, 1] : [1, 0]);
    },
  );
});
