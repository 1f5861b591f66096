// Opens the server that sessions live on, and reports who else uses it.
export { openWholeServer } from '../runtime/open-server.ts';
export { watchPollers } from '../sessions/watch-pollers.ts';
export { workersOf } from '../../worker/embedded/members.ts';
export { NAMESPACE } from '../../worker/embedded/server-args.ts';
