// The one place that says how payloads are written and read: every client and every worker takes its converter from here, by the
// keys of the server that it talks to.
import { defaultFailureConverter, defaultPayloadConverter, type LoadedDataConverter } from '@temporalio/common';
import type { WorkerOptions } from '@temporalio/worker';
import { builtFile } from '../built-file.ts';
import type { KeyRing } from './key-ring.ts';
import { readableCodec } from './readable.ts';
import { sealingCodec } from './sealing.ts';

type Warn = (line: string) => void;

const codecs = (keys: KeyRing | undefined, warn: Warn) => [keys ? sealingCodec(keys, warn) : readableCodec];

/** For `Worker.create`. Failures are written by the same converter as in the bundle. */
export function workerConverter(keys: KeyRing | undefined, warn: Warn): NonNullable<WorkerOptions['dataConverter']> {
  return { failureConverterPath: builtFile('workflows/bundled.js'), payloadCodecs: codecs(keys, warn) };
}

/** For `new Client`, which takes it loaded as well: a client needs no built file. */
export function clientConverter(keys: KeyRing | undefined): LoadedDataConverter {
  return {
    payloadConverter: defaultPayloadConverter,
    failureConverter: defaultFailureConverter,
    // What it cannot read it says itself.
    payloadCodecs: codecs(keys, () => undefined),
  };
}
