import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { type BinarySource, downloadBinary } from '../../../worker/embedded/fetch-binary.ts';
import { findBinary, type FindBinary, buildBinary } from '../../../worker/embedded/find-binary.ts';
import { findPrograms } from '../../../system/process/programs.ts';
import { temporaryFolder } from './support.ts';

const SYSTEM = `/usr/bin${delimiter}/bin`;

function fakeProgram(path: string, script: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
}

const fakeTemporal = (path: string, server: string) =>
  fakeProgram(path, `echo "temporal version 1.5.1 (Server ${server}, UI 2.42.1)"`);

function machine() {
  const at = temporaryFolder();
  const cache = join(at, 'cache/perdure/bin');
  const env = { PATH: `${join(at, 'a')}${delimiter}${join(at, 'b')}`, XDG_CACHE_HOME: join(at, 'cache') };
  const said: string[] = [];
  const programs = findPrograms(env, []);
  const find = (change: Partial<FindBinary> = {}) =>
    findBinary({ env, programs, wanted: null, say: (line) => said.push(line), sources: [], ...change });
  return { at, cache, env, said, find };
}

const source = (name: string, result: { path: string } | { problem: string }, called: string[]): BinarySource => {
  return () => {
    called.push(name);
    return Promise.resolve(result);
  };
};

test('a `temporal` on PATH comes before the cache, and the cache before anything is fetched', async () => {
  const { at, cache, find } = machine();
  const cached = fakeTemporal(join(cache, 'temporal'), '1.29.1');
  expect(await find()).toEqual({ path: cached, server: '1.29.1' });
  const onPath = fakeTemporal(join(at, 'b/temporal'), '1.30.0');
  expect(await find()).toEqual({ path: onPath, server: '1.30.0' });
});

test('a binary that is too old, or is not what its name says, is passed over', async () => {
  const { at, cache, find } = machine();
  fakeTemporal(join(at, 'a/temporal'), '1.22.4');
  fakeProgram(join(at, 'b/temporal'), 'echo hello; exit 3');
  const cached = fakeTemporal(join(cache, 'temporal'), '1.29.1');
  expect((await find()).path).toBe(cached);
});

test('a binary of the release that made the database is preferred to a newer one', async () => {
  const { at, cache, find } = machine();
  fakeTemporal(join(at, 'a/temporal'), '1.31.0');
  const patch = fakeTemporal(join(cache, 'temporal-v1.5.1'), '1.29.3');
  expect((await find({ wanted: '1.29.1' })).path).toBe(patch);
});

test('what cannot be found is fetched, by each source in turn until one has it', async () => {
  const { at, find, said } = machine();
  const called: string[] = [];
  const made = fakeTemporal(join(at, 'made/temporal'), '1.29.1');
  const sources = [
    source('first', { problem: 'first has no luck' }, called),
    source('second', { path: made }, called),
    source('third', { path: made }, called),
  ];
  expect((await find({ sources })).path).toBe(made);
  expect(called).toEqual(['first', 'second']);
  expect(said).toEqual(['first has no luck']);
});

test('when nothing helps, every step and its reason are listed, and what to do', async () => {
  const { at, find } = machine();
  const old = fakeTemporal(join(at, 'a/temporal'), '1.22.4');
  const other = fakeTemporal(join(at, 'made/temporal'), '1.30.0');
  const sources = [source('first', { problem: 'first has no luck' }, []), source('second', { path: other }, [])];
  await expect(find({ sources, wanted: '1.29.1' })).rejects.toThrow(
    [
      'no Temporal server to run:',
      `  - ${old} holds server 1.22.4, 1.29 or newer is needed`,
      '  - first has no luck',
      `  - ${other} holds server 1.30.0, the database was made by 1.29.1`,
      'Install the Temporal CLI with server 1.29 (https://docs.temporal.io/cli) or Go, or set TEMPORAL_ADDRESS to a server that runs.',
    ].join('\n'),
  );
});

test('two who miss it at once fetch it once', async () => {
  const { cache, find } = machine();
  const called: string[] = [];
  const slow: BinarySource = async ({ into }) => {
    called.push(into);
    await new Promise((resolve) => setImmediate(resolve));
    return { path: fakeTemporal(join(into, 'temporal'), '1.29.1') };
  };
  const found = await Promise.all([find({ sources: [slow] }), find({ sources: [slow] })]);
  expect(found.map(({ path }) => path)).toEqual(Array(2).fill(join(cache, 'temporal')));
  expect(called).toEqual([cache]);
});

const gets = (into: string, env: NodeJS.ProcessEnv) => ({
  into,
  programs: findPrograms(env, []),
  say: () => undefined,
});

test('a Go build lands in the cache whole, and its environment holds no secret', async () => {
  const at = temporaryFolder();
  fakeProgram(join(at, 'go'), `env > ${at}/env; echo "$@" > ${at}/args; echo binary > "$GOBIN/temporal"`);
  const env = { PATH: `${at}:${SYSTEM}`, GOPROXY: 'https://proxy', GOOS: 'plan9', ANTHROPIC_API_KEY: 'canary' };
  expect(await buildBinary(gets(at, env))).toEqual({ path: join(at, 'temporal') });
  expect(await buildBinary(gets(at, env))).toEqual({ path: join(at, 'temporal-v1.5.1') });
  const { readFileSync } = await import('node:fs');
  expect(readFileSync(join(at, 'args'), 'utf8')).toBe('install github.com/temporalio/cli/cmd/temporal@v1.5.1\n');
  const given = readFileSync(join(at, 'env'), 'utf8');
  expect(given).toContain('GOPROXY=https://proxy');
  expect(given).not.toMatch(/canary|plan9/);
});

test('a Go build that fails says why in one line and leaves nothing', async () => {
  const at = temporaryFolder();
  const bin = join(at, 'bin');
  expect(await buildBinary(gets(at, { PATH: bin }))).toEqual({ problem: 'cannot build it: no `go` on PATH' });
  fakeProgram(join(bin, 'go'), 'echo "go: downloading" >&2; echo "dial tcp: no route to host" >&2; exit 1');
  const failed = await buildBinary(gets(at, { PATH: `${bin}:${SYSTEM}` }));
  expect(failed).toEqual({ problem: expect.stringMatching(/^`go install .*` failed: dial tcp: no route to host$/) });
  expect(readdirSync(at)).toEqual(['bin']);
});

test('a download that cannot reach its host says why in one line and leaves nothing', async () => {
  const at = temporaryFolder();
  const failed = await downloadBinary(gets(at, { ...process.env, HTTPS_PROXY: 'http://127.0.0.1:9' }));
  expect(failed).toEqual({ problem: expect.stringMatching(/^the SDK's download .* failed: .+$/) });
  expect(readdirSync(at)).toEqual([]);
});
