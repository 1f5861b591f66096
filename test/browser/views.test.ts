// Each view of the page at three widths and in both schemes: nothing is wider than the screen, and
// axe finds nothing. Then what only a browser can tell of them: what moves, what a link opens.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { gate, reply, text, toolUse } from '../../scripted-model/index.ts';
import { axeFindings, openStage, shoot, type Stage } from '../support/stage.ts';
import { until } from '../support/until.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const AGENT = { description: 'Audit the orders', prompt: 'Audit the orders now.', type: 'general' };

/** A session with an agent, changed files, a failed call and Markdown. */
async function playVaried(task: string): Promise<string> {
  const session = await stage.play(task, [
    reply([text('I **split** this.'), toolUse('agent', AGENT)]),
    reply([
      toolUse('write', { path: 'app/a.py', content: 'def a():\n    return 1\n' }),
      toolUse('bash', { command: 'exit 3' }),
    ]),
    reply([toolUse('edit', { path: 'app/a.py', old_string: 'return 1', new_string: 'return 2' })]),
    reply('| file | state |\n|---|---|\n| `app/a.py` | done |\n\n```py\ndef a():\n    return 2\n```\n'),
  ]);
  await until(async () => (await stage.opened.sessions.result(session))?.run === 1);
  return session;
}

let varied: string;
beforeAll(async () => {
  await stage.play(AGENT.prompt, [reply('Three things to do.')]);
  varied = await playVaried('Review the shop.');
});

