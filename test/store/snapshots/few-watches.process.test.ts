// Folders that are more than watches: all is looked at, which is told, until there are enough again.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FolderWatch } from '../../../store/snapshots/folder-watch.ts';
import { tempFolder } from '../../tools/support.ts';

const isLinux = process.platform === 'linux';

function watched(folders: number, { most, clock }: { readonly most: number; readonly clock: { now: number } }) {
  const root = tempFolder();
  const names = Array.from({ length: folders }, (_, at) => `d${at}`);
  for (const name of names) mkdirSync(join(root, name));
  const watch = new FolderWatch<string>({ most, now: () => clock.now });
  onTestFinished(() => watch.close());
  return {
    close: () => watch.close(),
    begin: () => {
      watch.restart(true);
      for (const name of names) watch.add(name, join(root, name));
    },
    /** Tells whether a change is known. */
    tells: async () => {
      writeFileSync(join(root, 'd0', `f${Math.random()}`), '');
      const changes = await watch.takeChanges();
      return changes === null ? null : (changes.get('d0')?.size ?? 0) > 0;
    },
  };
}

test.runIf(isLinux)('folders that are more than watches are told, and are tried again later (T1)', async () => {
  const clock = { now: 0 };
  FolderWatch.takeShortage();
  const { begin, tells } = watched(5, { most: 4, clock });
  begin();
  expect(await tells()).toBeNull();
  expect(FolderWatch.takeShortage()).toBe(
    "some folders are looked through as a whole at each snapshot, for their folders are more than the 4 watches that Perdure takes, a tenth of the user's: raise fs.inotify.max_user_watches",
  );
  // It is not tried at each look.
  begin();
  expect(FolderWatch.takeShortage()).toBeNull();
  clock.now += 11 * 60_000;
  begin();
  expect(FolderWatch.takeShortage()).not.toBeNull();
});

test.runIf(isLinux)('a folder is watched once another one has given its watches back (T1)', async () => {
  const clock = { now: 0 };
  const one = watched(3, { most: 5, clock });
  const other = watched(3, { most: 5, clock });
  one.begin();
  expect(await one.tells()).toBe(true);
  other.begin();
  expect(await other.tells()).toBeNull();
  other.begin();
  expect(await other.tells()).toBeNull();
  one.close();
  other.begin();
  expect(await other.tells()).toBe(true);
});
