// Shows one session to whoever has a link to it: its transcript as it goes on, and nothing else. It
// has no form and no link into the page.
import { raw } from 'hono/html';
import { showUnseen } from '../../system/text.ts';
import type { SessionFeed } from '../feed/session-feed.ts';
import { Layout, Moment, htmlOf } from '../layout.tsx';
import { StateChip } from './head.tsx';
import { transcriptPart, windowOf } from './session-page.tsx';
import { placeIn } from './session-shell.tsx';

export async function drawSharedPage(
  feed: SessionFeed,
  { base, ends, at }: { readonly base: string; readonly ends: number; readonly at: string | undefined },
): Promise<string> {
  const { standing } = feed;
  const place = placeIn(feed);
  const name = showUnseen(standing.seen.title || standing.seen.session);
  const transcript = await transcriptPart(feed, windowOf(feed, at), { base });
  return htmlOf(
    <Layout
      title={name}
      bare
      feed={{ path: `${base}/live`, from: place }}
      redrawn
      styles={['session.css']}
      scripts={['live.js', 'times.js']}
    >
      <div class="shared">
        <header>
          <h1>{name}</h1>
          <p class="row">
            <span id="state" data-fresh>
              <StateChip standing={standing} />
            </span>
            <span class="quiet">
              {'Read-only link · expires '}
              <Moment at={ends} />
            </span>
          </p>
        </header>
        <section id="transcript" aria-label="Transcript" data-fresh>
          {raw(transcript)}
        </section>
      </div>
    </Layout>,
  );
}
