// What was pressed before a call could be read decides nothing, what may do harm needs a second key,
// and a decision can be taken back for some seconds, however and wherever it was made.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { axeFindings, decideByKey, openStage, shoot, type Stage } from '../support/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());
afterEach(async () => {
  for (const { session } of await stage.opened.sessions.approvals()) await stage.opened.sessions.cancel(session);
  await expect.poll(async () => (await stage.opened.sessions.approvals()).length, { timeout: 600_000 }).toBe(0);
});

const waiting = async (): Promise<number> => (await stage.opened.sessions.approvals()).length;

async function ask(task: string, command: string): Promise<string> {
  const before = await waiting();
  const script = [reply([toolUse('bash', { command })]), reply('Done.')];
  const session = await stage.play(task, script, { permissionMode: 'default' });
  await expect.poll(waiting, { timeout: 600_000 }).toBe(before + 1);
  return session;
}

const readable = (tab: Page, title: string) =>
  tab.locator('#inbox-detail[data-readable], .decision[data-readable]', { hasText: title }).waitFor();
const held = (tab: Page) => tab.locator('#held p');

test('a key that is pressed again at once allows the one call that was read, and none that came on screen just now (O8 L55)', async () => {
  for (const name of ['one', 'two', 'three']) await ask(`Make ${name}.`, `touch ${name}.txt`);
  const { tab, problems, close } = await stage.visit('/inbox');
  await tab.locator('#inbox-detail', { hasText: 'Make one.' }).waitFor();
  // A press in the very frame in which the next call comes on screen, as often as one does.
  await tab.evaluate(`const press = () => document.body.dispatchEvent(
    new KeyboardEvent('keydown', { key: 'a', code: 'KeyA', bubbles: true, cancelable: true }));
  const onScreen = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && press());
  const watch = () => onScreen.observe(document.getElementById('inbox-detail'));
  new MutationObserver(watch).observe(document.getElementById('inbox-pane'), { childList: true });`);
  await decideByKey(tab, 'Make one.', 'a');
  await tab.locator('#inbox-detail', { hasText: 'Make two.' }).waitFor();
  await tab.locator('#said', { hasText: 'Allowed.' }).waitFor();
  // Nothing else is about to be sent, or was.
  await expect.poll(() => tab.locator('a[data-item]').count(), { timeout: 600_000 }).toBe(2);
  expect([await held(tab).count(), await tab.locator('a[data-leaving]').count(), await waiting()]).toEqual([0, 0, 2]);
  const isMade = (name: string) => existsSync(join(stage.cwd, `${name}.txt`));
  await expect.poll(() => isMade('one'), { timeout: 600_000 }).toBe(true);
  expect([isMade('two'), isMade('three')]).toEqual([false, false]);
  expect(problems).toEqual([]);
  await close();
});

test('a call that may do harm is allowed by a second, different key alone (O8 L55)', async () => {
  const session = await ask('Clean up.', 'rm -rf build && touch cleaned.txt');
  const { tab, problems, close } = await stage.visit('/inbox');
  await readable(tab, 'Clean up.');
  const alert = tab.locator('.armed');
  for (const keys of ['aa', 'aj', 'ak']) {
    for (const key of keys) await tab.keyboard.press(key);
    expect(await held(tab).count()).toBe(0);
  }
  await decideByKey(tab, 'Clean up.', 'a');
  await alert.getByText('It removes files.').waitFor();
  await shoot(tab, 'inbox-second-key');
  expect(await axeFindings(tab)).toEqual([]);
  await tab.keyboard.press('Escape');
  expect(await alert.count()).toBe(0);
  // Whoever writes "always" meant something else, however fast the machine is.
  await tab.evaluate(`for (const [key, code] of [['a', 'KeyA'], ['y', 'KeyY'], ['y', 'KeyY']]) document.body.dispatchEvent(
    new KeyboardEvent('keydown', { key, code, bubbles: true, cancelable: true }))`);
  expect(await held(tab).count()).toBe(0);
  // The second key counts half a second after the question was asked, and a press at once asks for that again.
  await expect
    .poll(
      async () => {
        await tab.keyboard.press('a');
        await tab.waitForTimeout(600);
        await tab.keyboard.press('y');
        return held(tab).count();
      },
      { timeout: 600_000 },
    )
    .toBe(1);
  await held(tab).waitFor();
  await expect
    .poll(async () => (await stage.opened.sessions.result(session))?.text, { timeout: 600_000 })
    .toBe('Done.');
  expect(existsSync(join(stage.cwd, 'cleaned.txt'))).toBe(true);
  expect(problems).toEqual([]);
  await close();
});

test('a decision by key is taken back by a key, in the inbox and in a session, and nothing of it was sent (O8)', async () => {
  const session = await ask('Make it.', 'touch undone.txt');
  for (const place of ['/inbox', `/sessions/${session}`]) {
    const { tab, problems, close } = await stage.visit(place);
    const posts: string[] = [];
    tab.on('request', (request) => request.method() === 'POST' && posts.push(request.url()));
    await decideByKey(tab, 'undone.txt', 'a');
    await held(tab).waitFor();
    await shoot(tab, place === '/inbox' ? 'inbox-held' : 'session-held');
    await tab.keyboard.press('z');
    await held(tab).waitFor({ state: 'detached' });
    await readable(tab, 'undone.txt');
    expect([posts, await waiting(), existsSync(join(stage.cwd, 'undone.txt'))]).toEqual([[], 1, false]);
    expect(problems).toEqual([]);
    await close();
  }
});

