// The notes of a host on the sessions that have their folders there.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findLostSnapshots } from '../../client/sessions/files/lost-folders.ts';
import { HostedSessions, isLost } from '../../store/hosted-sessions.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { tempDir } from '../support/temp-dir.ts';

const session = 's-1' as SessionId;
const id = 'a'.repeat(40);

function lostOnce() {
  const data = tempDir();
  const hosted = new HostedSessions(data);
  hosted.note(session, ['/work', '/more'], 'default');
  const noted = hosted.read(session);
  if (!noted) throw new Error('nothing is noted');
  const snapshots = [
    { root: '/work', id },
    { root: '/more', id: null },
  ];
  hosted.noteLost(noted, { at: 1, to: 'host-two', snapshots });
  return { data, hosted };
}

const isHere = (hosted: HostedSessions): boolean => {
  const known = hosted.read(session);
  return known !== null && !isLost(known);
};

test('a session that another host has is not here, and what it left is listed with its snapshots (T19)', () => {
  const { data, hosted } = lostOnce();
  expect(isHere(hosted)).toBe(false);
  expect(hosted.has(session)).toBe(true);
  expect(hosted.listLost()).toMatchObject([{ session, namespace: 'default', lost: { to: 'host-two' } }]);
  expect([...(findLostSnapshots(data, session) ?? [])]).toEqual([['/work', id]]);
});

test('a session that comes back is here again, and what it had left stays listed until a person has seen to it (T19)', () => {
  const { hosted } = lostOnce();
  hosted.note(session, ['/work', '/more'], 'default');
  expect(isHere(hosted)).toBe(true);
  expect(hosted.listLost()).toMatchObject([{ session, lost: { isBack: true } }]);
  expect(hosted.forgetLost(session)).toBe(true);
  expect([isHere(hosted), hosted.listLost()]).toEqual([true, []]);
});

test('folders that a person has seen to are listed no more, and still known as those of the session (T19)', () => {
  const { hosted } = lostOnce();
  expect(hosted.forgetLost(session)).toBe(true);
  expect(hosted.listLost()).toEqual([]);
  const noted = hosted.read(session);
  expect([noted && isLost(noted), noted?.folders]).toEqual([true, ['/work', '/more']]);
  expect([hosted.forgetLost(session), hosted.forgetLost('s-2' as SessionId)]).toEqual([false, false]);
  hosted.note(session, ['/work']);
  expect([isHere(hosted), hosted.listLost()]).toEqual([true, []]);
});

test('a damaged note counts as none, and keeps no other from being read (T19)', () => {
  const { data, hosted } = lostOnce();
  mkdirSync(join(data, 'hosted'), { recursive: true });
  writeFileSync(join(data, 'hosted', 's-2.json'), '{"session": 1');
  expect(hosted.list().map((one) => one.session)).toEqual([session]);
  expect(hosted.read('s-2' as SessionId)).toBe(null);
});
