// Makes and serves links by which anyone can view one session. A link carries its own proof: it is
// signed for this page and this session, and expires on its own.
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { type Access, personIn, readShareEnd, SHARED, sharePath } from '../hosting/access.ts';
import { sendFeed, withFeed } from '../feed/event-stream.ts';
import { LIVE } from '../feed/live-pieces.ts';
import type { Change } from '../feed/ring.ts';
import type { SessionFeed } from '../feed/session-feed.ts';
import { Copy, htmlOf, Layout, Moment } from '../layout.tsx';
import type { PagePorts } from '../ports.ts';
import { answerMedium, answerText, idOf, MEDIA, type SessionFeeds } from './reading-routes.tsx';
import { earlierThan, itemsPart, transcriptPart, windowOf } from './session-page.tsx';
import { raw } from 'hono/html';
import { showUnseen } from '../../system/text.ts';
import { StateChip } from './head.tsx';
import { placeIn } from './session-shell.tsx';

/** Longest time that a link may last. */
const MOST_HOURS = 168;
const form = z.object({ hours: z.coerce.number().int().min(1).max(MOST_HOURS) });

export function addShareForm(app: Hono, access: Access): void {
  app.post('/sessions/:id/share', async (context) => {
    const session = idOf(context);
    const person = personIn(context, access);
    if (session === null || person === null) return context.notFound();
    const parsed = form.safeParse(await context.req.json().catch(() => null));
    if (!parsed.success) return context.html(htmlOf(<p class="bad">{`Give 1 to ${MOST_HOURS} hours.`}</p>), 400);
    const link = `${context.req.header('origin') ?? ''}${sharePath(access, person, session, parsed.data.hours)}`;
    return context.html(
      htmlOf(
        <p class="row">
          <input type="text" readonly value={link} aria-label="The link" />
          <Copy text={link} what="Copy" />
        </p>,
      ),
    );
  });
}

/**
 * Keeps what is said now, which leads nowhere. All else has addresses of the page: viewers who lack
 * it draw theirs anew.
 */
export function shareChange(change: Change): Change {
  const isSaid = change.do === 'text' || change.do === 'drop' || (change.do === 'put' && change.into === LIVE);
  return isSaid ? change : { do: 'drop', id: 'left-out' };
}

export function addSharedRoutes(
  app: Hono,
  ports: PagePorts,
  { access, feeds }: { readonly access: Access; readonly feeds: SessionFeeds },
): void {
  const looking = (
    path: string,
    show: (
      feed: SessionFeed,
      context: Context,
      shared: { readonly base: string; readonly ends: number },
    ) => Promise<Response>,
  ): void => {
    app.get(`${SHARED}/:id/:share${path}`, async (context) => {
      const session = idOf(context);
      const share = context.req.param('share') ?? '';
      const ends = session === null ? null : readShareEnd(access, session, share);
      if (session === null || ends === null)
        return context.text('This link has expired, or isn’t from this page.', 403);
      return withFeed(feeds, session, (feed) => show(feed, context, { base: `${SHARED}/${session}/${share}`, ends }));
    });
  };
  looking('', async (feed, context, shared) =>
    context.html(await drawSharedPage(feed, { ...shared, at: context.req.query('at') })),
  );
  looking('/live', (feed, context, { ends }) =>
    sendFeed(context, feeds, feed.standing.seen.session, { show: shareChange, until: ends }),
  );
  looking('/items', async (feed, context, { base }) => {
    const before = Number(context.req.query('before'));
    const { length } = feed.standing.items.all;
    if (!Number.isInteger(before) || before < 1 || before > length) return context.notFound();
    return context.html(await itemsPart(feed, earlierThan(before), base));
  });
  looking('/entries/:position/:part', (feed, context) => answerText(feed, ports, context));
  for (const path of MEDIA) looking(path, (feed, context) => answerMedium(feed, ports, context));
}

// Shows one session to the holder of a link: its transcript as it goes on, and nothing else. It has
// no form and no link into the page.
async function drawSharedPage(
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
