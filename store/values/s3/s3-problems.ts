// Words what goes wrong with a bucket as sentences that say what to do (W1).
import { codeOf, reasonOf } from '../../../system/text.ts';
import { StoreError } from '../store.ts';

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
export function toProblem(what: string, bucket: string, thrown: unknown, secrets: readonly unknown[]): unknown {
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
  const hide = (text: string): string => secrets.reduce((shown, secret) => shown.replaceAll(secret, HIDDEN), text);
  const [message, stack] = [hide(error.message), hide(error.stack ?? '')];
  if (message === error.message && stack === (error.stack ?? '')) return error;
  return Object.assign(new Error(message), { name: error.name, stack, code: codeOf(error) });
}
