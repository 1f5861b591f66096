// Goes back to an earlier prompt from within a chat: a list of prompts with what going back to each
// would do, then a choice between conversation and files.
import type {
  Paint,
  SessionReading,
  PerdureClient,
  RewindOptions,
  RewindResult,
  SessionId,
} from '../../client/faces/types.ts';
import { countFiles, notLookedText, warningLists } from '../../client/faces/turns.ts';
import { rewoundPartsText, turnsText } from '../../client/faces/options.ts';
import { formatCount } from '../../client/faces/basics.ts';
import { shortPrompt } from '../render/event-line.ts';
import { statText } from '../render/rewind-plan.ts';
import type { Input } from '../typing/input.ts';
import type { Menu, MenuOption, PickerItem } from '../typing/picker.ts';

type RewindPlace = {
  readonly session: SessionId;
  readonly self: string;
  readonly sessions: Pick<PerdureClient, 'rewind' | 'undoRewind'>;
  readonly input: Pick<Input, 'choose' | 'pick' | 'write'> | null;
  readonly paint: Paint;
  readonly read: () => Promise<Pick<SessionReading, 'entries' | 'bodies'>>;
  readonly say: (line: string) => void;
  /** Aborts when the conversation ends. */
  readonly stop: AbortSignal;
};

type Prompt = { readonly id: string; readonly run: number; readonly text: string };

/** Most prompts to offer, the newest ones. */
const MOST_PROMPTS = 100;
/** Lines of files and effects in a preview. */
const MOST_LINES = 5;

/** Throws ClientProblem. */
export async function goBackHere(place: RewindPlace): Promise<void> {
  const { session, self, input, say, stop, sessions } = place;
  if (!input?.choose || !input.pick) return say(`\`${self} rewind ${session}\` goes back before the last prompt`);
  const prompts = listPrompts(await place.read());
  if (prompts.length === 0) return say('there is no prompt to go back to');
  const id = await input.choose(
    {
      heading: 'Go back to right before which prompt?',
      verb: 'continues',
      items: prompts.map(itemOf),
      // A worker looks once a prompt is chosen: the list is moved through faster than that.
      preview: async (to) => previewRows(place.paint, await sessions.rewind(session, { to, dryRun: 'snapshots' })),
    },
    stop,
  );
  const prompt = prompts.find((one) => one.id === id);
  if (!prompt) return;
  const plan = await sessions.rewind(session, { to: prompt.id, dryRun: true });
  for (const line of warningRows(plan)) say(line);
  const choice = await input.pick(partsMenu(plan), stop);
  if (choice === null || choice === 'leave') return;
  const { rewound } = await sessions.rewind(session, { to: prompt.id, ...PARTS[choice] });
  say(`went back: ${rewoundPartsText(rewound ?? {})}; /rewind undo undoes it`);
  // The prompt can be written anew.
  if (choice !== 'files') input.write?.(prompt.text);
}

/** Throws ClientProblem. */
export async function undoHere({ session, sessions, say }: RewindPlace): Promise<void> {
  const { turns, ...rewound } = await sessions.undoRewind(session);
  say(`undone: ${rewoundPartsText(rewound)}${turnsText(turns)}`);
}

const PARTS: Readonly<Record<string, Pick<RewindOptions, 'conversation' | 'files'>>> = {
  both: {},
  conversation: { files: false },
  files: { conversation: false },
};

/** Returns the prompts of people, newest first. */
function listPrompts({ entries, bodies }: Pick<SessionReading, 'entries' | 'bodies'>): readonly Prompt[] {
  const prompts: Prompt[] = [];
  let run = 1;
  for (const entry of entries) {
    if (entry.kind === 'run_started') run = entry.run;
    if (entry.kind !== 'user') continue;
    const { body } = entry;
    prompts.push({ id: entry.id, run, text: body.kind === 'text' ? body.text : (bodies.get(body.hash) ?? '') });
  }
  return prompts.slice(-MOST_PROMPTS).toReversed();
}

function itemOf({ id, run, text }: Prompt): PickerItem {
  const { first, more } = shortPrompt(text);
  return { answer: id, label: `${first} ${more}`.trim() || '(its text cannot be read)', about: `run ${run}` };
}

function previewRows(paint: Paint, plan: RewindResult): readonly string[] {
  const { rewind, files, turns } = plan;
  const goesTo = rewind.to === null ? 'to its beginning, ' : '';
  const changed = files === null || files.length === 0 ? [] : statText(paint, files).trimEnd().split('\n');
  const visible = changed.length > MOST_LINES ? [...changed.slice(0, MOST_LINES - 1), ...changed.slice(-1)] : changed;
  return [
    ...(rewind.to === undefined ? [] : [paint.dim(`conversation: ${goesTo}${formatCount(turns, 'turn')} left behind`)]),
    ...(files === null ? [paint.dim('files: as on the machine that has them')] : []),
    ...(files?.length === 0 ? [paint.dim('files: as they are')] : []),
    ...visible.map((row) => paint.dim('files: ') + row),
    ...warningRows(plan).map((row) => paint.yellow(row)),
  ];
}

/** Returns what to know before one goes back, a line each, as in `in use: node (pid 12) has …`. */
function warningRows(plan: RewindResult): readonly string[] {
  const notLooked = notLookedText(plan);
  const lists = warningLists(plan).flatMap(({ heading, lines }) => [
    ...lines.slice(0, MOST_LINES).map((line) => `${heading} ${line}`),
    ...(lines.length > MOST_LINES ? [`${heading} and ${lines.length - MOST_LINES} more`] : []),
  ]);
  return [...(notLooked === null ? [] : [notLooked]), ...lists];
}

function partsMenu(plan: RewindResult): Menu {
  const number = countFiles(plan);
  const count = number === null ? 'files' : formatCount(number, 'file');
  const both: MenuOption = { answer: 'both', words: `the conversation and ${count}`, keys: ['b'] };
  const alone: MenuOption = { answer: 'conversation', words: 'the conversation alone', keys: ['c'] };
  const only: MenuOption = { answer: 'files', words: `${count} alone`, keys: ['f'] };
  const options = number === 0 ? [alone] : [both, alone, only];
  return {
    heading: 'What goes back?',
    options: [...options, { answer: 'leave', words: 'nothing  (Esc)', keys: ['n'] }],
    escape: 'leave',
    isOwn: true,
  };
}
