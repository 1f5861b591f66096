// The ops page: all sessions, and one as it goes. All its data come from visibility, the store and
// the live channel, so any number of processes may serve it.
import { Hono, type Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { showUnseen, reasonOf } from '../system/text.ts';
import type { SessionId } from '../workflows/contract/ids.ts';
import { ClientProblem } from '../client/problem.ts';
import { sessionIdProblem } from '../client/sessions/session-id.ts';
import { API, type Api, apiApp } from './api/api-app.ts';
import { statusOf } from './api/problems.ts';
import { type Access, guardPage, personIn } from './hosting/access.ts';
import { addSignIn } from './hosting/sign-in.tsx';
import { serveAsset } from './assets.ts';
import { eventStream } from './feed/event-stream.ts';
import { type OpenFeeds, openFeeds, withFeed } from './feed/open-feeds.ts';
import { readFrame } from './frame/frame-state.tsx';
import { openSessionFeed, type SessionFeed } from './feed/session-feed.ts';
import { Layout, htmlOf } from './layout.tsx';
import type { PagePorts } from './ports.ts';
import { actOnSession, actOnMany, isAction } from './session/actions.ts';
import { downloadTranscript, readMedium, readWholeText } from './session/downloads.ts';
import { sessionFrame } from './session/frame.tsx';
import { earlierThan, itemsPart, sessionPage, transcriptPart, windowOf } from './session/session-page.tsx';
import { openFleetFeed } from './fleet/fleet-feed.tsx';
import { allowMany, keepRule, undoRule, type InboxDone } from './inbox/inbox-actions.ts';
import { openInboxFeed, type InboxFeed } from './inbox/inbox-feed.tsx';
import { detailHtml, emptyHtml, inboxPage } from './inbox/inbox-page.tsx';
import { fleetHistory } from './fleet/fleet-history.ts';
import { filterProblem, fleetQuery, readFleetView } from './fleet/fleet-view.ts';
import { timelinePage } from './timeline/timeline-page.tsx';
import { fleetPage } from './fleet/fleet-page.tsx';
import { newTaskForm, startTask } from './tasks/new-task.tsx';
import { readUsage, usageCsv } from './usage/usage.ts';
import { DAYS, usagePage } from './usage/usage-page.tsx';
import { openWorkersFeed, type WorkersFeed, workersPage } from './workers/workers-page.tsx';
import { openSchedulesFeed, type SchedulesFeed } from './schedules/schedules-feed.tsx';
import { actOnSchedule, isScheduleAction, schedulesPage } from './schedules/schedules-page.tsx';

type SessionFeeds = OpenFeeds<SessionId, SessionFeed>;

export type OpsPage = {
  readonly app: Hono;
  readonly feeds: SessionFeeds;
  readonly api: Pick<Api, 'listeners'>;
  close(): void;
};

const LARGEST_BODY = 2 * 1024 * 1024;

export function opsPage(ports: PagePorts, access: Access): OpsPage {
  const app = new Hono();
  const feeds = openFeeds((session: SessionId) => openSessionFeed(ports, session, sessionFrame));
  const history = fleetHistory(ports);
  const fleets = openFeeds((query: string) => openFleetFeed(ports, history, query));
  const api = apiApp(ports, access);
  app.route(API, api.app);
  app.use(guardPage(access));
  app.use(bodyLimit({ maxSize: LARGEST_BODY, onError: (context) => context.text('at most 2 MB', 413) }));
  app.get('/static/:name', (context) => serveAsset(context, context.req.param('name')) ?? context.notFound());
  addSignIn(app, access);
  /** Acts in the name of the person who asks. */
  const acting = (context: Context): PagePorts => ({
    ...ports,
    ...ports.as(personIn(context, access)?.name ?? null, 'on the ops page'),
  });
  app.get('/', (context) => {
    const { query, refused } = fleetQueryOf(context);
    return withFeed(fleets, query, (feed) => context.html(htmlOf(fleetPage(feed, { refused }))));
  });
  app.get('/frame', async (context) => context.json(await readFrame(ports)));
  app.get('/live', async (context) => {
    const { feed, leave } = await fleets.enter(fleetQueryOf(context).query);
    return sendStream(context, eventStream(feed.ring, placeOf(context), leave));
  });
  app.post('/bulk', async (context) => {
    try {
      const { said, ok } = await actOnMany(acting(context), await jsonBody(context));
      return context.text(said, ok ? 200 : 409);
    } catch (error) {
      return context.text(showUnseen(reasonOf(error)), statusOf(error));
    }
  });
  readingRoutes(app, ports, feeds);
  const inboxes = openFeeds((_all: 'all') => openInboxFeed(ports));
  inboxRoutes(app, { ports, inboxes, acting });
  const workers = openFeeds((_all: 'all') => openWorkersFeed(ports));
  overviewRoutes(app, ports, workers, acting);
  const plans = openFeeds((_all: 'all') => openSchedulesFeed(ports));
  scheduleRoutes(app, plans, acting);
  app.post('/sessions/:id/:action', async (context) => {
    const session = idOf(context);
    const name = context.req.param('action');
    if (session === null || !isAction(name)) return context.notFound();
    return answer(context, async () => {
      const role = personIn(context, access)?.role ?? 'look';
      const body = await jsonBody(context);
      const { said, message } = await actOnSession({ ports: acting(context), role }, session, name, body);
      await withFeed(feeds, session, async (feed) => feed.wake(message));
      await settleInInbox(inboxes, session, name, body);
      return said;
    });
  });
  app.notFound((context) => context.html(<ProblemPage title="Not found" text="There is no such page." />, 404));
  app.onError((error, context) => {
    return context.html(<ProblemPage title="Not to be shown" text={showUnseen(error.message)} />, statusOf(error));
  });
  const close = (): void => {
    api.close();
    feeds.close();
    fleets.close();
    plans.close();
    inboxes.close();
    workers.close();
  };
  return { app, feeds, api, close };
}

function readingRoutes(app: Hono, ports: PagePorts, feeds: SessionFeeds): void {
  const reading = (path: string, show: (feed: SessionFeed, context: Context) => Promise<Response> | Response): void => {
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
  reading('/sessions/:id', async (feed, context) =>
    context.html(await sessionPage(feed, ports, context.req.query('at'))),
  );
  reading('/sessions/:id/timeline', async (feed, context) =>
    context.html(await timelinePage(feed, ports, context.req.query('at'))),
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
  reading('/sessions/:id/entries/:position/:part', async (feed, context) => {
    const position = Number(context.req.param('position'));
    const text = await readWholeText(feed, ports, position, context.req.param('part') ?? '');
    return text === null ? context.notFound() : context.text(text);
  });
  reading('/sessions/:id/entries/:position/media/:index', async (feed, context) => {
    const { position, index } = context.req.param();
    const medium = await readMedium(feed, ports, { position: Number(position), index: Number(index) });
    if (medium === null) return context.notFound();
    // Offer a document as a download: a browser would run its content.
    if (medium.mediaType === 'application/pdf')
      context.header('Content-Disposition', `attachment; filename="${position}-${index}.pdf"`);
    return context.body(medium.bytes, 200, { 'Content-Type': medium.mediaType });
  });
  app.get('/sessions/:id/live', async (context) => {
    const session = idOf(context);
    if (session === null) return context.notFound();
    const { feed, leave } = await feeds.enter(session);
    return sendStream(context, eventStream(feed.ring, placeOf(context), leave));
  });
}

type Inboxes = OpenFeeds<'all', InboxFeed>;

type InboxRoutes = {
  readonly ports: PagePorts;
  readonly inboxes: Inboxes;
  readonly acting: (context: Context) => PagePorts;
};

function inboxRoutes(app: Hono, { ports, inboxes, acting }: InboxRoutes): void {
  const chosen = (feed: InboxFeed, context: Context) =>
    feed.find(context.req.query('session') ?? '', context.req.query('call') ?? '');
  app.get('/inbox', (context) =>
    withFeed(inboxes, 'all', async (feed) => context.html(await inboxPage(feed, ports, chosen(feed, context)))),
  );
  app.get('/inbox/item', (context) =>
    withFeed(inboxes, 'all', async (feed) => {
      const item = chosen(feed, context) ?? feed.items[0];
      return context.html(item ? await detailHtml(feed, ports, item) : await emptyHtml(ports));
    }),
  );
  app.get('/inbox/live', async (context) => {
    const { feed, leave } = await inboxes.enter('all');
    return sendStream(context, eventStream(feed.ring, placeOf(context), leave));
  });
  const doing = (path: string, act: (ports: PagePorts, feed: InboxFeed, body: unknown) => Promise<InboxDone>): void => {
    app.post(path, async (context) => {
      try {
        const body = await jsonBody(context);
        return context.json(await withFeed(inboxes, 'all', (feed) => act(acting(context), feed, body)));
      } catch (error) {
        return context.json({ said: showUnseen(reasonOf(error)) }, statusOf(error));
      }
    });
  };
  doing('/inbox/allow', allowMany);
  doing('/inbox/always', keepRule);
  doing('/inbox/undo', (to, _feed, body) => undoRule(to, body));
}

/** What was decided on any view of this page disappears from its inbox at once. */
async function settleInInbox(inboxes: Inboxes, session: SessionId, action: string, body: unknown): Promise<void> {
  if (inboxes.size === 0 || !['approve', 'deny', 'answer'].includes(action)) return;
  const { call } = body as { readonly call: string };
  await withFeed(inboxes, 'all', (feed) => feed.settle([{ session, call }]));
}

/** New tasks, who works, and what it took. */
function overviewRoutes(
  app: Hono,
  ports: PagePorts,
  workers: OpenFeeds<'all', WorkersFeed>,
  acting: (context: Context) => Pick<PagePorts, 'start'>,
): void {
  app.get('/tasks/new', async (context) => context.html(htmlOf(await newTaskForm(ports))));
  app.post('/tasks', async (context) =>
    answer(context, async () => {
      const session = await startTask(acting(context), await jsonBody(context));
      context.header('HX-Redirect', `/sessions/${encodeURIComponent(session)}`);
      return `Started: ${session}.`;
    }),
  );
  app.get('/workers', (context) => withFeed(workers, 'all', (feed) => context.html(htmlOf(workersPage(feed)))));
  app.get('/workers/live', async (context) => {
    const { feed, leave } = await workers.enter('all');
    return sendStream(context, eventStream(feed.ring, placeOf(context), leave));
  });
  const daysOf = (context: Context): number => {
    const days = Number(context.req.query('days') ?? 7);
    return DAYS.includes(days) ? days : 7;
  };
  app.get('/usage', async (context) => {
    const days = daysOf(context);
    return context.html(htmlOf(usagePage(await readUsage(ports, days), days)));
  });
  app.get('/usage.csv', async (context) => {
    const days = daysOf(context);
    context.header('Content-Disposition', `attachment; filename="perdure-usage-${days}d.csv"`);
    return context.body(usageCsv(await readUsage(ports, days)), 200, { 'Content-Type': 'text/csv; charset=utf-8' });
  });
}

function scheduleRoutes(
  app: Hono,
  plans: OpenFeeds<'all', SchedulesFeed>,
  acting: (context: Context) => Pick<PagePorts, 'schedules'>,
): void {
  app.get('/schedules', (context) => withFeed(plans, 'all', (feed) => context.html(htmlOf(schedulesPage(feed)))));
  app.get('/schedules/live', async (context) => {
    const { feed, leave } = await plans.enter('all');
    return sendStream(context, eventStream(feed.ring, placeOf(context), leave));
  });
  app.post('/schedules/:name/:action', async (context) => {
    const { name, action } = context.req.param();
    if (!isScheduleAction(action)) return context.notFound();
    return answer(context, async () => {
      const said = await actOnSchedule(acting(context).schedules, name, action);
      await withFeed(plans, 'all', (feed) => feed.look());
      return said;
    });
  });
}

/** Adds the headers that every answer has. */
function sendStream(context: Context, response: Response): Response {
  for (const [name, value] of response.headers) context.header(name, value);
  return context.body(response.body ?? '', 200);
}

const placeOf = (context: Context): string => context.req.header('last-event-id') ?? context.req.query('from') ?? '';

/** Returns the view that an address names; a filter that cannot be read is left out of it. */
function fleetQueryOf(context: Context): FleetAsked {
  const view = readFleetView(new URL(context.req.url).searchParams);
  const problem = filterProblem(view.filter);
  if (problem === null) return { query: fleetQuery(view) };
  return { query: fleetQuery({ ...view, filter: '', after: null }), refused: { filter: view.filter, problem } };
}

type FleetAsked = {
  readonly query: string;
  readonly refused?: { readonly filter: string; readonly problem: string };
};

function idOf(context: Context): SessionId | null {
  const id = context.req.param('id') ?? '';
  return sessionIdProblem(id) === undefined ? (id as SessionId) : null;
}

/** Answers the person who asked with a sentence, in success and in failure. */
async function answer(context: Context, work: () => Promise<string>): Promise<Response> {
  try {
    return context.html(htmlOf(<p class="good">{await work()}</p>));
  } catch (error) {
    return context.html(htmlOf(<p class="bad">{showUnseen(reasonOf(error))}</p>), statusOf(error));
  }
}

async function jsonBody(context: Context): Promise<unknown> {
  try {
    return (await context.req.json()) as unknown;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ClientProblem('refused', `what was sent is not JSON: ${error.message}`);
  }
}

function ProblemPage({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <Layout title={title}>
      <h1>{title}</h1>
      <p>{text}</p>
      <p>
        <a href="/">All sessions</a>
      </p>
    </Layout>
  );
}
