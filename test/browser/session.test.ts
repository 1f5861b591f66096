// One session on the page, in a browser, as it goes: what is seen, what is done, and what happens
// when something is down.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openAddress } from '../../page/page-address.ts';
import { pagePorts } from '../../page/ports.ts';
import { servePage } from '../../page/serve-page.ts';
import { fault, gate, reply, text, thinking, toolUse } from '../../scripted-model/index.ts';
import { axeFindings, enter, openStage, shoot, type Stage } from '../support/stage.ts';
import { until } from '../support/until.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

test('text is on the screen as it is said, calls as they run, and nothing of it twice (O5)', async () => {
  const { hold, release } = gate();
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
    reply('This is said slowly, and goes on for a while.', { hold, holdAfterEvent: 4, deltaChars: 20 }),
  ]);
  const { tab, problems, close } = await stage.visit(`/sessions/${session}`);
  await tab.getByText('This is said slowly').waitFor();
  expect(await tab.locator('#live .said.agent').textContent()).not.toContain('a while');
  release();
  await tab.locator('.ended.good').waitFor();
  expect(await tab.getByText('This is said slowly, and goes on for a while.').count()).toBe(1);
  await until(async () => (await tab.locator('#live li').count()) === 0);
  for (const one of await tab.locator('.call, .thinking').all())
    if ((await one.getAttribute('open')) === null) await one.locator('> summary').click();
  await tab.getByText('- First line.').waitFor();
  await shoot(tab, 'session');
  expect(await axeFindings(tab)).toEqual([]);
  expect(problems).toEqual([]);
  await close();
});

test('what a died attempt said is struck and folded, and said why; the next attempt stands (O5)', async () => {
  const { hold, release } = gate();
  const session = await stage.play('Stumble.', [
    fault({ cutAfterEvent: 5 }, 'These words never counted, for the line was cut.', {
      deltaChars: 12,
      hold,
      holdAfterEvent: 5,
    }),
    reply('These do.'),
  ]);
  const { tab, close } = await stage.visit(`/sessions/${session}`);
  await tab.getByText('These words').waitFor();
  release();
  await tab.getByText('These do.').waitFor();
  const taken = tab.locator('.void');
  expect(await taken.locator('summary').textContent()).toContain('Taken back, attempt 1');
  await taken.locator('summary').click();
  await shoot(tab, 'void');
  await close();
});

test('the prompt, the 429 and the wait of a run that is parked are there before anything is stored (O5)', async () => {
  const session = await stage.play('Wait for me.', [
    fault({ status: 429, retryAfter: 3_600, message: 'slow down' }),
    reply('At last.'),
  ]);
  const { tab, close } = await stage.visit(`/sessions/${session}`);
  await tab.locator('#state-now', { hasText: 'resumes' }).waitFor();
  await tab.locator('.said.user', { hasText: 'Wait for me.' }).first().waitFor();
  await tab.getByText('slow down').first().waitFor();
  expect(await tab.getByText('Nothing is stored yet.').isVisible()).toBe(false);
  await shoot(tab, 'parked');
  await tab.getByRole('button', { name: 'Resume' }).click();
  await tab.getByText('At last.').waitFor();
  await close();
});

test('a call that waits is decided on the page, with its input edited; a broken edit is refused before it is sent (O8)', async () => {
  const session = await stage.play(
    'Write it down.',
    [reply([text('May I?'), toolUse('write', { path: 'asked.txt', content: 'one' })]), reply('Written.')],
    { permissionMode: 'default' },
  );
  const { tab, problems, close } = await stage.visit(`/sessions/${session}`);
  const form = tab.locator('.decision');
  await form.waitFor();
  await shoot(tab, 'approval');
  expect(await axeFindings(tab)).toEqual([]);
  await tab.locator('main').press('e');
  await form.locator('textarea').fill('{"path": ');
  await form.getByRole('button', { name: 'Allow' }).click();
  await tab.getByText('The input isn’t valid JSON').waitFor();
  await form.locator('textarea').fill('{"path": "asked.txt", "content": "two"}');
  await form.getByRole('button', { name: 'Allow as changed' }).click();
  await tab.getByText('Written.').waitFor();
  await until(async () => (await form.count()) === 0);
  await tab.getByText('allowed it with another input').waitFor();
  // The browser itself notes the answer to the broken edit.
  expect(problems.filter((problem) => !problem.includes('400'))).toEqual([]);
  await close();
});

