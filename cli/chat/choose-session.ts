// Lets a returning person choose among sessions: with arrows, a search and a preview, or by number
// on a terminal that cannot be drawn on.
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { OpenedServer } from '../../client/runtime/open-server.ts';
import { oneLine } from '../../client/paint.ts';
import { sessionTable, shortPhase } from '../../client/render/tables.ts';
import { rowsText } from '../../client/render/width.ts';
import type { SessionInfo } from '../../client/sessions/info.ts';
import { type LastWords, readLastWords } from '../../client/sessions/last-words.ts';
import { shortAge } from '../../client/units.ts';
import type { Cli } from '../cli.ts';
import { UsageError } from '../errors.ts';
import type { Picker } from '../typing/picker.ts';

/** Lines of the last reply in a preview. */
const LINES = 5;
/** Most sessions in a numbered table. */
const NUMBERED = 20;

/** Throws UsageError when none is chosen. */
export async function chooseSession(cli: Cli, opened: OpenedServer, there: readonly SessionInfo[]): Promise<SessionId> {
  const left = new AbortController();
  const leave = (): void => left.abort();
  const input = cli.openInput?.({ submit: () => undefined, interrupt: leave, leave });
  try {
    const chosen = input?.choose
      ? await input.choose(sessionPicker(cli, opened, there), left.signal)
      : await chooseByNumber(cli, there.slice(0, NUMBERED), (words) => input?.ask(words, left.signal));
    const found = there.find(({ session }) => session === chosen);
    if (!found) throw new UsageError('no session chosen');
    return found.session;
  } finally {
    input?.close();
  }
}

async function chooseByNumber(
  { out, print }: Cli,
  there: readonly SessionInfo[],
  ask: (words: string) => Promise<string | null> | undefined,
): Promise<string | undefined> {
  const whole = { ...out, columns: () => null };
  const [heading = '', ...rows] = sessionTable(whole, there, Date.now()).trimEnd().split('\n');
  const lines = [`     ${heading}`, ...rows.map((row, at) => `${String(at + 1).padStart(3)}  ${row}`)];
  print(rowsText(out.columns(), lines.join('\n')));
  const line = (await ask('which one, by its number (Enter: 1): ')) ?? null;
  const number = line?.trim() === '' ? 1 : Number(line ?? Number.NaN);
  return there[number - 1]?.session;
}

function sessionPicker(cli: Pick<Cli, 'err'>, opened: OpenedServer, there: readonly SessionInfo[]): Picker {
  const now = Date.now();
  const items = there.map((session) => ({
    answer: session.session as string,
    label: oneLine(session.title, 200),
    about: `${shortPhase(session)} · ${shortAge(now - session.startedAt)}`,
    hidden: session.session,
  }));
  const preview = async (answer: string): Promise<readonly string[]> =>
    previewRows(cli, await readLastWords(opened, answer as SessionId));
  return { heading: 'Which session?', verb: 'continues it', items, preview };
}

function previewRows({ err }: Pick<Cli, 'err'>, { prompt, reply }: LastWords): readonly string[] {
  const lines = reply.split('\n').filter((line) => line.trim() !== '');
  return [
    `${err.bold('›')} ${prompt === null ? err.dim('(its text cannot be read)') : oneLine(prompt, 300)}`,
    ...lines.slice(-LINES).map((line) => err.dim(oneLine(line, 300))),
  ];
}
