// The inbox in a browser, on live runs: what is shown of each call, and that one key decides about
// the chosen one.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { reply, text, toolUse, type Reply } from '../../scripted-model/index.ts';
import { axeFindings, decideByKey, openStage, shoot, type Stage } from '../support/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());
afterEach(() => cancelAll());

const SOURCE = [
  'from lib.util import load',
  '',
  '',
  'def charge(card, amount):',
  '    for n in range(3):',
  '        try:',
  '            return gateway.charge(card, amount)',
  '        except Timeout:',
  '            time.sleep(1)',
  '    raise Failed()',
  '',
  '',
  'def refund(charge_id):',
  '    return gateway.refund(charge_id)',
  '',
].join('\n');
const OLD = SOURCE.split('\n').slice(4, 10).join('\n');
const NEW = '    return with_retry(lambda: gateway.charge(card, amount), tries=5)';

const payments = { path: 'app/payments.py', old_string: OLD, new_string: NEW };

function folder(name: string): string {
  const cwd = join(stage.cwd, name);
  mkdirSync(join(cwd, 'app'), { recursive: true });
  writeFileSync(join(cwd, 'app', 'payments.py'), SOURCE);
  return cwd;
}

/** Starts a session that asks in this folder, and waits until its call waits. */
async function ask(
  task: string,
  cwd: string,
  blocks: Parameters<typeof reply>[0],
  rest: readonly Reply[] = [reply('Done.')],
) {
  const session = await stage.play(task, [reply(blocks), ...rest], { cwd, permissionMode: 'default' });
  await expect.poll(async () => (await stage.opened.sessions.approvals(session)).length, { timeout: 600_000 }).toBe(1);
  return session;
}

const detail = (tab: Page, title: string) => tab.locator('#inbox-detail', { hasText: title });

async function expectEnd(session: string, said: string): Promise<void> {
  await expect.poll(async () => (await stage.opened.sessions.result(session))?.text, { timeout: 600_000 }).toBe(said);
}

/** Ends what a test leaves waiting. */
async function cancelAll(): Promise<void> {
  for (const { session } of await stage.opened.sessions.approvals()) await stage.opened.sessions.cancel(session);
  await expect.poll(async () => (await stage.opened.sessions.approvals()).length, { timeout: 600_000 }).toBe(0);
}

test('a call is decided with one key, the next one has the focus, and no key types anything (O8)', async () => {
  const cwd = folder('keys');
  const first = await ask('Move the retries.', cwd, [
    text('Two places loop. Now the edit.'),
    toolUse('edit', payments),
  ]);
  const second = await ask('Clean up.', cwd, [
    toolUse('bash', { command: 'rm -rf build', description: 'Old artefacts' }),
  ]);
  await ask('Choose a region.', cwd, [toolUse('ask_user', { question: 'Which region?', options: ['eu', 'us'] })]);
  const { tab, problems, close } = await stage.visit('/inbox');
  await detail(tab, 'Move the retries.').waitFor();
  expect(await tab.locator('.inbox-said').innerText()).toContain('Two places loop. Now the edit.');
  expect(await tab.locator('.lines .del').count()).toBe(6);
  expect(await tab.locator('.lines .add code').innerText()).toBe(NEW);
  expect(await tab.locator('.lines .del i').first().innerText()).toBe('5');
  await shoot(tab, 'inbox-edit');
  expect(await axeFindings(tab)).toEqual([]);
  await tab.keyboard.press('g');
  await tab.keyboard.press('z');
  await tab.keyboard.press('j');
  await detail(tab, 'Clean up.').waitFor();
  expect(await tab.locator('.view-command mark').innerText()).toBe('rm -rf');
  expect(await tab.locator('.view-command').innerText()).toContain(cwd);
  await shoot(tab, 'inbox-command');
  await tab.keyboard.press('k');
  await detail(tab, 'Move the retries.').waitFor();
  await decideByKey(tab, 'Move the retries.', 'a');
  await detail(tab, 'Clean up.').waitFor();
  expect(await tab.locator('*:focus').getAttribute('data-session')).toBe(second);
  await tab.locator('#said', { hasText: 'Allowed.' }).waitFor();
  await expectEnd(first, 'Done.');
  expect(readFileSync(join(cwd, 'app', 'payments.py'), 'utf8')).toContain(NEW);
  await decideByKey(tab, 'Clean up.', 'd');
  await detail(tab, 'Which region?').waitFor();
  await shoot(tab, 'inbox-question');
  await decideByKey(tab, 'Which region?', '2');
  await tab.getByRole('heading', { name: 'Nothing needs you' }).waitFor();
  await tab.locator('#inbox-title:focus').waitFor();
  await shoot(tab, 'inbox-empty');
  expect(await axeFindings(tab)).toEqual([]);
  expect(problems).toEqual([]);
  await close();
});

