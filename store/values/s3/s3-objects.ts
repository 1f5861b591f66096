// Objects of a bucket, as the S3 store uses them: requests with the SDK's own retries, and its
// errors as sentences (W1). The SDK is loaded with the first request, so a worker that keeps the
// store in a folder neither needs nor loads it.
import { setTimeout as sleep } from 'node:timers/promises';
import type { S3Client } from '@aws-sdk/client-s3';
import { runOnce } from '../../../system/async.ts';
import { codeOf, reasonOf } from '../../../system/text.ts';
import { type Network, whyFetchFailed } from '../../../system/network.ts';
import { StoreError } from '../store.ts';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';

/**
 * Names are relative to the prefix. Every method throws StoreError `unavailable` with what to do.
 */
export type Objects = {
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** Resolves to false when an object of that name exists already. */
  putNew(name: string, bytes: Uint8Array): Promise<boolean>;
  /** Resolves to null when the object is missing. */
  get(name: string): Promise<Uint8Array | null>;
  /** Reads an object with the time of its writing, by the clock of the service. */
  getDated(name: string): Promise<DatedBytes | null>;
  /** Lists all objects below `folder`, which ends in a `/`, a page at a time. */
  list(folder: string): AsyncIterable<ListedObject>;
  /** Resolves to milliseconds since the epoch, or null when the object is missing. */
  writtenAt(name: string): Promise<number | null>;
  /** Copies an object. Resolves to false when it is missing, or was written after `olderThan`. */
  copy(from: string, to: string, olderThan?: number): Promise<boolean>;
  remove(name: string): Promise<void>;
  /** Returns where the object is, for messages. */
  place(name: string): string;
};

/** `at` is in milliseconds since the epoch. */
type DatedBytes = { readonly bytes: Uint8Array; readonly at: number };

type ListedObject = { readonly name: string; readonly bytes: number; readonly at: number };

export type Bucket = {
  readonly bucket: string;
  /** Without a `/` at its end; empty when the whole bucket is the store's. */
  readonly prefix: string;
  /** Absent: as AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL says, else AWS's own. */
  readonly endpoint?: string;
  /** How long one try may take, for tests. */
  readonly requestMs?: number;
  /** Absent: as the SDK does by itself. */
  readonly network?: (() => Network) | undefined;
};

/**
 * Tries of one request, the first included. A request that still fails is tried again by Temporal,
 * later.
 */
const TRIES = 4;
const CONNECT_MS = 10_000;
const UNDECIDED_MS = 50;
/** Leaves time for a request of some MB on a slow line. */
const REQUEST_MS = 60_000;

/** Enough sockets to read a page of a transcript at once. */
const SOCKETS = 64;

type Sdk = typeof import('@aws-sdk/client-s3');
type OpenClient = { readonly sdk: Sdk; readonly client: S3Client };

/**
 * Opens a bucket. Region, endpoint and credentials are found by the SDK's own chain: AWS_REGION,
 * AWS_ENDPOINT_URL, a profile, a role, …
 */
export function s3Objects(bucket: Bucket): Objects {
  return new BucketObjects(bucket);
}

class BucketObjects implements Objects {
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #opened: () => Promise<OpenClient>;

  constructor({ bucket, prefix, endpoint, requestMs = REQUEST_MS, network }: Bucket) {
    this.#bucket = bucket;
    this.#prefix = prefix === '' ? '' : `${prefix}/`;
    this.#opened = runOnce(() => openClient(endpoint, requestMs, network?.()));
  }

