// The ops page's views of agents, environments and the queues of work (O11), read from the logs of
// resources.
import { Hono } from 'hono';
import type { BetaManagedAgentsAgent } from '@anthropic-ai/sdk/resources/beta/agents';
import type {
  BetaEnvironment,
  BetaSelfHostedWork,
  BetaSelfHostedWorkQueueStats,
} from '@anthropic-ai/sdk/resources/beta/environments';
import { showUnseen } from '../system/text.ts';
import { Age, formatNumber } from '../page/figures.tsx';
import { htmlOf, Layout } from '../page/layout.tsx';
import { EmptyCard } from '../page/primitives.tsx';
import type { WorkItem } from '../client/faces/types.ts';
import { isPending, isQueued, stateOfItem } from '../client/faces/work-items.ts';
import { isId } from './ids.ts';
import { LIST_AGE_MS, type SessionItem } from './log/stored.ts';
import type { Parts } from './request.ts';
import type { FoundItem } from './work/work.ts';

/** Rows that a table shows: the API lists all. */
const MOST_ROWS = 200;
const MOST_SESSIONS = 50;
const MOST_VERSIONS = 20;
const MOST_ITEMS = 100;

type ViewParts = Pick<Parts, 'stored' | 'agents' | 'environments' | 'work'>;
type Agent = BetaManagedAgentsAgent;
type Session = readonly [id: string, item: SessionItem];

/** Makes the views below `/agents`, for people whom the page has let in. */
export function agentViews({ stored, agents, environments, work }: ViewParts): Hono {
  const app = new Hono();
  app.get('/', async (context) => {
    const sessions = await stored.listSessions();
    const listed = await agents.list({ include_archived: true });
    const rows = await Promise.all(listed.slice(0, MOST_ROWS).map(([id]) => agents.retrieve(id)));
    const view = (
      <AgentsPage
        agents={rows}
        total={listed.length}
        environments={await environments.list(true)}
        sessions={sessions}
      />
    );
    return context.html(htmlOf(view));
  });
  app.get('/environments/:id', async (context, next) => {
    const id = context.req.param('id');
    const environment = (await environments.list(true)).find((one) => one.id === id);
    if (environment?.config.type !== 'self_hosted') return next();
    const items = (await work.list(id)).toSorted((a, b) => Number(isStopped(a)) - Number(isStopped(b)));
    const visible = items.slice(0, MOST_ITEMS);
    const rows = await Promise.all(visible.map(async (found) => ({ found, work: await work.show(found) })));
    const sessions = new Map(await stored.listSessions());
    const view = <QueuePage {...{ environment, rows, sessions, total: items.length, stats: await work.stats(id) }} />;
    return context.html(htmlOf(view));
  });
  app.get('/:id', async (context, next) => {
    const id = context.req.param('id');
    const item = isId('agent', id) ? (await stored.agents.read(LIST_AGE_MS)).get(id) : undefined;
    if (!item) return next();
    const newest = item.versions.map((_, at) => at + 1).slice(-MOST_VERSIONS);
    const versions = await Promise.all(newest.map((version) => agents.retrieve(id, version)));
    const sessions = (await stored.listSessions()).filter(([, { agentId }]) => agentId === id);
    return context.html(htmlOf(<AgentPage versions={versions.toReversed()} sessions={sessions} />));
  });
  return app;
}

type OverviewProps = {
  readonly agents: readonly Agent[];
  readonly total: number;
  readonly environments: readonly BetaEnvironment[];
  readonly sessions: readonly Session[];
};

