// perdure show: prints a session's transcript, its runs and their results, and whether all of it is
// sound. Needs no worker.
import type { Command } from 'commander';
import type { OpenedServer, BackgroundCommand, SessionReading, SessionId } from '../../client/faces/types.ts';
import { jsonLine, showUnseen } from '../../system/text.ts';
import type { Cli } from '../cli.ts';
import { STATUS, UsageError } from '../errors.ts';
import { withSession } from '../with-server.ts';

type Flags = {
  readonly json?: boolean;
  readonly full?: boolean;
  readonly all?: boolean;
  readonly timeline?: boolean;
};

export function showCommand(program: Command, cli: Cli): void {
  program
    .command('show')
    .description('print a session: its transcript, transitions, runs and results')
    .argument('<id>', 'the session')
    .option('--full', 'print every text as it is stored, including what was compacted or sent as a preview')
    .option('--all', 'print what rewinds have left behind as well, each stretch before its rewind')
    .option('--timeline', 'instead: a bar for each iteration, what it spent its time with, and who worked on it')
    .option('--json', 'print one JSON object per entry, the session first')
    .action(async (id: string, flags: Flags) => {
      cli.exit(await show(cli, id, flags));
    });
}

async function show(cli: Cli, id: string, flags: Flags): Promise<number> {
  const { json = false, full = false, all = false, timeline = false } = flags;
  if (timeline && (json || full || all)) throw new UsageError('--timeline takes none of --json, --full and --all');
  return withSession(cli, id, async (opened, session) => {
    const { readSession } = await import('../../client/faces/history.ts');
    const reading = await readSession(opened, session);
    const content = { reading, full, left: all ? await readLeft(opened, session) : new Map() };
    const pieces = timeline
      ? timelinePieces(cli, opened, reading)
      : json
        ? jsonPieces(opened, content)
        : textPieces(cli, opened, content);
    for await (const piece of pieces) {
      if (cli.unread.aborted) return STATUS.unread;
      cli.print(piece);
    }
    for (const { problem } of reading.problems) cli.say(`damaged: ${problem}`);
    return reading.problems.length > 0 ? STATUS.failed : STATUS.ok;
  });
}

type Shown = { readonly reading: SessionReading; readonly full: boolean; readonly left: Left };
type Left = Awaited<ReturnType<typeof readLeft>>;

async function readLeft(opened: OpenedServer, session: SessionId) {
  const { readLeftBehind } = await import('../../client/faces/history.ts');
  return readLeftBehind(opened, session);
}

async function* jsonPieces({ store }: OpenedServer, { reading, full, left }: Shown): AsyncIterable<string> {
  const { readWholeResult: wholeResult, sessionJson } = await import('../../client/faces/history.ts');
  for await (const line of sessionJson(reading, full ? wholeResult(store) : null, left)) yield `${jsonLine(line)}\n`;
}

async function* textPieces(
  { out, isTerminal }: Cli,
  opened: OpenedServer,
  { reading, full, left }: Shown,
): AsyncIterable<string> {
  const { store, folder } = opened;
  const { backgroundText, transcriptHeading, transcriptText } = await import('../render/transcript.ts');
  const inBackground = backgroundText(out, await commandsOf(folder, reading));
  if (!full) {
    const { readOpenAgents } = await import('../../client/faces/history.ts');
    return yield `${transcriptText(out, reading, { agents: await readOpenAgents(opened, reading), left })}${inBackground}`;
  }
  const { fullTranscript, readWholeResult: wholeResult } = await import('../../client/faces/history.ts');
  yield `${transcriptHeading(out, reading)}\n`;
  const exact = isTerminal ? showUnseen : (text: string): string => text;
  yield* fullTranscript({ paint: out, reading, whole: wholeResult(store), exact, left });
  yield inBackground;
}

/** Reads the session's background commands (L84). */
async function commandsOf(
  { root }: OpenedServer['folder'],
  { description, entries, first }: SessionReading,
): Promise<readonly BackgroundCommand[]> {
  const [{ backgroundCommands, backgroundReader, findBackgroundCommands }, { transcriptItems }, { backgroundRoot }] =
    await Promise.all([
      import('../../client/faces/history.ts'),
      import('../../client/faces/turns.ts'),
      import('../../system/process/background-files.ts'),
    ]);
  const items = transcriptItems(first);
  items.add(entries);
  const files = backgroundReader(backgroundRoot(root), description.session);
  return backgroundCommands(findBackgroundCommands(items.all), files, description.status !== 'open');
}

async function* timelinePieces(
  { out, size }: Cli,
  { temporal }: OpenedServer,
  reading: SessionReading,
): AsyncIterable<string> {
  const { transcriptHeading } = await import('../render/transcript.ts');
  const { timelineLines } = await import('../render/timeline.ts');
  const { readTimeline } = await import('../../client/faces/history.ts');
  const { bars, note } = await readTimeline(temporal.client, reading, Date.now());
  const lines = timelineLines(out, bars, { columns: size().columns ?? 100, note });
  yield `${[transcriptHeading(out, reading), ...lines].join('\n')}\n`;
}
