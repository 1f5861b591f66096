// Changes of a session as events (pure), and as the face brings them (the real SDK against the app).
import { expect, test } from 'vitest';
import type { Entry } from '../../client/index.ts';
import { emptyProjection } from '../../managed/events/parts.ts';
import { projectEntries } from '../../managed/events/project.ts';
import { earlyUpdates } from '../../managed/events/updates.ts';
import type { SessionItem } from '../../managed/log/stored.ts';
import type { ManagedPorts } from '../../managed/ports.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { isRelabel, type SessionLabels } from '../../workflows/contract/steered.ts';
import { SteeredLog } from '../../workflows/updates/steered-log.ts';
import { description } from '../client/support.ts';
import { AGENT, collect, stagedManaged } from './staged.ts';

const T = 1_770_000_000_000;
const relabel = (labels: SessionLabels): Entry => ({ kind: 'steered', steered: { action: 'relabel', at: T, labels } });
const told = (...all: readonly SessionLabels[]) =>
  projectEntries(emptyProjection('sesn_x'), all.map(relabel)).facts.map((fact) => {
    const { id: _, type: __, processed_at: ___, ...changed } = fact.make(new Map()) as never as Record<string, unknown>;
    return changed;
  });

test('a change that was sent twice is told once, and only what differs is told (G27)', () => {
  const both = { title: 'A', metadata: { team: 'x' } };
  expect(told(both, both)).toEqual([both]);
  expect(told(both, { title: 'B', metadata: { team: 'x' } }, { title: null })).toEqual([
    both,
    { title: 'B' },
    { title: null },
  ]);
  expect(told(both, { metadata: {} })).toEqual([both, {}]);
});

test('what is not stored yet is one change, and what came before it stays counted', () => {
  const log = new SteeredLog();
  log.relabel({ title: 'A', metadata: { a: '1' } }, { by: 'ann' });
  log.note({ action: 'snip' }, {});
  log.relabel({ title: 'B' }, { by: 'ben' });
  expect(log.open).toMatchObject([
    { action: 'snip' },
    { action: 'relabel', by: 'ben', labels: { title: 'B', metadata: { a: '1' } } },
  ]);
});

test.each([
  [{ labels: { title: 'A' } }, true],
  [{ labels: { title: null, metadata: { a: 'b' } } }, true],
  [{ labels: { title: 1 } }, false],
  [{ labels: { metadata: { a: 1 } } }, false],
  [{ labels: { metadata: 'a' } }, false],
  [{ labels: { name: 'A' } }, false],
  [{ labels: { title: 'x'.repeat(70_000) } }, false],
  [{ labels: null }, false],
  [undefined, false],
])('the signal %j is taken: %s', (value, isTaken) => {
  expect(isRelabel(value)).toBe(isTaken);
});

async function begun(changes: Partial<ManagedPorts> = {}) {
  const all = stagedManaged(changes);
  const agent = await all.client.beta.agents.create(AGENT);
  const { sessions } = all.client.beta;
  const { id } = await sessions.create({ agent: agent.id, environment_id: 'env_default', metadata: { a: '1' } });
  return { ...all, sessions, id };
}

test('before the first message, the first eight changes are kept with the session, and no no-op (G27)', async () => {
  const { sessions, id, restart } = await begun();
  await sessions.update(id, { metadata: { a: '1' }, title: null });
  for (let n = 0; n < 10; n += 1) await sessions.update(id, { title: `T${n}` });
  restart();
  const events = await collect(sessions.events.list(id));
  expect(events.map((event) => (event.type === 'session.updated' ? event.title : event.type))).toEqual(
    Array.from({ length: 8 }, (_, n) => `T${n}`),
  );
  const times = events.map(({ processed_at }) => String(processed_at));
  expect(times).toEqual([...new Set(times)].toSorted());
  expect(events[0]).not.toHaveProperty('metadata');
});

test('a session with a workflow is told before the record changes, and not once it has ended (G27)', async () => {
  const { sessions, id, described, calls } = await begun();
  const open = description({ session: id as SessionId, phase: 'idle' });
  described.set(id, open);
  const item = {
    updates: [
      { at: T, title: 'A' },
      { at: T, title: 'B' },
    ],
  } as Partial<SessionItem> as SessionItem;
  const first = { at: T * 1000 } as Parameters<typeof earlyUpdates>[2];
  expect(earlyUpdates(id, item, first).map(({ at }) => at - T * 1000)).toEqual([-2, -1]);
  await sessions.events.send(id, { events: [{ type: 'user.message', content: [{ type: 'text', text: 'Go.' }] }] });
  calls.length = 0;
  await sessions.update(id, { title: 'A', metadata: { a: null } });
  await sessions.update(id, { title: 'A' });
  expect(calls).toEqual([['relabel', id, { title: 'A', metadata: {} }]]);
  described.set(id, { ...open, status: 'failed' });
  await sessions.update(id, { title: 'B' });
  expect(calls).toHaveLength(1);
});

test('a session at rest that takes up its labels is answered as idle, and one with news as running (G25)', async () => {
  const { sessions, id, described } = await begun({
    relabel: async (session) => void described.set(session, { ...idle, unseen: true }),
  });
  const idle = description({ session: id as SessionId, phase: 'idle' });
  await sessions.events.send(id, { events: [{ type: 'user.message', content: [{ type: 'text', text: 'Go.' }] }] });
  described.set(id, idle);
  expect(await sessions.update(id, { title: 'A' })).toMatchObject({ status: 'idle', title: 'A' });
  expect(await sessions.update(id, { title: 'B' })).toMatchObject({ status: 'running', title: 'B' });
});
