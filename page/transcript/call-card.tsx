// Shows one tool call: folded to a line with how it came out; open with its input, output and
// duration.
import { showUnseen } from '../../system/text.ts';
import type { Outcome } from '../../store/log/entries.ts';
import { isUntimed } from '../../store/live/retell.ts';
import { changeOf, diffRows, SHOWN } from '../../client/render/diff-rows.ts';
import { compactInput } from '../../client/render/tool-lines.ts';
import { endWord, outcomeWords } from '../../client/render/outcome-words.ts';
import { REPEATED } from '../../client/render/paired-outcomes.ts';
import { formatCount, shortTime } from '../../client/units.ts';

/** Progress of a call from the live channel, until its outcome is stored. */
export type Progress =
  | { readonly kind: 'running'; readonly said: string }
  | { readonly kind: 'waiting' }
  | {
      readonly kind: 'ended';
      readonly isError: boolean;
      readonly content: string;
      readonly durationMs: number | null;
    };

export type ShownCall = {
  /** Name in links: `run-iteration-index`. */
  readonly anchor: string;
  readonly name: string;
  readonly input: unknown;
  readonly outcome: Outcome | null;
  readonly progress?: Progress | undefined;
  readonly repeated?: boolean;
  /** Address of its whole output, if that is not shown here. */
  readonly whole?: string;
};

export const callId = (anchor: string): string => `call-${anchor}`;

/** The place in an address of a reply, or of one of its calls: `2.17` of `2-17-0`. */
export function placeOf(anchor: string): string {
  return anchor.split('-').slice(0, 2).join('.');
}

export function CallCard({ call }: { readonly call: ShownCall }) {
  const state = stateOf(call);
  return (
    <details class={`call ${state.kind}`} id={callId(call.anchor)}>
      <summary>
        <b class="tool">{showUnseen(call.name.slice(0, 80))}</b> <span class="what">{compactInput(call.input)}</span>
        <span class={`state ${state.kind}`}>{state.words}</span>
      </summary>
      <div class="body">
        <Input name={call.name} input={call.input} />
        {state.output === null ? null : <Output text={state.output} bad={state.kind === 'bad'} whole={call.whole} />}
        {state.said === '' ? null : <pre class="output">{showUnseen(state.said)}</pre>}
        <p class="links">
          <a href={`?at=${placeOf(call.anchor)}#${callId(call.anchor)}`}>Link to this call</a>
        </p>
      </div>
    </details>
  );
}

type State = {
  readonly kind: 'ok' | 'bad' | 'running' | 'waiting' | 'open';
  readonly words: string;
  readonly output: string | null;
  readonly said: string;
};

function stateOf({ outcome, progress, repeated }: ShownCall): State {
  if (outcome) {
    const { log, isError, content } = outcome;
    const time = isUntimed(log) ? [] : [shortTime(log.duration)];
    const words = [...(isError && endWord(log) === null ? ['failed'] : []), ...outcomeWords(outcome), ...time];
    return { kind: isError ? 'bad' : 'ok', words: words.join(' · '), output: content, said: '' };
  }
  if (repeated) return { kind: 'open', words: REPEATED, output: null, said: '' };
  switch (progress?.kind) {
    case 'ended': {
      const time = progress.durationMs === null ? [] : [shortTime(progress.durationMs)];
      const words = [...(progress.isError ? ['failed'] : []), ...time].join(' · ');
      return { kind: progress.isError ? 'bad' : 'ok', words, output: progress.content, said: '' };
    }
    case 'running':
      return { kind: 'running', words: 'running', output: null, said: progress.said };
    case 'waiting':
      return { kind: 'waiting', words: 'waits for a decision', output: null, said: '' };
    case undefined:
      return { kind: 'open', words: 'no outcome yet', output: null, said: '' };
  }
}

function Output({
  text,
  bad,
  whole,
}: {
  readonly text: string;
  readonly bad: boolean;
  readonly whole?: string | undefined;
}) {
  const more = text.length > SHOWN;
  return (
    <>
      <pre class={bad ? 'output bad' : 'output'} tabindex={0} aria-label="Output">
        {showUnseen(text.slice(0, SHOWN)) || '(no output)'}
      </pre>
      {more || whole !== undefined ? (
        <p class="links">
          {more ? `${formatCount(text.length - SHOWN, 'more character')}. ` : ''}
          {whole === undefined ? null : <a href={whole}>All of the output, as text</a>}
        </p>
      ) : null}
    </>
  );
}

function Input({ name, input }: { readonly name: string; readonly input: unknown }) {
  const change = changeOf(name, input);
  if (change) return <Diff {...change} />;
  const fields = (typeof input === 'object' && input !== null ? input : {}) as Readonly<Record<string, unknown>>;
  const { command } = fields;
  const text = name === 'bash' && typeof command === 'string' && Object.keys(fields).length === 1 ? command : null;
  const shown = text ?? JSON.stringify(input, null, 2) ?? '';
  return (
    <>
      <pre class="input" tabindex={0} aria-label="Input">
        {showUnseen(shown.slice(0, SHOWN))}
      </pre>
      {shown.length > SHOWN ? (
        <p class="links">{`${formatCount(shown.length - SHOWN, 'more character')}: download the transcript`}</p>
      ) : null}
    </>
  );
}

type DiffProps = { readonly path: string; readonly before: string; readonly after: string };

function Diff({ path, before, after }: DiffProps) {
  const { lines, left } = diffRows(before, after);
  return (
    <figure class="diff">
      <figcaption>{showUnseen(path.slice(0, 500))}</figcaption>
      <pre tabindex={0} aria-label="Changes">
        {lines.map(({ mark, text }) => (
          <span class={mark === '+' ? 'add' : mark === '-' ? 'del' : 'same'}>{`${mark} ${showUnseen(text)}\n`}</span>
        ))}
      </pre>
      {left > 0 ? <p class="links">{`${formatCount(left, 'more character')}: download the transcript`}</p> : null}
    </figure>
  );
}
