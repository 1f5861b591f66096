// The worker that was here before: its connection, queue, codec, tracing and logger. The last
// plugin is what gives it agents.
import { fileURLToPath } from 'node:url';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { PerdurePlugin } from 'perdure/plugin';
import * as activities from './activities.ts';
import { triageCodec } from './codec.ts';
import { tracing } from './tracing.ts';

const { TRIAGE_KEY = '', TRIAGE_SPANS = 'spans.jsonl' } = process.env;

Runtime.install({
  logger: new DefaultLogger('INFO', ({ level, message, meta }) => {
    const { issue, workflowType, activityType } = meta ?? {};
    process.stderr.write(`${JSON.stringify({ app: 'triage', level, message, issue, workflowType, activityType })}\n`);
  }),
});

const { connectionOptions, namespace = 'default' } = loadClientConnectConfig();
const connection = await NativeConnection.connect(connectionOptions);
const worker = await Worker.create({
  connection,
  namespace,
  taskQueue: 'triage',
  workflowsPath: fileURLToPath(new URL('./workflows.js', import.meta.url)),
  activities,
  dataConverter: { payloadCodecs: [triageCodec(TRIAGE_KEY)] },
  plugins: [tracing('triage-worker', TRIAGE_SPANS), new PerdurePlugin({ cwd: process.cwd() })],
});
await worker.run();
await connection.close();
