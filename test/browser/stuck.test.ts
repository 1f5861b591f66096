// Runs that give no sign, as an operator finds and stops them. What is read of them is six minutes
// older than it is, from when the test says so.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ReadRunning } from '../../client/sessions/running/read-running.ts';
import { gate, reply, text, toolUse } from '../../scripted-model/index.ts';
import { axeFindings, openStage, shoot, type Stage } from '../support/stage.ts';
import { until } from '../support/until.ts';

const older = { ms: 0 };

const look =
  (read: ReadRunning): ReadRunning =>
  async (...asked) => {
    const rows = [...(await read(...asked)).values()].map((row) => ({
      ...row,
      lastSign: row.lastSign - older.ms,
      doing: row.doing.map((step) => ({ ...step, since: step.since - older.ms })),
    }));
    return new Map(rows.map((row) => [row.session, row]));
  };

let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ look });
});
afterAll(() => stage.close());

test('a run that gives no sign for five minutes is found, says what it waits for, and is stopped; others at once (O3 O4 O8)', async () => {
  const { hold, release } = gate();
  const asking = await stage.play('Reconcile the ledger.', [reply('Nothing comes.', { hold })]);
  const command = () => [reply([text('It runs.'), toolUse('bash', { command: 'sleep 550', timeout: 600_000 })])];
  const running = [
    await stage.play('Migrate the first database.', command()),
    await stage.play('Migrate the second database.', command()),
  ];
  const { tab, problems, close } = await stage.visit('/');
  await tab.locator(`#row-${asking}`, { hasText: 'calls claude-' }).waitFor();
  for (const session of running) await tab.locator(`#row-${session}`, { hasText: 'bash sleep 550' }).waitFor();
  expect(await tab.locator('[data-tab=stuck] .count').innerText()).toBe('0');

  older.ms = 6 * 60_000;
  await tab.locator('[data-tab=stuck]', { hasText: 'Stuck 3' }).click();
  await until(async () => (await tab.locator('#rows tr').count()) === 3);
  for (const session of [asking, ...running]) {
    const row = tab.locator(`#row-${session}`);
    await row.getByTitle('silent', { exact: true }).waitFor();
    await row.locator('[data-label="Last activity"]', { hasText: /^\s*\d+ min\s*$/ }).waitFor();
  }
  await shoot(tab, 'stuck');
  expect(await axeFindings(tab)).toEqual([]);

  await tab.keyboard.press('/');
  await tab.keyboard.type('ledger idle>5m');
  await tab.keyboard.press('Enter');
  await tab.waitForURL(/ledger/);
  await until(async () => (await tab.locator('#rows tr').count()) === 1);
  await tab.getByRole('link', { name: 'Reconcile the ledger.' }).click();
  await tab.locator('#state-now', { hasText: /silent\s*· \d+ min/ }).waitFor();
  await tab.locator('#now', { hasText: /calls claude-\S+\s*since \d+ min ago\s*Last activity \d+ min ago/ }).waitFor();
  await shoot(tab, 'silent');
  expect(await axeFindings(tab)).toEqual([]);
  await tab.keyboard.press('i');
  await tab.locator('.ended', { hasText: 'interrupted' }).waitFor();
  await tab.locator('#state-now', { hasText: 'idle: interrupted' }).waitFor();
  await tab.locator('#now', { hasText: 'Last run: interrupted' }).waitFor();
  await tab.locator('#lately', { hasText: 'interrupted by you, on the page' }).waitFor();

  await tab.goto(new URL('/?tab=stuck', tab.url()).href);
  await until(async () => (await tab.locator('#rows tr').count()) === 2);
  await tab.locator('[data-tab=stuck]', { hasText: 'Stuck 2' }).waitFor();
  await tab.locator('#all').check();
  expect(await tab.locator('[data-all-matching]').isVisible()).toBe(false);
  await tab.locator('#bulk').getByRole('button', { name: 'Interrupt' }).click();
  await tab.locator('dialog.ask').getByRole('button', { name: 'Interrupt 2 sessions' }).click();
  await tab.getByText('Asked 2 sessions to interrupt.').waitFor();
  await until(async () => (await tab.locator('#rows tr').count()) === 0);
  await tab.goto(new URL('/', tab.url()).href);
  for (const session of running) {
    await tab.locator(`#row-${session}`, { hasText: 'interrupted' }).waitFor();
    expect(await stage.opened.sessions.result(session)).toMatchObject({ reason: 'aborted_tools' });
  }
  await shoot(tab, 'stopped');
  expect(problems).toEqual([]);
  release();
  await close();
});
