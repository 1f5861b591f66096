// Stays beside a Temporal server, ends with it, and stops it when nobody uses it any more. Its
// argument says which. What it prints goes to the server's log.
import { stopWhenUnused, UNUSED_SECONDS, type WatchedServer } from './watch-use.ts';

const watched = JSON.parse(process.argv[2] ?? '') as WatchedServer;

if (await stopWhenUnused(watched)) {
  const why = `no process has used the data folder ${watched.folder.root} for ${UNUSED_SECONDS} s`;
  process.stdout.write(`perdure: stopped the Temporal server, process ${watched.server.pid}: ${why}\n`);
}
