// Reads behind the client's methods, which the page caches between looks: pages of sessions and
// counts, views, open runs, a folder that is not stored.
export { createClient } from '../client.ts';
export { eventSchema, resultSchema } from '../event-schema.ts';
export { ClientMeans } from '../sessions/client-means.ts';
export { countSessions } from '../sessions/find/count-sessions.ts';
export { holdRows } from '../sessions/find/stream-sessions.ts';
export { listPage } from '../sessions/find/list-sessions.ts';
export { openUnstored, withPorts } from '../sessions/folder-ports.ts';
export { noRecentRequests, readRecent } from '../sessions/history/recent.ts';
export { impatient } from '../sessions/persist.ts';
export { runningReader } from '../sessions/running/read-running.ts';
export { readSegment } from '../../store/log/read-chain.ts';
export { joinSystemPrompt } from '../../store/transcript/preamble.ts';
export { createViewCache, emptyView, loadView, loadWorkingView } from '../../store/view/view.ts';
export { findSessionHost } from '../../worker/config/session-host.ts';
