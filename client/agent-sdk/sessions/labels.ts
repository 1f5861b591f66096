// Keeps the titles and tags of sessions in the store, so that all who share the store see them.
// Records are written once, so that each change is a record of its own, and the last one counts.
import { z } from 'zod';
import { keySegment, parseStored, type Store } from '../../../store/values/store.ts';
import { present } from '../../../workflows/contract/present.ts';

const change = z.object({ title: z.string().optional(), tag: z.string().nullable().optional() });

export type LabelChange = z.infer<typeof change>;
export type Labels = { readonly title?: string; readonly tag?: string; readonly changes: number };

const keyOf = (session: string, number: number): string => `labels/${keySegment(session)}/${number}`;

/** Merges all changes of a session's labels. Throws StoreError. */
export async function readLabels(store: Store, session: string): Promise<Labels> {
  let title: string | undefined;
  let tag: string | undefined;
  for (let changes = 0; ; changes += 1) {
    const bytes = await store.read(keyOf(session, changes));
    if (bytes === null) return { changes, ...present({ title, tag }) };
    const { data = {} } = change.safeParse(parseStored(bytes));
    title = data.title ?? title;
    tag = data.tag === undefined ? tag : (data.tag ?? undefined);
  }
}

/** Writes a change under the next free number, also when others write. Throws StoreError. */
export async function writeLabel(store: Store, session: string, label: LabelChange): Promise<void> {
  const bytes = Buffer.from(JSON.stringify(label));
  let { changes } = await readLabels(store, session);
  while ((await store.create(keyOf(session, changes), bytes)).kind === 'existing') changes += 1;
}
