// A Temporal client like any other: it reaches the server and has none of Perdure's keys.
import { Client } from '@temporalio/client';
import { createClientConverter } from '../../connection/payloads/data-converter.ts';
import type { Harness } from './harness.ts';

export const plainClient = ({ client }: Pick<Harness, 'client'>): Client =>
  new Client({ connection: client.connection, dataConverter: createClientConverter(undefined) });

/** As the server numbers the stages of an update. */
export const waitFor = (lifecycleStage: number) => ({ lifecycleStage });
