// The ops page: all sessions, and one as it goes. All its data come from visibility, the store and
// the live channel, so any number of processes may serve it.
import { Hono, type Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { Child } from 'hono/jsx';
import { showUnseen, reasonOf } from '../system/text.ts';
import type { SessionId } from '../client/faces/types.ts';
import { ClientProblem } from '../client/faces/start.ts';
import { API, type Api, apiApp } from './api/api-app.ts';
import { httpStatusOf } from './api/problems.ts';
import { type Access, guardPage, personIn } from './hosting/access.ts';
import { OWNER } from './hosting/people.ts';
import { addCompareRoute, idOf, addReadingRoutes, type SessionFeeds } from './session/reading-routes.tsx';
import { addShareForm, addSharedRoutes } from './session/shared-routes.tsx';
import { addSignIn } from './hosting/sign-in.tsx';
import { serveAsset } from './assets.ts';
import { type OpenFeeds, openFeeds, sendFeed, withFeed } from './feed/event-stream.ts';
import { readFrame, sumCounts } from './frame/frame-state.tsx';
import { openSessionFeed } from './feed/session-feed.ts';
import { EmptyCard } from './primitives.tsx';
import { TimedText } from './figures.tsx';
import { Layout, htmlOf } from './layout.tsx';
import type { PagePorts } from './ports.ts';
import { actOnSession, actOnMany, isAction } from './session/actions.ts';
import { sessionFrame } from './session/frame.tsx';
import { type FleetFeed, openFleetFeed } from './fleet/fleet-feed.tsx';
import { allowMany, keepRule, undoRule, type InboxDone } from './inbox/inbox-actions.ts';
import { InboxFeed } from './inbox/inbox-feed.tsx';
import { detailHtml, emptyHtml, inboxPage } from './inbox/inbox-page.tsx';
import { filterProblem, fleetQuery, readFleetView, wholeFilter } from './fleet/fleet-view.ts';
import { fleetPage } from './fleet/fleet-page.tsx';
import { newTaskForm, startTask } from './tasks/new-task.tsx';
import { DAYS, readUsage, usageCsv, usagePage } from './usage/usage-page.tsx';
import { openWorkersFeed, type WorkersFeed, workersPage } from './workers/workers-page.tsx';
import { openSchedulesFeed, type SchedulesFeed } from './schedules/schedules-feed.tsx';
import {
  changeSchedule,
  createSchedule,
  editScheduleForm,
  newScheduleForm,
  actOnSchedule,
  isScheduleAction,
  schedulesPage,
} from './schedules/schedules-page.tsx';

/** A list is soon read again, and each view of it is a feed of its own. */
const FLEET_LINGER_MS = 5_000;
const LARGEST_BODY = 2 * 1024 * 1024;

/**
 * Another app on the page's port, below a path of its own, which lets people in by itself. Its
 * `views` are a section of the page, for those whom the page lets in.
 */
export type MountedApp = {
  readonly path: string;
  readonly app: Hono;
  readonly views?: { readonly path: string; readonly app: Hono };
  close(): void;
};

/** Makes such an app for those who may use the page. */
export type MountApp = (access: Access) => MountedApp;

/** The page with its open feeds. Close it once. */
export class OpsPage {
  readonly app = new Hono();
  readonly feeds: SessionFeeds;
  readonly api: Api;
  readonly #ports: PagePorts;
  readonly #access: Access;
  readonly #fleets: OpenFeeds<string, FleetFeed>;
  readonly #inboxes: Inboxes;
  readonly #workers: OpenFeeds<'all', WorkersFeed>;
  readonly #plans: OpenFeeds<'all', SchedulesFeed>;
  readonly #mounted: MountedApp | undefined;

  constructor(ports: PagePorts, access: Access, mount?: MountApp) {
    this.#mounted = mount?.(access);
    [this.#ports, this.#access] = [ports, { ...access, hasAgents: this.#mounted?.views !== undefined }];
    this.feeds = openFeeds((session: SessionId) => openSessionFeed(ports, session, sessionFrame));
    this.#fleets = openFeeds((query: string, isWatched) => openFleetFeed(ports, query, isWatched), FLEET_LINGER_MS);
    this.#inboxes = openFeeds((_all: 'all') => InboxFeed.open(ports));
    this.#workers = openFeeds((_all: 'all') => openWorkersFeed(ports));
    this.#plans = openFeeds((_all: 'all') => openSchedulesFeed(ports));
    this.api = apiApp(ports, access);
    this.#addGuards();
    this.#addFleet();
    this.#addSessions();
    const acting = (context: Context): PagePorts => this.#acting(context);
    inboxRoutes(this.app, { ports, inboxes: this.#inboxes, acting });
    overviewRoutes(this.app, ports, this.#workers, acting);
    scheduleRoutes(this.app, ports, this.#plans, acting);
    this.app.notFound((context) =>
      context.html(<ProblemPage title="Page not found" text="There’s no such page." />, 404),
    );
    this.app.onError((error, context) => context.html(<ProblemPage {...problemOf(error)} />, httpStatusOf(error)));
  }

  close(): void {
    for (const open of [this.api, this.feeds, this.#fleets, this.#plans, this.#inboxes, this.#workers]) open.close();
    this.#mounted?.close();
  }

  /** Acts in the name of the person who asks. */
  #acting(context: Context): PagePorts {
    return { ...this.#ports, ...this.#ports.as(personIn(context, this.#access)?.name ?? OWNER, 'on the ops page') };
  }

  #addGuards(): void {
    const { app } = this;
    app.route(API, this.api.app);
    if (this.#mounted) app.route(this.#mounted.path, this.#mounted.app);
    app.use(guardPage(this.#access));
    app.use(bodyLimit({ maxSize: LARGEST_BODY, onError: (context) => context.text('at most 2 MB', 413) }));
    app.get('/static/:name', (context) => serveAsset(context, context.req.param('name')) ?? context.notFound());
    addSignIn(app, this.#access);
    const views = this.#mounted?.views;
    if (views) app.route(views.path, views.app);
  }

  #addFleet(): void {
    this.app.get('/', (context) => {
      const { query, refused } = fleetQueryOf(context);
      return withFeed(this.#fleets, query, (feed) => context.html(htmlOf(fleetPage(feed, { refused }))));
    });
    this.app.get('/frame', async (context) => context.json(await readFrame(this.#ports)));
    this.app.get('/views', async (context) =>
      context.json(await countViews(this.#ports, context.req.queries('at') ?? [])),
    );
    this.app.get('/live', (context) => sendFeed(context, this.#fleets, fleetQueryOf(context).query));
    this.app.post('/bulk', async (context) => {
      try {
        const { said: text, ok } = await actOnMany(this.#acting(context), await jsonBody(context));
        return context.text(text, ok ? 200 : 409);
      } catch (error) {
        return context.text(showUnseen(reasonOf(error)), httpStatusOf(error));
      }
    });
  }

  #addSessions(): void {
    const { app, feeds } = this;
    addReadingRoutes(app, this.#ports, feeds);
    addCompareRoute(app, this.#ports, feeds);
    addSharedRoutes(app, this.#ports, { access: this.#access, feeds });
    addShareForm(app, this.#access);
    app.post('/sessions/:id/:action', async (context) => {
      const session = idOf(context);
      const name = context.req.param('action');
      if (session === null || !isAction(name)) return context.notFound();
      return answer(context, () => this.#actOn(context, session, name));
    });
  }

  async #actOn(context: Context, session: SessionId, name: Parameters<typeof actOnSession>[2]): Promise<Child> {
    const role = personIn(context, this.#access)?.role ?? 'look';
    const body = await jsonBody(context);
    const {
      said: text,
      message,
      link,
      next,
    } = await actOnSession({ ports: this.#acting(context), role }, session, name, body);
    // The page shows a message until the session takes it, whoever reads it first.
    if (message !== undefined) await withFeed(this.feeds, session, (feed) => feed.wake(message));
    else this.feeds.tell(session, (feed) => feed.wake());
    await settleInInbox(this.#inboxes, session, name, body);
    if (next) return <AnswerWithNext text={text} path={`/sessions/${session}/${next.action}`} label={next.label} />;
    return link === undefined ? text : <AnswerWithLink text={text} link={link} />;
  }
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
  app.get('/inbox/live', (context) => sendFeed(context, inboxes, 'all'));
  const doing = (path: string, act: (ports: PagePorts, feed: InboxFeed, body: unknown) => Promise<InboxDone>): void => {
    app.post(path, async (context) => {
      try {
        const body = await jsonBody(context);
        return context.json(await withFeed(inboxes, 'all', (feed) => act(acting(context), feed, body)));
      } catch (error) {
        return context.json({ said: showUnseen(reasonOf(error)) }, httpStatusOf(error));
      }
    });
  };
  doing('/inbox/allow', allowMany);
  doing('/inbox/always', keepRule);
  doing('/inbox/undo', (to, _feed, body) => undoRule(to, body));
}

/** Removes a call that was decided on any view of this page from its inbox at once. */
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
  app.get('/workers/live', (context) => sendFeed(context, workers, 'all'));
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
  ports: Pick<PagePorts, 'page' | 'schedules'>,
  plans: OpenFeeds<'all', SchedulesFeed>,
  acting: (context: Context) => Pick<PagePorts, 'schedules'>,
): void {
  app.get('/schedules', (context) => withFeed(plans, 'all', (feed) => context.html(htmlOf(schedulesPage(feed)))));
  app.get('/schedules/new', async (context) => context.html(htmlOf(await newScheduleForm(ports))));
  app.post('/schedules', (context) =>
    answer(context, async () => {
      const name = await createSchedule(acting(context).schedules, await jsonBody(context));
      await withFeed(plans, 'all', (feed) => feed.look());
      return `Created: ${name}.`;
    }),
  );
  app.get('/schedules/live', (context) => sendFeed(context, plans, 'all'));
  app.get('/schedules/:name/edit', async (context) =>
    context.html(htmlOf(await editScheduleForm(ports, context.req.param('name')))),
  );
  app.post('/schedules/:name/update', (context) =>
    answer(context, async () => {
      const { name } = context.req.param();
      await changeSchedule(acting(context).schedules, name, await jsonBody(context));
      await withFeed(plans, 'all', (feed) => feed.look());
      return `Changed: ${name}.`;
    }),
  );
  app.post('/schedules/:name/:action', async (context) => {
    const { name, action } = context.req.param();
    if (!isScheduleAction(action)) return context.notFound();
    return answer(context, async () => {
      const text = await actOnSchedule(acting(context).schedules, name, action);
      await withFeed(plans, 'all', (feed) => feed.look());
      return text;
    });
  });
}

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

/** Answers the person who asked with a sentence, in success and in failure. */
async function answer(context: Context, work: () => Promise<Child>): Promise<Response> {
  try {
    const content = await work();
    return context.html(
      htmlOf(<p class="good">{typeof content === 'string' ? <TimedText text={content} /> : content}</p>),
    );
  } catch (error) {
    const problem = <TimedText text={showUnseen(reasonOf(error))} />;
    return context.html(htmlOf(<p class="bad">{problem}</p>), httpStatusOf(error));
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

function AnswerWithLink({ text, link }: { readonly text: string; readonly link: string }) {
  return (
    <>
      {`${text} `}
      <a href={link}>Open it</a>
    </>
  );
}

type NextProps = { readonly text: string; readonly path: string; readonly label: string };

function AnswerWithNext({ text, path, label }: NextProps) {
  return (
    <>
      {`${text} `}
      <button type="button" class="plain" hx-post={path} hx-target="#said">
        {label}
      </button>
    </>
  );
}

/** The words of the client are for a command line. */
function problemOf(error: Error): { readonly title: string; readonly text: string } {
  const id = /^no session (\S{1,200}?):?(?:\s|$)/.exec(error.message)?.[1];
  if (error instanceof ClientProblem && error.kind === 'no_session' && id !== undefined)
    return { title: 'Session not found', text: `There’s no session ${showUnseen(id)}.` };
  return { title: 'Can’t show this page', text: showUnseen(error.message) };
}

function ProblemPage({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <Layout title={title}>
      <EmptyCard
        icon="search"
        title={title}
        isPage
        action={
          <a class="button" href="/">
            All sessions
          </a>
        }
      >
        {text}
      </EmptyCard>
    </Layout>
  );
}

/** More views have no counts. */
const MOST = 20;

/**
 * Counts the sessions of the views that a browser keeps, by their addresses; null for one that
 * cannot be counted.
 */
async function countViews(
  { counts }: Pick<PagePorts, 'counts'>,
  addresses: readonly string[],
): Promise<readonly (number | null)[]> {
  const counted = addresses.slice(0, MOST).map(async (address) => {
    if (!address.startsWith('/?')) return null;
    const filter = wholeFilter(readFleetView(new URLSearchParams(address.slice(2))));
    return filterProblem(filter) === null ? sumCounts(await counts({ filter })) : null;
  });
  return Promise.all(counted);
}
