// Previews of streaming replies (G43): live items become `event_start` and `event_delta` under the
// final events' ids. A listener holds a prefix of an event's content until the event arrives or its
// attempt dies.
import type {
  BetaManagedAgentsDeltaType,
  BetaManagedAgentsStreamSessionEvents,
} from '@anthropic-ai/sdk/resources/beta/sessions';
import type { ChannelItem } from '../../client/faces/types.ts';
import { nextReply, type Projection, replyPartId } from './parts.ts';
import type { Timeline } from './timelines.ts';

type Preview = BetaManagedAgentsStreamSessionEvents;
type Delta = Extract<ChannelItem, { readonly type: 'text_delta' | 'thinking_delta' }>;

/** A previewed event. `entries`: blocks of the reply in the order of the event's content. */
type OpenPreview = { readonly id: string; readonly entries: number[] };

export class Previews {
  readonly #kinds: ReadonlySet<BetaManagedAgentsDeltaType>;
  /** The step that was under way when the listener came: its words began before. */
  readonly #before: number;
  readonly #open = new Map<string, OpenPreview>();
  readonly #dead = new Set<string>();

  constructor(kinds: readonly BetaManagedAgentsDeltaType[], before: number) {
    this.#kinds = new Set(kinds);
    this.#before = before;
  }

  /** Tells whether an item begins or continues a preview. */
  takes(item: ChannelItem): boolean {
    return isDelta(item) && this.#kinds.has(kindOf(item)) && item.step > this.#before;
  }

  /**
   * Returns the frames of an item. `timeline` is what the listener has been sent: a step that is
   * not under way in it, or whose reply it has, is not previewed, and neither is the rest of an
   * attempt of which something was left out.
   */
  preview(item: ChannelItem, timeline: Pick<Timeline, 'projection' | 'step'>): readonly Preview[] {
    if (item.type === 'tombstone') this.#dead.add(attemptOf(item));
    if (!isDelta(item) || !this.takes(item) || this.#dead.has(attemptOf(item))) return [];
    if (item.step !== timeline.step || hasReply(timeline.projection, item.iteration)) {
      this.#dead.add(attemptOf(item));
      return [];
    }
    const kind = kindOf(item);
    const key = `${kind} ${attemptOf(item)}`;
    const known = this.#open.get(key);
    const open = known ?? { id: previewId(timeline.projection, item), entries: [] };
    this.#open.set(key, open);
    const start: readonly Preview[] = known ? [] : [{ type: 'event_start', event: { id: open.id, type: kind } }];
    return kind === 'agent.message' ? [...start, deltaOf(open, item)] : start;
  }
}

const hasReply = ({ run, reply }: Projection, iteration: number): boolean =>
  reply?.run === run && reply.iteration >= iteration;

function previewId(projection: Projection, item: Delta): string {
  const part = item.type === 'text_delta' ? 'message' : 'thinking';
  return replyPartId(projection, nextReply(projection, item.iteration), part, item.attempt);
}

const isDelta = (item: ChannelItem): item is Delta => item.type === 'text_delta' || item.type === 'thinking_delta';

const kindOf = ({ type }: Delta): BetaManagedAgentsDeltaType =>
  type === 'text_delta' ? 'agent.message' : 'agent.thinking';

const attemptOf = ({ step, attempt }: { readonly step: number; readonly attempt: number }): string =>
  `${step}.${attempt}`;

function deltaOf({ id, entries }: OpenPreview, { index: block, text }: Delta): Preview {
  if (!entries.includes(block)) entries.push(block);
  const delta = {
    type: 'content_delta' as const,
    index: entries.indexOf(block),
    content: { type: 'text' as const, text },
  };
  return { type: 'event_delta', event_id: id, delta };
}
