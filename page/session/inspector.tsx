// Draws what stands next to a transcript: what the session does now, what it spends on what, how
// its tools do, its limits, and where it comes from.
import { showUnseen } from '../../system/text.ts';
import { VERSION } from '../../worker/version.ts';
import { addSpend, noSpend, totalTokens, type Spend } from '../../workflows/contract/loop.ts';
import { isUnderWay, phaseText } from '../../client/sessions/info.ts';
import { nowText as stepText } from '../../client/render/now-words.ts';
import { endWords } from '../../client/render/ending-words.ts';
import type { RunningRow } from '../../client/sessions/running/running-row.ts';
import { isSilentSession } from '../../client/sessions/running/with-running.ts';
import { formatMoney, shortTime } from '../../client/units.ts';
import type { Standing } from '../feed/standing.tsx';
import { Icon } from '../icons.tsx';
import { Moment } from '../layout.tsx';
import { AgentState } from './agent-state.tsx';
import { BackgroundList } from './background.tsx';
import { RequestList } from './lately.tsx';
import { transcriptFacts } from './session-facts.ts';
import { shortAmount } from '../figures.tsx';
import { HeadMeter } from './head.tsx';

export function NowPart({ standing }: { readonly standing: Standing }) {
  const { seen, background, recent, agents } = standing;
  const { tasks } = transcriptFacts(standing.items);
  return (
    <section id="now" class="part">
      <h2>What it is doing</h2>
      <p>{nowText(standing)}</p>
      {seen.running ? <StepList running={seen.running} isSilent={isSilentSession(seen, Date.now())} /> : null}
      {tasks === null ? null : <TaskList tasks={tasks} />}
      {agents.length === 0 ? null : (
        <ul class="agents-now">
          {agents.slice(-8).map((agent) => (
            <li class="row">
              <Icon name="agent" />
              <a class="cut" href={`/sessions/${agent.session}`}>
                {showUnseen(agent.title || agent.session)}
              </a>
              <small class="far">
                <AgentState agent={agent} now={Date.now()} />
              </small>
            </li>
          ))}
        </ul>
      )}
      {background.length > 0 ? <BackgroundList commands={background} /> : null}
      {seen.last === null || isUnderWay(seen) ? null : (
        <p class="quiet">{`Last run: ${showUnseen(endWords(seen.last.terminal))}`}</p>
      )}
      <RequestList recent={recent} />
    </section>
  );
}

/** Agents have a list of their own. */
function StepList({ running, isSilent }: { readonly running: RunningRow; readonly isSilent: boolean }) {
  const { doing, model, lastSign } = running;
  return (
    <>
      <ul class="steps-now" aria-label="Steps under way">
        {doing
          .filter(({ kind }) => kind !== 'agents')
          .map((step) => (
            <li>
              <span>{showUnseen(stepText({ doing: [step], model }))}</span>
              <small>
                since <Moment at={step.since} />
              </small>
            </li>
          ))}
      </ul>
      <p class={isSilent ? 'bad' : 'quiet'}>
        Last activity <Moment at={lastSign} />
      </p>
    </>
  );
}

function nowText({ seen, agents, pending }: Standing): string {
  const waits = seen.approvals?.length ?? 0;
  const parts = [
    isSilentSession(seen, Date.now()) ? 'running, no activity' : phaseText(seen),
    ...(waits > 0 ? [`${waits === 1 ? '1 call needs' : `${waits} calls need`} you`] : []),
    ...(agents.some(({ phase }) => phase === 'running')
      ? [`${agents.filter(({ phase }) => phase === 'running').length} of ${agents.length} agents running`]
      : []),
    ...(pending.length > 0 ? [`${pending.length} queued`] : []),
  ];
  return parts.join(' · ');
}

function TaskList({ tasks }: { readonly tasks: string }) {
  return (
    <section id="tasks" aria-label="Tasks">
      <ul class="tasks">
        {tasks.split('\n').map((task) => (
          <li>{showUnseen(task)}</li>
        ))}
      </ul>
    </section>
  );
}

export function SpendPart({ standing: { items, config, recent, agents } }: { readonly standing: Standing }) {
  const { spend, replies } = transcriptFacts(items);
  const { all, run } = spend;
  const rules = config && { ...config.rules, ...recent.raised };
  const limit = rules?.maxBudgetUsd ?? null;
  const ofAgents = agents.reduce<number | null>(
    (sum, { facts }) => (sum === null || facts == null ? sum : facts.cents === null ? null : sum + facts.cents / 100),
    0,
  );
  return (
    <section id="spend" class="part">
      <h2 class="row">
        Cost <span class="far">{`${all.isLeast ? '≥ ' : ''}${formatMoney(all.spend.usd)}`}</span>
      </h2>
      {limit === null ? null : (
        <p class="row quiet">
          {`This run: ${formatMoney(run.spend.usd)} of ${formatMoney(limit)}`}
          <HeadMeter share={(run.spend.usd ?? 0) / limit} kind="cost" label="Cost of its limit" />
        </p>
      )}
      <dl class="pairs">
        <Pair name="its replies" value={formatMoney(replies.usd)} />
        {agents.length === 0 ? null : (
          <Pair name={agents.length === 1 ? '1 agent' : `${agents.length} agents`} value={formatMoney(ofAgents)} />
        )}
        <Pair name="summaries, notes" value={restText(all.spend, replies, ofAgents, all.isLeast)} />
      </dl>
      <h2 class="row">
        Tokens <span class="far">{shortAmount(totalTokens(all.spend.usage))}</span>
      </h2>
      <dl class="pairs">
        <Pair name="from the cache" value={shortAmount(all.spend.usage.cacheRead)} />
        <Pair name="into the cache" value={shortAmount(all.spend.usage.cacheWrite)} />
        <Pair name="not cached" value={shortAmount(all.spend.usage.input)} />
        <Pair name="out" value={shortAmount(all.spend.usage.output)} />
      </dl>
      <ContextLines context={spend.context} window={config?.models[0].window} critical={rules?.compaction.critical} />
    </section>
  );
}

