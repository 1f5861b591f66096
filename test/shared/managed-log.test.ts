// The log of agents, environments and sessions in a bucket: many servers write it at once.
import { beforeAll, expect, test } from 'vitest';
import { ResourceLog } from '../../store/values/resource-log.ts';
import { sharedStore, useS3Keys } from '../support/shared-store.ts';

beforeAll(useS3Keys);

test('servers that write one log at once lose nothing, and a new one reads what they wrote (G2)', async () => {
  const store = sharedStore();
  const open = () => new ResourceLog<{ readonly count: number }>({ store, name: 'counters', now: () => 0 });
  const servers = [open(), open(), open()];
  const increase = (log: (typeof servers)[number]) =>
    log.append('ana', (items) => ({ id: 'a', item: { count: (items.get('a')?.count ?? 0) + 1 } }));
  await Promise.all(Array.from({ length: 30 }, (_, n) => increase(servers[n % 3]!)));
  const states = await Promise.all([...servers, open()].map((log) => log.read()));
  expect(states.map((items) => items.get('a'))).toEqual(Array.from({ length: 4 }, () => ({ count: 30 })));
});
