// The shell around the pages of one session: a head that stays in view, the minimap, what stands
// next to the transcript, and at the foot what waits for a decision.
import { raw } from 'hono/html';
import type { Child } from 'hono/jsx';
import { showUnseen } from '../../system/text.ts';
import { ForkDialog } from './fork-from-here.tsx';
import type { SessionFeed } from '../feed/session-feed.ts';
import { Icon } from '../primitives.tsx';
import { Layout } from '../layout.tsx';
import { PLACES, sessionFrame } from './frame.tsx';
import { TagList } from './head.tsx';
import { AboutPart } from './inspector.tsx';
import { MapFrame } from './minimap.tsx';
import { RewindDialog } from './rewind-preview.tsx';
import { SteerForms } from './steer-forms.tsx';
import { LONGEST_ASIDE } from '../../client/faces/contract.ts';

const PARTS = {
  transcript: 'Transcript',
  timeline: 'Timeline',
  files: 'Files',
  agents: 'Agents',
  raw: 'Raw',
} as const;

type Props = {
  readonly feed: SessionFeed;
  /** Place in the feed up to which the page is drawn, taken before drawing. */
  readonly place: string;
  /** Address of the session in Temporal's own UI. */
  readonly ui: string | null;
  readonly part: keyof typeof PARTS;
  /** Stands at the foot of the screen, below what waits for a decision. */
  readonly foot?: Child;
  readonly children: Child;
};

export const placeIn = ({ ring }: SessionFeed): string => `${ring.epoch}.${ring.now}`;

export function SessionShell({ feed, place, ui, part, foot, children }: Props) {
  const { seen: description } = feed.standing;
  const name = showUnseen(description.title || description.session);
  const path = `/sessions/${description.session}`;
  const frame = sessionFrame(feed.standing);
  const into = (container: string) => raw(frame.flatMap((one) => (one.into === container ? one.html : [])).join(''));
  const isTranscript = part === 'transcript';
  return (
    <Layout
      title={isTranscript ? name : `${PARTS[part]} of ${name}`}
      feed={{ path: `${path}/live`, from: place }}
      redrawn={!isTranscript}
      scripts={['live.js', 'times.js', 'keys.js', 'zoom.js', 'session.js']}
      styles={['call-views.css', 'session.css', 'timeline.css']}
      at="sessions"
      banners={into(PLACES.banners)}
    >
      <div class="session" id="session" data-session={description.session}>
        <header class="session-head">
          <div class="row line">
            <a class="quiet" href="/" aria-label="All sessions">
              <Icon name="back" />
            </a>
            <h1 class="cut" title={name}>
              {name}
            </h1>
            <span id={PLACES.phase} data-fresh>
              {into(PLACES.phase)}
            </span>
            <span class="row cut tags">
              <TagList tags={description.facts?.tags} />
            </span>
            <div id={PLACES.controls} class="far" data-fresh>
              {into(PLACES.controls)}
            </div>
          </div>
          <div id={PLACES.state} data-fresh>
            {into(PLACES.state)}
          </div>
          <div class="row line parts">
            <nav class="tabs" aria-label="Parts of this session">
              {(Object.keys(PARTS) as (keyof typeof PARTS)[]).map((each) => (
                <a
                  href={each === 'transcript' ? path : `${path}/${each}`}
                  aria-current={each === part ? 'page' : undefined}
                >
                  {PARTS[each]}
                  {each === 'files' || each === 'agents' ? (
                    <span id={PLACES[each]} data-fresh>
                      {into(PLACES[each])}
                    </span>
                  ) : null}
                </a>
              ))}
            </nav>
            <FindForm path={path} />
            {isTranscript ? (
              <button type="button" class="plain inspect" data-inspect aria-expanded="false" aria-controls="inspector">
                <Icon name="details" />
                Details
              </button>
            ) : null}
          </div>
        </header>
        {isTranscript || part === 'timeline' ? <MapFrame standing={feed.standing} /> : null}
        <div class={isTranscript ? 'session-body' : 'session-body alone'}>
          <div class="column">
            {children}
            <div class="foot">
              <div id={PLACES.waits} data-fresh>
                {into(PLACES.waits)}
              </div>
              <div id={PLACES.approvals} data-fresh>
                {into(PLACES.approvals)}
              </div>
              {foot}
            </div>
          </div>
          {isTranscript ? <Inspector feed={feed} ui={ui} path={path} into={into} /> : null}
        </div>
        <ShareDialog path={path} />
        <ForkDialog path={path} cwd={description.cwd} />
        <EndDialog path={path} />
        {isTranscript ? <RewindDialog path={path} /> : null}
      </div>
    </Layout>
  );
}

