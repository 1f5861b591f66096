// Lists what happened to sessions between two looks, a line each: which began, wait for a person,
// were parked, continued, ended a run, or were closed. Of many at once it names some and counts the
// others. Pure.
import { isBadEnd } from '../../workflows/contract/visibility.ts';
import type { PendingApproval } from '../../workflows/contract/session.ts';
import { type Paint, truncateWithCount, oneLine } from '../paint.ts';
import { isUnderWay, phaseText, type SessionInfo } from '../sessions/info.ts';
import { formatCount, formatMoment, formatMoney } from '../units.ts';
import { approvalHint, ofAgent } from './approval-text.ts';
import { endWords } from './ending-words.ts';

/** Sessions by id, each as it was last seen. */
export type NewsLook = ReadonlyMap<string, SessionInfo>;

export type Looks = {
  /** The look before; null at the first. */
  readonly before: NewsLook | null;
  readonly now: NewsLook;
  /**
   * Milliseconds since the epoch. At the first look older sessions are news only if they wait for a
   * person.
   */
  readonly since: number;
};

type NewsStyle = {
  readonly paint: Paint;
  /** Name by which the program is called. */
  readonly self: string;
  /** The time, for the beginning of each line. */
  readonly clock: string;
};

/** Most news of one kind in one look; the rest is counted. */
const NAMED = 8;
const NAMED_WAITS = 20;

/** Returns lines without line breaks. */
export function newsLines(looks: Looks, style: NewsStyle): readonly string[] {
  const news = newsOf(looks);
  return (Object.keys(others) as Kind[]).flatMap((kind) => {
    const of = news.filter((each) => each.kind === kind);
    const named = kind === 'waits' ? NAMED_WAITS : NAMED;
    const lines = of.slice(0, named).map((each) => newsLine(each, style));
    const left = of.length - lines.length;
    return left === 0 ? lines : [...lines, `${style.paint.dim(style.clock)} and ${others[kind](left, style.self)}`];
  });
}

type Kind = News['kind'];
type News = { readonly session: SessionInfo } & (
  | { readonly kind: 'begins' | 'parked' | 'ended' | 'closed' }
  /** `run` is the run that it goes on with; null means the one that was under way. */
  | { readonly kind: 'goes_on'; readonly run: number | null }
  | { readonly kind: 'waits'; readonly pending: PendingApproval }
);

/** Kinds in the order in which they are told. */
const others: Readonly<Record<Kind, (left: number, self: string) => string>> = {
  begins: (left) => formatCount(left, 'more begins', 'more begin'),
  ended: (left) => formatCount(left, 'more ended a run', 'more ended a run'),
  goes_on: (left) => formatCount(left, 'more goes on', 'more go on'),
  parked: (left) => formatCount(left, 'more is parked', 'more are parked'),
  closed: (left) => formatCount(left, 'more is closed', 'more are closed'),
  waits: (left, self) =>
    `${formatCount(left, 'more call waits', 'more calls wait')} for a person: \`${self} approvals\``,
};

function newsOf({ before, now, since }: Looks): readonly News[] {
  const knownCalls = new Set([...(before?.values() ?? [])].flatMap((session) => callsOf(session).map(({ id }) => id)));
  // An agent's call is decided at the session that a person began.
  const inOrder = [...now.values()].toSorted((one, other) => Number(isAgents(one)) - Number(isAgents(other)));
  return inOrder.flatMap((session) => {
    const known = before?.get(session.session);
    const isOld = before === null && session.startedAt < since;
    const changes = isOld || isAgents(session) ? [] : changesOf(known, session, since);
    const waits = callsOf(session).filter(({ id }) => !knownCalls.has(id));
    for (const { id } of waits) knownCalls.add(id);
    return [...changes, ...waits.map(({ pending }) => ({ kind: 'waits', session, pending }) as const)];
  });
}

const isAgents = ({ facts }: SessionInfo): boolean => facts?.agent !== undefined;

/** Lists the waiting calls. An agent's call is listed in two sessions under the same id. */
function callsOf({ session, phase, approvals = [] }: SessionInfo) {
  if (phase === 'closed') return [];
  return approvals.map((pending) => {
    const { session: in_, call } = pending.agent ?? { session, call: pending.call };
    return { id: `${in_} ${call}`, pending };
  });
}

