// The frame around every page, and the small marks that show a state by a word and a colour.
import { raw } from 'hono/html';
import type { Child } from 'hono/jsx';
import { formatMoment } from '../client/faces/basics.ts';
import { viewerNow } from './hosting/people.ts';
import { Icon } from './primitives.tsx';

/** Sections of the page, as the rail names them. */
type Section = 'inbox' | 'sessions' | 'agents' | 'schedules' | 'workers' | 'usage' | 'compare';

type Props = {
  readonly title: string;
  /** The section that the view belongs to. */
  readonly at?: Section;
  /** Path of the page's events, and the place up to which the page is drawn. */
  readonly feed?: { readonly path: string; readonly from: string };
  /** Changes are shown by drawing the page's parts anew. */
  readonly redrawn?: boolean;
  readonly scripts?: readonly string[];
  /** Sheets of the view itself, after the page's. */
  readonly styles?: readonly string[];
  /** Banners of the view, which stay in sight under the bar; a feed keeps them in `#banners`. */
  readonly banners?: Child;
  /** The filter that the view shows, in the field on top. */
  readonly filter?: string;
  /** Why that filter cannot be read. */
  readonly filterProblem?: string | undefined;
  /** Without the frame, for a person who has not signed in. */
  readonly bare?: boolean;
  readonly children: Child;
};

/**
 * Keeps htmx from running code in attributes and from adding styles, both of which the policy
 * forbids.
 */
const HTMX = JSON.stringify({ includeIndicatorCSS: false, history: false, defaultTimeout: 90_000 });

export function Layout(props: Props) {
  const { title, feed, redrawn = false, scripts = [], styles = [], bare = false, children } = props;
  const viewer = viewerNow();
  return (
    <>
      {raw('<!doctype html>')}
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="htmx-config" content={HTMX} />
          <title>{`${title} · Perdure`}</title>
          <link rel="icon" href="/static/icon.svg" type="image/svg+xml" />
          {['style.css', ...styles].map((name) => (
            <link rel="stylesheet" href={`/static/${name}`} />
          ))}
          <script src="/static/htmx.js" defer />
          {['page.js', ...(bare ? [] : ['frame.js']), ...scripts].map((name) => (
            <script src={`/static/${name}`} type="module" />
          ))}
        </head>
        <body
          class={bare ? 'bare' : undefined}
          data-feed={feed?.path}
          data-from={feed?.from}
          data-redrawn={redrawn ? '' : undefined}
          data-role={viewer?.role}
          data-owner={viewer?.name === null ? '' : undefined}
        >
          <a class="skip unseen" href="#main">
            Skip to the content
          </a>
          {bare ? <main id="main">{children}</main> : <Frame {...props} />}
          <div id="said" role="status" aria-live="polite" />
          <KeyList />
        </body>
      </html>
    </>
  );
}

export function Brand() {
  return (
    <a class="brand" href="/">
      <svg viewBox="0 0 18 18" aria-hidden="true">
        <path d="M9 2a7 7 0 1 1-7 7M9 8.9v.2" />
      </svg>
      <span>Perdure</span>
    </a>
  );
}

const SECTIONS: readonly (readonly [section: Section, path: string, name: string])[] = [
  ['inbox', '/inbox', 'Inbox'],
  ['sessions', '/', 'Sessions'],
  ['agents', '/agents', 'Agents'],
  ['schedules', '/schedules', 'Schedules'],
  ['workers', '/workers', 'Workers'],
  ['usage', '/usage', 'Usage'],
  ['compare', '/compare', 'Compare'],
];

const sectionsOf = (viewer: ReturnType<typeof viewerNow>) =>
  SECTIONS.filter(([section]) => section !== 'agents' || viewer?.hasAgents === true);

