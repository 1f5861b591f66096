// One waiting call in full: why it is asked, where, until when, what the model said before it, what
// it would do, and the answers.
import { showUnseen } from '../../system/text.ts';
import { isElicited, formatCount } from '../../client/faces/basics.ts';
import type { LastDecision } from '../../client/faces/types.ts';
import { ofAgent, parseQuestion } from '../../client/faces/words.ts';
import { runOf } from '../call-views/call-place.ts';
import { summarizeCall } from '../call-views/call-summary.ts';
import { CallView } from '../call-views/call-view.tsx';
import type { FileNow } from '../call-views/file-change.ts';
import { LocalTime } from '../figures.tsx';
import { Icon } from '../primitives.tsx';
import { Moment } from '../layout.tsx';
import { jsonOf } from '../session/decision-form.tsx';
import { PersonName } from '../session/lately.tsx';
import type { InboxItem, OfferedRule } from './inbox-items.ts';

type DetailProps = {
  readonly item: InboxItem;
  /** How many calls wait in all. */
  readonly waiting: number;
  /** The model's words before the call. */
  readonly said: string;
  /** The folder in which the call runs. */
  readonly cwd: string;
  readonly file: FileNow | null;
  readonly rules: readonly OfferedRule[];
};

const LONGEST_SAID = 4_000;

export function InboxDetail(props: DetailProps) {
  const { item, said: words, cwd } = props;
  const { id, approval, summary, session } = item;
  const { session: name, call, inputHash, reason, deadline, problem, question } = approval;
  const isQuestion = question !== undefined;
  const asker = isElicited(approval) ? showUnseen(approval.tool.slice(0, 80)) : 'The model';
  return (
    <article
      id="inbox-detail"
      class="inbox-detail grow"
      aria-labelledby="inbox-title"
      data-item={id}
      data-session={name}
      data-call={call}
      data-hash={inputHash}
      data-alike={item.alike.length}
      data-risk={summary.risk}
      data-kind={isQuestion ? 'question' : 'call'}
    >
      <div class="inbox-body">
        <header class="row wrap inbox-top">
          <span class="chip toned wait">
            <Icon name={summary.icon} />
            {showUnseen(isQuestion ? 'question' : approval.tool.slice(0, 80))}
          </span>
          <h1 id="inbox-title" class="grow" tabindex={-1}>
            {showUnseen(session.title.slice(0, 300))}
          </h1>
          <a class="open" href={`/sessions/${encodeURIComponent(name)}`} data-open>
            Open session <kbd>o</kbd>
          </a>
        </header>
        <dl class="facts">
          <dt>Why asked</dt>
          <dd>{isQuestion ? `${asker} asks` : showUnseen(reason.slice(0, 500))}</dd>
          <dt>Where</dt>
          <dd>
            <code>{showUnseen(cwd)}</code>
            {showUnseen(ofAgent(approval))}
          </dd>
          <dt>Until</dt>
          <dd>
            {isQuestion ? 'continues without an answer ' : 'auto-denied '}
            <Moment at={deadline} />{' '}
            <span class="quiet">
              (<LocalTime at={deadline} />)
            </span>
          </dd>
        </dl>
        {words === '' ? null : (
          <section class="card pad inbox-said" aria-label="What it said before the call">
            <p class="quiet">What it said before the call</p>
            <p class="words">{showUnseen(words.slice(-LONGEST_SAID))}</p>
          </section>
        )}
        {problem === undefined ? null : <p class="bad inbox-problem">{showUnseen(problem)}</p>}
        <WhatItDoes {...props} />
        <Alike item={item} />
      </div>
      {isQuestion ? <AnswerBar {...props} /> : <DecisionBar {...props} />}
      {isQuestion || problem !== undefined ? null : <AlwaysDialog {...props} />}
    </article>
  );
}

/** The view of the tool, and the input as JSON, which is where it is changed. */
function WhatItDoes({ item: { approval }, cwd, file }: DetailProps) {
  const { tool, input, question, problem } = approval;
  if (question) return <CallView tool={tool} input={input} question={question} cwd={cwd} />;
  if (problem !== undefined) return null;
  return (
    <section class="stack" aria-label="What it would do">
      <div class="choice far" role="group" aria-label="Shown as">
        <button type="button" data-pane="view" aria-pressed="true">
          View
        </button>
        <button type="button" data-pane="json" aria-pressed="false">
          JSON
        </button>
      </div>
      <div data-shows="view">
        <CallView tool={tool} input={input} cwd={cwd} {...(file && { file })} />
      </div>
      <div data-shows="json" hidden>
        <label>
          <span>Input as JSON. The call runs with your changes.</span>
          <textarea name="input" spellcheck={false} rows={14}>
            {jsonOf(input)}
          </textarea>
        </label>
      </div>
    </section>
  );
}

function Alike({ item }: { readonly item: InboxItem }) {
  const { alike, approval } = item;
  if (alike.length === 0) return null;
  const all = [approval, ...alike].map(({ session, call, inputHash }) => ({ session, call, inputHash }));
  return (
    <section class="card pad row wrap inbox-alike" aria-label="Alike">
      <b>{`${alike.length} more like this`}</b>
      <span class="quiet">{`in ${formatCount(new Set(alike.map(runOf)).size, 'session')}`}</span>
      <OtherPlaces item={item} />
      <button type="button" class="far" data-do="allow-alike" data-needs="decide" data-calls={JSON.stringify(all)}>
        {`Allow all ${all.length}`} <kbd>⇧A</kbd>
      </button>
    </section>
  );
}

