// Shows what sessions took: by day, model, agent type and tag, with all of it as a table to load.
// Adds up what sessions took, by day, model, agent type and tag, from the list of sessions. Pure
// but for `readUsage`.
import { formatMoney } from '../../client/faces/basics.ts';
import { tagValues } from '../../client/faces/contract.ts';
import type { PerdureClient, SessionInfo } from '../../client/faces/types.ts';
import { showUnseen } from '../../system/text.ts';
import { formatNumber, shortAmount } from '../figures.tsx';
import { Layout } from '../layout.tsx';

export const DAYS: readonly number[] = [1, 7, 30, 90];

/** Rows of a group that are shown; the table to load has all. */
const MOST = 40;

export function usagePage(usage: UsageSums, days: number) {
  return (
    <Layout title="Usage" at="usage" scripts={['times.js', 'keys.js']} styles={['sessions.css']}>
      <header class="row fleet-head">
        <h1>Usage</h1>
        <small class="inline">of sessions started in this period</small>
        <nav class="choice far" aria-label="Days">
          {DAYS.map((each) => (
            <a href={`/usage?days=${each}`} aria-current={each === days ? 'page' : undefined}>
              {each === 1 ? '24 h' : `${each} d`}
            </a>
          ))}
        </nav>
        <a class="button small" href={`/usage.csv?days=${days}`} download>
          CSV
        </a>
      </header>
      <p>
        <b>{formatMoney(usage.total.cents / 100)}</b>{' '}
        <span class="quiet">{`${formatNumber(usage.total.sessions)} sessions and agents · ${formatNumber(usage.total.turns)} turns · ${shortAmount(usage.total.tokens)} tokens${usage.cut ? ' · newest 10,000 sessions only' : ''}`}</span>
      </p>
      {(Object.keys(groups) as Group[]).map((group) => (
        <UsageTable group={group} rows={usage[group]} />
      ))}
    </Layout>
  );
}

function UsageTable({ group, rows }: { readonly group: Group; readonly rows: readonly UsageRow[] }) {
  const most = Math.max(...rows.map(({ cents }) => cents), 1e-9);
  return (
    <>
      <h2>{`By ${groups[group].toLowerCase()}`}</h2>
      <div class="wide" tabindex={0} role="region" aria-label={`By ${groups[group].toLowerCase()}`}>
        <table class="amounts even">
          <thead>
            <tr>
              <th scope="col">{groups[group]}</th>
              <th>
                <span class="unseen">Share</span>
              </th>
              {['Sessions', 'Turns', 'Tokens', 'Cost'].map((name) => (
                <th scope="col" class="number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MOST).map(({ name, sessions, turns, tokens, cents }) => (
              <tr>
                <td>{showUnseen(name.slice(0, 120))}</td>
                <td class="share">
                  <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                    <rect class="track" width="100" height="8" />
                    <rect class="cost" width={((cents / most) * 100).toFixed(1)} height="8" />
                  </svg>
                </td>
                <td class="number">{formatNumber(sessions)}</td>
                <td class="number">{formatNumber(turns)}</td>
                <td class="number">{shortAmount(tokens)}</td>
                <td class="number">{cents > 0 && cents < 1 ? '< $0.01' : formatMoney(cents / 100)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > MOST ? <p class="quiet">{`${formatNumber(rows.length - MOST)} more in the CSV`}</p> : null}
      {rows.length === 0 ? <p class="quiet">No usage in this period.</p> : null}
    </>
  );
}

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
