// All sessions on the page, in a browser.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { readPageHost } from '../../page/hosting/page-host.ts';
import { pagePorts } from '../../page/ports.ts';
import { serveHostedPage } from '../../page/serve-page.ts';
import { findFreePort } from '../../worker/embedded/free-port.ts';
import { CERT, KEY } from '../support/tls-pair.ts';
import { axeFindings, openStage, shoot, type Stage } from '../support/stage.ts';
import { until } from '../support/until.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

test('a row changes in place as its session does, and the one that has the focus keeps it (O4 O11)', async () => {
  const { hold, release } = gate();
  const session = await stage.play('Count the lamps.', [reply('I count them.', { hold })]);
  await stage.play('Paint the fence.', [reply('Painted.')]);
  const { tab, problems, close } = await stage.visit('/');
  const row = tab.locator(`#row-${session}`);
  await row.getByTitle('running', { exact: true }).waitFor();
  await row.getByRole('link').focus();
  release();
  await row.getByText('completed').waitFor();
  expect(await tab.evaluate('document.activeElement.textContent')).toBe('Count the lamps.');
  const late = await stage.play('A new one.', [reply('New.')]);
  await tab.locator(`#row-${late}`).waitFor();
  expect(await tab.locator('#rows tr').first().getAttribute('id')).toBe(`row-${late}`);
  await tab.locator('#tabs', { hasText: 'Idle 3' }).waitFor();
  await shoot(tab, 'fleet');
  expect(await axeFindings(tab)).toEqual([]);
  expect(problems).toEqual([]);
  await close();
});

test('a page whose stream died in a sleep of the machine listens anew, and shows what it missed (O4)', async () => {
  const { tab, problems, close } = await stage.visit('/');
  await tab.clock.install();
  let streams = 0;
  // The first never answers, and no error tells of it.
  await tab.route(/\/live\?/, (route) => ((streams += 1) === 1 ? undefined : route.continue()));
  await tab.goto(stage.page.url);
  await until(() => streams === 1);
  const missed = await stage.play('Said in the night.', [reply('Good night.')]);
  await tab.clock.fastForward('45:00');
  await tab.locator(`#row-${missed}`).getByText('completed').waitFor();
  expect([streams, problems]).toEqual([2, []]);
  await close();
});

test('schedules stand with their next firing, change in place, and are deleted when that is confirmed (L87 O11)', async () => {
  const { schedules } = stage.opened.sessions;
  await schedules.create('0 6 1 1 *', 'Look for news.', { name: 'yearly', cwd: stage.cwd, overlap: 'allow-all' });
  await schedules.create('0 7 * * *', 'Sweep the yard.', { name: 'daily', cwd: stage.cwd, timeZone: 'Europe/Berlin' });
  const { tab, problems, close } = await stage.visit('/schedules');
  const row = tab.locator('#schedule-yearly');
  await row.getByText('active').waitFor();
  await row.getByRole('button', { name: 'Pause' }).click();
  await row.getByText('paused').waitFor();
  const ask = tab.locator('dialog.ask');
  await row.getByRole('button', { name: 'Run now' }).click();
  await ask.getByRole('button', { name: 'Run now' }).click();
  await tab.locator('#said', { hasText: 'Started session yearly-' }).waitFor();
  await row.getByRole('link').first().waitFor();
  await shoot(tab, 'schedules');
  expect(await axeFindings(tab)).toEqual([]);
  await row.getByRole('button', { name: 'Delete' }).click();
  await ask.getByText('Delete schedule yearly? Its sessions are kept.').waitFor();
  expect(await axeFindings(tab)).toEqual([]);
  await tab.keyboard.press('Escape');
  await ask.waitFor({ state: 'detached' });
  await row.getByRole('button', { name: 'Delete' }).click();
  await ask.getByRole('button', { name: 'Delete' }).click();
  await row.waitFor({ state: 'detached' });
  await schedules.delete('daily');
  expect(problems).toEqual([]);
  await close();
});

