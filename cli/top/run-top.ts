// Runs the live screen of `perdure top`: draws it, looks again, and does what a key asks for.
import { setTimeout as sleep } from 'node:timers/promises';
import { callToDecideText } from '../../client/faces/words.ts';
import type { OpenedServer, SessionInfo, WaitingApproval, SessionId } from '../../client/faces/types.ts';
import { parseFilter } from '../../client/faces/lists.ts';
import { formatCount } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';
import { reasonOf } from '../../system/text.ts';
import { summarizeCall } from '../../page/call-views/call-summary.ts';
import type { Cli } from '../cli.ts';
import { withDecidingWorker } from '../decide-session.ts';
import { STATUS } from '../errors.ts';
import { type GroupedSession, orderInGroups, type SessionSort, SORTS } from '../render/session-groups.ts';
import { firstOfTop, type TopFrame, topLines } from '../render/top.ts';
import { isForeignLetter, latinKey } from '../typing/picker.ts';
import type { KeyPress } from '../typing/line-editor.ts';
import { suspendJob } from '../typing/persons-editor.ts';

type Running = {
  readonly frame: TopFrame;
  readonly everyMs: number;
  readonly look: (filter: string, before: TopFrame) => Promise<TopFrame>;
  /** Milliseconds in which a decision can be taken back; 4 s when absent. */
  readonly undoMs?: number;
  /** Suspends the process as Ctrl-Z does. */
  readonly suspend?: () => Promise<void>;
};

/** `follow` is the session that the person wants to follow now. */
type TopEnd = { readonly status: number; readonly follow: SessionId | null };

/** Milliseconds that a call has to be on the screen before a key decides about it. */
const READ_MS = 500;
const UNDO_MS = 4_000;
const TOO_SOON = 'it just appeared: read it first';
const DENIED = 'the user denied it';
/** Rows that a page key moves by. */
const PAGE = 10;

export async function runTop(cli: Cli, opened: OpenedServer, running: Running): Promise<TopEnd> {
  const screen = openOwnScreen(cli);
  const top = new TopScreen(cli, opened, running, screen);
  const keyboard = cli.openKeys?.() ?? null;
  const suspend = async (): Promise<void> => {
    keyboard?.stop();
    await screen.outside(running.suspend ?? (() => suspendJob(process)));
    keyboard?.start(press);
    top.draw();
  };
  const press = (typed: string | undefined, key: KeyPress): void =>
    key.ctrl && key.name === 'z' ? void suspend() : top.press(typed, key);
  keyboard?.start(press);
  const stop = AbortSignal.any([top.left, cli.unread]);
  try {
    top.draw();
    while (!stop.aborted) {
      await sleep(running.everyMs, undefined, { signal: stop }).catch(() => undefined);
      if (!stop.aborted) await top.refresh();
    }
  } finally {
    keyboard?.stop();
    screen.close();
    await top.sendHeld();
  }
  return { status: cli.unread.aborted ? STATUS.unread : STATUS.ok, follow: top.follow };
}

type Shown = {
  readonly session: SessionInfo;
  /** The call that keys decide, also when another one waits by then. */
  readonly call: WaitingApproval | undefined;
  readonly lines: readonly string[];
  /** The index of the first line on the screen, and of the first that was never on it. */
  top: number;
  seen: number;
  /** When its newest row came on the screen. */
  since: number;
  /** When it was said that the next key allows a call that may do harm; null where it does not. */
  armed: number | null;
};

/** A decision that is not sent yet. */
type Held = { readonly what: string; readonly timer: NodeJS.Timeout; readonly send: () => Promise<string> };

