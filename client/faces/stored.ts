// What a face reads and keeps in the store itself: logs of resources, stored heads and outcomes,
// entries that a step is about to append.
export { attachedTo, Files, OUTPUTS, outputsOf, UPLOADS } from '../../store/values/files.ts';
export { bodyText, mediaKey, storeTextBody } from '../../store/log/bodies.ts';
export { rewoundIn } from '../../store/log/entries.ts';
export { readStoredHead, readStoredOutcome } from '../../store/log/step-records.ts';
export { Memories, MemoryRefusal, MEMORY_STORES } from '../../store/memories/memories.ts';
export { findInTheWay, isInTheWay, memoryPathProblem, memoryTextProblem } from '../../store/memories/memory-rules.ts';
export { findNewest, ResourceLog } from '../../store/values/resource-log.ts';
export { SKILL_BOUNDS, Skills } from '../../store/values/skills.ts';
export { prepareAppend } from '../../store/view/append.ts';
