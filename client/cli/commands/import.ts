// perdure import: takes up a session from a file that `perdure export` wrote (W4).
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { withServer } from '../with-server.ts';

export function importCommand(program: Command, cli: Cli): void {
  program
    .command('import')
    .description('take up an exported session here, under its id')
    .argument('<file>', 'as `export` wrote it')
    .option('--cwd <dir>', 'the folder it works in from now on (default: the current one)')
    .action(async (file: string, { cwd = '.' }: { readonly cwd?: string }) => {
      cli.exit(await importIt(cli, resolve(cli.cwd(), file), resolve(cli.cwd(), cwd)));
    });
}

async function importIt(cli: Cli, path: string, cwd: string): Promise<number> {
  const { importSession } = await import('../../store-care/import-session.ts');
  const { openStore } = await import('../../../activities/transcript/store/open-store.ts');
  const { attributesUsable } = await import('../../sessions/find/attributes.ts');
  return withServer(cli, async ({ temporal: { client, connection }, folder, target, embedded }) => {
    const { store, id } = openStore(folder.storePlace, folder.root);
    const { session, again } = await importSession({
      temporal: client,
      store,
      storeId: await id(),
      path,
      cwd,
      profile: embedded ? 'machine' : 'fleet',
      sealed: target.keys !== undefined,
      visibility: await attributesUsable(connection, client.options.namespace),
    });
    cli.print(`${session}\n`);
    const rest = again
      ? `it was taken from this file before, and goes on where it is: \`${cli.self} show ${session}\``
      : `it waits for a message: ${cli.self} send ${session} "…"`;
    cli.say(rest);
    return STATUS.ok;
  });
}
