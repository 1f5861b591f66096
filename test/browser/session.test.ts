// One session on the page, in a browser, as it goes.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { gate, reply, thinking, text, toolUse } from '../../worker/scripted-model/index.ts';
import { openStage, type Stage } from '../support/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const shots = process.env['SHOTS'];

test('a session’s text is on the screen as it is said, and its calls as they run (O5)', async () => {
  const hold = gate();
  const session = await stage.play('Look around.', [
    reply([
      thinking('I should look first.'),
      text('I look around. '),
      toolUse('bash', { command: 'echo hello; ls -la' }),
      toolUse('write', { path: 'notes.md', content: '# Notes\n\nFirst line.\n' }),
    ]),
    reply([
      toolUse('edit', { path: 'notes.md', old_string: 'First line.', new_string: 'A better line.\nAnd a second.' }),
      toolUse('read', { path: 'missing.txt' }),
    ]),
    reply('This is said slowly, word by word, and then it goes on for a while.', {
      hold: hold.hold,
      holdAfterEvent: 4,
      deltaChars: 20,
    }),
  ]);
  const { tab, problems, close } = await stage.visit(`/sessions/${session}`);
  await tab.getByText('This is said slowly').waitFor();
  expect(await tab.locator('#live .said.agent').textContent()).not.toContain('a while');
  if (shots) await tab.screenshot({ path: `${shots}/live.png`, fullPage: true });
  hold.release();
  await tab.getByText('goes on for a while').waitFor();
  await tab.locator('.ended.good').waitFor();
  await tab.locator('.call.ok').first().waitFor();
  expect(await tab.locator('#live li').count()).toBe(0);
  for (const one of await tab.locator('.call > summary').all()) await one.click();
  if (shots) await tab.screenshot({ path: `${shots}/session.png`, fullPage: true });
  expect(problems).toEqual([]);
  await close();
});
