// The flags of a process that works.
export { DUMP_OPTION, DUMP_READABLE_OPTION, refuseForOthers, withDump } from '../runtime/dump-options.ts';
export { METRICS_OPTION, openMonitor, watchFleet, watchPage } from '../runtime/monitor.ts';
export { refuseBesideNewer } from '../runtime/newer.ts';
export {
  findUnconfinedQuestion,
  refuseUnconfinedForOthers,
  UNCONFINED_OPTION,
  withUnconfined,
} from '../runtime/unconfined.ts';
