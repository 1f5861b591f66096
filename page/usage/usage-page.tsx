// Shows what sessions took: by day, model, agent type and tag, with all of it as a table to load.
import { showUnseen } from '../../system/text.ts';
import { formatMoney } from '../../client/faces/basics.ts';
import { formatNumber, shortAmount } from '../figures.tsx';
import { Layout } from '../layout.tsx';
import { type Group, groups, type UsageSums, type UsageRow } from './usage.ts';

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
