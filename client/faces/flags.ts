// The flags of a process that works.
export {
  DUMP_OPTION,
  DUMP_READABLE_OPTION,
  findUnconfinedQuestion,
  refuseForOthers,
  refuseUnconfinedForOthers,
  UNCONFINED_OPTION,
  withDump,
  withUnconfined,
} from '../runtime/unconfined.ts';
export { METRICS_OPTION, openMonitor, watchFleet, watchPage } from '../runtime/monitor.ts';
export { refuseBesideNewer } from '../runtime/newer.ts';
