// The form for a waiting call: why, until when, its input as JSON to read and change, and the two
// answers. For a question of the model: its text and the possible answers.
import { escapeUnseen, showUnseen } from '../../system/text.ts';
import { isElicited } from '../../workflows/contract/people.ts';
import type { WaitingApproval } from '../../client/sessions/waiting-approval.ts';
import { ofAgent, parseQuestion } from '../../client/render/approval-text.ts';
import { Copy, Moment } from '../layout.tsx';

export const approvalId = ({ call }: Pick<WaitingApproval, 'call'>): string =>
  `approval-${call.replace(/[^\w-]/g, '-')}`;

type Waiting = { readonly approval: WaitingApproval; readonly linked?: boolean };

/** Shown on the session's page and in the inbox of all sessions. */
export function ApprovalForm({ approval, linked = false }: Waiting) {
  if (approval.question) return <QuestionForm approval={approval} linked={linked} />;
  const { session, call, tool, reason, problem, deadline } = approval;
  const path = `/sessions/${session}`;
  const id = approvalId(approval);
  const key = linked ? `${session}-${id}` : id;
  const title = (
    <>
      <b class="tool">{showUnseen(tool.slice(0, 80))}</b>
      {` waits for a decision${showUnseen(ofAgent(approval))} `}
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
      {problem === undefined ? <AllowForm approval={approval} /> : null}
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

/** Not drawn where the input cannot be read: a person cannot allow what they do not see. */
function AllowForm({ approval: { session, call, input, inputHash } }: { readonly approval: WaitingApproval }) {
  const json = jsonOf(input);
  return (
    <>
      <InputRows json={json} />
      <form hx-post={`/sessions/${session}/approve`} hx-target="#said">
        <input type="hidden" name="call" value={call} />
        <input type="hidden" name="inputHash" value={inputHash} />
        <label>
          <span>Input, as JSON; change it and that is what runs</span>
          <textarea
            name="input"
            spellcheck={false}
            wrap="off"
            rows={Math.min(14, json.split('\n').length + 1)}
            data-original
          >
            {json}
          </textarea>
        </label>
        <div class="buttons">
          <button class="good">Allow</button>
          <Copy text={`perdure approve ${session} ${call}`} what="Copy as command" />
        </div>
      </form>
    </>
  );
}

/** Shows lines that a text field would break, with continuations indented below. */
function InputRows({ json }: { readonly json: string }) {
  const lines = json.split('\n');
  if (lines.every((line) => line.length <= UNBROKEN)) return null;
  return (
    <div class="input-rows">
      {lines.map((line) => (
        <code>{line}</code>
      ))}
    </div>
  );
}

/** Characters that fit into the text field of a small window. */
const UNBROKEN = 36;

function QuestionForm({ approval, linked = false }: Waiting) {
  const { session, call, tool, input, problem, deadline } = approval;
  const asker = isElicited(approval) ? showUnseen(tool.slice(0, 80)) : 'The model';
  const path = `/sessions/${session}`;
  const id = approvalId(approval);
  const key = linked ? `${session}-${id}` : id;
  const { question, options } = parseQuestion(input);
  const title = (
    <>
      {`${asker} asks${showUnseen(ofAgent(approval))} `}
      {linked ? <a href={path}>{showUnseen(session)}</a> : null}
    </>
  );
  return (
    <section class="approval question" id={key} aria-labelledby={`${key}-title`}>
      {linked ? <h3 id={`${key}-title`}>{title}</h3> : <h2 id={`${key}-title`}>{title}</h2>}
      <p class="asked">{showUnseen(question.slice(0, LONGEST))}</p>
      <p class="quiet">
        {'Goes on without an answer '}
        <Moment at={deadline} />
      </p>
      {problem === undefined ? null : <p class="bad">{showUnseen(problem)}</p>}
      <form hx-post={`${path}/answer`} hx-target="#said">
        <input type="hidden" name="call" value={call} />
        {options.length > 0 ? (
          <div class="buttons">
            {options.map((option) => (
              <button name="answer" value={option}>
                {showUnseen(option)}
              </button>
            ))}
          </div>
        ) : (
          <>
            <label>
              <span>Answer</span>
              <textarea name="answer" rows={2} required maxlength={100_000} />
            </label>
            <div class="buttons">
              <button class="good">Answer</button>
              <Copy text={`perdure answer ${session} ${call} "…"`} what="Copy as command" />
            </div>
          </>
        )}
      </form>
    </section>
  );
}

const LONGEST = 20_000;

/**
 * Escapes unseen characters, since a person decides by the text. JSON reads the escapes back as
 * what they were.
 */
function jsonOf(input: unknown): string {
  const json = JSON.stringify(input, null, 2) ?? 'null';
  return json.split('\n').map(escapeUnseen).join('\n');
}
