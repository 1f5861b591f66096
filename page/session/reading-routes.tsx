// The addresses under which a session can be looked at: its views, and the parts of them that are
// loaded later.
import type { Context, Hono } from 'hono';
import type { SessionId, Entry, Item } from '../../client/faces/types.ts';
import { sessionIdProblem, formatMoney, shortTime, formatSize } from '../../client/faces/basics.ts';
import { ClientProblem } from '../../client/faces/start.ts';
import { matchAgents } from '../../client/faces/turns.ts';
import { comparePage } from '../compare/compare-page.tsx';
import { type OpenFeeds, sendFeed, withFeed } from '../feed/event-stream.ts';
import type { SessionFeed } from '../feed/session-feed.ts';
import { htmlOf, Moment } from '../layout.tsx';
import type { PagePorts } from '../ports.ts';
import { timelinePage } from '../timeline/timeline-page.tsx';
import { downloadTranscript, readMedium, readWholeText } from './downloads.ts';
import { filesPage } from './files-page.tsx';
import { findPage } from './find.tsx';
import { MapBody, readLanes } from './minimap.tsx';
import { readForm } from './actions.ts';
import { rewindForm, rewindPreview, RewindRefused } from './rewind-preview.tsx';
import { earlierThan, itemsPart, sessionPage, transcriptPart, windowOf } from './session-page.tsx';
import { showUnseen } from '../../system/text.ts';
import { formatNumber, LocalTime } from '../figures.tsx';
import { EmptyCard } from '../primitives.tsx';
import { AgentState } from './head.tsx';
import { transcriptFacts } from './session-facts.ts';
import { placeIn, SessionShell } from './session-shell.tsx';

export type SessionFeeds = OpenFeeds<SessionId, SessionFeed>;

export function idOf(context: Context): SessionId | null {
  const id = context.req.param('id') ?? '';
  return sessionIdProblem(id) === undefined ? (id as SessionId) : null;
}

type Show = (feed: SessionFeed, context: Context) => Promise<Response> | Response;
type AddReading = (path: string, show: Show) => void;

export function addReadingRoutes(app: Hono, ports: PagePorts, feeds: SessionFeeds): void {
  const reading: AddReading = (path, show) => {
    app.get(path, async (context) => {
      const session = idOf(context);
      if (session === null) return context.notFound();
      return withFeed(feeds, session, (feed) => show(feed, context));
    });
  };
  app.get('/sessions/:file{.+\\.(jsonl|md)}', async (context) => {
    const [, id = '', kind] = /^(.*)\.(jsonl|md)$/.exec(context.req.param('file')) ?? [];
    if (sessionIdProblem(id) !== undefined) return context.notFound();
    return downloadTranscript(context, ports, await ports.read(id), kind === 'md' ? 'md' : 'jsonl');
  });
  addViews(reading, ports);
  addParts(reading, ports);
  app.get('/sessions/:id/live', (context) => {
    const session = idOf(context);
    return session === null ? context.notFound() : sendFeed(context, feeds, session);
  });
}

function addViews(reading: AddReading, ports: PagePorts): void {
  reading('/sessions/:id', async (feed, context) =>
    context.html(await sessionPage(feed, ports, context.req.query('at'))),
  );
  reading('/sessions/:id/timeline', async (feed, context) =>
    context.html(
      await timelinePage(feed, ports, {
        at: context.req.query('at'),
        withoutWaits: context.req.query('waits') === 'no',
      }),
    ),
  );
  reading('/sessions/:id/files', async (feed, context) =>
    context.html(
      await filesPage(feed, ports, {
        path: context.req.query('file'),
        at: positionFrom(context.req.query('capture')),
      }),
    ),
  );
  reading('/sessions/:id/agents', async (feed, context) => context.html(agentsPage(feed, ports)));
  reading('/sessions/:id/rewind', async (feed, context) => {
    try {
      return context.html(
        await rewindPreview(ports, feed.standing.seen.session, readForm(rewindForm, context.req.query())),
      );
    } catch (error) {
      if (!(error instanceof ClientProblem)) throw error;
      return context.html(htmlOf(RewindRefused({ why: error.message })));
    }
  });
  reading('/sessions/:id/raw', async (feed, context) => context.html(rawPage(feed, ports)));
  reading('/sessions/:id/find', async (feed, context) =>
    context.html(await findPage(feed, context.req.query('q') ?? '')),
  );
}

const positionFrom = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;

/** Adds the parts of views that are loaded later. */
function addParts(reading: AddReading, ports: PagePorts): void {
  reading('/sessions/:id/map', async (feed, context) =>
    context.html(htmlOf(MapBody({ lanes: await readLanes(feed, ports) }))),
  );
  reading('/sessions/:id/transcript', async (feed, context) => {
    context.header('Perdure-From', `${feed.ring.epoch}.${feed.ring.now}`);
    return context.html(await transcriptPart(feed, windowOf(feed, undefined)));
  });
  reading('/sessions/:id/items', async (feed, context) => {
    const before = Number(context.req.query('before'));
    const { length } = feed.standing.items.all;
    if (!Number.isInteger(before) || before < 1 || before > length) return context.notFound();
    return context.html(await itemsPart(feed, earlierThan(before)));
  });
  reading('/sessions/:id/entries/:position/:part', (feed, context) => answerText(feed, ports, context));
  for (const path of MEDIA) reading(`/sessions/:id${path}`, (feed, context) => answerMedium(feed, ports, context));
}

