// Slash commands of a chat: what the command line can do with the current session.
import { didYouMean, formatCount, formatMoney, formatTokens } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';
import type { NewLimits, OptionChanges, PermissionMode, PerdureClient, SessionId } from '../../client/faces/types.ts';
import { phaseText } from '../../client/faces/lists.ts';
import { permissionModes } from '../../client/faces/options.ts';
import { changeOf, diffRows } from '../../client/faces/words.ts';
import { readFlags, type RunFlags, runOptions } from '../run-options.ts';
import { UsageError } from '../errors.ts';
import { operations } from '../../client/operations/operations.ts';
import type { Talk } from './talk.ts';
import { sayAside } from './aside.ts';
import { colourPatch, statText } from '../render/rewind-plan.ts';

type SlashGroup = 'Now' | 'Look' | 'Set' | 'End';

type Slash = {
  readonly group: SlashGroup;
  /** Placeholder for the argument. */
  readonly takes: string;
  readonly does: string;
  readonly act: (talk: Talk, rest: string) => Promise<void>;
};

/** Throws UsageError. */
const requireText = (rest: string, what: string): string => {
  if (rest === '') throw new UsageError(`add ${what} after it`);
  return rest;
};

async function setOption({ sessions, session, say }: Talk, changes: OptionChanges): Promise<void> {
  await sessions.setOptions(session, changes);
  say('set for the next run');
}

const commands: Readonly<Record<string, Slash>> = {
  help: {
    group: 'Look',
    takes: '',
    does: 'lists these',
    act: ({ say }) => {
      for (const line of slashHelp()) say(line);
      return Promise.resolve();
    },
  },
  status: {
    group: 'Look',
    takes: '',
    does: 'tells the session’s id, phase, turns and cost',
    act: async ({ sessions, session, say }) => {
      const description = await sessions.describe(session);
      const { facts } = description;
      const cost = facts
        ? [formatCount(facts.turns, 'turn'), formatMoney(facts.cents === null ? null : facts.cents / 100)]
        : [];
      say([`session ${session}`, phaseText(description), formatCount(description.runs, 'run'), ...cost].join(' · '));
    },
  },
  btw: {
    group: 'Now',
    takes: 'QUESTION',
    does: 'asks something aside: the conversation keeps no trace of it',
    act: (talk, rest) => sayAside(talk, requireText(rest, 'a question')),
  },
  interrupt: {
    group: 'Now',
    takes: '',
    does: 'stops the current run, as Ctrl-C does',
    act: ({ sessions, session }) => sessions.interrupt(session),
  },
  resume: {
    group: 'Now',
    takes: '',
    does: 'ends a parked session’s wait now',
    act: ({ sessions, session }) => sessions.resume(session),
  },
  compact: {
    group: 'Now',
    takes: '[WORDS]',
    does: 'summarizes the conversation and continues with the summary; what it must keep may follow',
    act: async ({ sessions, session, say }, rest) => {
      const text = `/compact ${rest}`.trim();
      await sessions.send(session, text, { compact: rest === '' ? {} : { instructions: rest } });
      say('compaction requested: it starts when nothing else is running');
    },
  },
  rewind: {
    group: 'Now',
    takes: '[undo]',
    does: 'goes back to an earlier prompt, with its files; as Esc twice',
    act: ({ rewind }, rest) => {
      if (rest !== '' && rest !== 'undo') throw new UsageError(`/rewind takes nothing, or undo: not ${rest}`);
      return rewind(rest === 'undo');
    },
  },
  fork: {
    group: 'Now',
    takes: '[PROMPT]',
    does: 'begins a session of its own from here, in a folder of its own where files are captured',
    act: (talk, rest) => sayFork(talk, rest),
  },
  context: {
    group: 'Look',
    takes: '',
    does: 'tells how full the model’s context is',
    act: ({ contextWords, say }) => {
      say(contextWords() ?? 'no usage yet: it is known after the next reply');
      return Promise.resolve();
    },
  },
  cost: {
    group: 'Look',
    takes: '',
    does: 'tells what the session and its agents have cost',
    act: sayCost,
  },
  permissions: {
    group: 'Look',
    takes: '',
    does: 'tells the mode and the rules of the last run',
    act: sayPermissions,
  },
  files: {
    group: 'Look',
    takes: '',
    does: 'lists the files that edits and writes changed',
    act: sayFiles,
  },
  diff: {
    group: 'Look',
    takes: '[PATH]',
    does: 'shows what the session has changed in its folders, where snapshots are kept',
    act: sayDiff,
  },
  agents: {
    group: 'Look',
    takes: '',
    does: 'lists the agents of the session',
    act: sayAgents,
  },
  open: {
    group: 'Look',
    takes: '',
    does: 'opens the session on the ops page',
    act: ({ openPage }) => openPage(),
  },
  clear: {
    group: 'End',
    takes: '',
    does: 'begins a new session here, which knows nothing of this one; this one stays',
    act: ({ startAnew }) => Promise.resolve(startAnew()),
  },
  model: {
    group: 'Set',
    takes: 'NAME',
    does: 'the model from the next run on; `none`: as the worker says',
    act: (talk, rest) => setOption(talk, parseOptions({ model: requireText(rest, 'a model') })),
  },
  mode: {
    group: 'Set',
    takes: 'MODE',
    does: 'the permission mode from the next run on, as Shift-Tab',
    act: (talk, rest) => {
      const mode = requireText(rest, `a mode (${permissionModes.join(', ')})`);
      parseOptions({ permissionMode: mode });
      talk.setMode(mode as PermissionMode);
      talk.say(`mode ${mode}: from your next message on`);
      return Promise.resolve();
    },
  },
  turns: {
    group: 'Set',
    takes: 'N',
    does: 'raises the turns that the run under way may take',
    act: (talk, rest) => raiseLimit(talk, { maxTurns: requireText(rest, 'how many') }),
  },
  budget: {
    group: 'Set',
    takes: 'X',
    does: 'raises the US dollars that the run under way may cost',
    act: (talk, rest) => raiseLimit(talk, { maxBudgetUsd: requireText(rest, 'how many') }),
  },
  cancel: {
    group: 'End',
    takes: '',
    does: 'stops the session and closes it for good',
    act: async ({ sessions, session, leave }) => {
      await sessions.cancel(session);
      leave();
    },
  },
  exit: {
    group: 'End',
    takes: '',
    does: 'leaves, as Ctrl-D does; the session stays',
    act: ({ leave }) => Promise.resolve(leave()),
  },
};