test('a schedule is made in its dialog, changed there and paused, and each stands in the list at once (L87 O8 O11)', async () => {
  const { schedules } = stage.opened.sessions;
  const { tab, problems, close } = await stage.visit('/schedules');
  await tab.getByRole('button', { name: 'New schedule' }).click();
  const made = tab.getByRole('dialog', { name: 'New schedule' });
  await made.getByLabel('Task').fill('Count the lamps.');
  await made.getByLabel('Schedule (cron)').fill('0 6 * *');
  await made.getByLabel('Name').fill('lamps');
  await made.getByLabel('Folder (on the worker)').fill(stage.cwd);
  await made.getByRole('button', { name: 'Create' }).click();
  await made.getByRole('alert').filter({ hasText: 'has 4 fields' }).waitFor();
  expect(await axeFindings(tab)).toEqual([]);
  await made.getByLabel('Schedule (cron)').fill('0 6 * * 1');
  await made.getByRole('button', { name: 'Create' }).click();
  const row = tab.locator('#schedule-lamps');
  await row.getByText('active').waitFor();
  await made.waitFor({ state: 'hidden' });

  await row.getByRole('button', { name: 'Edit' }).click();
  const change = tab.getByRole('dialog', { name: 'Change lamps' });
  expect(await change.getByLabel('Task').inputValue()).toBe('Count the lamps.');
  await change.getByLabel('Schedule (cron)').fill('30 7 * * *');
  await change.getByLabel('Time zone').fill('Europe/Berlin');
  await change.getByLabel('Turn limit').fill('9');
  await shoot(tab, 'change-schedule');
  expect(await axeFindings(tab)).toEqual([]);
  await change.getByRole('button', { name: 'Change' }).click();
  await row.getByText('30 7 * * *').waitFor();
  await row.getByText('Europe/Berlin').waitFor();
  await change.waitFor({ state: 'hidden' });
  expect(await schedules.settings('lamps')).toMatchObject({ task: 'Count the lamps.', options: { maxTurns: 9 } });

  await row.getByRole('button', { name: 'Pause' }).click();
  await row.getByText('paused').waitFor();
  expect(await schedules.describe('lamps')).toMatchObject({ paused: true, next: null });
  await row.getByRole('button', { name: 'Resume' }).click();
  await row.getByText('active').waitFor();
  await schedules.delete('lamps');
  expect(problems.filter((problem) => !problem.includes('status of 400'))).toEqual([]);
  await close();
});

test('with sixteen that wait the list begins on the first screen, and the title counts them (O4 O8)', async () => {
  const sessions: string[] = [];
  for (let at = 0; at < 16; at += 1)
    sessions.push(
      await stage.play(
        `Ask me first, ${at}.`,
        [reply([toolUse('write', { path: `made-${at}.txt`, content: 'one' })]), reply('Fine.')],
        { permissionMode: 'default' },
      ),
    );
  const { tab, problems, close } = await stage.visit('/');
  await tab.locator('#needs', { hasText: '16 need you' }).waitFor();
  await until(async () => (await tab.title()).startsWith('(16) Sessions'));
  expect(await tab.locator('.need').count()).toBe(3);
  expect((await tab.locator('#sessions').boundingBox())?.y).toBeLessThan(480);
  await shoot(tab, 'needs');
  for (const width of [1_920, 1_100, 390, 360]) {
    await tab.setViewportSize({ width, height: 900 });
    expect(await tab.evaluate('document.documentElement.scrollWidth'), String(width)).toBeLessThanOrEqual(width);
  }
  await tab.setViewportSize({ width: 1_440, height: 900 });
  expect(await axeFindings(tab)).toEqual([]);
  await tab.locator('.need').first().getByRole('button', { name: /^Deny/ }).click();
  await tab.locator('#needs', { hasText: '15 need you' }).waitFor();
  await tab
    .locator('.need')
    .first()
    .getByRole('button', { name: /^Allow/ })
    .click();
  await tab.locator('#needs', { hasText: '14 need you' }).waitFor();
  for (const session of sessions) await stage.opened.sessions.cancel(session);
  await tab.locator('#needs').waitFor({ state: 'hidden' });
  expect(problems).toEqual([]);
  await close();
});

