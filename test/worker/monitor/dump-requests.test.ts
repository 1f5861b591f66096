// Requests as files: what is in them, what is not, and where they may lie.
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ModelRequest } from '../../../activities/model-deps.ts';
import { observeByDump } from '../../../worker/monitor/dump-requests.ts';
import { SetupProblem } from '../../../system/setup-problem.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { tempDir } from '../../support/temp-dir.ts';

const about = { session: 's-1' as SessionId, chain: 'c', run: 2, queryId: 'c.2', depth: 0, iteration: 3, attempt: 1 };
const key = 'sk-ant-0123456789';
const content = `the key is ${key}, and the header Bearer 0123-token`;
const body: ModelRequest = { model: 'm', max_tokens: 9, stream: true, messages: [{ role: 'user', content }] };

function dumping(env: Record<string, string> = {}) {
  const dataDir = join(tempDir(), 'data');
  mkdirSync(dataDir);
  const folder = join(dataDir, 'requests');
  const open = (at = folder, more: Record<string, string> = {}) =>
    observeByDump({ ...env, PERDURE_DUMP_REQUESTS: at, ...more }, dataDir);
  return { dataDir, folder, open };
}

test('each request is a file of its own for its owner alone, without what the worker keeps secret (O16)', () => {
  const headers = 'x-gate: Bearer 0123-token';
  const { folder, open } = dumping({ ANTHROPIC_API_KEY: key, ANTHROPIC_CUSTOM_HEADERS: headers });
  const watch = open();
  for (const at of [1_000, 1_000]) watch?.({ kind: 'model_request', about, at, body });
  watch?.({ kind: 'alert', about, alert: 'failed', failed: false });
  const names = readdirSync(folder).sort();
  expect(names.map((name) => name.replace(String(process.pid), 'PID'))).toEqual([
    '1970-01-01T00-00-01.000Z-PID-000001.json',
    '1970-01-01T00-00-01.000Z-PID-000002.json',
  ]);
  const path = join(folder, names[0] ?? '');
  expect([statSync(folder).mode & 0o777, statSync(path).mode & 0o777]).toEqual([0o700, 0o600]);
  const text = readFileSync(path, 'utf8');
  expect(text).not.toMatch(/sk-ant|0123-token/);
  const hidden = 'the key is [redacted], and the header Bearer [redacted]';
  expect(JSON.parse(text)).toEqual({
    at: '1970-01-01T00:00:01.000Z',
    session: 's-1',
    run: 2,
    iteration: 3,
    attempt: 1,
    betas: [],
    body: { ...body, messages: [{ role: 'user', content: hidden }] },
  });
});

test('a folder that commands of the agent could read is refused, unless that is said (O16)', () => {
  const { dataDir, open } = dumping();
  const outside = join(tempDir(), 'out');
  expect(() => open(outside)).toThrow(SetupProblem);
  expect(() => open(outside)).toThrow(
    `the folder for requests, ${outside}, could be read by commands of the agent: give one in the data folder, such as ${dataDir}/requests, or set PERDURE_DUMP_READABLE=1 (--dump-readable)`,
  );
  // Nothing was made, and a link in the data folder leads nowhere else.
  expect(() => statSync(outside)).toThrow('ENOENT');
  mkdirSync(join(tempDir(), 'elsewhere'));
  symlinkSync(join(tempDir(), 'elsewhere'), join(dataDir, 'link'));
  for (const at of [join(dataDir, '..', 'x'), join(dataDir, 'link', 'x')]) expect(() => open(at)).toThrow(SetupProblem);
  open(outside, { PERDURE_DUMP_READABLE: '1' })?.({ kind: 'model_request', about, at: 0, body });
  expect(readdirSync(outside)).toHaveLength(1);
});

test.each([
  ['open to others', (at: string) => (mkdirSync(at), chmodSync(at, 0o750)), 'is open to other users: chmod 700'],
  ['a file', (at: string) => writeFileSync(at, ''), 'cannot be made: EEXIST'],
  ['a link', (at: string) => symlinkSync('.', at), 'is not a folder'],
])('one that is %s is refused with a sentence (O16)', (_what, make, told) => {
  const { folder, open } = dumping();
  make(folder);
  expect(() => open()).toThrow(told);
});

test('without the variable nothing is written; a relative folder is refused (O16)', () => {
  const { open } = dumping();
  expect(open('')).toBeNull();
  expect(() => open('requests')).toThrow('is no absolute path');
});
