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

/** Most characters of one streaming text; the transcript has all of it. */
const STREAMED = 200_000;
/** Most characters of a tool's progress, of which the end is shown. */
const SAID = 4_000;

const FACT = 'fact-';

type StoredCard = { readonly id: string; readonly html: string };

export class LivePieces {
  readonly #pieces = new Map<string, LivePiece>();
  readonly #calls = new Map<string, Progress>();
  /** Draws a call that is in the transcript already. */
  readonly #card: (anchor: string) => StoredCard | null;
  #waiting: ReadonlySet<string> = new Set();
  #voids = 0;
  #hiding = false;

  constructor(card: (anchor: string) => StoredCard | null) {
    this.#card = card;
  }

  /** The pieces for a new viewer. */
  get html(): string {
    const shown = [...this.#pieces.values()].filter(({ hidden }) => !hidden);
    return shown.map((piece) => this.#draw(piece)).join('');
  }

  /** Returns the progress of a call whose outcome is not stored. */
  progress(anchor: string): Progress | undefined {
    return this.#waiting.has(anchor) ? { kind: 'waiting' } : this.#calls.get(anchor);
  }

  /** Sets the calls that wait for a decision now. */
  waits(anchors: ReadonlySet<string>): readonly Change[] {
    const before = this.#waiting;
    this.#waiting = anchors;
    return this.redraw([...anchors, ...before].filter((one) => anchors.has(one) !== before.has(one)));
  }

  /** Draws calls again of which something else is known now. */
  redraw(anchors: readonly string[]): readonly Change[] {
    return anchors.flatMap((anchor) => this.#redrawCall(anchor));
  }

  /**
   * Applies an event. `current` is the current run. With `again` the transcript has the event
   * already, so it is not shown twice.
   */
  tell(event: ChannelItem, current: number, again = false): readonly Change[] {
    this.#hiding = again;
    switch (event.type) {
      case 'text_delta':
      case 'thinking_delta':
        return this.#stream(event);
      case 'request_start':
        return this.#put({ ...attemptPlace(event), id: nameOf(event, 'ask'), html: requestHtml(event) });
      case 'tool_use': {
        const anchor = anchorOf(current, event);
        const call = { anchor, name: event.name, input: event.input };
        const piece = { ...attemptPlace(event), id: `piece-${anchor}`, call };
        return [...this.#drop(nameOf(event, 'ask')), ...this.#put(piece)];
      }
      case 'tool_start':
      case 'tool_progress':
      case 'tool_end':
        return this.#goOn(anchorOf(current, event), event);
      case 'tombstone':
        return this.#takeBack(event);
      case 'stored':
        // A stored step was preceded by all earlier ones.
        return [...this.#pieces.values()].filter(({ step }) => step <= event.step).flatMap(({ id }) => this.#drop(id));
      case 'run_start':
        this.#calls.clear();
        return [];
      case 'run_end':
        // The transcript has the whole run by now, whatever the channel tells again of it.
        return [...this.#pieces.keys()].flatMap((id) => this.#drop(id));
      case 'reply':
        return this.#drop(nameOf(event, 'ask'));
      case 'transition':
        return isOrdinary(event.reason) ? [] : this.#fact(event);
      default:
        return this.#fact(event);
    }
  }

  #draw(piece: LivePiece): string {
    return drawPiece(piece, (anchor) => this.progress(anchor));
  }

  #put(piece: LivePiece): Change[] {
    this.#pieces.set(piece.id, this.#hiding ? { ...piece, hidden: true } : piece);
    return this.#hiding ? [] : [{ do: 'put', id: piece.id, into: LIVE, html: this.#draw(piece) }];
  }

  #drop(id: string): Change[] {
    return this.#pieces.delete(id) ? [{ do: 'drop', id }] : [];
  }

  #redrawCall(anchor: string): Change[] {
    const piece = this.#pieces.get(`piece-${anchor}`);
    if (piece && !piece.hidden) return this.#put(piece);
    const stored = this.#card(anchor);
    return stored ? [{ do: 'put', id: stored.id, into: ITEMS, html: stored.html }] : [];
  }

  #stream(event: EventOf<'text_delta' | 'thinking_delta'>): Change[] {
    const kind = event.type === 'text_delta' ? 'text' : 'thinking';
    const id = nameOf(event, `${event.iteration}-${event.index}`);
    const piece = this.#pieces.get(id);
    const known = piece?.stream;
    if (!known) {
      const stream = { id: `${id}-text`, kind, text: event.text.slice(0, STREAMED) } as const;
      return [...this.#drop(nameOf(event, 'ask')), ...this.#put({ ...attemptPlace(event), id, stream })];
    }
    const text = event.text.slice(0, Math.max(0, STREAMED - known.text.length));
    known.text += text;
    return text === '' || piece?.hidden ? [] : [{ do: 'text', id: known.id, text: showUnseen(text) }];
  }

  #goOn(anchor: string, event: EventOf<'tool_start' | 'tool_progress' | 'tool_end'>): Change[] {
    this.#calls.set(anchor, progressAfter(this.#calls.get(anchor), event));
    return this.#redrawCall(anchor);
  }

  #takeBack(event: EventOf<'tombstone'>): Change[] {
    const isTaken = ({ id, step, attempt }: LivePiece): boolean =>
      // Facts that a step appends stay true: the next attempt tells them again in the same place.
      step === event.step && attempt === event.attempt && !id.startsWith(FACT);
    const gone = [...this.#pieces.values()].filter(isTaken);
    const said = gone.filter(({ stream, call }) => stream ?? call).map((piece) => this.#draw(piece));
    const dropped = gone.flatMap(({ id }) => this.#drop(id));
    if (event.retold || said.length === 0) return dropped;
    const id = `void-${(this.#voids += 1)}`;
    return [...dropped, { do: 'put', id, into: ITEMS, html: wrapPiece(id, voidHtml(event, said.join(''))) }];
  }

  #fact(event: Parameters<typeof lineHtml>[0] & WatchedEvent): readonly Change[] {
    const html = lineHtml(event);
    const key = factKey(event);
    const id = key === null ? nameOf(event, `${event.type}-${this.#pieces.size}`) : `${FACT}${key}`;
    return this.#put({ ...attemptPlace(event), id, html });
  }
}

type EventOf<Type extends ChannelItem['type']> = Extract<ChannelItem, { readonly type: Type }>;

const anchorOf = (run: number, { iteration, index }: { readonly iteration: number; readonly index: number }): string =>
  `${run}-${iteration}-${index}`;

function progressAfter(
  before: Progress | undefined,
  event: EventOf<'tool_start' | 'tool_progress' | 'tool_end'>,
): Progress {
  if (event.type === 'tool_start') return { kind: 'running', said: '' };
  if (event.type === 'tool_progress') {
    const said = `${before?.kind === 'running' ? before.said : ''}${event.text}`.slice(-SAID);
    return { kind: 'running', said };
  }
  const { isError, content, durationMs, untimed } = event;
  return { kind: 'ended', isError, content, durationMs: untimed ? null : durationMs };
}

/**
 * Names a fact that outlives its attempt: what its step appends, and why the next one waits. Null
 * for an event of the attempt alone.
 */
function factKey(event: WatchedEvent): string | null {
  if (event.type === 'user') return event.id.replace(/[^\w-]/g, '_');
  if (event.type === 'transition') return `${event.iteration}-${event.reason}`;
  if (event.type === 'retry') return `retry-${event.step}-${event.attempt}`;
  if (event.type === 'microcompact') return `microcompact-${event.before}`;
  if (event.type === 'collapse_committed') return `collapse_committed-${event.count}`;
  const told = event.type === 'notice' ? event.notice : event.type === 'steered' ? event.steered : null;
  const fact = event.type === 'snip' ? event.entries : told;
  return fact && hashOf(Buffer.from(JSON.stringify(fact))).slice(0, 16);
}

const attemptPlace = ({ step, attempt }: AttemptPlace): AttemptPlace => ({ step, attempt });
const nameOf = ({ step, attempt }: AttemptPlace, rest: string): string => `p-${step}-${attempt}-${rest}`;
