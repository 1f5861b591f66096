// Holds a conversation with a durable session: sends what is typed, shows what happens, until the
// person leaves. The session stays and goes on.
import { pause } from '../../system/async.ts';
import { reasonOf, showUnseen } from '../../system/text.ts';
import type {
  SessionId,
  Workplace,
  RunConfig,
  PerdureClient,
  PermissionMode,
  SessionFacts,
} from '../../client/faces/types.ts';
import { isAtRest } from '../../client/faces/sessions.ts';
import { formatTokens } from '../../client/faces/basics.ts';
import { ClientProblem, createRedactor, oneLine } from '../../client/faces/start.ts';
import { isUnderWay } from '../../client/faces/lists.ts';
import { readSession } from '../../client/faces/history.ts';
import { totalTokens } from '../../client/faces/contract.ts';
import type { Cli } from '../cli.ts';
import { STATUS, UsageError } from '../errors.ts';
import { openRunScreen, type RunScreen } from '../run-screen.ts';
import type { Hands } from '../typing/input.ts';
import type { InputHistory } from './input-history.ts';
import { slashCommand, slashCommands } from './slash-commands.ts';
import type { Talk } from './talk.ts';
import { basename } from 'node:path';
import type { RunStatus } from '../render/run-status.ts';
import { completeChat, listWorkspaceFiles } from './completion-sources.ts';
import { type FooterFacts, footerText, readGitBranch } from './footer.ts';
import { runShellLine, shellLineOf, type ShellRun, withShellRuns } from './shell-line.ts';

export type ChatConversation = {
  readonly workplace: Workplace;
  readonly session: SessionId;
  /** The last run when the session was looked at; 0 for a session that has not begun. */
  readonly run: number;
  readonly isBegun: boolean;
  /** Sends a message, or begins the session with it. */
  readonly send: PerdureClient['send'];
  /** Returns a sentence that says why a message cannot be sent here, or undefined. */
  readonly refuses: (text: string) => string | undefined;
  readonly cwd: string;
  readonly mode: ChosenMode;
  readonly readConfig: () => Promise<RunConfig | null>;
  readonly openPage: () => Promise<void>;
  readonly history: InputHistory;
  /**
   * Says which session it is, once keys are read one by one: an Enter typed before that only ends a
   * line and sends nothing.
   */
  readonly greet: () => Promise<void>;
  /** The first message. */
  readonly first?: string | undefined;
  /** Aborts when the process must end. */
  readonly terminate: AbortSignal;
};

export type ChosenMode = {
  /** The mode that the next message begins a run with. */
  current(): PermissionMode;
  /** Has the next message carry it. */
  set(mode: PermissionMode): void;
};

/** How a conversation ended: the person left, or wants another session in the same terminal. */
export type ConversationEnd = { readonly status: number; readonly isAnew: boolean };

/** Modes that Shift-Tab goes through. One that asks about nothing is named, not come across. */
const CYCLED: readonly PermissionMode[] = ['default', 'acceptEdits', 'plan'];

/** Milliseconds between looks at a resting session, since others may write to it. */
const LOOK_MS = 2_000;

/**
 * Returns the exit status; the caller determines that of a signal. `onInterrupt` gets the function
 * that Ctrl-C calls.
 */
export async function holdConversation(
  cli: Cli,
  talk: ChatConversation,
  onInterrupt: (press: () => void) => void,
): Promise<ConversationEnd> {
  const left = new AbortController();
  const { workplace, session, terminate, history } = talk;
  const stop = AbortSignal.any([left.signal, terminate, workplace.failed, cli.unread]);
  const state: State = {
    run: talk.run,
    running: false,
    begun: talk.isBegun,
    pressed: false,
    poke: () => undefined,
    facts: null,
    modeOfRun: talk.mode.current(),
    escapedAt: 0,
    shell: null,
    shellRuns: [],
    isAnew: false,
  };
  const press = (): void => onCtrlC(cli, talk, state, left);
  onInterrupt(press);
  const complete = completeChat({ commands: slashCommands(), files: listWorkspaceFiles(talk.cwd) });
  const hands: Hands = {
    submit: (text, now) => {
      state.pressed = false;
      onTyped(cli, { talk, screen, state, stop, leave: () => left.abort() }, text, now);
    },
    interrupt: press,
    escape: (isEmpty) => onEscape(cli, { talk, screen, state, stop }, isEmpty),
    nextMode: () => {
      const modes = [...new Set([...CYCLED, talk.mode.current()])];
      const next = modes[(modes.indexOf(talk.mode.current()) + 1) % modes.length];
      if (next !== undefined) talk.mode.set(next);
      screen.redraw();
    },
    complete,
    leave: () => left.abort(),
    history: history.texts,
  };
  const branch = readGitBranch(talk.cwd);
  const footer: NonNullable<Parameters<typeof openRunScreen>[1]['footer']> = (run, columns) =>
    footerText(footerFacts(talk, { state, branch, ...run }), columns);
  const sessions = { ...workplace.sessions, send: talk.send };
  const screen: RunScreen = openRunScreen(cli, { sessions, session, own: null, hands, footer });
  stop.addEventListener('abort', () => state.poke(), { once: true });
  try {
    await talk.greet();
    if (talk.first !== undefined)
      submitText(cli, { talk, screen, state, stop, leave: () => left.abort() }, talk.first, false);
    while (!stop.aborted) await oneRound(cli, { talk, screen, state, stop });
  } finally {
    await screen.end();
  }
  if (workplace.failed.aborted) throw workplace.failed.reason;
  if (cli.unread.aborted) return { status: STATUS.unread, isAnew: false };
  if (state.begun) cli.say(await farewellText(cli, talk));
  return { status: STATUS.ok, isAnew: state.isAnew };
}

