// Orders what waits for a person by urgency, with what the list shows of each. Pure.
import type { WaitingApproval } from '../../client/faces/types.ts';
import { createAlwaysRules, rulesFor } from '../../client/faces/rules.ts';
import { runOf } from '../call-views/call-place.ts';
import { alikeKey, summarizeCall, type CallSummary } from '../call-views/call-summary.ts';

/** The session in which a call waits. */
export type ItemSession = {
  readonly title: string;
  readonly cwd: string;
  readonly tags: readonly string[];
};

export type InboxItem = {
  /** Identifies the call and its input in the page. */
  readonly id: string;
  readonly approval: WaitingApproval;
  readonly session: ItemSession;
  readonly summary: CallSummary;
  /** Denied or passed over by itself within the hour. */
  readonly isSoon: boolean;
  /** Other calls that wait and are like it, without itself. */
  readonly alike: readonly WaitingApproval[];
};

const SOON_MS = 3_600_000;

const inboxItemId = ({ session, call }: Pick<WaitingApproval, 'session' | 'call'>): string =>
  `item-${session}/${encodeURIComponent(call)}`;

/**
 * Orders what waits: first what is soon denied by itself, then what waits longest. What is alike
 * stands together, at the place of the first.
 */
export function inboxItems(
  waiting: readonly WaitingApproval[],
  sessionOf: (approval: WaitingApproval) => ItemSession,
  now: number,
): readonly InboxItem[] {
  const isSoon = ({ deadline }: WaitingApproval): boolean => deadline - now < SOON_MS;
  const age = ({ askedAt = now, deadline }: WaitingApproval): number => askedAt || deadline;
  const ordered = waiting.toSorted(
    (one, other) =>
      Number(isSoon(other)) - Number(isSoon(one)) ||
      (isSoon(one) ? one.deadline - other.deadline : age(one) - age(other)),
  );
  const groups = new Map<string, WaitingApproval[]>();
  for (const approval of ordered) {
    const like = approval.problem === undefined ? alikeKey(approval) : null;
    const key = like === null ? inboxItemId(approval) : `${isSoon(approval)} ${like}`;
    groups.set(key, [...(groups.get(key) ?? []), approval]);
  }
  return [...groups.values()].flatMap((group) =>
    group.map((approval) => ({
      id: inboxItemId(approval),
      approval,
      session: sessionOf(approval),
      summary: summarizeCall(approval),
      isSoon: isSoon(approval),
      alike: group.filter((other) => other !== approval),
    })),
  );
}

export type OfferedRule = {
  readonly rule: string;
  readonly says: string;
  /**
   * Calls that wait now and that the rule covers, itself included: in its session, in its folder.
   */
  readonly covers: { readonly session: number; readonly folder: number };
};

const WIDTHS = ['only this', 'more like it', 'every call of the tool'] as const;

/** Offers rules for a call, from narrow to wide, with how much of what waits each would cover. */
export function offerRules(
  { approval, session }: Pick<InboxItem, 'approval' | 'session'>,
  all: readonly InboxItem[],
): readonly OfferedRule[] {
  const rules = rulesFor(approval);
  const inFolder = all.filter((item) => item.session.cwd === session.cwd);
  return rules.map((rule, nth) => ({
    rule,
    says: nth === rules.length - 1 && rule === approval.tool ? WIDTHS[2] : nth === 0 ? WIDTHS[0] : WIDTHS[1],
    covers: {
      session: inFolder.filter((item) => runOf(item.approval) === runOf(approval) && isCovered(rule, item)).length,
      folder: inFolder.filter((item) => isCovered(rule, item)).length,
    },
  }));
}

/** Tells whether a rule certainly covers a call that waits. */
export function isCovered(rule: string, { approval, session }: Pick<InboxItem, 'approval' | 'session'>): boolean {
  const always = createAlwaysRules();
  always.in(session.cwd);
  always.add(rule);
  return always.ruleThatCovers(approval) !== null;
}
