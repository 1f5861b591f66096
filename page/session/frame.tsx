// Draws the parts around a transcript that change with the session: phase, figures and tasks, what
// waits for a decision, what may be done now, what is on its way, and what is wrong. Each part has
// an id and is drawn again when it has changed.
import { showUnseen } from '../../system/text.ts';
import { totalTokens } from '../../workflows/contract/loop.ts';
import { isUnderWay } from '../../client/sessions/info.ts';
import { formatMoney, formatTokens } from '../../client/units.ts';
import type { Frame, Standing } from '../feed/standing.tsx';
import { Moment, Phase, htmlOf } from '../layout.tsx';
import type { Trouble } from '../feed/troubles.ts';
import { ApprovalForm, approvalId } from './approval-form.tsx';
import { BackgroundList } from './background.tsx';
import { RequestList } from './lately.tsx';
import { sumSpend, type SpendSoFar } from '../../client/sessions/history/spend.ts';
import { taskListOf } from '../../store/view/task-list.ts';

/** Containers of the session's page that parts go into. */
export const PLACES = {
  banners: 'banners',
  state: 'state',
  approvals: 'approvals',
  controls: 'controls',
  pending: 'pending',
  suggested: 'suggested',
} as const;

export const sessionFrame: Frame = (standing) => {
  const { troubles, approvals, pending, background } = standing;
  const part = (id: string, into: string, node: unknown) => ({ id, into, html: htmlOf(node) });
  return [
    ...troubles.map((trouble) => part(`trouble-${trouble.kind}`, PLACES.banners, <Banner trouble={trouble} />)),
    part('figures', PLACES.state, <Figures standing={standing} />),
    ...tasksOf(standing).map((tasks) => part('tasks', PLACES.state, <Tasks tasks={tasks} />)),
    ...(background.length > 0 ? [part('background', PLACES.state, <BackgroundList commands={background} />)] : []),
    ...approvals.map((approval) => part(approvalId(approval), PLACES.approvals, <ApprovalForm approval={approval} />)),
    part('steering', PLACES.controls, <Steering standing={standing} />),
    part('lately', PLACES.controls, <RequestList recent={standing.recent} />),
    ...suggestionOf(standing).map((text) => part('suggestion', PLACES.suggested, <Suggestion text={text} />)),
    ...pending.map(({ id, text, now }) =>
      part(
        `pending-${id}`,
        PLACES.pending,
        <li id={`pending-${id}`} class="pending">
          <pre class="said user">{showUnseen(text.slice(0, 2_000))}</pre>
          <p class="quiet">{now ? 'On its way, and interrupts what runs' : 'Sent, and not in the transcript yet'}</p>
        </li>,
      ),
    ),
  ];
};

/** Returns no suggestion once a message was sent. */
function suggestionOf({ seen, pending }: Standing): readonly string[] {
  return seen.suggestion && pending.length === 0 && !seen.unseen ? [seen.suggestion.text] : [];
}

function Suggestion({ text }: { readonly text: string }) {
  return (
    <p id="suggestion" class="quiet">
      <kbd>Tab</kbd> writes: <span data-suggestion>{showUnseen(text)}</span>
    </p>
  );
}

/** Returns the task list, if the session has one (L83). */
function tasksOf({ items }: Standing): readonly string[] {
  const tasks = taskListOf(items.all.map(({ entry }) => entry));
  return tasks === null ? [] : [tasks];
}

function Tasks({ tasks }: { readonly tasks: string }) {
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

export function Banner({ trouble: { kind, title, detail } }: { readonly trouble: Trouble }) {
  return (
    <p class="banner" id={`trouble-${kind}`} role="alert">
      <b>{title}</b> {showUnseen(detail)}
    </p>
  );
}

const atLeast = ({ isLeast }: SpendSoFar): string => (isLeast ? '≥ ' : '');

function Figures({ standing }: { readonly standing: Standing }) {
  const { seen, config } = standing;
  const { run, all, context } = sumSpend(standing.items.all);
  const window = config?.models[0].window;
  const rules = config && { ...config.rules, ...standing.recent.raised };
  return (
    <dl class="figures" id="figures">
      <Figure name="Phase">
        <Phase session={seen} />
        {seen.phase === 'parked' && seen.parkedUntil !== undefined ? (
          <small>
            <Moment at={seen.parkedUntil} />
          </small>
        ) : null}
      </Figure>
      <Figure name="Model">{config ? showUnseen(config.models[0].name.slice(0, 60)) : '–'}</Figure>
      <Figure name="Replies">{`${run.turns}${rules ? ` of ${rules.maxTurns} turns` : ''}`}</Figure>
      <Figure name="Tokens">
        {`${atLeast(run)}${totalTokens(run.spend.usage).toLocaleString('en')}`}
        {rules?.maxTokens ? ` of ${rules.maxTokens.toLocaleString('en')}` : ''}
        <small>{`${atLeast(all)}${formatTokens(totalTokens(all.spend.usage))} in all runs`}</small>
      </Figure>
      <Figure name="Cost">
        {`${atLeast(run)}${formatMoney(run.spend.usd)}`}
        {rules?.maxBudgetUsd ? ` of ${formatMoney(rules.maxBudgetUsd)}` : ''}
        <small>{`${atLeast(all)}${formatMoney(all.spend.usd)} in all runs`}</small>
      </Figure>
      <Figure name="Context">
        {window === undefined ? (
          '–'
        ) : (
          <Gauge
            used={context}
            window={window}
            warning={rules?.compaction.warning}
            critical={rules?.compaction.critical}
          />
        )}
      </Figure>
    </dl>
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

type GaugeProps = {
  readonly used: number;
  readonly window: number;
  readonly warning?: number | undefined;
  readonly critical?: number | undefined;
};

function Gauge({ used, window, warning = 1, critical = 1 }: GaugeProps) {
  const share = Math.min(1, used / window);
  const words = `${Math.round(share * 100)} % of ${formatTokens(window)}`;
  return (
    <>
      <meter
        min={0}
        max={1}
        low={warning}
        high={critical}
        optimum={0}
        value={share}
        title={`compacted at ${Math.round(critical * 100)} %`}
      >
        {words}
      </meter>
      <small>{words}</small>
    </>
  );
}

function Steering({ standing: { seen } }: { readonly standing: Standing }) {
  const path = `/sessions/${seen.session}`;
  const open = seen.status === 'open';
  const act = (name: string, label: string, on: boolean, ask?: string) => (
    <button
      type="button"
      data-act={name}
      hx-post={`${path}/${name}`}
      hx-target="#said"
      {...(ask === undefined ? {} : { 'hx-confirm': ask })}
      disabled={!on}
    >
      {label}
    </button>
  );
  return (
    <div class="buttons" id="steering">
      {act('interrupt', 'Interrupt', open && (isUnderWay(seen) || seen.unseen))}
      {act('resume', 'Resume', open && seen.phase === 'parked')}
      {act(
        'cancel',
        'Cancel session',
        open,
        'Cancel this session? It is stopped and closed for good; its transcript stays.',
      )}
    </div>
  );
}
