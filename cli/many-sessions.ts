// Does something to every session that a filter means, after a person has seen how many these are.
import type { Command } from 'commander';
import type { OpenedServer, SessionInfo } from '../client/faces/types.ts';
import { parseFilter } from '../client/faces/lists.ts';
import { formatCount } from '../client/faces/basics.ts';
import { oneLine } from '../client/faces/start.ts';
import { reasonOf } from '../system/text.ts';
import type { Cli } from './cli.ts';
import { STATUS, UsageError } from './errors.ts';
import { withServer } from './with-server.ts';

export type FilterFlags = { readonly filter?: string; readonly yes?: boolean };

export function addFilterOptions(command: Command): Command {
  return command
    .option('--filter <filter>', 'instead of an id: every open session that it means, as `perdure list` takes it')
    .option('--yes', 'with --filter: do not ask first')
    .usage('[options] <id>');
}

/** An action on one session, or on one call of it. */
type Deed = { readonly words: string; readonly act: () => Promise<unknown> };

export type Many = {
  /** For the question: "interrupt", "approve". */
  readonly verb: string;
  /** For what is counted: "session", "call". */
  readonly thing: string;
  /** For the end: "interrupted". */
  readonly done: string;
  /** Returns what there is to do in a session. */
  readonly deeds: (opened: OpenedServer, session: SessionInfo) => Promise<readonly Deed[]>;
};

const NAMED = 10;
const MOST = 10_000;

/** Throws UsageError for both an id and a filter, or neither. */
export function wantsMany(id: string | undefined, { filter, yes }: FilterFlags): string | null {
  if (id !== undefined && filter !== undefined) throw new UsageError('give either an id or --filter, not both');
  if (id === undefined && filter === undefined) throw new UsageError('name a session, or several with --filter');
  if (filter === undefined && yes === true) throw new UsageError('--yes needs --filter');
  // An empty filter means every session: an unset variable must not stop them all.
  if (filter?.trim() === '') throw new UsageError('--filter is empty: status:open means every open session');
  if (filter !== undefined) parseFilter(filter);
  return filter ?? null;
}

export async function actOnMatching(cli: Cli, { filter = '', yes = false }: FilterFlags, many: Many): Promise<number> {
  // Asked before anything is opened: a script could not answer.
  if (!yes && cli.openInput === null) throw new UsageError('confirmation needs a terminal: pass --yes to skip it');
  return withServer(cli, async (opened) => {
    const deeds: Deed[] = [];
    for await (const session of opened.sessions.list({ open: true, filter, running: true })) {
      deeds.push(...(await many.deeds(opened, session)));
      if (deeds.length > MOST) throw new UsageError(`more than ${MOST} ${many.thing}s: narrow the filter`);
    }
    if (deeds.length === 0) return (cli.say(`there is nothing to ${many.verb}`), STATUS.ok);
    for (const { words } of deeds.slice(0, NAMED)) cli.say(`  ${words}`);
    if (deeds.length > NAMED) cli.say(`  … and ${deeds.length - NAMED} more`);
    const count = formatCount(deeds.length, many.thing);
    if (!yes && !(await confirm(cli, `${many.verb} ${count}? [y]es, Enter: no `))) return STATUS.failed;
    let failed = 0;
    for (const { words, act } of deeds) {
      try {
        await act();
      } catch (error) {
        failed += 1;
        cli.say(`${words}: ${reasonOf(error)}`);
      }
    }
    cli.say(`${many.done}: ${formatCount(deeds.length - failed, many.thing)}${failed > 0 ? `, ${failed} failed` : ''}`);
    return failed > 0 ? STATUS.failed : STATUS.ok;
  });
}

async function confirm(cli: Cli, question: string): Promise<boolean> {
  const left = new AbortController();
  const leave = (): void => left.abort();
  const input = cli.openInput?.({ submit: () => undefined, interrupt: leave, leave });
  try {
    const line = (await input?.ask(question, left.signal)) ?? '';
    return ['y', 'yes'].includes(line.trim().toLowerCase());
  } finally {
    input?.close();
  }
}

export const sessionWords = ({ session, title }: SessionInfo): string => `${session}  ${oneLine(title, 80)}`;
