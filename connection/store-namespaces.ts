// Records which Temporal namespaces use a store: every worker records its own when it starts, so
// that `gc` from another namespace, which cannot see these sessions, does not remove their values
// (W4).
import type { Client } from '@temporalio/client';
import type { Log } from '../system/log.ts';
import { reasonOf } from '../system/text.ts';
import { parseStored, type Store } from '../store/values/store.ts';

/** The folder of the records `namespaces/<id>`. */
export const NAMESPACES = 'namespaces';

type StoreNamespace = { readonly id: string; readonly name: string };

/** Reads the namespace. Its id is the server's own: namespaces of two servers may have one name. */
export async function readNamespace({
  workflowService,
  options: { namespace: name },
}: Client): Promise<StoreNamespace> {
  const { namespaceInfo } = await workflowService.describeNamespace({ namespace: name });
  return { id: namespaceInfo?.id ?? '', name };
}

function namespaceKey({ id }: Pick<StoreNamespace, 'id'>): string {
  return `${NAMESPACES}/${id}`;
}

/** Returns the namespace's name from a record under `userKey`, or a question mark. */
export function readNamespaceName(bytes: Uint8Array | undefined): string {
  const { name } = ((bytes && parseStored(bytes)) ?? {}) as { readonly name?: unknown };
  return typeof name === 'string' ? name : '?';
}

/**
 * Notes the namespace without being waited for: a worker whose store cannot be reached for now
 * works all the same.
 */
export function noteNamespace(store: Store, client: Client, log: Log): void {
  const note = async (): Promise<void> => {
    const user = await readNamespace(client);
    await store.create(namespaceKey(user), Buffer.from(JSON.stringify({ v: 1, name: user.name })));
  };
  note().catch((error: unknown) => {
    log('warn', `the store could not be told that this namespace uses it, for \`perdure gc\`: ${reasonOf(error)}`);
  });
}
