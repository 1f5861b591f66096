// The flags of a process that works, and what it says of itself; what it starts is loaded when it
// starts.
export { DUMP_OPTION, DUMP_READABLE_OPTION, refuseForOthers, withDump } from '../runtime/dump-options.ts';
export { actWithWorker, keepWorker, sayWhoseWork } from '../runtime/keep-worker.ts';
export { METRICS_OPTION, openMonitor, watchFleet, watchPage } from '../runtime/monitor.ts';
export { refuseBesideNewer } from '../runtime/newer.ts';
export { prepareWorker, startOwnWorker } from '../runtime/own-worker.ts';
export {
  findUnconfinedQuestion,
  refuseUnconfinedForOthers,
  UNCONFINED_OPTION,
  withUnconfined,
} from '../runtime/unconfined.ts';
export { isKeyless, SCRIPTED_NOTICE, withoutKey } from '../../worker/keyless.ts';