function AgentsPage({ agents, total, environments, sessions }: OverviewProps) {
  const countOf = countSessions(sessions);
  const visible = environments.slice(0, MOST_ROWS);
  return (
    <Layout title="Agents" at="agents" scripts={['times.js', 'keys.js']} styles={['sessions.css']}>
      <h1>Agents</h1>
      {agents.length === 0 ? (
        <EmptyCard icon="agent" title="No agents yet">
          Create one with <code>client.beta.agents.create</code> of an Anthropic SDK whose base URL is this server’s.
        </EmptyCard>
      ) : (
        <Table name="Agents" columns={['Agent', 'Model', 'Tools', '#Version', '#Sessions', '#Updated']}>
          {agents.map((agent) => (
            <tr>
              <td>
                <a href={`/agents/${agent.id}`}>{showUnseen(agent.name)}</a>
                <ArchivedMark at={agent.archived_at} />
              </td>
              <td>{showUnseen(agent.model.id)}</td>
              <td>{toolsOf(agent)}</td>
              <td class="number">{agent.version}</td>
              <td class="number">{countOf(agent.id)}</td>
              <td class="number">
                <Age at={Date.parse(agent.updated_at)} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {total > agents.length ? <p class="quiet">{`The newest ${agents.length} of ${formatNumber(total)}.`}</p> : null}
      <h2>Environments</h2>
      <Table name="Environments" columns={['Environment', 'Runs tools', 'Network', '#Sessions', '#Updated']}>
        {visible.map((environment) => (
          <tr>
            <td>
              <EnvironmentName {...environment} /> <code>{environment.id}</code>
              <ArchivedMark at={environment.archived_at} />
            </td>
            <td>
              {environment.config.type === 'cloud' ? 'on workers of this deployment' : 'in sandboxes of your own'}
            </td>
            <td>{environment.config.type === 'cloud' ? environment.config.networking.type : 'yours'}</td>
            <td class="number">{countOf(environment.id)}</td>
            <td class="number">
              {Date.parse(environment.updated_at) === 0 ? '–' : <Age at={Date.parse(environment.updated_at)} />}
            </td>
          </tr>
        ))}
      </Table>
    </Layout>
  );
}

/** Environments with a queue have a view of it. */
function EnvironmentName({ id, name, config }: BetaEnvironment) {
  if (config.type !== 'self_hosted') return <>{showUnseen(name)}</>;
  return <a href={`/agents/environments/${id}`}>{showUnseen(name)}</a>;
}

type ItemRow = { readonly found: FoundItem; readonly work: BetaSelfHostedWork };
type QueueProps = {
  readonly environment: BetaEnvironment;
  readonly stats: BetaSelfHostedWorkQueueStats;
  readonly rows: readonly ItemRow[];
  readonly total: number;
  readonly sessions: ReadonlyMap<string, SessionItem>;
};

const isStopped = ({ item }: FoundItem): boolean => item.stoppedAt !== undefined;

function QueuePage({ environment, stats, rows, total, sessions }: QueueProps) {
  const name = showUnseen(environment.name);
  return (
    <Layout title={name} at="agents" scripts={['times.js', 'keys.js']} styles={['sessions.css']}>
      <h1>{name}</h1>
      <p class="quiet">
        <code>{environment.id}</code>
        <ArchivedMark at={environment.archived_at} />
        {` · ${statsText(stats)}`}
        {stats.oldest_queued_at === null ? null : (
          <>
            {' · oldest queued '}
            <Age at={Date.parse(stats.oldest_queued_at)} />
          </>
        )}
      </p>
      <h2>Work</h2>
      {rows.length === 0 ? (
        <p class="quiet">No work yet. A message to a session queues the first item.</p>
      ) : (
        <Table name="Work" columns={['Session', 'State', 'Worker', '#Lease', '#Last heartbeat', '#Queued']}>
          {rows.map(({ found, work }) => (
            <ItemRow found={found} work={work} session={sessions.get(found.item.session)} />
          ))}
        </Table>
      )}
      {total > rows.length ? <p class="quiet">{`${rows.length} of ${formatNumber(total)} items.`}</p> : null}
    </Layout>
  );
}

/** Workers are known by the server that they poll. */
const statsText = ({ depth, pending, workers_polling: polling }: BetaSelfHostedWorkQueueStats): string =>
  [
    `${formatNumber(depth)} queued`,
    `${formatNumber(pending)} handed out`,
    ...(polling == null
      ? []
      : [`${formatNumber(polling)} ${polling === 1 ? 'worker polls' : 'workers poll'} this server`]),
  ].join(' · ');

function ItemRow({
  found: { id, item },
  work: { latest_heartbeat_at: beat },
  session,
}: ItemRow & { readonly session: SessionItem | undefined }) {
  const title = showUnseen(session?.title ?? item.session);
  return (
    <tr>
      <td>
        {session?.isStarted ? <a href={`/sessions/${item.session}`}>{title}</a> : title} <code>{id}</code>
      </td>
      <td>{itemState(item)}</td>
      <td>{showUnseen(item.lease?.worker ?? '–')}</td>
      <td class="number">{item.lease?.g ?? '–'}</td>
      <td class="number">{beat === null ? '–' : <Age at={Date.parse(beat)} />}</td>
      <td class="number">
        <Age at={item.createdAt} />
      </td>
    </tr>
  );
}

/** Names the state for people: the API calls waiting and handed-out items by one word. */
function itemState(item: WorkItem): string {
  if (isQueued(item)) return item.repeats > 0 ? `queued again (${item.repeats})` : 'queued';
  if (isPending(item)) return 'handed out';
  if (item.stoppedAt === undefined && item.lease?.lapsedAt !== undefined) return 'lease lapsed';
  return stateOfItem(item);
}

/** Counts the sessions of agents and environments by their id, those not archived first. */
function countSessions(sessions: readonly Session[]): (id: string) => string {
  const counts = new Map<string, { all: number; current: number }>();
  for (const [, { agentId, environment, archivedAt }] of sessions)
    for (const id of [agentId, environment]) {
      const count = counts.get(id) ?? { all: 0, current: 0 };
      count.all += 1;
      if (archivedAt === null) count.current += 1;
      counts.set(id, count);
    }
  return (id) => {
    const { all, current } = counts.get(id) ?? { all: 0, current: 0 };
    return all === current ? formatNumber(all) : `${formatNumber(all)} (${formatNumber(all - current)} archived)`;
  };
}

function AgentPage({
  versions,
  sessions,
}: {
  readonly versions: readonly Agent[];
  readonly sessions: readonly Session[];
}) {
  const [agent] = versions as readonly [Agent, ...Agent[]];
  const newest = sessions.toSorted(([, a], [, b]) => b.createdAt - a.createdAt).slice(0, MOST_SESSIONS);
  return (
    <Layout title={showUnseen(agent.name)} at="agents" scripts={['times.js', 'keys.js']} styles={['sessions.css']}>
      <h1>{showUnseen(agent.name)}</h1>
      <p class="quiet">
        <code>{agent.id}</code>
        <ArchivedMark at={agent.archived_at} />
        {agent.description === null || agent.description === '' ? null : ` · ${showUnseen(agent.description)}`}
      </p>
      <h2>Sessions</h2>
      {newest.length === 0 ? (
        <p class="quiet">No sessions yet.</p>
      ) : (
        <Table name="Sessions" columns={['Session', 'State', '#Version', '#Created']}>
          {newest.map(([id, item]) => (
            <SessionRow id={id} item={item} />
          ))}
        </Table>
      )}
      {sessions.length > newest.length ? (
        <p class="quiet">{`The newest ${newest.length} of ${formatNumber(sessions.length)}.`}</p>
      ) : null}
      <h2>Versions</h2>
      {versions.map((version, at) => (
        <details open={at === 0}>
          <summary>
            {`Version ${version.version} · `}
            <Age at={Date.parse(version.updated_at)} />
            {changesText(version, versions[at + 1])}
          </summary>
          <pre>{showUnseen(JSON.stringify(partsOf(version), null, 2))}</pre>
        </details>
      ))}
    </Layout>
  );
}

/** A session without a message has no workflow, and so no view of its own. */
function SessionRow({ id, item }: { readonly id: string; readonly item: SessionItem }) {
  const name = showUnseen(item.title ?? id);
  return (
    <tr>
      <td>{item.isStarted ? <a href={`/sessions/${id}`}>{name}</a> : name}</td>
      <td>{item.archivedAt !== null ? 'archived' : item.isStarted ? 'open' : 'no message yet'}</td>
      <td class="number">{item.agentVersion}</td>
      <td class="number">
        <Age at={item.createdAt} />
      </td>
    </tr>
  );
}

type TableProps = { readonly name: string; readonly columns: readonly string[]; readonly children: unknown };

/** A column whose name begins with `#` has numbers. */
function Table({ name, columns, children }: TableProps) {
  return (
    <div class="wide" tabindex={0} role="region" aria-label={name}>
      <table class="amounts">
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col" class={column.startsWith('#') ? 'number' : undefined}>
                {column.replace(/^#/, '')}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

function ArchivedMark({ at }: { readonly at: string | null }) {
  return at === null ? null : <small class="quiet"> archived</small>;
}

const toolsOf = ({ tools }: Agent): string =>
  tools
    .flatMap((tool) => {
      if (tool.type === 'agent_toolset_20260401')
        return tool.configs.filter(({ enabled }) => enabled).map(({ name }) => name);
      return showUnseen(tool.type === 'custom' ? tool.name : `MCP server ${tool.mcp_server_name}`);
    })
    .join(', ') || 'none';

/** Shortens a version to its parts: a toolset has a policy for each tool that is enabled. */
function partsOf({ model, system, tools, mcp_servers, skills, multiagent, metadata, name, description }: Agent) {
  return { name, description, model, system, tools: tools.map(shortTool), mcp_servers, skills, multiagent, metadata };
}

function shortTool(tool: Agent['tools'][number]): unknown {
  if (tool.type !== 'agent_toolset_20260401') return tool;
  const enabled = tool.configs.filter((config) => config.enabled);
  const policies = enabled.map(({ name, permission_policy }) => [name, permission_policy.type]);
  return { type: tool.type, ...(Object.fromEntries(policies) as Readonly<Record<string, string>>) };
}

function changesText(version: Agent, before: Agent | undefined): string {
  if (before === undefined) return ' · created';
  const old = partsOf(before);
  const changed = Object.entries(partsOf(version)).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(old[name as keyof typeof old]),
  );
  return ` · changed: ${changed.map(([name]) => name).join(', ')}`;
}