test('a click at the foot of a session and above the list decides as in the inbox: once it was read, and to be taken back (O8)', async () => {
  const path = join(stage.cwd, 'clicked.txt');
  const script = [reply([toolUse('write', { path, content: 'one' })]), reply('Done.')];
  const session = await stage.play('Write it.', script, { permissionMode: 'default' });
  await expect.poll(waiting, { timeout: 600_000 }).toBe(1);
  for (const place of ['/', `/sessions/${session}`]) {
    const { tab, problems, close } = await stage.visit(place);
    const posts: string[] = [];
    tab.on('request', (request) => request.method() === 'POST' && posts.push(request.url()));
    const decision = tab.locator('.need, .decision', { hasText: 'clicked.txt' });
    await decision.waitFor();
    await expect.poll(() => tab.locator('.need, .decision').count(), { timeout: 600_000 }).toBe(1);
    // A press in the very frame in which a call comes on screen.
    await tab.evaluate(`const one = document.querySelector('.need, .decision');
      const drawn = one.cloneNode(true);
      delete drawn.dataset.readable;
      one.replaceWith(drawn);
      document.dispatchEvent(new CustomEvent('perdure:changed'));
      document.querySelector('form[data-decides$="/approve"] button').click();`);
    expect(await held(tab).count()).toBe(0);
    for (const name of [/^Deny/, /^Allow/]) {
      await decision.getByRole('button', { name }).click();
      await held(tab).getByText('clicked.txt').waitFor();
      await held(tab).getByRole('button', { name: 'Undo' }).click();
      await held(tab).waitFor({ state: 'detached' });
    }
    expect([posts, await waiting(), existsSync(path)]).toEqual([[], 1, false]);
    if (place !== '/') await decision.getByRole('button', { name: /^Allow/ }).click();
    if (place !== '/') await tab.getByText('Done.', { exact: true }).waitFor();
    expect(problems).toEqual([]);
    await close();
  }
  expect(existsSync(path)).toBe(true);
});

test('a call is allowed in its session however large its input is, and is not sent back unchanged (O8)', async () => {
  const input = (name: string) => ({ path: join(stage.cwd, name), content: 'ü'.repeat(100_000) });
  const script = [reply([toolUse('write', input('one.txt')), toolUse('write', input('two.txt'))]), reply('Done.')];
  const session = await stage.play('Write much.', script, { permissionMode: 'default' });
  await expect.poll(waiting, { timeout: 600_000 }).toBeGreaterThan(0);
  const { tab, problems, close } = await stage.visit(`/sessions/${session}`);
  const sizes: number[] = [];
  tab.on('request', (request) => request.method() === 'POST' && sizes.push(request.postData()?.length ?? 0));
  const decision = tab.locator('.decision[data-readable]');
  await decision.filter({ hasText: 'one.txt' }).waitFor();
  await decision.getByRole('button', { name: /^Allow/ }).click();
  await expect.poll(() => existsSync(input('one.txt').path), { timeout: 600_000 }).toBe(true);
  await decision.filter({ hasText: 'two.txt' }).waitFor();
  await decision.locator('summary', { hasText: 'Edit input' }).click();
  await decision.locator('textarea').fill(JSON.stringify(input('three.txt')));
  await decision.getByRole('button', { name: /^Allow/ }).click();
  await tab.getByText('Done.', { exact: true }).waitFor();
  expect(['two.txt', 'three.txt'].map((name) => existsSync(input(name).path))).toEqual([false, true]);
  expect(sizes.map((size) => size > 60_000)).toEqual([false, true]);
  expect(problems).toEqual([]);
  await close();
});

test('whoever leaves the page right after a decision has decided (O8)', async () => {
  const session = await ask('Make it, and go.', 'touch left.txt');
  const { tab, close } = await stage.visit('/inbox');
  await decideByKey(tab, 'Make it, and go.', 'a');
  await held(tab).waitFor();
  await tab.goto(new URL('/usage', tab.url()).href);
  await expect
    .poll(async () => (await stage.opened.sessions.result(session))?.text, { timeout: 600_000 })
    .toBe('Done.');
  await close();
});

test('keys are those of their place where the layout has no Latin letters (O8)', async () => {
  const session = await ask('Make it in Russian.', 'touch russian.txt');
  const { tab, problems, close } = await stage.visit('/inbox');
  // What Chromium reports of the key "a" on a Russian layout.
  await decideByKey(tab, 'Make it in Russian.', 'a', 'ф');
  await expect
    .poll(async () => (await stage.opened.sessions.result(session))?.text, { timeout: 600_000 })
    .toBe('Done.');
  await tab.keyboard.press('?');
  await tab.locator('#keys[open]').waitFor();
  expect(problems).toEqual([]);
  await close();
});
