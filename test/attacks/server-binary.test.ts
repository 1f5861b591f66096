// The Temporal server in the cache is what it was when it was got, or it is not started.
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findPrograms } from '../../system/process/programs.ts';
import type { BinarySource } from '../../worker/embedded/fetch-binary.ts';
import { findBinary } from '../../worker/embedded/find-binary.ts';
import { temporaryFolder } from '../worker/embedded/support.ts';

/** A cache with a server that notes in `started` that it ran. */
function machine() {
  const at = temporaryFolder();
  const cache = join(at, 'cache/perdure/bin');
  const path = join(cache, 'temporal');
  const record = join(cache, '.temporal.sha256.json');
  const started = join(at, 'started');
  const env = { PATH: join(at, 'none'), XDG_CACHE_HOME: join(at, 'cache') };
  const put = (version = '1.29.1'): void => {
    mkdirSync(cache, { recursive: true });
    const script = `#!/bin/sh\necho x >> ${started}\necho "temporal version 1.5.1 (Server ${version}, UI 2.42.1)"\n`;
    writeFileSync(path, script, { mode: 0o755 });
  };
  const find = (sources: readonly BinarySource[] = []) =>
    findBinary({ env, programs: findPrograms(env, []), wanted: null, say: () => undefined, sources });
  return { path, record, started, put, find };
}

test('does not start a server that was changed, not even to ask its version, and says what to do', async () => {
  const { path, record, started, put, find } = machine();
  put();
  await find();
  const before = statSync(path);
  rmSync(started);
  writeFileSync(path, `#!/bin/sh\necho x >> ${started}; echo evil #`.padEnd(before.size, '.'));
  // As large and as old as the one that was recorded.
  utimesSync(path, before.atime, before.mtime);
  const said = `${path} has changed since it was downloaded or built (${record} has another checksum): remove both files; the next start downloads or builds a server again`;
  await expect(find()).rejects.toThrow(said);
  expect(existsSync(started)).toBe(false);
});

test('does not start one whose record is damaged', async () => {
  const { record, started, put, find } = machine();
  put();
  await find();
  rmSync(started);
  writeFileSync(record, '{');
  await expect(find()).rejects.toThrow(
    /is damaged .*: remove both files; the next start downloads or builds a server again$/,
  );
  expect(existsSync(started)).toBe(false);
});

test('goes on with the same server when only its times differ, as after a copy', async () => {
  const { path, put, find } = machine();
  put();
  await find();
  utimesSync(path, 1, 1);
  expect((await find()).path).toBe(path);
  rmSync(path);
  put();
  expect((await find()).path).toBe(path);
});

test('records one that lay there without a checksum once it says a version that will do, and only then', async () => {
  const { path, record, put, find } = machine();
  put('1.22.4');
  await expect(find()).rejects.toThrow('holds server 1.22.4');
  expect(existsSync(record)).toBe(false);
  put();
  await find();
  expect(statSync(record).mode & 0o777).toBe(0o600);
  appendFileSync(path, '# evil\n');
  await expect(find()).rejects.toThrow('another checksum');
});

test('records anew what is got in place of one that was removed, and leaves nothing else', async () => {
  const { path, record, put, find } = machine();
  put();
  await find();
  rmSync(path);
  const build: BinarySource = () => {
    put('1.30.0');
    return Promise.resolve({ path });
  };
  expect((await find([build])).server).toBe('1.30.0');
  expect((await find()).server).toBe('1.30.0');
  expect(readdirSync(join(path, '..')).filter((name) => !name.startsWith('.lock'))).toEqual([
    record.split('/').at(-1),
    'temporal',
  ]);
});
