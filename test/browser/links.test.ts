// Links into long sessions, in a browser.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { reply, text, toolUse } from '../../scripted-model/index.ts';
import { openStage, type Stage } from '../support/stage.ts';
import { until } from '../support/until.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

test('a link to an older place opens there, with no more than its surroundings, and what is before comes as one scrolls (O9)', async () => {
  const turns = Array.from({ length: 120 }, (_, at) =>
    reply([text(`Turn ${at}.`), toolUse('glob', { pattern: `*${at}` })]),
  );
  const session = await stage.play('Look often.', [...turns, reply('Enough.')], { maxTurns: 200 });
  const end = await stage.visit(`/sessions/${session}`);
  await end.tab.locator('.ended.good').waitFor({ timeout: 600_000 });
  await end.close();
  const entries = (tab: Page) => tab.locator('#items > li.item').count();
  const isInView = async (tab: Page, id: string) => {
    const y = (await tab.locator(`#${id}`).boundingBox())?.y ?? -1;
    return y >= 0 && y < 900;
  };
  for (const link of ['?at=1.90#it-1-90', '#it-1-90', '#call-1-90-1', '?at=1.90']) {
    const { tab, close } = await stage.visit(`/sessions/${session}${link}`);
    await tab.locator('#it-1-90').waitFor();
    await until(() => isInView(tab, link.includes('call') ? 'call-1-90-1' : 'it-1-90'));
    expect(await entries(tab)).toBeLessThan(240);
    await close();
  }
  const { tab, close } = await stage.visit(`/sessions/${session}?at=1.90#it-1-90`);
  await until(() => isInView(tab, 'it-1-90'));
  const before = await entries(tab);
  await tab.mouse.wheel(0, -40_000);
  await until(async () => (await entries(tab)) > before);
  expect(await tab.locator('#it-1-1').count()).toBe(1);
  await close();
});
