// A worker is killed in the middle of a call that may run again when a check, or a person, says
// that it did nothing (L40).
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { fileStore } from '../../../store/values/file-store.ts';
import { reply, toolUse } from '../../../scripted-model/index.ts';
import { UPDATES } from '../../../workflows/contract/session.ts';
import type { KilledCase, KilledPlace } from '../../support/killed-together.ts';
import { until } from '../../support/until.ts';
import { usersWorker } from '../../support/users-worker.ts';

type Tool = 'deliver_verify' | 'deliver_ask';

const scriptOf = (tool: Tool, hangs: 'before' | 'after') => [reply([toolUse(tool, { hangs })]), reply('Done.')];

async function killIn(h: KilledPlace, tool: Tool) {
  const starts = () => h.lines('starts.log');
  // Not `bypass`, under which nobody is asked.
  const session = await h.open({ permissionMode: 'default', permissions: { allow: [tool] } });
  await until(() => starts().length > 0);
  await h.died();
  writeFileSync(join(h.cwd, 'answer'), '');
  await h.replaced();
  const complete = async (): Promise<string> => {
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    return JSON.stringify(h.bodies()[1]?.messages.at(-1));
  };
  return { session, starts, complete };
}

const undone: KilledCase = {
  name: 'in a call that a check finds undone: it runs again under the same key, and its effect happened once (L40)',
  script: scriptOf('deliver_verify', 'before'),
  play: async (h) => {
    const { starts, complete } = await killIn(h, 'deliver_verify');
    expect(await complete()).toContain('Delivered.');
    const [key] = starts();
    expect(starts()).toEqual([key, key]);
    expect(h.effects()).toEqual([key]);
  },
};

const done: KilledCase = {
  name: 'in a call that a check finds done: the check gives its outcome, and it is not started again (L40)',
  script: scriptOf('deliver_verify', 'after'),
  play: async (h) => {
    const { starts, complete } = await killIn(h, 'deliver_verify');
    expect(await complete()).toContain('It was delivered.');
    expect(starts()).toHaveLength(1);
    expect(h.effects()).toEqual(starts());
  },
};

const askedAbout = (name: string, answer: 'approve' | 'deny'): KilledCase => ({
  name,
  script: scriptOf('deliver_ask', 'before'),
  play: async (h) => {
    const { session, starts, complete } = await killIn(h, 'deliver_ask');
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
    const told = await complete();
    expect(told).toMatch(answer === 'approve' ? 'Delivered.' : /outcome unknown/i);
    expect([starts().length, h.effects().length]).toEqual(answer === 'approve' ? [2, 1] : [1, 0]);
  },
});

const carriedOut: KilledCase = {
  name: 'in a call that the workflow carries out: it goes on by itself, is started once and answered once (L62 L63 L65)',
  script: [reply([toolUse('errand', { article: 'x' })]), reply('Done.')],
  play: async (h) => {
    const { started, gate } = await usersWorker({ taskQueue: 'users-errands' });
    const session = await h.open({ permissionMode: 'bypass' });
    await until(() => started.length > 0);
    await h.died();
    gate.open = true;
    await h.replaced();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    expect(started).toEqual(['x']);
    expect(JSON.stringify(h.bodies()[1]?.messages.at(-1))).toContain('delivered: x');
  },
};

const handingOver: KilledCase = {
  name: 'while calls are handed over with their reply: all are handed over and none is started twice (L62 L63 L65)',
  script: [
    reply([toolUse('chore', { article: 'x' }), toolUse('chore', { article: 'y', hangs: true })]),
    reply('Done.'),
  ],
  play: async (h) => {
    const { started, gate } = await usersWorker({ taskQueue: 'users-chores' });
    gate.open = true;
    const session = await h.open({ permissionMode: 'bypass' });
    const recorded = (): readonly string[] =>
      readdirSync(h.storePlace, { recursive: true, encoding: 'utf8' }).filter(
        (path) => path.includes(session.id) && path.endsWith('delegated'),
      );
    await until(() => h.lines('judged.log').includes('y') && recorded().length === 1);
    await h.died();
    expect(started).toEqual([]);
    writeFileSync(join(h.cwd, 'answer'), '');
    await h.replaced();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    expect(started.toSorted()).toEqual(['x', 'y']);
    expect(h.bodies()).toHaveLength(2);
    // What was recorded is not judged anew.
    expect(h.lines('judged.log').filter((article) => article === 'x')).toHaveLength(1);
    const told = JSON.stringify(h.bodies()[1]?.messages.at(-1));
    for (const article of ['x', 'y']) expect(told).toContain(`delivered: ${article}`);
  },
};

export const recoveredCases: readonly KilledCase[] = [
  undone,
  done,
  askedAbout('in a call that a person is asked about: it runs again when they say so (L40 L55)', 'approve'),
  askedAbout('in a call that a person is asked about: it does not run again when they refuse (L40 L55)', 'deny'),
  carriedOut,
  handingOver,
];
