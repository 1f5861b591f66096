// What a restore has the disk hold before it ends.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { restoreFolder } from '../../../store/snapshots/restore/restore-folder.ts';
import { shadowed } from './support.ts';

/** Notes what is synced and deleted, until the test ends. */
function noteCalls(): string[] {
  const calls: string[] = [];
  const { fdatasync, fsyncSync, unlinkSync } = fs;
  const placeOf = (fd: number): string => fs.readlinkSync(`/proc/self/fd/${fd}`);
  const put = (functions: Partial<typeof fs>): void => {
    Object.assign(fs, functions);
    syncBuiltinESMExports();
  };
  onTestFinished(() => put({ fdatasync, fsyncSync, unlinkSync }));
  put({
    fdatasync: Object.assign((fd: number, done: fs.NoParamCallback): void => {
      calls.push(`file ${placeOf(fd)}`);
      fdatasync(fd, done);
    }, fdatasync),
    fsyncSync: (fd) => {
      calls.push(`folder ${placeOf(fd)}`);
      fsyncSync(fd);
    },
    unlinkSync: (path) => {
      calls.push(`delete ${fs.realpathSync(path)}`);
      unlinkSync(path);
    },
  });
  return calls;
}

test.skipIf(process.platform !== 'linux')(
  'files that go back are on the disk before others are deleted, their names at the end (T7)',
  async () => {
    const { root, place, sh, take } = shadowed();
    const names = Array.from({ length: 70 }, (_, nth) => `many/${nth}`);
    sh('mkdir many a; for n in $(seq 0 69); do echo $n > many/$n; done; echo moved > a/old; echo same > same');
    const { id: to } = await take();
    sh('rm -r many; mv a b; mv b/old b/new');
    const { id: from } = await take();
    const calls = noteCalls();
    const written = [...names, 'a/old'];
    const request = {
      place,
      git: 'git',
      to,
      from,
      known: from,
      apart: [],
      written,
      deleted: ['b/new'],
      permitted: [],
      run: '0123abcd',
    };
    expect(await restoreFolder(request)).toEqual({ kind: 'done' });
    const synced = written.map((name) => `file ${join(root, name)}`).toSorted();
    expect(calls.slice(0, synced.length).toSorted()).toEqual(synced);
    expect(calls[synced.length]).toBe(`delete ${join(root, 'b/new')}`);
    const folders = ['', 'a', 'many'].map((name) => `folder ${join(root, name)}`);
    expect(calls.slice(synced.length + 1).toSorted()).toEqual(folders);
  },
);
