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
    .option('--no-snapshots', 'leaves out the snapshots of its files that are on this machine')
    .action(async (id: string, file: string | undefined, flags: Flags) => {
      cli.exit(await exportIt(cli, id, file, flags));
    });
}

type Flags = { readonly snapshots: boolean };

async function exportIt(cli: Cli, id: string, file: string | undefined, flags: Flags): Promise<number> {
  const { exportSession } = await import('../../client/store-care/export-session.ts');
  const { openStore } = await import('../../store/values/open-store.ts');
  const { listSnapshotIds, packSnapshots } = await import('../../client/store-care/carry-snapshots.ts');
  return withSession(cli, id, async ({ temporal, folder, sessions }, session) => {
    const path = resolve(cli.cwd(), file ?? `${session}.perdure`);
    const { care } = openStore({ ...folder, dataDir: folder.root });
    const where = { dataDir: folder.root, env: cli.env, session };
    const snapshots = async () => packSnapshots(where, await listSnapshotIds(sessions.transcript(session)));
    const { values, bytes } = await exportSession({
      temporal: temporal.client,
      sessions,
      care,
      session,
      path,
      snapshots: flags.snapshots ? snapshots : undefined,
    });
    cli.print(`${path}\n`);
    cli.say(
      `${formatCount(values, 'value')}, ${formatSize(bytes)}; it is not encrypted. Of its folder it has the snapshots alone`,
    );
    return STATUS.ok;
  });
}
