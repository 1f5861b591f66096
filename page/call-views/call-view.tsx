// A view per tool of what a call would do: a diff, a script, a host, fields. Pure: the same call
// and file give the same HTML. Unseen characters are shown by name, since a person decides by it.
import { showUnseen } from '../../system/text.ts';
import { formatCount } from '../../client/faces/basics.ts';
import { parseQuestion } from '../../client/faces/words.ts';
import { Icon } from '../primitives.tsx';
import { asRecord, compareFile, readWanted, type DiffLine, type PreviewedChange, type FileNow } from './file-change.ts';
import { callKindOf } from './call-summary.ts';
import { judgeCommand, type RiskyWord } from './risky-commands.ts';

export type ViewedCall = {
  readonly tool: string;
  readonly input: unknown;
  readonly question?: unknown;
  /** The folder that the call runs in. */
  readonly cwd: string;
  /** The file that an edit or a write is about, as it is now. */
  readonly file?: FileNow;
};

const NOT_READ: FileNow = { kind: 'unseen', why: 'the file was not looked at: these are the two texts of the call' };
/** Characters of one value. */
const LONGEST = 20_000;

export function CallView(call: ViewedCall) {
  const { tool, input, cwd, file = NOT_READ } = call;
  const fields = asRecord(input);
  switch (callKindOf(call)) {
    case 'edit':
    case 'write': {
      const wanted = readWanted(tool, input);
      return wanted && <FileView change={compareFile(wanted, file)} whole={wanted.content !== undefined} />;
    }
    case 'command':
      return <CommandView fields={fields} cwd={cwd} />;
    case 'fetch':
      return <FetchView fields={fields} />;
    case 'question':
      return <QuestionView input={input} />;
    case 'tasks':
      return <TasksView tasks={fields['tasks'] as readonly unknown[]} />;
    case 'agent':
      return <AgentView fields={fields} />;
    default:
      return <FieldsView fields={fields} input={input} />;
  }
}

function FileView({ change, whole }: { readonly change: PreviewedChange; readonly whole: boolean }) {
  const { path, isNew, hunks, added, removed, left, problem, note } = change;
  const size = isNew || (whole && removed === 0) ? `new, ${formatCount(added, 'line')}` : null;
  return (
    <figure class="card view view-file">
      <figcaption class="row">
        <Icon name="file" />
        <code>{showUnseen(path.slice(0, 500))}</code>
        {size === null ? (
          <>
            <b class="good">{`+${added}`}</b>
            <b class="bad">{`−${removed}`}</b>
          </>
        ) : (
          <span class="quiet">{size}</span>
        )}
      </figcaption>
      {problem === undefined ? null : (
        <p class="view-note bad">
          <b>Won’t apply:</b> {showUnseen(problem)}. Both texts of the call are shown instead.
        </p>
      )}
      {note === undefined ? null : <p class="view-note quiet">{showUnseen(note)}</p>}
      <div class="lines" tabindex={0} role="group" aria-label={`Change of ${showUnseen(path.slice(0, 200))}`}>
        {hunks.map(({ at: [before], lines }) => (
          <>
            {before === 0 || isNew ? null : (
              <div class="at">{`lines ${before}–${Math.max(before, lastNumber(lines))}`}</div>
            )}
            {lines.map((line) => (
              <Line line={line} />
            ))}
          </>
        ))}
      </div>
      {left === 0 ? null : <p class="view-note quiet">{`and ${formatCount(left, 'line')} more`}</p>}
      {hunks.length === 0 ? <p class="view-note quiet">No changes.</p> : null}
    </figure>
  );
}

const lastNumber = (lines: readonly DiffLine[]): number =>
  lines.reduce((last, { before }) => (before === null ? last : before), 0);

const KINDS = { '+': 'ln add', '-': 'ln del', ' ': 'ln' } as const;
const SIGNS = { '+': '+', '-': '−', ' ': '' } as const;

function Line({ line: { mark, before, after, text, differs } }: { readonly line: DiffLine }) {
  const [from, to] = differs ?? [0, 0];
  const cut = (start: number, end?: number): string => showUnseen(text.slice(start, end));
  return (
    <div class={KINDS[mark]}>
      <i>{before ?? ''}</i>
      <i>{after ?? ''}</i>
      <b aria-label={mark === '+' ? 'added' : mark === '-' ? 'removed' : undefined}>{SIGNS[mark]}</b>
      <code>
        {to > from ? (
          <>
            {cut(0, from)}
            <mark>{cut(from, to)}</mark>
            {cut(to)}
          </>
        ) : (
          showUnseen(text)
        )}
      </code>
    </div>
  );
}

