// Every backend keeps the store's contract.
import { fileStore } from '../../../activities/transcript/store/file-store.ts';
import { memoryStore } from '../../../activities/transcript/store/memory-store.ts';
import { storeContract } from '../../support/store-contract.ts';
import { tempDir } from '../../support/temp-dir.ts';

storeContract('memory', memoryStore);
storeContract('files', () => fileStore({ dir: tempDir() }));
