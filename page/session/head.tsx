// Draws the head of a session, which stays in view: its title, its state and since when, what may
// be done, and what it has used of its limits.
import { showUnseen } from '../../system/text.ts';
import { totalTokens } from '../../client/faces/contract.ts';
import { endWords, stopText } from '../../client/faces/words.ts';
import type { SessionInfo } from '../../client/faces/types.ts';
import { isUnderWay, phaseText, isSilentSession } from '../../client/faces/lists.ts';
import { formatMoney, formatTokens } from '../../client/faces/basics.ts';
import { workerName } from '../../client/faces/turns.ts';
import { formatNumber, shortAmount, TimedText } from '../figures.tsx';
import type { Standing } from '../feed/standing.tsx';
import { Icon, type IconName } from '../primitives.tsx';
import { Moment } from '../layout.tsx';
import { transcriptFacts } from './session-facts.ts';
import { agentStateOf } from '../fleet/session-state.ts';

type State = { readonly kind: string; readonly icon: IconName; readonly words: string; readonly since: number | null };

/**
 * The state as it concerns a person: a call of an agent that waits is the session's own business.
 */
function headStateOf({ seen: description, items, approvals, troubles }: Standing): State {
  const { begunAt, endedAt } = transcriptFacts(items);
  const askedTimes = (description.approvals ?? approvals).flatMap(({ askedAt }) => askedAt ?? []);
  if (description.status === 'open' && (description.approvals?.length ?? 0) > 0)
    return {
      kind: 'wait',
      icon: 'waiting',
      words: 'needs you',
      since: askedTimes.length > 0 ? Math.min(...askedTimes) : null,
    };
  if (troubles.some(({ kind }) => kind === 'worker'))
    return { kind: 'fail', icon: 'unplugged', words: 'no worker', since: null };
  const words = phaseText(description);
  if (description.phase === 'parked')
    return { kind: 'park', icon: 'parked', words: description.atBudget ? 'at its budget' : 'parked', since: null };
  if (description.phase === 'closed') return { kind: 'idle', icon: 'closed', words, since: description.closedAt };
  if (description.phase === 'idle') return endState(description, endedAt);
  if (description.running && isSilentSession(description, Date.now()))
    return { kind: 'fail', icon: 'stuck', words: 'silent', since: description.running.lastSign };
  return { kind: 'run', icon: 'running', words, since: begunAt };
}

function endState({ last }: SessionInfo, since: number | null): State {
  const reason = last?.terminal.reason;
  if (!last || reason === undefined || reason === 'completed')
    return { kind: 'idle', icon: 'done', words: 'idle', since };
  const stopped = stopText(last.terminal);
  if (stopped !== undefined) return { kind: 'idle', icon: 'idle', words: `idle: ${stopped}`, since };
  return {
    kind: 'fail',
    icon: 'failed',
    words: `idle: ${endWords(last.terminal)}`,
    since,
  };
}

/** With `named` it can be replaced when the state changes. */
export function StateChip({ standing, named = true }: { readonly standing: Standing; readonly named?: boolean }) {
  const { kind, icon, words, since } = headStateOf(standing);
  const { phase, parkedUntil } = standing.seen;
  return (
    <span id={named ? 'state-now' : undefined} class={`chip toned state-chip ${kind}`}>
      <Icon name={icon} />
      <span>{words}</span>
      {phase === 'parked' && parkedUntil !== undefined ? (
        <>
          <span>· resumes</span> <Moment at={parkedUntil} />
        </>
      ) : since === null ? null : (
        <span data-since={String(since)} />
      )}
    </span>
  );
}

export function TagList({ tags }: { readonly tags: Readonly<Record<string, string>> | undefined }) {
  return (
    <>
      {Object.entries(tags ?? {})
        .slice(0, 6)
        .map(([name, value]) => (
          <span class="chip tag cut">{showUnseen(`${name}=${value}`)}</span>
        ))}
    </>
  );
}

