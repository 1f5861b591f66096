// What a browser test plays on: the product's own server, worker and page on a data folder of its
// own, a scripted model in which each session has a script of its own, and a browser. One for a
// file.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { prepareWorker } from '../../client/runtime/own-worker.ts';
import { openWholeServer, type OpenedServer } from '../../client/runtime/open-server.ts';
import { type PagePorts, pagePorts, type PortsOptions } from '../../page/ports.ts';
import { servePage, type ServedPage } from '../../page/serve-page.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import { TASK_QUEUE } from '../../workflows/contract/session.ts';
import { startScriptedModel, type ParsedRequest, type Reply, type ScriptedModel } from '../../scripted-model/index.ts';
import { toBlocks } from '../../scripted-model/read-request.ts';
import { startWorker, type RunningWorker } from '../../worker/start-worker.ts';
import { findChromium } from './programs.mjs';
import { fastBackoff } from './harness.ts';

export type Stage = {
  readonly opened: OpenedServer;
  readonly model: ScriptedModel;
  readonly page: ServedPage;
  readonly browser: Browser;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Starts a session whose requests are answered with these. */
  play(task: string, replies: readonly Reply[], options?: Partial<RunOptions>): Promise<string>;
  /**
   * A tab that has been let in, at this path; what goes wrong in its scripts fails the test that
   * closes it.
   */
  visit(path: string, options?: BrowserContextOptions): Promise<Visit>;
  worker: RunningWorker;
  /** Another worker. */
  work(): Promise<RunningWorker>;
  close(): Promise<void>;
};

export type Visit = { readonly tab: Page; readonly problems: readonly string[]; close(): Promise<void> };

type StageOptions = Pick<PortsOptions, 'look'> & {
  /** What is served beside the page, and who may sign in. */
  readonly beside?: (opened: OpenedServer, ports: PagePorts, folder: string) => Parameters<typeof servePage>[2];
};

export async function openStage({ look, beside }: StageOptions = {}): Promise<Stage> {
  const root = mkdtempSync(join(tmpdir(), 'perdure-stage-'));
  const cwd = join(root, 'workspace');
  mkdirSync(cwd);
  const scripts = new Map<string, Reply[]>();
  // The page shows thinking: the model shows it, though today's default model would not unless
  // asked.
  const model = await startScriptedModel({ script: (request) => answer(scripts, request), display: 'summarized' });
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    XDG_CACHE_HOME: process.env.XDG_CACHE_HOME,
    PERDURE_DATA: join(root, 'data'),
    ANTHROPIC_API_KEY: 'test',
    ANTHROPIC_BASE_URL: model.url,
  };
  const opened = await openWholeServer({ env, role: 'dev', worker: true, queues: [TASK_QUEUE] });
  const log = (): void => undefined;
  await prepareWorker({ log });
  const { storePlace, liveDir, root: dataDir } = opened.folder;
  const at = { ...opened.target, storePlace, liveDir, dataDir, env, log, taskQueue: TASK_QUEUE };
  const work = (): Promise<RunningWorker> => startWorker({ ...at, defaults: { backoff: fastBackoff } });
  const worker = await work();
  const ports = pagePorts(opened, env, { ...(look && { look }) });
  const page = await servePage(ports, undefined, beside?.(opened, ports, join(root, 'agents')));
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error('no chromium: apt-get install chromium');
  const browser = await chromium.launch({ executablePath, args: ['--headless', '--no-sandbox', '--disable-gpu'] });
  const stage: Stage = {
    opened,
    model,
    page,
    browser,
    cwd,
    env,
    worker,
    work,
    play: async (task, replies, options = {}) => {
      scripts.set(task, [...replies]);
      const { session } = await opened.sessions.start(task, { cwd, permissionMode: 'bypass', ...options });
      return session;
    },
    visit: (path, options) => visit(browser, page, path, options),
    close: async () => {
      await browser.close();
      await page.close();
      await stage.worker.stop();
      await opened.close();
      await model.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
  return stage;
}

/** By the session's first prompt. */
function answer(scripts: ReadonlyMap<string, Reply[]>, request: ParsedRequest): Reply | undefined {
  const [first] = request.messages;
  const prompt = toBlocks(first?.content ?? '').flatMap((block) => (block.type === 'text' ? [block.text] : []));
  const [text = ''] = prompt;
  // A question about a conversation has its words within.
  const task = text.startsWith('<conversation>') ? [...scripts.keys()].find((each) => text.includes(each)) : text;
  const replies = scripts.get(task ?? '');
  const [next] = replies ?? [];
  if (next?.times !== 'any') replies?.shift();
  return next;
}

async function visit(
  browser: Browser,
  page: ServedPage,
  path: string,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1_440, height: 900 }, ...options });
  // A wait that never comes true ends with the name of what it waited for, before the test's own timeout.
  context.setDefaultTimeout(180_000);
  const tab = await context.newPage();
  const problems: string[] = [];
  tab.on('pageerror', (error) => problems.push(error.message));
  tab.on('console', (line) => {
    if (line.type() === 'error') problems.push(line.text());
  });
  await enter(tab, page);
  await tab.goto(new URL(path, page.url).href);
  return { tab, problems, close: () => context.close() };
}