  place(name: string): string {
    return `s3://${this.#bucket}/${this.#prefix}${name}`;
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    await this.#request('write to the store', name, ({ sdk, client }) =>
      client.send(new sdk.PutObjectCommand({ ...this.#at(name), Body: bytes })),
    );
  }

  putNew(name: string, bytes: Uint8Array): Promise<boolean> {
    return this.#request('write to the store', name, async ({ sdk, client }) => {
      const command = new sdk.PutObjectCommand({ ...this.#at(name), Body: bytes, IfNoneMatch: '*' });
      return putOnce(() => nullOnError(EXISTS_ALREADY, client.send(command)));
    });
  }

  async get(name: string): Promise<Uint8Array | null> {
    return (await this.getDated(name))?.bytes ?? null;
  }

  getDated(name: string): Promise<DatedBytes | null> {
    return this.#request('read from the store', name, async ({ sdk, client }) => {
      const command = new sdk.GetObjectCommand(this.#at(name));
      // The body is part of the request: a cut in the middle of it is tried again as the rest is.
      return readWhole(() => nullOnError(ABSENT, client.send(command)));
    });
  }

  async *list(folder: string): AsyncIterable<ListedObject> {
    for (let from: string | undefined; ;) {
      const token = from === undefined ? {} : { ContinuationToken: from };
      const prefix = { Bucket: this.#bucket, Prefix: `${this.#prefix}${folder}` };
      const page = await this.#request('list the store', folder, ({ sdk, client }) =>
        client.send(new sdk.ListObjectsV2Command({ ...prefix, ...token })),
      );
      for (const { Key = '', Size = 0, LastModified } of page.Contents ?? [])
        yield { name: Key.slice(this.#prefix.length), bytes: Size, at: LastModified?.getTime() ?? Date.now() };
      from = page.NextContinuationToken;
      if (from === undefined) return;
    }
  }

  writtenAt(name: string): Promise<number | null> {
    return this.#request('read from the store', name, async ({ sdk, client }) => {
      const found = await nullOnError(ABSENT, client.send(new sdk.HeadObjectCommand(this.#at(name))));
      return found && (found.LastModified?.getTime() ?? Date.now());
    });
  }

  copy(from: string, to: string, olderThan?: number): Promise<boolean> {
    return this.#request('clean the store', from, async ({ sdk, client }) => {
      const command = new sdk.CopyObjectCommand({
        ...this.#at(to),
        CopySource: `${this.#bucket}/${this.#prefix}${from}`,
        ...(olderThan !== undefined && { CopySourceIfUnmodifiedSince: new Date(olderThan) }),
      });
      return (await nullOnError(MISSING_OR_CHANGED, client.send(command))) !== null;
    });
  }

  async remove(name: string): Promise<void> {
    await this.#request('clean the store', name, ({ sdk, client }) =>
      client.send(new sdk.DeleteObjectCommand(this.#at(name))),
    );
  }

  #at(name: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#bucket, Key: `${this.#prefix}${name}` };
  }

  /** Turns an error of the SDK into one that says what could not be done, and where. */
  async #request<T>(doing: string, name: string, send: (open: OpenClient) => Promise<T>): Promise<T> {
    try {
      return await send(await this.#opened());
    } catch (error) {
      const secrets = await this.#opened()
        .then(({ client }) => client.config.credentials())
        .then(Object.values, () => []);
      throw toProblem(`cannot ${doing} (${this.place(name)})`, this.#bucket, error, secrets);
    }
  }
}

const EXISTS_ALREADY: ReadonlySet<string> = new Set(['PreconditionFailed']);
/** Another conditional write of the same name is under way and has decided nothing yet. */
const UNDECIDED = 'ConditionalRequestConflict';
const ABSENT: ReadonlySet<string> = new Set(['NoSuchKey', 'NotFound']);
/** The object is missing, or has changed. */
const MISSING_OR_CHANGED: ReadonlySet<string> = new Set([...EXISTS_ALREADY, ...ABSENT]);

async function nullOnError<T>(names: ReadonlySet<string>, sent: Promise<T>): Promise<T | null> {
  try {
    return await sent;
  } catch (error) {
    if (error instanceof Error && names.has(error.name)) return null;
    throw error;
  }
}

async function putOnce(send: () => Promise<object | null>): Promise<boolean> {
  for (let tried = 1; ; tried += 1) {
    try {
      return (await send()) !== null;
    } catch (error) {
      if (!(error instanceof Error) || error.name !== UNDECIDED || tried >= TRIES) throw error;
      await sleep(UNDECIDED_MS * tried);
    }
  }
}

type ObjectAnswer = {
  readonly Body?: { transformToByteArray(): Promise<Uint8Array> } | undefined;
  readonly ContentLength?: number | undefined;
  readonly LastModified?: Date | undefined;
};

async function readWhole(get: () => Promise<ObjectAnswer | null>): Promise<DatedBytes | null> {
  for (let tried = 1; ; tried += 1) {
    const got = await get();
    if (got === null) return null;
    try {
      const bytes = (await got.Body?.transformToByteArray()) ?? new Uint8Array();
      const { ContentLength: expected = bytes.length } = got;
      const at = got.LastModified?.getTime() ?? Date.now();
      if (bytes.length === expected) return { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), at };
      throw new Error(`the connection was cut after ${bytes.length} of ${expected} bytes`);
    } catch (error) {
      if (tried >= TRIES) throw error;
    }
  }
}

async function openClient(
  endpoint: string | undefined,
  requestTimeout: number,
  network: Network | undefined,
): Promise<OpenClient> {
  const sdk = await loadSdk();
  const ca = network?.certificates;
  const { AWS_ENDPOINT_URL_S3: forS3, AWS_ENDPOINT_URL: forAll } = process.env;
  const client = new sdk.S3Client({
    maxAttempts: TRIES,
    // Self-hosted gateways have no host name for each bucket.
    forcePathStyle: Boolean(endpoint || forS3 || forAll),
    ...(endpoint !== undefined && { endpoint }),
    // Values are checked against their own hash when read, and signed with one when sent: further
    // checksums are work for nothing.
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestChecksumCalculation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      requestTimeout,
      throwOnRequestTimeout: true,
      httpAgent: { keepAlive: true, maxSockets: SOCKETS },
      httpsAgent: { keepAlive: true, maxSockets: SOCKETS, ...(ca && { ca: [...ca] }) },
    },
  });
  if (network) client.config.requestHandler = createProxyHandler(client.config.requestHandler, network, requestTimeout);
  return { sdk, client };
}

async function loadSdk(): Promise<Sdk> {
  // Otherwise each command on Node 20 prints seven lines about what the SDK will need later.
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
  try {
    return await import('@aws-sdk/client-s3');
  } catch (error) {
    if (codeOf(error)?.endsWith('MODULE_NOT_FOUND') !== true) throw error;
    const what = 'the store is on S3, and the package @aws-sdk/client-s3 is not installed';
    throw new StoreError('unavailable', `${what}: npm install @aws-sdk/client-s3`, { cause: error });
  }
}

// Words what goes wrong with a bucket as sentences that say what to do (W1).
const unknownAccessKey = (): string =>
  'its access key is not known there: see AWS_ACCESS_KEY_ID, AWS_PROFILE and AWS_ENDPOINT_URL';

const otherRegion = (): string => 'the bucket is in another region: set AWS_REGION to it';

/** Advice by the name or the code of the SDK's error. */
const ADVICE: Readonly<Record<string, (bucket: string) => string>> = {
  NoSuchBucket: (bucket) => `there is no bucket "${bucket}": create it, or name another in PERDURE_STORE`,
  AccessDenied: () =>
    'access is denied: allow s3:GetObject and s3:PutObject there, for `perdure gc` s3:DeleteObject too, and s3:ListBucket on the bucket',
  InvalidAccessKeyId: unknownAccessKey,
  XAdminUserNotFound: unknownAccessKey,
  SignatureDoesNotMatch: () => 'its secret key is wrong: see AWS_SECRET_ACCESS_KEY, or AWS_PROFILE',
  InvalidToken: () => 'its session token is not one that is known there: see AWS_SESSION_TOKEN',
  ExpiredToken: () => 'its session token has expired: get a new one',
  RequestTimeTooSkewed: () => "this machine's clock is wrong: set it, work goes on by itself",
  CredentialsProviderError: () =>
    'no credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or a role',
  PermanentRedirect: otherRegion,
  AuthorizationHeaderMalformed: otherRegion,
  TimeoutError: () => 'it answers too slowly: see the network and AWS_ENDPOINT_URL; work goes on by itself',
  SlowDown: () => 'it asks for fewer requests: work goes on by itself',
  ECONNREFUSED: () => 'nothing answers there: see AWS_ENDPOINT_URL and that the service runs; work goes on by itself',
  ENOTFOUND: () => 'its host is not known: see AWS_ENDPOINT_URL, AWS_REGION and the network',
};

/**
 * Turns an error into a StoreError. `what` says what could not be done. A service may repeat what
 * it was sent, so `secrets`, such as the credentials, are removed from everything that is returned
 * (W3).
 */
function toProblem(what: string, bucket: string, thrown: unknown, secrets: readonly unknown[]): unknown {
  if (thrown instanceof StoreError || !(thrown instanceof Error)) return thrown;
  const error = hideSecrets(thrown, secrets.filter(isSecret));
  const advice = ADVICE[error.name] ?? ADVICE[codeOf(error) ?? ''];
  if (advice) return new StoreError('unavailable', `${what}: ${advice(bucket)}`, { cause: error });
  if (error.message === 'Region is missing')
    return new StoreError('unavailable', `${what}: no region is set: set AWS_REGION`, { cause: error });
  return new StoreError('unavailable', `${what}: ${reasonOf(error)} (${error.name})`, { cause: error });
}

const HIDDEN = '[redacted]';

/**
 * Tells whether a part of the credentials is a secret, and not a date or a short word that a text
 * has by chance.
 */
function isSecret(value: unknown): value is string {
  return typeof value === 'string' && value.length >= 8;
}

function hideSecrets(error: Error, secrets: readonly string[]): Error {
  const hide = (text: string): string => secrets.reduce((masked, secret) => masked.replaceAll(secret, HIDDEN), text);
  const [message, stack] = [hide(error.message), hide(error.stack ?? '')];
  if (message === error.message && stack === (error.stack ?? '')) return error;
  return Object.assign(new Error(message), { name: error.name, stack, code: codeOf(error) });
}

type Handler = S3Client['config']['requestHandler'];
type Request = Parameters<Handler['handle']>[0];
type Options = { readonly abortSignal?: AbortSignal | undefined };
type Answer = Awaited<ReturnType<Handler['handle']>>;

/**
 * Headers that are not passed to fetch: it sets the first two itself, and does not wait for leave
 * to send.
 */
const NOT_SENT: ReadonlySet<string> = new Set(['host', 'content-length', 'expect']);

/**
 * Sends requests to a bucket that is reached through a proxy. The SDK's own handler supports none,
 * and keeps the requests that go directly.
 */
function createProxyHandler(direct: Handler, network: Network, requestMs: number): Handler {
  return Object.assign(Object.create(direct) as Handler, {
    handle: (request: Request, options: Options = {}): Promise<Answer> => {
      const url = urlOf(request);
      return network.proxyFor(url) === null
        ? direct.handle(request, options)
        : ask(network, url, request, { ...options, requestMs });
    },
  });
}

function urlOf({ protocol, hostname, port, path, query = {} }: Request): URL {
  const url = new URL(`${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`);
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map(
      (one) => `${escapeForSignature(name)}=${escapeForSignature(one ?? '')}`,
    ),
  );
  url.search = pairs.join('&');
  return url;
}

/** Escapes a text as the signature does. */
function escapeForSignature(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

async function ask(
  { fetch }: Network,
  url: URL,
  { method, headers, body }: Request,
  { abortSignal, requestMs }: Options & { readonly requestMs: number },
): Promise<Answer> {
  const stop = new AbortController();
  abortSignal?.addEventListener('abort', () => stop.abort(), { once: true });
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(requestMs)]);
  const sent = Object.entries(headers).filter(([name]) => !NOT_SENT.has(name.toLowerCase()));
  try {
    const answer = await fetch(url, {
      method,
      headers: { ...Object.fromEntries(sent), 'accept-encoding': 'identity' },
      ...(body !== undefined && method !== 'GET' && method !== 'HEAD' && { body: body as Uint8Array }),
      redirect: 'manual',
      signal,
    });
    const read = answer.body === null ? undefined : Readable.fromWeb(answer.body as ReadableStream<Uint8Array>);
    const response = { statusCode: answer.status, headers: Object.fromEntries(answer.headers), body: read };
    return { response };
  } catch (error) {
    if (signal.aborted) throw error;
    // The SDK tries this again, as a connection that it lost itself.
    throw Object.assign(new Error(whyFetchFailed(error), { cause: error }), { $retryable: {} });
  }
}
