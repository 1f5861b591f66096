// perdure export writes a session into a file, and perdure import takes it up on another machine,
// store or server (W4).
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import type { ImportedOptions } from '../../client/faces/types.ts';
import { formatCount, formatSize } from '../../client/faces/basics.ts';
import { STATUS, UsageError } from '../errors.ts';
import { withServer, withSession } from '../with-server.ts';

export function importCommand(program: Command, cli: Cli): void {
  program
    .command('import')
    .description('import an exported session, under its id')
    .argument('<file>', 'as `export` wrote it')
    .option('--cwd <dir>', 'the folder it works in from now on (default: the current one)')
    .option('--yes', 'also with a mode, rules, folders, variables or a system prompt that let the agent do more')
    .action(async (file: string, { cwd = '.', yes = false }: Flags) => {
      cli.exit(await importIt(cli, resolve(cli.cwd(), file), { cwd: resolve(cli.cwd(), cwd), yes }));
    });
}

type Flags = { readonly cwd?: string; readonly yes?: boolean };

/**
 * Says what the file brings, and asks for consent if that is more than a new session has. Throws
 * UsageError without consent.
 */
async function accept(cli: Cli, path: string, { lines, widens }: ImportedOptions, yes: boolean): Promise<void> {
  for (const line of lines) cli.say(`it brings ${line}`);
  if (!widens || yes) return;
  const left = new AbortController();
  const leave = (): void => left.abort();
  const input = cli.openInput?.({ submit: () => undefined, interrupt: leave, leave });
  if (!input) throw new UsageError(`${path} lets the agent do, or tells it, the above: pass --yes to import it`);
  try {
    const line = await input.ask('take it up so? [y]es, Enter: no ', left.signal);
    if (!/^y(?:es)?$/i.test(line?.trim() ?? '')) throw new UsageError(`${path} was not imported`);
  } finally {
    input.close();
  }
}

async function importIt(cli: Cli, path: string, { cwd, yes }: Required<Flags>): Promise<number> {
  const { importSession, openStore, unpackSnapshots } = await import('../../client/faces/store-care.ts');
  const { canUseAttributes } = await import('../../client/faces/checks.ts');
  return withServer(cli, async ({ temporal: { client, connection }, folder, target, embedded }) => {
    const { store, id } = openStore({ ...folder, dataDir: folder.root });
    const { session, again } = await importSession({
      temporal: client,
      store,
      storeId: await id(),
      path,
      cwd,
      accept: (brought) => accept(cli, path, brought, yes),
      snapshots: (own, carried, pack) =>
        unpackSnapshots({ dataDir: folder.root, env: cli.env, session: own }, carried, pack),
      profile: embedded ? 'machine' : 'fleet',
      sealed: target.keys !== undefined,
      visibility: await canUseAttributes(connection, client.options.namespace),
    });
    cli.print(`${session}\n`);
    const rest = again
      ? `it was imported from this file before, and is unchanged: \`${cli.self} show ${session}\``
      : `it waits for a message: ${cli.self} send ${session} "…"`;
    cli.say(rest);
    return STATUS.ok;
  });
}

export function exportCommand(program: Command, cli: Cli): void {
  program
    .command('export')
    .description('write a session into a file, which `import` takes elsewhere')
    .argument('<id>', 'the session; no run of it is under way')
    .argument('[file]', 'the file to make (default: ID.perdure)')
    .option('--no-snapshots', 'leaves out the snapshots of its files that are on this machine')
    .action(async (id: string, file: string | undefined, flags: ExportFlags) => {
      cli.exit(await exportIt(cli, id, file, flags));
    });
}

type ExportFlags = { readonly snapshots: boolean };

async function exportIt(cli: Cli, id: string, file: string | undefined, flags: ExportFlags): Promise<number> {
  const { exportSession, openStore, listSnapshotIds, packSnapshots } = await import('../../client/faces/store-care.ts');
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