test('each view fits 360, 1,024 and 1,920 pixels, and axe finds nothing in it in either scheme (O11)', async () => {
  const waiting = await stage.play(
    'Ask me first.',
    [reply([text('May I?'), toolUse('write', { path: 'asked.txt', content: 'one\n' })]), reply('Fine.')],
    { permissionMode: 'default' },
  );
  await until(async () => (await stage.opened.sessions.approvals()).some(({ session }) => session === waiting));
  await stage.opened.sessions.schedules.create('0 6 * * *', 'Look for news.', { name: 'daily', cwd: stage.cwd });
  const views = {
    fleet: '/',
    inbox: '/inbox',
    schedules: '/schedules',
    workers: '/workers',
    usage: '/usage',
    compare: `/compare?a=${varied}&b=${waiting}`,
    session: `/sessions/${varied}`,
    waiting: `/sessions/${waiting}`,
    timeline: `/sessions/${varied}/timeline`,
    files: `/sessions/${varied}/files`,
    agents: `/sessions/${varied}/agents`,
    raw: `/sessions/${varied}/raw`,
  };
  const { tab, problems, close } = await stage.visit('/');
  const found: unknown[] = [];
  for (const [name, path] of Object.entries(views)) {
    await tab.goto(new URL(path, tab.url()).href);
    await tab.locator('#main').waitFor();
    await shoot(tab, `view-${name}`);
    for (const width of [360, 1_024, 1_920]) {
      await tab.setViewportSize({ width, height: 900 });
      const wide = await tab.evaluate<number>('document.documentElement.scrollWidth');
      found.push(
        ...[...(wide > width ? [`${wide} wide`] : []), ...(await axeFindings(tab))].map((one) => [name, width, one]),
      );
    }
    await tab.setViewportSize({ width: 1_440, height: 900 });
  }
  await tab.setViewportSize({ width: 390, height: 844 });
  await tab.goto(new URL('/usage', tab.url()).href);
  await tab.getByRole('link', { name: '30 d' }).waitFor();
  await tab.goto(new URL(views.timeline, tab.url()).href);
  expect((await tab.locator('.iteration .name').first().boundingBox())?.x).toBeLessThan(60);
  await tab.setViewportSize({ width: 1_100, height: 900 });
  await tab.goto(new URL('/', tab.url()).href);
  expect(await tab.locator('#tabs').evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  await tab.setViewportSize({ width: 1_440, height: 900 });
  expect(found).toEqual([]);
  expect(problems).toEqual([]);
  await close();
  await stage.opened.sessions.cancel(waiting);
  await stage.opened.sessions.schedules.delete('daily');
});

/** A layout shift of less is an age that grew by a digit; a line of text moves what follows further. */
const LETTER = 0.0005;

test('text that is written while one reads moves nothing on the screen (O5 O11)', async () => {
  const { hold, release } = gate();
  const long = Array.from({ length: 40 }, (_, at) => `Line ${at} of what is said, a little longer than the last one.`);
  const session = await stage.play('Write a lot.', [
    reply([text(long.join('\n')), toolUse('glob', { pattern: '*' })]),
    reply(long.join('\n\n'), { hold, holdAfterEvent: 6, deltaChars: 40 }),
  ]);
  const { tab, close } = await stage.visit(`/sessions/${session}`);
  await tab.locator('#live .said.agent').waitFor();
  await tab.evaluate(`globalThis.shifts = [];
    new PerformanceObserver((list) => {
      for (const { value, hadRecentInput, sources } of list.getEntries())
        if (!hadRecentInput && value > ${LETTER}) shifts.push([value, ...sources.map(({ node }) => node?.id || node?.className || node?.nodeName)]);
    }).observe({ type: 'layout-shift' });
    scrollTo({ top: 200 })`);
  release();
  await tab.locator('.ended.good').waitFor({ state: 'attached' });
  await until(async () => (await tab.locator('#live li').count()) === 0);
  expect(await tab.evaluate('globalThis.shifts')).toEqual([]);
  await close();
});

test('ages that stand next to each other agree: all of them change at one tick (O11)', async () => {
  const { tab, problems, close } = await stage.visit('/usage');
  await tab.clock.install();
  await tab.goto(new URL(`/sessions/${varied}`, tab.url()).href);
  await tab.locator('.ended').waitFor();
  await tab.clock.setSystemTime(Date.now() + 90_000);
  await tab.evaluate(`
    const drawn = document.querySelector('time[data-at]');
    const later = drawn.cloneNode(true);
    later.textContent = 'just drawn';
    drawn.after(later);
    globalThis.both = () => [drawn, later].map(({ textContent }) => textContent);
    document.dispatchEvent(new Event('perdure:drawn'))`);
  const [old, drawn] = await tab.evaluate<readonly string[]>('both()');
  expect(drawn).toBe(old);
  await tab.clock.runFor(1_000);
  const after = await tab.evaluate<readonly string[]>('both()');
  expect(after[0]).not.toBe(old);
  expect(after[1]).toBe(after[0]);
  expect(problems).toEqual([]);
  await close();
});

test('a short session has ticks at round moments that differ, and a phone begins with its sessions (O4 O6)', async () => {
  const { tab, problems, close } = await stage.visit(`/sessions/${varied}/timeline`);
  const ticks = tab.locator('#waterfall .map-axis time');
  await ticks.first().waitFor();
  const words = await ticks.allTextContents();
  expect(new Set(words).size).toBe(words.length);
  const moments = await ticks.evaluateAll((times) =>
    times.map((time) => Date.parse(time.getAttribute('datetime') ?? '')),
  );
  const [first = 0, second = 0] = moments;
  expect(second).toBeGreaterThan(first);
  expect(moments.map((moment) => moment % (second - first))).toEqual(moments.map(() => 0));

  await tab.setViewportSize({ width: 390, height: 844 });
  await tab.goto(new URL('/', tab.url()).href);
  // A row that is being drawn anew has no box.
  const top = await until(async () => (await tab.locator('#rows tr').first().boundingBox())?.y);
  expect(top).toBeLessThan(480);
  await tab.getByRole('button', { name: 'More' }).click();
  for (const name of ['Stuck', 'Failed']) await tab.locator('#more').getByRole('link', { name }).waitFor();
  expect(problems).toEqual([]);
  await close();
});

test('the minimap stays in view, leads to a moment, and a drag zooms it until z shows all (O5 O11)', async () => {
  const { tab, problems, close } = await stage.visit(`/sessions/${varied}`);
  const map = tab.locator('#map');
  await tab.locator('.lane.root rect.tools').first().waitFor();
  await tab.locator('.ended').scrollIntoViewIfNeeded();
  expect((await map.boundingBox())?.y).toBeGreaterThan(0);
  const strip = (await tab.locator('.lane.root svg').boundingBox())!;
  const at = async (share: number, from = strip.x): Promise<void> =>
    tab.mouse.move(from + share * strip.width, strip.y + strip.height / 2);
  const shown = (): Promise<string | null> => tab.locator('.lane.root svg').getAttribute('viewBox');
  await at(0.4);
  await tab.mouse.down();
  await at(0.6);
  expect(await tab.locator('.zoom-band').count()).toBe(1);
  await tab.mouse.up();
  expect(await shown()).toMatch(/^39\d|^40\d/);
  // The strips of agents show the same stretch.
  expect(await tab.locator('.lane svg').last().getAttribute('viewBox')).toMatch(/^39\d|^40\d/);
  await tab.locator('main').press('z');
  expect(await shown()).toBe('0 0 1000 16');
  await tab.mouse.click(strip.x + 2, strip.y + strip.height / 2);
  await until(async () => ((await tab.locator('article').first().boundingBox())?.y ?? -1) >= 0);
  expect(problems).toEqual([]);
  await close();
});

test('keys lead from turn to turn, fold what is open, and turn to the timeline and back (O11)', async () => {
  const { tab, problems, close } = await stage.visit(`/sessions/${varied}`);
  const focused = (): Promise<string> => tab.evaluate('document.activeElement.textContent');
  await tab.locator('.ended').waitFor();
  const main = tab.locator('body');
  await tab.locator('article .head a').last().focus();
  await main.press('[');
  await until(async () => (await focused()) === '#3');
  await main.press('[');
  await main.press(']');
  await until(async () => (await focused()) === '#3');
  const open = tab.locator('.transcript details[open]');
  const before = await open.count();
  expect(before).toBeGreaterThan(0);
  await main.press('z');
  expect(await open.count()).toBe(0);
  await main.press('z');
  expect(await open.count()).toBe(before);
  await main.press('t');
  await tab.waitForURL('**/timeline');
  await tab.locator('.iteration .name').first().waitFor();
  await tab.locator('body').press(']');
  await until(async () => (await focused()).startsWith('#'));
  const strip = (await tab.locator('.iteration svg.strip').first().boundingBox())!;
  await tab.mouse.move(strip.x + 0.5 * strip.width, strip.y + 5);
  await tab.mouse.down();
  await tab.mouse.move(strip.x + 0.75 * strip.width, strip.y + 5);
  await tab.mouse.up();
  await tab.locator('#waterfall.zoomed').waitFor();
  expect(await tab.locator('.iteration svg.strip').first().getAttribute('viewBox')).toMatch(/^(49|50)\d.* 0 (24|25)/);
  await tab.locator('.summary').getByRole('button', { name: 'all' }).click();
  expect(await tab.locator('.zoomed').count()).toBe(0);
  await tab.locator('body').press('t');
  await tab.locator('#items').waitFor();
  expect(problems).toEqual([]);
  await close();
});

test('a change is read side by side where there is room, and the choice is kept (O11)', async () => {
  const { tab, close } = await stage.visit(`/sessions/${varied}/files`);
  const sides = tab.locator('.sides').last();
  expect(await sides.isVisible()).toBe(false);
  await tab.getByRole('button', { name: 'Side by side' }).click();
  expect(await sides.locator('code').allTextContents()).toEqual(['return 1', 'return 2']);
  expect(await tab.locator('.edit .diff pre').last().isVisible()).toBe(false);
  await tab.reload();
  await sides.waitFor();
  await tab.setViewportSize({ width: 1_200, height: 900 });
  expect([await sides.isVisible(), await tab.locator('.edit .diff pre').last().isVisible()]).toEqual([false, true]);
  await close();
});

test('sessions that are selected stand next to each other, with what differs (O4)', async () => {
  const other = await playVaried('Review the other shop.');
  const { tab, problems, close } = await stage.visit('/');
  for (const session of [varied, other]) await tab.locator(`#row-${session} input`).check();
  await tab.getByRole('button', { name: 'Compare' }).click();
  await tab.waitForURL('**/compare?a=*');
  await tab.locator('.compare-heads').first().waitFor();
  expect(await tab.locator('.compare-heads').first().locator('section').count()).toBe(2);
  await tab.getByRole('heading', { name: 'Options that differ' }).waitFor();
  await tab.getByRole('heading', { name: 'Same replies throughout' }).waitFor();
  expect(await tab.getByRole('link', { name: 'app/a.py' }).count()).toBe(2);
  expect(problems).toEqual([]);
  await close();
});

test('a shared link shows one session as it goes on, lets nothing be done, and ends (O12)', async () => {
  const { hold, release } = gate();
  const session = await stage.play('Share this.', [
    reply('It goes on, and ends.', { hold, holdAfterEvent: 4, deltaChars: 8 }),
  ]);
  const { tab, close } = await stage.visit(`/sessions/${session}`);
  await tab.getByRole('button', { name: 'Share' }).click();
  await tab.getByRole('button', { name: 'Create link' }).click();
  const link = await tab.getByRole('textbox', { name: 'The link' }).inputValue();
  const stranger = await stage.browser.newContext();
  stranger.setDefaultTimeout(0);
  const theirs = await stranger.newPage();
  await theirs.goto(link);
  await theirs.getByText('It goes').waitFor();
  await theirs.evaluate('globalThis.mark = "kept"');
  expect(await theirs.locator('main form, main button, a[href^="/sessions"], #approvals').count()).toBe(0);
  release();
  await theirs.locator('.ended.good').waitFor();
  await theirs.locator('.state-chip', { hasText: 'idle' }).waitFor();
  expect(await theirs.evaluate('globalThis.mark')).toBe('kept');
  expect(await axeFindings(theirs)).toEqual([]);
  const statusOf = (path: string): Promise<number> =>
    theirs.evaluate(`fetch(${JSON.stringify(path)}).then(({ status }) => status)`);
  for (const path of [`/sessions/${session}`, `/sessions/${session}/live`, '/'])
    expect([path, await statusOf(path)]).toEqual([path, 401]);
  expect(await statusOf(`${new URL(link).pathname.slice(0, -2)}xx`)).toBe(403);
  await stranger.close();
  await close();
});

test('a session goes back to before a prompt when a person has seen what that does, and comes back by Undo (O8)', async () => {
  const session = await stage.play('First things first.', [reply('One thing.'), reply('Another thing.')]);
  await until(async () => (await stage.opened.sessions.result(session))?.run === 1);
  await stage.opened.sessions.send(session, 'And then?');
  await until(async () => (await stage.opened.sessions.result(session))?.run === 2);
  const { tab, problems, close } = await stage.visit(`/sessions/${session}`);
  const prompt = tab.locator('.item.user', { hasText: 'And then?' });
  await prompt.hover();
  await prompt.getByRole('button', { name: 'Rewind to here' }).click();
  const dialog = tab.locator('#rewind');
  await dialog.getByText('before “And then?”: 1 turn left behind').waitFor();
  await shoot(tab, 'rewind');
  expect(await axeFindings(tab)).toEqual([]);
  await dialog.getByText('Conversation', { exact: true }).click();
  await dialog.locator('input[value=conversation]:checked').waitFor();
  await dialog.getByRole('button', { name: 'Go back' }).click();
  await tab.locator('#said', { hasText: 'Went back: the conversation.' }).waitFor();
  await tab.getByText('Another thing.').waitFor({ state: 'detached' });
  await tab.locator('#said').getByRole('button', { name: 'Undo' }).click();
  await tab.getByText('Another thing.').waitFor();
  expect(problems).toEqual([]);
  await close();
});

test('files and comparisons are those of what counts: after a rewind, and on a fork in a folder of its own (T6 T10 O4)', async () => {
  const cwd = join(stage.cwd, 'cart');
  mkdirSync(cwd);
  const cart = join(cwd, 'cart.ts');
  const { sessions } = stage.opened;
  const origin = await stage.play(
    'Make a cart.',
    [
      reply([toolUse('write', { path: cart, content: 'let one;\n' })]),
      reply('Made.'),
      reply([
        toolUse('edit', { path: cart, old_string: 'one', new_string: 'two' }),
        toolUse('bash', { command: 'echo "let list;" > list.ts' }),
      ]),
      reply('Listed.'),
      reply([toolUse('write', { path: 'sqlite.ts', content: 'let rows;\n' })]),
      reply('Stored.'),
    ],
    { cwd },
  );
  const ended = (session: string, run: number) => until(async () => (await sessions.result(session))?.run === run);
  await ended(origin, 1);
  await sessions.send(origin, 'Add a list.');
  await ended(origin, 2);
  const { session: fork, cwd: itsFolder } = await sessions.fork(origin, { at: '2.1', prompt: 'Use SQLite.' });
  // The run in which it was forked has ended at that point, as its second.
  await ended(fork, 3);
  const { tab, problems, close } = await stage.visit(`/sessions/${fork}/files`);
  const changed = (): Promise<string[]> => tab.locator('.file-list a[href*="?file="] code').allTextContents();
  const list = tab.locator('.file-list a[href$="?file=list.ts"]');
  const ofFork = ['cart.ts', 'sqlite.ts'];
  expect(await changed()).toEqual(ofFork);
  await tab.getByText('On disk: unchanged since.').waitFor();
  await tab.goto(new URL(`/compare?a=${origin}&b=${fork}`, tab.url()).href);
  await tab.getByRole('heading', { name: 'First difference: reply 3' }).waitFor();
  await tab.getByRole('cell', { name: itsFolder, exact: true }).waitFor();
  const filesOf = (name: string): Promise<string[]> =>
    tab
      .getByRole('region', { name: `Files of ${name}` })
      .getByRole('link')
      .allTextContents();
  expect([await filesOf('A'), await filesOf('B')]).toEqual([['cart.ts', 'list.ts'], ofFork]);
  await tab.goto(new URL(`/sessions/${origin}/files`, tab.url()).href);
  await tab.getByText('On disk: the changed lines are still there.').waitFor();
  expect(await changed()).toEqual(['cart.ts', 'list.ts']);
  // A command has changed it, which the snapshots alone tell.
  await list.click();
  await tab
    .locator('[aria-current]')
    .filter({ hasText: /list\.ts.*edit, bash.*new/s })
    .waitFor();
  expect(await tab.getByLabel('Changes in all').textContent()).toContain('+ let list;');
  await sessions.rewind(origin);
  await list.waitFor({ state: 'detached' });
  await tab.getByText('On disk: unchanged since.').waitFor();
  expect(await changed()).toEqual(['cart.ts']);
  await tab.goto(new URL(`/compare?a=${origin}&b=${fork}`, tab.url()).href);
  await tab.getByRole('region', { name: 'Reply 3 of A' }).getByText('Already ended').waitFor();
  expect([await filesOf('A'), await filesOf('B')]).toEqual([['cart.ts'], ofFork]);
  await sessions.undoRewind(origin);
  await tab.goto(new URL(`/sessions/${origin}/files`, tab.url()).href);
  await list.waitFor();
  expect(problems).toEqual([]);
  await close();
});
