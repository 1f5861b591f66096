// What a restore has the disk hold before it ends.
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { restoreFolder } from '../../../store/snapshots/restore/restore-folder.ts';
import { shadowed } from './support.ts';

const calls = vi.hoisted((): string[] => []);

vi.mock('node:fs', async (importActual) => {
  const fs = await importActual<typeof import('node:fs')>();
  const note = (what: string, fd: number): void => void calls.push(`${what} ${fs.readlinkSync(`/proc/self/fd/${fd}`)}`);
  return {
    ...fs,
    fdatasync: (fd: number, done: (error: Error | null) => void) => {
      note('file', fd);
      fs.fdatasync(fd, done);
    },
    fsyncSync: (fd: number) => {
      note('folder', fd);
      fs.fsyncSync(fd);
    },
    unlinkSync: (path: Buffer) => {
      calls.push(`delete ${fs.realpathSync(path)}`);
      fs.unlinkSync(path);
    },
  };
});

test.skipIf(process.platform !== 'linux')(
  'files that go back are on the disk before others are deleted, their names at the end (T7)',
  async () => {
    const { root, place, sh, take } = shadowed();
    const names = Array.from({ length: 70 }, (_, nth) => `many/${nth}`);
    sh('mkdir many a; for n in $(seq 0 69); do echo $n > many/$n; done; echo moved > a/old; echo same > same');
    const { id: to } = await take();
    sh('rm -r many; mv a b; mv b/old b/new');
    calls.length = 0;
    const written = [...names, 'a/old'];
    const request = { place, git: 'git', to, written, deleted: ['b/new'], run: '0123abcd' };
    expect(await restoreFolder(request)).toEqual({ kind: 'done' });
    const synced = written.map((name) => `file ${join(root, name)}`).toSorted();
    expect(calls.slice(0, synced.length).toSorted()).toEqual(synced);
    expect(calls[synced.length]).toBe(`delete ${join(root, 'b/new')}`);
    const folders = ['', 'a', 'many'].map((name) => `folder ${join(root, name)}`);
    expect(calls.slice(synced.length + 1).toSorted()).toEqual(folders);
  },
);
