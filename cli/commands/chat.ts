// perdure, without a command: a conversation with a session of this folder, which stays when the
// terminal is closed.
import { EventEmitter } from 'node:events';
import type { Command } from 'commander';
import type {
  SessionId,
  OpenedServer,
  Workplace,
  RunConfig,
  UnconfinedFlag,
  SessionDescription,
  PromptBlock,
} from '../../client/faces/types.ts';
import { stayingWorkers } from '../../client/faces/workers.ts';
import { isKeyless } from '../../client/faces/processes.ts';
import { refuseUnconfinedForOthers, UNCONFINED_OPTION, withUnconfined } from '../../client/faces/flags.ts';
import { createConfigReader, readSession } from '../../client/faces/history.ts';
import { present } from '../../client/faces/basics.ts';
import {
  askUnconfined,
  CONFIG_OPTION,
  type ConfigFlags,
  NO_KEY,
  ofNewSession,
  refuseMistakenRules,
  refuseToSpoil,
  refuseWithoutKey,
  workerConfig,
  workersOfNew,
} from '../worker-config.ts';
import { holdConversation, type ChatConversation, type ChosenMode, type ConversationEnd } from '../chat/converse.ts';
import { findSession, type Found, newestIn, type Wanted } from '../chat/find-session.ts';
import { inputHistory } from '../chat/input-history.ts';
import { showLately } from '../chat/show-lately.ts';
import type { Cli } from '../cli.ts';
import { MEDIA_OPTION, mediaBlocks, type MediaFlags, withMedia } from '../prompt-argument.ts';
import { UsageError } from '../errors.ts';
import { addRunOptions, type RunFlags, runOptions, parseWorkspace } from '../run-options.ts';
import { withinWorkplace } from '../within-workplace.ts';
import { openPageAt } from '../open-page.ts';

type Flags = RunFlags &
  ConfigFlags &
  MediaFlags &
  UnconfinedFlag & { readonly continue?: boolean; readonly resume?: string | true };

export function chatCommand(program: Command, cli: Cli): void {
  const command = program
    .command('chat')
    .description('talk with a session of this folder; `perdure` alone does the same')
    .argument('[message]', 'the first message')
    .option('-c, --continue', 'continue the newest open session of this folder')
    .option('-r, --resume [id]', 'continue this session, or choose one of this folder from a list')
    .option(...MEDIA_OPTION)
    .option(...CONFIG_OPTION)
    .option(...UNCONFINED_OPTION);
  addRunOptions(command).action(async (message: string | undefined, flags: Flags) => {
    cli.exit(await startChat(await withUnconfined(cli, flags), message, flags));
  });
}

type Chat = {
  readonly options: ReturnType<typeof runOptions>;
  readonly ifNew: ReturnType<typeof ofNewSession>;
  readonly cwd: string;
  readonly first: string | undefined;
  /** Media for the first message that is sent. */
  readonly media: readonly PromptBlock[];
};

/** Holds one conversation after the other, as long as the person begins another with `/clear`. */
async function startChat(cli: Cli, first: string | undefined, flags: Flags): Promise<number> {
  let end = await holdOne(cli, first, flags);
  const { continue: _, resume: __, session: ___, ...again } = flags;
  while (end.isAnew) end = await holdOne(cli, undefined, again);
  return end.status;
}

async function holdOne(cli: Cli, first: string | undefined, flags: Flags): Promise<ConversationEnd> {
  if (cli.openInput === null) throw new UsageError('a chat needs a terminal: `perdure run "task"` needs none');
  const chosen = await workerConfig(cli, flags.config);
  const { session: _, ...options } = runOptions(flags, cli.cwd);
  refuseMistakenRules(options, chosen.config);
  const ifNew = ofNewSession(chosen);
  const cwd = options.cwd ?? parseWorkspace('.', cli.cwd());
  const media = mediaBlocks(cli, flags);
  const found = await findChosenSession(cli, flags, cwd);
  const { taskQueue } = await workersOfNew(cli, chosen, '');
  // Opening may take minutes the first time: what is missing is said before.
  if (found === null && lacksKey(cli, taskQueue)) cli.say(NO_KEY);
  if (stayingWorkers(cli.env, taskQueue) !== 0) refuseUnconfinedForOthers(flags);
  else await askUnconfined(cli, chosen.config);
  const source = new EventEmitter();
  const forward = (name: NodeJS.Signals): void => void source.emit(name, name);
  const keys = { press: (): void => forward('SIGINT') };
  const onInterrupt = (): void => keys.press();
  for (const name of ['SIGTERM', 'SIGHUP'] as const) process.on(name, forward);
  process.on('SIGINT', onInterrupt);
  const signals = source as unknown as NodeJS.Process;
  const beforeWork = ({ sessions }: OpenedServer): Promise<void> => refuseToSpoil(cli.env, sessions);
  try {
    const place = { anywhere: false, beforeWork, chosen, session: found?.session, signals };
    let isAnew = false;
    const status = await withinWorkplace(cli, place, async (workplace, stops) => {
      await found?.close();
      const talk = await openConversation(
        cli,
        { options, ifNew, cwd, first, media },
        { workplace, found: found?.session },
      );
      const end = await holdConversation(cli, { ...talk, terminate: stops.terminate }, (press) => (keys.press = press));
      isAnew = end.isAnew && !stops.terminate.aborted;
      return stops.terminate.aborted ? stops.status() : end.status;
    });
    return { status, isAnew };
  } finally {
    for (const name of ['SIGTERM', 'SIGHUP'] as const) process.off(name, forward);
    process.off('SIGINT', onInterrupt);
    await found?.close();
  }
}

