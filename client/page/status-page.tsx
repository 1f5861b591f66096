// The status page: the sessions there are, and one session's runs and messages. Text only, no script, read only.
import { Hono } from 'hono';
import { ClientProblem } from '../problem.ts';
import { plain } from '../../activities/text.ts';
import { sessionIdProblem, type SessionInfo } from '../sessions/info.ts';
import type { SessionReading } from '../sessions/read.ts';
import { type Access, guard } from './guard.ts';
import { Layout, STYLE } from './layout.tsx';
import { SessionList } from './session-list.tsx';
import { SessionView } from './session-view.tsx';

export type PagePorts = {
  /** Newest first. */
  list(): AsyncIterable<SessionInfo>;
  /** Throws ClientProblem when there is no such session. */
  read(session: string): Promise<SessionReading>;
};

const MOST = 200;

export function statusPage(ports: PagePorts, access: Access): Hono {
  const app = new Hono();
  app.use(guard(access));
  app.get('/style.css', (context) => context.body(STYLE, 200, { 'Content-Type': 'text/css; charset=utf-8' }));
  app.get('/', async (context) => {
    const sessions: SessionInfo[] = [];
    for await (const session of ports.list()) if (sessions.push(session) >= MOST) break;
    return context.html(<SessionList sessions={sessions} now={Date.now()} />);
  });
  app.get('/sessions/:id', async (context) => {
    const id = context.req.param('id');
    if (sessionIdProblem(id) !== undefined) return context.notFound();
    return context.html(<SessionView reading={await ports.read(id)} now={Date.now()} />);
  });
  app.notFound((context) => context.html(<Problem title="Not found" text="There is no such page." />, 404));
  app.onError((error, context) => {
    const missing = error instanceof ClientProblem && error.kind === 'no_session';
    return context.html(<Problem title="Not to be shown" text={plain(error.message)} />, missing ? 404 : 500);
  });
  return app;
}

function Problem({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <Layout title={title}>
      <p class="back">
        <a href="/">All sessions</a>
      </p>
      <h1>{title}</h1>
      <p>{text}</p>
    </Layout>
  );
}
