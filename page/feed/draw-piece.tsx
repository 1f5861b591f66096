// Draws pieces of what is happening: streaming words, calls, lines, and what was taken back.
import { showUnseen } from '../../system/text.ts';
import type { LiveEvent, WatchedEvent } from '../../store/live/events.ts';
import { noticeText, transitionText } from '../../client/render/words.ts';
import { compactionText, describeStaged, shortenedText } from '../../client/render/context-words.ts';
import { searchLine } from '../../client/render/search-words.ts';
import { steeringText } from '../../client/render/steered-words.ts';
import { shortTime } from '../../client/units.ts';
import { htmlOf } from '../layout.tsx';
import { CallCard, type Progress } from '../transcript/call-card.tsx';
import { transitionMeaning } from '../transcript/meanings.ts';

export type AttemptPlace = { readonly step: number; readonly attempt: number };
export type LivePiece = AttemptPlace & {
  readonly id: string;
  /** The element that a stream's text goes into. */
  readonly stream?: { readonly id: string; readonly kind: 'text' | 'thinking'; text: string };
  /** A call, which is drawn again as it goes on. */
  readonly call?: { readonly anchor: string; readonly name: string; readonly input: unknown };
  readonly html?: string;
  /** The transcript shows it already. */
  readonly hidden?: true;
};

export function drawPiece(piece: LivePiece, progress: (anchor: string) => Progress | undefined): string {
  const { id, stream, call, html } = piece;
  if (html !== undefined) return wrapPiece(id, html);
  if (call) {
    const shown = { ...call, outcome: null, progress: progress(call.anchor) };
    return wrapPiece(id, htmlOf(<CallCard call={shown} />));
  }
  const text = showUnseen(stream?.text ?? '');
  if (stream?.kind === 'thinking')
    return wrapPiece(
      id,
      htmlOf(
        <details class="thinking">
          <summary>Thinking</summary>
          <pre class="said" id={stream.id}>
            {text}
          </pre>
        </details>,
      ),
    );
  return wrapPiece(
    id,
    htmlOf(
      <pre class="said agent" id={stream?.id}>
        {text}
      </pre>,
    ),
  );
}

/** Ids are made here, of checked numbers and names. */
export const wrapPiece = (id: string, html: string): string => `<li class="item live" id="${id}">${html}</li>`;

export function requestHtml({ model, attempt }: Extract<LiveEvent, { type: 'request_start' }>): string {
  const again = attempt > 1 ? `, attempt ${attempt}` : '';
  return htmlOf(<p class="asking">{`${showUnseen(model.slice(0, 80))} is asked${again}`}</p>);
}

export function voidHtml({ why, attempt }: Extract<WatchedEvent, { type: 'tombstone' }>, inner: string): string {
  return htmlOf(
    <details class="void">
      <summary>{`Taken back, attempt ${attempt}: ${showUnseen(why.slice(0, 300))}`}</summary>
      <div class="struck" dangerouslySetInnerHTML={{ __html: withoutIds(inner) }} />
    </details>,
  );
}

/** The next attempt uses the same ids. */
const withoutIds = (html: string): string =>
  html
    .replace(/ id="[\w.-]*"/g, '')
    .replaceAll('<li', '<div')
    .replaceAll('</li', '</div');

type Line = Exclude<
  LiveEvent,
  {
    readonly type:
      | 'text_delta'
      | 'thinking_delta'
      | 'request_start'
      | 'tool_use'
      | 'tool_start'
      | 'tool_progress'
      | 'tool_end'
      | 'run_start'
      | 'run_end'
      | 'reply';
  }
>;

export function lineHtml(event: Line): string {
  if (event.type === 'user') return htmlOf(<pre class="said user">{showUnseen(event.text)}</pre>);
  if (event.type === 'transition')
    return htmlOf(
      <p class="transition">
        <span class="badge" title={transitionMeaning(event.reason)}>
          {transitionText(event.reason)}
        </span>
      </p>,
    );
  return htmlOf(<p class={event.type === 'retry' ? 'mark warn' : 'mark'}>{lineText(event)}</p>);
}

function lineText(event: Exclude<Line, { type: 'user' | 'transition' }>): string {
  switch (event.type) {
    case 'web_search':
      return searchLine(event.query);
    case 'steered':
      return steeringText(event.steered);
    case 'notice':
      return noticeText(event.notice);
    case 'retry':
      return `Attempt ${event.failures} failed: ${showUnseen(event.error.slice(0, 500))} · retry after ${shortTime(event.delayMs)}`;
    case 'compaction_start':
      return event.trigger === 'auto' ? 'Compacting' : 'Prompt too long · compacting';
    case 'compaction_end':
      return compactionText(event, 'it stays in the transcript');
    case 'collapse_staged':
      return describeStaged(event);
    case 'microcompact':
    case 'collapse_committed':
    case 'snip':
      return shortenedText(event, 'it stays in the transcript');
    case 'hook_start':
      return `Hook ${showUnseen(event.hook.slice(0, 80))} runs`;
    case 'hook_end':
      return `Hook ${showUnseen(event.hook.slice(0, 80))}: ${showUnseen(event.result.slice(0, 200))}`;
  }
}