test('who decides second is told who was first; limits are raised and options set for the next run (O8)', async () => {
  const session = await stage.play(
    'Ask, then go on.',
    [reply([toolUse('bash', { command: 'touch first.txt' })]), reply('Went on.'), reply('Again.')],
    { permissionMode: 'default', maxTurns: 5 },
  );
  const [one, other] = [await stage.visit(`/sessions/${session}`), await stage.visit(`/sessions/${session}`)];
  await one.tab.getByRole('tab', { name: 'Limits' }).click();
  await one.tab.locator('input[name=maxTurns]').fill('9');
  await one.tab.getByRole('button', { name: 'Set limits' }).click();
  await other.tab.getByText('limits set to 9 turns').waitFor();
  await other.tab.locator('#figures', { hasText: 'of 9' }).waitFor();
  await one.tab.locator('#limits-now', { hasText: 'Now: 9 turns' }).waitFor();
  await one.tab.locator('select[name=permissionMode]').selectOption('plan');
  await one.tab.getByRole('button', { name: 'Save', exact: true }).click();
  await one.tab.getByRole('tab', { name: 'Now' }).click();
  await one.tab.getByText('For the next run: permissionMode plan').waitFor();
  await shoot(one.tab, 'steer');
  expect(await axeFindings(one.tab)).toEqual([]);
  // The second decides before it hears of the first.
  const late = other.tab.locator('.decision').getByRole('button', { name: 'Allow' });
  await late.waitFor();
  await other.tab.evaluate('dispatchEvent(new Event("pagehide"))');
  await one.tab.locator('.decision').getByRole('button', { name: 'Allow' }).click();
  await one.tab.getByText('Went on.').waitFor();
  await late.click();
  await other.tab.getByText('another was first: call 1.1.0 allowed by').waitFor();
  await stage.opened.sessions.send(session, 'Once more.');
  await one.tab.getByText('Again.').waitFor();
  await until(async () => (await one.tab.locator('#lately > p').count()) === 0);
  await one.close();
  await other.close();
});

test('a message that is sent waits on the screen until the session takes it, for every viewer (O8)', async () => {
  const { hold, release } = gate();
  const session = await stage.play('Begin.', [
    reply('Working on it now.', { hold, holdAfterEvent: 4, deltaChars: 12 }),
    reply('Done both.'),
  ]);
  const [one, other] = [await stage.visit(`/sessions/${session}`), await stage.visit(`/sessions/${session}`)];
  await one.tab.getByText('Working on i').waitFor();
  await one.tab.locator('#message').fill('And this too.');
  await one.tab.getByRole('button', { name: 'Send', exact: true }).click();
  await one.tab.locator('.pending', { hasText: 'And this too.' }).waitFor();
  await other.tab.locator('.pending', { hasText: 'And this too.' }).waitFor();
  release();
  await one.tab.getByText('Done both.').waitFor();
  await other.tab.getByText('Done both.').waitFor();
  await until(async () => (await one.tab.locator('.pending').count()) === 0);
  await one.close();
  await other.close();
});

