// perdure export: writes a session into a file, which `perdure import` takes on another machine,
// store or server (W4).
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { formatCount, formatSize } from '../../client/units.ts';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { withSession } from '../with-server.ts';

export function exportCommand(program: Command, cli: Cli): void {
  program
    .command('export')
    .description('write a session into a file, which `import` takes elsewhere')
    .argument('<id>', 'the session; no run of it is under way')
    .argument('[file]', 'the file to make (default: ID.perdure)')
    .action(async (id: string, file?: string) => {
      cli.exit(await exportIt(cli, id, file));
    });
}

async function exportIt(cli: Cli, id: string, file: string | undefined): Promise<number> {
  const { exportSession } = await import('../../client/store-care/export-session.ts');
  const { openStore } = await import('../../store/values/open-store.ts');
  return withSession(cli, id, async ({ temporal, folder, sessions }, session) => {
    const path = resolve(cli.cwd(), file ?? `${session}.perdure`);
    const { care } = openStore({ ...folder, dataDir: folder.root });
    const { values, bytes } = await exportSession({ temporal: temporal.client, sessions, care, session, path });
    cli.print(`${path}\n`);
    cli.say(
      `${formatCount(values, 'value')}, ${formatSize(bytes)}; it is not encrypted. Files of its folder are not in it`,
    );
    return STATUS.ok;
  });
}
