// Chooses the ids under which calls are sent: a request may not contain an id twice, nor a
// malformed one. Thinking is bound to the ids as to everything that was sent.
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { ReplyEntry } from '../log/entries.ts';

/** The ids under which the calls of a request are sent. Those of its first messages are shared. */
export class SentIds {
  readonly #before: ReadonlySet<string>;
  readonly #own: Set<string>;

  constructor(before: ReadonlySet<string> = new Set(), own: readonly string[] = []) {
    this.#before = before;
    this.#own = new Set(own);
  }

  get size(): number {
    return this.#before.size + this.#own.size;
  }

  /** The number of those that were added. */
  get added(): number {
    return this.#own.size;
  }

  has(id: string): boolean {
    return this.#before.has(id) || this.#own.has(id);
  }

  add(id: string): void {
    if (!this.has(id)) this.#own.add(id);
  }

  /** Returns all ids up to the first so many that were added. */
  first(added: number): ReadonlySet<string> {
    return new Set([...this.#before, ...[...this.#own].slice(0, added)]);
  }
}

export function chooseFreeId(id: string, index: number, used: Pick<SentIds, 'size' | 'has'>): string {
  if (isSendable(id) && !used.has(id)) return id;
  // Earlier releases recorded no choice. The number of ids sent before stays the same as long as
  // nothing before the reply goes.
  for (let n = used.size; ; n += 1) {
    const other = `call_${n}_${index}`;
    if (!used.has(other)) return other;
  }
}

function isSendable(id: string): boolean {
  return /^[a-zA-Z0-9_-]+$/.test(id);
}

/**
 * Returns other ids for the calls of a new reply at `position`, where theirs are not allowed or
 * came before. They are chosen once: a summary may replace what is sent before the reply, and its
 * thinking is bound to the ids as they were. `used` holds the ids in the request that it answers.
 */
export function chooseIds({ content }: Message, position: number, used: Pick<SentIds, 'has'>): Pick<ReplyEntry, 'ids'> {
  const chosen = new Set<string>();
  const ids = content.flatMap((block, index): [number, string][] => {
    const own = block.type === 'tool_use' ? block.id : undefined;
    // Only the first of several calls with one id is sent.
    if (own === undefined || content.findIndex((each) => each.type === 'tool_use' && each.id === own) < index)
      return [];
    let id = own;
    const isTaken = (): boolean => !isSendable(id) || used.has(id) || chosen.has(id);
    for (let n = 0; isTaken(); n += 1) id = `call_${position}_${index}${n === 0 ? '' : `_${n}`}`;
    chosen.add(id);
    return id === own ? [] : [[index, id]];
  });
  return ids.length === 0 ? {} : { ids: Object.fromEntries(ids) };
}
