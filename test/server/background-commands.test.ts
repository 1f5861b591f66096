// Commands in the background of a session: started, read, ended, and told of, over handovers and to
// the end of the session.
import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { reply, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import { processesWith } from '../tools/support.ts';
import { backgroundRoot } from '../../system/process/background-files.ts';
import {
  backgroundCommands,
  backgroundReader,
  findBackgroundCommands,
} from '../../client/sessions/history/background.ts';
import { transcriptItems } from '../../client/sessions/history/items.ts';
import { harness } from '../support/harness.ts';
import { until } from '../support/until.ts';

const serve = toolUse('bash', {
  command: 'echo $$ > pid; echo listening; while [ ! -e stop ]; do sleep 0.05; done; exit 4',
  background: true,
});
const idIn = (request: ParsedRequest): string =>
  /as (bg-[0-9a-f]{8})/.exec(JSON.stringify(request.messages))?.[1] ?? '';

test('one goes on beside the loop, over a handover, and its end is told once (L84 L43)', async () => {
  const cwd: { path?: string } = {};
  const script = async (request: ParsedRequest): Promise<Reply> => {
    const turn = request.messages.filter(({ role }) => role === 'assistant').length;
    if (turn === 0) return reply([serve]);
    const read = () => reply([toolUse('bash_output', { id: idIn(request) })]);
    // Told to end while the model thinks; the next turn finds it ended.
    if (turn === 1) return (await until(() => existsSync(join(cwd.path!, 'pid')) || null), read());
    if (turn === 2) writeFileSync(join(cwd.path!, 'stop'), '');
    return JSON.stringify(request.messages).includes('has ended with exit status 4') && turn > 4
      ? reply('Done.')
      : read();
  };
  const h = await harness({ script, handover: { events: 10_000, signals: 10_000, iterations: 1 } });
  cwd.path = h.cwd;
  const session = await h.open('Serve.');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const notices = (await session.entries()).flatMap((entry) =>
    entry.kind === 'notice' && entry.notice.kind === 'attachment' ? [entry.notice.text] : [],
  );
  expect(notices).toHaveLength(1);
  expect(notices[0]).toMatch(
    /^bg-\w{8} \(echo .*\) has ended with exit status 4\. The end of its output:\n> listening$/,
  );
});

test('people see it run, with its last lines, and it ends when its session is terminated (L84)', async () => {
  const mark = randomUUID();
  const command = `echo up; sleep 1000; : ${mark}`;
  const script = (request: ParsedRequest): Reply =>
    request.messages.length > 1 ? reply('It runs.') : reply([toolUse('bash', { command, background: true })]);
  const h = await harness({ script });
  const session = await h.open('Serve.');
  await session.ended(1);
  expect(await processesWith(mark)).not.toEqual([]);
  const items = transcriptItems();
  items.add(await session.entries());
  const files = backgroundReader(backgroundRoot(join(dirname(h.storePlace), 'data')), session.id);
  const seen = () => backgroundCommands(findBackgroundCommands(items.all), files, false);
  await until(async () => (await seen())[0]?.last === 'up');
  expect(await seen()).toMatchObject([{ command, run: 1, running: true, state: 'is running', endedAt: null }]);
  await session.handle.terminate();
  await until(async () => ((await processesWith(mark)).length === 0 ? true : null));
});
