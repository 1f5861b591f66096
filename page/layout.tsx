// The frame around every page, and the small marks that show a state by a word and a colour.
import { raw } from 'hono/html';
import type { Child } from 'hono/jsx';
import type { TerminalReason } from '../workflows/contract/loop.ts';
import { reasonText } from '../client/render/words.ts';
import { phaseText, type SessionInfo } from '../client/sessions/info.ts';
import { formatMoment } from '../client/units.ts';

type Props = {
  readonly title: string;
  /** Path of the page's events, and the place up to which the page is drawn. */
  readonly feed?: { readonly path: string; readonly from: string };
  /** Changes are shown by drawing the page's parts anew. */
  readonly redrawn?: boolean;
  readonly scripts?: readonly string[];
  readonly children: Child;
};

/**
 * Keeps htmx from running code in attributes and from adding styles, both of which the policy
 * forbids.
 */
const HTMX = JSON.stringify({ includeIndicatorCSS: false, history: false, defaultTimeout: 90_000 });

export function Layout({ title, feed, redrawn = false, scripts = [], children }: Props) {
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
          <link rel="stylesheet" href="/static/style.css" />
          <script src="/static/htmx.js" defer />
          {['page.js', ...scripts].map((name) => (
            <script src={`/static/${name}`} type="module" />
          ))}
        </head>
        <body data-feed={feed?.path} data-from={feed?.from} data-redrawn={redrawn ? '' : undefined}>
          <a class="skip" href="#main">
            Skip to the content
          </a>
          <header class="top">
            <a class="brand" href="/">
              Perdure
            </a>
            <a href="/schedules">Schedules</a>
            <span id="connection" role="status" />
            <button type="button" class="plain" data-keys aria-haspopup="dialog">
              Keys <kbd>?</kbd>
            </button>
          </header>
          <main id="main">{children}</main>
          <div id="said" role="status" aria-live="polite" />
          <KeyList />
        </body>
      </html>
    </>
  );
}

const KEYS: readonly (readonly [keys: string, what: string])[] = [
  ['?', 'Show this list'],
  ['j / k', 'Next or previous row, call or message'],
  ['Enter or o', 'Open it'],
  ['/', 'Search, or write to the session'],
  ['g f', 'Go to all sessions'],
  ['g s', 'Go to the schedules'],
  ['g a', 'Go to what waits for a decision'],
  ['g e', 'Go to the end'],
  ['i', 'Interrupt'],
  ['Esc', 'Leave the field, close the list'],
];

function KeyList() {
  return (
    <dialog id="keys" aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl>
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

const phases: Readonly<Record<string, string>> = {
  running: 'busy',
  waiting: 'warn',
  parked: 'warn',
  idle: 'good',
  closed: 'quiet',
};

export function Phase({ session }: { readonly session: Pick<SessionInfo, 'status' | 'phase' | 'parkedUntil'> }) {
  const text = phaseText(session);
  // A session that was ended by force has a word of its own.
  return <span class={`dot ${phases[text.split(' ', 1)[0] ?? ''] ?? 'bad'}`}>{text}</span>;
}

export function Reason({ reason }: { readonly reason: TerminalReason | null }) {
  if (reason === null) return <span class="quiet">–</span>;
  const kind = reason === 'completed' ? 'good' : reason.startsWith('aborted') ? 'warn' : 'bad';
  return <span class={`dot ${kind}`}>{reasonText(reason)}</span>;
}

/** Renders an element as text. */
export function htmlOf(element: unknown): string {
  return (element as { toString(): string }).toString();
}