function CommandView({ fields, cwd }: { readonly fields: Readonly<Record<string, unknown>>; readonly cwd: string }) {
  const { command, description, ...others } = fields;
  const script = String(command).slice(0, LONGEST);
  // The part that is cut from view is judged as well.
  const { says, words } = judgeCommand(String(command));
  return (
    <figure class="card view view-command">
      {typeof description === 'string' ? <p class="view-about">{showUnseen(description.slice(0, 1_000))}</p> : null}
      <figcaption class="row">
        <Icon name="shell" />
        <code>{showUnseen(cwd)}</code>
      </figcaption>
      <pre class="rows" tabindex={0} aria-label="Command">
        <ScriptRows script={script} words={words} />
      </pre>
      {says.length === 0 ? null : <p class="view-note bad">{`Look twice: it ${says.join(', ')}.`}</p>}
      {Object.keys(others).length === 0 ? null : <FieldsView fields={others} input={others} />}
    </figure>
  );
}

/** A row for each line: the sheet indents what goes on with it, which thus looks like no line. */
function ScriptRows({ script, words }: { readonly script: string; readonly words: readonly RiskyWord[] }) {
  let start = 0;
  return (
    <>
      {script.split('\n').map((line) => {
        const begin = start;
        const end = begin + line.length;
        start = end + 1;
        const pieces: unknown[] = [];
        let at = begin;
        for (const { from, to, says } of words) {
          if (to <= at || from >= end) continue;
          const [first, last] = [Math.max(from, at), Math.min(to, end)];
          pieces.push(showUnseen(script.slice(at, first)));
          pieces.push(<mark title={says}>{showUnseen(script.slice(first, last))}</mark>);
          at = last;
        }
        return (
          <code>
            {pieces}
            {showUnseen(script.slice(at, end))}
          </code>
        );
      })}
    </>
  );
}

function FetchView({ fields }: { readonly fields: Readonly<Record<string, unknown>> }) {
  const { url, ...others } = fields;
  const text = String(url);
  const host = URL.canParse(text) ? new URL(text).host : text;
  return (
    <figure class="card view view-fetch">
      <p class="view-host">{showUnseen(host.slice(0, 300))}</p>
      <p class="view-url">
        <code>{showUnseen(text.slice(0, LONGEST))}</code>
      </p>
      {Object.keys(others).length === 0 ? null : <FieldsView fields={others} input={others} />}
    </figure>
  );
}

function QuestionView({ input }: { readonly input: unknown }) {
  return <p class="view-question">{showUnseen(parseQuestion(input).question.slice(0, LONGEST))}</p>;
}

function TasksView({ tasks }: { readonly tasks: readonly unknown[] }) {
  return (
    <ul class="card view-tasks">
      {tasks.slice(0, 200).map((task) => {
        const { title, text, content, state, status = state } = asRecord(task);
        const words = [title, text, content, task].find((one) => typeof one === 'string');
        return (
          <li>
            {typeof status === 'string' ? <span class="quiet">{showUnseen(status)} </span> : null}
            {showUnseen(typeof words === 'string' ? words : JSON.stringify(task))}
          </li>
        );
      })}
    </ul>
  );
}

function AgentView({ fields }: { readonly fields: Readonly<Record<string, unknown>> }) {
  const { prompt, ...others } = fields;
  return (
    <figure class="card view view-agent">
      <FieldsView fields={others} input={others} />
      <pre tabindex={0} aria-label="Prompt of the agent">
        {showUnseen(String(prompt).slice(0, LONGEST))}
      </pre>
    </figure>
  );
}

function FieldsView({
  fields,
  input,
}: {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly input: unknown;
}) {
  const all = Object.entries(fields);
  if (all.length === 0) return <pre class="view-value">{showUnseen(JSON.stringify(input) ?? '')}</pre>;
  return (
    <table class="view-fields">
      <tbody>
        {all.slice(0, 100).map(([name, value]) => (
          <tr>
            <th scope="row">{showUnseen(name.slice(0, 100))}</th>
            <td>
              <pre class="rows">
                <ScriptRows
                  script={(typeof value === 'string' ? value : JSON.stringify(value, null, 2)).slice(0, LONGEST)}
                  words={[]}
                />
              </pre>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
