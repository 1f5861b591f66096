// Draws a call that waits, at the foot of its session: what it would do, and the answers in one
// row. For a question of the model: its text and the possible answers.
import { showUnseen, escapeUnseen } from '../../system/text.ts';
import { isElicited } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';
import type { WaitingApproval } from '../../client/faces/types.ts';
import { ofAgent, parseQuestion } from '../../client/faces/words.ts';
import { summarizeCall } from '../call-views/call-summary.ts';
import { CallView } from '../call-views/call-view.tsx';
import type { CallPlace } from '../call-views/call-place.ts';
import { Icon } from '../primitives.tsx';
import { Copy, Moment } from '../layout.tsx';

export const decisionId = ({ call }: Pick<WaitingApproval, 'call'>): string =>
  `decision-${call.replace(/[^\w-]/g, '-')}`;

/** Characters of a call in the sentence that tells what was decided. */
export const MOST_WHAT = 80;

type Props = { readonly approval: WaitingApproval; readonly place: CallPlace };

export function DecisionForm({ approval, place }: Props) {
  return approval.question ? <AnswerForm approval={approval} /> : <AllowForm approval={approval} place={place} />;
}

/** An input that cannot be read can only be denied: a person cannot allow what they do not see. */
function AllowForm({ approval, place: { cwd, file } }: Props) {
  const { session, call, tool, input, inputHash, reason, problem, deadline } = approval;
  const path = `/sessions/${session}`;
  const id = decisionId(approval);
  const { icon, risk, tool: label, what } = summarizeCall(approval);
  return (
    <section
      class="decision"
      id={id}
      tabindex={-1}
      aria-labelledby={`${id}-title`}
      data-hash={inputHash}
      data-risk={risk}
      data-what={showUnseen(`${label} ${oneLine(what, MOST_WHAT)}`)}
    >
      <header class="row wrap">
        <Icon name={icon} />
        <h2 id={`${id}-title`}>
          <span class="tool">{showUnseen(tool.slice(0, 80))}</span>
          {` needs approval${showUnseen(ofAgent(approval))}`}
        </h2>
        {risk === undefined ? null : <span class="bad">{risk}</span>}
        <small class="quiet">
          {`${showUnseen(reason.slice(0, 500))} · auto-denied `}
          <Moment at={deadline} />
        </small>
      </header>
      {problem === undefined ? (
        <div class="decision-view">
          <CallView tool={tool} input={input} cwd={cwd} {...(file && { file })} />
        </div>
      ) : (
        <p class="bad">{showUnseen(problem)}</p>
      )}
      <div class="bar" data-needs="decide">
        {problem === undefined ? (
          <form data-decides={`${path}/approve`}>
            <input type="hidden" name="call" value={call} />
            <input type="hidden" name="inputHash" value={inputHash} />
            <button class="allow" data-act="allow">
              <Icon name="done" />
              <span data-allow>Allow</span> <kbd>a</kbd>
            </button>
            <details class="edit-input" id={`${id}-edit`} data-needs="steer">
              <summary class="button plain" data-act="edit">
                Edit input <kbd>e</kbd>
              </summary>
              <label>
                <span>Input as JSON. The call runs with your changes.</span>
                <textarea name="input" spellcheck={false} rows={8}>
                  {jsonOf(input)}
                </textarea>
              </label>
            </details>
          </form>
        ) : null}
        <form data-decides={`${path}/deny`}>
          <input type="hidden" name="call" value={call} />
          <button class="bad" data-act="deny">
            Deny <kbd>d</kbd>
          </button>
          <input
            name="reason"
            maxlength={2000}
            autocomplete="off"
            aria-label="Reason for the model, optional"
            placeholder="Reason for the model, optional"
          />
        </form>
        {problem === undefined ? (
          <a
            class="button plain"
            data-act="always"
            data-needs="steer"
            href={`/inbox?${new URLSearchParams({ session, call }).toString()}`}
          >
            Always… <kbd>w</kbd>
          </a>
        ) : null}
        <Copy text={`perdure approve ${session} ${call}`} what="Copy as command" />
      </div>
    </section>
  );
}

const LONGEST = 20_000;

function AnswerForm({ approval }: Pick<Props, 'approval'>) {
  const { session, call, tool, input, inputHash, problem, deadline } = approval;
  const asker = isElicited(approval) ? showUnseen(tool.slice(0, 80)) : 'The model';
  const id = decisionId(approval);
  const { question, options } = parseQuestion(input);
  return (
    <section
      class="decision"
      id={id}
      tabindex={-1}
      aria-labelledby={`${id}-title`}
      data-hash={inputHash}
      data-what={showUnseen(oneLine(question, MOST_WHAT))}
    >
      <header class="row wrap">
        <Icon name="question" />
        <h2 id={`${id}-title`}>{`${asker} asks${showUnseen(ofAgent(approval))}`}</h2>
        <small class="quiet">
          {'Continues without an answer '}
          <Moment at={deadline} />
        </small>
      </header>
      <p class="asked decision-view">{showUnseen(question.slice(0, LONGEST))}</p>
      {problem === undefined ? null : <p class="bad">{showUnseen(problem)}</p>}
      <form class="bar" data-needs="decide" data-decides={`/sessions/${session}/answer`}>
        <input type="hidden" name="call" value={call} />
        {options.map((option, nth) => (
          <button name="answer" value={option} data-act={`answer-${nth + 1}`}>
            {showUnseen(option)}
            {nth < 9 ? <kbd>{nth + 1}</kbd> : null}
          </button>
        ))}
        {options.length > 0 ? null : (
          <>
            <textarea name="answer" rows={1} required maxlength={100_000} aria-label="Answer" placeholder="Answer" />
            <button class="first">Answer</button>
          </>
        )}
        <Copy text={`perdure answer ${session} ${call} "…"`} what="Copy as command" />
      </form>
    </section>
  );
}

/** Escapes unseen characters; JSON reads the escapes back as the characters that they were. */
export function jsonOf(input: unknown): string {
  const json = JSON.stringify(input, null, 2) ?? 'null';
  return json.split('\n').map(escapeUnseen).join('\n');
}