type State = {
  /** Numbers of the session when it rested last. */
  facts: SessionFacts | null;
  /** The mode of the run that began last. */
  modeOfRun: PermissionMode;
  /** When Escape was pressed last while nothing ran. */
  escapedAt: number;
  /** Ends the person's own command that runs now. */
  shell: AbortController | null;
  /** Commands of the person whose output goes with the next message. */
  shellRuns: ShellRun[];
  isAnew: boolean;
  run: number;
  running: boolean;
  begun: boolean;
  /** True when Ctrl-C was pressed and nothing was done since. */
  pressed: boolean;
  poke: () => void;
};

type Round = {
  readonly talk: ChatConversation;
  readonly screen: RunScreen;
  readonly state: State;
  readonly stop: AbortSignal;
};

/** Follows the current run to its end; if nothing runs, waits a while. */
async function oneRound(cli: Cli, { talk, screen, state, stop }: Round): Promise<void> {
  const { sessions } = talk.workplace;
  await screen.typed.sent();
  const next = screen.typed.waiting();
  if (next !== null) state.begun = true;
  if (stop.aborted) return;
  if (!state.begun || (next === null && !(await isBusy(talk, screen, state)))) {
    const poked = new AbortController();
    state.poke = () => poked.abort();
    if (screen.typed.waiting() === null) await pause(LOOK_MS, AbortSignal.any([stop, poked.signal]));
    return;
  }
  const which = next === null ? { after: state.run } : { messageId: next };
  const onTrouble = (why: string | null): void => cli.say(why ?? 'the server is back');
  state.running = true;
  try {
    for await (const event of sessions.follow(talk.session, { ...which, signal: stop, onTrouble, onNotice: cli.say })) {
      screen.show(event);
      if (event.type === 'run_start' || event.type === 'result') state.pressed = false;
      if (event.type === 'run_start') state.modeOfRun = talk.mode.current();
      if (event.type === 'result') state.run = Math.max(state.run, event.run);
    }
  } finally {
    state.running = false;
  }
}

/** Throws ClientProblem when the session is closed. */
async function isBusy(
  { workplace, session }: ChatConversation,
  screen: Pick<RunScreen, 'suggest' | 'redraw'>,
  state: State,
): Promise<boolean> {
  try {
    const description = await workplace.sessions.describe(session);
    if (description.status !== 'open') throw new ClientProblem('closed', `session ${session} is closed`);
    const busy = !isAtRest(description) || (description.last?.run ?? 0) > state.run;
    state.facts = description.facts ?? state.facts;
    screen.redraw();
    screen.suggest(busy ? null : (description.suggestion?.text ?? null));
    return busy;
  } catch (error) {
    if (error instanceof ClientProblem && error.kind === 'unanswered') return false;
    throw error;
  }
}

/**
 * The first press interrupts what runs. The second, or two in a row while nothing runs, leaves.
 */
function onCtrlC(cli: Cli, talk: ChatConversation, state: State, left: AbortController): void {
  if (state.pressed) return left.abort();
  state.pressed = true;
  if (!stopWhatRuns(cli, talk, state)) cli.say('press Ctrl-C again to leave, or Ctrl-D');
}

/** Milliseconds within which a second Escape counts with the first. */
const TWICE_MS = 1_000;

/** The first press interrupts what runs. Two in an empty row while nothing runs go back. */
function onEscape(cli: Cli, round: Round, isEmpty: boolean): void {
  const { state, talk } = round;
  if (stopWhatRuns(cli, talk, state) || !isEmpty) return;
  const isSecond = Date.now() - state.escapedAt < TWICE_MS;
  state.escapedAt = isSecond ? 0 : Date.now();
  if (isSecond) goBack(cli, round, false).catch((error: unknown) => cli.say(reasonOf(error)));
}

async function goBack(cli: Cli, { talk, screen, state, stop }: Round, undoes: boolean): Promise<void> {
  if (!state.begun) return cli.say('nothing has been said yet');
  const { workplace, session } = talk;
  const { goBackHere, undoHere } = await import('./rewind-picker.ts');
  const { sessions } = workplace;
  const read = () => readSession(workplace, session);
  const place = { session, self: cli.self, sessions, input: screen.input, paint: cli.err, read, say: cli.say, stop };
  await (undoes ? undoHere(place) : goBackHere(place));
}