test('a viewer whose stream was cut catches up by itself, without a reload and without a gap (O10)', async () => {
  const session = await stage.play('Say one.', [reply('First answer.'), reply('Second answer.')]);
  const { tab, close } = await stage.visit(`/sessions/${session}`);
  await tab.locator('.ended').waitFor();
  await tab.evaluate('globalThis.mark = "kept"');
  await tab.context().setOffline(true);
  await stage.opened.sessions.send(session, 'Say two.');
  await until(async () => (await stage.opened.sessions.result(session))?.run === 2);
  await tab.context().setOffline(false);
  await tab.getByText('Second answer.').waitFor();
  expect([await tab.evaluate('globalThis.mark'), await tab.getByText('First answer.').count()]).toEqual(['kept', 1]);
  await close();
});

test('a page whose process ends and comes back goes on in the same tab, without a reload and without a gap (O10)', async () => {
  const session = await stage.play('Say this.', [reply('Before the end.'), reply('While it was away.')]);
  const address = openAddress(join(stage.cwd, '..'));
  const ports = pagePorts(stage.opened, stage.env);
  const first = await servePage(ports, address);
  const { tab, close } = await stage.visit(`/sessions/${session}`);
  await enter(tab, first);
  await tab.goto(new URL(`/sessions/${session}`, first.url).href);
  await tab.getByText('Before the end.').waitFor();
  await tab.evaluate('globalThis.mark = "kept"');
  await first.close();
  const banner = tab.getByText(/The page’s server isn’t responding\. Last updated \d\d:\d\d:\d\d/);
  await banner.waitFor();
  expect(await banner.count()).toBe(1);
  await stage.opened.sessions.send(session, 'And this.');
  await until(async () => (await stage.opened.sessions.result(session))?.run === 2);
  const second = await servePage(ports, openAddress(join(stage.cwd, '..')));
  await tab.getByText('While it was away.').waitFor();
  expect([await tab.evaluate('globalThis.mark'), await tab.getByText('Before the end.').count()]).toEqual(['kept', 1]);
  await tab.locator('#page-away').waitFor({ state: 'detached' });
  await close();
  await second.close();
});

test('a timeline tells what each iteration took, who worked on it and what it waited for, and leads to the transcript (O6 O7)', async () => {
  const session = await stage.play(
    'Take your time.',
    [
      reply([text('First.'), toolUse('bash', { command: 'touch taken.txt' })]),
      fault({ status: 429, retryAfter: 3_600, message: 'slow down' }),
      reply([toolUse('glob', { pattern: '*' })]),
      reply('All done.'),
    ],
    { permissionMode: 'default' },
  );
  const { tab, problems, close } = await stage.visit(`/sessions/${session}/timeline`);
  await tab.locator('.decision').getByRole('button', { name: 'Allow' }).click();
  await tab.locator('#state-now.park').waitFor();
  await tab.locator('#t-1-2').waitFor();
  await tab.getByRole('button', { name: 'Resume' }).click();
  await tab.locator('.iteration .badge', { hasText: 'completed' }).waitFor();
  const kinds = async (row: string): Promise<readonly string[]> => {
    // Long waits have a bar of their own below.
    const each = `[...document.querySelector('${row} svg:has(rect)').querySelectorAll('rect')].map((one) => one.getAttribute('class'))`;
    // A loaded machine lets steps wait for a moment.
    const worked = (await tab.evaluate<string[]>(each)).filter((kind) => kind !== 'gap' && kind !== 'queue');
    return worked.filter((kind, at) => kind !== worked[at - 1]);
  };
  expect(await kinds('#t-1-1')).toEqual(['model', 'tools', 'waiting', 'tools']);
  expect(await kinds('#t-1-2')).toEqual(['model', 'parked', 'model', 'tools']);
  expect(await tab.locator('#t-1-1 .worker').textContent()).toContain(String(process.pid));
  expect(await tab.locator('.plot').count()).toBe(4);
  await shoot(tab, 'timeline');
  expect(await axeFindings(tab)).toEqual([]);
  await tab.locator('#t-1-2 .name').click();
  await tab.locator('article:target').waitFor();
  expect(problems).toEqual([]);
  await close();
});
