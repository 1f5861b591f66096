// Keeps on the screen, as pieces, what a session says now and has not stored yet. A piece belongs
// to an attempt: when that is stored, the transcript has it, and when it dies, it is taken back
// (L16). Pure: events in, changes out.
import { showUnseen } from '../../system/text.ts';
import type { ChannelItem } from '../../client/faces/types.ts';
import { isOrdinary } from '../../client/faces/words.ts';
import { type ViewChange, type ViewItem, LiveView, reduceLive } from '../../client/view/reduce-live.ts';
import type { Progress } from '../transcript/call-card.tsx';
import { anchorOf, drawPiece, pieceId, STREAMED, voidHtml, wrapPiece } from './draw-piece.tsx';
import type { Change } from './ring.ts';

/** Elements that contain pieces and transcript items. */
export const LIVE = 'live';
export const ITEMS = 'items';

/** Most characters of a tool's progress, of which the end is shown. */
const SAID = 4_000;

type StoredCard = { readonly id: string; readonly html: string };

export class LivePieces {
  readonly #view = new LiveView();
  /** Items that the transcript shows already. */
  readonly #hidden = new WeakSet<ViewItem>();
  /** Calls among the items, by their anchors. */
  readonly #open = new Map<string, ViewItem>();
  readonly #calls = new Map<string, Progress>();
  /** Draws a call that is in the transcript already. */
  readonly #card: (anchor: string) => StoredCard | null;
  #waiting: ReadonlySet<string> = new Set();
  #voids = 0;

  constructor(card: (anchor: string) => StoredCard | null) {
    this.#card = card;
  }

  /** The pieces for a new viewer. */
  get html(): string {
    const visible = this.#view.items.filter((item) => isDrawn(item) && !this.#hidden.has(item));
    return visible.map((item) => this.#draw(item)).join('');
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
    if (event.type === 'tool_start' || event.type === 'tool_progress' || event.type === 'tool_end')
      return this.#goOn(anchorOf(current, event), event);
    if (event.type === 'run_start') this.#calls.clear();
    this.#view.run = current;
    return reduceLive(this.#view, event).flatMap((change) => this.#show(change, again));
  }

  #show(change: ViewChange, again: boolean): readonly Change[] {
    switch (change.do) {
      case 'put': {
        const { item } = change;
        if (item.event.type === 'tool_use') this.#open.set(anchorOf(item.run, item.event), item);
        if (again) this.#hidden.add(item);
        return again || !isDrawn(item) ? [] : [this.#put(item)];
      }
      case 'patch': {
        const { item, text } = change;
        const addition = text.slice(0, Math.max(0, STREAMED + text.length - item.text.length));
        if (addition === '' || this.#hidden.has(item)) return [];
        return [{ do: 'text', id: `${pieceId(item)}-text`, text: showUnseen(addition) }];
      }
      case 'drop':
        return this.#drop(change.items);
      case 'revoke': {
        const { items, tombstone } = change;
        const output = items.filter(({ event }) => OUTPUT.has(event.type)).map((item) => this.#draw(item));
        const dropped = this.#drop(items);
        if (tombstone.retold || output.length === 0) return dropped;
        const id = `void-${(this.#voids += 1)}`;
        return [...dropped, { do: 'put', id, into: ITEMS, html: wrapPiece(id, voidHtml(tombstone, output.join(''))) }];
      }
    }
  }

  #draw(item: ViewItem): string {
    return drawPiece(item, (anchor) => this.progress(anchor));
  }

  #put(item: ViewItem): Change {
    return { do: 'put', id: pieceId(item), into: LIVE, html: this.#draw(item) };
  }

  #drop(items: readonly ViewItem[]): readonly Change[] {
    for (const { run, event } of items) if (event.type === 'tool_use') this.#open.delete(anchorOf(run, event));
    return items.filter(isDrawn).map((item) => ({ do: 'drop', id: pieceId(item) }));
  }

  #redrawCall(anchor: string): readonly Change[] {
    const item = this.#open.get(anchor);
    if (item && !this.#hidden.has(item)) return [this.#put(item)];
    const stored = this.#card(anchor);
    return stored ? [{ do: 'put', id: stored.id, into: ITEMS, html: stored.html }] : [];
  }

  #goOn(anchor: string, event: EventOf<'tool_start' | 'tool_progress' | 'tool_end'>): readonly Change[] {
    this.#calls.set(anchor, progressAfter(this.#calls.get(anchor), event));
    return this.#redrawCall(anchor);
  }
}

/** These are shown, struck through, when their attempt dies. */
const OUTPUT: ReadonlySet<ChannelItem['type']> = new Set(['text_delta', 'thinking_delta', 'tool_use']);

function isDrawn({ event }: ViewItem): boolean {
  return event.type === 'transition' ? !isOrdinary(event.reason) : event.type !== 'reply';
}

type EventOf<Type extends ChannelItem['type']> = Extract<ChannelItem, { readonly type: Type }>;

function progressAfter(
  before: Progress | undefined,
  event: EventOf<'tool_start' | 'tool_progress' | 'tool_end'>,
): Progress {
  if (event.type === 'tool_start') return { kind: 'running', said: '' };
  if (event.type === 'tool_progress') {
    const output = `${before?.kind === 'running' ? before.said : ''}${event.text}`.slice(-SAID);
    return { kind: 'running', said: output };
  }
  const { isError, content, durationMs, untimed } = event;
  return { kind: 'ended', isError, content, durationMs: untimed ? null : durationMs };
}