/** Draws the actions on the session; each is enabled only where it means something. */
export function Actions({ standing: { seen: description } }: { readonly standing: Standing }) {
  const path = `/sessions/${description.session}`;
  const open = description.status === 'open';
  const act = (name: string, label: string, on: boolean, more: Readonly<Record<string, string>> = {}) => (
    <button
      type="button"
      class="small"
      data-act={name}
      data-needs="steer"
      hx-post={`${path}/${name}`}
      hx-target="#said"
      disabled={!on}
      {...more}
    >
      {label}
      {name === 'interrupt' ? <kbd>i</kbd> : null}
    </button>
  );
  const parked = description.phase === 'parked';
  const stopped = description.phase === 'idle' && (description.last?.terminal.reason ?? 'completed') !== 'completed';
  return (
    <div class="row" id="steering">
      {act('interrupt', 'Interrupt', open && (isUnderWay(description) || description.unseen))}
      {parked ? act('resume', 'Resume', open) : stopped ? act('continue', 'Continue', open) : null}
      {description.facts?.agent === undefined ? (
        <button type="button" class="small" data-needs="steer" data-opens="fork" aria-haspopup="dialog">
          Fork
        </button>
      ) : null}
      <button type="button" class="small" data-needs="steer" data-opens="share" aria-haspopup="dialog">
        Share
      </button>
      <details class="menu" id="more-actions">
        <summary class="button small" aria-label="More actions">
          <Icon name="more" />
        </summary>
        <div class="pop">
          {act('again', 'Run again', description.facts?.agent === undefined)}
          <a class="button" href={`/compare?a=${description.session}`}>
            Compare with another
          </a>
          <button type="button" data-copy={`perdure watch ${description.session}`}>
            Copy as command
          </button>
          <hr />
          <button
            type="button"
            class="bad"
            data-act="cancel"
            data-needs="steer"
            data-opens="end-session"
            aria-haspopup="dialog"
            disabled={!open}
          >
            End session…
          </button>
        </div>
      </details>
    </div>
  );
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

export function Gauges({ standing }: { readonly standing: Standing }) {
  const { seen: description, config, recent } = standing;
  const { spend, cached } = transcriptFacts(standing.items);
  const rules = config && { ...config.rules, ...recent.raised };
  const window = config?.models[0].window;
  const { run, all } = spend;
  const least = all.isLeast ? '≥ ' : '';
  const limit = rules?.maxBudgetUsd ?? null;
  // The first step of a session is stored when its calls have ended.
  const early = config === null ? description.running : undefined;
  const cost = early ? (early.cents === null ? null : early.cents / 100) : all.spend.usd;
  const model = config?.models[0].name ?? early?.model;
  const worker = description.running?.doing.find(({ isTaken }) => isTaken)?.worker;
  const ofRun = runWords(standing);
  return (
    <dl class="gauges" id="figures" tabindex={0} aria-label="Figures">
      <div>
        <dt class="unseen">Session</dt>
        <dd>
          <button type="button" class="plain id" data-copy={description.session} title="Copy the id">
            {description.session}
          </button>
        </dd>
      </div>
      <Figure name="Model">{model ? showUnseen(model.slice(0, 60)) : '–'}</Figure>
      <Figure name="Turns">
        {formatNumber(early?.turns ?? all.turns)}
        {rules ? <small>{ofRun(formatNumber(run.turns), formatNumber(rules.maxTurns))}</small> : null}
      </Figure>
      <Figure name="Cost">
        {`${least}${formatMoney(cost)}`}
        {limit === null ? null : (
          <>
            <small>{ofRun(formatMoney(run.spend.usd), formatMoney(limit))}</small>
            <HeadMeter share={(run.spend.usd ?? 0) / limit} kind="cost" label="Cost of its limit" />
          </>
        )}
      </Figure>
      <Figure name="Tokens">
        {`${least}${shortAmount(early?.tokens ?? totalTokens(all.spend.usage))}`}
        {rules?.maxTokens ? (
          <small>{ofRun(shortAmount(totalTokens(run.spend.usage)), shortAmount(rules.maxTokens))}</small>
        ) : null}
      </Figure>
      <ContextFigure context={spend.context} window={window} critical={rules?.compaction.critical} />
      <Figure name="Cache">{cached === null ? '–' : percent(cached)}</Figure>
      <div class="wide-only">
        <dt>Started</dt>
        <dd>
          <Moment at={description.startedAt} />
        </dd>
      </div>
      {worker ? <Figure name="Worker">{workerName(worker)}</Figure> : null}
    </dl>
  );
}

/** A limit is of the run: beside the sums of several runs it says which part is the run's. */
function runWords({ items }: Standing): (used: string, limit: string) => string {
  const { runs } = transcriptFacts(items);
  return (used, limit) => (runs > 1 ? `this run ${used} of ${limit}` : `of ${limit}`);
}

type ContextProps = {
  readonly context: number;
  readonly window: number | undefined;
  readonly critical: number | undefined;
};

function ContextFigure({ context, window, critical }: ContextProps) {
  return (
    <Figure name="Context">
      {window === undefined ? (
        '–'
      ) : (
        <>
          <span title={`${formatTokens(context)} of ${formatTokens(window)}`}>
            {percent(Math.min(1, context / window))}
          </span>
          <HeadMeter share={context / window} kind="context" label="Context" limit={critical} />
        </>
      )}
    </Figure>
  );
}

function Figure({ name, children }: { readonly name: string; readonly children: unknown }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

type MeterProps = {
  readonly share: number;
  readonly kind: 'cost' | 'context';
  readonly label: string;
  readonly limit?: number | undefined;
};

/** A bar of a share; drawn as SVG since no style may stand in the page. */
export function HeadMeter({ share, kind, label, limit }: MeterProps) {
  const wide = Math.round(Math.max(0, Math.min(1, share)) * 640) / 10;
  return (
    <svg class="meter" viewBox="0 0 64 6" role="img" aria-label={`${label}: ${percent(share)}`}>
      <rect class="track" width="64" height="6" rx="3" />
      <rect class={`fill ${share >= (limit ?? 0.9) ? 'near' : kind}`} width={wide} height="6" rx="3" />
      {limit === undefined ? null : <rect class="limit" x={Math.round(limit * 640) / 10} width="1" height="6" />}
    </svg>
  );
}

/** Shows how an agent stands: a shape, a colour and its words. */
export function AgentState({ agent, now }: { readonly agent: SessionInfo; readonly now: number }) {
  const { icon, tone, word } = agentStateOf(agent, now);
  return (
    <span class={`agent-state tone-${tone}`}>
      <Icon name={icon} />
      <span>
        <TimedText text={word} />
      </span>
    </span>
  );
}
