// The shell around the pages of one session: its name, what is wrong, its state, what may be done,
// and its other pages.
import { raw } from 'hono/html';
import type { Child } from 'hono/jsx';
import { showUnseen } from '../../system/text.ts';
import type { SessionFeed } from '../feed/session-feed.ts';
import { Copy, Layout, Moment } from '../layout.tsx';
import { SteerForms } from './steer-forms.tsx';
import { PLACES, sessionFrame } from './frame.tsx';

const PARTS = { transcript: 'Transcript', timeline: 'Timeline' } as const;

type Props = {
  readonly feed: SessionFeed;
  /** Place in the feed up to which the page is drawn, taken before drawing. */
  readonly place: string;
  /** Address of the session in Temporal's own UI. */
  readonly ui: string | null;
  readonly part: keyof typeof PARTS;
  readonly children: Child;
};

export const placeIn = ({ ring }: SessionFeed): string => `${ring.epoch}.${ring.now}`;

export function SessionShell({ feed, place, ui, part, children }: Props) {
  const { seen } = feed.standing;
  const name = showUnseen(seen.title || seen.session);
  const path = `/sessions/${seen.session}`;
  const frame = sessionFrame(feed.standing);
  const into = (container: string) => raw(frame.flatMap((one) => (one.into === container ? one.html : [])).join(''));
  return (
    <Layout
      title={part === 'transcript' ? name : `${PARTS[part]} of ${name}`}
      feed={{ path: `${path}/live`, from: place }}
      redrawn={part !== 'transcript'}
      scripts={['live.js', 'times.js', 'keys.js']}
      at="sessions"
      banners={into(PLACES.banners)}
    >
      <div class="title">
        <h1>{name}</h1>
        <p class="quiet">
          <code>{showUnseen(seen.session)}</code> {showUnseen(seen.cwd)} · begun <Moment at={seen.startedAt} />
        </p>
        <Copy text={`perdure watch ${seen.session}`} what="Copy as command" />
      </div>
      <div id={PLACES.state} data-fresh>
        {into(PLACES.state)}
      </div>
      <div id={PLACES.controls} data-fresh>
        {into(PLACES.controls)}
      </div>
      <div id={PLACES.approvals} data-fresh>
        {into(PLACES.approvals)}
      </div>
      <SteerForms path={path} config={feed.standing.config} />
      <nav class="tabs" aria-label="Parts of this session">
        <a href={path} aria-current={part === 'transcript' ? 'page' : undefined}>
          {PARTS.transcript}
        </a>
        <a href={`${path}/timeline`} aria-current={part === 'timeline' ? 'page' : undefined}>
          {PARTS.timeline}
        </a>
        <a href={`${path}.jsonl`} download>
          JSONL
        </a>
        <a href={`${path}.md`} download>
          Markdown
        </a>
        {ui === null ? null : (
          <a href={ui} rel="noreferrer">
            In Temporal’s UI
          </a>
        )}
      </nav>
      {children}
    </Layout>
  );
}
