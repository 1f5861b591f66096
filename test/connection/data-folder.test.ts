import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openDataFolder } from '../../connection/data-folder.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { temporaryFolder } from '../worker/embedded/support.ts';

test('the data folder is PERDURE_DATA, else in XDG_DATA_HOME, else in ~/.local/share', () => {
  const at = temporaryFolder();
  const env = { PERDURE_DATA: join(at, 'named'), XDG_DATA_HOME: join(at, 'xdg'), HOME: join(at, 'home') };
  expect(openDataFolder(env).root).toBe(join(at, 'named'));
  expect(openDataFolder({ ...env, PERDURE_DATA: '' }).root).toBe(join(at, 'xdg/perdure'));
  expect(openDataFolder({ HOME: env.HOME, XDG_DATA_HOME: 'relative' }).root).toBe(
    join(at, 'home/.local/share/perdure'),
  );
});

test('it is made for its owner alone and opens again', () => {
  const env = { PERDURE_DATA: join(temporaryFolder(), 'a/b') };
  const made = openDataFolder(env);
  expect(statSync(made.root).mode & 0o777).toBe(0o700);
  expect(JSON.parse(readFileSync(join(made.root, 'data.json'), 'utf8'))).toEqual({ version: 1 });
  expect({ ...openDataFolder(env), network: made.network }).toEqual(made);
});

test('the folder of another version is refused and left as it is', () => {
  const root = temporaryFolder();
  writeFileSync(join(root, 'data.json'), '{"version": 2}');
  expect(() => openDataFolder({ PERDURE_DATA: root })).toThrow(
    /another version of perdure made .* version 2.*PERDURE_DATA/,
  );
  expect(existsSync(join(root, 'store'))).toBe(false);
});

test.each(['', '{"vers', 'null', '{"version":"1"}'])('a damaged data.json (%j) is named and left as it is', (text) => {
  const root = temporaryFolder();
  const path = join(root, 'data.json');
  writeFileSync(path, text);
  expect(() => openDataFolder({ PERDURE_DATA: root })).toThrow(/data\.json is damaged .* write \{"version":1\} there/);
  expect(readFileSync(path, 'utf8')).toBe(text);
});

test('a path that is a file, or leads through one, is refused in one line', () => {
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  for (const path of [file, join(file, 'data'), join(file, 'a/b')]) {
    expect(() => openDataFolder({ PERDURE_DATA: path })).toThrow(SetupProblem);
    expect(() => openDataFolder({ PERDURE_DATA: path })).toThrow(
      /^cannot use the data folder .* is a file; .*PERDURE_DATA.*$/,
    );
  }
});

test.runIf(existsSync('/proc/self'))('a path where nothing can be made is refused in one line, at once', () => {
  expect(() => openDataFolder({ PERDURE_DATA: '/proc/nowhere/data' })).toThrow(
    /^cannot use the data folder .* it cannot be made there; .*PERDURE_DATA.*$/,
  );
});

test('a data.json that cannot be read is refused in one line', () => {
  const root = temporaryFolder();
  mkdirSync(join(root, 'data.json'));
  expect(() => openDataFolder({ PERDURE_DATA: root })).toThrow(/^cannot use the data folder .*$/);
});

test('a data folder that began with a store in a bucket goes on with its own', () => {
  const env = { PERDURE_DATA: join(temporaryFolder(), 'data') };
  expect(openDataFolder({ ...env, PERDURE_STORE: 's3://bucket/prefix' }).storePlace).toBe('s3://bucket/prefix');
  const { root, storePlace } = openDataFolder(env);
  expect(storePlace).toBe(join(root, 'store'));
  expect(existsSync(storePlace)).toBe(true);
});

test('a store that was moved away is missed, and no empty one takes its place unless a person makes it', () => {
  const env = { PERDURE_DATA: join(temporaryFolder(), 'data') };
  const { storePlace } = openDataFolder(env);
  renameSync(storePlace, `${storePlace}.away`);
  const missed = `the store ${storePlace} is not there: put it back if transcripts of this data folder were in it`;
  expect(() => openDataFolder(env)).toThrow(SetupProblem);
  expect(() => openDataFolder(env)).toThrow(missed);
  expect(existsSync(storePlace)).toBe(false);
  renameSync(`${storePlace}.away`, storePlace);
  expect(openDataFolder(env).storePlace).toBe(storePlace);
  rmSync(storePlace, { recursive: true });
  mkdirSync(storePlace);
  expect(openDataFolder(env).storePlace).toBe(storePlace);
});

test('an emptied store of a folder that had sessions is told of once, and that of a new folder is not (F13)', () => {
  const said: string[] = [];
  const spy = vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
  onTestFinished(() => spy.mockRestore());
  const env = { PERDURE_DATA: join(temporaryFolder(), 'data') };
  const { storePlace, liveDir } = openDataFolder(env);
  openDataFolder(env);
  expect(said).toEqual([]);
  mkdirSync(join(liveDir, 's-1'));
  rmSync(storePlace, { recursive: true });
  mkdirSync(storePlace);
  openDataFolder(env);
  openDataFolder(env);
  expect(said).toEqual([
    `the store ${storePlace} is empty: sessions of this data folder from before have lost their transcripts, unless their store is put back there\n`,
  ]);
});
