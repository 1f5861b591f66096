// Opens the ops page at a session in the person's browser, and prints the address where there is
// none. Other users of the machine read what programs are started with, and the first who signs in
// is the owner: no command line may hold what lets anybody else in.
import { spawn } from 'node:child_process';
import { release } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openDataFolder, type Env } from '../connection/data-folder.ts';
import type { PageAddress } from '../page/page-address.ts';
import { replaceFile } from '../system/json.ts';
import { SetupProblem } from '../system/setup-problem.ts';
import type { SessionId } from '../client/faces/types.ts';
import type { Cli } from './cli.ts';

/**
 * Throws SetupProblem where no page is served. A printed address lets any one browser in, so it is
 * printed only to a person.
 */
export async function openPageAt(cli: Pick<Cli, 'env' | 'self' | 'print' | 'say'>, session: SessionId): Promise<void> {
  const { entranceOf, findServedPage: servedNow } = await import('../page/page-address.ts');
  const { root } = openDataFolder(cli.env);
  const page = await servedNow(root);
  if (page === null)
    throw new SetupProblem(
      `no page is served from the data folder ${root}: \`${cli.self} page\` or \`${cli.self} dev\` serves it`,
    );
  const printed = pageOf(entranceOf(page), session);
  const opener = browserOpener(cli.env, process.platform);
  // Through a forwarder nobody knows which user it is that comes.
  if (opener === null || page.forwarded !== undefined) return cli.print(`${printed}\n`);
  const argument = await browserArgument(root, page, session);
  if (!(await startsWell(opener, argument, cli.env))) return cli.print(`${printed}\n`);
  cli.say(`opened in the browser: session ${session}`);
}

/**
 * Returns what a browser is started with. Where the kernel tells who connects, it is an address
 * that works for this user alone. Elsewhere (macOS; WSL, where a browser of Windows comes through a
 * relay) it is a file that only this user reads, which leads on.
 */
export async function browserArgument(
  root: string,
  page: PageAddress,
  session: SessionId,
  isKnown = knowsBrowsers,
): Promise<string> {
  const { entranceOf } = await import('../page/page-address.ts');
  if (await isKnown()) return pageOf(entranceOf(page, 'opened'), session);
  const path = join(root, 'open.html');
  const address = pageOf(entranceOf(page), session);
  replaceFile(
    path,
    `<!doctype html><meta http-equiv="refresh" content="0; url=${address}"><title>Perdure</title>\n`,
    'not durable',
  );
  return pathToFileURL(path).href;
}

async function knowsBrowsers(): Promise<boolean> {
  const { knowsPeers } = await import('../page/hosting/peer-user.ts');
  return knowsPeers() && !release().toLowerCase().includes('microsoft');
}

/** An entrance lets a browser in at any place of the page. */
function pageOf(entrance: string, session: SessionId): string {
  const address = new URL(entrance);
  address.pathname = `/sessions/${encodeURIComponent(session)}`;
  return address.href;
}

/** Returns the program that opens an address; null where no screen is known. */
function browserOpener(env: Env, platform: NodeJS.Platform): string | null {
  if (env['BROWSER'] !== undefined) return env['BROWSER'] || null;
  // Over SSH a browser would open where the person does not sit.
  if (env['SSH_CONNECTION']) return null;
  if (platform === 'darwin') return 'open';
  return env['DISPLAY'] || env['WAYLAND_DISPLAY'] ? 'xdg-open' : null;
}

function startsWell(program: string, address: string, env: Env): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, [address], { env: { ...env }, stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
