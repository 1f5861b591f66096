// Keeps on the screen, as pieces, what a session says now and has not stored yet. A piece belongs
// to an attempt: when that is stored, the transcript has it, and when it dies, it is taken back
// (L16). Pure: events in, changes out.
import { showUnseen } from '../../system/text.ts';
import { hashOf } from '../../store/values/store.ts';
import type { ChannelItem, WatchedEvent } from '../../store/live/events.ts';
import { isOrdinary } from '../../client/render/words.ts';
import type { Progress } from '../transcript/call-card.tsx';
import {
  requestHtml,
  drawPiece,
  lineHtml,
  type LivePiece,
  type AttemptPlace,
  voidHtml,
  wrapPiece,
} from './draw-piece.tsx';
import type { Change } from './ring.ts';

/** Elements that contain pieces and transcript items. */
export const LIVE = 'live';
export const ITEMS = 'items';

export type LivePieces = {
  /**
   * Applies an event. `current` is the current run. With `again` the transcript has the event
   * already, so it is not shown twice.
   */
  tell(event: ChannelItem, current: number, again?: boolean): readonly Change[];
  /** Returns the progress of a call whose outcome is not stored. */
  progress(anchor: string): Progress | undefined;
  /** Sets the calls that wait for a decision now. */
  waits(anchors: ReadonlySet<string>): readonly Change[];
  /** Draws calls again of which something else is known now. */
  redraw(anchors: readonly string[]): readonly Change[];
  /** The pieces for a new viewer. */
  readonly html: string;
};

/** Most characters of one streaming text; the transcript has all of it. */
const STREAMED = 200_000;
/** Most characters of a tool's progress, of which the end is shown. */
const SAID = 4_000;

