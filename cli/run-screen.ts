// Everything a person sees and types while following a session: what happens, the status line,
// questions about calls, messages.
import { jsonLine, reasonOf } from '../system/text.ts';
import type { MessageId, SessionId, Followed, PerdureClient } from '../client/faces/types.ts';
import { SCRIPTED_NOTICE } from '../client/faces/processes.ts';
import { isApprovalEvent, newMessageId } from '../client/faces/sessions.ts';
import { createAlwaysRules } from '../client/faces/rules.ts';
import { oneLine } from '../client/faces/start.ts';
import { type DrawnTerminal, eventRenderer } from './render/events.ts';
import { activityText, FRAME_MS, nextStatus, type RunStatus, statusText } from './render/run-status.ts';
import { askApprovals } from './approving/ask-approvals.ts';
import { createAsides } from './chat/aside.ts';
import type { Cli } from './cli.ts';
import type { Hands, Input } from './typing/input.ts';

export type RunScreen = {
  show(event: Followed): void;
  /** Shows a suggested next message; null removes it. */
  suggest(text: string | null): void;
  /** Prints the output of the newest call that was not asked for yet. */
  showOutput(): void;
  /** The status of the run under way, or the last one of the run that ended; null before. */
  status(): RunStatus | null;
  /** Draws the footer anew. */
  redraw(): void;
  readonly typed: Pick<TypedMessages, 'waiting' | 'submit' | 'sent'>;
  /** Takes messages again after a run has ended: something goes on, and this process with it. */
  takeMessages(): void;
  /** Asks the person at the terminal; null without one. */
  readonly input: Pick<Input, 'choose' | 'pick' | 'write'> | null;
  /** Removes the changing lines. Resolves when typed text has been delivered, or has failed. */
  end(): Promise<void>;
};

type Watching = {
  readonly sessions: Pick<PerdureClient, 'approve' | 'deny' | 'answer' | 'send' | 'askAside'>;
  readonly session: SessionId;
  /** Message that this person has just given, which need not be shown again. */
  readonly own: MessageId | null;
  readonly hands: Omit<Hands, 'submit'> & Partial<Pick<Hands, 'submit'>>;
  /**
   * Makes the row below what is typed, which stays when nothing runs. `now` is null then. Absent:
   * no such row.
   */
  readonly footer?: (
    run: { readonly now: RunStatus | null; readonly last: RunStatus | null },
    columns: number,
  ) => string;
};

export function openRunScreen(cli: Cli, { sessions, session, own, hands, footer }: Watching): RunScreen {
  const render = eventRenderer({
    write: cli.print,
    paint: cli.out,
    own,
    session,
    terminal: terminalOf(cli),
  });
  const status = showStatus(cli, footer ?? null);
  const always = createAlwaysRules();
  const typed = createTypedMessages(cli, sessions, session);
  const asides = createAsides({ sessions, session, say: cli.say }, typed.submit);
  const showOutput = (): void => {
    const text = render.output();
    if (text === null) cli.say('no more output to show');
    else cli.print(`${text}\n`);
  };
  let isOver = false;
  const submit: Hands['submit'] = (text, now) =>
    isOver ? cli.say(`not sent, since the run has ended: ${text}`) : asides.submit(text, now);
  const input = cli.openInput?.({ submit, showOutput, ...hands }) ?? null;
  const approvals = askApprovals({ ...cli, input }, sessions, always);
  const sayScripted = sayScriptedOnce(cli);
  return {
    show: (event) => {
      sayScripted(event);
      render(event);
      typed.hear(event);
      status?.hear(event);
      if (event.type === 'run_start') always.in(event.cwd);
      // Text typed from here on was mostly meant for the shell.
      isOver = event.type === 'result' ? typed.waiting() === null : isOver && event.type !== 'run_start';
      if (isApprovalEvent(event)) approvals.hear(event);
    },
    suggest: (text) => input?.suggest?.(text),
    showOutput,
    status: () => status?.last() ?? null,
    redraw: () => status?.draw(),
    typed,
    takeMessages: () => (isOver = false),
    input,
    end: async () => {
      status?.end();
      const draft = input?.close() ?? '';
      typed.close();
      cli.bottom?.show('said', []);
      cli.bottom?.show('calls', []);
      if (draft.trim() !== '') cli.say(`not sent: ${draft}`);
      await Promise.all([approvals.stop(), typed.sent(), asides.answered()]);
    },
  };
}

function sayScriptedOnce(cli: Cli): (event: Followed) => void {
  let isAnnounced = false;
  return (event) => {
    if (isAnnounced || event.type !== 'run_start' || !event.scripted) return;
    isAnnounced = true;
    cli.say(SCRIPTED_NOTICE);
  };
}