/** A person allows what they have read: the same change to another file is named with its path. */
function OtherPlaces({ item: { alike, summary } }: { readonly item: InboxItem }) {
  const others = new Set(alike.map((other) => summarizeCall(other).what));
  others.delete(summary.what);
  return [...others].map((what) => <code>{showUnseen(what)}</code>);
}

function DecisionBar({ item: { approval } }: DetailProps) {
  const { session, call, problem } = approval;
  return (
    <footer class="bar" data-needs="decide" role="group" aria-label="Decide">
      {problem === undefined ? (
        <>
          <button type="button" class="allow" data-do="allow">
            <Icon name="done" />
            <span data-allow>Allow</span> <kbd>a</kbd>
          </button>
          <button type="button" data-do="always" data-needs="steer" aria-haspopup="dialog">
            Always… <kbd>w</kbd>
          </button>
        </>
      ) : null}
      <button type="button" class="bad" data-do="deny">
        Deny <kbd>d</kbd>
      </button>
      <input
        name="reason"
        maxlength={2000}
        autocomplete="off"
        aria-label="Reason for the model, optional"
        placeholder="Reason for the model, optional"
      />
      {problem === undefined ? (
        <button type="button" class="plain wide" data-do="edit" data-needs="steer">
          Edit input <kbd>e</kbd>
        </button>
      ) : null}
      <button
        type="button"
        class="plain wide copy"
        data-copy={`perdure approve ${session} ${call}`}
        title="Copy as command"
      >
        Copy <kbd>y</kbd>
      </button>
    </footer>
  );
}

function AnswerBar({ item: { approval } }: DetailProps) {
  const { options } = parseQuestion(approval.input);
  const { session, call } = approval;
  return (
    <footer class="bar question" data-needs="decide" role="group" aria-label="Answer">
      {options.map((option, nth) => (
        <button type="button" data-do="answer" value={option}>
          {showUnseen(option)} {nth < 9 ? <kbd>{nth + 1}</kbd> : null}
        </button>
      ))}
      {options.length > 0 ? null : (
        <>
          <textarea name="answer" rows={2} maxlength={100_000} aria-label="Answer" placeholder="Answer" />
          <button type="button" class="first" data-do="answer">
            Answer <kbd>Ctrl ⏎</kbd>
          </button>
        </>
      )}
      <button
        type="button"
        class="plain wide copy"
        data-copy={`perdure answer ${session} ${call} "…"`}
        title="Copy as command"
      >
        Copy <kbd>y</kbd>
      </button>
    </footer>
  );
}

const SCOPES = [
  ['run', 'this run'],
  ['session', 'this session'],
  ['folder', 'all sessions of this folder'],
] as const;

function AlwaysDialog({ rules, waiting }: DetailProps) {
  return (
    <dialog id="always" class="always" aria-labelledby="always-title">
      <h2 id="always-title">Allow and don’t ask again</h2>
      <div class="stack">
        {rules.map(({ rule, says, covers }, nth) => (
          <label class="card row always-rule">
            <input
              type="radio"
              name="rule"
              value={rule}
              checked={nth === 0}
              data-session={covers.session}
              data-folder={covers.folder}
            />
            <code>{showUnseen(rule)}</code>
            <span class="quiet far number">{says}</span>
          </label>
        ))}
        {rules.length === 0 ? <p class="quiet">No rule fits this call. You can still allow it once.</p> : null}
      </div>
      <fieldset class="choice-list">
        <legend>For</legend>
        {SCOPES.map(([value, name], nth) => (
          <label>
            <input type="radio" name="scope" value={value} checked={nth === 0} /> {name}
          </label>
        ))}
      </fieldset>
      <p class="quiet" role="status">
        Covers <b data-covers /> {`of ${waiting} waiting now.`}
      </p>
      <div class="buttons">
        <button type="button" data-do="close-always">
          Cancel
        </button>
        <button type="button" class="allow" data-do="keep-rule" disabled={rules.length === 0}>
          Allow and save rule
        </button>
      </div>
    </dialog>
  );
}

/** Shown when nothing waits. */
export function NothingWaits({ working, last }: { readonly working: number; readonly last: LastDecision | null }) {
  return (
    <article id="inbox-detail" class="inbox-detail grow" data-empty>
      <div class="empty">
        <Icon name="done" />
        <h1 id="inbox-title" tabindex={-1}>
          Nothing needs you
        </h1>
        <p>
          {working === 0
            ? 'No sessions are running.'
            : `${formatCount(working, 'session')} ${working === 1 ? 'is' : 'are'} running.`}
        </p>
        {last === null ? null : (
          <p>
            <PersonName by={last.decision.by} />
            {` ${last.verb} last: `}
            <a href={`/sessions/${encodeURIComponent(last.session.session)}`}>{showUnseen(last.session.title)}</a>,{' '}
            <Moment at={last.decision.at} />
          </p>
        )}
        <a class="button" href="/">
          All sessions
        </a>
      </div>
    </article>
  );
}
