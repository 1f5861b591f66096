// One entry of a transcript, as text.
import { type Entry, type Outcome, type ReplyEntry, isRepeated } from '../../activities/transcript/log/entries.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { contextText, noticeText, reasonText, transitionText } from '../render/words.ts';
import { type PairedOutcomes, REPEATED, compactInput } from '../render/tool-lines.ts';
import { plain } from '../../activities/text.ts';

type Props = { readonly entry: Entry; readonly bodies: ReadonlyMap<Hash, string>; readonly paired: PairedOutcomes };

/** Characters of one message or result. */
const SHOWN = 4_000;

export function EntryView({ entry, bodies, paired }: Props) {
  switch (entry.kind) {
    case 'run_started':
      return <p class="line">{`run ${entry.run}`}</p>;
    case 'user': {
      const text = entry.body.kind === 'text' ? entry.body.text : bodies.get(entry.body.hash);
      return <Said who="user" text={text ?? '(its text cannot be read)'} />;
    }
    case 'reply':
      return <Reply reply={entry} outcomes={paired.get(entry) ?? new Map()} />;
    // Shown at their calls.
    case 'outcomes':
      return null;
    case 'boundary':
    case 'microcompact':
    case 'collapse_staged':
    case 'collapse_committed':
    case 'snip':
      return <p class="line warn">{contextText(entry, 'perdure show ID --full')}</p>;
    case 'notice':
      return <p class="line warn">{noticeText(entry.notice)}</p>;
    case 'transition':
      return <p class="line">{transitionText(entry.reason)}</p>;
    case 'run_ended':
      return <p class="line">{`run ${entry.ended.run} ended: ${reasonText(entry.ended.terminal.reason)}`}</p>;
    case 'session_closed':
      return <p class="line">closed</p>;
  }
}

type ReplyProps = { readonly reply: ReplyEntry; readonly outcomes: ReadonlyMap<number, Outcome> };

function Reply({ reply, outcomes }: ReplyProps) {
  return (
    <>
      {reply.message.content.map((block, index) => {
        if (block.type === 'text') return block.text.trim() === '' ? null : <Said who="agent" text={block.text} />;
        if (block.type !== 'tool_use') return null;
        return (
          <>
            <p class="call">
              <b>{plain(block.name)}</b> {compactInput(block.input)}
            </p>
            <Result outcome={outcomes.get(index) ?? null} repeated={isRepeated(reply, index)} />
          </>
        );
      })}
      {reply.fate === 'whole' ? null : <p class="line warn">{`the reply was ${reply.fate}`}</p>}
    </>
  );
}

function Said({ who, text }: { readonly who: 'user' | 'agent'; readonly text: string }) {
  return <pre class={`said ${who}`}>{shortened(text)}</pre>;
}

function Result({ outcome, repeated }: { readonly outcome: Outcome | null; readonly repeated: boolean }) {
  if (outcome === null) return <p class="line">{repeated ? REPEATED : 'no outcome yet'}</p>;
  return <pre class={outcome.isError ? 'result bad' : 'result'}>{shortened(outcome.content) || '(no output)'}</pre>;
}

function shortened(text: string): string {
  const shown = plain(text.slice(0, SHOWN));
  return text.length > SHOWN ? `${shown}\n… (${text.length.toLocaleString('en')} characters in all)` : shown;
}