/** Creates the pieces. `card` draws a call that is in the transcript already. */
export function livePieces(
  card: (anchor: string) => { readonly id: string; readonly html: string } | null,
): LivePieces {
  const pieces = new Map<string, LivePiece>();
  const calls = new Map<string, Progress>();
  let waiting: ReadonlySet<string> = new Set();
  let voids = 0;
  const progress = (anchor: string): Progress | undefined =>
    waiting.has(anchor) ? { kind: 'waiting' } : calls.get(anchor);
  const draw = (piece: LivePiece): string => drawPiece(piece, progress);
  let hiding = false;
  const put = (piece: LivePiece): Change[] => {
    pieces.set(piece.id, hiding ? { ...piece, hidden: true } : piece);
    return hiding ? [] : [{ do: 'put', id: piece.id, into: LIVE, html: draw(piece) }];
  };
  const drop = (id: string): Change[] => (pieces.delete(id) ? [{ do: 'drop', id }] : []);
  const of = ({ step, attempt }: AttemptPlace): LivePiece[] =>
    [...pieces.values()].filter((piece) => piece.step === step && piece.attempt === attempt);

  const stream = (event: Extract<WatchedEvent, { type: 'text_delta' | 'thinking_delta' }>): Change[] => {
    const kind = event.type === 'text_delta' ? 'text' : 'thinking';
    const id = nameOf(event, `${event.iteration}-${event.index}`);
    const piece = pieces.get(id);
    const known = piece?.stream;
    if (!known) {
      const { step, attempt } = event;
      const text = event.text.slice(0, STREAMED);
      return [...drop(nameOf(event, 'ask')), ...put({ id, step, attempt, stream: { id: `${id}-text`, kind, text } })];
    }
    const text = event.text.slice(0, Math.max(0, STREAMED - known.text.length));
    known.text += text;
    return text === '' || piece?.hidden ? [] : [{ do: 'text', id: known.id, text: showUnseen(text) }];
  };
  const redraw = (anchor: string): Change[] => {
    const piece = pieces.get(`piece-${anchor}`);
    if (piece && !piece.hidden) return put(piece);
    const stored = card(anchor);
    return stored ? [{ do: 'put', id: stored.id, into: ITEMS, html: stored.html }] : [];
  };
  const goOn = (anchor: string, next: Progress): Change[] => {
    calls.set(anchor, next);
    return redraw(anchor);
  };
  const takeBack = (event: Extract<WatchedEvent, { type: 'tombstone' }>): Change[] => {
    // Facts that a step appends stay true: the next attempt tells them again in the same place.
    const gone = of(event).filter(({ id }) => !id.startsWith(FACT));
    const said = gone.filter(({ stream: words, call }) => words ?? call).map(draw);
    const dropped = gone.flatMap(({ id }) => drop(id));
    if (event.retold || said.length === 0) return dropped;
    const id = `void-${(voids += 1)}`;
    return [...dropped, { do: 'put', id, into: ITEMS, html: wrapPiece(id, voidHtml(event, said.join(''))) }];
  };

  const fact = (event: Parameters<typeof lineHtml>[0] & WatchedEvent): readonly Change[] => {
    const html = lineHtml(event);
    const key = factKey(event);
    const id = key === null ? nameOf(event, `${event.type}-${pieces.size}`) : `${FACT}${key}`;
    return put({ ...placeOf(event), id, html });
  };

  const changesOf = (event: ChannelItem, current: number): readonly Change[] => {
    const anchorOf = ({ iteration, index }: { readonly iteration: number; readonly index: number }): string =>
      `${current}-${iteration}-${index}`;
    switch (event.type) {
      case 'text_delta':
      case 'thinking_delta':
        return stream(event);
      case 'request_start':
        return put({ ...placeOf(event), id: nameOf(event, 'ask'), html: requestHtml(event) });
      case 'tool_use': {
        const anchor = anchorOf(event);
        const call = { anchor, name: event.name, input: event.input };
        return [...drop(nameOf(event, 'ask')), ...put({ ...placeOf(event), id: `piece-${anchor}`, call })];
      }
      case 'tool_start':
        return goOn(anchorOf(event), { kind: 'running', said: '' });
      case 'tool_progress': {
        const before = calls.get(anchorOf(event));
        const said = `${before?.kind === 'running' ? before.said : ''}${event.text}`.slice(-SAID);
        return goOn(anchorOf(event), { kind: 'running', said });
      }
      case 'tool_end': {
        const { isError, content, durationMs, untimed } = event;
        return goOn(anchorOf(event), { kind: 'ended', isError, content, durationMs: untimed ? null : durationMs });
      }
      case 'tombstone':
        return takeBack(event);
      case 'stored':
        // A stored step was preceded by all earlier ones.
        return [...pieces.values()].filter(({ step }) => step <= event.step).flatMap(({ id }) => drop(id));
      case 'run_start':
        calls.clear();
        return [];
      case 'run_end':
        // The transcript has the whole run by now, whatever the channel tells again of it.
        return [...pieces.keys()].flatMap(drop);
      case 'reply':
        return drop(nameOf(event, 'ask'));
      case 'transition':
        return isOrdinary(event.reason) ? [] : fact(event);
      default:
        return fact(event);
    }
  };
  return {
    tell: (event, current, again = false) => {
      hiding = again;
      return changesOf(event, current);
    },
    progress,
    redraw: (anchors) => anchors.flatMap(redraw),
    waits: (anchors) => {
      const before = waiting;
      waiting = anchors;
      return [...anchors, ...before].filter((one) => anchors.has(one) !== before.has(one)).flatMap(redraw);
    },
    get html() {
      return [...pieces.values()]
        .filter(({ hidden }) => !hidden)
        .map(draw)
        .join('');
    },
  };
}

const FACT = 'fact-';

/**
 * Names a fact that outlives its attempt: what its step appends, and why the next one waits. Null
 * for an event of the attempt alone.
 */
function factKey(event: WatchedEvent): string | null {
  if (event.type === 'user') return event.id.replace(/[^\w-]/g, '_');
  if (event.type === 'transition') return `${event.iteration}-${event.reason}`;
  if (event.type === 'retry') return `retry-${event.step}-${event.attempt}`;
  if (event.type !== 'notice' && event.type !== 'steered') return null;
  return hashOf(Buffer.from(JSON.stringify(event.type === 'notice' ? event.notice : event.steered))).slice(0, 16);
}

const placeOf = ({ step, attempt }: AttemptPlace): AttemptPlace => ({ step, attempt });
const nameOf = ({ step, attempt }: AttemptPlace, rest: string): string => `p-${step}-${attempt}-${rest}`;
