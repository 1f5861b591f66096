// Shows the newest entries of a transcript as they are stored, and offers all of it to download.
import { showUnseen } from '../../system/text.ts';
import type { SessionFeed } from '../feed/session-feed.ts';
import { htmlOf } from '../layout.tsx';
import type { PagePorts } from '../ports.ts';
import { placeIn, SessionShell } from './session-shell.tsx';

const SHOWN = 30;
/** Most characters of one entry. */
const LONGEST = 4_000;

export function rawPage(feed: SessionFeed, { temporalUi }: Pick<PagePorts, 'temporalUi'>): string {
  const place = placeIn(feed);
  const { seen, items } = feed.standing;
  const path = `/sessions/${seen.session}`;
  return htmlOf(
    <SessionShell feed={feed} place={place} ui={temporalUi(seen.session)} part="raw">
      <section class="raw" aria-label="Entries as they are stored">
        <p class="links">
          <a href={`${path}.jsonl`} download>
            All of it as JSONL
          </a>
          <a href={`${path}.md`} download>
            All of it as Markdown
          </a>
        </p>
        <div id="raw-entries" data-fresh>
          {items.all
            .slice(-SHOWN)
            .toReversed()
            .map(({ position, entry }) => (
              <details id={`raw-${position}`}>
                <summary>
                  <code>{`${position} ${entry.kind}`}</code>
                </summary>
                <pre tabindex={0} aria-label="Entry">
                  {showUnseen((JSON.stringify(entry, null, 2) ?? '').slice(0, LONGEST))}
                </pre>
              </details>
            ))}
        </div>
      </section>
    </SessionShell>,
  );
}
