// A client of a harness: it reads the store of its workers, and nothing live.
import type { Client } from '@temporalio/client';
import { createClient } from '../../client/client.ts';
import { fileStore } from '../../store/values/file-store.ts';

type Clientless = { readonly client: Client; readonly storePlace: string; readonly taskQueue: string };

export const clientOf = ({ client: temporal, storePlace, taskQueue }: Clientless) =>
  createClient({
    temporal,
    store: fileStore({ dir: storePlace }),
    live: async function* () {},
    visibility: async () => false,
    taskQueue,
  });
