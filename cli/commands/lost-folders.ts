// perdure list --lost-folders: the folders that this machine was left with when their sessions
// moved to other hosts (T19). They stay where they are; a person looks at them, and has them
// forgotten.
import type { LostFolder } from '../../client/faces/types.ts';
import { oneLine } from '../../client/faces/start.ts';
import { formatTable } from '../../client/faces/lists.ts';
import { parseSessionId, formatMoment } from '../../client/faces/basics.ts';
import { listLostFolders, HostedSessions } from '../../client/faces/store-care.ts';
import { openDataFolder } from '../../connection/data-folder.ts';
import { jsonLine } from '../../system/text.ts';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { withServer } from '../with-server.ts';

const HEADINGS = ['SESSION', 'NOW ON', 'FOUND', 'DIFFERS', 'CAPTURED', 'FOLDER'] as const;
const LONGEST_NAME = 60;
const LONGEST_PATH = 300;

export async function printLostFolders(cli: Cli, { json = false }: { readonly json?: boolean }): Promise<number> {
  return withServer(cli, async ({ sessions, folder }) => {
    const found = await listLostFolders(folder.root, sessions);
    if (json) for (const each of found) cli.print(`${jsonLine(each)}\n`);
    else if (found.length > 0) cli.print(formatTable(cli.out, HEADINGS, found.map(cellsOf)));
    if (found.length === 0) cli.say('No session has left a folder on this machine.');
    else if (!json) cli.say(hintFor(cli, found));
    return STATUS.ok;
  });
}

/** It asks no server: a session may be gone from there. */
export function forgetLostFolders(cli: Cli, ids: readonly string[]): number {
  const hosted = new HostedSessions(openDataFolder(cli.env).root);
  const unknown = ids.map(parseSessionId).filter((session) => !hosted.forgetLost(session));
  for (const session of unknown)
    cli.say(`session ${session} has left no folder on this machine, or none that is listed`);
  return unknown.length === 0 ? STATUS.ok : STATUS.failed;
}

function cellsOf({ session, folders, at, host, isBack, changes, isStored }: LostFolder): readonly string[] {
  const differs = changes === null ? '—' : changes.files === 0 ? 'no' : `+${changes.insertions} −${changes.deletions}`;
  return [
    oneLine(session, LONGEST_NAME),
    isBack ? 'this host' : oneLine(host, LONGEST_NAME),
    formatMoment(at),
    differs,
    isStored === null ? '—' : isStored ? 'yes' : 'no',
    oneLine(folders.join(', '), LONGEST_PATH),
  ];
}

function hintFor({ self }: Cli, [{ session } = { session: 'ID' }]: readonly { readonly session: string }[]): string {
  return `\`${self} diff ${session} --lost\` compares it with the session's files; \`${self} list --lost-folders --forget ${session}\` drops it from this list`;
}
