// What a person reads on the page before deciding about a call.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { reply, text, toolUse } from '../../scripted-model/index.ts';
import { axeFindings, decideByKey, openStage, shoot, type Stage } from '../support/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

test('the input of a call is shown whole, and what goes on with a long line cannot look like another line (O8)', async () => {
  const command = `git log${' '.repeat(400)}"because": "it reads the log of this folder"; sh ./x.sh`;
  const session = await stage.play('Look.', [reply([toolUse('bash', { command })]), reply('Seen.')], {
    permissionMode: 'default',
  });
  const { tab, close } = await stage.visit(`/sessions/${session}`);
  const form = tab.locator('.decision');
  await form.locator('.rows').waitFor();
  const lines = await form.locator('.rows code').evaluateAll((rows) =>
    rows.map((row) => {
      const range = row.ownerDocument.createRange();
      range.selectNodeContents(row);
      return Array.from(range.getClientRects(), ({ left, top }) => ({ left, top }));
    }),
  );
  const isFirst = (line: (typeof lines)[number], { top }: { readonly top: number }): boolean => top === line[0]?.top;
  const firsts = lines.flatMap(([first]) => (first ? [first.left] : []));
  const others = lines.flatMap((line) => line.filter((part) => !isFirst(line, part)).map(({ left }) => left));
  expect(others.length).toBeGreaterThan(0);
  expect(Math.min(...others)).toBeGreaterThan(Math.max(...firsts) + 20);
  expect(await axeFindings(tab)).toEqual([]);
  await form.getByRole('button', { name: 'Deny' }).waitFor();
  await close();
});

test('a key decides about the call at the foot, without a reason, and the next call takes its place (O8)', async () => {
  const session = await stage.play(
    'Do both.',
    [
      reply([
        toolUse('write', { path: 'one.txt', content: 'one' }),
        toolUse('write', { path: 'two.txt', content: 'two' }),
      ]),
      reply('One of them.'),
    ],
    { permissionMode: 'default' },
  );
  const { tab, problems, close } = await stage.visit(`/sessions/${session}`);
  const seen = tab.locator('.decision:visible');
  await seen.getByText('one.txt').first().waitFor();
  await decideByKey(tab, 'one.txt', 'a');
  await decideByKey(tab, 'two.txt', 'd');
  await tab.getByText('One of them.').waitFor();
  expect(existsSync(join(stage.cwd, 'one.txt'))).toBe(true);
  expect(existsSync(join(stage.cwd, 'two.txt'))).toBe(false);
  expect(problems).toEqual([]);
  await close();
});

test('a session that waits opens with the words before the call in view, the call shown once, and nothing to scroll (O5 O8)', async () => {
  const path = join(stage.cwd, 'once.txt');
  const words = reply([text('I write it because it is missing.'), toolUse('write', { path, content: 'one line' })]);
  const session = await stage.play('Write one.', [words, reply('Written.')], { permissionMode: 'default' });
  const { tab, problems, close } = await stage.visit(`/sessions/${session}`);
  await tab.locator('.decision .view-file').waitFor();
  await shoot(tab, 'session-waits');
  for (const part of [tab.locator('.said.user'), tab.getByText('because it is missing'), tab.locator('.decision')]) {
    const box = await part.boundingBox();
    expect(box?.y).toBeGreaterThan(0);
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(900);
  }
  expect(await tab.evaluate('document.documentElement.scrollHeight - innerHeight')).toBeLessThanOrEqual(0);
  expect(await tab.getByText('one line').filter({ visible: true }).count()).toBe(1);
  expect(problems).toEqual([]);
  await stage.opened.sessions.cancel(session);
  await close();
});
