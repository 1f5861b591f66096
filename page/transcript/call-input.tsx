// Shows the input of a call as what it is: a change as a diff, a command as a script, a task for
// an agent as text, a task list as a list, other fields by their names.
// Draws the lines of a diff, coloured as what they are.
import { formatCount } from '../../client/faces/basics.ts';
import { AGENT_TOOL } from '../../client/faces/contract.ts';
import type { DiffRow, FileChange } from '../../client/faces/types.ts';
import { changeOf, diffRows, SHOWN } from '../../client/faces/words.ts';
import { showUnseen } from '../../system/text.ts';
import { languageOf } from '../text/code-tokens.ts';
import { MarkdownText, Tokens } from '../text/markdown-view.tsx';

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (input: unknown): Fields =>
  typeof input === 'object' && input !== null && !Array.isArray(input) ? (input as Fields) : {};

export function CallInput({ name, input }: { readonly name: string; readonly input: unknown }) {
  const change = changeOf(name, input);
  if (change) return <DiffFigure change={change} />;
  const fields = fieldsOf(input);
  const { command, prompt, description, tasks, todos } = fields;
  if (name === 'bash' && typeof command === 'string')
    return (
      <>
        {typeof description === 'string' ? <p class="quiet">{showUnseen(description.slice(0, 500))}</p> : null}
        <pre class="input" tabindex={0} aria-label="Input">
          <Tokens language="sh" text={command.slice(0, SHOWN)} />
        </pre>
        <CutNote length={command.length} />
        <FieldList fields={fields} without={['command', 'description']} />
      </>
    );
  if (name === AGENT_TOOL && typeof prompt === 'string')
    return (
      <>
        <div class="said prose input">
          <MarkdownText text={prompt.slice(0, SHOWN)} />
        </div>
        <CutNote length={prompt.length} />
        <FieldList fields={fields} without={['prompt', 'description']} />
      </>
    );
  const list = name === 'todo' ? [tasks, todos].find(Array.isArray) : undefined;
  if (list) return <TodoList list={list as readonly unknown[]} />;
  return <FieldList fields={fields} without={[]} input={input} />;
}

function TodoList({ list }: { readonly list: readonly unknown[] }) {
  return (
    <ul class="todo">
      {list.slice(0, 100).map((one) => {
        const { content, task, text, state, status = state } = fieldsOf(one);
        const words = [content, task, text, one].find((each) => typeof each === 'string');
        return (
          <li>
            {showUnseen((words ?? JSON.stringify(one)).slice(0, 300))}
            {typeof status === 'string' ? <small>{showUnseen(status.slice(0, 40))}</small> : null}
          </li>
        );
      })}
    </ul>
  );
}

function CutNote({ length }: { readonly length: number }) {
  if (length <= SHOWN) return null;
  return <p class="links">{`${formatCount(length - SHOWN, 'more character')}: download the transcript`}</p>;
}

/** Short texts and numbers stand in a row each; an input of another shape is shown as JSON. */
function FieldList({
  fields,
  without,
  input,
}: {
  readonly fields: Fields;
  readonly without: readonly string[];
  readonly input?: unknown;
}) {
  const visible = Object.entries(fields).filter(([field]) => !without.includes(field));
  if (visible.length === 0) {
    if (input === undefined) return null;
    return (
      <pre class="input" tabindex={0} aria-label="Input">
        {showUnseen((JSON.stringify(input, null, 2) ?? '').slice(0, SHOWN))}
      </pre>
    );
  }
  return (
    <dl class="facts">
      {visible.slice(0, 40).map(([field, value]) => {
        const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
        return (
          <div>
            <dt>{showUnseen(field.slice(0, 60))}</dt>
            <dd>
              <pre>{showUnseen(text.slice(0, SHOWN))}</pre>
              <CutNote length={text.length} />
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

/** How many lines a change adds and removes. */
export function changeCounts({ before, after }: FileChange): { readonly added: number; readonly removed: number } {
  const { lines } = diffRows(before, after);
  const count = (mark: string): number => lines.filter((line) => line.mark === mark).length;
  return { added: count('+'), removed: count('-') };
}

export function CountWords({ added, removed }: { readonly added: number; readonly removed: number }) {
  return (
    <span class="counts">
      {added > 0 ? <span class="good">{`+${added}`}</span> : null}
      {removed > 0 ? <span class="bad">{` −${removed}`}</span> : null}
    </span>
  );
}

type DiffProps = { readonly change: FileChange; readonly sides?: unknown };

/** `sides` stands in its place where a person wants both texts next to each other. */
export function DiffFigure({ change: { path, before, after }, sides }: DiffProps) {
  const { lines, left } = diffRows(before, after);
  return (
    <figure class="diff">
      <figcaption>{showUnseen(path.slice(0, 500))}</figcaption>
      <DiffLines path={path} lines={lines} label="Changes" />
      {sides}
      {left > 0 ? <p class="links">{`${formatCount(left, 'more character')}: download the transcript`}</p> : null}
    </figure>
  );
}

/** A line of the file, or one that git writes between them. */
export type PatchLine = DiffRow | { readonly mark: '@'; readonly text: string };

const CLASSES = { '+': 'add', '-': 'del', ' ': 'same', '@': 'at' } as const;

type DiffLinesProps = { readonly path: string; readonly lines: readonly PatchLine[]; readonly label: string };

export function DiffLines({ path, lines, label }: DiffLinesProps) {
  const language = languageOf(path);
  return (
    <pre tabindex={0} aria-label={label}>
      {lines.map(({ mark, text }) => (
        <span class={CLASSES[mark]}>
          {mark === '@' ? (
            showUnseen(text)
          ) : (
            <>
              {`${mark} `}
              <Tokens language={language} text={text} />
            </>
          )}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}
