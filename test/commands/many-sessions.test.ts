// Commands that act on every session that a filter means.
import { expect, test } from 'vitest';
import { fault, gate, reply, toolUse } from '../../scripted-model/index.ts';
import { toBlocks } from '../../scripted-model/read-request.ts';
import type { ParsedRequest } from '../../scripted-model/index.ts';
import { cliPlace, jsonLines, modelFor, readyWorker } from '../support/cli.ts';
import { until } from '../support/until.ts';

const dearUsage = { input_tokens: 900_000, output_tokens: 60_000 };

const taskOf = ({ messages }: ParsedRequest): string =>
  toBlocks(messages[0]?.content ?? '').flatMap((block) => (block.type === 'text' ? [block.text] : []))[0] ?? '';

const listed = async (place: ReturnType<typeof cliPlace>, filter: string) =>
  jsonLines((await place.run('list', '--json', filter)).out).map(({ session }) => session);

test('interrupt, cancel, deny and approve with a filter by cost count a run under way as it stands now (O3 L47 L55)', async () => {
  const { hold, release } = gate();
  const works = toolUse('bash', { command: 'true' });
  const asks = toolUse('bash', { command: 'touch made' });
  const place = cliPlace(
    await modelFor((request) => {
      const task = taskOf(request);
      const isFirst = request.messages.length < 3;
      const usage = task.startsWith('dear') ? dearUsage : {};
      if (isFirst) return reply([task.endsWith('asks') ? asks : works], { usage });
      return task.endsWith('works') ? reply('Still.', { hold }) : reply('Done.');
    }),
  );
  await readyWorker(place);
  const start = async (task: string, ...flags: readonly string[]): Promise<string> =>
    (await place.run('start', task, ...flags)).out.trim();
  const dear = await start('dear works', '--permission-mode', 'bypass');
  const cheap = await start('cheap works', '--permission-mode', 'bypass');
  const [dearAsks, cheapAsks] = [await start('dear asks'), await start('cheap asks')];
  await until(async () => jsonLines((await place.run('approvals', '--json')).out).length === 2);
  // The memo of a run under way has no cost before its first handover.
  await until(async () => (await listed(place, 'cost>1')).toString() === [dearAsks, dear].toString());

  const denied = await place.run('deny', '--filter', 'cost>1', '--reason', 'no', '--yes');
  expect(denied).toMatchObject({ status: 0, err: expect.stringMatching(/bash touch made\ndenied: 1 call\n/) });
  const approved = await place.run('approve', '--filter', 'cost<1', '--yes');
  expect(approved).toMatchObject({ status: 0, err: expect.stringContaining('approved: 1 call\n') });
  for (const session of [dearAsks, cheapAsks])
    await until(async () => (await listed(place, 'phase:idle')).includes(session));

  const interrupted = await place.run('interrupt', '--filter', 'cost>1', '--yes');
  expect(interrupted).toMatchObject({ status: 0, err: expect.stringContaining('asked to stop: 1 run\n') });
  await until(async () => (await listed(place, 'reason:aborted_streaming')).toString() === dear);
  expect(await listed(place, 'phase:running')).toEqual([cheap]);
  const cancelled = await place.run('cancel', '--filter', 'cost<1 phase:running', '--yes');
  expect(cancelled).toMatchObject({ status: 0, err: expect.stringContaining('asked to close: 1 session\n') });
  await until(async () => (await listed(place, 'phase:closed')).toString() === cheap);
  release();
});

test('resume with a filter ends the wait of the parked sessions that it means, and nothing is asked of others (O3 L14)', async () => {
  const full = fault({ status: 429, retryAfter: 86_400 });
  const again = new Set<string>();
  const place = cliPlace(
    await modelFor((request) => {
      const isAgain = again.has(taskOf(request));
      again.add(taskOf(request));
      return isAgain ? reply('Done.') : full;
    }),
  );
  await readyWorker(place);
  const [one, other] = [
    (await place.run('start', 'one', '--tag', 'team=web')).out.trim(),
    (await place.run('start', 'other')).out.trim(),
  ];
  await until(async () => (await listed(place, 'phase:parked')).length === 2);
  const asked = await place.run('resume', '--filter', 'tag:team=web');
  expect(asked).toMatchObject({ status: 2, err: expect.stringContaining('pass --yes to skip it') });
  expect(await place.run('resume', '--filter', 'tag:team=web', '--yes')).toMatchObject({
    status: 0,
    err: expect.stringContaining('asked to go on: 1 parked session\n'),
  });
  await until(async () => (await listed(place, 'phase:idle')).toString() === one);
  expect(await listed(place, 'phase:parked')).toEqual([other]);
});