function Frame({ at, banners, filter = '', filterProblem, children }: Props) {
  const sections = sectionsOf(viewerNow());
  const current = (section: Section) => (section === at ? 'page' : undefined);
  return (
    <>
      <header class="top">
        <Brand />
        <form class="find" role="search" data-go="/" id="find">
          <Icon name="search" />
          <input
            id="search"
            name="q"
            type="search"
            value={filter}
            aria-label="Search sessions, or filter"
            autocomplete="off"
            spellcheck={false}
            aria-invalid={filterProblem === undefined ? undefined : 'true'}
            aria-describedby={filterProblem === undefined ? undefined : 'filter-problem'}
            placeholder="Search sessions, or filter: phase:waiting cost&gt;1 tag:team=web"
          />
          <kbd>/</kbd>
          {filterProblem === undefined ? null : (
            <p id="filter-problem" class="pop bad" role="alert">
              {filterProblem}
            </p>
          )}
        </form>
        <a class="health" id="health" href="/workers" title="Status of server, store and workers">
          <i class="light" id="light" />
          <span id="figures-of-health" />
        </a>
        <button type="button" class="first" data-needs="steer" data-opens="new-task" aria-haspopup="dialog">
          <Icon name="plus" />
          New task <kbd>n</kbd>
        </button>
      </header>
      <div class="app">
        <nav class="rail" aria-label="Sections">
          {sections.map(([section, path, name]) => (
            <a href={path} aria-current={current(section)} title={name}>
              <Icon name={section} />
              <span>{name}</span>
              <b class={section === 'inbox' ? 'count hot far' : 'count far'} data-count={section} />
            </a>
          ))}
          <h2>Views</h2>
          <ul id="views" data-views />
          <template id="view-icon">
            <Icon name="view" />
          </template>
          <div class="rail-foot">
            <button type="button" data-notify aria-pressed="false" title="Notify me when something new waits">
              <Icon name="bell" />
              <span>Notify me</span>
            </button>
            <button type="button" data-keys aria-haspopup="dialog" title="Keys">
              <Icon name="keys" />
              <span>Keys</span> <kbd class="far">?</kbd>
            </button>
          </div>
        </nav>
        <div class="page">
          <div class="banners" role="region" aria-label="Notices">
            <div id="alarms" />
            <div id="banners" data-fresh>
              {banners}
            </div>
          </div>
          <main id="main">{children}</main>
        </div>
      </div>
      <nav class="bottom" aria-label="Sections, at the bottom">
        <a href="/inbox" aria-current={current('inbox')}>
          <Icon name="inbox" />
          <b class="count" data-count="inbox" />
          Inbox
        </a>
        <a href="/" aria-current={current('sessions')}>
          <Icon name="sessions" />
          Sessions
        </a>
        <button type="button" data-needs="steer" data-opens="new-task" aria-haspopup="dialog">
          <Icon name="plus" />
          New
        </button>
        <button type="button" data-opens="more" aria-haspopup="dialog">
          <Icon name="more" />
          More
        </button>
      </nav>
      <dialog id="more" aria-label="More">
        <ul class="more-list">
          {sections.slice(2).map(([, path, name]) => (
            <li>
              <a href={path}>{name}</a>
            </li>
          ))}
        </ul>
        <h2>Views</h2>
        <ul class="more-list" data-views />
        <form method="dialog">
          <button>Close</button>
        </form>
      </dialog>
      <dialog id="new-task" aria-labelledby="new-task-title" data-from="/tasks/new" />
    </>
  );
}

const KEYS: readonly (readonly [keys: string, what: string])[] = [
  ['?', 'Show this list'],
  ['/', 'Search or filter sessions'],
  ['n', 'New task'],
  ['j / k', 'Next or previous row, call or message'],
  ['[ / ]', 'Previous or next turn'],
  ['z', 'Undo a decision, reset the zoom, or collapse what’s open'],
  ['t', 'Timeline, and back'],
  ['Enter or o', 'Open'],
  ['x', 'Select or deselect the row'],
  ['f', 'Find in the session'],
  ['r', 'Message the session'],
  ['a / d', 'Allow or deny the waiting call'],
  ['a y', 'Allow a call marked “look twice”'],
  ['w / e', 'Always allow, or edit the input'],
  ['1 … 9', 'Choose this answer'],
  ['i', 'Interrupt'],
  ['p', 'Show or hide the plots'],
  ['g i', 'Go to the inbox'],
  ['g f', 'Go to sessions'],
  ['g s', 'Go to schedules'],
  ['g w', 'Go to workers'],
  ['g u', 'Go to usage'],
  ['g a', 'Go to the waiting call'],
  ['g e', 'Go to the end'],
  ['Esc', 'Leave the field or close the dialog'],
];

function KeyList() {
  return (
    <dialog id="keys" aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl class="facts">
        {KEYS.map(([keys, what]) => (
          <>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </>
        ))}
      </dl>
      <form method="dialog">
        <button>Close</button>
      </form>
    </dialog>
  );
}

/** Shows a moment, relative on the screen and absolute on hover; the page keeps it up to date. */
export function Moment({ at }: { readonly at: number }) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>{formatMoment(at)}</span>;
  return (
    <time datetime={date.toISOString()} title={formatMoment(at)} data-at={String(at)}>
      {formatMoment(at).slice(0, 16)}
    </time>
  );
}

/** Puts a text on the clipboard. */
export function Copy({ text, what }: { readonly text: string; readonly what: string }) {
  return (
    <button type="button" class="plain copy" data-copy={text} title={text}>
      {what}
    </button>
  );
}

/** Renders an element as text. */
export function htmlOf(element: unknown): string {
  return (element as { toString(): string }).toString();
}