/** A cost that neither a reply nor an agent had is known when the run has ended. */
function restText(all: Spend, replies: Spend, ofAgents: number | null, isLeast: boolean): string {
  if (isLeast) return 'known at the end';
  const whole = addSpend(noSpend, all).usd;
  if (whole === null || replies.usd === null || ofAgents === null) return 'cost unknown';
  return formatMoney(Math.max(0, Math.round((whole - replies.usd - ofAgents) * 10_000) / 10_000));
}

function ContextLines({
  context,
  window,
  critical,
}: {
  readonly context: number;
  readonly window: number | undefined;
  readonly critical: number | undefined;
}) {
  if (window === undefined) return null;
  return (
    <>
      <h2 class="row">
        Context <span class="far">{`${shortAmount(context)} of ${shortAmount(window)}`}</span>
      </h2>
      <p class="row quiet">
        {critical === undefined ? null : `compacts at ${Math.round(critical * 100)} %`}
        <HeadMeter share={context / window} kind="context" label="Context" limit={critical} />
      </p>
    </>
  );
}

function Pair({ name, value }: { readonly name: string; readonly value: unknown }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** Tools with calls of their own rows. */
const MOST_TOOLS = 30;

export function ToolsPart({ standing: { items } }: { readonly standing: Standing }) {
  const { tools, compactions } = transcriptFacts(items);
  return (
    <section id="tools" class="part">
      {tools.length === 0 ? (
        <p class="quiet">No tool was called.</p>
      ) : (
        <table class="tool-facts">
          <thead>
            <tr>
              <th>Tool</th>
              <th class="number">Calls</th>
              <th class="number">Failed</th>
              <th class="number">Median</th>
            </tr>
          </thead>
          <tbody>
            {tools.slice(0, MOST_TOOLS).map(({ name, calls, failed, median }) => (
              <tr>
                <td class="tool">{showUnseen(name.slice(0, 60))}</td>
                <td class="number">{String(calls)}</td>
                <td class={failed > 0 ? 'number bad' : 'number'}>{String(failed)}</td>
                <td class="number">{median === null ? '–' : shortTime(median)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p class="quiet">{compactions === 0 ? 'Not compacted.' : `Compacted ${compactions} ×.`}</p>
    </section>
  );
}

export function AboutPart({
  standing: { seen, config, items, recent },
  temporal,
}: {
  readonly standing: Standing;
  readonly temporal: string | null;
}) {
  const path = `/sessions/${seen.session}`;
  const first = items.all.find(({ entry }) => entry.kind === 'user')?.entry;
  const by = first?.kind === 'user' ? first.by : undefined;
  const trace = config?.traceparent?.split('-')[1];
  const { agent, querySource } = seen.facts ?? {};
  return (
    <section id="about" class="part">
      <dl class="pairs">
        <Pair name="Session" value={<code>{showUnseen(seen.session)}</code>} />
        <Pair name="Begun" value={<Moment at={seen.startedAt} />} />
        <Pair
          name="By"
          value={`${by === undefined ? 'not named' : showUnseen(by.slice(0, 100))}${querySource ? `, ${querySource}` : ''}`}
        />
        {agent ? <Pair name="Agent of" value={<a href={`/sessions/${agent.parent}`}>{agent.parent}</a>} /> : null}
        {seen.forkedFrom ? (
          <Pair
            name="Forked from"
            value={
              <a href={`/sessions/${seen.forkedFrom.session}#e${seen.forkedFrom.position}`}>
                {seen.forkedFrom.session}
              </a>
            }
          />
        ) : null}
        <Pair name="Folder" value={<code>{showUnseen(seen.cwd)}</code>} />
        <Pair name="Host" value={seen.host ? showUnseen(seen.host.name) : 'any'} />
        <Pair name="Task queue" value={<code>{showUnseen(seen.taskQueue)}</code>} />
        <Pair name="Configuration" value={configurationText(seen.configuration)} />
        {config ? <Pair name="Permission mode" value={config.mode} /> : null}
        {config ? <Pair name="Models" value={config.models.map(({ name }) => showUnseen(name)).join(', ')} /> : null}
        {config?.effort ? <Pair name="Effort" value={config.effort} /> : null}
        <Pair name="Runs" value={String(seen.runs)} />
        {trace ? <Pair name="Trace" value={<code>{showUnseen(trace)}</code>} /> : null}
        <Pair name="Page’s version" value={VERSION} />
        {recent.before.length > 0 ? <Pair name="Handed over" value="yes" /> : null}
      </dl>
      <p class="links">
        {temporal === null ? null : (
          <a href={temporal} rel="noreferrer">
            In Temporal’s UI
          </a>
        )}
        <a href={`${path}.jsonl`} download>
          JSONL
        </a>
        <a href={`${path}.md`} download>
          Markdown
        </a>
      </p>
    </section>
  );
}

function configurationText(configuration: Standing['seen']['configuration']): string {
  return showUnseen((configuration?.name ?? configuration?.file ?? 'any').slice(0, 100));
}
