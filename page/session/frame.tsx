// Draws the parts around a transcript that change with the session: phase, figures and tasks, what
// waits for a decision, what may be done now, what is on its way, and what is wrong. Each part has
// an id and is drawn again when it has changed.
import { showUnseen } from '../../system/text.ts';
import type { Frame, PendingMessage, Standing } from '../feed/standing.tsx';
import { formatNumber } from '../figures.tsx';
import { htmlOf } from '../layout.tsx';
import type { Trouble, TroubleKind } from '../feed/troubles.ts';
import { DecisionForm, decisionId } from './decision-form.tsx';
import { Actions, Gauges, StateChip } from './head.tsx';
import { SpendPart, ToolsPart } from './inspector.tsx';
import { NowPart } from './now-part.tsx';
import { isOpening, transcriptFacts } from './session-facts.ts';
import { LimitsNow } from './steer-forms.tsx';

/** Containers of the session's page that parts go into. */
export const PLACES = {
  banners: 'banners',
  phase: 'phase',
  state: 'state',
  waits: 'waits',
  approvals: 'approvals',
  controls: 'controls',
  now: 'now-part',
  spend: 'spend-part',
  limits: 'limits-part',
  tools: 'tools-part',
  files: 'files-count',
  agents: 'agents-count',
  opening: 'opening',
  pending: 'pending',
  suggested: 'suggested',
} as const;

export const sessionFrame: Frame = (standing) => {
  const { seen: description, troubles, approvals, places, pending, items, agents } = standing;
  const part = (id: string, into: string, node: unknown) => ({ id, into, html: htmlOf(node) });
  const facts = transcriptFacts(items);
  return [
    ...troubles.map((trouble) => part(`trouble-${trouble.kind}`, PLACES.banners, <Banner trouble={trouble} />)),
    part('state-now', PLACES.phase, <StateChip standing={standing} />),
    part('figures', PLACES.state, <Gauges standing={standing} />),
    part('steering', PLACES.controls, <Actions standing={standing} />),
    part('now', PLACES.now, <NowPart standing={standing} />),
    part('spend', PLACES.spend, <SpendPart standing={standing} />),
    part('limits-now', PLACES.limits, <LimitsNow standing={standing} />),
    part('tools', PLACES.tools, <ToolsPart standing={standing} />),
    ...countPart('files-number', PLACES.files, facts.files),
    ...countPart('agents-number', PLACES.agents, Math.max(facts.agents.length, agents.length)),
    ...(approvals.length > 1 ? [part('waiting-number', PLACES.waits, <WaitingNumber of={approvals.length} />)] : []),
    ...approvals.map((approval) =>
      part(
        decisionId(approval),
        PLACES.approvals,
        <DecisionForm approval={approval} place={places.get(approval.call) ?? { cwd: description.cwd, file: null }} />,
      ),
    ),
    ...suggestionOf(standing).map((text) => part('suggestion', PLACES.suggested, <Suggestion text={text} />)),
    ...pending.map((message, at) => pendingPart(message, at === 0 && isOpening(standing))),
  ];
};

/** The prompt that opens a run stands above what is told of the run, others below. */
function pendingPart({ id, text, now, compact }: PendingMessage, opens: boolean) {
  const name = opens ? `opening-${id}` : `pending-${id}`;
  const words = opens
    ? 'The run begins with it'
    : now
      ? 'Sent. It interrupts the run'
      : 'Sent. Waiting for the next turn';
  const html = htmlOf(
    <li id={name} class="pending">
      {compact ? null : <pre class="said user">{showUnseen(text.slice(0, 2_000))}</pre>}
      <p class="quiet">{compact ? 'Compaction requested' : words}</p>
    </li>,
  );
  return { id: name, into: opens ? PLACES.opening : PLACES.pending, html };
}

function countPart(id: string, into: string, count: number) {
  return count === 0
    ? []
    : [
        {
          id,
          into,
          html: htmlOf(
            <span class="count" id={id}>
              {formatNumber(count)}
            </span>,
          ),
        },
      ];
}

/** The oldest is on the screen; the next takes its place when it is decided. */
function WaitingNumber({ of }: { readonly of: number }) {
  return (
    <small id="waiting-number" class="number">
      {`1 of ${formatNumber(of)} `}
      <a href="/inbox">all in the inbox</a>
    </small>
  );
}

/** Returns no suggestion once a message was sent. */
function suggestionOf({ seen: description, pending }: Standing): readonly string[] {
  return description.suggestion && pending.length === 0 && !description.unseen ? [description.suggestion.text] : [];
}

function Suggestion({ text }: { readonly text: string }) {
  return (
    <p id="suggestion" class="quiet">
      <kbd>Tab</kbd> to accept
      <span class="unseen" data-suggestion>
        {showUnseen(text)}
      </span>
    </p>
  );
}

/** The words of a library say why and not what to do. */
const isRawWords = (kind: TroubleKind): boolean => kind === 'server' || kind === 'store';

/** Words between backticks are code. */
function Sentence({ text }: { readonly text: string }) {
  return <>{text.split('`').map((part, at) => (at % 2 === 0 ? showUnseen(part) : <code>{showUnseen(part)}</code>))}</>;
}

export function Banner({ trouble: { kind, title, detail } }: { readonly trouble: Trouble }) {
  return (
    <div class="banner" id={`trouble-${kind}`} role="alert">
      <b>{title}</b>
      {isRawWords(kind) ? (
        <details id={`detail-${kind}`}>
          <summary>Details</summary> {showUnseen(detail)}
        </details>
      ) : (
        <>
          {' '}
          <Sentence text={detail} />
        </>
      )}
    </div>
  );
}