/** Returns false when nothing runs. The run's own end says that it was interrupted. */
function stopWhatRuns(cli: Cli, { workplace, session }: ChatConversation, state: State): boolean {
  if (state.shell) {
    state.shell.abort();
    return true;
  }
  if (!state.running) return false;
  workplace.sessions.interrupt(session).catch((error: unknown) => {
    cli.say(`the run could not be interrupted: ${reasonOf(error)}`);
  });
  return true;
}

type FooterPlace = {
  readonly state: State;
  readonly branch: string | null;
  readonly now: RunStatus | null;
  readonly last: RunStatus | null;
};

function footerFacts(talk: ChatConversation, { state, branch, now, last }: FooterPlace): FooterFacts {
  const { facts } = state;
  const run = now ?? last;
  const cents = facts ? facts.cents : 0;
  // The numbers of a session under way are those of its last rest: the run's own are newer.
  const spend = now?.spend;
  const isPriced = cents !== null && spend?.usd !== null;
  return {
    model: run?.model ?? facts?.model ?? null,
    folder: basename(talk.cwd),
    branch,
    turns: facts?.turns ?? now?.iteration ?? null,
    tokens: (facts?.tokens ?? 0) + (spend ? totalTokens(spend.usage) : 0),
    usd: isPriced ? (cents ?? 0) / 100 + (spend?.usd ?? 0) : null,
    context: run && run.window !== null && run.context !== null ? run.context / run.window : null,
    mode: talk.mode.current(),
    isModeNext: state.running && talk.mode.current() !== state.modeOfRun,
    running: state.running,
  };
}

/** Runs a command of the person and keeps what it gave for the next message. */
async function runHere(cli: Cli, { talk, state }: Pick<Submitting, 'talk' | 'state'>, command: string): Promise<void> {
  if (state.shell) return cli.say('your command is still running: press Esc to stop it');
  state.shell = new AbortController();
  cli.print(`${cli.out.bold('!')} ${oneLine(command, 400)}\n`);
  try {
    const show = (text: string): void => cli.print(cli.out.dim(showUnseen(text)));
    const ran = await runShellLine(command, { cwd: talk.cwd, env: cli.env, signal: state.shell.signal, show });
    if (!ran.output.endsWith('\n') && ran.output !== '') cli.print('\n');
    state.shellRuns.push(ran);
    const how = ran.status === 0 ? '' : ran.status === null ? 'it was ended; ' : `it ended with status ${ran.status}; `;
    cli.say(`${how}its output goes with your next message`);
  } catch (error) {
    cli.say(`the command could not be started: ${reasonOf(error)}`);
  } finally {
    state.shell = null;
  }
}

type Submitting = Round & { readonly leave: () => void };

function onTyped(cli: Cli, submitting: Submitting, text: string, now: boolean): void {
  const line = shellLineOf(text);
  if (line === null) return submitText(cli, submitting, text, now);
  submitting.talk.history.add(text);
  void runHere(cli, submitting, line);
}

/** Never runs a command's argument in the shell: a script may have put it together. */
function submitText(cli: Cli, { talk, screen, state, stop, leave }: Submitting, text: string, now: boolean): void {
  talk.history.add(text);
  try {
    const command = slashCommand(text);
    if (command) {
      const { session, cwd, workplace } = talk;
      const { mode, readConfig, openPage } = talk;
      const about: Talk = {
        sessions: workplace.sessions,
        session,
        self: cli.self,
        say: cli.say,
        out: cli.out,
        cwd,
        leave,
        readConfig,
        openPage,
        rewind: (undoes) => goBack(cli, { talk, screen, state, stop }, undoes),
        setMode: (next) => {
          mode.set(next);
          screen.redraw();
        },
        startAnew: () => {
          state.isAnew = true;
          leave();
        },
        contextWords: () => contextWords(screen.status()),
      };
      command(about).catch((error: unknown) => cli.say(reasonOf(error)));
      return;
    }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return cli.say(error.message);
  }
  const problem = talk.refuses(text);
  if (problem !== undefined) return cli.say(problem);
  screen.suggest(null);
  const runs = state.shellRuns.splice(0);
  screen.typed.submit(runs.length === 0 ? text : withShellRuns(text, runs, createRedactor(cli.env)), now);
  state.poke();
}

function contextWords(status: RunStatus | null): string | null {
  if (!status || status.window === null || status.context === null) return null;
  const { context, window } = status;
  const share = Math.round((context / window) * 100);
  return `${context.toLocaleString('en')} of ${formatTokens(window)}: ${share} % of the context; /compact sums it up`;
}

async function farewellText({ self }: Cli, { workplace, session }: ChatConversation): Promise<string> {
  const back = `\`${self} -c\` comes back to session ${session}`;
  try {
    const description = await workplace.sessions.describe(session);
    if (description.status !== 'open') return `session ${session} is closed`;
    return isUnderWay(description) || description.unseen ? `the run continues while a worker runs: ${back}` : back;
  } catch (error) {
    if (error instanceof ClientProblem) return back;
    throw error;
  }
}