/** Searches the whole session on the server, whatever of it is drawn. */
function FindForm({ path }: { readonly path: string }) {
  return (
    <form class="find-in far" role="search" aria-label="In this session" data-find={`${path}/find`}>
      <Icon name="search" />
      <input
        id="find-in"
        type="search"
        autocomplete="off"
        spellcheck={false}
        placeholder="Find in session"
        aria-label="Find in this session"
        aria-controls="found"
      />
      <kbd>f</kbd>
      <div id="found" class="pop" role="status" aria-live="polite" />
    </form>
  );
}

const PANELS = ['Now', 'Spend', 'Tools', 'Limits', 'About'] as const;

type InspectorProps = {
  readonly feed: SessionFeed;
  readonly ui: string | null;
  readonly path: string;
  readonly into: (container: string) => Child;
};

function Inspector({ feed, ui, path, into }: InspectorProps) {
  const panels: Readonly<Record<(typeof PANELS)[number], Child>> = {
    Now: (
      <>
        <div id={PLACES.now} data-fresh>
          {into(PLACES.now)}
        </div>
        <AsideForm path={path} />
      </>
    ),
    Spend: (
      <div id={PLACES.spend} data-fresh>
        {into(PLACES.spend)}
      </div>
    ),
    Tools: (
      <div id={PLACES.tools} data-fresh>
        {into(PLACES.tools)}
      </div>
    ),
    Limits: (
      <SteerForms
        path={path}
        config={feed.standing.config}
        limits={
          <div id={PLACES.limits} data-fresh>
            {into(PLACES.limits)}
          </div>
        }
      />
    ),
    About: <AboutPart standing={feed.standing} temporal={ui} />,
  };
  return (
    <aside class="inspector" id="inspector" aria-label="About this session">
      <div class="tabs panels" role="tablist" aria-label="Details">
        {PANELS.map((name, at) => (
          <button
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-controls={`panel-${name}`}
            aria-selected={at === 0 ? 'true' : 'false'}
            tabindex={at === 0 ? 0 : -1}
          >
            {name}
          </button>
        ))}
      </div>
      {PANELS.map((name, at) => (
        <div
          class="panel"
          role="tabpanel"
          id={`panel-${name}`}
          aria-labelledby={`tab-${name}`}
          hidden={at === 0 ? undefined : true}
        >
          {panels[name]}
        </div>
      ))}
    </aside>
  );
}

function EndDialog({ path }: { readonly path: string }) {
  return (
    <dialog id="end-session" aria-labelledby="end-title">
      <form hx-post={`${path}/cancel`} hx-target="#said" data-closes-dialog>
        <h2 id="end-title">End this session?</h2>
        <p>It stops and can’t be resumed. The transcript is kept.</p>
        <div class="buttons">
          <button type="button" data-closes>
            Keep it
          </button>
          <button class="bad">End session</button>
        </div>
      </form>
    </dialog>
  );
}

/** Hours for which a link may last. */
const HOURS: readonly (readonly [hours: number, words: string])[] = [
  [1, '1 hour'],
  [24, '1 day'],
  [168, '7 days'],
];

function ShareDialog({ path }: { readonly path: string }) {
  return (
    <dialog id="share" aria-labelledby="share-title">
      <h2 id="share-title">Share this session</h2>
      <p class="quiet">
        Anyone with the link can view this session (read-only). It expires on its own; to revoke it sooner, rotate the
        page key.
      </p>
      <form hx-post={`${path}/share`} hx-target="#share-link">
        <label>
          <span>Expires in</span>
          <select name="hours">
            {HOURS.map(([hours, words]) => (
              <option value={String(hours)} selected={hours === 24 ? true : undefined}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <button class="first">Create link</button>
      </form>
      <div id="share-link" role="status" aria-live="polite" />
      <form method="dialog">
        <button>Close</button>
      </form>
    </dialog>
  );
}

// The form for a question aside. It is drawn once with the page, so that typed text and the answer
// stay while everything else changes.
function AsideForm({ path }: { readonly path: string }) {
  return (
    <details class="steer" id="aside" data-needs="steer">
      <summary>Ask aside</summary>
      <form hx-post={`${path}/aside`} hx-target="#aside-answer" hx-config={LONG}>
        <label for="question">The model answers from what it knows so far. The conversation isn’t affected.</label>
        <textarea id="question" name="question" rows={2} required maxlength={LONGEST_ASIDE} />
        <button>Ask</button>
      </form>
      <div id="aside-answer" role="status" aria-live="polite" />
    </details>
  );
}

/** Timeout of the request in milliseconds. */
const LONG = JSON.stringify({ timeout: 660_000 });
