// Upkeep of a long-lived process: its server, its log, news of sessions and of health.
export { watchSessions } from '../runtime/watch-sessions.ts';
export { resolveConnection } from '../../connection/resolve-connection.ts';
export { readDeployment, requireOwnServer } from '../../worker/config/deployment.ts';
export { createSupervision, superviseServer } from '../../worker/embedded/supervise-server.ts';
export { createWorkerLog, openLogStream } from '../../worker/log.ts';
export { serverHealth } from '../../worker/monitor/health.ts';
