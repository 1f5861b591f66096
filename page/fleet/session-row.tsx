// A row of the list of sessions, and the headings above: what each does now, and its figures.
import { showUnseen } from '../../system/text.ts';
import type { SessionInfo } from '../../client/faces/types.ts';
import { isAtLeast } from '../../client/faces/lists.ts';
import { contextShare } from '../../client/faces/words.ts';
import { formatMoney } from '../../client/faces/basics.ts';
import { tagValues } from '../../client/faces/contract.ts';
import { hashOf } from '../../client/faces/sessions.ts';
import { Age, formatNumber, HourPlot, MeterBar, shortAmount, TimedText } from '../figures.tsx';
import { Icon } from '../primitives.tsx';
import { type FleetView, fleetAddress, sortColumnOf, sortOf } from './fleet-view.ts';
import { doesNow, stateOf, stateOfTree } from './session-state.ts';
import { lastSignOf, type RunEnds, type SessionGroup, type TreeRow } from './urgency.ts';

/** Columns behind the task. `sort` is the order of a first press on the heading. */
const columns = {
  tags: { name: 'Tags', shown: true },
  folder: { name: 'Folder', shown: false },
  model: { name: 'Model', shown: false, sort: 'model' },
  begun: { name: 'Started', shown: true, sort: 'age', number: true },
  hour: { name: 'Last hour', shown: true },
  sign: { name: 'Last activity', shown: true, sort: '-idle', number: true },
  runs: { name: 'Runs', shown: false, sort: '-runs', number: true },
  turns: { name: 'Turns', shown: true, sort: '-turns', number: true },
  context: { name: 'Context', shown: true },
  tokens: { name: 'Tokens', shown: true, sort: '-tokens', number: true },
  cost: { name: 'Cost', shown: true, sort: '-cost', number: true },
} as const satisfies Readonly<
  Record<string, { readonly name: string; readonly shown: boolean; readonly sort?: string; readonly number?: true }>
>;

type ColumnName = keyof typeof columns;
type Column = { readonly name: string; readonly shown: boolean; readonly sort?: string; readonly number?: true };

export const columnList = Object.entries(columns) as readonly (readonly [ColumnName, Column])[];

export const sessionRowId = (session: string): string => `row-${session}`;

export function Headings({ view }: { readonly view: FleetView }) {
  return (
    <tr>
      <th class="pick">
        <input type="checkbox" id="all" aria-label="Select all on this page" />
      </th>
      <th class="state-cell">
        <span class="unseen">State</span>
      </th>
      <Heading name="Task, and what it does now" sort="title" view={view} className="task" />
      {columnList.map(([id, { name, sort, number }]) => (
        <Heading
          name={name}
          sort={sort}
          view={view}
          className={`column-${id}${number === undefined ? '' : ' number'}`}
        />
      ))}
    </tr>
  );
}

type HeadingProps = {
  readonly name: string;
  readonly sort: string | undefined;
  readonly view: FleetView;
  readonly className: string;
};

/** A press sorts; another turns the order around. */
function Heading({ name, sort, view, className }: HeadingProps) {
  if (sort === undefined)
    return (
      <th scope="col" class={className}>
        {name}
      </th>
    );
  const field = sort.replace(/^-/, '');
  const now = sortOf(view.filter);
  const isSorted = now === field || now === `-${field}`;
  const other = now === sort ? (sort.startsWith('-') ? field : `-${field}`) : sort;
  const order = now?.startsWith('-') ? 'descending' : 'ascending';
  return (
    <th scope="col" class={className} aria-sort={isSorted ? order : undefined}>
      <a href={fleetAddress(view, { filter: sortColumnOf(view.filter, other) })}>
        {name}
        {isSorted ? <span aria-hidden="true">{now?.startsWith('-') ? ' ↓' : ' ↑'}</span> : null}
      </a>
    </th>
  );
}

type RowProps = { readonly row: TreeRow; readonly now: number; readonly ends: RunEnds };

