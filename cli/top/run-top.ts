// Runs the live screen of `perdure top`: draws it, looks again, and does what a key asks for.
import { setTimeout as sleep } from 'node:timers/promises';
import { callToDecideText } from '../../client/render/approval-text.ts';
import type { Opened } from '../../client/runtime/open-server.ts';
import { parseFilter } from '../../client/sessions/find/parse-filter.ts';
import type { SessionInfo } from '../../client/sessions/info.ts';
import type { WaitingApproval } from '../../client/sessions/waiting-approval.ts';
import { oneLine } from '../../client/paint.ts';
import { reasonOf } from '../../system/text.ts';
import type { Cli } from '../cli.ts';
import { withTaker } from '../decide-session.ts';
import { STATUS } from '../errors.ts';
import { orderTop, SORTS, type TopFrame, topLines, type TopSort } from '../render/top.ts';
import type { KeyPress } from '../typing/line-editor.ts';
import { openOwnScreen } from './own-screen.ts';

type Running = {
  readonly frame: TopFrame;
  readonly everyMs: number;
  readonly look: (filter: string, before: TopFrame) => Promise<TopFrame>;
};

/** `follow` is the session that the person wants to follow now. */
type TopEnd = { readonly status: number; readonly follow: string | null };

type State = {
  frame: TopFrame;
  selected: string | null;
  sort: TopSort;
  /** The filter while it is typed; null otherwise. */
  typed: string | null;
  note: string | null;
  /** The session that is looked at in full. */
  shown: SessionInfo | null;
  /** Lines of the session that is looked at. */
  lines: readonly string[];
};

const DENIED = 'the user denied it';