async function findChosenSession(cli: Cli, flags: Flags, cwd: string): Promise<Found | null> {
  const id = typeof flags.resume === 'string' ? flags.resume : flags.session;
  const wanted: Wanted | null =
    id !== undefined
      ? { kind: 'id', id }
      : flags.resume
        ? { kind: 'choose', cwd }
        : flags.continue
          ? { kind: 'newest', cwd }
          : null;
  return wanted && findSession(cli, wanted);
}

type Place = { readonly workplace: Workplace; readonly found: SessionId | undefined };

async function openConversation(
  cli: Cli,
  { options, ifNew, cwd, first, media }: Chat,
  { workplace, found }: Place,
): Promise<Omit<ChatConversation, 'terminate'>> {
  const { sessions } = workplace;
  const session = workplace.session as SessionId;
  const description = found === undefined ? null : await sessions.describe(found);
  const readConfig = async (): Promise<RunConfig | null> => (isBegun ? readLastConfig(workplace, session) : null);
  let isBegun = description !== null;
  let pending: Partial<ReturnType<typeof runOptions>> = options;
  const before = description === null ? null : await readConfig();
  let lastMode = before?.mode ?? 'default';
  const mode: ChosenMode = {
    current: () => pending.permissionMode ?? lastMode,
    set: (next) => {
      pending = { ...pending, permissionMode: next };
    },
  };
  let seenWith = media;
  const send: ChatConversation['send'] = async (id, text, sent = {}) => {
    const prompt = typeof text === 'string' ? withMedia(text, seenWith) : text;
    const { messageId, now } = sent;
    const withId = present({ messageId });
    if (isBegun) {
      const changed = Object.keys(pending).length > 0 ? { options: pending } : {};
      lastMode = mode.current();
      const done = await sessions.send(id, prompt, { ...withId, ...present({ now }), ...changed });
      [pending, seenWith] = [{}, []];
      return done;
    }
    const { workers } = workplace;
    lastMode = mode.current();
    const done = await sessions.start(prompt, { ...pending, cwd, newId: session, workers, ifNew, ...withId });
    [isBegun, pending, seenWith] = [true, {}, []];
    return done;
  };
  const run = description?.last?.run ?? 0;
  const history = inputHistory(cli.env, cli.say);
  const greeting = (): Promise<void> => greetPerson(cli, workplace, { description, cwd });
  const refuses = createRefusal(cli, workplace);
  const openPage = (): Promise<void> => openPageAt(cli, session);
  const own = { mode, readConfig, openPage };
  return { workplace, session, run, isBegun, send, refuses, cwd, ...own, history, greet: greeting, first };
}

/** Reads the configuration of the last run that opened; null when it cannot be read. */
async function readLastConfig(workplace: Workplace, session: SessionId): Promise<RunConfig | null> {
  const { entries } = await readSession(workplace, session);
  const opened = entries.findLast((entry) => entry.kind === 'run_started');
  if (opened?.kind !== 'run_started' || !(await workplace.store.has(opened.config))) return null;
  return createConfigReader(workplace.store)(opened.config);
}

/**
 * Refuses a message that the scripted model would answer for lack of a key, since it can do only
 * its own task.
 */
function createRefusal({ env }: Cli, { workers }: Workplace): ChatConversation['refuses'] {
  return (text) => {
    if ((stayingWorkers(env, workers.taskQueue) ?? 0) > 0) return undefined;
    try {
      refuseWithoutKey(env, text);
      return undefined;
    } catch (error) {
      if (error instanceof UsageError) return error.message;
      throw error;
    }
  };
}

/** Tells whether only the scripted model would answer. */
const lacksKey = ({ env }: Cli, taskQueue: string): boolean =>
  isKeyless(env) && (stayingWorkers(env, taskQueue) ?? 0) === 0;

type Greeted = { readonly description: SessionDescription | null; readonly cwd: string };

async function greetPerson(cli: Cli, workplace: Workplace, { description, cwd }: Greeted): Promise<void> {
  const keys = 'Enter sends, Esc interrupts, Ctrl-D leaves; /help lists commands and keys.';
  if (description) {
    showLately(cli, await readSession(workplace, description.session));
    cli.say(`Session ${description.session}`);
    return cli.say(keys);
  }
  cli.say(`New session ${workplace.session} in ${cwd}`);
  cli.say(keys);
  const [before] = await newestIn(workplace.sessions, cwd, 1);
  if (lacksKey(cli, workplace.workers.taskQueue)) return;
  if (before) cli.say(`Resume the newest session of this folder, ${before.session}, with \`${cli.self} -c\`.`);
  else cli.say('Say what to do; @ completes file names, and ! runs a shell command.');
}
