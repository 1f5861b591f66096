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
  await row.getByText('running').waitFor();
  await row.getByRole('link').focus();
  release();
  await row.getByText('completed').waitFor();
  expect(await tab.evaluate('document.activeElement.textContent')).toBe('Count the lamps.');
  const late = await stage.play('A new one.', [reply('New.')]);
  await tab.locator(`#row-${late}`).waitFor();
  expect(await tab.locator('#rows tr').first().getAttribute('id')).toBe(`row-${late}`);
  await tab.locator('#phases', { hasText: 'idle 3' }).waitFor();
  await shoot(tab, 'fleet');
  expect(await axeFindings(tab)).toEqual([]);
  expect(problems).toEqual([]);
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
  tab.on('dialog', (dialog) => void dialog.accept());
  await row.getByRole('button', { name: 'Fire now' }).click();
  await tab.locator('#said', { hasText: 'It has fired: session yearly-' }).waitFor();
  await row.getByRole('link').first().waitFor();
  await shoot(tab, 'schedules');
  expect(await axeFindings(tab)).toEqual([]);
  await row.getByRole('button', { name: 'Delete' }).click();
  await row.waitFor({ state: 'detached' });
  await schedules.delete('daily');
  expect(problems).toEqual([]);
  await close();
});

test('what waits for a person is on top of all sessions, and decided there (O4 O8)', async () => {
  const session = await stage.play(
    'Ask me first.',
    [reply([toolUse('bash', { command: 'touch made.txt' })]), reply('Fine, I did not.')],
    { permissionMode: 'default' },
  );
  const { tab, close } = await stage.visit('/');
  const form = tab.locator('#inbox .approval');
  await form.getByText('touch made.txt').waitFor();
  await shoot(tab, 'inbox');
  await form.locator('input[name=reason]').fill('not today');
  await form.getByRole('button', { name: 'Deny' }).click();
  await tab.getByText('Nothing waits for a decision').waitFor();
  await until(async () => (await stage.opened.sessions.result(session))?.text === 'Fine, I did not.');
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
  // On a telephone what is known of a session stands below its task, and not below the box that
  // picks it.
  await tab.setViewportSize({ width: 390, height: 900 });
  const leftOf = async (cell: string): Promise<number> => (await row.locator(cell).boundingBox())?.x ?? 0;
  for (const label of ['Phase', 'Runs', 'Turns', 'Cost', 'Last', 'Begun'])
    expect(await leftOf(`[data-label=${label}]`), label).toBeGreaterThanOrEqual(await leftOf('.task'));
  await close();
});

test('many sessions are stopped at once, and the question names how many (O4)', async () => {
  const { hold, release } = gate();
  for (const task of ['Long one.', 'Long two.']) await stage.play(task, [reply('Going on', { hold })]);
  const { tab, close } = await stage.visit('/?q=phase:running');
  await until(async () => (await tab.locator('#rows tr').count()) === 2);
  await tab.locator('#all').check();
  const asked: string[] = [];
  tab.on('dialog', (dialog) => {
    asked.push(dialog.message());
    void dialog.accept();
  });
  await tab.getByRole('button', { name: 'Interrupt' }).click();
  await tab.getByText('Asked 2 sessions to interrupt.').waitFor();
  expect(asked).toEqual(['Interrupt 2 sessions?']);
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
  await tab.getByText('nobody here has that token').waitFor();
  await tab.getByLabel('Your token').fill('a'.repeat(40));
  await tab.keyboard.press('Enter');
  await tab.getByRole('heading', { name: 'Sessions' }).waitFor();
  await tab.goto(`https://${pageHost}/sessions/${session}`);
  await tab.getByRole('button', { name: 'Interrupt', exact: true }).click();
  await tab.locator('#lately', { hasText: 'interrupted by ana on the ops page' }).waitFor();
  release();
  await context.close();
  await page.close();
});
