// What is written below a session on the page, in a browser: what is suggested, and questions
// aside.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
import { axeFindings, openStage, type Stage } from '../support/stage.ts';
import { until } from '../support/until.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

test('what may be written next stands in the empty field, Tab writes it, and it goes with what is sent (L56)', async () => {
  const replies = [reply('Done.'), reply('Run the tests too.'), reply('All pass.')];
  const session = await stage.play('Mend this wheel.', replies, { suggestPrompts: true });
  const { tab, close } = await stage.visit(`/sessions/${session}`);
  const field = tab.locator('#message');
  await tab.locator('#suggestion', { hasText: 'Run the tests too.' }).waitFor();
  await until(async () => (await field.getAttribute('placeholder')) === 'Run the tests too.');
  expect(await axeFindings(tab)).toEqual([]);
  await field.focus();
  await tab.keyboard.press('Tab');
  expect(await field.inputValue()).toBe('Run the tests too.');
  await tab.getByRole('button', { name: 'Send', exact: true }).click();
  await tab.getByText('All pass.').waitFor();
  await until(async () => (await tab.locator('#suggestion').count()) === 0);
  await until(async () => (await field.getAttribute('placeholder'))?.startsWith('Message') ?? false);
  await close();
});

test('a question aside is answered below the composer, and the transcript stays as it is (O5 O8)', async () => {
  const session = await stage.play('Look around.', [reply('Three files.'), reply('Because *you* asked.')]);
  const { tab, problems, close } = await stage.visit(`/sessions/${session}`);
  await tab.locator('.ended.good').waitFor();
  const items = await tab.locator('.transcript > li').count();
  await tab.getByText('Ask aside').click();
  await tab.locator('#question').fill('Why did you?');
  await tab.getByRole('button', { name: 'Ask', exact: true }).click();
  await tab.locator('#aside-answer', { hasText: 'Because *you* asked.' }).waitFor();
  expect(await tab.locator('#aside-answer').textContent()).toMatch(/\(aside, by \S+ · [\d,]+ tokens/);
  expect(await tab.locator('.transcript > li').count()).toBe(items);
  expect(await tab.locator('#transcript').textContent()).not.toMatch(/Because|Why did you/);
  expect(await axeFindings(tab)).toEqual([]);
  expect(problems).toEqual([]);
  await close();
});
