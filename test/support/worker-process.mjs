// A worker in a process of its own, to be killed: runs the built product. Settings come as one JSON
// argument; prints `ready` when it polls. `configFile` is a module with a configuration that JSON
// cannot hold. Ends by SIGTERM (drain) or with its standard input.
import { startWorker } from '../../dist/worker/start-worker.js';
import { installRuntime } from '../../dist/worker/install-runtime.js';
import { createWorkerLog } from '../../dist/worker/log.js';

const { configFile, ...settings } = JSON.parse(process.argv[2]);
if (configFile) settings.config = { snapshots: false, ...(await import(configFile)).default };
const log = createWorkerLog(process.stderr, settings.env);
installRuntime(log);
const worker = await startWorker({ ...settings, log });
const stop = () => void worker.stop().then(() => process.exit(0));
process.once('SIGTERM', stop);
process.stdin.resume().once('end', () => process.exit(1));
process.stdout.write('ready\n');