async function raiseLimit({ sessions, session, say }: Talk, flags: Pick<RunFlags, keyof NewLimits>): Promise<void> {
  const names = Object.keys(flags) as readonly (keyof NewLimits)[];
  const limits = readFlags(flags, names, () => '/') as NewLimits;
  const problem = await operations.topUp.problemOf?.({ limits });
  if (problem !== undefined) throw new UsageError(problem);
  await sessions.topUp(session, limits);
  say('limit raised');
}

/** Checks options as the command line does. Throws UsageError. */
const parseOptions = (flags: RunFlags): OptionChanges => runOptions(flags, () => '/');

export type SlashCommandHelp = { readonly name: string; readonly takes: string; readonly does: string };

export const slashCommands = (): readonly SlashCommandHelp[] =>
  Object.entries(commands).map(([name, { takes, does }]) => ({ name, takes, does }));

/** Values that may stand behind a command, each with a word about it. */
export function slashArguments(name: string): readonly (readonly [value: string, about: string])[] {
  if (name === 'rewind') return [['undo', 'takes the last rewind back']];
  if (name === 'mode') return permissionModes.map((mode) => [mode, MODES[mode]]);
  if (name === 'model') return ['opus', 'sonnet', 'haiku', 'fable'].map((model) => [model, 'the newest of these']);
  return [];
}