class TopScreen {
  /** The session that the person wants to follow now. */
  follow: SessionId | null = null;
  readonly #cli: Cli;
  readonly #opened: OpenedServer;
  readonly #look: Running['look'];
  readonly #screen: OwnScreen;
  readonly #leave = new AbortController();
  #frame: TopFrame;
  #selected: string | null = null;
  #sort: SessionSort = 'age';
  /** The filter while it is typed; null otherwise. */
  #typed: string | null = null;
  #note: string | null = null;
  /** The session that is looked at in full. */
  #shown: Shown | null = null;
  #held: Held[] = [];
  readonly #undoMs: number;
  readonly #keys: Readonly<Record<string, (session: SessionInfo) => void>> = {
    up: () => this.#move(-1),
    k: () => this.#move(-1),
    down: () => this.#move(1),
    j: () => this.#move(1),
    pageup: () => this.#move(-PAGE),
    pagedown: () => this.#move(PAGE),
    return: ({ session }) => {
      this.follow = session;
      this.#leave.abort();
    },
    l: (session) => this.#openLook(session),
    space: (session) => this.#openLook(session),
    a: (session) => this.#decide(session, true),
    d: (session) => this.#decide(session, false),
    u: () => this.#undo(),
    i: (session) => void this.#attempt(() => this.#interrupt(session)),
    o: ({ session }) => void this.#attempt(() => this.#openPage(session)),
    s: () => {
      this.#sort = SORTS[(SORTS.indexOf(this.#sort) + 1) % SORTS.length] ?? 'age';
      this.#note = `sorted by ${this.#sort}`;
    },
  };

  constructor(cli: Cli, opened: OpenedServer, { frame, look, undoMs = UNDO_MS }: Running, screen: OwnScreen) {
    this.#cli = cli;
    this.#opened = opened;
    this.#frame = frame;
    this.#look = look;
    this.#undoMs = undoMs;
    this.#screen = screen;
  }

  /** Aborts when the person leaves. */
  get left(): AbortSignal {
    return this.#leave.signal;
  }

  draw(): void {
    const { out, size, openKeys } = this.#cli;
    const { rows, columns } = size();
    this.#selected = this.#current()?.session ?? null;
    if (this.#shown) {
      return this.#drawShown(this.#shown);
    }
    const mistake = this.#note === null ? '' : `   ${out.red(this.#note)}`;
    const note = this.#typed === null ? this.#note : `/ ${this.#typed}▏${mistake}`;
    const selected = openKeys === null ? null : this.#selected;
    const look = { now: Date.now(), columns, rows, sort: this.#sort, selected, note };
    this.#screen.draw(topLines(out, this.#frame, look));
  }

  #drawShown(view: Shown): void {
    const { out, size } = this.#cli;
    const { lines, top } = view;
    const end = Math.min(lines.length, top + size().rows - 2);
    if (end > view.seen) view.since = Date.now();
    view.seen = Math.max(view.seen, end);
    const left = lines.length - end;
    const keys = left > 0 ? `↓ ${formatCount(left, 'more row')}  ${LOOK_KEYS}` : LOOK_KEYS;
    this.#screen.draw([...lines.slice(top, end), '', this.#note ?? out.dim(keys)]);
  }

  async refresh(): Promise<void> {
    this.#frame = await this.#look(this.#frame.filter, this.#frame);
    this.draw();
  }

  press(typed: string | undefined, key: KeyPress): void {
    if (key.ctrl && key.name === 'c') return this.#leave.abort();
    const name = key.name ?? latinKey(typed ?? '', (one) => one === 'q' || one in this.#keys) ?? '';
    if (this.#typed !== null) this.#typeFilter(this.#typed, typed, key);
    else if (name === 'escape' || (name === 'q' && isMeant(key))) {
      if (this.#shown) this.#shown = null;
      else this.#leave.abort();
    } else if (typed === '/' && this.#shown === null) this.#startFilter();
    else {
      this.#note = name === '' && isForeignLetter(typed ?? '') ? LATIN_KEYS : null;
      const session = this.#shown?.session ?? this.#current();
      const acts = isMeant(key) || MOVES.has(name);
      if (this.#takesSecondKey(acts ? typed : undefined)) return;
      if (session && acts) this.#keys[name]?.(session);
    }
    this.draw();
  }

  #ordered(): readonly GroupedSession[] {
    return orderInGroups(this.#frame.sessions, this.#sort, Date.now());
  }

  #current(): SessionInfo | undefined {
    const all = this.#ordered();
    const marked = all.find(({ session }) => session.session === this.#selected);
    return (marked ?? firstOfTop(all, Date.now()))?.session;
  }

  #move(by: number): void {
    if (this.#shown) return this.#scroll(this.#shown, by);
    const all = this.#ordered();
    const at = all.findIndex(({ session }) => session.session === this.#selected);
    this.#selected = all[Math.max(0, Math.min(all.length - 1, at + by))]?.session.session ?? null;
  }

  #scroll(view: Shown, by: number): void {
    const last = Math.max(0, view.lines.length - (this.#cli.size().rows - 2));
    view.top = Math.max(0, Math.min(last, view.top + by));
  }

  #tell(note: string): void {
    this.#note = note;
    this.draw();
  }

  async #attempt(act: () => Promise<string>): Promise<void> {
    try {
      this.#tell(await act());
      await this.refresh();
    } catch (error) {
      this.#tell(oneLine(reasonOf(error), 300));
    }
  }

  #waiting({ session }: SessionInfo): WaitingApproval | undefined {
    return this.#frame.approvals.get(session)?.[0];
  }

  #openLook(session: SessionInfo): void {
    const call = this.#waiting(session);
    this.#shown = {
      session,
      call,
      lines: lookLines(this.#cli, session, call),
      top: 0,
      seen: 0,
      since: 0,
      armed: null,
    };
    this.draw();
  }

  /**
   * Nothing is allowed unseen: the first key shows the call, others the rest of a long one, the
   * last decides.
   */
  #decide(session: SessionInfo, allow: boolean): void {
    const call = this.#shown ? this.#shown.call : this.#waiting(session);
    if (!call) return this.#tell('nothing is waiting for a decision there');
    if (this.#shown === null) return this.#openLook(session);
    if (Date.now() - this.#shown.since < READ_MS) {
      // A key that is held down comes again and again, and has read nothing.
      this.#shown.since = Date.now();
      return this.#tell(TOO_SOON);
    }
    if (allow && this.#shown.seen < this.#shown.lines.length) return this.#showUnseen(this.#shown);
    if (call.question)
      return this.#tell(`it is a question: \`${this.#cli.self} answer ${session.session} ${call.call} "…"\``);
    const { risk } = summarizeCall(call);
    if (!allow || risk === undefined) return this.#hold(session, call, allow);
    this.#shown.armed = Date.now();
    this.#tell(`it ${risk}: y allows it, any other key does not`);
  }

  /** Takes the second key for a call that may do harm; any other goes on to what it does. */
  #takesSecondKey(typed: string | undefined): boolean {
    const view = this.#shown;
    const armed = view?.armed ?? null;
    if (!view?.call || armed === null) return false;
    view.armed = null;
    if (latinKey(typed ?? '', () => true) !== 'y') return false;
    // Many words have an "ay".
    if (Date.now() - armed < READ_MS) this.#tell(TOO_SOON);
    else this.#hold(view.session, view.call, true);
    return true;
  }

  /** Sends the decision after a while in which it can be taken back. */
  #hold(session: SessionInfo, call: WaitingApproval, allow: boolean): void {
    if (this.#held.some(({ what }) => what === callName(call))) return this.#tell('already decided');
    this.#shown = null;
    const send = (): Promise<string> => this.#send(session, call, allow);
    const timer = setTimeout(() => {
      this.#held = this.#held.filter((other) => other !== pending);
      void this.#attempt(send);
    }, this.#undoMs);
    const pending: Held = { what: callName(call), timer, send };
    this.#held.push(pending);
    this.#tell(
      `${allow ? 'allowed' : 'denied'}: ${oneLine(call.tool, 40)} of ${oneLine(session.title, 60)}  (u: undo)`,
    );
  }

  async #send(session: SessionInfo, call: WaitingApproval, allow: boolean): Promise<string> {
    const { sessions } = this.#opened;
    await withDecidingWorker(this.#cli, this.#opened, session.taskQueue, () =>
      allow ? sessions.approve(call.session, call.call) : sessions.deny(call.session, call.call, DENIED),
    );
    return `${allow ? 'allowed' : 'denied'}: ${oneLine(call.tool, 40)} of ${oneLine(session.title, 60)}`;
  }

  #undo(): void {
    const last = this.#held.pop();
    if (!last) return this.#tell('nothing to undo');
    clearTimeout(last.timer);
    this.#tell('undone: the call is waiting again');
  }

  /** Sends what could still be taken back: to leave is to decide. */
  async sendHeld(): Promise<void> {
    for (const { timer, send } of this.#held.splice(0)) {
      clearTimeout(timer);
      await send().catch((error: unknown) => this.#cli.say(reasonOf(error)));
    }
  }

  #showUnseen(view: Shown): void {
    this.#scroll(view, view.seen - view.top);
    this.draw();
  }

  async #interrupt({ session, title }: SessionInfo): Promise<string> {
    await this.#opened.sessions.interrupt(session);
    return `asked to stop: ${oneLine(title, 60)}`;
  }

  async #openPage(session: SessionId): Promise<string> {
    const { openPageAt } = await import('../open-page.ts');
    let address = 'opened in the browser';
    await openPageAt({ ...this.#cli, print: (text) => (address = text.trim()), say: () => undefined }, session);
    return address;
  }

  #typeFilter(text: string, typed: string | undefined, { name, ctrl }: KeyPress): void {
    if (name === 'escape') this.#typed = null;
    else if (name === 'backspace') this.#typed = text.slice(0, -1);
    else if (name === 'return') this.#filter(text);
    else if (typed !== undefined && ctrl !== true && !/^\p{Cc}/u.test(typed)) this.#typed = text + typed;
    if (name !== 'return') this.#note = null;
  }

  #startFilter(): void {
    this.#typed = this.#frame.filter;
    this.#note = null;
  }

  #filter(text: string): void {
    try {
      parseFilter(text);
    } catch (error) {
      // The text stays, to be corrected.
      this.#note = reasonOf(error);
      return;
    }
    this.#typed = null;
    this.#note = null;
    this.#frame = { ...this.#frame, filter: text.trim() };
    void this.refresh();
  }
}

