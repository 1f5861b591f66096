// Shows one session: what it is doing, what waits for a person, the growing transcript, and a place
// to write to it. It draws a window of a long transcript; the rest loads on scrolling or by a link.
import { raw } from 'hono/html';
import type { PagePorts } from '../ports.ts';
import type { SessionFeed } from '../feed/session-feed.ts';
import { ITEMS, LIVE } from '../feed/live-pieces.ts';
import { htmlOf } from '../layout.tsx';
import { isDrawn, itemId, ItemView } from '../transcript/item-view.tsx';
import { isReply, positionOf } from '../../client/faces/turns.ts';
import { PLACES, sessionFrame } from './frame.tsx';
import { placeIn, SessionShell } from './session-shell.tsx';

/** Entries drawn at once. */
const WINDOW = 240;
/** Entries drawn before the one that a link names. */
const BEFORE = 40;

type ItemWindow = { readonly from: number; readonly to: number };

/** Returns the window with the newest entries, or around the one that `at` names. */
export function windowOf(feed: SessionFeed, at: string | undefined): ItemWindow {
  const { length } = feed.standing.items.all;
  const named = at === undefined ? null : placeNamed(feed, at);
  if (named === null) return { from: Math.max(0, length - WINDOW), to: length };
  const from = Math.max(0, named - BEFORE);
  return { from, to: Math.min(length, from + WINDOW) };
}

/** Returns the position that a link names, also by a moment (`t1700000000000`). */
function placeNamed({ standing: { items } }: SessionFeed, at: string): number | null {
  const moment = /^t(\d{1,15})$/.exec(at)?.[1];
  if (moment === undefined) return positionOf(items, at);
  const found = items.all.find((item) => isReply(item) && item.entry.at >= Number(moment));
  return found?.position ?? null;
}

export async function sessionPage(
  feed: SessionFeed,
  { temporalUi }: Pick<PagePorts, 'temporalUi'>,
  at: string | undefined,
): Promise<string> {
  const from = placeIn(feed);
  const { seen: description } = feed.standing;
  const place = at === undefined ? null : placeNamed(feed, at);
  const frame = sessionFrame(feed.standing);
  const partsIn = (container: string): string =>
    frame.flatMap(({ into, html }) => (into === container ? html : [])).join('');
  const transcript = await transcriptPart(feed, windowOf(feed, at), { place, opening: partsIn(PLACES.opening) });
  const path = `/sessions/${description.session}`;
  return htmlOf(
    <SessionShell
      feed={feed}
      place={from}
      ui={temporalUi(description.session)}
      part="transcript"
      foot={<Composer path={path} suggested={partsIn(PLACES.suggested)} />}
    >
      <section id="transcript" class="grow" aria-label="Transcript" data-fresh>
        <h2 class="unseen">Transcript</h2>
        {raw(transcript)}
      </section>
      <ol id={PLACES.pending} class="transcript" data-fresh>
        {raw(partsIn(PLACES.pending))}
      </ol>
    </SessionShell>,
  );
}

/** One row that grows with what is written. */
function Composer({ path, suggested }: { readonly path: string; readonly suggested: string }) {
  return (
    <form class="row wrap composer" id="composer" data-needs="steer" hx-post={`${path}/send`} hx-target="#said">
      <label class="unseen" for="message">
        Message this session
      </label>
      <textarea
        id="message"
        name="text"
        rows={1}
        title="The model reads it before its next call."
        required
        maxlength={1_000_000}
        aria-describedby={PLACES.suggested}
        data-placeholder="Message this session"
        placeholder="Message this session"
      />
      <button name="now" value="true" class="plain" title="Send now, interrupting">
        Send now<span class="unseen">, interrupting</span>
      </button>
      <button class="first">Send</button>
      <div id={PLACES.suggested} data-fresh>
        {raw(suggested)}
      </div>
    </form>
  );
}

type PartOptions = { readonly place?: number | null; readonly base?: string; readonly opening?: string };

/**
 * Draws the transcript: what is above, the window, what happens now. `base` is the address of a
 * page that is not the session's own, and `place` the position that a link names.
 */
export async function transcriptPart(
  feed: SessionFeed,
  range: ItemWindow,
  { place = null, base, opening = '' }: PartOptions = {},
): Promise<string> {
  const { length } = feed.standing.items.all;
  const items = await itemsPart(feed, range, base);
  const path = base ?? `/sessions/${feed.standing.seen.session}`;
  const atEnd = range.to >= length;
  return htmlOf(
    <>
      <ol
        class="transcript"
        id={ITEMS}
        data-end={String(atEnd)}
        {...(place === null ? {} : { 'data-place': itemId(place) })}
      >
        {raw(items)}
      </ol>
      {atEnd ? null : (
        <p class="more">
          <a href={path}>{`${(length - range.to).toLocaleString('en')} newer entries · go to the end`}</a>
        </p>
      )}
      <ol class="transcript" id={PLACES.opening}>
        {raw(opening)}
      </ol>
      <ol class="transcript" id={LIVE} aria-label="Happening now">
        {atEnd ? raw(feed.pieces.html) : null}
      </ol>
    </>,
  );
}

/** Draws the items of a window, with an element that loads earlier ones. */
export async function itemsPart(feed: SessionFeed, { from, to }: ItemWindow, base?: string): Promise<string> {
  const { items, seen: description } = feed.standing;
  const known = await feed.context(from, to);
  // A visitor who was given one session's link gets no links to others.
  const context = base === undefined ? known : { ...known, base, agent: () => undefined };
  const voids = feed.voided.filter(({ after }) => after > from && after <= to);
  const above =
    from > 0 ? htmlOf(<Earlier path={`${base ?? `/sessions/${description.session}`}/items`} before={from} />) : '';
  const parts: string[] = [above];
  for (const [offset, item] of items.all.slice(from, to).entries()) {
    if (isDrawn(item)) parts.push(htmlOf(<ItemView item={item} context={context} />));
    for (const { after, html } of voids) if (after === from + offset + 1) parts.push(html);
  }
  if (items.all.length === 0)
    parts.push(
      htmlOf(
        <li id={itemId(-1)} class="quiet none">
          Nothing stored yet.
        </li>,
      ),
    );
  return parts.join('');
}

/** Replaced by the entries before it when a person has scrolled near, or clicks it. */
function Earlier({ path, before }: { readonly path: string; readonly before: number }) {
  return (
    <li class="more" id="earlier" data-earlier={`${path}?before=${before}`}>
      <button type="button" class="plain">{`${before.toLocaleString('en')} earlier entries`}</button>
    </li>
  );
}

export const earlierThan = (before: number): ItemWindow => ({ from: Math.max(0, before - WINDOW), to: before });
