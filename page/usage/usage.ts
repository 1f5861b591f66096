// Adds up what sessions took, by day, model, agent type and tag, from the list of sessions. Pure
// but for `readUsage`.
import type { SessionInfo, PerdureClient } from '../../client/faces/types.ts';
import { tagValues } from '../../client/faces/contract.ts';

export type UsageRow = {
  readonly name: string;
  readonly sessions: number;
  readonly turns: number;
  readonly tokens: number;
  /** US cents; what has no known price counts as nothing. */
  readonly cents: number;
};

export const groups = { day: 'Day', model: 'Model', agent: 'Agent type', tag: 'Tag' } as const;
export type Group = keyof typeof groups;

export type UsageSums = Readonly<Record<Group, readonly UsageRow[]>> & {
  readonly total: UsageRow;
  /** True when there were more sessions than are added up. */
  readonly cut: boolean;
};

const MOST_PAGES = 10;
const PAGE = 1_000;

export async function readUsage(ports: Pick<PerdureClient, 'page'>, days: number): Promise<UsageSums> {
  const { sessions, cut } = await readStartedSince(ports, days * 24);
  return { ...addToUsage(sessions), cut };
}

/** Reads the sessions that began in the last hours; `cut` when there are more than it reads. */
export async function readStartedSince(
  { page }: Pick<PerdureClient, 'page'>,
  hours: number,
): Promise<{ readonly sessions: readonly SessionInfo[]; readonly cut: boolean }> {
  const found: SessionInfo[] = [];
  let after: string | undefined;
  let pages = 0;
  do {
    const part = await page({
      filter: `age<${hours}h`,
      size: PAGE,
      running: true,
      ...(after === undefined ? {} : { after }),
    });
    found.push(...part.sessions);
    after = part.next ?? undefined;
  } while (after !== undefined && (pages += 1) < MOST_PAGES);
  return { sessions: found, cut: after !== undefined };
}

type SessionTake = {
  readonly session: SessionInfo;
  readonly turns: number;
  readonly tokens: number;
  readonly cents: number;
};

/**
 * A session's numbers have those of the agents it called in them, so that each is counted as what
 * it took itself.
 */
export function computeShares(sessions: readonly SessionInfo[]): readonly SessionTake[] {
  const byParent = new Map<string, SessionInfo[]>();
  for (const session of sessions) {
    const parent = session.facts?.agent?.parent;
    if (parent !== undefined) byParent.set(parent, [...(byParent.get(parent) ?? []), session]);
  }
  return sessions.map((session) => {
    const called = byParent.get(session.session) ?? [];
    const left = (value: (one: SessionInfo) => number): number =>
      Math.max(0, value(session) - called.reduce((sum, one) => sum + value(one), 0));
    return {
      session,
      turns: session.facts?.turns ?? 0,
      tokens: left(({ facts }) => facts?.tokens ?? 0),
      cents: left(({ facts }) => facts?.cents ?? 0),
    };
  });
}

export function addToUsage(sessions: readonly SessionInfo[]): Omit<UsageSums, 'cut'> {
  const takes = computeShares(sessions);
  const tagsOf = ({ session: { facts } }: SessionTake): readonly string[] => {
    const tags = tagValues(facts?.tags ?? {});
    return tags.length === 0 ? ['(no tag)'] : tags;
  };
  return {
    day: addBy(takes, ({ session }) => [new Date(session.startedAt).toISOString().slice(0, 10)]).toSorted(
      (one, other) => (one.name < other.name ? 1 : -1),
    ),
    model: byCost(addBy(takes, ({ session }) => [session.facts?.model ?? '(not known)'])),
    agent: byCost(addBy(takes, ({ session }) => [session.facts?.agent?.type ?? '(no agent)'])),
    tag: byCost(addBy(takes, tagsOf)),
    total: addBy(takes, () => ['Total'])[0] ?? { name: 'Total', sessions: 0, turns: 0, tokens: 0, cents: 0 },
  };
}

function addBy(takes: readonly SessionTake[], namesOf: (one: SessionTake) => readonly string[]): readonly UsageRow[] {
  const rows = new Map<string, UsageRow>();
  for (const one of takes)
    for (const name of namesOf(one)) {
      const known = rows.get(name) ?? { name, sessions: 0, turns: 0, tokens: 0, cents: 0 };
      rows.set(name, {
        name,
        sessions: known.sessions + 1,
        turns: known.turns + one.turns,
        tokens: known.tokens + one.tokens,
        cents: known.cents + one.cents,
      });
    }
  return [...rows.values()];
}

const byCost = (rows: readonly UsageRow[]): readonly UsageRow[] =>
  rows.toSorted((one, other) => other.cents - one.cents || other.tokens - one.tokens);

/** Writes all groups as one table; a spreadsheet takes no cell of it for a formula. */
export function usageCsv(usage: UsageSums): string {
  const cell = (text: string): string => {
    const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
  };
  const rows = (Object.keys(groups) as Group[]).flatMap((group) =>
    usage[group].map(({ name, sessions, turns, tokens, cents }) =>
      [group, cell(name), sessions, turns, tokens, (cents / 100).toFixed(4)].join(','),
    ),
  );
  return ['group,name,sessions,turns,tokens,usd', ...rows, ''].join('\r\n');
}
