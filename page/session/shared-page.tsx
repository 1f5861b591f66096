// Shows one session to whoever has a link to it: its transcript and nothing else. It has no feed,
// no form and no link into the page.
import { raw } from 'hono/html';
import { showUnseen } from '../../system/text.ts';
import type { SessionFeed } from '../feed/session-feed.ts';
import { Layout, Moment, htmlOf } from '../layout.tsx';
import { StateChip } from './head.tsx';
import { itemsPart, windowOf } from './session-page.tsx';

export async function drawSharedPage(
  feed: SessionFeed,
  { base, ends, at }: { readonly base: string; readonly ends: number; readonly at: string | undefined },
): Promise<string> {
  const { standing } = feed;
  const name = showUnseen(standing.seen.title || standing.seen.session);
  const items = await itemsPart(feed, windowOf(feed, at), base);
  return htmlOf(
    <Layout title={name} bare styles={['session.css']} scripts={['times.js']}>
      <div class="shared">
        <header>
          <h1>{name}</h1>
          <p class="row">
            <StateChip standing={standing} />
            <span class="quiet">
              {'Shared to look at; this link ends '}
              <Moment at={ends} />
            </span>
          </p>
        </header>
        <ol class="transcript" id="items">
          {raw(items)}
        </ol>
      </div>
    </Layout>,
  );
}
