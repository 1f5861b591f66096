import { afterAll, beforeAll, test } from 'vitest';
import { join } from 'node:path';
import { fault, gate, reply, text, toolUse } from '../../scripted-model/index.ts';
import { axeFindings, openStage, type Stage } from '../support/stage.ts';
let stage: Stage;
beforeAll(async () => { stage = await openStage(); });
afterAll(() => stage.close());
test('shots', async () => {
  const { hold, release } = gate();
  for (const n of [1, 2, 3, 4]) await stage.play(`Fix the tests of module ${n}.`, [reply([toolUse('glob', { pattern: '*' })]), reply('Fixed.')], { tags: { team: 'web' } });
  await stage.play('Start the dev server and watch it.', [reply([toolUse('bash', { command: 'sleep 600' })])], { tags: { team: 'data' } });
  await stage.play('Backfill 1500 files, part 3.', [reply([toolUse('glob', { pattern: '*' })]), reply('Going on', { hold })]);
  await stage.play('Wait for quota.', [fault({ status: 429, retryAfter: 3600, message: 'slow down' })]);
  await stage.play('Use the revoked key.', [fault({ status: 401, message: 'invalid x-api-key' })]);
  for (let n = 0; n < 14; n += 1) await stage.play(`Move payment retry ${n} into one place.`, [reply([text('I will.'), toolUse('write', { path: `app/pay${n}.py`, content: 'a\nb\n' })]), reply('ok')], { permissionMode: 'default', tags: { team: 'web' } });
  await stage.play('Migrate the orders table on staging.', [reply([toolUse('bash', { command: 'psql "$STAGING_URL" -c "ALTER TABLE orders"' })])], { permissionMode: 'default' });
  await stage.play('Set up a read replica.', [reply([toolUse('ask', { question: 'Which region?', options: ['eu', 'us'] })])], { permissionMode: 'default' });
  const { tab, problems, close } = await stage.visit('/');
  await tab.getByText('Inbox').first().waitFor();
  await tab.waitForTimeout(6000);
  const dir = process.env['PAGE_SHOTS'] ?? '/tmp';
  const snap = async (name: string) => {
    for (const [w, s] of [[1440, 'light'], [1440, 'dark'], [1100, 'light'], [390, 'dark'], [390, 'light'], [1920, 'light'], [360, 'light']] as const) {
      await tab.setViewportSize({ width: w, height: w < 500 ? 844 : 900 });
      await tab.emulateMedia({ colorScheme: s });
      await tab.waitForTimeout(150);
      await tab.screenshot({ path: join(dir, `${name}-${w}-${s}.png`) });
      const wide = await tab.evaluate('document.documentElement.scrollWidth - innerWidth');
      if (Number(wide) > 0) console.log(name, w, 'sideways by', wide);
    }
    await tab.setViewportSize({ width: 1440, height: 900 });
    await tab.emulateMedia({ colorScheme: 'light' });
  };
  await snap('fleet');
  console.log('table at', await tab.locator('#sessions').evaluate('(e) => e.getBoundingClientRect().top'), (await tab.locator('#sessions').boundingBox())?.y);
  console.log(await axeFindings(tab));
  await tab.locator('[data-opens=new-task]').first().click();
  await tab.locator('#task-form').waitFor();
  await snap('task');
  console.log(await axeFindings(tab));
  await tab.keyboard.press('Escape');
  for (const path of ['/workers', '/usage', '/schedules', '/?q=fase:x', '/?q=phase:running+cost%3E100', '/?tab=failed']) {
    await tab.goto(new URL(path, tab.url()).href);
    await tab.waitForTimeout(1500);
    await snap(path.replace(/\W+/g, '_'));
    console.log(path, await axeFindings(tab));
  }
  console.log(problems);
  release();
  await close();
}, 300_000);
