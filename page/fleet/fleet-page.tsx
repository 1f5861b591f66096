// Shows all sessions: figures over time and what waits for a person on top, below them a live page
// of the list.
import { raw } from 'hono/html';
import { Layout } from '../layout.tsx';
import { FLEET, type FleetFeed } from './fleet-feed.tsx';
import {
  fleetAddress,
  fleetQuery,
  type FleetView,
  type Grouping,
  groupings,
  type ViewSpan,
  spans,
  wholeFilter,
} from './fleet-view.ts';
import { columnList, Headings } from './session-row.tsx';

type FleetProps = {
  /** The filter that the person wrote, and why it cannot be read; the page shows all without it. */
  readonly refused?: { readonly filter: string; readonly problem: string } | undefined;
};

export function fleetPage(feed: FleetFeed, { refused }: FleetProps = {}) {
  const { parts, ring, view, next } = feed;
  const into = (container: string) => raw(parts.flatMap((part) => (part.into === container ? part.html : [])).join(''));
  const from = `${ring.epoch}.${ring.now}`;
  return (
    <Layout
      title="Sessions"
      at="sessions"
      feed={{ path: `/live?${fleetQuery(view)}&`, from }}
      scripts={['live.js', 'times.js', 'keys.js', 'fleet.js']}
      styles={['sessions.css']}
      banners={into(FLEET.banners)}
      filter={refused?.filter ?? view.filter}
      filterProblem={refused?.problem}
    >
      <header class="row fleet-head">
        <h1>Sessions</h1>
        <small class="inline">live</small>
        <nav class="choice far" aria-label="Time that the plots show">
          {(Object.keys(spans) as ViewSpan[]).map((span) => (
            <a href={fleetAddress(view, { span })} aria-current={span === view.span ? 'page' : undefined}>
              {span.replace(/(\d+)/, '$1 ')}
            </a>
          ))}
        </nav>
        <button type="button" class="plain small wide-only" data-plots aria-pressed="false">
          <span data-plots-word>Hide plots</span> <kbd>p</kbd>
        </button>
      </header>
      <div id={FLEET.cards} data-fresh>
        {into(FLEET.cards)}
      </div>
      <div id={FLEET.needs} data-fresh>
        {into(FLEET.needs)}
      </div>
      <div class="row fleet-bar">
        <div id={FLEET.tabs} class="grow" data-fresh>
          {into(FLEET.tabs)}
        </div>
        <ListTools view={view} />
      </div>
      <div class="list-place" inert={refused ? true : undefined}>
        <table
          class="sessions"
          id="sessions"
          data-filter={wholeFilter(view)}
          data-hidden={columnList.flatMap(([id, { shown: visible }]) => (visible ? [] : id)).join(' ')}
        >
          <caption class="unseen">Sessions</caption>
          <thead>
            <Headings view={view} />
          </thead>
          <tbody id={FLEET.rows} data-fresh>
            {into(FLEET.rows)}
          </tbody>
        </table>
        <div id={FLEET.notes} data-fresh>
          {into(FLEET.notes)}
        </div>
        <div id={FLEET.empty} data-fresh>
          {into(FLEET.empty)}
        </div>
      </div>
      {next === null ? null : (
        <p class="more">
          <a rel="next" href={fleetAddress(view, { after: next })}>
            Older sessions
          </a>
        </p>
      )}
      <BulkBar />
    </Layout>
  );
}

function ListTools({ view }: { readonly view: FleetView }) {
  return (
    <div class="row list-tools">
      <nav class="choice" aria-label="Layout">
        <a href={fleetAddress(view, { flat: false })} aria-current={view.flat ? undefined : 'true'}>
          Tree
        </a>
        <a href={fleetAddress(view, { flat: true })} aria-current={view.flat ? 'true' : undefined}>
          Flat
        </a>
      </nav>
      <details class="menu" id="grouping">
        <summary class="button small">{`Group: ${groupings[view.group]}`}</summary>
        <nav class="pop" aria-label="Group by">
          {(Object.keys(groupings) as Grouping[]).map((group) => (
            <a href={fleetAddress(view, { group })} aria-current={group === view.group ? 'true' : undefined}>
              {groupings[group]}
            </a>
          ))}
        </nav>
      </details>
      <details class="menu" id="columns">
        <summary class="button small">Columns</summary>
        <fieldset class="pop">
          <legend class="unseen">Columns to show</legend>
          {columnList.map(([id, { name, shown: visible }]) => (
            <label class="row">
              <input type="checkbox" name="column" value={id} checked={visible} /> {name}
            </label>
          ))}
        </fieldset>
      </details>
      <button type="button" class="plain small" data-save-view>
        Save view
      </button>
    </div>
  );
}

function BulkBar() {
  return (
    <div class="bulk" id="bulk" role="group" aria-label="With the selected sessions" hidden>
      <span id="picked" role="status" />
      <button type="button" class="small" data-all-matching hidden />
      {['Interrupt', 'Resume'].map((name) => (
        <button type="button" class="small" data-needs="steer" data-bulk={name.toLowerCase()}>
          {name}
        </button>
      ))}
      <button type="button" class="small" data-compare>
        Compare
      </button>
      <button type="button" class="small plain" data-unpick>
        Clear selection
      </button>
      <button type="button" class="small bad far" data-needs="steer" data-bulk="cancel">
        End…
      </button>
    </div>
  );
}