export function SessionRow({ row: { session, depth, below }, now, ends }: RowProps) {
  const { session: id, title, forkedFrom } = session;
  const name = showUnseen(title) || '(no title)';
  const own = stateOf(session, now);
  const state = stateOfTree(
    own,
    below.map((one) => stateOf(one, now)),
  );
  const asking = below.filter((one) => stateOf(one, now).word === state.word).length;
  const does = state === own ? doesNow(session) : `${asking} of ${below.length} agents: ${state.word}`;
  return (
    <tr id={sessionRowId(id)} data-row class={depth > 0 ? `agent-row depth-${depth}` : undefined}>
      <td class="pick">
        <input type="checkbox" name="session" value={id} aria-label={`Select ${name}`} />
      </td>
      <td class={`state-cell tone-${state.tone}`} title={state.word}>
        <Icon name={state.icon} />
        <span class="unseen">{state.word}</span>
      </td>
      <td class="task">
        <a class="cut" href={`/sessions/${encodeURIComponent(id)}`}>
          {name}
        </a>
        <small class={state.tone === 'fail' ? 'cut bad' : 'cut'} title={does}>
          {forkedFrom === undefined ? null : (
            <>
              <a href={`/sessions/${encodeURIComponent(forkedFrom.session)}`}>fork</a>
              {' · '}
            </>
          )}
          <TimedText text={does} />
        </small>
      </td>
      {columnList.map(([column, { name: label, number }]) => (
        <td class={`column-${column}${number === undefined ? '' : ' number'}`} data-label={label}>
          <Cell session={session} column={column} isSilent={state.word === 'silent'} ends={ends} />
        </td>
      ))}
    </tr>
  );
}

export const groupRowId = (name: string): string => `group-${hashOf(Buffer.from(name)).slice(0, 16)}`;

/** The heading of rows that have something in common, with what they took together. */
export function GroupRow({ name, rows }: SessionGroup) {
  const cents = rows.reduce((sum, { session }) => sum + (session.facts?.cents ?? 0), 0);
  return (
    <tr id={groupRowId(name)} class="group-row">
      <td colspan={columnList.length + 3}>
        {showUnseen(name.slice(0, 200))}{' '}
        <small class="inline">{`${formatNumber(rows.length)} · ${formatMoney(cents / 100)}`}</small>
      </td>
    </tr>
  );
}

type CellProps = {
  readonly session: SessionInfo;
  readonly column: ColumnName;
  readonly isSilent: boolean;
  readonly ends: RunEnds;
};

function Cell({ session, column, isSilent, ends }: CellProps) {
  const { facts, startedAt, cwd, runs, running } = session;
  const least = isAtLeast(session) ? '≥ ' : '';
  switch (column) {
    case 'tags':
      return (
        <>
          {tagValues(facts?.tags ?? {}).map((tag) => (
            <>
              <a class="chip tag" href={`/?q=${encodeURIComponent(`tag:${tag}`)}`}>
                {showUnseen(tag)}
              </a>{' '}
            </>
          ))}
        </>
      );
    case 'folder':
      return (
        <span class="cut folder" title={showUnseen(cwd)}>
          {showUnseen(cwd)}
        </span>
      );
    case 'model':
      return <>{showUnseen((facts?.model ?? '').slice(0, 60))}</>;
    case 'begun':
      return <Age at={startedAt} />;
    case 'hour':
      return running ? <HourPlot beats={running.lastHour} /> : <span class="quiet">–</span>;
    case 'sign': {
      const sign = lastSignOf(session, ends);
      if (sign === null) return <span class="quiet">–</span>;
      return (
        <span class={isSilent ? 'bad' : undefined}>
          <Age at={sign} />
        </span>
      );
    }
    case 'runs':
      return <>{formatNumber(runs)}</>;
    case 'turns':
      return <>{facts === undefined ? '' : `${least}${formatNumber(facts.turns)}`}</>;
    case 'context': {
      const share = running ? contextShare(running) : null;
      return share === null ? <span class="quiet">–</span> : <MeterBar share={share} name="of the context window" />;
    }
    case 'tokens':
      return <>{facts === undefined ? '' : `${least}${shortAmount(facts.tokens)}`}</>;
    case 'cost':
      return (
        <>{facts === undefined ? '' : `${least}${formatMoney(facts.cents === null ? null : facts.cents / 100)}`}</>
      );
  }
}
