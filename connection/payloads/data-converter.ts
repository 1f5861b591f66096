// The one place that decides how payloads are written and read: every client and every worker takes
// its converter from here, by the keys of the server that it talks to.
import type { Log } from '../../system/log.ts';
import {
  defaultFailureConverter,
  defaultPayloadConverter,
  type LoadedDataConverter,
  type Payload,
  type PayloadCodec,
  type SerializationContext,
} from '@temporalio/common';
import type { WorkerOptions } from '@temporalio/worker';
import { pathOfBuiltFile } from '../../system/process/places.ts';
import type { KeyRing } from './key-ring.ts';
import { reasonOf } from '../../system/text.ts';
import { createSealingCodec, markUnreadable, readableCodec, safeCodecs } from './sealing-codec.ts';

const createCodecs = (keys: KeyRing | undefined, log: Log) => [keys ? createSealingCodec(keys, log) : readableCodec];

/**
 * Creates the converter for `Worker.create`. Failures are written by the same converter as in the
 * bundle.
 */
export function createWorkerConverter(
  keys: KeyRing | undefined,
  log: Log,
): NonNullable<WorkerOptions['dataConverter']> {
  return { failureConverterPath: pathOfBuiltFile('workflows/bundled.js'), payloadCodecs: createCodecs(keys, log) };
}

/**
 * Creates the converter for `new Client`, which takes it loaded as well: a client needs no built
 * file.
 */
export function createClientConverter(keys: KeyRing | undefined): LoadedDataConverter {
  return {
    payloadConverter: defaultPayloadConverter,
    failureConverter: defaultFailureConverter,
    // A client reports by itself what it cannot read.
    payloadCodecs: createCodecs(keys, () => undefined),
  };
}

/**
 * Makes the converter of a user's own client safe: where it would throw, because it was not made
 * for a payload, the payload becomes a value that says so.
 */
export function makeConverterReadable(converter: LoadedDataConverter): LoadedDataConverter {
  const { payloadConverter, payloadCodecs } = converter;
  if (payloadCodecs.some((codec) => safeCodecs.has(codec))) return converter;
  const decode = async (payload: Payload, context: SerializationContext | undefined): Promise<Payload> => {
    try {
      let decoded = [payload];
      for (const codec of payloadCodecs.toReversed()) decoded = await codec.decode(decoded, context);
      const [only = payload] = decoded;
      payloadConverter.fromPayload(only);
      return only;
    } catch (error) {
      return markUnreadable({ why: `cannot be read by this client (${reasonOf(error)})`, elsewhere: true });
    }
  };
  const encode: PayloadCodec['encode'] = async (payloads, context) => {
    let encoded = payloads;
    for (const codec of payloadCodecs) encoded = await codec.encode(encoded, context);
    return encoded;
  };
  const codec: PayloadCodec = {
    encode,
    decode: (payloads, context) => Promise.all(payloads.map((payload) => decode(payload, context))),
  };
  safeCodecs.add(codec);
  return { ...converter, payloadCodecs: [codec] };
}