/** As a person does: by an address that was printed. */
export async function enter(tab: Page, { entrance }: Pick<ServedPage, 'entrance'>): Promise<void> {
  await tab.goto(entrance());
  await tab.getByRole('heading', { name: 'Sessions' }).waitFor();
}

/** Rules that the page breaks, of any severity, in light and in dark (O11). */
export async function axeFindings(tab: Page): Promise<readonly string[]> {
  const found: string[] = [];
  // The policy lets no script in but the page's own: the tool runs in a world beside it.
  const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  await tab.evaluate(source);
  for (const colorScheme of ['light', 'dark'] as const) {
    await tab.emulateMedia({ colorScheme });
    const violations = await tab.evaluate<Violation[]>('axe.run(document).then(({ violations }) => violations)');
    for (const { id, nodes } of violations)
      found.push(`${colorScheme}: ${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  }
  await tab.emulateMedia({ colorScheme: 'light' });
  return found;
}

type Violation = { readonly id: string; readonly nodes: readonly { readonly html: string }[] };

/**
 * Pictures for who looks at the page: wide and narrow, light and dark, in the folder that
 * PAGE_SHOTS names.
 */
export async function shoot(tab: Page, name: string): Promise<void> {
  const folder = process.env['PAGE_SHOTS'];
  if (!folder) return;
  for (const [width, colorScheme] of [
    [1_440, 'light'],
    [1_440, 'dark'],
    [390, 'light'],
    [390, 'dark'],
  ] as const) {
    await tab.setViewportSize({ width, height: 900 });
    await tab.emulateMedia({ colorScheme });
    await tab.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) });
  }
  await tab.setViewportSize({ width: 1_440, height: 900 });
  await tab.emulateMedia({ colorScheme: 'light' });
}

/**
 * Presses a key in the moment in which a decision with this text counts. What is drawn anew has to be
 * read anew, so that a press some milliseconds after it was readable may rightly do nothing. `letter`
 * is what the layout has in the key's place.
 */
export async function decideByKey(tab: Page, text: string, key: string, letter = key): Promise<void> {
  const press = `(({ text, key, letter }) => {
    const readable = [...document.querySelectorAll('#inbox-detail[data-readable], .decision[data-readable]')];
    if (!readable.some((decision) => decision.textContent.includes(text))) return false;
    const code = /^[0-9]$/.test(key) ? 'Digit' + key : 'Key' + key.toUpperCase();
    const shiftKey = /^[A-Z]$/.test(key);
    const init = { key: letter, code, shiftKey, bubbles: true, cancelable: true };
    // Where a person's key would go: a field that has the focus would get it.
    (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent('keydown', init));
    return true;
  })(${JSON.stringify({ text, key, letter })})`;
  await expect.poll(() => tab.evaluate(press), { timeout: 600_000 }).toBe(true);
}