/** Adds /compare, which shows up to three sessions side by side. */
export function addCompareRoute(app: Hono, ports: PagePorts, feeds: SessionFeeds): void {
  app.get('/compare', async (context) => {
    const request = { a: context.req.query('a'), b: context.req.query('b'), c: context.req.query('c') };
    const ids = Object.values(request).flatMap((id) => (id === undefined || id.trim() === '' ? [] : [id.trim()]));
    const wrong = ids.find((id) => sessionIdProblem(id) !== undefined);
    if (wrong !== undefined) throw new ClientProblem('refused', sessionIdProblem(wrong) ?? '');
    const entered = await Promise.allSettled(ids.map((id) => feeds.enter(id as SessionId)));
    try {
      const standings = entered.map((one) => {
        if (one.status === 'rejected') throw one.reason;
        return one.value.feed.standing;
      });
      return context.html(await comparePage(ports, standings, request));
    } finally {
      for (const one of entered) if (one.status === 'fulfilled') one.value.leave();
    }
  });
}

export async function answerText(feed: SessionFeed, ports: PagePorts, context: Context): Promise<Response> {
  const position = Number(context.req.param('position'));
  const text = await readWholeText(feed, ports, position, context.req.param('part') ?? '');
  return text === null ? context.notFound() : context.text(text);
}

/** Images and documents of a message, and of a call of a reply. */
export const MEDIA = ['/entries/:position/media/:index', '/entries/:position/:part/media/:index'] as const;

export async function answerMedium(feed: SessionFeed, ports: PagePorts, context: Context): Promise<Response> {
  const { position = '', part, index = '' } = context.req.param() as Readonly<Record<string, string | undefined>>;
  const at = { position: Number(position), ...(part !== undefined && { part: Number(part) }), index: Number(index) };
  const medium = await readMedium(feed, ports, at);
  if (medium === null) return context.notFound();
  // Offer a document as a download: a browser would run its content.
  if (medium.mediaType === 'application/pdf')
    context.header('Content-Disposition', `attachment; filename="${position}-${index}.pdf"`);
  return context.body(medium.bytes, 200, { 'Content-Type': medium.mediaType });
}

function agentsPage(feed: SessionFeed, { temporalUi }: Pick<PagePorts, 'temporalUi'>): string {
  const place = placeIn(feed);
  const { seen: description, items, agents } = feed.standing;
  const calls = transcriptFacts(items).agents;
  const now = Date.now();
  const places = new Map([...matchAgents(calls, agents)].map(([anchor, { session }]) => [session, anchor]));
  return htmlOf(
    <SessionShell feed={feed} place={place} ui={temporalUi(description.session)} part="agents">
      <section id="agents" data-fresh class="agents" aria-label="Agents">
        {agents.length === 0 ? (
          <EmptyCard icon="agent" title="No agents yet">
            Agents that this session starts appear here.
          </EmptyCard>
        ) : (
          <div class="wide" tabindex={0} role="region" aria-label="Table of agents">
            <table>
              <thead>
                <tr>
                  <th>Agent</th>
                  <th>State</th>
                  <th>Type</th>
                  <th class="number">Turns</th>
                  <th class="number">Cost</th>
                  <th class="number">Time</th>
                  <th>Started</th>
                </tr>
              </thead>
              <tbody>
                {agents.map((agent) => {
                  const { session, title, facts, startedAt, closedAt } = agent;
                  const anchor = places.get(session);
                  return (
                    <tr>
                      <td>
                        <a href={`/sessions/${session}`}>{showUnseen(title || session)}</a>
                        {anchor === undefined ? null : (
                          <small>
                            <a
                              href={`/sessions/${description.session}?at=${anchor.split('-').slice(0, 2).join('.')}#call-${anchor}`}
                            >
                              its call
                            </a>
                          </small>
                        )}
                      </td>
                      <td>
                        <AgentState agent={agent} now={now} />
                      </td>
                      <td>{showUnseen(facts?.agent?.type ?? '')}</td>
                      <td class="number">{formatNumber(facts?.turns ?? 0)}</td>
                      <td class="number">{formatMoney(facts?.cents == null ? null : facts.cents / 100)}</td>
                      <td class="number">{closedAt === null ? '…' : shortTime(closedAt - startedAt)}</td>
                      <td>
                        <Moment at={startedAt} />
                      </td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </div>
        )}
      </section>
    </SessionShell>,
  );
}

const RAW_ENTRIES = 30;
/** Most characters of one entry. */
const LONGEST_ENTRY = 4_000;

function rawPage(feed: SessionFeed, { temporalUi }: Pick<PagePorts, 'temporalUi'>): string {
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
            .slice(-RAW_ENTRIES)
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
        {showUnseen(text.slice(0, LONGEST_ENTRY))}
      </pre>
    </details>
  );
}

/** Returns the entry's own time; null for a kind without one. */
function momentOf(entry: Entry): number | null {
  if (entry.kind === 'run_ended') return entry.ended.at;
  if (entry.kind === 'steered') return entry.steered.at;
  return 'at' in entry && typeof entry.at === 'number' ? entry.at : null;
}
