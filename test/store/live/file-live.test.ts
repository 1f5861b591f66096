// The live channel's writing side: what it says is in files, and nothing that happens to it reaches
// its caller.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { LiveHeader } from '../../../store/live/events.ts';
import { fileLive } from '../../../store/live/file-live.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';

const session = 's-1' as SessionId;
const header = (step: number, attempt = 1): Omit<LiveHeader, 'type'> => ({
  session,
  step,
  attempt,
  activity: 'callModel',
});
const delta = (text: string) => ({ type: 'text_delta', iteration: 1, index: 0, text }) as const;
const stored = { type: 'fate', fate: 'done' } as const;
const lines = (path: string): unknown[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line): unknown => JSON.parse(line));

test('an attempt is one file: header, events in order, fate', async () => {
  const dir = tempDir();
  const writer = fileLive({ dir }).open({ ...header(7, 2), supersedes: 6 });
  writer.write(delta('a'));
  writer.write(delta('line\nbreak \u2028 \ud800'));
  await writer.end(stored);
  writer.write(delta('too late'));
  await writer.end(stored);
  expect(lines(`${dir}/s-1/00000007.2.jsonl`)).toEqual([
    { type: 'header', ...header(7, 2), supersedes: 6 },
    delta('a'),
    delta('line\nbreak \u2028 \ud800'),
    stored,
  ]);
});

test('lines are on disk soon without an end, and at once when there are many', async () => {
  const dir = tempDir();
  const writer = fileLive({ dir }).open(header(1));
  const path = `${dir}/s-1/00000001.1.jsonl`;
  writer.write(delta('x'.repeat(20_000)));
  expect(lines(path)).toHaveLength(2);
  writer.write(delta('y'));
  await until(() => lines(path).length === 3);
  await writer.end(stored);
});

test('a session id that is no file name gets a folder inside, and different ids different ones', async () => {
  const dir = tempDir();
  const ids = ['../../out', 'a/b', '.', '..', 'x'.repeat(500), 'ü', ''] as SessionId[];
  for (const id of ids)
    await fileLive({ dir })
      .open({ ...header(1), session: id })
      .end(stored);
  expect(readdirSync(dir)).toHaveLength(ids.length);
});

test('a folder that cannot be written is said once, and never thrown', async () => {
  const dir = `${tempDir()}/file`;
  writeFileSync(dir, 'in the way');
  const warnings: string[] = [];
  const live = fileLive({ dir, log: (_, message) => warnings.push(message) });
  for (const step of [1, 2, 3]) {
    const writer = live.open(header(step));
    writer.write(delta('a'.repeat(20_000)));
    await writer.end(stored);
  }
  await live.forgetBefore(session, 3);
  expect(warnings).toEqual([expect.stringMatching(/watchers .* see nothing for now, .*\/file cannot be written/)]);
  rmSync(dir);
  mkdirSync(dir);
  await live.open(header(4)).end(stored);
  rmSync(dir, { recursive: true });
  writeFileSync(dir, 'in the way again');
  await live.open(header(5)).end(stored);
  expect(warnings).toHaveLength(2);
});

test('an event that is no JSON ends the attempt’s output, not the attempt', async () => {
  const dir = tempDir();
  const warnings: string[] = [];
  const writer = fileLive({ dir, log: (_, message) => warnings.push(message) }).open(header(1));
  const loop: { self?: unknown } = {};
  loop.self = loop;
  writer.write({ type: 'tool_use', iteration: 1, index: 0, id: 'a', name: 'b', input: loop });
  await writer.end(stored);
  expect(warnings).toHaveLength(1);
});

test('files of steps before the given one are forgotten, others and other sessions stay', async () => {
  const dir = tempDir();
  const live = fileLive({ dir });
  for (const [step, attempt] of [
    [1, 1],
    [2, 1],
    [2, 2],
    [3, 1],
  ] as const)
    await live.open(header(step, attempt)).end(stored);
  await live.open({ ...header(1), session: 's-2' as SessionId }).end(stored);
  await live.forgetBefore(session, 3);
  await live.forgetBefore('unknown' as SessionId, 3);
  expect(readdirSync(`${dir}/s-1`)).toEqual(['00000003.1.jsonl']);
  expect(readdirSync(`${dir}/s-2`)).toEqual(['00000001.1.jsonl']);
});