test('a filter with a mistake leaves the page and says so below the field; one that fits none says what would (O3 O4)', async () => {
  const { tab, close } = await stage.visit('/?q=fase:running');
  await tab.locator('#filter-problem', { hasText: 'unknown field “fase”: did you mean phase?' }).waitFor();
  expect(await tab.locator('#search').inputValue()).toBe('fase:running');
  // Nothing of a list that nobody asked for is selected by mistake.
  expect(await tab.locator('.list-place').getAttribute('inert')).not.toBeNull();
  expect(await tab.locator('#rows tr').count()).toBeGreaterThan(0);
  await tab.goto(new URL('/?q=phase:closed+cost%3E1000', tab.url()).href);
  await tab.locator('#empty', { hasText: 'No sessions match this filter' }).waitFor();
  expect(await tab.locator('#all').isChecked()).toBe(false);
  await tab.locator('#empty a', { hasText: 'cost>1000' }).click();
  await until(async () => (await tab.locator('#rows tr').count()) > 0);
  await close();
});

test('columns, plots and views are kept in the browser, and headings sort (O4 O11)', async () => {
  const { tab, problems, close } = await stage.visit('/');
  await tab.locator('.column-cost a').click();
  await tab.locator('th.column-cost[aria-sort=descending]').waitFor();
  await tab.getByRole('button', { name: 'Save view' }).click();
  await tab.locator('dialog.ask').getByLabel('Name').fill('The dear ones');
  await tab.keyboard.press('Enter');
  await tab.locator('#views', { hasText: 'The dear ones' }).waitFor();
  await tab.locator('#columns summary').click();
  await tab.locator('#columns').getByLabel('Tokens').uncheck();
  await tab.locator('h1').click();
  await tab.keyboard.press('p');
  await tab.locator('#cards').waitFor({ state: 'hidden' });
  await tab.goto(new URL('/', tab.url()).href);
  await tab.locator('td.column-tokens').first().waitFor({ state: 'hidden' });
  await tab.locator('#cards').waitFor({ state: 'hidden' });
  await tab.locator('#views').getByText('The dear ones').click();
  await tab.locator('th.column-cost[aria-sort=descending]').waitFor();
  expect(problems).toEqual([]);
  await close();
});

test('a new task is started from any page with one key, and its session opens (O8 O11)', async () => {
  await stage.play('Begin here.', [reply('Begun.')]);
  const { tab, problems, close } = await stage.visit('/usage');
  await tab.getByRole('heading', { name: 'Usage' }).waitFor();
  expect(await axeFindings(tab)).toEqual([]);
  await tab.keyboard.press('n');
  await tab.locator('#task-form').waitFor();
  await shoot(tab, 'new-task');
  expect(await axeFindings(tab)).toEqual([]);
  await tab.getByLabel('Task', { exact: true }).fill('Look at the moon.');
  await tab.getByLabel('Tags (name=value)').fill('sky=night');
  await tab.getByRole('button', { name: 'Copy as command' }).click();
  await tab.locator('#task-said', { hasText: "--tag sky=night 'Look at the moon.'" }).waitFor();
  await tab.getByRole('button', { name: 'Start' }).click();
  await tab.getByRole('heading', { name: 'Look at the moon.' }).waitFor();
  await tab.goto(new URL('/workers', tab.url()).href);
  await tab.locator('#workforce', { hasText: 'any worker' }).waitFor();
  await shoot(tab, 'workers');
  expect(await axeFindings(tab)).toEqual([]);
  expect(problems).toEqual([]);
  await close();
});

test('a worker tells its version and its slots, and one that ends is gone from the page within seconds (O10)', async () => {
  const { tab, problems, close } = await stage.visit('/workers');
  await tab.locator('#workforce', { hasText: 'perdure-records · 0 of 100 in use' }).waitFor();
  expect(await tab.locator('#workforce tbody tr').first().innerText()).toContain('0.1.0');
  await stage.worker.stop();
  const ended = Date.now();
  await tab.locator('#workforce', { hasText: 'No workers are running' }).waitFor();
  // Without heartbeats the server names a poller for more than a minute after its end.
  expect(Date.now() - ended).toBeLessThan(60_000);
  stage.worker = await stage.work();
  await tab.locator('#workforce', { hasText: 'perdure-records · 0 of 100 in use' }).waitFor();
  expect(problems).toEqual([]);
  await close();
});

