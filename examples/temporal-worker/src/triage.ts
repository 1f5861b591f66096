// Starts a triage and prints the name of the file that came of it: node lib/triage.js 7
import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { triageCodec } from './codec.ts';
import { tracing } from './tracing.ts';
import type { triage } from './workflows.ts';

const { TRIAGE_KEY = '', TRIAGE_SPANS = 'spans.jsonl' } = process.env;
const issue = Number(process.argv[2]);

const { connectionOptions, namespace = 'default' } = loadClientConnectConfig();
const connection = await Connection.connect(connectionOptions);
const dataConverter = { payloadCodecs: [triageCodec(TRIAGE_KEY)] };
const client = new Client({ connection, namespace, dataConverter, plugins: [tracing('triage', TRIAGE_SPANS)] });
const workflowId = `triage-${issue}-${randomUUID()}`;
process.stdout.write(
  `${await client.workflow.execute<typeof triage>('triage', { taskQueue: 'triage', workflowId, args: [issue] })}\n`,
);
await connection.close();