function terminalOf({ bottom, print, size, openInput }: Cli): DrawnTerminal | null {
  if (!bottom) return null;
  return {
    showCalls: (rows) => bottom.show('calls', rows),
    decidesHere: openInput !== null,
    columns: () => size().columns,
    put: (text, pending) =>
      bottom.together(() => {
        bottom.show('said', pending);
        print(text);
      }),
  };
}

/** Makes a screen for programs, which read the events and decide by themselves. */
export function jsonScreen(cli: Cli): RunScreen {
  const sayScripted = sayScriptedOnce(cli);
  return {
    show: (event) => {
      sayScripted(event);
      cli.print(`${jsonLine(event)}\n`);
    },
    suggest: () => undefined,
    showOutput: () => undefined,
    status: () => null,
    redraw: () => undefined,
    input: null,
    takeMessages: () => undefined,
    typed: { waiting: () => null, submit: () => undefined, sent: () => Promise.resolve() },
    end: () => Promise.resolve(),
  };
}

type StatusLine = {
  hear(event: Followed): void;
  last(): RunStatus | null;
  draw(): void;
  end(): void;
};

/** Shows the line below the output while a run is under way, and the footer all the time. */
function showStatus({ bottom, err, size }: Cli, footer: Watching['footer'] | null): StatusLine | null {
  if (!bottom) return null;
  let status: RunStatus | null = null;
  let last: RunStatus | null = null;
  const draw = (): void => {
    const { columns } = size();
    bottom.together(() => {
      const text = status && (footer ? activityText(status, Date.now()) : statusText(status, Date.now(), columns));
      bottom.show('status', text === null ? [] : [err.dim(text)]);
      bottom.show('footer', footer ? [err.dim(footer({ now: status, last }, columns))] : []);
    });
  };
  const timer = setInterval(draw, FRAME_MS).unref();
  const end = (): void => {
    clearInterval(timer);
    process.off('exit', end);
    bottom.show('status', []);
    bottom.show('footer', []);
  };
  process.on('exit', end);
  draw();
  return {
    hear: (event) => {
      status = nextStatus(status, event, Date.now());
      last = status ?? last;
      draw();
    },
    last: () => last,
    draw,
    end,
  };
}

// Sends typed messages at once while a run goes on, so that nothing is lost, and shows them as
// waiting until the session takes them up.
type TypedMessages = {
  /** With `now` the message interrupts the current run. */
  submit(text: string, now: boolean): void;
  hear(event: Followed): void;
  /** Returns the oldest message that the session has not taken up; null when it has taken all. */
  waiting(): MessageId | null;
  /** Resolves when every typed message has been sent or has failed. */
  sent(): Promise<void>;
  close(): void;
};

type Waiting = { readonly text: string; readonly now: boolean };

const ROWS = 5;
const ROW = 200;

function createTypedMessages(
  cli: Pick<Cli, 'bottom' | 'err' | 'say'>,
  { send }: Pick<PerdureClient, 'send'>,
  session: SessionId,
): TypedMessages {
  const waiting = new Map<MessageId, Waiting>();
  let sending: Promise<void> = Promise.resolve();
  const draw = (): void => {
    const rows = [...waiting.values()].map(({ text, now }) => `${now ? '⋯ now:' : '⋯ waits:'} ${oneLine(text, ROW)}`);
    const more = rows.length > ROWS ? [`⋯ and ${rows.length - ROWS} more`] : [];
    cli.bottom?.show('queued', [...rows.slice(0, ROWS), ...more].map(cli.err.dim));
  };
  const sendOne = async (messageId: MessageId, { text, now }: Waiting): Promise<void> => {
    try {
      await send(session, text, { messageId, now });
      if (!cli.bottom) cli.say(now ? 'sent: it interrupts what runs' : 'sent: it waits for its turn');
    } catch (error) {
      waiting.delete(messageId);
      draw();
      cli.say(`not sent (${reasonOf(error)}): ${text}`);
    }
  };
  return {
    submit: (text, now) => {
      const id = newMessageId();
      const message = { text, now };
      waiting.set(id, message);
      draw();
      // One after the other, so that they arrive in the order in which they were typed.
      sending = sending.then(() => sendOne(id, message));
    },
    hear: (event) => {
      if (event.type !== 'user' || !waiting.delete(event.id)) return;
      draw();
    },
    waiting: () => [...waiting.keys()][0] ?? null,
    sent: () => sending,
    close: () => cli.bottom?.show('queued', []),
  };
}