/** Keys that only move, and may be held. */
const MOVES = new Set(['up', 'k', 'down', 'j', 'pageup', 'pagedown']);

/** A paste and a chord were meant for something else. */
const isMeant = ({ name, ctrl = false, meta = false, together = false }: KeyPress): boolean =>
  !ctrl && !meta && !together && name !== 'paste';

const callName = ({ session, call }: WaitingApproval): string => `${session} ${call}`;

const LATIN_KEYS = 'keys are Latin letters: switch the layout of the keyboard';
const LOOK_KEYS = 'a allow  d deny  i interrupt  ↵ follow  o open  q back';

function lookLines(cli: Cli, session: SessionInfo, call: WaitingApproval | undefined): readonly string[] {
  const { title, cwd, runs } = session;
  const head = [
    cli.out.bold(oneLine(title, 200)),
    cli.out.dim(`${session.session} · ${oneLine(cwd, 200)} · ${formatCount(runs, 'run')}`),
  ];
  if (!call) return [...head, '', `\`${cli.self} show ${session.session}\` prints what was said`];
  return [...head, '', ...callToDecideText(cli.out, call).split('\n'), '', `because: ${oneLine(call.reason, 300)}`];
}

type OwnScreen = {
  draw(lines: readonly string[]): void;
  /** Shows the first screen while `act` runs. */
  outside(act: () => Promise<void>): Promise<void>;
  close(): void;
};

const ENTER_SCREEN = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const LEAVE_SCREEN = '\u001b[?7h\u001b[?25h\u001b[?1049l';

/** Opens the terminal's second screen: closing it shows the previous content again. */
function openOwnScreen(cli: Pick<Cli, 'print'>): OwnScreen {
  let isShown = false;
  const enter = (): void => {
    cli.print(ENTER_SCREEN);
    isShown = true;
  };
  const leave = (): void => {
    if (isShown) cli.print(LEAVE_SCREEN);
    isShown = false;
  };
  // A signal leaves the server at once.
  process.on('exit', leave);
  enter();
  return {
    // Do not wrap lines: the terminal cuts a long one.
    draw: (lines) =>
      void (isShown && cli.print(`\u001b[H${lines.map((line) => `${line}\u001b[K`).join('\n')}\u001b[J`)),
    outside: async (act) => {
      leave();
      await act().finally(enter);
    },
    close: () => {
      leave();
      process.off('exit', leave);
    },
  };
}
