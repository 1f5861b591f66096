// Changes of files by sessions: their snapshots, and the calls behind a change.
export { applySession } from '../sessions/files/apply-changes.ts';
export { openShadowReading, readCapturedFolder } from '../sessions/files/read-shadow.ts';
export { listCaptures } from '../sessions/files/calls-behind.ts';
export { diffSession } from '../sessions/files/diff-session.ts';
export { hasPacks } from '../../store/snapshots/packs.ts';
export { measureShadow, readRoom } from '../../store/snapshots/pack-shadow.ts';
export { snapshotsFolderOf } from '../../store/snapshots/shadow.ts';
