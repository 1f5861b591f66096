// Resources of a log that are created, archived and deleted, each with its times: memory stores,
// vaults and their credentials.
import { isDeepStrictEqual } from 'node:util';
import type { ResourceLog } from '../client/faces/stored.ts';
import type { Resources } from '../client/faces/types.ts';
import { type ManagedError, notFound } from './errors.ts';
import { formatTime } from './ids.ts';
import { LIST_AGE_MS } from './log/stored.ts';
import { placeOfDated } from './pages.ts';

/** Times in RFC 3339. */
type Dates = { readonly created_at: string; readonly updated_at: string; readonly archived_at: string | null };

type Options<Item> = {
  readonly log: ResourceLog<Item>;
  /** The name of its kind, as in "Vault". */
  readonly kind: string;
  readonly now: () => number;
  /** Makes the error for what an archived one cannot do. */
  readonly archived: (id: string) => ManagedError;
};

export class DatedResources<Item extends Dates> {
  readonly #options: Options<Item>;

  constructor(options: Options<Item>) {
    this.#options = options;
  }

  /**
   * A repeated request with the same `id` creates nothing new. Passes on the errors of `check`.
   * Throws 404 once it was deleted.
   */
  async create(
    id: string,
    by: string,
    fields: Omit<Item, keyof Dates>,
    check: (all: Resources<Item>) => void = () => undefined,
  ): Promise<Item> {
    const at = formatTime(this.#options.now());
    const item = { ...fields, created_at: at, updated_at: at, archived_at: null } as unknown as Item;
    await this.#options.log.append(by, (all, deleted) => {
      if (deleted.has(id)) throw this.#missing(id);
      if (all.has(id)) return null;
      check(all);
      return { id, item };
    });
    return this.retrieve(id);
  }

  /** Throws ManagedError 404. */
  async retrieve(id: string): Promise<Item> {
    const item = (await this.#options.log.read()).get(id);
    if (!item) throw this.#missing(id);
    return item;
  }

  /** Throws ManagedError when it is archived. */
  async requireOpen(id: string): Promise<Item> {
    const item = await this.retrieve(id);
    if (item.archived_at !== null) throw this.#options.archived(id);
    return item;
  }

  /** Changes one that is not archived. Throws ManagedError. */
  update(id: string, by: string, change: (item: Item) => Item): Promise<Item> {
    return this.#change(id, by, (item) => {
      if (item.archived_at !== null) throw this.#options.archived(id);
      return change(item);
    });
  }

  /** `strip` drops the parts that an archived one loses. */
  archive(id: string, by: string, strip: (item: Item) => Item = (item) => item): Promise<Item> {
    const archived_at = formatTime(this.#options.now());
    return this.#change(id, by, (item) => (item.archived_at === null ? { ...strip(item), archived_at } : item));
  }

  /** Throws ManagedError 404. */
  async delete(id: string, by: string): Promise<void> {
    await this.#options.log.append(by, (all) => {
      if (!all.has(id)) throw this.#missing(id);
      return { id, item: null };
    });
  }

  /** Lists them, newest first. */
  async list(includeArchived = false): Promise<readonly (readonly [id: string, item: Item])[]> {
    const place = ([id, item]: readonly [string, Item]): string => placeOfDated({ id, created_at: item.created_at });
    return [...(await this.#options.log.read(LIST_AGE_MS))]
      .filter(([, { archived_at }]) => includeArchived || archived_at === null)
      .toSorted((a, b) => (place(a) < place(b) ? 1 : -1));
  }

  async #change(id: string, by: string, change: (item: Item) => Item): Promise<Item> {
    await this.#options.log.append(by, (all) => {
      const item = all.get(id);
      if (!item) throw this.#missing(id);
      const next = change(item);
      const updated_at = formatTime(this.#options.now());
      return isDeepStrictEqual(next, item) ? null : { id, item: { ...next, updated_at } };
    });
    return this.retrieve(id);
  }

  #missing(id: string): ManagedError {
    const { kind } = this.#options;
    return notFound(kind, id, `${kind.toLowerCase().replace(' ', '_')}_not_found`);
  }
}
