// Draws what a session does now, next to its transcript: steps and tasks, cost, context, files,
// agents, commands in the background, and what was asked of it.
import { onOneLine, showUnseen } from '../../system/text.ts';
import { isUnderWay, phaseText, isSilentSession } from '../../client/faces/lists.ts';
import { nowText as stepText, endWords } from '../../client/faces/words.ts';
import type { RunningState, BackgroundCommand } from '../../client/faces/types.ts';
import { formatCount, formatMoney } from '../../client/faces/basics.ts';
import { listTouchedFiles } from '../../client/faces/turns.ts';
import type { Standing } from '../feed/standing.tsx';
import { AreaPlot, formatNumber, TimedText } from '../figures.tsx';
import { Icon, type IconName } from '../primitives.tsx';
import { Moment } from '../layout.tsx';
import { ContextLines } from './inspector.tsx';
import { RequestList } from './lately.tsx';
import { isOpening, transcriptFacts } from './session-facts.ts';
import { AgentState } from './head.tsx';

export function NowPart({ standing }: { readonly standing: Standing }) {
  const { seen: description, background, recent, config } = standing;
  const { tasks, spend } = transcriptFacts(standing.items);
  return (
    <div id="now" class="part">
      <section>
        <h2>What it’s doing</h2>
        <p>
          <TimedText text={nowText(standing)} />
        </p>
        {description.running ? (
          <StepList running={description.running} isSilent={isSilentSession(description, Date.now())} />
        ) : null}
        {description.last === null || isUnderWay(description) ? null : (
          <p class="quiet">{`Last run: ${showUnseen(endWords(description.last.terminal))}`}</p>
        )}
        {tasks === null ? null : <TaskList tasks={tasks} />}
      </section>
      <CostCard standing={standing} />
      {spend.context === 0 || config === null ? null : (
        <section>
          <ContextLines
            context={spend.context}
            window={config.models[0].window}
            critical={{ ...config.rules, ...recent.raised }.compaction.critical}
          />
        </section>
      )}
      <FilesCard standing={standing} />
      <AgentsCard standing={standing} />
      {background.length > 0 ? <BackgroundList commands={background} /> : null}
      <RequestList recent={recent} />
    </div>
  );
}

function CostCard({ standing: { items, config, recent } }: { readonly standing: Standing }) {
  const { spend, costs } = transcriptFacts(items);
  if (costs.length < 2) return null;
  const limit = (config && { ...config.rules, ...recent.raised })?.maxBudgetUsd ?? undefined;
  // A limit is of the run: beside a curve of several runs it would be in the wrong place.
  const isOneRun = spend.run.turns === spend.all.turns;
  return (
    <section>
      <h2 class="row">
        Cost{' '}
        <span class="far">
          {`${spend.all.isLeast ? '≥ ' : ''}${formatMoney(spend.all.spend.usd)}${limit !== undefined && isOneRun ? ` of ${formatMoney(limit)}` : ''}`}
        </span>
      </h2>
      <AreaPlot values={costs} tone="park" most={isOneRun ? limit : undefined} />
    </section>
  );
}

/** Files that are named; the tab has all. */
const FILES = 5;

function FilesCard({ standing: { items, seen: description } }: { readonly standing: Standing }) {
  const changed = listTouchedFiles(items.all);
  if (changed.length === 0) return null;
  const link = `/sessions/${description.session}/files`;
  return (
    <section>
      <h2 class="row">
        Files{' '}
        <a class="far" href={link}>
          {`all ${formatNumber(changed.length)}`}
        </a>
      </h2>
      <ul>
        {changed.slice(-FILES).map(({ path }) => (
          <li>
            <a class="cut" href={`${link}?file=${encodeURIComponent(path)}`}>
              <code>{showUnseen(path)}</code>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function AgentsCard({ standing: { agents } }: { readonly standing: Standing }) {
  if (agents.length === 0) return null;
  return (
    <section>
      <h2>Agents</h2>
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
    </section>
  );
}

/** Agents have a list of their own. */
function StepList({ running, isSilent }: { readonly running: RunningState; readonly isSilent: boolean }) {
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

function nowText(standing: Standing): string {
  const { seen: description, agents, pending } = standing;
  const queued = pending.length - Number(pending.length > 0 && isOpening(standing));
  const waits = description.approvals?.length ?? 0;
  const parts = [
    isSilentSession(description, Date.now()) ? 'running, no activity' : phaseText(description),
    ...(waits > 0 ? [`${formatCount(waits, 'call')} ${waits === 1 ? 'needs' : 'need'} you`] : []),
    ...(agents.some(({ phase }) => phase === 'running')
      ? [`${agents.filter(({ phase }) => phase === 'running').length} of ${agents.length} agents running`]
      : []),
    ...(queued > 0 ? [`${formatNumber(queued)} queued`] : []),
  ];
  return parts.join(' · ');
}

const TASKS: Readonly<Record<string, readonly [icon: IconName, tone: string, word: string]>> = {
  x: ['done', 'ok', 'done'],
  '>': ['running', 'run', 'in progress'],
  ' ': ['idle', 'idle', 'open'],
};

function TaskList({ tasks }: { readonly tasks: string }) {
  return (
    <ul id="tasks" class="tasks" aria-label="Tasks">
      {tasks.split('\n').map((line) => {
        const [, mark = ' ', text = line] = /^\[([x> ])\] (.*)$/.exec(line) ?? [];
        const [icon, tone, word] = TASKS[mark] ?? (['idle', 'idle', 'open'] as const);
        return (
          <li class={`row tone-${tone}`}>
            <Icon name={icon} />
            <span>{showUnseen(text)}</span>
            <small class="far">{word}</small>
          </li>
        );
      })}
    </ul>
  );
}

/** Most characters of a command. */
const SHOWN = 160;

/** Shows the background commands of a session (L84), with the last lines of each. */
function BackgroundList({ commands }: { readonly commands: readonly BackgroundCommand[] }) {
  return (
    <section id="background" aria-label="Commands in the background">
      <ul class="background">
        {commands.map((command) => (
          <li>
            <BackgroundItem command={command} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function BackgroundItem({ command }: { readonly command: BackgroundCommand }) {
  const { id, run, startedAt, endedAt, running, state, last } = command;
  return (
    <>
      <span class={`dot ${running ? 'busy' : 'quiet'}`}>{showUnseen(state)}</span>{' '}
      <code>{showUnseen(onOneLine(command.command).slice(0, SHOWN))}</code>{' '}
      <small>
        {`${id}, of `}
        <a href={`#run-${run}`}>{`run ${run}`}</a>
        {startedAt === null ? null : (
          <>
            {', since '}
            <Moment at={startedAt} />
          </>
        )}
        {endedAt === null ? null : (
          <>
            {', ended '}
            <Moment at={endedAt} />
          </>
        )}
      </small>
      {last === '' ? null : (
        <details id={`last-${id}`}>
          <summary>Last lines</summary>
          <pre class="said">{showUnseen(last)}</pre>
        </details>
      )}
    </>
  );
}
