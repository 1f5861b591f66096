// Files of a workspace that are captured beside the loop, on a real server (T1, T5).
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { defaultHandover } from '../../workflows/contract/session.ts';
import { filesText } from '../../store/snapshots/files-entry.ts';
import { harness } from '../support/harness.ts';

const bash = (command: string) => toolUse('bash', { command });

test('what each step has changed stands in the transcript, also what bash did, over handovers (T1, T5)', async () => {
  const h = await harness({
    script: [
      reply([toolUse('write', { path: 'one', content: 'a\nb\n' })]),
      reply([bash('printf "c\\n" >> one; echo x > two')]),
      reply([bash('ls')]),
      reply('Done.'),
      reply([bash('rm two')]),
      reply('Gone.'),
    ],
    worker: { config: { snapshots: true } },
    handover: { ...defaultHandover, iterations: 1 },
  });
  writeFileSync(join(h.cwd, 'mine'), 'by hand\n');
  const session = await h.open('Go.');
  await session.ended(1);
  await session.send('Again.');
  await session.ended(2);
  const entries = await session.entries();
  const files = entries.flatMap((entry) => (entry.kind === 'files' ? [entry] : []));
  expect(files.map(filesText)).toEqual([
    null,
    '1 file changed (+2 −0)',
    '2 files changed (+2 −0)',
    '1 file changed (+0 −1)',
  ]);
  expect(files.map(({ roots }) => roots[0]?.names)).toEqual([[], ['one'], ['one', 'two'], ['two']]);
  expect(files.map(({ roots }) => roots[0]?.parent)).toEqual([null, ...files.slice(0, -1).map(({ roots }) => roots[0]?.id)]);
  expect(JSON.stringify(h.bodies())).not.toContain('files changed');
});
