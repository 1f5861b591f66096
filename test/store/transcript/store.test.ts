// Every backend keeps the store's contract.
import { fileStore } from '../../../store/values/file-store.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { storeContract } from '../../support/store-contract.ts';
import { tempDir } from '../../support/temp-dir.ts';

storeContract('memory', memoryStore);
storeContract('files', () => fileStore({ dir: tempDir() }));
