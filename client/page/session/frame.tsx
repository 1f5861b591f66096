// What stands around a transcript and changes with the session: its phase and figures, what waits for a decision, what may be done now,
// what is on its way, and what is wrong. Each part has an id and is drawn again when it has changed.
import { escapeUnseen, showUnseen } from '../../../activities/text.ts';
import { addSpend, noSpend, totalTokens, type Spend } from '../../../workflows/contract/loop.ts';
import type { WaitingApproval } from '../../sessions/decide.ts';
import { isUnderWay } from '../../sessions/info.ts';
import { formatMoney, formatTokens } from '../../units.ts';
import type { Frame, Standing } from '../feed/standing.tsx';
import { Moment, Phase, htmlOf } from '../layout.tsx';
import type { Trouble } from '../feed/troubles.ts';
import { isReply } from '../transcript/items.ts';

/** Where parts are put: containers of the session's page. */
export const PLACES = {
  banners: 'banners',
  state: 'state',
  approvals: 'approvals',
  controls: 'controls',
  pending: 'pending',
} as const;

export const sessionFrame: Frame = (standing) => {
  const { troubles, approvals, pending } = standing;
  const part = (id: string, into: string, node: unknown) => ({ id, into, html: htmlOf(node) });
  return [
    ...troubles.map((trouble) => part(`trouble-${trouble.kind}`, PLACES.banners, <Banner trouble={trouble} />)),
    part('figures', PLACES.state, <Figures standing={standing} />),
    ...approvals.map((approval) => part(approvalId(approval), PLACES.approvals, <ApprovalForm approval={approval} />)),
    part('steering', PLACES.controls, <Steering standing={standing} />),
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

export function Banner({ trouble: { kind, title, detail } }: { readonly trouble: Trouble }) {
  return (
    <p class="banner" id={`trouble-${kind}`} role="alert">
      <b>{title}</b> {showUnseen(detail)}
    </p>
  );
}

/** The newest run that has a reply: its figures, and the session's. */
function spent({ items }: Standing): {
  readonly run: Spend;
  readonly all: Spend;
  readonly turns: number;
  readonly context: number;
} {
  let all = noSpend;
  let run = noSpend;
  let turns = 0;
  let context = 0;
  let current = 0;
  for (const item of items.all) {
    if (item.run !== current) [current, run, turns] = [item.run, noSpend, 0];
    if (!isReply(item)) continue;
    all = addSpend(all, item.entry.spend);
    run = addSpend(run, item.entry.spend);
    turns += 1;
    context = totalTokens(item.entry.spend.usage);
  }
  return { run, all, turns, context };
}

function Figures({ standing }: { readonly standing: Standing }) {
  const { seen, config } = standing;
  const { run, all, turns, context } = spent(standing);
  const window = config?.models[0].window;
  const rules = config?.rules;
  return (
    <dl class="figures" id="figures">
      <Figure name="Phase">
        <Phase session={seen} />
        {seen.phase === 'parked' && seen.parkedUntil !== undefined ? <Moment at={seen.parkedUntil} /> : null}
      </Figure>
      <Figure name="Model">{config ? showUnseen(config.models[0].name.slice(0, 60)) : '–'}</Figure>
      <Figure name="Replies">{`${turns}${rules ? ` of ${rules.maxTurns} turns` : ''}`}</Figure>
      <Figure name="Tokens">
        {totalTokens(run.usage).toLocaleString('en')}
        {rules?.maxTokens ? ` of ${rules.maxTokens.toLocaleString('en')}` : ''}
        <small>{`${formatTokens(totalTokens(all.usage))} in all runs`}</small>
      </Figure>
      <Figure name="Cost">
        {formatMoney(run.usd)}
        {rules?.maxBudgetUsd ? ` of ${formatMoney(rules.maxBudgetUsd)}` : ''}
        <small>{`${formatMoney(all.usd)} in all runs`}</small>
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

const approvalId = ({ call }: Pick<WaitingApproval, 'call'>): string => `approval-${call.replace(/[^\w-]/g, '-')}`;

/** Shown on the session's page and in the inbox of all sessions. */
export function ApprovalForm({
  approval,
  linked = false,
}: {
  readonly approval: WaitingApproval;
  readonly linked?: boolean;
}) {
  const { session, call, tool, reason, input, problem, deadline, inputHash } = approval;
  const path = `/sessions/${session}`;
  const id = approvalId(approval);
  const key = linked ? `${session}-${id}` : id;
  const title = (
    <>
      <b class="tool">{showUnseen(tool.slice(0, 80))}</b>
      {' waits for a decision '}
      {linked ? <a href={path}>{showUnseen(session)}</a> : null}
    </>
  );
  return (
    <section class="approval" id={key} aria-labelledby={`${key}-title`}>
      {linked ? <h3 id={`${key}-title`}>{title}</h3> : <h2 id={`${key}-title`}>{title}</h2>}
      <p class="quiet">
        {`${showUnseen(reason.slice(0, 500))}. Denied by itself `}
        <Moment at={deadline} />
      </p>
      {problem === undefined ? null : <p class="bad">{showUnseen(problem)}</p>}
      <form hx-post={`${path}/approve`} hx-target="#said">
        <input type="hidden" name="call" value={call} />
        <input type="hidden" name="inputHash" value={inputHash} />
        <label>
          <span>Input, as JSON; change it and that is what runs</span>
          <textarea
            name="input"
            spellcheck={false}
            rows={Math.min(14, jsonOf(input).split('\n').length + 1)}
            data-original
          >
            {jsonOf(input)}
          </textarea>
        </label>
        <button class="good">Allow</button>
      </form>
      <form hx-post={`${path}/deny`} hx-target="#said" class="deny">
        <input type="hidden" name="call" value={call} />
        <label>
          <span>Reason, which the model is told</span>
          <input name="reason" required maxlength={2000} autocomplete="off" />
        </label>
        <button class="bad">Deny</button>
      </form>
    </section>
  );
}

/** Nothing in it that is not seen: a person decides by it. JSON reads the escapes back as what they were. */
function jsonOf(input: unknown): string {
  const json = JSON.stringify(input, null, 2) ?? 'null';
  return json.split('\n').map(escapeUnseen).join('\n');
}