test('calls that are alike are allowed together, in all their sessions (O8)', async () => {
  const names = ['docs', 'web', 'api', 'infra'];
  const sessions: string[] = [];
  for (const name of names) sessions.push(await ask(`Retries of ${name}.`, folder(name), [toolUse('edit', payments)]));
  const { tab, problems, close } = await stage.visit('/inbox');
  await tab.getByText('4 alike').first().waitFor();
  await tab.locator('.inbox-alike', { hasText: '3 more like this' }).waitFor();
  await shoot(tab, 'inbox-alike');
  // One alone first: what is next to it may still list it as alike.
  await decideByKey(tab, '3 more like this', 'a');
  await detail(tab, 'Retries of web.').waitFor();
  await decideByKey(tab, 'Retries of web.', 'A');
  await tab.getByRole('heading', { name: 'Nothing needs you' }).waitFor();
  await tab.locator('#said', { hasText: 'Allowed 3 calls.' }).waitFor();
  for (const session of sessions) await expectEnd(session, 'Done.');
  for (const name of names) expect(readFileSync(join(stage.cwd, name, 'app', 'payments.py'), 'utf8')).toContain(NEW);
  expect(problems).toEqual([]);
  await close();
});

test('answers of two decisions stand together, whichever comes first; a call that is alike is counted (O8)', async () => {
  const first = await ask('Retries of one.', folder('one'), [toolUse('edit', payments)]);
  const second = await ask('Retries of two.', folder('two'), [toolUse('edit', payments)]);
  const { tab, problems, close } = await stage.visit('/inbox');
  await detail(tab, '1 more like this').waitFor();
  const third = await ask('Retries of three.', folder('three'), [toolUse('edit', payments)]);
  await detail(tab, '2 more like this').waitFor();
  let answer = () => {};
  const later = new Promise<void>((resolve) => (answer = resolve));
  await tab.route(`**/sessions/${first}/approve`, async (route) => {
    await later;
    await route.continue();
  });
  await decideByKey(tab, 'Retries of one.', 'a');
  await detail(tab, 'Retries of two.').waitFor();
  await decideByKey(tab, 'Retries of two.', 'A');
  await tab.locator('#said', { hasText: 'Allowed 2 calls.' }).waitFor();
  answer();
  await tab.locator('#said', { hasText: /Allowed 2 calls\.\s*Allowed\./ }).waitFor();
  await tab.getByRole('heading', { name: 'Nothing needs you' }).waitFor();
  expect(await tab.locator('#said').innerText()).not.toContain('elsewhere');
  for (const session of [first, second, third]) await expectEnd(session, 'Done.');
  expect(problems).toEqual([]);
  await close();
});

test('what comes while the scripts of the page load is drawn when they have loaded (O8)', async () => {
  const { tab, problems, close } = await stage.visit('/');
  let load = () => {};
  const loading = new Promise<void>((resolve) => (load = resolve));
  await tab.route('**/static/inbox.js', async (route) => {
    await loading;
    await route.continue();
  });
  await tab.goto(new URL('/inbox', tab.url()).href, { waitUntil: 'commit' });
  await tab.getByRole('heading', { name: 'Nothing needs you' }).waitFor();
  await ask('Come early.', folder('early'), [toolUse('edit', payments)]);
  const other = await tab.context().newPage();
  await other.goto(tab.url());
  await detail(other, 'Come early.').waitFor();
  await other.close();
  load();
  await detail(tab, 'Come early.').waitFor();
  expect(problems).toEqual([]);
  await close();
});

