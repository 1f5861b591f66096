// Shows the newest entries of a transcript as they are stored, and offers all of it to download.
import { showUnseen } from '../../system/text.ts';
import type { Entry } from '../../client/index.ts';
import type { Item } from '../../client/face-types.ts';
import { formatSize } from '../../client/units.ts';
import { LocalTime } from '../figures.tsx';
import type { SessionFeed } from '../feed/session-feed.ts';
import { htmlOf } from '../layout.tsx';
import type { PagePorts } from '../ports.ts';
import { placeIn, SessionShell } from './session-shell.tsx';

const SHOWN = 30;
/** Most characters of one entry. */
const LONGEST = 4_000;

export function rawPage(feed: SessionFeed, { temporalUi }: Pick<PagePorts, 'temporalUi'>): string {
  const place = placeIn(feed);
  const { seen: description, items } = feed.standing;
  const path = `/sessions/${description.session}`;
  return htmlOf(
    <SessionShell feed={feed} place={place} ui={temporalUi(description.session)} part="raw">
      <section class="raw" aria-label="Entries as they are stored">
        <p class="links">
          <a href={`${path}.jsonl`} download>
            Download as JSONL
          </a>
          <a href={`${path}.md`} download>
            Download as Markdown
          </a>
        </p>
        <div id="raw-entries" data-fresh>
          {items.all
            .slice(-SHOWN)
            .toReversed()
            .map(({ position, entry }) => (
              <RawEntry position={position} entry={entry} />
            ))}
        </div>
      </section>
    </SessionShell>,
  );
}

function RawEntry({ position, entry }: Pick<Item, 'position' | 'entry'>) {
  const text = JSON.stringify(entry, null, 2);
  const at = momentOf(entry);
  return (
    <details id={`raw-${position}`}>
      <summary>
        <code>{`${position} ${entry.kind}`}</code>
        <small class="inline">{formatSize(Buffer.byteLength(JSON.stringify(entry)))}</small>
        <small class="inline">{at === null ? '' : <LocalTime at={at} />}</small>
      </summary>
      <pre tabindex={0} aria-label="Entry">
        {showUnseen(text.slice(0, LONGEST))}
      </pre>
    </details>
  );
}

/** Not every entry has a time of its own. */
function momentOf(entry: Entry): number | null {
  if (entry.kind === 'run_ended') return entry.ended.at;
  if (entry.kind === 'steered') return entry.steered.at;
  return 'at' in entry && typeof entry.at === 'number' ? entry.at : null;
}
