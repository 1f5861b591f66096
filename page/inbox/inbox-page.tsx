// The inbox: what waits for a person as a list, and the chosen call in full.
import { raw } from 'hono/html';
import type { WaitingApproval } from '../../client/faces/types.ts';
import { StoreError } from '../../client/faces/sessions.ts';
import { readPlace } from '../call-views/call-place.ts';
import { htmlOf, Layout } from '../layout.tsx';
import type { PagePorts } from '../ports.ts';
import { InboxDetail, NothingWaits } from './inbox-detail.tsx';
import { INBOX, type InboxFeed } from './inbox-feed.tsx';
import { offerRules, type InboxItem } from './inbox-items.ts';

export async function inboxPage(feed: InboxFeed, ports: PagePorts, chosen: InboxItem | undefined): Promise<string> {
  const item = chosen ?? feed.items[0];
  const detail = item ? await detailHtml(feed, ports, item) : await emptyHtml(ports);
  // The list and its place in the feed are read together, or a viewer would miss what came between.
  const { parts, ring } = feed;
  const into = (container: string) => raw(parts.flatMap((part) => (part.into === container ? part.html : [])).join(''));
  return htmlOf(
    <Layout
      title="Inbox"
      at="inbox"
      feed={{ path: '/inbox/live?', from: `${ring.epoch}.${ring.now}` }}
      scripts={['live.js', 'times.js', 'inbox.js', 'keys.js']}
      styles={['call-views.css', 'inbox.css']}
      banners={into(INBOX.banners)}
    >
      <div class="inbox" id="inbox">
        <InboxSteps />
        <nav class="inbox-nav" id="inbox-nav" aria-label="Waiting calls">
          <div class="inbox-head" id={INBOX.head} data-fresh>
            {into(INBOX.head)}
          </div>
          <ul id={INBOX.list} data-fresh>
            {into(INBOX.list)}
          </ul>
        </nav>
        <div class="inbox-pane" id="inbox-pane" aria-live="off">
          {raw(detail)}
        </div>
      </div>
    </Layout>,
  );
}

/** Leads through the calls where there is no room for the list next to the chosen one. */
function InboxSteps() {
  return (
    <div class="inbox-steps" id="inbox-steps" role="group" aria-label="Calls">
      <button type="button" class="plain" data-step="-1" aria-label="Previous call">
        ‹
      </button>
      <span id="inbox-place" role="status" />
      <button type="button" class="plain" data-step="1" aria-label="Next call">
        ›
      </button>
      <button type="button" class="far" data-list aria-expanded="false" aria-controls="inbox-nav">
        List
      </button>
    </div>
  );
}

export async function emptyHtml(ports: Pick<PagePorts, 'counts' | 'lastDecision'>): Promise<string> {
  const [{ running }, last] = await Promise.all([ports.counts(), ports.lastDecision()]);
  return htmlOf(<NothingWaits working={running} last={last} />);
}

/** The chosen call in full. The page looks at the file only where it is on this host. */
export async function detailHtml(feed: InboxFeed, ports: PagePorts, item: InboxItem): Promise<string> {
  const { approval } = item;
  const [words, place] = await Promise.all([readSaid(ports, approval), readPlace(ports, approval, item.session.cwd)]);
  return htmlOf(
    <InboxDetail
      item={item}
      waiting={feed.items.length}
      said={words}
      {...place}
      rules={approval.question || approval.problem !== undefined ? [] : offerRules(item, feed.items)}
    />,
  );
}

async function readSaid(ports: Pick<PagePorts, 'said'>, approval: WaitingApproval): Promise<string> {
  try {
    return await ports.said(approval.session, approval);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return '';
  }
}