const MODES: Readonly<Record<PermissionMode, string>> = {
  default: 'asks before files change and commands run',
  acceptEdits: 'changes files of the workspace without asking',
  plan: 'reads only',
  dontAsk: 'denies what it would have to ask about',
  bypass: 'asks about nothing',
};

const GROUPS: readonly (readonly [group: SlashGroup, heading: string])[] = [
  ['Now', 'What runs'],
  ['Look', 'Look'],
  ['Set', 'Set'],
  ['End', 'End'],
];

const KEYS: readonly (readonly [key: string, does: string])[] = [
  ['Esc, Ctrl-C', 'stops the run; Ctrl-C twice or Ctrl-D leaves'],
  ['Esc twice', 'in an empty row: goes back to an earlier prompt, as /rewind'],
  ['Ctrl-S', 'sends at once: it interrupts what runs'],
  ['Shift-Tab', 'the next permission mode, from the next run on'],
  ['Tab', 'completes a command, its argument, or a file behind @'],
  ['!command', 'runs a command here, as you; its output goes with your next message'],
  ['Ctrl-O', 'the output of the newest call; again: of the one before'],
  ['Ctrl-R, ↑', 'what you typed before'],
  ['Ctrl-G', 'your editor'],
];

export function slashHelp(): readonly string[] {
  const rowOf = ([name, { takes, does }]: readonly [string, Slash]) => [`/${name} ${takes}`.trimEnd(), does] as const;
  const all = Object.entries(commands);
  const width = Math.max(...all.map((entry) => rowOf(entry)[0].length), ...KEYS.map(([key]) => key.length));
  const lines = (rows: readonly (readonly [string, string])[]): readonly string[] =>
    rows.map(([name, does]) => `  ${name.padEnd(width)}  ${does}`);
  const groups = GROUPS.flatMap(([group, heading]) => [
    heading,
    ...lines(all.filter(([, command]) => command.group === group).map(rowOf)),
  ]);
  return [...groups, 'Keys', ...lines(KEYS)];
}

const LINE = /^\/([a-z-]+)(?:\s+(\S.*))?$/;
/** A question may have several lines. */
const LINES = /^\/([a-z-]+)(?:\s+(\S[^]*))?$/;
const LONG = /^\/btw\s/;

/**
 * Returns null for a text that is not a command, such as a path or words. Throws UsageError for an
 * unknown command.
 */
export function slashCommand(text: string): ((talk: Talk) => Promise<void>) | null {
  const [, name, rest = ''] = (LONG.test(text) ? LINES : LINE).exec(text.trimEnd()) ?? [];
  if (name === undefined) return null;
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command) return (talk) => command.act(talk, rest);
  const hint = didYouMean(name, Object.keys(commands));
  throw new UsageError(`there is no /${name}: ${hint}; a blank before the slash sends it as it is`);
}

// Forks the session of a chat: a session of its own begins, and the chat goes on with the present
// one (T10).
type Forking = {
  readonly sessions: Pick<PerdureClient, 'fork'>;
  readonly session: SessionId;
  readonly say: (line: string) => void;
};

/** Throws ClientProblem. */
async function sayFork({ sessions, session, say }: Forking, prompt: string): Promise<void> {
  const fork = await sessions.fork(session, prompt === '' ? {} : { prompt });
  const where = fork.files ? `its files are in ${oneLine(fork.cwd, 300)}` : 'it works in the same folder';
  say(`forked: ${fork.session}, ${where}: continue there with \`perdure chat --session ${fork.session}\``);
}

type Looking = Pick<Talk, 'sessions' | 'session' | 'say'>;

/** Most agents to list. */
const MOST_AGENTS = 50;
const MOST_FILES = 100;
const MOST_PATCH_LINES = 400;

const formatDollars = (cents: number | null): string => formatMoney(cents === null ? null : cents / 100);

