// Resources on a store in a folder, and what a cleaning of the store finds of them.
import { expect, test } from 'vitest';
import { Agents } from '../../managed/agents.ts';
import { ManagedStore } from '../../managed/log/stored.ts';
import { markReached } from '../../client/store-care/mark-reached.ts';
import { fileCare } from '../../store/values/file-care.ts';
import { fileStore } from '../../store/values/file-store.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a cleaning reaches every version of every agent, also those that a checkpoint names (G2 W4)', async () => {
  const dir = tempDir();
  const stored = new ManagedStore(fileStore({ dir }), Date.now);
  const agents = new Agents(stored, Date.now);
  for (let n = 0; n < 260; n += 1) await agents.create(`agent_${n}`, 'ana', { name: `A${n}`, model: 'm' });
  await agents.update('agent_0', 'ana', { name: 'Changed' });
  const again = new Agents(new ManagedStore(fileStore({ dir }), Date.now), Date.now);
  expect((await again.retrieve('agent_0')).name).toBe('Changed');
  const roots = { sessions: new Set<never>(), heads: new Map<never, never>(), named: new Set<never>() };
  const reached = await markReached(fileCare(dir), roots, (key) => key.startsWith('managed/'));
  const versions = [...(await stored.agents.read()).values()].flatMap((item) => item.versions);
  expect(versions).toHaveLength(261);
  expect(versions.filter((hash) => !reached.has(hash))).toEqual([]);
});