export async function runTop(cli: Cli, opened: Opened, { frame, everyMs, look }: Running): Promise<TopEnd> {
  const state: State = { frame, selected: null, sort: 'age', typed: null, note: null, shown: null, lines: [] };
  const left = new AbortController();
  let follow: string | null = null;
  const ordered = (): readonly SessionInfo[] => orderTop(state.frame, state.sort, Date.now());
  const current = (): SessionInfo | undefined => {
    const all = ordered();
    return all.find(({ session }) => session === state.selected) ?? all[0];
  };
  const screen = openOwnScreen(cli);
  const draw = (): void => {
    const { rows, columns } = cli.size();
    state.selected = current()?.session ?? null;
    if (state.shown) return screen.draw([...state.lines.slice(0, rows - 2), '', state.note ?? cli.out.dim(LOOK_KEYS)]);
    const note = state.typed === null ? state.note : `/ ${state.typed}▏`;
    const selected = cli.openKeys === null ? null : state.selected;
    const lines = topLines(cli.out, state.frame, { now: Date.now(), columns, rows, sort: state.sort, selected, note });
    screen.draw(lines);
  };
  const refresh = async (): Promise<void> => {
    state.frame = await look(state.frame.filter, state.frame);
    draw();
  };
  const tell = (note: string): void => {
    state.note = note;
    draw();
  };
  const attempt = async (act: () => Promise<string>): Promise<void> => {
    try {
      tell(await act());
      await refresh();
    } catch (error) {
      tell(oneLine(reasonOf(error), 300));
    }
  };
  const waiting = (session: SessionInfo): WaitingApproval | undefined =>
    state.frame.approvals.get(session.session)?.[0];
  const openLook = (session: SessionInfo): void => {
    state.shown = session;
    state.lines = lookLines(cli, session, waiting(session));
    draw();
  };
  /** Nothing is decided unseen: the first key shows the call, the second decides. */
  const decide = (session: SessionInfo, allow: boolean): void => {
    const call = waiting(session);
    if (!call) return tell('nothing waits for a decision there');
    if (state.shown === null) return openLook(session);
    if (call.question) return tell(`it is a question: \`${cli.self} answer ${session.session} ${call.call} "…"\``);
    state.shown = null;
    void attempt(async () => {
      const { sessions } = opened;
      await withTaker(cli, opened, session.taskQueue, () =>
        allow ? sessions.approve(call.session, call.call) : sessions.deny(call.session, call.call, DENIED),
      );
      return `${allow ? 'allowed' : 'denied'}: ${oneLine(call.tool, 40)} of ${oneLine(session.title, 60)}`;
    });
  };
  const move = (by: number): void => {
    const all = ordered();
    const at = all.findIndex(({ session }) => session === state.selected);
    state.selected = all[Math.max(0, Math.min(all.length - 1, at + by))]?.session ?? null;
  };
  const keys: Readonly<Record<string, (session: SessionInfo) => void>> = {
    up: () => move(-1),
    k: () => move(-1),
    down: () => move(1),
    j: () => move(1),
    pageup: () => move(-10),
    pagedown: () => move(10),
    return: ({ session }) => {
      follow = session;
      left.abort();
    },
    l: openLook,
    space: openLook,
    a: (session) => decide(session, true),
    d: (session) => decide(session, false),
    i: ({ session, title }) =>
      void attempt(async () => {
        await opened.sessions.interrupt(session);
        return `asked to stop: ${oneLine(title, 60)}`;
      }),
    o: ({ session }) =>
      void attempt(async () => {
        const { openPageAt } = await import('../open-page.ts');
        let address = 'opened in the browser';
        await openPageAt({ ...cli, print: (text) => (address = text.trim()), say: () => undefined }, session);
        return address;
      }),
    s: () => {
      state.sort = SORTS[(SORTS.indexOf(state.sort) + 1) % SORTS.length] ?? 'age';
      state.note = `sorted by ${state.sort}`;
    },
  };
  const onKey = (typed: string | undefined, key: KeyPress): void => {
    if (key.ctrl && key.name === 'c') return left.abort();
    if (state.typed !== null) typeFilter(state, typed, key, () => void refresh(), tell);
    else if (key.name === 'q' || key.name === 'escape') {
      if (state.shown) state.shown = null;
      else left.abort();
    } else if (typed === '/') state.typed = state.frame.filter;
    else {
      state.note = null;
      const session = state.shown ?? current();
      if (session) keys[key.name ?? '']?.(session);
    }
    draw();
  };
  const keyboard = cli.openKeys?.() ?? null;
  keyboard?.start(onKey);
  const stop = AbortSignal.any([left.signal, cli.unread]);
  try {
    draw();
    while (!stop.aborted) {
      await sleep(everyMs, undefined, { signal: stop }).catch(() => undefined);
      if (!stop.aborted) await refresh();
    }
  } finally {
    keyboard?.stop();
    screen.close();
  }
  return { status: cli.unread.aborted ? STATUS.unread : STATUS.ok, follow };
}

const LOOK_KEYS = 'a allow  d deny  i interrupt  ↵ follow  o open  q back';

function lookLines(cli: Cli, session: SessionInfo, call: WaitingApproval | undefined): readonly string[] {
  const { title, cwd, runs } = session;
  const head = [
    cli.out.bold(oneLine(title, 200)),
    cli.out.dim(`${session.session} · ${oneLine(cwd, 200)} · ${runs} runs`),
  ];
  if (!call) return [...head, '', `\`${cli.self} show ${session.session}\` prints what was said`];
  return [...head, '', ...callToDecideText(cli.out, call).split('\n'), '', `because: ${oneLine(call.reason, 300)}`];
}

function typeFilter(
  state: State,
  typed: string | undefined,
  { name, ctrl }: KeyPress,
  refresh: () => void,
  tell: (note: string) => void,
): void {
  const text = state.typed ?? '';
  if (name === 'escape') state.typed = null;
  else if (name === 'backspace') state.typed = text.slice(0, -1);
  else if (name === 'return') {
    try {
      parseFilter(text);
      state.typed = null;
      state.frame = { ...state.frame, filter: text.trim() };
      refresh();
    } catch (error) {
      state.typed = null;
      tell(reasonOf(error));
    }
  } else if (typed !== undefined && ctrl !== true && !/^\p{Cc}/u.test(typed)) state.typed = text + typed;
}