test('the filter is that of the command line, in its order, with turns and cost in each row (O3 O4)', async () => {
  const two = await stage.play('Two small steps.', [reply([toolUse('glob', { pattern: '*' })]), reply('Done.')]);
  const one = await stage.play('One small step.', [reply('Done.')]);
  await until(async () => (await stage.opened.sessions.result(one)) !== null);
  await until(async () => (await stage.opened.sessions.result(two)) !== null);
  const { tab, close } = await stage.visit(`/?q=${encodeURIComponent('small turns>1 sort:-turns')}`);
  await until(async () => (await tab.locator('#rows tr').count()) === 1);
  const row = tab.locator(`#row-${two}`);
  expect(await row.locator('[data-label=Turns]').textContent()).toBe('2');
  expect(await row.locator('[data-label=Cost]').textContent()).toMatch(/^\$\d|^cost unknown$/);
  await close();
});

test('many sessions are stopped at once, and the question names how many (O4)', async () => {
  const { hold, release } = gate();
  for (const task of ['Long one.', 'Long two.']) await stage.play(task, [reply('Going on', { hold })]);
  const { tab, close } = await stage.visit('/?q=phase:running');
  await until(async () => (await tab.locator('#rows tr').count()) === 2);
  await tab.locator('#all').check();
  await tab.getByRole('button', { name: 'Interrupt' }).click();
  const ask = tab.getByRole('dialog', { name: 'Interrupt 2 sessions?' });
  await shoot(tab, 'ask');
  await ask.getByRole('button', { name: 'Interrupt 2 sessions' }).click();
  await tab.getByText('Asked 2 sessions to interrupt.').waitFor();
  await until(async () => (await tab.locator('#rows tr').count()) === 0);
  release();
  await close();
});

test('the keyboard reaches everything, and `?` lists the keys (O11)', async () => {
  const { tab, close } = await stage.visit('/');
  await tab.keyboard.press('?');
  await tab.locator('#keys[open]').waitFor();
  await tab.keyboard.press('Escape');
  await tab.keyboard.press('/');
  expect(await tab.evaluate('document.activeElement.id')).toBe('search');
  await tab.keyboard.type('lamps');
  await tab.keyboard.press('Enter');
  await until(async () => (await tab.locator('#rows tr').count()) === 1);
  await tab.keyboard.press('j');
  await tab.keyboard.press('Enter');
  await tab.getByText('I count them.').waitFor();
  await tab.waitForLoadState();
  await tab.keyboard.press('g');
  await tab.keyboard.press('f');
  await tab.getByRole('heading', { name: 'Sessions' }).waitFor();
  await close();
});

test('people of a hosted page sign in over TLS, and what they do is shown in their name (O12)', async () => {
  const port = await findFreePort();
  const pageHost = `ops.localhost:${port}`;
  const people = [{ name: 'ana', role: 'steer', token: 'a'.repeat(40) }];
  const file = (name: string, text: string): string => {
    const path = join(stage.cwd, '..', name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const tls = { pageCert: file('cert.pem', CERT), pageKey: file('key.pem', KEY) };
  const pageTokens = file('people.json', JSON.stringify(people));
  const host = readPageHost({ pageHost, ...tls, pageTokens, pageListen: `127.0.0.1:${port}` });
  const page = await serveHostedPage(pagePorts(stage.opened, stage.env), host!);
  const { hold, release } = gate();
  const session = await stage.play('For ana.', [reply('Going on', { hold })]);
  const context = await stage.browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1_440, height: 900 } });
  const tab = await context.newPage();
  await tab.goto(`https://${pageHost}/sessions/${session}`);
  await tab.getByRole('heading', { name: 'Sign in' }).waitFor();
  await shoot(tab, 'sign-in');
  expect(await axeFindings(tab)).toEqual([]);
  await tab.getByLabel('Your token').fill('guess');
  await tab.getByRole('button', { name: 'Sign in' }).click();
  await tab.getByText('That token isn’t valid here.').waitFor();
  await tab.getByLabel('Your token').fill('a'.repeat(40));
  await tab.keyboard.press('Enter');
  await tab.getByRole('heading', { name: 'Sessions' }).waitFor();
  await tab.goto(`https://${pageHost}/sessions/${session}`);
  await tab.getByRole('button', { name: /^Interrupt/ }).click();
  await tab.locator('#lately', { hasText: 'interrupted by ana on the ops page' }).waitFor();
  release();
  await context.close();
  await page.close();
});
