// Draws pieces of what is happening: streaming words, calls, lines, and what was taken back.
import { showUnseen } from '../../system/text.ts';
import type { LiveEvent, PlacedTombstone } from '../../client/faces/types.ts';
import {
  noticeText,
  transitionText,
  compactionText,
  describeStaged,
  shortenedText,
  searchLine,
} from '../../client/faces/words.ts';
import { steeringText } from '../../client/faces/options.ts';
import { shortTime } from '../../client/faces/basics.ts';
import type { ItemEvent, ViewItem } from '../../client/view/reduce-live.ts';
import { htmlOf } from '../layout.tsx';
import { CallCard, type Progress } from '../transcript/call-card.tsx';
import { transitionMeaning } from '../transcript/meanings.ts';

/** Most characters of one streaming text; the transcript has all of it. */
export const STREAMED = 200_000;

export const anchorOf = (
  run: number,
  { iteration, index }: { readonly iteration: number; readonly index: number },
): string => `${run}-${iteration}-${index}`;

export const pieceId = ({ id }: ViewItem): string => `piece-${id}`;

export function drawPiece(item: ViewItem, progress: (anchor: string) => Progress | undefined): string {
  const { event, run } = item;
  const id = pieceId(item);
  switch (event.type) {
    case 'request_start':
      return wrapPiece(id, requestHtml(event));
    case 'tool_use': {
      const anchor = anchorOf(run, event);
      const call = { anchor, name: event.name, input: event.input, outcome: null, progress: progress(anchor) };
      return wrapPiece(id, htmlOf(<CallCard call={call} />));
    }
    case 'text_delta':
    case 'thinking_delta': {
      const attributes = { id: `${id}-text`, children: showUnseen(item.text.slice(0, STREAMED)) };
      const thinking = (
        <details class="thinking">
          <summary>Thinking</summary>
          <pre class="said" {...attributes} />
        </details>
      );
      return wrapPiece(
        id,
        htmlOf(event.type === 'thinking_delta' ? thinking : <pre class="said agent" {...attributes} />),
      );
    }
    case 'tool_end':
    case 'reply':
      // The call is drawn with its end, and the words of the reply have come already.
      return '';
    default:
      return wrapPiece(id, lineHtml(event));
  }
}

export const wrapPiece = (id: string, html: string): string => `<li class="item live" id="${id}">${html}</li>`;

function requestHtml({ model, attempt }: Extract<LiveEvent, { type: 'request_start' }>): string {
  const again = attempt > 1 ? `, attempt ${attempt}` : '';
  return htmlOf(<p class="asking">{`${showUnseen(model.slice(0, 80))} is asked${again}`}</p>);
}

export function voidHtml({ why, attempt }: PlacedTombstone, inner: string): string {
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
  ItemEvent,
  { readonly type: 'text_delta' | 'thinking_delta' | 'request_start' | 'tool_use' | 'tool_end' | 'reply' }
>;

function lineHtml(event: Line): string {
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
