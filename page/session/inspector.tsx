// Draws what stands next to a transcript: what the session spends on what, how its tools do, its
// limits, and where it comes from.
import { showUnseen } from '../../system/text.ts';
import { formatCount, formatMoney, shortTime } from '../../client/faces/basics.ts';
import { VERSION } from '../../client/faces/start.ts';
import { addSpend, noSpend, totalTokens } from '../../client/faces/contract.ts';
import type { Spend } from '../../client/faces/types.ts';
import type { Standing } from '../feed/standing.tsx';
import { Moment } from '../layout.tsx';
import { transcriptFacts } from './session-facts.ts';
import { formatNumber, shortAmount } from '../figures.tsx';
import { HeadMeter } from './head.tsx';

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
      <dl class="facts pairs">
        <Pair name="This session" value={formatMoney(replies.usd)} />
        {agents.length === 0 ? null : (
          <Pair name={agents.length === 1 ? '1 agent' : `${agents.length} agents`} value={formatMoney(ofAgents)} />
        )}
        <Pair name="Summaries, notes" value={restText(all.spend, replies, ofAgents, all.isLeast)} />
      </dl>
      <h2 class="row">
        Tokens <span class="far">{shortAmount(totalTokens(all.spend.usage))}</span>
      </h2>
      <dl class="facts pairs">
        <Pair name="Cache reads" value={shortAmount(all.spend.usage.cacheRead)} />
        <Pair name="Cache writes" value={shortAmount(all.spend.usage.cacheWrite)} />
        <Pair name="Uncached input" value={shortAmount(all.spend.usage.input)} />
        <Pair name="Output" value={shortAmount(all.spend.usage.output)} />
      </dl>
      <ContextLines context={spend.context} window={config?.models[0].window} critical={rules?.compaction.critical} />
    </section>
  );
}

/** A cost that neither a reply nor an agent had is known when the run has ended. */
function restText(all: Spend, replies: Spend, ofAgents: number | null, isLeast: boolean): string {
  if (isLeast) return 'when the run ends';
  const whole = addSpend(noSpend, all).usd;
  if (whole === null || replies.usd === null || ofAgents === null) return 'cost unknown';
  return formatMoney(Math.max(0, Math.round((whole - replies.usd - ofAgents) * 10_000) / 10_000));
}

export function ContextLines({
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
        <p class="quiet">No tool calls yet.</p>
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
                <td class="number">{formatNumber(calls)}</td>
                <td class={failed > 0 ? 'number bad' : 'number'}>{formatNumber(failed)}</td>
                <td class="number">{median === null ? '–' : shortTime(median)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p class="quiet">{compactions === 0 ? 'Not compacted yet' : `Compacted ${formatCount(compactions, 'time')}`}</p>
    </section>
  );
}

export function AboutPart({
  standing: { seen: description, config, items, recent },
  temporal,
}: {
  readonly standing: Standing;
  readonly temporal: string | null;
}) {
  const path = `/sessions/${description.session}`;
  const first = items.all.find(({ entry }) => entry.kind === 'user')?.entry;
  const by = first?.kind === 'user' ? first.by : undefined;
  const trace = config?.traceparent?.split('-')[1];
  const { agent, querySource } = description.facts ?? {};
  return (
    <section id="about" class="part">
      <dl class="facts pairs">
        <Pair name="Session" value={<code>{showUnseen(description.session)}</code>} />
        <Pair name="Started" value={<Moment at={description.startedAt} />} />
        <Pair
          name="By"
          value={`${by === undefined ? 'unknown' : showUnseen(by.slice(0, 100))}${querySource ? `, ${querySource}` : ''}`}
        />
        {agent ? <Pair name="Agent of" value={<a href={`/sessions/${agent.parent}`}>{agent.parent}</a>} /> : null}
        {description.forkedFrom ? (
          <Pair
            name="Forked from"
            value={
              <a href={`/sessions/${description.forkedFrom.session}#e${description.forkedFrom.position}`}>
                {description.forkedFrom.session}
              </a>
            }
          />
        ) : null}
        <Pair name="Folder" value={<code>{showUnseen(description.cwd)}</code>} />
        <Pair name="Host" value={description.host ? showUnseen(description.host.name) : 'any'} />
        <Pair name="Task queue" value={<code>{showUnseen(description.taskQueue)}</code>} />
        <Pair name="Configuration" value={configurationText(description.configuration)} />
        {config ? <Pair name="Permission mode" value={config.mode} /> : null}
        {config ? <Pair name="Models" value={config.models.map(({ name }) => showUnseen(name)).join(', ')} /> : null}
        {config?.effort ? <Pair name="Effort" value={config.effort} /> : null}
        <Pair name="Runs" value={formatNumber(description.runs)} />
        {trace ? <Pair name="Trace" value={<code>{showUnseen(trace)}</code>} /> : null}
        <Pair name="Page version" value={VERSION} />
        {recent.before.length > 0 ? <Pair name="Continued as new" value="yes" /> : null}
      </dl>
      <p class="links">
        {temporal === null ? null : (
          <a href={temporal} rel="noreferrer">
            Open in Temporal
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
