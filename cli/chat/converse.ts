// Holds a conversation with a durable session: sends what is typed, shows what happens, until the
// person leaves. The session stays and goes on.
import { pause } from '../../system/async.ts';
import { reasonOf } from '../../system/text.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { Workplace } from '../../client/runtime/workplace.ts';
import { isAtRest } from '../../client/follow/goal.ts';
import type { PerdureClient } from '../../client/perdure-client.ts';
import { ClientProblem } from '../../client/problem.ts';
import { isUnderWay } from '../../client/sessions/info.ts';
import type { Cli } from '../cli.ts';
import { STATUS, UsageError } from '../errors.ts';
import { openRunScreen, type RunScreen } from '../run-screen.ts';
import type { Hands } from '../typing/input.ts';
import type { InputHistory } from './input-history.ts';
import { slashCommand } from './slash-commands.ts';

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
): Promise<number> {
  const left = new AbortController();
  const { workplace, session, terminate, history } = talk;
  const stop = AbortSignal.any([left.signal, terminate, workplace.failed, cli.unread]);
  const state: State = { run: talk.run, running: false, begun: talk.isBegun, pressed: false, poke: () => undefined };
  const press = (): void => onCtrlC(cli, talk, state, left);
  onInterrupt(press);
  const hands: Hands = {
    submit: (text, now) => {
      state.pressed = false;
      onSubmit(cli, { talk, screen, state, leave: () => left.abort() }, text, now);
    },
    interrupt: press,
    leave: () => left.abort(),
    history: history.texts,
  };
  const sessions = { ...workplace.sessions, send: talk.send };
  const screen = openRunScreen(cli, { sessions, session, own: null, hands });
  stop.addEventListener('abort', () => state.poke(), { once: true });
  try {
    await talk.greet();
    if (talk.first !== undefined) hands.submit(talk.first, false);
    while (!stop.aborted) await oneRound(cli, { talk, screen, state, stop });
  } finally {
    await screen.end();
  }
  if (workplace.failed.aborted) throw workplace.failed.reason;
  if (cli.unread.aborted) return STATUS.unread;
  if (state.begun) cli.say(await farewellText(cli, talk));
  return STATUS.ok;
}

type State = {
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
  const onTrouble = (why: string | null): void => cli.say(why ?? 'the server answers again');
  state.running = true;
  try {
    for await (const event of sessions.follow(talk.session, { ...which, signal: stop, onTrouble, onNotice: cli.say })) {
      screen.show(event);
      if (event.type === 'run_start' || event.type === 'result') state.pressed = false;
      if (event.type === 'result') state.run = Math.max(state.run, event.run);
    }
  } finally {
    state.running = false;
  }
}

/** Throws ClientProblem when the session is closed. */
async function isBusy(
  { workplace, session }: ChatConversation,
  screen: Pick<RunScreen, 'suggest'>,
  { run }: State,
): Promise<boolean> {
  try {
    const seen = await workplace.sessions.describe(session);
    if (seen.status !== 'open') throw new ClientProblem('closed', `session ${session} is closed`);
    const busy = !isAtRest(seen) || (seen.last?.run ?? 0) > run;
    screen.suggest(busy ? null : (seen.suggestion?.text ?? null));
    return busy;
  } catch (error) {
    if (error instanceof ClientProblem && error.kind === 'unanswered') return false;
    throw error;
  }
}

/**
 * The first press interrupts the current run. The second, or two in a row while nothing runs,
 * leaves.
 */
function onCtrlC(cli: Cli, { workplace, session }: ChatConversation, state: State, left: AbortController): void {
  if (state.pressed) return left.abort();
  state.pressed = true;
  if (!state.running) return cli.say('press Ctrl-C again to leave, or Ctrl-D');
  cli.say('interrupting the run; press Ctrl-C again to leave');
  workplace.sessions.interrupt(session).catch((error: unknown) => {
    cli.say(`the run could not be interrupted: ${reasonOf(error)}`);
  });
}

type Submitting = Omit<Round, 'stop'> & { readonly leave: () => void };

function onSubmit(cli: Cli, { talk, screen, state, leave }: Submitting, text: string, now: boolean): void {
  talk.history.add(text);
  try {
    const command = slashCommand(text);
    if (command) {
      const { session, cwd, workplace } = talk;
      const about = { sessions: workplace.sessions, session, self: cli.self, say: cli.say, cwd, leave };
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
  screen.typed.submit(text, now);
  state.poke();
}

async function farewellText({ self }: Cli, { workplace, session }: ChatConversation): Promise<string> {
  const back = `\`${self} -c\` comes back to session ${session}`;
  try {
    const seen = await workplace.sessions.describe(session);
    if (seen.status !== 'open') return `session ${session} is closed`;
    return isUnderWay(seen) || seen.unseen ? `the run goes on when a worker runs: ${back}` : back;
  } catch (error) {
    if (error instanceof ClientProblem) return back;
    throw error;
  }
}