async function sayCost({ sessions, session, say }: Looking): Promise<void> {
  const { facts, runs } = await sessions.describe(session);
  if (!facts) return say('nothing has been spent yet');
  const { turns, tokens, cents } = facts;
  say([formatDollars(cents), formatTokens(tokens), formatCount(turns, 'turn'), formatCount(runs, 'run')].join(' · '));
  for await (const agent of agentsOf({ sessions, session }))
    if (agent.facts) say(`  ${oneLine(agent.title, 60)}: ${formatDollars(agent.facts.cents)}`);
}

async function* agentsOf({ sessions, session }: Pick<Looking, 'sessions' | 'session'>) {
  let count = 0;
  for await (const agent of sessions.list({ filter: `root:${session}` })) {
    if (agent.session !== session) yield agent;
    count += 1;
    if (count >= MOST_AGENTS) return;
  }
}

async function sayAgents({ sessions, session, say }: Looking): Promise<void> {
  let count = 0;
  for await (const agent of agentsOf({ sessions, session })) {
    const type = agent.facts?.agent?.type ?? 'agent';
    say(
      `${oneLine(type, 30)}  ${oneLine(agent.title, 60)}  ${phaseText(agent)}  ${formatCount(agent.facts?.turns ?? 0, 'turn')}`,
    );
    count += 1;
  }
  if (count === 0) say('no agents');
}

async function sayPermissions({ say, readConfig }: Looking & Pick<Talk, 'readConfig'>): Promise<void> {
  const config = await readConfig();
  if (config === null) return say('no run has begun yet');
  const { mode, permissions = {} } = config;
  say(`mode ${mode}`);
  for (const list of ['allow', 'ask', 'deny'] as const)
    for (const rule of permissions[list] ?? []) say(`  ${list.padEnd(5)}  ${oneLine(rule, 200)}`);
  say('more rules: start with --allow, --ask or --deny; /mode changes the mode');
}

/** Counts the changes that were asked for and did not fail. */
async function sayFiles({ sessions, session, say }: Looking): Promise<void> {
  const failed = new Set<string>();
  const changes: { readonly id: string; readonly path: string; readonly added: number; readonly removed: number }[] =
    [];
  for await (const { entry } of sessions.transcript(session)) {
    if (entry.kind === 'outcomes')
      for (const { toolUseId, isError } of entry.outcomes) if (isError) failed.add(toolUseId);
    if (entry.kind !== 'reply') continue;
    for (const block of entry.message.content) {
      const change = block.type === 'tool_use' ? changeOf(block.name, block.input) : null;
      if (block.type !== 'tool_use' || change === null) continue;
      const { lines } = diffRows(change.before, change.after);
      const count = (mark: string): number => lines.filter((line) => line.mark === mark).length;
      changes.push({ id: block.id, path: change.path, added: count('+'), removed: count('-') });
    }
  }
  const byPath = new Map<string, { added: number; removed: number }>();
  for (const { id, path, added, removed } of changes) {
    if (failed.has(id)) continue;
    const before = byPath.get(path) ?? { added: 0, removed: 0 };
    byPath.set(path, { added: before.added + added, removed: before.removed + removed });
  }
  if (byPath.size === 0) return say('no file was changed by edit or write; commands may have changed some');
  for (const [path, { added, removed }] of [...byPath].slice(0, MOST_FILES))
    say(`${oneLine(path, 200)}  +${added} −${removed}`);
  if (byPath.size > MOST_FILES) say(`… ${formatCount(byPath.size - MOST_FILES, 'more file')}`);
}

async function sayDiff({ sessions, session, say, out, self }: Talk, path: string): Promise<void> {
  const { files, patch, uncaptured = [] } = await sessions.diff(session, path === '' ? {} : { paths: [path] });
  const lines = (patch === null ? statText(out, files) : colourPatch(out, patch)).trimEnd().split('\n');
  for (const line of lines.slice(0, MOST_PATCH_LINES)) say(line);
  const left = lines.length - MOST_PATCH_LINES;
  if (left > 0) say(`… ${formatCount(left, 'more line')}: \`${self} diff ${session}\` prints all`);
  for (const { path: name, why } of uncaptured.slice(0, MOST_FILES)) say(`${oneLine(name, 200)}: ${why}`);
}