test('an "always" holds in the run under way, says what it covers, and can be taken back (L55 O8)', async () => {
  const cwd = folder('always');
  const call = (nth: number) => reply([toolUse('bash', { command: `touch made-${nth}` })]);
  const session = await ask(
    'Make files.',
    cwd,
    [toolUse('bash', { command: 'touch made-1' })],
    [call(2), reply([toolUse('bash', { command: 'mkdir made-3' })]), call(4), reply('Made.')],
  );
  const { tab, problems, close } = await stage.visit('/inbox');
  await detail(tab, 'Make files.').waitFor();
  await decideByKey(tab, 'Make files.', 'w');
  const dialog = tab.locator('#always');
  await dialog.getByText('bash(touch made-1:*)').waitFor();
  expect(await dialog.locator('.always-rule code').allInnerTexts()).toEqual([
    'bash(touch made-1)',
    'bash(touch made-1:*)',
    'bash',
  ]);
  await tab.keyboard.press('3');
  expect(await dialog.locator('[role=status]').innerText()).toBe('Covers 1 of 1 waiting now.');
  await shoot(tab, 'inbox-always');
  expect(await axeFindings(tab)).toEqual([]);
  await tab.keyboard.press('Enter');
  await tab.locator('#said', { hasText: 'bash is allowed in this run from here on' }).waitFor();
  await tab.getByRole('heading', { name: 'Nothing needs you' }).waitFor();
  await expectEnd(session, 'Made.');
  const other = await ask(
    'Ask again.',
    cwd,
    [toolUse('bash', { command: 'touch asked' })],
    [reply([toolUse('bash', { command: 'touch asked-again' })]), reply('Asked.')],
  );
  await detail(tab, 'Ask again.').waitFor();
  await stage.opened.sessions.changeRules(other, { allow: ['bash'] });
  await stage.opened.sessions.changeRules(other, { drop: ['bash'] });
  await decideByKey(tab, 'Ask again.', 'a');
  await decideByKey(tab, 'asked-again', 'a');
  await expectEnd(other, 'Asked.');
  expect(problems).toEqual([]);
  await close();
});

test('an edit that cannot apply is answered to the model, and nobody is asked about it (L33 L55)', async () => {
  const cwd = folder('futile');
  const wrong = { ...payments, old_string: 'def pay(' };
  const session = await stage.play(
    'Edit what is not there.',
    [reply([toolUse('edit', wrong)]), reply([toolUse('edit', payments)]), reply('Done.')],
    { cwd, permissionMode: 'default' },
  );
  const { tab, close } = await stage.visit('/inbox');
  await detail(tab, 'Edit what is not there.').waitFor();
  const waiting = await stage.opened.sessions.approvals(session);
  expect(waiting.map(({ call, input }) => [call, input])).toEqual([['1.2.0', payments]]);
  writeFileSync(join(cwd, 'app', 'payments.py'), 'changed\n');
  await tab.reload();
  await tab.locator('.view-note.bad', { hasText: 'Won’t apply: the text to replace is not in the file' }).waitFor();
  await shoot(tab, 'inbox-would-not-apply');
  await close();
});

test('on a telephone the card has three buttons of 44 pixels, and what is decided makes room (O11)', async () => {
  const cwd = folder('phone');
  await ask('A narrow one.', cwd, [toolUse('edit', payments)]);
  await ask('Another one.', cwd, [toolUse('write', { path: 'app/export.py', content: 'def export():\n    pass\n' })]);
  const { tab, problems, close } = await stage.visit('/inbox', { viewport: { width: 390, height: 844 } });
  await detail(tab, 'A narrow one.').waitFor();
  const buttons = tab.locator('#inbox-detail .bar button:visible');
  expect(await buttons.allInnerTexts()).toEqual(['Allow', 'Always…', 'Deny']);
  for (const box of await Promise.all((await buttons.all()).map((button) => button.boundingBox())))
    expect(box?.height).toBeGreaterThanOrEqual(44);
  expect(await tab.locator('html').evaluate((page) => page.scrollWidth)).toBeLessThanOrEqual(390);
  // Another call can be read, and a reason given, without deciding the first.
  expect(await tab.getByLabel('Reason for the model, optional').isVisible()).toBe(true);
  await tab.locator('#inbox-place', { hasText: '1 of 2' }).waitFor();
  await tab.getByRole('button', { name: 'Next call' }).click();
  await detail(tab, 'Another one.').waitFor();
  await tab.locator('#inbox-place', { hasText: '2 of 2' }).waitFor();
  await tab.getByRole('button', { name: 'List' }).click();
  await shoot(tab, 'inbox-phone-list');
  await tab.setViewportSize({ width: 390, height: 844 });
  await tab.locator('a[data-item]', { hasText: 'A narrow one.' }).click();
  await detail(tab, 'A narrow one.').waitFor();
  expect(await axeFindings(tab)).toEqual([]);
  await buttons.first().click();
  await detail(tab, 'Another one.').waitFor();
  expect(await tab.locator('.view-file figcaption').innerText()).toContain('new, 2 lines');
  expect(problems).toEqual([]);
  await close();
});
