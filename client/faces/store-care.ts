// Care of what is stored: sessions carried to another store, snapshots and notes cleaned up.
export { finishMerge } from '../../activities/memory/merge-notes.ts';
export {
  isNoteName,
  MOST_NOTES,
  NOTE_BYTES,
  notesFolder,
  readNotes,
  REPLACED_NOTES,
  removeNote,
  replaceNote,
} from '../../activities/memory/notes.ts';
export { listLostFolders } from '../sessions/files/lost-folders.ts';
export { exportSession, importSession } from '../store-care/carry-session.ts';
export { listSnapshotIds, packSnapshots, unpackSnapshots } from '../store-care/carry-snapshots.ts';
export { cleanSnapshots } from '../store-care/clean-snapshots.ts';
export { cleanStore, GRACE_MS } from '../store-care/clean-store.ts';
export { describeFreeRoom, measureDatabase } from '../store-care/database-size.ts';
export { Files } from '../../store/values/files.ts';
export { Skills } from '../../store/values/skills.ts';
export { findKeptMemories } from '../../store/memories/memories.ts';
export { HostedSessions } from '../../store/hosted-sessions.ts';
export { openStore } from '../../store/values/open-store.ts';
export { findKeptSecrets } from '../../store/vaults/vaults.ts';
