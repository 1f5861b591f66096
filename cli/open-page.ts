// Opens the ops page at a session in the person's browser, and prints the address where there is
// none.
import { spawn } from 'node:child_process';
import { openDataFolder, type Env } from '../connection/data-folder.ts';
import { SetupProblem } from '../system/setup-problem.ts';
import type { SessionId } from '../workflows/contract/ids.ts';
import type { Cli } from './cli.ts';

/**
 * Throws SetupProblem where no page is served. The address lets one browser in once, so it is
 * printed only to a person.
 */
export async function openPageAt(cli: Pick<Cli, 'env' | 'self' | 'print' | 'say'>, session: SessionId): Promise<void> {
  const { entranceNow } = await import('../page/page-address.ts');
  const { root } = openDataFolder(cli.env);
  const entrance = await entranceNow(root);
  if (entrance === null)
    throw new SetupProblem(
      `no page is served from the data folder ${root}: \`${cli.self} page\` or \`${cli.self} dev\` serves it`,
    );
  const address = pageOf(entrance, session);
  const opener = browserOpener(cli.env, process.platform);
  if (opener === null || !(await startsWell(opener, address, cli.env))) return cli.print(`${address}\n`);
  cli.say(`opened in the browser: session ${session}`);
}

/** An entrance lets a browser in at any place of the page. */
export function pageOf(entrance: string, session: SessionId): string {
  const address = new URL(entrance);
  address.pathname = `/sessions/${encodeURIComponent(session)}`;
  return address.href;
}

/** Returns the program that opens an address; null where no screen is known. */
export function browserOpener(env: Env, platform: NodeJS.Platform): string | null {
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