function changesOf(known: SessionInfo | undefined, session: SessionInfo, since: number): readonly News[] {
  const isNew = known === undefined && session.startedAt >= since;
  const lastRun = session.last?.run ?? 0;
  const lastRunBefore = known !== undefined || isNew ? (known?.last?.run ?? 0) : lastRun;
  return [
    ...(isNew ? [{ kind: 'begins', session } as const] : []),
    ...(lastRun > lastRunBefore ? [{ kind: 'ended', session } as const] : []),
    ...phaseNews(known, session, isNew),
  ];
}

function phaseNews(known: SessionInfo | undefined, session: SessionInfo, isNew: boolean): readonly News[] {
  const { phase, parkedUntil = 0, runs } = session;
  switch (phase) {
    case 'closed':
      return known?.phase === 'closed' || (known === undefined && !isNew) ? [] : [{ kind: 'closed', session }];
    case 'parked': {
      const isSame = known?.phase === 'parked' && parkedUntil <= (known.parkedUntil ?? 0);
      return isSame ? [] : [{ kind: 'parked', session }];
    }
    case 'running':
    case 'waiting_worker': {
      const ranBefore = known?.runs ?? (isNew ? 1 : 0);
      if (runs > Math.max(ranBefore, 1) || (known === undefined && !isNew))
        return [{ kind: 'goes_on', session, run: runs }];
      const stood = known?.phase === 'parked' || known?.phase === 'waiting_approval';
      return stood ? [{ kind: 'goes_on', session, run: null }] : [];
    }
    case 'waiting_approval':
    case 'idle':
      return [];
  }
}

function newsLine(news: News, style: NewsStyle): string {
  const { paint, clock } = style;
  const { session: id, title } = news.session;
  return `${paint.dim(clock)} ${oneLine(id, 100)} ${paint.dim(`"${oneLine(title, 60)}"`)} ${newsText(news, style)}`;
}

function newsText(news: News, { paint, self }: NewsStyle): string {
  const { session } = news;
  switch (news.kind) {
    case 'begins':
      return `begins in ${oneLine(session.cwd, 200)}`;
    case 'goes_on':
      return news.run === null ? 'goes on' : `goes on with run ${news.run}`;
    case 'parked':
      return paint.yellow(parkingText(session));
    case 'ended':
      return endText(paint, session);
    case 'closed': {
      const how = phaseText(session);
      return [how === 'closed' ? 'is closed' : `is closed: ${how}`, ...factsText(session)].join(' · ');
    }
    case 'waits':
      return paint.yellow(waitsText(session, news.pending, self));
  }
}

const parkingText = ({ parkedUntil }: SessionInfo): string =>
  parkedUntil === undefined ? 'is parked' : `is parked until ${formatMoment(parkedUntil)}`;

/** Anyone can write to visibility, so a value that is not a number is left out. */
function endText(paint: Paint, { last, facts }: SessionInfo): string {
  if (last === null) return 'ended a run';
  const { run, terminal, turns } = last;
  const detail =
    'detail' in terminal && typeof terminal.detail === 'string' ? `: ${oneLine(terminal.detail, 200)}` : '';
  const cost = facts === undefined ? [] : [`${moneyOf(facts.cents)}${run > 1 ? ' in all' : ''}`];
  const parts = [
    endWords(terminal) + detail,
    ...(Number.isInteger(turns) ? [formatCount(turns, 'turn')] : []),
    ...cost,
  ];
  const text = `run ${run} ended: ${parts.join(' · ')}`;
  return isBadEnd(terminal) ? paint.red(text) : text;
}

/** Totals over all its runs. */
const factsText = ({ facts }: SessionInfo): readonly string[] =>
  facts === undefined ? [] : [formatCount(facts.turns, 'turn'), moneyOf(facts.cents)];

const moneyOf = (cents: number | null): string => formatMoney(cents === null ? null : cents / 100);

function waitsText({ session }: SessionInfo, pending: PendingApproval, self: string): string {
  const { call, tool, reason, question } = pending;
  const where = { session, call: oneLine(call, 100), ...(question && { question }) };
  const asks = question
    ? `asks a question${ofAgent(pending)}`
    : `wants ${oneLine(tool, 60)}${ofAgent(pending)}, because: ${truncateWithCount(reason, 200)}`;
  return `${asks}; ${approvalHint(where, self)}`;
}

/** Tells whether the next look must find the session again because it is about to change. */
export const mustBeFound = (session: SessionInfo): boolean => isUnderWay(session) && !isAgents(session);
