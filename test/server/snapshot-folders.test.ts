// Workspaces that move or are shared, and snapshots that someone damages, on a real server.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import type { FilesEntry } from '../../store/snapshots/files-entry.ts';
import { snapshotsFolderOf } from '../../store/snapshots/shadow.ts';
import { byPrompt } from '../support/by-prompt.ts';
import { clientOf, harness, type Harness } from '../support/harness.ts';

const write = (path: string, content: string) => reply([toolUse('write', { path, content })]);

const append = (path: string) => reply([toolUse('bash', { command: `echo 2 >> ${path}` })]);

type Session = Awaited<ReturnType<Harness['open']>>;

const filesOf = async (session: Session): Promise<readonly FilesEntry[]> =>
  (await session.entries()).flatMap((entry) => (entry.kind === 'files' ? [entry] : []));

test('a workspace that moved while its session worked is not captured, nor where a link leads; back, it is (T2 T7)', async () => {
  const away = (h: Harness) => `${h.cwd}-moved`;
  const h = await harness({
    script: (_request, n) => {
      if (n === 1) return write('one', 'a\n');
      if (n === 2) {
        renameSync(h.cwd, away(h));
        mkdirSync(`${h.cwd}-other`);
        symlinkSync(`${h.cwd}-other`, h.cwd);
        return reply([toolUse('bash', { command: 'echo lost > lost' })]);
      }
      return n === 4 ? write('two', 'b\n') : reply('Done.');
    },
    worker: { config: { snapshots: true } },
  });
  const session = await h.open('Go.');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const before = await filesOf(session);
  expect(before.map(({ roots }) => roots[0]?.names)).toEqual([[], ['one']]);
  const client = clientOf(h);
  const rewind = client.rewind(session.id, { to: '1.2', conversation: false });
  await expect(rewind).rejects.toThrow(
    `${h.cwd} is not there any longer, or a link is in its place: files go back only where they were. If it has moved, move it back, ` +
      `or leave files alone (\`perdure rewind --conversation\`) and go on with \`perdure run --session ${session.id} --cwd DIR\``,
  );
  expect(readdirSync(`${h.cwd}-other`)).toEqual([]);
  rmSync(h.cwd);
  renameSync(away(h), h.cwd);
  await session.send('Go on.');
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
  const later = (await filesOf(session)).slice(before.length);
  expect(later.map(({ roots }) => roots[0]?.names)).toEqual([['two']]);
  expect(later[0]?.roots[0]?.parent).toBe(before.at(-1)?.roots[0]?.id);
});

test('snapshots that someone has damaged between two runs are made anew, and what is lost of them is told (T1 T7 T11)', async () => {
  const h = await harness({
    script: [
      write('one', 'a\n'),
      reply('Done.'),
      write('two', 'b\n'),
      reply('Done.'),
      write('three', 'c\n'),
      reply('Done.'),
    ],
    worker: { config: { snapshots: true } },
  });
  const client = clientOf(h);
  const shadow = snapshotsFolderOf(join(dirname(h.cwd), 'data'));
  const session = await h.open('Go.');
  await session.ended(1);
  const before = await filesOf(session);
  rmSync(join(shadow, 'objects'), { recursive: true });
  await session.send('Go on.');
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
  const anew = (await filesOf(session)).slice(before.length);
  const [root] = anew[0]?.roots ?? [];
  expect(root).toMatchObject({ parent: before.at(-1)?.roots[0]?.id, names: ['two'] });
  await expect(client.rewind(session.id, { to: '1.2', conversation: false })).rejects.toThrow(/not on this machine/);
  expect(readFileSync(join(h.cwd, 'one'), 'utf8')).toBe('a\n');
  for (const name of readdirSync(shadow)) rmSync(join(shadow, name), { recursive: true });
  writeFileSync(join(shadow, 'objects'), 'no folder\n');
  await session.send('Go on.');
  expect(await session.ended(3)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(readFileSync(join(h.cwd, 'three'), 'utf8')).toBe('c\n');
});

test('two sessions in one folder: each goes back with its own, and not over what the other did since (T7)', async () => {
  const h = await harness({
    script: byPrompt({
      First: [write('shared', '1\n'), reply('Done.'), write('mine', 'a\n'), reply('Done.')],
      Second: [write('theirs', 'b\n'), reply('Done.'), append('shared'), reply('Done.')],
    }),
    worker: { config: { snapshots: true } },
  });
  const client = clientOf(h);
  const look = () =>
    Object.fromEntries(readdirSync(h.cwd).map((name) => [name, readFileSync(join(h.cwd, name), 'utf8')]));
  const one = await h.open('First');
  await one.ended(1);
  const two = await h.open('Second');
  await two.ended(1);
  await one.send('And on.');
  await one.ended(2);
  await two.send('And on.');
  await two.ended(2);
  const all = { shared: '1\n2\n', mine: 'a\n', theirs: 'b\n' };
  expect(look()).toEqual(all);
  const refused = 'shared was changed by someone else';
  await expect(client.rewind(one.id, { conversation: false })).rejects.toThrow(refused);
  expect(look()).toEqual(all);
  await client.rewind(two.id, { conversation: false });
  expect(look()).toEqual({ ...all, shared: '1\n' });
  await client.rewind(one.id, { conversation: false });
  expect(look()).toEqual({ shared: '1\n', theirs: 'b\n' });
  // The first has captured what the second had made when its own last run began.
  await client.rewind(one.id, { to: '1.2', conversation: false });
  expect(look()).toEqual({});
});
